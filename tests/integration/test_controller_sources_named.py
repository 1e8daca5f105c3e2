"""Which source a metric comes from, when the policy says that, and when no source can know it."""

import pytest

from controller_kit import exporter_url, log_lines, policy, reading
from harness import wait_until

GPU, GPU_MAX = "gpu_usage_avg_5m", "gpu_usage_max_avg_1h"
NODE = "node-0000"
NODES = {"kind": "node-exporter"}
UNREADABLE = "policy metric has no source: no exporter of that name"


def gpu_policy(*metrics, exporter="dcgm"):
    """The GPU's usage, of an exporter of its own, every two seconds."""
    rules = policy({name: "2s" for name in metrics})
    gpu = {"name": "gpu", "exporter": exporter, "series": "GPU_UTIL", "kind": "gauge"}
    rules["spec"]["metrics"] = [gpu | {"reduce": "max", "capacity": 100}]
    return rules


@pytest.fixture
def gpus(start_exporters):
    """A source of GPUs that are at 80 percent."""
    exporters = start_exporters()
    exporters.trouble("all", "extra", text="GPU_UTIL 80\n")
    return {"kind": "exporter", "name": "dcgm", "url": exporter_url(exporters.port)}


def test_only_metrics_of_another_exporter(start_standin, start_controller, gpus):
    """Nobody asks node_exporters for nothing: the nodes have recent samples, the controller is ready."""
    standin = start_standin("--nodes", 2)
    controller = start_controller(standin, 1, sources=[NODES, gpus], content=gpu_policy(GPU))
    wait_until(lambda: reading(standin, NODE, GPU), what="the GPU's usage")
    controller.wait_ready()
    both = "2 of 2 nodes have recent samples"
    wait_until(lambda: both in controller.ready()[1], what="the other node to be read")
    assert controller.metric("plimsoll_nodes_stale") == 0
    assert controller.metric("plimsoll_scrapes_total", source="node-exporter") == 0
    assert log_lines(controller.process, "node switched to another source") == []


def test_prometheus_has_read_every_page(start_standin, start_controller, pretended):
    """Means and maxima of an exporter that the controller was not told of, and no complaint."""
    pretended.computed[GPU] = [({"node": NODE}, 0.7)]
    standin = start_standin("--nodes", 1)
    controller = start_controller(
        standin,
        1,
        *("--metrics-source=prometheus", f"--prometheus-address={pretended.url}"),
        content=gpu_policy(GPU, GPU_MAX),
    )
    wait_until(lambda: reading(standin, NODE, GPU), what="the mean")
    wait_until(lambda: reading(standin, NODE, GPU_MAX), what="the maximum")
    assert reading(standin, NODE, GPU_MAX).value == 0.7
    assert log_lines(controller.process, UNREADABLE) == []


def test_prometheus_counts_the_same_devices(start_standin, start_controller, pretended):
    """What --network-device-pattern and --network-speed say applies to Prometheus' series as well."""
    start_controller(
        start_standin("--nodes", 1),
        1,
        *("--metrics-source=prometheus", f"--prometheus-address={pretended.url}"),
        *("--network-device-pattern=eth*,ens192", "--network-speed=10G"),
        content=policy({"net_usage_avg_5m": "2s"}),
    )
    wait_until(lambda: pretended.asked, what="a query")
    query = pretended.asked[0].params["query"]
    assert 'device=~"eth.*|ens192"' in query
    assert "536870911875000 or node_network_carrier * 0 + 1250000000)" in query
