"""A burst of pods, faster than any load can show: what the hot value is for."""

import pytest
from cluster.plimsoll import fast_policy
from cluster.workloads import per_node
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


@pytest.fixture
def result(plane, fleet, namespace, plimsoll, exporters, scheduler, figure):
    """burst(), but how far apart the nodes' numbers of pods are."""

    def run(hot_value, weight):
        places = burst(plane, fleet, namespace, plimsoll, exporters, scheduler, hot_value, weight)
        counts = per_node(places, fleet.addresses)
        found = counts[0] - counts[-1]
        figure(
            f"hot value {'on' if hot_value else 'off'}, weight {weight}: spread {found}, {counts}"
        )
        return found

    return run


# The weight of the README, and one by which only the extender decides.
WEIGHT, OVERWHELMING = 3, 30
# Points go off in steps of a few pods, and equal scores are drawn by lot: at most what each node gets when
# all get the same. Without the hot value the idle node gets 80. A binding counts once the extender's watch
# has shown it: among other tests, 43 pods more were bound to the best node in the meantime.
EVEN_SPREAD = PODS // NODES


@pytest.mark.alone
def test_burst_with_an_idle_node(fleet, result):
    names = fleet.add(NODES, load=EVEN)
    fleet.set_load(names[:1], **IDLE)
    assert result(False, WEIGHT) > 5 * EVEN_SPREAD, "the idle node draws them all"
    for weight in (WEIGHT, OVERWHELMING):
        assert result(True, weight) <= EVEN_SPREAD
