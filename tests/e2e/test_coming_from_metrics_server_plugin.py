"""deploy/coming-from/metrics-server-plugin.md, as it stands, with the real metrics-server: from a
scheduler with a plugin to Plimsoll without a gap, and back.

Our programs run as processes; the controller has the environment that the overlay gives it.
"""

import re
import threading

import pytest
import yaml
from cluster.api import ApiError
from cluster.metrics_server import LIST_PATH, MetricsServer, point_to_kwok
from cluster.nodes import Fleet
from cluster.pages import follow
from cluster.plimsoll import Plimsoll, pod_environment, refused, total, wait_ready
from cluster.workloads import Namespace, load_pod
from harness import wait_until
from pages import block
from programs import complete
from standin.node_metrics import NodeMetrics

PAGE = "deploy/coming-from/metrics-server-plugin.md"
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/plimsoll-controller"
CPU = ["cpu_usage_avg_5m", "cpu_usage_max_avg_1h"]
METRICS = [*CPU, "mem_usage_avg_5m", "mem_usage_max_avg_1h"]
CPUS, MEMORY_GI = 8, 32
# CPUs and Gi of memory in use: the first is above the limit of the policy.
LOADS = [(7.5, 4), (3, 8), (1, 4), (0.5, 2)]


@pytest.fixture
def bare(bare):
    """With metrics-server in it."""
    bare.metrics_server = MetricsServer(bare)
    bare.metrics_server.register()
    bare.metrics_server.start()
    return bare


def scheduler_of_page():
    """(the profile, the extenders) that the page asks the reader to configure."""
    config = yaml.safe_load(block(PAGE, "scheduler"))
    return config["profiles"][0], config["extenders"]


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


def test_there_and_back(bare, exporters, log_dir, run, binary, figure):
    fleet = Fleet(bare, exporters)
    names = fleet.add(len(LOADS), cpu=str(CPUS), memory=f"{MEMORY_GI}Gi")
    point_to_kwok(bare, names)
    work = Namespace(bare, "work")
    for name, load in zip(names, LOADS):
        work.create(load_pod(name, *load))
    bare.metrics_server.wait_items(names)
    as_believed(bare)
    plimsoll = Plimsoll(bare, log_dir, run, binary)
    started = {}

    # Until metrics-server has averaged over a time in which the pods ran.
    def loaded():
        first = bare.metrics_server.items()[names[0]]["usage"]["cpu"]
        return int(first.rstrip("n")) > 0.9 * LOADS[0][0] * 1e9

    wait_until(loaded, what="the load to show", poll_s=0.5)
    # The programs under test are on the path.
    said = follow(bare, block(PAGE, "look").replace("build/controller/", ""))
    for name, (cpu, memory_gi) in zip(names, LOADS):
        # kubectl's percentages have no decimals.
        (row,) = re.findall(rf"^{name} .*\.\d%.*$", said, re.M)
        shown = [float(cell) / 100 for cell in re.findall(r"([\d.]+)%", row)]
        assert len(shown) == len(METRICS), row
        for got in shown[: len(CPU)]:
            assert abs(got - cpu / CPUS) < 0.03, row
        for got in shown[len(CPU) :]:
            assert abs(got - memory_gi / MEMORY_GI) < 0.03, row

    def start_ours():
        """What the kubelet would do once the Deployment is there; the block waits for its work."""

        def exists():
            try:
                return bare.api.get(DEPLOYMENT)
            except ApiError:
                return None

        wait_until(exists, 60, "the Deployment")
        env = pod_environment(bare, "plimsoll-controller")
        assert env["PLIMSOLL_METRICS_SOURCE"] == "metrics-server"
        argv = [
            binary("plimsoll-controller"),
            f"--kubeconfig={plimsoll.kubeconfig('plimsoll-controller')}",
            "--bind-address=127.0.0.1",
            "--health-port=0",
            "--leader-elect-resource-namespace=kube-system",
        ]
        env["PLIMSOLL_SCRAPE_INTERVAL"] = "2s"  # so that pods are soon measured
        process = run(argv, "plimsoll-controller", env)
        process.url = f"http://127.0.0.1:{process.wait_port()}"
        wait_ready(process, 120)
        started["controller"] = process

    starter = threading.Thread(target=start_ours, daemon=True)
    starter.start()
    follow(bare, block(PAGE, "beside"))
    starter.join(120)
    controller = started["controller"]
    for name in names:
        wait_until(lambda: set(METRICS) <= fleet.annotations(name).keys(), 60, f"all of {name}")
    assert total(controller, "plimsoll_nodes_served", source="metrics-server") == len(names)
    # Nobody answers at the kubelets' addresses.
    wait_until(
        lambda: total(controller, "plimsoll_pods_measured") == len(names), 90, "measured pods"
    )
    assert not refused(bare, "plimsoll-controller")
    said = follow(bare, block(PAGE, "verbose"))
    assert all(f'"{name}"' in said for name in names) and said.splitlines()[-1] == "yes"

    # The scheduler of before, by its name, with our lines in place of the plugin.
    profile, extenders = scheduler_of_page()
    extender = plimsoll.extender(None)
    for entry in extenders:
        entry["urlPrefix"] = entry["urlPrefix"].replace("http://CLUSTER_IP:8010", extender.url)
    scheduler = bare.start_scheduler(
        profile["schedulerName"], extenders, {"plugins": profile["plugins"]}
    )
    work.create_pods("web", 12, scheduler=profile["schedulerName"], cpu="10m")
    places = work.wait_bound(12, app="web")
    count = {name: sum(place == name for place in places.values()) for name in names}
    assert count[names[0]] == 0, count
    figure(f"12 pods on nodes of {[cpu for cpu, _ in LOADS]} busy CPUs: {list(count.values())}")
    scheduler.kill()

    # The way back: the plugin needs nothing of ours, and nobody has touched what it reads.
    first, rest = block(PAGE, "leave").split("kubectl -n kube-system wait", 1)
    assert controller.stop() == 0
    follow(bare, first)
    kubeconfig = plimsoll.kubeconfig("plimsoll-controller")
    complete("kubectl-plimsoll", "cleanup", "--apply", f"--kubeconfig={kubeconfig}")
    extender.stop()
    follow(bare, "kubectl -n kube-system wait" + rest)
    assert not any(set(METRICS) & fleet.annotations(name).keys() for name in names)
    assert bare.api.get(LIST_PATH)["items"]
