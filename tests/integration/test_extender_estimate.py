"""scoring: estimate: what a node will use counts, not what its annotation reads."""

import copy
import uuid

import pytest

from extender_kit import POD, annotate, policy
from harness import wait_until
from policies import node_names, write_policy

NODES = node_names(3)
A, B, C = NODES


@pytest.fixture
def cluster(start_standin):
    """Three nodes of 10 CPUs, at 20, 24.5 and 60%."""
    standin = start_standin()
    standin.admin("nodes", {"names": NODES, "cpus": 10, "memory_gib": 100})
    for name, usage in zip(NODES, (0.20, 0.245, 0.60)):
        annotate(standin, name, usage)
    return standin


@pytest.fixture
def start(start_extender):
    def call(standin, *flags, scoring="estimate", says=r"pods: \d+ pods$", **more):
        content = policy(scoring=scoring, **more)
        extender = start_extender(standin, *flags, content=content)
        extender.wait_ready(f"(?m){says}")
        return extender

    return call


def pod(cpu="1"):
    """Another pod each time: the reservation of its answer is its own."""
    other = copy.deepcopy(POD)
    other["metadata"]["uid"] = str(uuid.uuid4())
    other["spec"]["containers"][0]["resources"]["requests"] = {"cpu": cpu}
    return other


def wait_metric(extender, name, wanted):
    wait_until(lambda: extender.metric(name) == wanted, 30, f"{name} to be {wanted}")


def wait_scores(scheduler, wanted, of=None):
    """The same pod each time, so that only what is known of the nodes counts."""
    of = of or pod()

    def check():
        scores = scheduler.prioritize(NODES, of)
        assert scores == wanted, scores
        return True

    wait_until(check, 30, f"scores of {wanted}", poll_s=0.01)


def test_a_binding_counts_at_once_and_so_does_a_deletion(cluster, start):
    extender = start(cluster)
    with extender.scheduler() as scheduler:
        wait_scores(scheduler, {A: 10, B: 8, C: 0})
        # 10 pods that request 100m: 10% of the node in all.
        cluster.add_pods(10, prefix="burst-", nodes=[A])
        wait_scores(scheduler, {A: 6, B: 10, C: 0})
        wait_metric(extender, "plimsoll_extender_pods", 10)
        cluster.admin("delete", {"resource": "pods", "prefix": "burst-"})
        wait_scores(scheduler, {A: 10, B: 8, C: 0})
        wait_metric(extender, "plimsoll_extender_pods", 0)


def test_the_next_pod_sees_the_last_answer(cluster, start):
    """Before the watch shows the binding, which here never comes."""
    extender = start(cluster)
    with extender.scheduler() as scheduler:
        assert scheduler.prioritize(NODES, pod())[A] == 10
        second = scheduler.prioritize(NODES, pod())
        assert second[B] == 10 and second[A] < 10, second
        wait_metric(extender, "plimsoll_extender_reservations", 2)
        wait_metric(extender, "plimsoll_extender_reservations", 0)  # 5 s later
        assert scheduler.prioritize(NODES, pod())[A] == 10


def test_hot_values_have_no_watch_of_their_own(cluster, start):
    """They have no effect on an estimate. A policy that ranks by them finds what was bound in the meantime, and
    what had been counted before is not counted again."""

    def reload(scoring, says):
        write_policy(extender.policy_path, policy(scoring=scoring, hot={"5m": 1}))
        extender.reload()
        extender.wait_ready(says)

    counted = "bindings: counted from the pod watch"
    extender = start(cluster, scoring="absolute", hot={"5m": 1}, says=counted)
    with extender.scheduler() as scheduler:
        cluster.add_pods(2, prefix="first-", nodes=[A])
        wait_scores(scheduler, {A: 6, B: 8, C: 4})
        reload("estimate", r"(?m)pods: 2 pods$")
        wait_until(lambda: len(cluster.watches("pods")) == 1, what="one watch of pods")
        assert "bindings: not needed" in extender.ready()[1]
        cluster.add_pods(1, prefix="second-", nodes=[B])
        extender.wait_ready(r"(?m)pods: 3 pods$")
        reload("absolute", counted)
        wait_scores(scheduler, {A: 6, B: 7, C: 4})


def test_without_the_right_to_see_pods(cluster, start):
    """Readings and the pod's own load are enough to answer."""
    cluster.fault("status", status=403, resource="pods", verb="list", count=-1)
    extender = start(cluster, says=r"pods: 0 pods, but the pod watch is not open.*403")
    with extender.scheduler() as scheduler:
        wait_scores(scheduler, {A: 10, B: 8, C: 0})
