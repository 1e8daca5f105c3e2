"""`cleanup`: after it, nodes are as they were before we came."""

import pytest

from controller_kit import LEASE, policy
from harness import wait_until
from pages import block
from policies import CPU, ago

LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-controller"
OFFER = {"plimsoll.io/idle-milli-cpu": "500"}
FOREIGN = {
    "node.alpha.kubernetes.io/ttl": "0",
    "example.com/cpu_usage_avg_5m": "0.5,2026-07-23T11:25:54Z",
    "cpu_usage": "high",
}
TAINTS = [
    {"key": "load.plimsoll.io/1", "effect": "PreferNoSchedule"},
    {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
]


@pytest.fixture(scope="module")
def exporters(module_start_exporters):
    return module_start_exporters()


@pytest.fixture
def cluster(start_standin):
    standin = start_standin()
    standin.add_nodes(3, annotations=FOREIGN)
    return standin


@pytest.fixture
def controller(start_controller, cluster, exporters):
    def start(metric, *arguments):
        content = policy({CPU: "1s", metric: "1s"}, hot={"5m": 2})
        return start_controller(cluster, exporters, *LEASE, *arguments, content=content).process

    return start


def nodes(cluster):
    return [node["metadata"]["name"] for node in cluster.get("/api/v1/nodes")["items"]]


def annotate(cluster, number, prefix="node-", **annotations):
    path = f"/api/v1/nodes/{prefix}000{number}?fieldManager=plimsoll-controller"
    assert cluster.patch(path, {"metadata": {"annotations": annotations}}).status == 200


def managers(cluster, name):
    fields = cluster.get(f"/api/v1/nodes/{name}")["metadata"].get("managedFields", [])
    return {entry["manager"] for entry in fields}


@pytest.mark.parametrize("prefix", ["", "load.example.com/"])
def test_as_before(controller, cluster, plimsoll, prefix):
    names = nodes(cluster)
    before = {name: cluster.annotations(name) for name in names}
    shaped = [f"--annotation-prefix={prefix}"] if prefix else []
    # Two policies one after the other: of the first, nothing is known any more but what stands there.
    for metric in ("psi_cpu_usage_p90_1h", "mem_usage_avg_5m"):
        process = controller(metric, *shaped)
        wait_until(
            lambda m=metric: all(prefix + m in cluster.annotations(name) for name in names),
            what=metric,
        )
        if metric == "mem_usage_avg_5m":
            said = plimsoll("cleanup", "--apply", status=2)
            assert "is held by " in said and "--replicas=0" in said
        assert process.stop() == 0
    written = {name: set(cluster.annotations(name)) - set(before[name]) for name in names}
    patched = len(cluster.patches())

    lines = plimsoll("cleanup").splitlines()
    assert {line.split()[0]: set(line.split()[1].split(",")) for line in lines[:-1]} == written
    assert all(f"{prefix}psi_cpu_usage_p90_1h" in keys for keys in written.values())
    assert len(cluster.patches()) == patched
    assert cluster.get(LEASE_PATH)["spec"]["holderIdentity"] == ""

    assert plimsoll("cleanup", "--apply").endswith("cleaned 3 of 3 nodes\n")
    assert {name: cluster.annotations(name) for name in names} == before
    assert all("plimsoll-controller" not in managers(cluster, name) for name in names)
    assert cluster.call("GET", LEASE_PATH).status == 404
    assert len(cluster.patches()) == patched + 3

    assert plimsoll("cleanup", "--apply") == "cleaned 0 of 3 nodes\n"  # again: nothing to do
    assert len(cluster.patches()) == patched + 3


def test_taints_and_offers(cluster, plimsoll):
    reading = f"0.5,{ago(30)}"
    for number in range(2):
        annotate(cluster, number, cpu_usage_avg_5m=reading)
    cluster.patch("/api/v1/nodes/node-0000", {"spec": {"taints": TAINTS}})
    assert plimsoll("cleanup") == block("docs/kubectl/cleanup.md", "cleanup-picture")

    status = {"status": {"capacity": OFFER, "allocatable": OFFER}}
    cluster.patch("/api/v1/nodes/node-0002/status", status)
    last = plimsoll("cleanup", "--apply").splitlines()[-2:]
    assert last == ["node-0002 plimsoll.io/idle-milli-cpu", "cleaned 3 of 3 nodes"]
    assert cluster.get("/api/v1/nodes/node-0000")["spec"]["taints"] == TAINTS[1:]
    status = cluster.get("/api/v1/nodes/node-0002")["status"]
    assert not OFFER.keys() & (status["capacity"].keys() | status["allocatable"].keys())

    cluster.patch("/api/v1/nodes/node-0000/status", {"status": {"allocatable": OFFER}})
    cluster.patch("/api/v1/nodes/node-0001", {"spec": {"taints": TAINTS}})
    cluster.fault("status", verb="patch", status=403, count=2)
    first = "node-0000 plimsoll.io/idle-milli-cpu\nnode-0001 load.plimsoll.io/1\n"
    for cleaned, code in ((0, 2), (2, 0)):
        done = plimsoll("cleanup", "--apply", status=None)
        assert done.returncode == code
        assert done.stdout == f"{first}cleaned {cleaned} of 3 nodes\n"


def test_trouble(cluster, plimsoll):
    for number in range(2):
        annotate(cluster, number, node_hot_value="0")
    cluster.fault("status", verb="patch", status=403, name="node-0000")
    done = plimsoll("cleanup", "--apply", status=None)
    assert done.returncode == 2 and done.stdout.endswith("cleaned 1 of 3 nodes\n")
    assert "PATCH /api/v1/nodes/node-0000: " in done.stderr
    assert done.stderr.endswith("1 node could not be cleaned; run it again\n")
    assert "node_hot_value" not in cluster.annotations("node-0001")
    # A node that goes in the meantime is clean; a server that stumbles is asked again.
    annotate(cluster, 1, node_hot_value="0")
    cluster.fault("status", verb="patch", status=404, name="node-0001")
    cluster.fault("status", verb="patch", status=503, retry_after=0, name="node-0000")
    assert plimsoll("cleanup", "--apply").endswith("cleaned 2 of 3 nodes\n")
    assert "node_hot_value" not in cluster.annotations("node-0000")


def test_only_of_a_pool(cluster, plimsoll):
    cluster.add_nodes(1, prefix="web", labels={"pool": "web"})
    annotate(cluster, 0, node_hot_value="0")
    annotate(cluster, 0, prefix="web", node_hot_value="0")
    assert plimsoll("cleanup", "-l", "pool=web").endswith(
        "1 of 1 node to clean. --apply cleans them.\n"
    )
    assert "expected nothing but flags" in plimsoll("cleanup", "now", status=2)


def test_refusals(cluster, plimsoll):
    cluster.fault("status", verb="get", resource="leases", status=403)
    assert "leases/plimsoll-controller" in plimsoll("cleanup", "--apply", status=2)
    cluster.fault("status", verb="list", resource="nodes", status=403)
    assert "/api/v1/nodes" in plimsoll("cleanup", "--apply", status=2)
    cluster.fault("status", verb="delete", resource="configmaps", status=403)
    done = plimsoll("cleanup", "--apply", status=None)
    assert done.returncode == 2 and "DELETE /api/v1/namespaces/kube-system/config" in done.stderr
