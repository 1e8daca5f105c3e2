"""`rebalance` with the real API server and scheduler: by hand, and as deploy/rebalance runs it."""

import json
import time
from datetime import datetime, timedelta, timezone

import pytest
from cluster import extender_pod
from cluster.pages import follow
from cluster.plimsoll import refused
from cluster.workloads import pod_object
from harness import wait_until
from pages import block
from policies import CPU, MEM, policy_object

pytestmark = pytest.mark.own_plane  # a group that does not answer is in everybody's way
REPLICAS, HOT_LOAD, CALM_LOAD = 6, 0.8, 0.2
IN_FORCE = policy_object(
    dict.fromkeys((CPU, MEM), "15m"), {CPU: 0.7}, {CPU: 1, MEM: 0.6}, name="default",
    extender={"scoring": "estimate", "shortlist": 0},
)  # fmt: skip

POLICY = "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies/default"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-rebalance"
ACCOUNT = "plimsoll-rebalance"
PAGE = "docs/kubectl/rebalance.md"


@pytest.fixture
def extender(plane, fleet, plimsoll):
    plane.kubectl("apply", "-f", plimsoll.write_policy(IN_FORCE))
    process = plimsoll.extender(None, "--bind-address=0.0.0.0")
    with extender_pod.published(plane, fleet, extender_pod.ports_of(process)):
        yield process
    plane.kubectl("delete", "dsp", "--all")


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
def asking(extender, scheduler, plimsoll):
    """A scheduler that asks; call it for another one."""

    def start():
        return scheduler(extenders=[plimsoll.scheduler_entry(extender)])

    start.first = start()
    return start


@pytest.fixture
def deploy(asking, namespace):  # pylint: disable=unused-argument
    """A Deployment that is ready; {pod: node}."""

    def start(name="shop", replicas=REPLICAS, annotations=None, **spec):
        pod = pod_object(f"{name}-0", **{"cpu": "1", "memory": "1Gi", **spec})
        pod["metadata"]["annotations"] = annotations or {}
        namespace.create_deployment(name, replicas, pod)
        places = namespace.wait_bound(replicas, app=name)
        wait_until(
            lambda: namespace.deployment(name)["status"].get("readyReplicas") == replicas,
            what=f"the Deployment {name} to be ready",
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


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TOPOLOGY = {"topologyKey": "kubernetes.io/hostname"}


def apart_from(app):
    term = {"labelSelector": {"matchLabels": {"app": app}}, **TOPOLOGY}
    return {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}}


def spread(app):
    selector = {"labelSelector": {"matchLabels": {"app": app}}}
    rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **selector, **TOPOLOGY}
    return {"topologySpreadConstraints": [rule]}


def protect(plane, namespace, app):
    """By a budget that allows no eviction."""
    budget = {"minAvailable": "100%", "selector": {"matchLabels": {"app": app}}}
    budgets = f"/apis/policy/v1/namespaces/{namespace.name}/poddisruptionbudgets"
    plane.api.create(budgets, {"metadata": {"name": app}, "spec": budget})
    wait_until(
        lambda: plane.api.get(f"{budgets}/{app}").get("status", {}).get("expectedPods"),
        what="the budget",
    )
    return f"{budgets}/{app}"


@pytest.fixture
def row_of(verb):
    """What a plan, or --apply, says of a node; None: it is not hot."""

    def call(node, *words):
        lines = verb("rebalance", "--interval=1s", *words).splitlines()
        return next((line for line in lines if line.startswith(f"{node} ")), None)

    return call


