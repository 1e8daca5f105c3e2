"""Pods that the extender itself binds and preempts for, in a real kube-scheduler."""

import json
import time
import urllib.request

import pytest
import yaml
from cluster.nodes import CALM, HOT
from cluster.plimsoll import TOP, bound_by_account, fast_policy, refused, total, wait_judged
from cluster.workloads import Background, per_node, pod_object
from harness import wait_until
from local_server import Handler, LocalServer

CPU = "cpu_usage_avg_5s"
RBAC = str(TOP / "deploy" / "extender-bind" / "rbac.yaml")


def binder_entry(url):
    """As the overlay for those who had a scheduler of their own has it."""
    path = TOP / "deploy" / "coming-from" / "my-scheduler" / "config.yaml"
    entries = yaml.safe_load(path.read_text("utf-8"))["extenders"]
    (entry,) = (entry for entry in entries if "bindVerb" in entry)
    return {**entry, "urlPrefix": f"{url}/v1"}


@pytest.fixture
def may_bind(plane):
    plane.kubectl("apply", "-f", RBAC)
    yield
    plane.kubectl("delete", "-f", RBAC)


@pytest.fixture
def name(namespace):
    """The scheduler's name, which only this test has: other tests may have left pods to be scheduled."""
    return namespace.name


@pytest.fixture
def stack(plimsoll, exporters, scheduler, may_bind, name):
    """Both programs and a scheduler that leaves binding to the extender, or to `binder_url`."""

    def start(binder_url=None):
        # Without hot values: they lower one node's points as soon as its bindings are counted, so
        # that where six pods go would hang on whether that takes longer than binding them.
        policy = plimsoll.write_policy(fast_policy(hot_value=False))
        controller = plimsoll.controller(policy, exporters)
        extender = plimsoll.extender(policy, "--bind")
        entries = [plimsoll.scheduler_entry(extender)]
        entries += [binder_entry(binder_url(extender) if binder_url else extender.url)]
        scheduler(name=name, extenders=entries)
        return controller, extender

    return start


def uids(pods):
    return {pod["metadata"]["uid"] for pod in pods}


def asked(extender, verb):
    return total(extender, "plimsoll_extender_requests_total", verb=verb)


def bound_by_us(extender):
    return total(extender, "plimsoll_binds_total", result="bound")


# -- the way of a Deployment's pods ---------------------------------------------------------------


def test_a_deployment_through_every_verb(
    plane, fleet, namespace, stack, name, priority_class, figure
):
    """Filter, prioritize, bind; then preempt, with one of two full nodes hot."""
    busy, calm = fleet.add(1, load=HOT)[0], fleet.add(1, load=CALM)[0]
    _, extender = stack()
    # Calm enough to be filled, both of them.
    fleet.set_load([busy], **CALM)
    fleet.wait_reading(CPU, [busy, calm], lambda ratio: ratio < 0.25, "both nodes to be calm")
    before = len(plane.audit("plimsoll-extender"))

    pod = pod_object("low-0", scheduler=name, cpu="2")
    began = time.monotonic()
    namespace.create_deployment("low", 6, pod)
    places = namespace.wait_bound(6, app="low")
    took_s = time.monotonic() - began
    assert per_node(places, [busy, calm]) == [3, 3]
    wait_until(lambda: bound_by_us(extender) == 6, what="answers to all bind calls")
    for verb in ("filter", "prioritize", "bind"):
        assert asked(extender, verb) == 6, verb
    wait_until(
        lambda: all(pod["status"]["phase"] == "Running" for pod in namespace.pods("low")),
        what="the pods to run",
    )
    assert bound_by_account(plane, namespace) == set(places)
    assert not refused(plane, "plimsoll-extender", before)
    figure(f"6 pods of a Deployment bound by the extender in {took_s:.1f} s")

    # Full both, one hot: whom does a pod of high priority push aside? 2 of 8 CPUs are free.
    fleet.set_load([busy], **HOT)
    wait_judged(extender, [busy], [calm])
    kept = {pod["metadata"]["uid"] for pod in namespace.pods("low")
            if pod["spec"].get("nodeName") == busy}  # fmt: skip
    namespace.create_pod("urgent-0", scheduler=name, cpu="4", priorityClassName=priority_class)
    wait_until(
        lambda: namespace.pod("urgent-0")["spec"].get("nodeName") == calm,
        60,
        "the urgent pod on the calm node",
        poll_s=0.1,
    )
    assert asked(extender, "preempt") >= 1
    assert "urgent-0" in bound_by_account(plane, namespace)
    assert kept <= uids(namespace.pods("low")), "a pod of the hot node was evicted"
    victims = [e["message"] for e in namespace.events("Preempted")]
    assert victims and all(calm in text for text in victims), victims
    figure(f"evicted on the calm node alone: {len(victims)} of 3 pods there, none of 3 on the hot")


# -- what may happen in between -------------------------------------------------------------------


class Between:
    """Passes calls on to an extender; `before(args)` runs before a bind is."""

    def __init__(self, before):
        outer = self
        self.before, self.target = before, None
        self.answers = {}  # by the pod's uid: two binds may be under way at once

        class Passing(Handler):
            def do_POST(self):
                body = self.body()
                args = json.loads(body)
                outer.before(args)
                request = urllib.request.Request(f"{outer.target}{self.path}", body)
                with urllib.request.urlopen(request, timeout=30) as answer:
                    reply = answer.read()
                outer.answers[args["PodUID"]] = json.loads(reply)
                self.reply(200, reply)

        self.server = LocalServer(Passing)
        self.close = self.server.close

    def url(self, extender):
        self.target = extender.url
        return self.server.url


def test_the_namespace_goes_before_it_is_bound(plane, fleet, namespace, stack, name, figure):
    """403, as without RBAC, but the text says why."""
    fleet.add(2, load=CALM)

    def is_going():
        body = {"metadata": {"name": "x"}}
        path = f"{namespace.root}/configmaps?dryRun=All"
        return plane.api.request("POST", path, body)[0] == 403

    def before(_):
        plane.api.delete(namespace.root)
        wait_until(is_going, what="the namespace to be going")

    between = Between(before)
    try:
        _, extender = stack(between.url)
        pod = pod_object("web-0", scheduler=name)
        pod["metadata"]["finalizers"] = ["example.com/stay"]
        namespace.create(pod)
        wait_until(lambda: between.answers, what="a bind to be answered")
        assert total(extender, "plimsoll_binds_total", result="forbidden") >= 1
        error = next(iter(between.answers.values()))["Error"]
        assert "is being terminated" in error
        figure(f"answered {error!r}")
    finally:
        plane.api.patch(f"{namespace.root}/pods/web-0", {"metadata": {"finalizers": None}})
        between.close()


def test_the_extender_is_killed(plane, fleet, namespace, stack, name, figure):
    """Ignorable: from one pod to the next the scheduler binds by itself."""
    fleet.add(4, load=CALM)
    _, extender = stack()
    made = []

    def create(ended):
        if len(made) < 120:
            namespace.create_pod(f"web-{len(made):03}", scheduler=name, cpu="10m")
            made.append(None)
        ended.wait(0.02)

    with Background(create):
        wait_until(lambda: bound_by_us(extender) >= 20, what="pods bound by the extender")
        extender.kill()
        wait_until(lambda: len(made) == 120, what="all pods to be made")
    namespace.wait_bound(120)
    ours = len(bound_by_account(plane, namespace))
    assert 20 <= ours <= 100
    figure(f"{ours} pods bound by the extender, {120 - ours} by the scheduler after it was killed")
