"""The policy as an object of the cluster, with the CRD of deploy/: kubectl apply, and it is in force."""

import copy
import re
import time

import pytest
import yaml
from cluster.plimsoll import ACCOUNTS, TOP, ask
from cluster.workloads import pod_object
from harness import fetch, wait_until

pytestmark = pytest.mark.own_plane  # the policy is the whole cluster's, and so is its definition
POLICY_FILE = TOP / "policy" / "crane.yaml"
CRD_FILE = TOP / "deploy" / "base" / "crd.yaml"
PATH = "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies"
POLICY = yaml.safe_load(POLICY_FILE.read_text(encoding="utf-8"))
LOADS = (0.2, 0.6)


@pytest.fixture
def plane(plane):
    yield plane
    plane.kubectl("replace", "-f", str(CRD_FILE))
    plane.kubectl("delete", "dsp", "--all")


@pytest.fixture
def programs(fleet, plimsoll, exporters):
    """Both, with the policy of the cluster, and a calm and a busy node."""
    for load in LOADS:
        fleet.add(1, load={"cpu": load, "mem": 0.1})
    controller = plimsoll.controller(None, exporters)
    extender = plimsoll.extender(None)
    for process in (controller, extender):
        wait_until(lambda p=process: "built-in policy" in ready(p), what="the built-in policy")
    return controller, extender


def ready(process):
    return fetch(f"{process.url}/readyz?verbose").text


def with_limit(limit):
    policy = copy.deepcopy(POLICY)
    policy["spec"]["predicate"][0]["maxLimitPecent"] = limit
    return policy


def apply(plane, policy):
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(policy))


def condition(plane):
    """The condition InForce, if it speaks of the object as it is now, and the object's generation."""
    policy = plane.api.get(f"{PATH}/default")
    generation = policy["metadata"]["generation"]
    status = policy.get("status", {})
    if status.get("observedGeneration") != generation:
        return {}, generation
    return next(c for c in status["conditions"] if c["type"] == "InForce"), generation


def wait_condition(plane, status):
    """Wait for the condition of the object's newest generation."""

    def look():
        found, _ = condition(plane)
        return found if found.get("status") == status else None

    return wait_until(look, what=f"InForce to be {status} of the newest generation")


def table(plane):
    """`kubectl get dsp` as {column: text}; columns are as wide as they are."""
    header, row = plane.kubectl("get", "dsp").splitlines()
    starts = [match.start() for match in re.finditer(r"\S+( \S+)*", header)]
    spans = zip(starts, [*starts[1:], None])
    return {header[a:b].strip(): row[a:b].strip() for a, b in spans}


def passing(extender, fleet):
    names = list(fleet.addresses)
    return [names.index(n) for n in ask(extender, "filter", pod_object("p-0"), names)["NodeNames"]]


def asked_of_policies(plane, account, before):
    """The verbs of an account's requests for policies since so many audit events, except for watches: a
    quiet one is renewed four times a minute."""
    return [
        event["verb"]
        for event in plane.audit(account)[before[account] :]
        if event["objectRef"]["resource"] == "dynamicschedulerpolicies" and event["verb"] != "watch"
    ]


def test_policy_object(plane, fleet, programs, figure):
    _, extender = programs
    wait_until(
        lambda: all("mem_usage_max_avg_1h" in fleet.annotations(name) for name in fleet.addresses),
        what="annotations",
    )
    applied = time.monotonic()
    plane.kubectl("apply", "-f", str(POLICY_FILE))
    assert wait_condition(plane, "True")["reason"] == "Loaded"
    first_s = time.monotonic() - applied
    shown = table(plane)
    assert shown["NAME"] == "default" and shown["IN FORCE"] == "True" and shown["METRICS"] == "6"
    plane.kubectl("wait", "--for=condition=InForce", "dsp/default", "--timeout=10s")
    wait_until(lambda: passing(extender, fleet) == [0, 1], what="both nodes to pass")

    # One number, and the busy node passes no more, for the whole of the cluster.
    before = {account: len(plane.audit(account)) for account in ACCOUNTS}
    applied = time.monotonic()
    apply(plane, with_limit(0.5))
    wait_until(lambda: passing(extender, fleet) == [0], what="the limit of 0.5", poll_s=0.002)
    verdict_s = time.monotonic() - applied
    wait_condition(plane, "True")
    told_s = time.monotonic() - applied
    # Without the time that kubectl takes.
    patched = time.monotonic()
    plane.api.patch(f"{PATH}/default", {"spec": with_limit(0.55)["spec"]})
    wait_condition(plane, "True")
    alone_s = time.monotonic() - patched
    figure(
        f"InForce {first_s:.2f} s after kubectl apply began; a change: verdicts {verdict_s:.2f} s, "
        f"status {told_s:.2f} s after; status {alone_s * 1e3:.0f} ms after a bare patch"
    )
    # So soon because the watches tell: nobody asks, and the leader says what is in force, once each.
    assert asked_of_policies(plane, "plimsoll-extender", before) == []
    wait_until(
        lambda: asked_of_policies(plane, "plimsoll-controller", before) == 2 * ["patch"],
        what="two patches of the status",
    )
