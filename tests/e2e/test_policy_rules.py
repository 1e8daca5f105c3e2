"""What a policy can say beyond limits and weights, through a real kube-scheduler."""

import collections
import pathlib
from datetime import datetime, timezone

import pytest
from cluster.plimsoll import fast_policy, total
from harness import wait_until

POLICIES = pathlib.Path(__file__).resolve().parents[2] / "policy"
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


def test_pack_fills_nodes_up_to_the_target(fleet, namespace, plimsoll, scheduler, figure):
    """policy/pack.yaml: the fullest node below half is filled first, and the idle one last."""
    metrics = ("cpu_usage_avg_5m", "mem_usage_avg_5m")
    usages = [(0.05, 0.1), (0.3, 0.1), (0.44, 0.1), (0.6, 0.1)]
    idle, half, nearly, full = names = add_nodes(fleet, usages, metrics, cpu="8")
    start(plimsoll, scheduler, POLICIES / "pack.yaml", namespace.name, 2 * len(names))
    order = []
    for i in range(24):  # each 0.0125 of a node
        namespace.create_pod(f"web-{i:02}", scheduler=namespace.name, cpu="100m")
        order.append(namespace.wait_bound(i + 1)[f"web-{i:02}"])
    count = collections.Counter(order)
    assert order[0] == nearly and count[nearly] <= 5, "up to half, and no further"
    assert order.index(half) < order.index(idle) and count[half] <= 16
    assert count[idle] >= 3, "the idle one, when the others are at the target"
    assert count[full] == 0
    expected = {name: usage[0] + count[name] * 0.0125 for name, usage in zip(names, usages)}
    figure(
        f"pack.yaml: usages {[u[0] for u in usages]} become {[round(v, 3) for v in expected.values()]}"
    )


def test_pools_have_limits_of_their_own(fleet, namespace, plimsoll, scheduler, figure):
    """policy/gpu.yaml: a GPU node is judged by its GPUs, a spot node may be fuller."""
    metrics = ("cpu_usage_avg_5m", "mem_usage_avg_5m", "gpu_usage_avg_5m")
    gpu, spot = {"nvidia.com/gpu.present": "true"}, {"karpenter.sh/capacity-type": "spot"}
    nodes = {
        "idle gpu": (gpu, (0.85, 0.5, 0.1)),
        "busy gpu": (gpu, (0.1, 0.5, 0.95)),
        "spot": (spot, (0.9, 0.5, 0)),
        "busy": ({}, (0.85, 0.5, 0)),
    }
    names = {
        kind: add_nodes(fleet, [usages], metrics, labels=labels | {"kind": kind.replace(" ", "-")})[
            0
        ]
        for kind, (labels, usages) in nodes.items()
    }
    start(plimsoll, scheduler, POLICIES / "gpu.yaml", namespace.name, len(metrics) * len(nodes))
    for i in range(4):
        namespace.create_pod(f"web-{i}", scheduler=namespace.name)
    places = namespace.wait_bound(4)
    assert set(places.values()) == {names["idle gpu"]}, "not spot, which is fuller"
    # Among the other nodes, only spot nodes have room.
    fleet.remove([names["idle gpu"]])
    namespace.create_pod("late", scheduler=namespace.name)
    assert namespace.wait_bound(1, app=None) and wait_until(
        lambda: namespace.pod("late")["spec"].get("nodeName") == names["spot"], what="the spot node"
    )
    figure("gpu.yaml: pods go to the GPU node with idle GPUs, then to the spot node at 90%")


def test_pressure_counts(fleet, namespace, plimsoll, scheduler, figure):
    """policy/psi.yaml: nodes whose tasks wait get no pod while another has room, however idle they look."""
    metrics = [f"{name}_usage_avg_5m" for name in ("cpu", "mem", "psi_cpu", "psi_mem", "psi_io")]
    usages = [
        (0.1, 0.1, 0, 0.2, 0),  # short of memory
        (0.1, 0.1, 0.05, 0, 0.6),  # waits for its disks
        (0.1, 0.1, 0.3, 0, 0),  # waits for its CPUs, at times
        (0.7, 0.5, 0.02, 0, 0),  # busy, and nothing waits
    ]
    names = add_nodes(fleet, usages, metrics, cpu="2")
    start(plimsoll, scheduler, POLICIES / "psi.yaml", namespace.name, len(metrics) * len(names))
    order = []
    for i in range(8):
        namespace.create_pod(f"web-{i}", scheduler=namespace.name, cpu="900m")
        order.append(namespace.wait_bound(i + 1)[f"web-{i}"])
    assert order[0] == names[2], "below its limits, and the most headroom"
    assert sorted(order[:4]) == sorted([names[2], names[3]] * 2), "the last ones come last"
    assert collections.Counter(order) == {name: 2 for name in names} and not unschedulable(
        namespace
    )
    figure("psi.yaml: nodes under pressure of memory or disks are filled last")


def test_rules_by_pod(fleet, namespace, plimsoll, scheduler, figure):
    """Of one full and one half full node, batch pods get neither, others one, and exempt ones both."""
    policy = fast_policy(hot_value=False, period="3h")
    policy["spec"]["rules"] = [
        {
            "match": {"labels": {"app": "exempt"}, "namespaces": [f"{namespace.name[:5]}*"]},
            "exempt": True,
        },
        {
            "match": {"labels": {"app": "batch"}, "priorityBelow": 1},
            "limits": [{"name": CPU, "maxLimitPercent": 0.4}],
        },
    ]
    half, full = names = add_nodes(fleet, [(0.5, 0.1), (0.9, 0.1)], cpu="2")
    start(plimsoll, scheduler, policy, namespace.name, 2 * len(names))
    namespace.create_pods("batch", 1, scheduler=namespace.name)
    wait_until(lambda: unschedulable(namespace) == ["batch-000"], what="a batch pod that waits")
    for app in ("web", "exempt"):
        namespace.create_pods(app, 2, scheduler=namespace.name, cpu="900m")
        places = namespace.wait_bound(2, app=app)
        assert set(places.values()) == {half if app == "web" else full}, places
    figure(
        "rules: a batch pod waits, two others take the node below the limit, exempt ones the other"
    )
