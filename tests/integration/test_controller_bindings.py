"""Hot values are of the bindings that were seen, of the node that is there, or not at all."""

import pytest

from controller_kit import HOT_VALUE, policy, read_annotation
from harness import wait_until
from policies import ago, write_policy

FAST = ("--speed", "20")
PERIODS = {"cpu_usage_avg_5m": "1s"}
NODE = "node-0000"


@pytest.fixture
def cluster(start_standin, start_exporters, start_controller):
    """A node that three pods were bound to within the last ten seconds."""
    standin, exporters = start_standin("--nodes", 1), start_exporters(*FAST)
    content = policy(PERIODS, hot={"10s": 1})
    controller = start_controller(standin, exporters, content=content)
    standin.wait_job(standin.add_pods(3, nodes=[NODE]))
    wait_until(lambda: hot_value(standin) == 3, what="the bindings to count")
    return standin, controller


def hot_value(standin):
    text = standin.annotations(NODE).get("node_hot_value")
    return read_annotation(text, HOT_VALUE).value if text else None


def test_each_binding_counts_once(cluster):
    assert cluster[1].metric("plimsoll_bindings_total") == 3


def test_without_a_watch_there_is_none(cluster):
    """Pods may not be read any more: nothing is written, where a count would decay to 0."""
    standin, controller = cluster
    standin.fault("status", resource="pods", status=403, count=-1)
    standin.admin("watches/cut", {"resource": "pods"})
    wait_until(lambda: ": 403 " in controller.ready()[1], what="the watch to be refused")
    lost = standin.stats()["now_unix"]
    wait_until(lambda: standin.patches(since=lost + 12), what="patches when the pods are old")
    for row in standin.patches(since=lost + 1):
        assert "node_hot_value" not in row["body"]["metadata"]["annotations"]
    assert hot_value(standin) > 0
    standin.clear_faults()
    wait_until(lambda: hot_value(standin) == 0, what="a hot value of what is seen again")


def test_a_new_machine_begins_cold(cluster):
    """A node that is deleted and created again under its name was given nothing yet."""
    standin, _ = cluster
    standin.admin("delete", {"resource": "nodes"})
    standin.add_nodes(1)
    wait_until(lambda: hot_value(standin) is not None, what="the new node's first hot value")
    assert hot_value(standin) == 0


def test_a_policy_that_looks_further_back(
    start_standin, start_exporters, start_controller, tmp_path
):
    """A pod was bound before all that the first policy asks about, and before the controller. One
    that the controller saw being bound is counted for both, and once in all."""
    standin, exporters = start_standin("--nodes", 1), start_exporters(*FAST)
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(1200)}
    pod = {
        "metadata": {"name": "old", "namespace": "default"},
        "spec": {"nodeName": NODE, "containers": [{"name": "c"}]},
        "status": {"phase": "Running", "conditions": [scheduled]},
    }
    standin.admin("objects", {"resource": "pods", "object": pod})
    path = write_policy(tmp_path / "policy", policy(PERIODS, hot={"10s": 1}))
    controller = start_controller(standin, exporters, content=path)
    wait_until(lambda: hot_value(standin) == 0, what="a hot value of the last seconds")
    standin.wait_job(standin.add_pods(1, nodes=[NODE]))
    wait_until(lambda: hot_value(standin) == 1, what="the new pod to count")
    write_policy(path, policy(PERIODS, hot={"1h": 1}))
    wait_until(lambda: hot_value(standin) == 2, what="a hot value of the last hour")
    assert controller.metric("plimsoll_bindings_total") == 1
