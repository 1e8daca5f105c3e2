"""Hot values count the bindings that were seen; tests/unit/controller/node/test_bindings.c has how."""

from controller_kit import HOT_VALUE, policy, read_annotation
from harness import wait_until
from policies import ago, write_policy

FAST = ("--speed", "20")
PERIODS = {"cpu_usage_avg_5m": "1s"}
NODE = "node-0000"


def hot_value(standin):
    text = standin.annotations(NODE).get("node_hot_value")
    return read_annotation(text, HOT_VALUE).value if text else None


def test_a_policy_that_looks_further_back(
    start_standin, start_exporters, start_controller, tmp_path
):
    """A pod was bound before all that the first policy asks about, and before the controller. One
    that the controller saw being bound is counted for both."""
    standin, exporters = start_standin("--nodes", 1), start_exporters(*FAST)
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(1200)}
    pod = {
        "metadata": {"name": "old", "namespace": "default"},
        "spec": {"nodeName": NODE, "containers": [{"name": "c"}]},
        "status": {"phase": "Running", "conditions": [scheduled]},
    }
    standin.admin("objects", {"resource": "pods", "object": pod})
    path = write_policy(tmp_path / "policy", policy(PERIODS, hot={"10s": 1}))
    start_controller(standin, exporters, content=path)
    wait_until(lambda: hot_value(standin) == 0, what="a hot value of the last seconds")
    standin.add_pods(1, nodes=[NODE])
    wait_until(lambda: hot_value(standin) == 1, what="the new pod to count")
    write_policy(path, policy(PERIODS, hot={"1h": 1}))
    wait_until(lambda: hot_value(standin) == 2, what="a hot value of the last hour")
