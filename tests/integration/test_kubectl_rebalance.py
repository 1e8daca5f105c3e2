"""`rebalance`: what it would move off a hot node, and what it leaves there."""

import copy
import json

import pytest

from extender_kit import POD, annotate, policy
from pages import block, run_commands
from paper_cluster import EXTENDERS, POLICY_PATH, SYSTEM
from policies import CPU, MEM, ago, node_names, write_policy

NODES = node_names(4)
HOT, COOL = NODES[0], NODES[2]
LOADS = (0.75, 0.4, 0.2, 0.5)
POLICY = policy(limits={CPU: 0.8}, weights={CPU: 1, MEM: 0.5}, scoring="estimate")
ROOT = "/api/v1/namespaces/shop/pods"
SETS = "/apis/apps/v1/namespaces/shop/replicasets"
ESTIMATE = f"{SYSTEM}/pods/{EXTENDERS[0]}:8010/proxy/estimate"

DECISIONS = [f"{SYSTEM}/pods/{name}:8010/proxy/decisions" for name in EXTENDERS]


def pod_of(name, node=HOT, cpu="1500m", owner="web-7d9", started=7200):
    pod = copy.deepcopy(POD)
    pod["metadata"].update(name=name, namespace="shop", uid=f"uid-{name}", annotations={})
    pod["metadata"]["ownerReferences"][0]["name"] = owner
    pod["spec"].update(nodeName=node)
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    running = {"name": "c", "ready": True, "state": {"running": {"startedAt": ago(started)}}}
    pod["status"] = {"phase": "Running", "containerStatuses": [running]}
    return pod


def replica_set(replicas=3, ready=3):
    return {"spec": {"replicas": replicas}, "status": {"readyReplicas": ready}}


@pytest.fixture
def shop(cluster, start_standin, start_extender):
    """put(*pods): the nodes, these pods, and what an extender knows of the nodes."""
    standin = start_standin()
    standin.admin("nodes", {"names": NODES, "cpus": 10, "memory_gib": 100})
    for name, load in zip(NODES, LOADS, strict=True):
        annotate(standin, name, load, **{MEM: "0.20000"})
    extender = start_extender(standin, content=POLICY)
    extender.wait_ready(r"(?m)pods: 0 pods$")
    nodes = standin.get("/api/v1/nodes")["items"]
    for node in nodes:
        node["status"]["allocatable"] = node["status"]["capacity"]
    cluster.objects["/api/v1/nodes"] = nodes
    cluster.objects[POLICY_PATH] = {**POLICY, "metadata": {"name": "default"}}
    cluster.objects[ESTIMATE] = json.loads(extender.page_of_now("/estimate").text)
    cluster.objects[f"{SETS}/web-7d9"] = replica_set()

    def put(*pods):
        cluster.objects["/api/v1/pods"] = list(pods)
        for pod in pods:
            cluster.objects[f"{ROOT}/{pod['metadata']['name']}"] = pod

    put(pod_of("web-0"), pod_of("web-1", NODES[1]), pod_of("web-2", NODES[3]))
    return put


def plan(plimsoll):
    (node,) = json.loads(plimsoll("rebalance", "-ojson"))["nodes"]
    assert node["node"] == HOT and node["usage"] == pytest.approx(0.75)
    return node


def test_a_move(shop, plimsoll):
    node = plan(plimsoll)
    assert node["state"] == "moves" and node["usageAfter"] == pytest.approx(0.60)
    assert node["move"] == {
        "namespace": "shop",
        "pod": "web-0",
        "cores": pytest.approx(1.5),
        "target": COOL,
        "targetUsage": pytest.approx(0.2),
        "targetUsageAfter": pytest.approx(0.35),
    }
    lines = plimsoll("rebalance").splitlines()
    assert lines[1].split() == [HOT, "75%", "60%", "shop/web-0", "1.50", COOL, "20%", "35%"]
    assert lines[-1] == "This is a plan. --apply evicts the pods."


