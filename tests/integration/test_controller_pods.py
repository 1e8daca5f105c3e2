"""What pods use: read from kubelets whatever the source of nodes is, kept in ConfigMaps.

Scraped every second, a pod is read every four.
"""

import pytest

from controller_kit import policy
from harness import fetch, wait_until
from kubelet_kit import POD_BYTES, Kubelet, add_node, add_pod
from tls_kit import Authority

RULES = policy({"cpu_usage_avg_5m": "1s"}, extender={"scoring": "estimate"})
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
WEB, DB = "n/ReplicaSet/replicaset-1", "n/StatefulSet/statefulset-1"
NODES = {"a": "127.1.0.1", "b": "127.1.0.2", "c": "127.1.0.3"}
# namespace and name, owner, node, cores
PODS = [
    *(("n", f"web-{node}", "ReplicaSet", node, 0.4) for node in NODES),
    ("n", "web-hot", "ReplicaSet", "a", 0.6),
    ("n", "db-0", "StatefulSet", "a", 1.5),
    ("n", "db-1", "StatefulSet", "b", 0.5),
    ("n", "solo", None, "c", 2.0),
]
NAMED = {WEB: 0.45, DB: 1.0}
# Ten minutes of reading once a minute are 40 s here; a moment more on a busy machine.
KNOWN_S = 60
AGAIN_S = 20


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"), "cluster")


@pytest.fixture
def kubelets(authority):
    started = {}
    for node, address in NODES.items():
        pair = authority.server("kubelet", names=f"DNS:{node}")
        started[node] = Kubelet(pair, address=address)
        started[node].pods = {(ns, name): cores for ns, name, _, on, cores in PODS if on == node}
    yield started
    for kubelet in started.values():
        kubelet.stop()


@pytest.fixture
def standin(start_standin, kubelets):
    standin = start_standin()
    for node, kubelet in kubelets.items():
        add_node(standin, node, kubelet, address=NODES[node])
    for number, (namespace, name, owner, node, _) in enumerate(PODS):
        uid = f"{number:08x}-0000-4000-8000-000000000000"
        add_pod(standin, namespace, name, node, owner, uid, cpu="250m", memory="128Mi")
    return standin


@pytest.fixture(params=[["node-exporter", "kubelet"], ["kubelet"]], ids="-".join)
def start(request, standin, exporters, start_controller, authority, tmp_path):
    token = tmp_path / "token"
    token.write_text("t0ken")
    kubelet = {
        "kind": "kubelet",
        "tls_config": {"ca_file": str(authority.cert)},
        "authorization": {"credentials_file": str(token)},
    }
    sources = [kubelet if kind == "kubelet" else {"kind": kind} for kind in request.param]
    return lambda: start_controller(standin, exporters, sources=sources, content=RULES)


def stored(standin):
    """{workload: {key: text}} of the ConfigMap."""
    answer = standin.call("GET", f"{CONFIG_MAPS}/plimsoll-workloads")
    if answer.status == 404:
        return {}
    assert answer.status == 200
    data = answer.json()["data"]
    assert data["shards"] == "1"
    lines = [line.split(" ") for line in data["workloads"].splitlines()]
    return {line[0]: dict(pair.split("=", 1) for pair in line[1:]) for line in lines}


def is_measured(standin):
    workloads = stored(standin)
    means = {name: float(workloads[name]["mean"].split("/")[0]) for name in workloads}
    return means.keys() == NAMED.keys() and all(
        abs(means[name] - truth) < 0.1 * truth for name, truth in NAMED.items()
    )


def usage_list(standin, node):
    text = standin.annotations(node).get("pod_usage", "")
    return dict(entry.split("=") for entry in text.split(",") if entry)


