"""spec.taints: nodes carry as many soft taints as their load has reached levels, and nobody else's
taint is touched. The taints that stand on nodes before a controller starts are its predecessor's."""


import pytest

from controller_kit import Controller, policy
from harness import wait_until

NODES = "/api/v1/nodes"
# Windows of seconds: nothing is decided of one that is less than half full.
METRICS = {"cpu_usage_avg_4s": "2s", "mem_usage_avg_4s": "2s"}
WITHOUT = policy(METRICS, priority={name: 1 for name in METRICS})
WITH = {**WITHOUT, "spec": WITHOUT["spec"] | {"taints": {"levels": [0.5, 0.6, 0.7, 0.8]}}}
NAMED = {**WITH, "metadata": {"name": "default"}}
UNLOADABLE = {**NAMED, "spec": WITH["spec"] | {"extender": {"scoring": "of a newer version"}}}
POLICY_RESOURCE = "dynamicschedulerpolicies"
POLICIES = f"/apis/scheduler.policy.crane.io/v1alpha1/{POLICY_RESOURCE}"
JSON_PATCH = "application/json-patch"
SPOT = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
SOFT = {"key": "load.plimsoll.io/other", "effect": "PreferNoSchedule"}


def ours(*levels):
    return [{"key": f"load.plimsoll.io/{n}", "effect": "PreferNoSchedule"} for n in levels]


def taints(standin, node):
    found = standin.admin("objects", resource="nodes", name=f"node-{node:04}")
    return found["spec"].get("taints", [])


def put(standin, node, *carried):
    body = {"spec": {"taints": list(carried) or None}}
    assert standin.patch(f"{NODES}/node-{node:04}", body).status == 200


def is_of_taints(row):
    return row["content_type"].startswith(JSON_PATCH)


def changed(standin):
    """The node of each patch of taints that the API server took."""
    return [row["name"] for row in standin.patches() if is_of_taints(row) and row["code"] == 200]


@pytest.fixture(scope="module")
def exporters(module_start_exporters):
    """node-0000 to node-0003 at 0.2, 0.57, 0.65 by their memory, and 0.95."""
    started = module_start_exporters()
    for i, load in enumerate(({"cpu": 0.2}, {"cpu": 0.57}, {"mem": 0.65}, {"cpu": 0.95})):
        started.set([f"127.1.0.{i + 1}"], load={"cpu": 0.1, "mem": 0.1} | load)
    return started


@pytest.fixture
def standin(start_standin):
    return start_standin("--nodes", 4)


def test_levels(standin, exporters, start_controller):
    put(standin, 2, SPOT)
    put(standin, 3, SPOT, SOFT)
    controller = start_controller(standin, exporters, content=WITH)
    wait_until(lambda: len(taints(standin, 3)) == 6, what="the taints of the hottest")
    wait_until(lambda: len(taints(standin, 2)) == 3, what="the taints of the third")
    wait_until(lambda: len(taints(standin, 1)) == 1, what="the taints of the second")
    assert taints(standin, 0) == [] and taints(standin, 1) == ours(1)
    assert taints(standin, 2) == [SPOT, *ours(1, 2)]
    assert taints(standin, 3) == [SPOT, SOFT, *ours(1, 2, 3, 4)]
    assert len(changed(standin)) == 3
    wait_until(
        lambda: [controller.metric("plimsoll_taint_level_nodes", level=n) for n in "1234"]
        == [1, 1, 0, 1],
        what="the metric",
    )  # fmt: skip
    controller.process.stop()
    # Another replica has a policy without them, and somebody has put a taint before ours.
    put(standin, 3, *ours(2), SPOT, *ours(1, 3, 4), SOFT)
    start_controller(standin, exporters, content=WITHOUT)
    wait_until(lambda: taints(standin, 3) == [SPOT, SOFT], what="only foreign taints")
    wait_until(lambda: taints(standin, 2) == [SPOT], what="only the foreign taint")
    wait_until(lambda: taints(standin, 1) == [], what="no taint")


@pytest.mark.parametrize("fault", ("refused", "unloadable"))
def test_until_the_policy_is_known_taints_stay(run, binary, standin, exporters, fault):
    """What stands by the cluster's policy is not taken off by the built-in one that stands in for it."""
    put(standin, 3, *ours(1, 2, 3, 4))
    assert standin.call("POST", POLICIES, NAMED if fault == "refused" else UNLOADABLE).status == 201
    if fault == "refused":
        standin.fault("status", resource=POLICY_RESOURCE, verb="list", status=403, count=-1)
    argv = [
        binary("plimsoll-controller"),
        f"--kubeconfig={standin.kubeconfig}",
        *("--health-port=0", "--scrape-interval=1s", "--leader-elect=false"),
        f"--target-url-template=http://{{address}}:{exporters.port}/metrics",
    ]
    controller = Controller(run(argv, "controller"))
    # For its first 3 intervals a controller takes nothing away anyway.
    wait_until(
        lambda: controller.metric("plimsoll_scrapes_total", result="ok") >= 4 * 8, what="readings"
    )
    assert "the built-in policy" in controller.ready()[1]
    assert taints(standin, 3) == ours(1, 2, 3, 4)
    standin.clear_faults()
    without = {"spec": {"taints": None, "extender": None}}
    assert standin.patch(f"{POLICIES}/default", without).status == 200
    wait_until(lambda: taints(standin, 3) == [], what="no taint")