def test_the_page(cluster, shop, plimsoll, tmp_path):
    """Its commands run, and its example is what they print here."""
    cluster.objects.update(dict.fromkeys(DECISIONS, {"decisions": [{}]}))
    assert plimsoll("rebalance") == block("docs/kubectl/rebalance.md", "rebalance-picture")
    run_commands(block("docs/kubectl/rebalance.md", "rebalance"), f"-s {cluster.url}", cwd=tmp_path)


def test_no_hot_node(cluster, shop, plimsoll):
    cluster.objects["/api/v1/nodes"] = cluster.objects["/api/v1/nodes"][1:]
    assert plimsoll("rebalance") == "No node is above 65% CPU.\n"
    assert json.loads(plimsoll("rebalance", "-ojson")) == {"nodes": []}


def change(path, value):
    def do(cluster):
        place = cluster.objects[f"{ROOT}/web-0"]
        *parents, last = path
        for key in parents:
            place = place.setdefault(key, {})
        place[last] = value

    return do


def owner_has(**numbers):
    return lambda cluster: cluster.objects.update({f"{SETS}/web-7d9": replica_set(**numbers)})


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


SAFE_TO_EVICT = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
PREFER_NO_EVICTION = {"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""}
CLAIM = {"name": "disk", "persistentVolumeClaim": {"claimName": "a"}}
AFFINITY = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}


@pytest.mark.parametrize(
    "fault, why",
    [
        (change(("spec", "volumes"), [{"name": "cache", "emptyDir": {}}]), "it has storage"),
        (change(("spec", "volumes"), [CLAIM]), "it has storage"),
        (change(("spec", "nodeSelector"), {"disk": "ssd"}), "it is tied to certain nodes"),
        (change(("spec", "affinity"), AFFINITY), "it is tied to certain nodes"),
        (change(("spec", "resourceClaims"), [{"name": "gpu"}]), "it is tied to certain nodes"),
        (change(("metadata", "deletionTimestamp"), "2026-07-23T11:25:50Z"), "it is terminating"),
        (change(("metadata", "uid"), "another"), "it is terminating"),
        (change(("metadata", "annotations"), SAFE_TO_EVICT), "an annotation forbids it"),
        (change(("metadata", "annotations"), PREFER_NO_EVICTION), "an annotation forbids it"),
        (owner_has(replicas=1, ready=1), "its controller wants one replica"),
        (owner_has(ready=2), "not all replicas are ready"),
        (owner_has(replicas="3", ready=[3]), "its controller wants one replica"),
        (lambda cluster: cluster.objects.pop(f"{SETS}/web-7d9"), "its controller cannot be read"),
        (lambda cluster: cluster.objects.pop(f"{ROOT}/web-0"), "it cannot be read"),
        (lambda cluster: cluster.objects.update({f"{ROOT}/web-0": 403}), "it cannot be read"),
        (lambda cluster: cluster.objects.update({f"{ROOT}/web-0": "[1]"}), "it is terminating"),
        (change(("metadata", "ownerReferences"), [3, {}]), "it has no controller"),
    ],
)
def test_pods_that_are_read_and_stay(cluster, shop, plimsoll, fault, why):
    """The list had the pod as it was before."""
    cluster.objects["/api/v1/pods"] = copy.deepcopy(cluster.objects["/api/v1/pods"])
    fault(cluster)
    node = plan(plimsoll)
    assert node["state"] == "noPod" and node["kept"] == {"refused": 1}
    assert node["refused"] == {"shop/web-0": why}
    assert f"no pod to move: 1 protected (shop/web-0: {why})" in plimsoll("rebalance")


