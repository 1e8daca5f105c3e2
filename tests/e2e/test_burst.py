"""A burst of pods, faster than any load can show: what the hot value is for."""

import pytest
from cluster.plimsoll import fast_policy
from cluster.workloads import per_node, spread
from harness import wait_until

NODES = 10
PODS = 100
EVEN = {"cpu": 0.3, "mem": 0.3}
IDLE = {"cpu": 0.02, "mem": 0.02}


def burst(plane, fleet, namespace, plimsoll, exporters, scheduler, hot_value, weight):
    """100 pods at once; returns pods per node, the most first, and the places."""
    policy = plimsoll.write_policy(fast_policy(hot_value=hot_value))
    controller = plimsoll.controller(policy, exporters)
    extender = plimsoll.extender(policy)
    wait_until(
        lambda: all("mem_usage_avg_5s" in a for a in fleet.all_annotations().values()),
        what="annotations on every node",
        poll_s=0.2,
    )
    ours = scheduler(extenders=[plimsoll.scheduler_entry(extender, weight=weight)])
    namespace.create_pods("burst", PODS)
    places = namespace.wait_bound(PODS)
    for process in (ours, controller, extender):
        process.stop() if process is not ours else process.kill()
    namespace.delete_pods()
    for name in fleet.addresses:
        fleet.annotate(name, {k: None for k in fleet.annotations(name) if "_usage_" in k})
        fleet.annotate(name, {"node_hot_value": None})
    return places


@pytest.mark.parametrize("loads", ["equal", "one-idle"])
def test_burst(plane, fleet, namespace, plimsoll, exporters, scheduler, figure, loads):
    names = fleet.add(NODES, load=EVEN)
    if loads == "one-idle":
        fleet.set_load(names[:1], **IDLE)
    results = {}
    for hot_value in (False, True):
        # Ten times the weight of the README, so that only the extender decides.
        for weight in (3, 30):
            places = burst(
                plane, fleet, namespace, plimsoll, exporters, scheduler, hot_value, weight
            )
            results[hot_value, weight] = spread(places, names)
            figure(
                f"{loads} loads, hot value {'on ' if hot_value else 'off'}, weight {weight:2}: "
                f"spread {results[hot_value, weight]}, {per_node(places, names)}"
            )
    # Points go off in steps of a few pods, and equal scores are drawn by lot.
    for weight in (3, 30):
        assert results[True, weight] <= 6
        if loads == "one-idle":
            assert results[False, weight] > 30, "the idle node draws them all"