def test_measured_and_remembered(start, standin, kubelets):
    controller = start()
    wait_until(lambda: is_measured(standin), KNOWN_S, "the usage of workloads")
    web = stored(standin)[WEB]
    assert (web["pods"], web["guaranteed"]) == ("4", "0")
    assert web["request"].startswith("0.25/")
    assert float(web["max"].split("/")[0]) == pytest.approx(0.6, rel=0.1)
    assert float(web["mean"].split("/")[1]) == pytest.approx(POD_BYTES, rel=0.01)
    assert controller.metric("plimsoll_pods") == len(PODS)
    wait_until(
        lambda: controller.metric("plimsoll_pods_measured") == len(PODS), what="means of all pods"
    )
    assert controller.metric("plimsoll_kubelets_failing") == 0
    rows = {row["name"]: row for row in controller.page("/status.json").json()["nodes"]}
    assert rows["a"]["pods"] == {"bound": 3, "measured": 3}
    # The ones that differ: 0.5 cores of 8 or more from their workload's mean.
    number = {name: f"{i:08x}" for i, (_, name, *_) in enumerate(PODS)}
    wait_until(lambda: set(usage_list(standin, "a")) >= {number["db-0"]}, what="pod_usage")
    wait_until(lambda: set(usage_list(standin, "c")) >= {number["solo"]}, what="pod_usage")
    cores, mib = map(float, usage_list(standin, "a")[number["db-0"]].split("/"))
    assert (cores, mib) == pytest.approx((1.5, 200), rel=0.1)
    assert number["web-b"] not in usage_list(standin, "b")
    page = controller.page("/pods?node=a").json()
    pods = {pod["name"]: pod for pod in page["pods"]}
    assert set(pods) == {"n/web-a", "n/web-hot", "n/db-0"}
    assert pods["n/db-0"]["workload"] == DB
    assert pods["n/db-0"]["mean"]["cpuCores"] == pytest.approx(1.5, rel=0.1)

    # Nobody can be read any more, and everything is started again: nothing is forgotten.
    before = stored(standin)
    controller.process.kill()
    for kubelet in kubelets.values():
        kubelet.answer = (403, {}, b"")
    again = start()
    wait_until(
        lambda: again.metric("plimsoll_workloads_measured") == len(NAMED),
        AGAIN_S,
        "what was stored",
    )
    assert is_measured(standin)
    assert stored(standin)[WEB]["since"] == before[WEB]["since"]
    assert usage_list(standin, "a")
    assert again.metric("plimsoll_pods_measured") == 0
    wait_until(
        lambda: again.metric("plimsoll_kubelets_failing") == len(kubelets), what="403 of all"
    )


def test_metrics_server_where_kubelets_refuse(
    standin, kubelets, exporters, start_controller, authority, tmp_path
):
    for kubelet in kubelets.values():
        kubelet.answer = (403, {}, b"")
    pods = {
        f"{namespace}/{name}": {"cpu": f"{cores * 1000:.0f}m", "memory": f"{POD_BYTES}"}
        for namespace, name, _, _, cores in PODS
    }
    standin.admin("nodemetrics", {"on": True, "pods": pods | {"n/stranger": {"cpu": "1"}}})
    token = tmp_path / "token"
    token.write_text("t0ken")
    sources = [
        {"kind": "node-exporter"},
        {"kind": "metrics-server"},
        {
            "kind": "kubelet",
            "tls_config": {"ca_file": str(authority.cert)},
            "authorization": {"credentials_file": str(token)},
        },
    ]
    controller = start_controller(standin, exporters, sources=sources, content=RULES)
    wait_until(
        lambda: controller.metric("plimsoll_pods_measured") == len(PODS), what="means of all pods"
    )
    wait_until(lambda: is_measured(standin), KNOWN_S, "the usage of workloads")
    web = stored(standin)[WEB]
    assert float(web["mean"].split("/")[1]) == pytest.approx(POD_BYTES, rel=0.01)

    shown = controller.page("/pods?node=a").json()["pods"]
    assert {pod["name"]: pod["workload"] for pod in shown}["n/db-0"] == DB
    assert controller.page("/pods?node=nobody").json()["pods"] == []
    assert controller.page("/pods").status == 400
    assert fetch(f"{controller.url}/pods?node=a", "DELETE").status == 405

    # A list that fails is told once, and so is its end.
    standin.admin("nodemetrics", {"available": False})
    controller.process.wait_log("cannot list pod metrics.*reason=unavailable")
    standin.admin("nodemetrics", {"available": True})
    controller.process.wait_log("listing pod metrics succeeds again")

    # A kubelet that answers is asked instead.
    for kubelet in kubelets.values():
        kubelet.answer = None
    controller.process.wait_log("recovered.*reading of pods")
    wait_until(
        lambda: controller.metric("plimsoll_pods_measured") == len(PODS), what="means by kubelets"
    )


def test_config_maps_that_cannot_be_read_are_not_overwritten(start, standin):
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "plimsoll-workloads", "namespace": "kube-system"},
        "data": {"shards": "1", "workloads": "n/Job/old mean=1/1\n"},
    }
    standin.admin("objects", {"resource": "configmaps", "object": body})
    standin.fault("status", resource="configmaps", verb="get", status=403, count=3)
    controller = start()
    controller.process.wait_log("cannot keep the usage of workloads")
    assert standin.count(resource="configmaps", verb="patch") == 0
    controller.process.wait_log("the usage of workloads is kept again")
    wait_until(lambda: is_measured(standin), KNOWN_S, "the usage of workloads")
