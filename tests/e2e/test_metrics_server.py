"""The real metrics-server and kwok's kubelets as sources, next to the exporters of the same nodes."""

import time

import pytest
from cluster.metrics_server import LIST_PATH, MetricsServer, point_to_kwok
from cluster.nodes import exporter_template
from cluster.plimsoll import kubelet_source, refused, total
from cluster.workloads import load_pod
from harness import wait_until
from policies import policy_object
from standin.node_metrics import NodeMetrics

pytestmark = pytest.mark.own_plane  # a group that does not answer is in everybody's way
CPU, MEM = "cpu_usage_avg_30s", "mem_usage_avg_30s"
POLICY = policy_object({CPU: "5s", MEM: "5s"})
CPUS, MEMORY_GI = 8, 32
INTERVAL_S = 5
APART = 0.03
# Of the exporters' annotations and of the kubelets', where all write.
PREFIX, KUBELETS = "exporter.example.com/", "kubelet.example.com/"
# CPUs and Gi of memory that the pods of a node use. (metrics-server leaves out who uses nothing.)
LOADS = [(0.1, 1), (1, 2), (2, 8), (4, 16), (6, 24), (7.5, 28)]


@pytest.fixture(scope="module")
def metrics_server(own_plane):
    server = MetricsServer(own_plane)
    server.register()
    server.start()
    return server


def expected(cpu, memory_gi):
    return cpu / CPUS, memory_gi / MEMORY_GI


def put_loads(namespace, names, loads):
    for name, (cpu, memory_gi) in zip(names, loads):
        namespace.create(load_pod(name, cpu, memory_gi))


def values(annotations, prefix=""):
    """(cpu, mem) that stand on a node, or None."""
    found = [annotations.get(prefix + key) for key in (CPU, MEM)]
    return None if None in found else tuple(float(text.split(",")[0]) for text in found)


def wait_agree(fleet, names, loads, prefixes, what):
    """Wait until all of these annotations are near what the pods use; return how far apart."""

    def look():
        worst = 0.0
        for name, load in zip(names, loads):
            annotations = fleet.annotations(name)
            for prefix in prefixes:
                said = values(annotations, prefix)
                assert said, f"{name} has nothing with {prefix!r}"
                for got, want in zip(said, expected(*load)):
                    assert abs(got - want) < APART, f"{name}: {prefix!r} {said} for {load}"
                    worst = max(worst, abs(got - want))
        return (worst,)

    return wait_until(look, 240, what, poll_s=1)[0]


def start_from_exporters(plane, plimsoll, policy, *flags, kubeconfig=None):
    return plimsoll.controller(
        policy,
        None,
        f"--target-url-template={exporter_template(plane)}",
        *flags,
        interval=f"{INTERVAL_S}s",
        kubeconfig=kubeconfig,
    )


def start_from_kubelets(plane, plimsoll, policy):
    """kwok has one certificate for all nodes, which none of them is named in."""
    return plimsoll.controller(
        policy,
        None,
        "--node-address-types=ExternalIP",
        f"--annotation-prefix={KUBELETS}",
        "--leader-elect=false",
        sources=[kubelet_source(plimsoll.write_token("plimsoll-controller"))],
        interval=f"{INTERVAL_S}s",
        kubeconfig=plane.kubeconfig,
    )


def as_believed(plane):
    """The list has the form that the stand-in of tests/integration gives it."""
    real = plane.api.get(LIST_PATH)
    believed = NodeMetrics().list(plane.api.items("/api/v1/nodes"))
    shapes = []
    for listed in (real, believed):
        items = {item["metadata"]["name"]: item for item in listed.pop("items")}
        labels = {name: item["metadata"]["labels"] for name, item in items.items()}
        keys = {(*item, *item["metadata"], *item["usage"]) for item in items.values()}
        shapes.append((list(listed.items()), labels, keys))
    assert shapes[0] == shapes[1]


def test_the_same_load_seen_three_ways(plane, metrics_server, fleet, namespace, plimsoll, figure):
    names = fleet.add(len(LOADS), cpu=str(CPUS), memory=f"{MEMORY_GI}Gi")
    point_to_kwok(plane, names)
    put_loads(namespace, names, LOADS)
    policy = plimsoll.write_policy(POLICY)
    # With the account and the role of deploy/; the other one may write under another prefix, and
    # there is but one lease.
    ours = plimsoll.controller(
        policy,
        None,
        "--metrics-source=metrics-server",
    )
    start_from_exporters(
        plane,
        plimsoll,
        policy,
        f"--annotation-prefix={PREFIX}",
        "--leader-elect=false",
        kubeconfig=plane.kubeconfig,
    )
    start_from_kubelets(plane, plimsoll, policy)
    # Windows fill in the meantime.
    metrics_server.wait_items(names)
    as_believed(plane)
    everybody = ("", PREFIX, KUBELETS)
    worst = wait_agree(fleet, names, LOADS, everybody, "all to say what the pods use")
    top = plane.kubectl("top", "nodes", "--no-headers").splitlines()
    assert len(top) == len(names)
    for line in top:
        name, _, cpu_percent, _, memory_percent = line.split()
        for got, shown in zip(values(fleet.annotations(name)), (cpu_percent, memory_percent)):
            assert abs(got - int(shown.rstrip("%")) / 100) < APART, line
    figure(f"{len(names)} nodes at rest: at most {worst:.4f} from what their pods use")

    # The load moves: what was busy is at rest, and the other way round.
    namespace.delete_pods()
    moved = LOADS[::-1]
    put_loads(namespace, names, moved)
    began = time.monotonic()
    worst = wait_agree(fleet, names, moved, everybody, "all to follow the load")
    figure(
        f"load moved: all agree with it again (within {worst:.4f}) after "
        f"{time.monotonic() - began:.0f} s, a window being 30 s"
    )
    assert total(ours, "plimsoll_api_requests_total", resource="nodes.metrics.k8s.io", code="200")
    assert not refused(plane, "plimsoll-controller")
