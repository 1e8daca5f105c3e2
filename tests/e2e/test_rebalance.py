"""`rebalance` with the real API server and scheduler: by hand, and as deploy/rebalance runs it."""

import json
import subprocess
from datetime import datetime, timedelta, timezone

import pytest
from cluster.metrics_server import MetricsServer, point_to_kwok
from cluster.pages import follow
from cluster.plimsoll import refused
from cluster.workloads import pod_object
from harness import wait_until
from pages import block
from policies import CPU, MEM, policy_object

pytestmark = pytest.mark.own_plane  # a group that does not answer is in everybody's way
REPLICAS, HOT_LOAD, CALM_LOAD = 6, 0.8, 0.2
ADDRESS = "10.138.0.1"  # the API server's proxy reaches no pod on the loopback
POD = "/api/v1/namespaces/kube-system/pods"
IN_FORCE = policy_object(
    dict.fromkeys((CPU, MEM), "15m"), {CPU: 0.7}, {CPU: 1, MEM: 0.6}, name="default",
    extender={"scoring": "estimate", "shortlist": 0},
)  # fmt: skip

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-rebalance"
ACCOUNT = "plimsoll-rebalance"
PAGE = "docs/kubectl/rebalance.md"


@pytest.fixture
def extender(plane, fleet, plimsoll):
    """It runs next to the cluster, and a pod of its name is where the API server finds it."""
    subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
    plane.kubectl("apply", "-f", plimsoll.write_policy(IN_FORCE))
    process = plimsoll.extender(None, "--bind-address=0.0.0.0")
    # Above the limit, so that it is nobody's candidate.
    full = {CPU: f"0.95,{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"}
    (node,) = fleet.add(1, name="away", kwok=False, annotations=full)
    plane.kubectl("taint", "node", node, "away=:NoSchedule")
    pod = pod_object("estimate-extender-0", nodeName=node)
    pod["metadata"]["labels"] = {
        "app.kubernetes.io/name": "plimsoll-extender",
        "app.kubernetes.io/part-of": "plimsoll",
    }
    port = int(process.url.rpartition(":")[2])
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": port}]
    plane.api.create(POD, pod)
    status = {"phase": "Running", "podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}]}
    plane.api.patch(f"{POD}/estimate-extender-0/status", {"status": status})
    yield process
    plane.api.delete(f"{POD}/estimate-extender-0")
    plane.kubectl("delete", "dsp", "--all")
    subprocess.run(["ip", "address", "del", f"{ADDRESS}/32", "dev", "lo"], check=True)


def write_loads(fleet, loads, seconds_ago=0):
    written = datetime.now(timezone.utc) - timedelta(seconds=seconds_ago)
    stamp = f"{written:%Y-%m-%dT%H:%M:%SZ}"
    for name, load in loads.items():
        fleet.annotate(name, {CPU: f"{load:.5f},{stamp}", MEM: f"0.20000,{stamp}"})


def make_older(namespace, hours=2):
    """As if the pods had been running for so long."""
    started = datetime.now(timezone.utc) - timedelta(hours=hours)
    for pod in namespace.pods():
        (status,) = pod["status"]["containerStatuses"]
        status["state"] = {"running": {"startedAt": f"{started:%Y-%m-%dT%H:%M:%SZ}"}}
        path = f"{namespace.root}/pods/{pod['metadata']['name']}/status"
        namespace.plane.api.patch(path, {"status": {"containerStatuses": [status]}})


@pytest.fixture
def ledger(plane):
    """The times of evictions in the Lease, which goes at the end."""

    def times():
        status, lease = plane.api.request("GET", LEASE)
        notes = json.loads(lease)["metadata"]["annotations"] if status == 200 else {}
        return json.loads(notes.get("plimsoll.io/evictions", "[]"))

    yield times
    plane.api.request("DELETE", LEASE)


@pytest.fixture
def deploy(extender, namespace, scheduler, plimsoll):
    """A Deployment that is ready; {pod: node}."""
    scheduler(extenders=[plimsoll.scheduler_entry(extender)])

    def start(**annotations):
        pod = pod_object("shop-0", cpu="1", memory="1Gi")
        pod["metadata"]["annotations"] = annotations
        namespace.create_deployment("shop", REPLICAS, pod)
        places = namespace.wait_bound(REPLICAS)
        wait_until(
            lambda: namespace.deployment("shop")["status"].get("readyReplicas") == REPLICAS,
            what="the Deployment to be ready",
        )
        return places

    return start


@pytest.fixture
def shop(fleet, ledger, deploy):
    """({pod: node} of a Deployment, a hot node with one of its pods): all other nodes are calm."""
    names = fleet.add(4)
    places = deploy()
    hot = next(iter(places.values()))
    write_loads(fleet, {name: HOT_LOAD if name == hot else CALM_LOAD for name in names})
    return places, hot


def test_rebalance(shop, plane, extender, verb, namespace, figure):
    places, hot = shop

    def plan():
        nodes = json.loads(verb("rebalance", "-o", "json"))["nodes"]
        return next(node for node in nodes if node["node"] == hot)

    def young():
        node = plan()
        assert node["state"] == "noPod" and "younger than an hour" in node["why"]
        return node

    wait_until(young, 60, "a plan that leaves young pods alone")

    make_older(namespace)
    node = wait_until(lambda: (found := plan())["state"] == "moves" and found, 60, "a move")
    move = node["move"]
    assert places[move["pod"]] == hot != move["target"]
    assert move["usageAfter"] < node["usage"] and move["targetUsageAfter"] < 0.6
    assert namespace.pod(move["pod"])["spec"]["nodeName"] == hot, "a plan evicts nothing"

    assert f"evicted {namespace.name}/{move['pod']}" in verb("rebalance", "--apply")

    def all_but_it():
        now = namespace.wait_bound(REPLICAS)
        return move["pod"] not in now and now

    moved = wait_until(all_but_it, what="the new pod")
    (new,) = set(moved) - set(places)
    # The scheduler adds scores of its own, so it may choose another calm node than the judge's best.
    assert moved[new] != hot
    after = wait_until(
        lambda: (found := plan())["usage"] < node["usage"] and found, what="a cooler node"
    )
    # The new pod is young, and its siblings wait until it runs.
    assert after["state"] != "moves" or after["move"]["pod"] != new
    figure(
        f"{hot} at {node['usage']:.0%}: {move['pod']} of {move['cores']:.2f} cores moved to "
        f"{moved[new]}, and {hot} is at {after['usage']:.0%}"
    )


@pytest.fixture
def watch(plane, plimsoll, run):
    """Runs what deploy/rebalance runs, with its account."""
    follow(plane, block(PAGE, "rebalance-deployment"))
    deployment = plane.api.get(
        "/apis/apps/v1/namespaces/kube-system/deployments/plimsoll-rebalance"
    )
    (container,) = deployment["spec"]["template"]["spec"]["containers"]

    def start():
        program = plimsoll.binary("kubectl-plimsoll")
        env = {"KUBECONFIG": str(plimsoll.kubeconfig(ACCOUNT))}
        more = ("--interval=3s", "--max-evictions-per-hour=2")
        return run([program, *container["args"], *more], env=env)

    yield start
    follow(plane, block(PAGE, "rebalance-deployment-ends").strip() + " --wait=false")


@pytest.mark.timeout(300)
def test_rebalance_in_the_cluster(plane, fleet, namespace, deploy, ledger, watch, figure):
    """Readings that are too old, a budget, two processes at once, kill -9, an API server that
    is away: never an eviction too many."""
    (hot,) = fleet.add(1)
    places = deploy()
    names = fleet.add(4)
    make_older(namespace)

    def evicted():
        return places.keys() - {pod["metadata"]["name"] for pod in namespace.pods()}

    def load(**more):
        # So much that it stays hot without two of its pods.
        write_loads(fleet, {hot: 0.98} | dict.fromkeys(names, CALM_LOAD), **more)

    load(seconds_ago=1800)
    first, second = watch(), watch()
    for process in (first, second):
        wait_until(lambda p=process: "its readings have expired" in p.text(), what="an old reading")

    budget = {"minAvailable": "100%", "selector": {"matchLabels": {"app": "shop"}}}
    budgets = f"/apis/policy/v1/namespaces/{namespace.name}/poddisruptionbudgets"
    plane.api.create(budgets, {"metadata": {"name": "shop"}, "spec": budget})
    wait_until(
        lambda: plane.api.get(f"{budgets}/shop").get("status", {}).get("expectedPods"),
        what="the budget",
    )
    load()
    for process in (first, second):
        wait_until(lambda p=process: "disruption budget" in p.text(), 60, "a budget that refuses")
    assert not evicted() and not ledger()

    plane.api.delete(f"{budgets}/shop")
    wait_until(lambda: evicted(), 60, "the first eviction")
    for process in (first, second):
        process.kill()
    assert len(evicted()) == len(ledger()) == 1, "two evicted at once"

    # An API server that has just started refuses everybody until it has read the roles.
    assert not refused(plane, ACCOUNT)
    third = watch()
    plane.stop_api_server()
    wait_until(lambda: "kubectl plimsoll rebalance: " in third.stderr(), 60, "an error")
    plane.start_api_server()

    def enough():
        load()
        return "waits until more pods may be evicted" in third.text()

    wait_until(enough, 120, "as many evictions as are allowed")
    fourth = watch()
    wait_until(lambda: "waits until more pods may be evicted" in fourth.text(), 60, "a new process")
    assert len(evicted()) == len(ledger()) == 2
    assert {places[pod] for pod in evicted()} == {hot}
    assert ledger()[0] in follow(plane, block(PAGE, "rebalance-lease"))
    figure(f"two processes, and after kill -9 two more, evicted {len(evicted())} pods: {ledger()}")


def test_usage_from_metrics_server(plane, fleet, deploy, namespace, verb, figure):
    """What a pod uses, which is twice what it requests, as its kubelet says."""
    (hot,) = fleet.add(1)
    point_to_kwok(plane, [hot])
    places = deploy(**{"e2e/cpu": "2"})
    names = fleet.add(2)
    make_older(namespace)
    write_loads(fleet, {hot: HOT_LOAD} | dict.fromkeys(names, CALM_LOAD))

    def cores():
        node = next(n for n in json.loads(verb("rebalance", "-ojson"))["nodes"] if n["node"] == hot)
        assert node["move"] and node["move"]["pod"] in places, node
        return node["move"]["cores"]

    expected = wait_until(cores, 60, "a plan")
    assert expected == pytest.approx(1, abs=0.3)
    server = MetricsServer(plane)
    server.register()
    server.start()
    wait_until(lambda: cores() == pytest.approx(2, abs=0.1), 120, "the usage", poll_s=1)
    figure(f"a pod of {expected:.2f} cores by its workload uses {cores():.2f} by metrics-server")
