"""Network devices, filesystems and metrics of the policy's own, from page to annotation."""

from controller_kit import policy, read_annotation
from harness import wait_until

NODE = "node-0000"
TARGET = "127.1.0.1"
STATISTICS = ("avg", "max_avg", "max", "p50", "p90", "p95", "p99")
LOADS = {
    "cpu": 0.62,
    "mem": 0.41,
    "net_rx": 0.37,
    "net_tx": 0.23,
    "disk": 0.55,
    "load": 0.48,
    "fs": 0.71,
    "psi_cpu": 0.19,
    "psi_mem": 0.11,
    "psi_io": 0.29,
}
# The exporter counts by its own clock, and we divide by ours from page to page.
TOLERANCE = 0.02


def policy_with(resources, metrics, **more):
    content = policy(metrics, **more)
    content["spec"]["metrics"] = resources
    return content


def wait_values(standin, keys, node=NODE):
    """{key: value} of the second patch, when the first interval is no longer all there is."""

    def found():
        there = standin.annotations(node)  # all of one moment
        is_settled = set(keys) <= there.keys() and len(standin.patches(name=node)) >= 3
        return is_settled and {key: read_annotation(there[key]).value for key in keys}

    return wait_until(found, what=f"{len(keys)} values")


def test_every_resource_by_every_statistic(start_standin, start_exporters, start_controller):
    """All of them on one node; pods' own devices and a full tmpfs in addition change nothing."""
    standin, exporters = start_standin("--nodes", 1), start_exporters("--cpus", 2)
    exporters.set([TARGET], load=LOADS, virtual_devices=40)
    wanted = {**LOADS, "net": max(LOADS["net_rx"], LOADS["net_tx"])}
    # A policy holds 64 metrics: every resource, and every statistic of every other one.
    keys = [f"{resource}_usage_avg_5m" for resource in wanted]
    for i, statistic in enumerate(STATISTICS):
        keys += [f"{resource}_usage_{statistic}_1h" for resource in list(wanted)[i % 2 :: 2]]
    assert len(keys) <= 64
    # Pages that a busy machine makes late by a tenth of a second are not late by much of four.
    content = policy({key: "2s" for key in keys})
    start_controller(standin, exporters, "--scrape-interval=4s", content=content)
    values = wait_values(standin, keys)
    off = {key: abs(value - wanted[key.partition("_usage_")[0]]) for key, value in values.items()}
    print(f"the worst of {len(off)}: {max(off.items(), key=lambda item: item[1])}")
    assert {key: distance for key, distance in off.items() if distance > TOLERANCE} == {}
    asked = set(exporters.scrapes(TARGET)[-1][2].split(","))
    assert asked == {
        *("cpu", "meminfo", "loadavg", "pressure"),
        *("diskstats", "netdev", "netclass", "filesystem", "uname"),
    }


def test_gpu_utilisation(start_standin, start_exporters, start_controller):
    """The example of docs/policy-metrics.md: the DCGM exporter's page, and nodes that have none."""
    standin, exporters = start_standin("--nodes", 2), start_exporters()
    exporters.set([TARGET], load={"gpu": 0.8})
    exporters.set(["127.1.0.2"], has_gpus=False)
    gpu = {
        "name": "gpu",
        "exporter": "dcgm",
        "series": "DCGM_FI_DEV_GPU_UTIL",
        "kind": "gauge",
        "match": {"modelName": "NVIDIA A100-SXM4-80GB"},
        "reduce": "mean",
        "capacity": 100,
    }
    content = policy_with(
        [
            gpu,
            {**gpu, "name": "gpu_busiest", "reduce": "max", "match": {}},
            {**gpu, "name": "gpu_absent", "match": {"modelName": "NVIDIA H100"}},
            {**gpu, "name": "gpu_temperature", "series": "DCGM_FI_DEV_MEMORY_TEMP"},
        ],
        {
            "cpu_usage_avg_5m": "2s",
            "gpu_usage_avg_5m": "2s",
            "gpu_usage_p95_1h": "2s",
            "gpu_busiest_usage_max_avg_1h": "2s",
            "gpu_absent_usage_avg_5m": "2s",
            "gpu_temperature_usage_avg_5m": "2s",
        },
    )
    port = exporters.port
    dcgm = {"kind": "exporter", "name": "dcgm", "url": f"http://{{address}}:{port}/dcgm"}
    controller = start_controller(
        standin, exporters, sources=[{"kind": "node-exporter"}, dcgm], content=content
    )
    keys = ["gpu_usage_avg_5m", "gpu_usage_p95_1h", "gpu_busiest_usage_max_avg_1h"]
    values = wait_values(standin, keys)
    assert values == {keys[0]: 0.4, keys[1]: 0.4, keys[2]: 0.8}
    wait_until(lambda: len(standin.patches(name="node-0001")) >= 3, what="the other node's")
    for node in (NODE, "node-0001"):
        there = set(standin.annotations(node))
        assert "cpu_usage_avg_5m" in there
        assert not there & {"gpu_absent_usage_avg_5m", "gpu_temperature_usage_avg_5m"}
        assert (node == NODE) == ("gpu_usage_avg_5m" in there)
    # Of node_exporter no more is asked for: the GPU's series stand elsewhere.
    assert exporters.scrapes(TARGET)[-1][2] == "cpu,uname"
    assert controller.ready()[0]
