"""Hot values: what a node was given recently takes points off it, at once and for a while."""

import pytest

from extender_kit import annotate, policy
from harness import wait_until
from policies import CPU, HOT, ago, node_names

NODES = node_names(3)
A, B, C = NODES


@pytest.fixture
def cluster(start_standin):
    """Three idle nodes: 100 points each."""
    standin = start_standin("--nodes", len(NODES))
    for name in NODES:
        annotate(standin, name, 0)
    return standin


@pytest.fixture
def start(start_extender):
    def call(standin, *flags, hot=None, is_live=True):
        content = policy(hot={"5m": 1} if hot is None else hot)
        extender = start_extender(standin, *flags, content=content)
        if is_live:
            extender.wait_live()
        return extender

    return call


def wait_scores(scheduler, wanted, timeout_s=30, what="the scores"):
    def check():
        scores = scheduler.prioritize(NODES)
        assert scores == wanted, scores
        return True

    wait_until(check, timeout_s, what, poll_s=0.002)


def test_the_second_pod_of_a_burst_sees_the_first(cluster, start):
    extender = start(cluster)
    with extender.scheduler() as scheduler:
        wait_scores(scheduler, {A: 10, B: 10, C: 10})
        for i in range(1, 6):
            cluster.add_pods(1, prefix=f"burst-{i}-", nodes=[A])
            wait_scores(scheduler, {A: 10 - i, B: 10, C: 10})
        cluster.add_pods(3, prefix="other-", nodes=[B])
        wait_scores(scheduler, {A: 5, B: 7, C: 10})
    assert extender.metric("plimsoll_bindings_total") == 8


def test_our_own_count_is_newer_than_the_annotation(cluster, start):
    annotate(cluster, A, **{HOT: 4})
    annotate(cluster, B, **{HOT: 4}, at=ago(100))
    extender = start(cluster)
    with extender.scheduler() as scheduler:
        wait_scores(scheduler, {A: 10, B: 10, C: 10})
        cluster.add_pods(1, nodes=[B])
        wait_scores(scheduler, {A: 10, B: 9, C: 10})


def test_the_annotation_counts_without_a_watch_of_pods(cluster, start):
    """Also when it has a fraction, and for five minutes."""
    cluster.fault("status", resource="pods", status=403, count=-1)
    annotate(cluster, A, **{HOT: 2})
    annotate(cluster, B, **{HOT: 1.5}, at=ago(290))
    annotate(cluster, C, **{HOT: 3}, at=ago(301))
    extender = start(cluster, is_live=False)
    extender.wait_ready("using node_hot_value annotations")
    with extender.scheduler() as scheduler:
        wait_scores(scheduler, {A: 8, B: 9, C: 10})  # 85 points round up
        cluster.clear_faults()
        wait_scores(scheduler, {A: 10, B: 10, C: 10}, 60, what="the watch of pods")


def test_without_hot_value_in_the_policy_the_annotation_counts(cluster, start):
    annotate(cluster, A, **{HOT: 2})
    extender = start(cluster, hot={})
    with extender.scheduler() as scheduler:
        wait_scores(scheduler, {A: 8, B: 10, C: 10})
        cluster.add_pods(4, nodes=[B])
        annotate(cluster, C, **{HOT: 1})
        wait_scores(scheduler, {A: 8, B: 10, C: 9})
    assert cluster.count(verb="list", resource="pods") == 0


def test_a_restart_recovers_recent_bindings(cluster, start):
    cluster.add_pods(3, prefix="pending-", nodes=[A])
    cluster.add_pods(2, prefix="running-", nodes=[B], phase="Running")
    cluster.add_pods(2, prefix="done-", nodes=[C], phase="Succeeded")
    first = start(cluster)
    with first.scheduler() as scheduler:
        wait_scores(scheduler, {A: 7, B: 8, C: 10})
        cluster.add_pods(1, prefix="more-", nodes=[C])
        wait_scores(scheduler, {A: 7, B: 8, C: 9})
    first.process.kill()
    second = start(cluster)
    with second.scheduler() as scheduler:
        wait_scores(scheduler, {A: 7, B: 8, C: 9})
        # A relist counts nothing twice.
        cluster.admin("compact", {"watches": "expire"})
        cluster.add_pods(1, prefix="last-", nodes=[A])
        wait_scores(scheduler, {A: 6, B: 8, C: 9}, 60)


def test_bindings_to_nodes_not_seen_yet_are_kept(cluster, start):
    extender = start(cluster)
    cluster.add_pods(3, nodes=["late"])
    cluster.add_nodes(1, names=["late"], annotations={CPU: f"0,{ago()}"})
    with extender.scheduler() as scheduler:
        wait_until(lambda: scheduler.prioritize(["late"]) == {"late": 7}, what="the late node")