def test_odd_pods(cluster, shop, plimsoll):
    """They move nothing, and keep no other pod from moving."""
    huge, away, bare = pod_of("huge", cpu="1e30"), pod_of("away", "nowhere"), pod_of("bare")
    bare["metadata"]["ownerReferences"] = bare["status"]["containerStatuses"] = "x"
    shop(pod_of("web-0"), pod_of("web-1", NODES[1]), pod_of("web-2", NODES[3]), huge, away, bare)
    cluster.objects["/api/v1/pods"] += [{}, {"metadata": 3}, {"spec": {"nodeName": HOT}}]
    assert plan(plimsoll)["move"]["pod"] == "web-0"


def owned_by(kind):
    def do(pod):
        pod["metadata"]["ownerReferences"][0]["kind"] = kind

    return do


@pytest.mark.parametrize(
    "fault, reason",
    [
        (owned_by("DaemonSet"), "notMovable"),
        (owned_by("Job"), "notMovable"),
        (lambda pod: pod["spec"].update(priority=1000), "notMovable"),
        (lambda pod: pod["spec"].update(schedulingGroup={"podGroupName": "a"}), "notMovable"),
        (lambda pod: pod["metadata"]["annotations"].update({"kubernetes.io/config.mirror": "a"}),
         "notMovable"),
        (lambda pod: pod["metadata"]["ownerReferences"][0].update(name="other-1"), "singleReplica"),
    ],
)  # fmt: skip
def test_pods_that_stay(shop, plimsoll, fault, reason):
    web = pod_of("web-0")
    fault(web)
    shop(web, pod_of("web-1", NODES[1]), pod_of("web-2", NODES[3]))
    node = plan(plimsoll)
    assert node["state"] == "noPod" and node["kept"] == {reason: 1}


def test_priorities(shop, plimsoll):
    web = pod_of("web-0")
    web["spec"]["priority"] = 1000
    shop(web, pod_of("web-1", NODES[1]))
    assert plan(plimsoll)["kept"] == {"notMovable": 1}
    (node,) = json.loads(plimsoll("rebalance", "--max-priority=1000", "-ojson"))["nodes"]
    assert node["state"] == "moves"


def test_no_room(shop, plimsoll):
    """Requests count, though nodes are idle."""
    full = [pod_of(f"full-{name}", name, cpu="9", owner=f"full-{name}") for name in NODES[1:]]
    shop(pod_of("web-0"), pod_of("web-1", NODES[1], cpu="1m"), *full)
    assert plan(plimsoll)["state"] == "noTarget"
    assert "no node would stay below 60%" in plimsoll("rebalance")


def test_another_scoring(cluster, shop, plimsoll, tmp_path):
    write_policy(str(tmp_path / "new.yaml"), policy(weights={CPU: 1}))
    said = plimsoll("rebalance", "-f", "new.yaml", status=2)
    assert said.endswith("expected extender.scoring: estimate\n")


def test_no_extender(cluster, shop, plimsoll):
    cluster.objects[ESTIMATE] = 404
    assert "no estimate: " in plimsoll("rebalance", status=2)


def test_apply_needs_a_scheduler_that_asks(cluster, shop, plimsoll):
    cluster.objects.update(dict.fromkeys(DECISIONS, {"decisions": []}))
    said = plimsoll("rebalance", "--apply", status=2)
    assert said.endswith("--apply: kube-scheduler has not called an extender for any pod\n")
    cluster.objects[DECISIONS[1]] = 404
    assert "--apply: GET " in plimsoll("rebalance", "--apply", status=2)


def test_apply(cluster, shop, plimsoll):
    """One extender that was asked is enough, whatever the other one says."""
    cluster.objects.update({DECISIONS[0]: 404, DECISIONS[1]: {"decisions": [{}]}})
    cluster.budgets.add(f"{ROOT}/web-0")
    said = plimsoll("rebalance", "--apply", status=1)
    assert "\nnot evicted shop/web-0: " in said and "429" in said
    cluster.budgets.clear()
    assert plimsoll("rebalance", "--apply").endswith("\nevicted shop/web-0\n")
    assert f"{ROOT}/web-0" not in cluster.objects