@pytest.mark.timeout(300)
def test_what_stays(plane, fleet, namespace, deploy, ledger, row_of, verb, figure):
    """Pods that would come back, or that somebody protects; nodes that the policy fills; and no pod
    goes to a node that an autoscaler is about to remove."""
    (hot,) = fleet.add(1)
    priority = {"metadata": {"name": "urgent"}, "value": 1000}
    plane.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", priority)
    deploy("urgent", 2, cpu="500m", priorityClassName="urgent")
    deploy("kept", 2, annotations={"karpenter.sh/do-not-disrupt": "true"}, cpu="500m")
    deploy("guarded", 2, cpu="500m")
    protect(plane, namespace, "guarded")
    names = fleet.add(3)
    deploy("apart", 4, cpu="500m", **apart_from("apart"))
    deploy("spread", 4, cpu="500m", **spread("spread"))
    port = {"containerPort": 80, "hostPort": 80}
    image = {"name": "main", "image": "registry.invalid/none", "ports": [port]}
    image["resources"] = {"requests": {"cpu": "500m"}}
    deploy("port", 4, containers=[image])
    make_older(namespace)
    before = {pod["metadata"]["name"] for pod in namespace.pods()}
    write_loads(fleet, {hot: 0.84} | dict.fromkeys(names, CALM_LOAD))
    why = wait_until(lambda: row_of(hot, "--apply"), 60, "a hot node")
    assert "no pod to move: 2 not movable (" in why and " 7 protected (" in why, why
    assert {pod["metadata"]["name"] for pod in namespace.pods()} == before and not ledger()

    # One may move, but the coolest node is going away.
    write_loads(fleet, {names[0]: 0.1})
    plane.kubectl(
        "taint", "node", names[0], "DeletionCandidateOfClusterAutoscaler=:PreferNoSchedule"
    )
    plane.kubectl("-n", namespace.name, "delete", "pdb", "guarded")

    def elsewhere():
        row = row_of(hot)
        return row and "/guarded-" in row and names[0] not in row and row

    row = wait_until(elsewhere, 60, "a move to another node")
    assert names[1] in row or names[2] in row, row

    # The policy wants its nodes fuller.
    filled = json.loads(json.dumps(IN_FORCE))
    filled["spec"]["priority"][0]["target"] = 0.8
    plane.api.patch(POLICY, {"spec": filled["spec"]})
    assert row.split()[2] == "65%"
    wait_until(lambda: row_of(hot).split()[2] == "85%", what="the extender to have the policy")
    figure(f"9 pods on a hot node, and nothing evicted: {why.rpartition('  ')[2]}")


@pytest.mark.timeout(300)
def test_it_stops(plane, fleet, namespace, scheduler, asking, deploy, ledger, row_of, verb, figure):
    """When the scheduler no longer asks; and when what it has evicted came back."""
    (hot,) = fleet.add(1)
    places = deploy()
    names = fleet.add(2)
    # Where these run, the scheduler lets no pod of the shop in. The shop's pods do not show it.
    deploy("guard", 2, cpu="100m", **apart_from("shop"))
    make_older(namespace)
    write_loads(fleet, {hot: 0.95} | dict.fromkeys(names, CALM_LOAD))

    def shop():
        return namespace.wait_bound(REPLICAS, app="shop")

    asking.first.kill()
    silent = scheduler()
    deploy("silent", 12, cpu="100m")

    def refuses():
        row = row_of(hot, "--apply")
        assert f"{REPLICAS} whose scheduler does not ask an extender" in (row or ""), row
        return row

    text = wait_until(refuses, 30, "a refusal")
    assert shop() == places and not ledger()
    silent.kill()

    time.sleep(1)  # the times of bindings are whole seconds
    asking()
    deploy("asked", 1, cpu="100m")
    wait_until(lambda: row_of(hot, "--apply") and ledger(), 60, "an eviction")
    wait_until(lambda: shop() != places, 60, "the successor")
    back = shop()
    assert set(back.values()) == {hot}, "it came back"

    def leaves_it():
        row = row_of(hot, "--apply")
        assert "of a workload that came back after an eviction today" in (row or ""), row
        return True

    wait_until(leaves_it, 60, "the reason why the rest stays")
    assert shop() == back and len(ledger()) == 1
    figure(
        f"after 12 pods bound without a call: {text.rpartition('  ')[2]}; then 1 eviction, {ledger()}"
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

    budget = protect(plane, namespace, "shop")
    load()
    for process in (first, second):
        wait_until(lambda p=process: "disruption budget" in p.text(), 60, "a budget that refuses")
    assert not evicted() and not ledger()

    plane.api.delete(budget)
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
    assert ledger()[0].split()[0] in follow(plane, block(PAGE, "rebalance-lease"))
    figure(f"two processes, and after kill -9 two more, evicted {len(evicted())} pods: {ledger()}")
