"""What a policy can say beyond limits and weights, through a real kube-scheduler."""

import collections
from datetime import datetime, timezone

import pytest
from cluster.plimsoll import fast_policy, total
from harness import wait_until

CPU, MEM = "cpu_usage_avg_5s", "mem_usage_avg_5s"


def add_nodes(fleet, usages, metrics=(CPU, MEM), **more):
    """A node for each tuple of usages, by hand, as the policies' long windows outlive the test."""
    names = fleet.add(len(usages), **more)
    for name, values in zip(names, usages):
        now = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
        fleet.annotate(name, {key: f"{value},{now}" for key, value in zip(metrics, values)})
    return names


def start(plimsoll, scheduler, policy, name, readings):
    """An extender with that policy (an object or a file), and a scheduler of that name that asks it."""
    extender = plimsoll.extender(plimsoll.write_policy(policy, f"{name}.yaml"))
    scheduler(name=name, extenders=[plimsoll.scheduler_entry(extender, weight=10)])
    wait_until(
        lambda: total(extender, "plimsoll_extender_readings", state="usable") == readings,
        what="the readings",
    )
    return extender


def unschedulable(namespace):
    """Pods that a cluster autoscaler would add nodes for."""
    return [
        pod["metadata"]["name"]
        for pod in namespace.pods()
        for condition in pod.get("status", {}).get("conditions", [])
        if condition["type"] == "PodScheduled"
        and (condition["status"], condition.get("reason")) == ("False", "Unschedulable")
    ]


def last_policy(scoring, over_limit):
    policy = fast_policy(hot_value=False, period="3h")
    for predicate in policy["spec"]["predicate"]:
        predicate["overLimit"] = over_limit
    policy["spec"]["extender"] = {"scoring": scoring, "whenAllOver": "reject"}
    return policy


@pytest.mark.parametrize("scoring", ["spread", "estimate"])
def test_last_leaves_no_pod_pending(fleet, namespace, plimsoll, scheduler, figure, scoring):
    """Nodes over a limit are filled when no other has room; with overLimit: reject pods wait."""
    # The last one is worth least, and over no limit.
    usages = [(0.66, 0.1), (0.7, 0.1), (0.64, 0.64)]
    names = add_nodes(fleet, usages, cpu="4")
    start(plimsoll, scheduler, last_policy(scoring, "last"), namespace.name, 2 * len(names))
    order = []
    for i in range(4 * len(names)):
        namespace.create_pod(f"web-{i:02}", scheduler=namespace.name, cpu="900m")
        order.append(namespace.wait_bound(i + 1)[f"web-{i:02}"])
    assert order[:4] == [names[2]] * 4, "the node that is over no limit comes first"
    assert collections.Counter(order) == {name: 4 for name in names}
    assert unschedulable(namespace) == [] and namespace.events("FailedScheduling") == []
    namespace.delete_pods()

    # The same nodes, except for the one with room.
    fleet.remove([names[2]])
    name = f"{namespace.name}-reject"
    start(plimsoll, scheduler, last_policy(scoring, "reject"), name, 2 * len(names) - 2)
    namespace.create_pod("waits", scheduler=name)
    wait_until(lambda: unschedulable(namespace) == ["waits"], what="a pod that is unschedulable")
    figure(f"overLimit: last, {scoring}: {len(order)} pods, none pending; with reject one waits")
