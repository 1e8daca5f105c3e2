"""The series of each node on the controller's /metrics page."""

import pytest

from controller_kit import policy
from harness import wait_until
from policies import write_policy

CPU, MEM = "cpu_usage_avg_5m", "mem_usage_avg_5m"
LOADS = {"node-0000": {"cpu": 0.2, "mem": 0.4}, "node-0001": {"cpu": 0.7, "mem": 0.1}}
TOLERANCE = 0.03
RULES = {
    "metrics": {CPU: "2s", MEM: "2s"},
    "predicate": {CPU: 0.65},
    "priority": {CPU: 1, MEM: 0.5},
    "hot": {"5m": 2},
}


def shown(controller, family):
    """{(node, metric): value}; of what has no such label, None."""
    return {
        (labels.get("node"), labels.get("metric")): value
        for labels, value in controller.metrics().of(f"plimsoll_node_{family}")
    }


@pytest.fixture
def two_nodes(start_exporters, start_standin):
    # Several seconds in one, so that counters of 10 ms are exact enough.
    exporters = start_exporters("--speed", "20")
    for i, load in enumerate(LOADS.values()):
        exporters.set([f"127.1.0.{i + 1}"], load=load)
    return exporters, start_standin("--nodes", 2)


def test_what_is_shown_of_nodes(two_nodes, start_controller, tmp_path):
    exporters, standin = two_nodes
    path = write_policy(tmp_path / "policy.json", policy(**RULES))
    controller = start_controller(standin, exporters, content=path)

    def as_loaded():
        usage = shown(controller, "usage_ratio")
        assert usage.keys() == {(node, metric) for node in LOADS for metric in (CPU, MEM)}
        return all(
            abs(usage[node, f"{resource}_usage_avg_5m"] - load) < TOLERANCE
            for node, loads in LOADS.items()
            for resource, load in loads.items()
        )

    wait_until(as_loaded, what="usage as the exporters have it")
    assert shown(controller, "limit_ratio") == {(None, CPU): 0.65}
    assert shown(controller, "hot_value") == {(node, None): 0 for node in LOADS}
    scores = shown(controller, "score")
    for node, load in LOADS.items():
        free = ((1 - load["cpu"]) + 0.5 * (1 - load["mem"])) / 1.5 * 100
        assert abs(scores[node, None] - free) < 100 * TOLERANCE, scores

    standin.wait_job(standin.add_pods(4, nodes=["node-0001"]))
    wait_until(lambda: shown(controller, "hot_value")["node-0001", None] == 2, what="bindings")

    write_policy(path, policy({MEM: "2s"}))
    both = {(node, MEM) for node in LOADS}
    wait_until(lambda: shown(controller, "usage_ratio").keys() == both, what="the other policy")
    assert not shown(controller, "limit_ratio") and not shown(controller, "score")
    standin.admin("delete", {"resource": "nodes", "names": ["node-0000"]})
    wait_until(
        lambda: shown(controller, "usage_ratio").keys() == {("node-0001", MEM)}, what="one to go"
    )
