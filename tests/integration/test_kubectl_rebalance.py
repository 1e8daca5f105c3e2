"""`rebalance`: what it would move off a hot node, and what it leaves there."""

import copy
import json
import time

import pytest

from extender_kit import POD, annotate, policy
from harness import wait_until
from pages import block, run_commands
from paper_cluster import CONTROLLERS, EXTENDERS, POLICY_PATH, SYSTEM
from policies import CPU, MEM, ago, node_names, write_policy

NODES = node_names(4)
HOT, COOL = NODES[0], NODES[2]
LOADS = (0.75, 0.4, 0.2, 0.5)
POLICY = policy(limits={CPU: 0.8}, weights={CPU: 1, MEM: 0.5}, scoring="estimate")
ROOT = "/api/v1/namespaces/shop/pods"
SETS = "/apis/apps/v1/namespaces/shop/replicasets"
PAGE = f"{SYSTEM}/pods/{EXTENDERS[0]}:8010/proxy/nodes"
EXPLAIN = f"{SYSTEM}/pods/{EXTENDERS[0]}:8010/proxy/explain"
NO_TARGET = "no pod to move: 1 that no other node can take without getting hot"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-rebalance"
EVICTIONS = "plimsoll.io/evictions"
WEB = f"{ROOT}/web-0"


def decision(name, extender=1):
    """The page of an extender about a pod."""
    asked = f"decisions?pod=shop/{name}&uid=uid-{name}"
    return f"{SYSTEM}/pods/{EXTENDERS[extender]}:8010/proxy/{asked}"


def asked(name):
    return {"uid": f"uid-{name}", "confirmedAt": ago(60)}


def lease(*times, annotations=None):
    annotations = annotations or {EVICTIONS: json.dumps(times)}
    metadata = {"name": "plimsoll-rebalance", "labels": {"a": "b"}, "annotations": annotations}
    return {"metadata": {"resourceVersion": "7", **metadata}, "spec": {"holderIdentity": "x"}}


def counted(cluster):
    """How many evictions the Lease has."""
    return len(json.loads(cluster.objects[LEASE]["metadata"]["annotations"][EVICTIONS]))


def pod_of(name, node=HOT, cpu="1500m", owner="web-7d9", bound=7200):
    pod = copy.deepcopy(POD)
    pod["metadata"].update(name=name, namespace="shop", uid=f"uid-{name}", annotations={})
    pod["metadata"]["ownerReferences"][0]["name"] = owner
    pod["spec"].update(nodeName=node)
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    running = {"name": "c", "ready": True, "state": {"running": {"startedAt": ago(bound)}}}
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(bound)}
    pod["status"] = {
        "phase": "Running",
        "conditions": [scheduled],
        "containerStatuses": [running],
    }
    return pod


def replica_set(replicas=3, ready=3):
    return {"spec": {"replicas": replicas}, "status": {"readyReplicas": ready}}


@pytest.fixture
def shop(cluster, start_standin, start_extender):
    """put(*pods): the nodes, these pods, and an extender that was asked about them."""
    standin = start_standin()
    standin.admin("nodes", {"names": NODES, "cpus": 10, "memory_gib": 100})
    for name, load in zip(NODES, LOADS, strict=True):
        annotate(standin, name, load, **{MEM: "0.20000"})
    extender = start_extender(standin, content=POLICY)
    extender.wait_ready(r"(?m)pods: 0 pods$")
    for name in EXTENDERS:
        for page in ("nodes", "explain"):
            cluster.objects[f"{SYSTEM}/pods/{name}:8010/proxy/{page}"] = 404
    cluster.objects[PAGE] = json.loads(extender.page_of_now("/nodes").text)
    del cluster.objects[EXPLAIN]
    cluster.extenders[EXTENDERS[0]] = extender
    cluster.objects[f"{SETS}/web-7d9"] = replica_set()

    def put(*pods):
        cluster.objects["/api/v1/pods"] = list(pods)
        for pod in pods:
            cluster.objects[decision(pod["metadata"]["name"])] = asked(pod["metadata"]["name"])
            cluster.objects[f"{ROOT}/{pod['metadata']['name']}"] = pod

    put(pod_of("web-0"), pod_of("web-1", NODES[1]), pod_of("web-2", NODES[3]))
    return put


def plan(plimsoll):
    (node,) = json.loads(plimsoll("rebalance", "-ojson"))["nodes"]
    assert node["node"] == HOT and node["usage"] == pytest.approx(0.75) and node["line"] == 0.65
    return node


def test_a_move(shop, plimsoll):
    node = plan(plimsoll)
    assert node["state"] == "moves" and node["why"] is None
    assert node["move"] == {
        "namespace": "shop",
        "pod": "web-0",
        "cores": pytest.approx(1.5),
        "usageAfter": pytest.approx(0.60),
        "target": COOL,
        "targetUsage": pytest.approx(0.2),
        "targetUsageAfter": pytest.approx(0.35),
    }
    lines = plimsoll("rebalance").splitlines()
    assert lines[1].split() == [HOT, "75%", "65%", "60%", "shop/web-0", "1.50", COOL, "20%", "35%"]
    assert lines[-1] == "This is a plan. --apply evicts the pods."


def test_the_page(cluster, shop, plimsoll, tmp_path):
    """Its commands run, and its example is what they print here."""
    assert plimsoll("rebalance") == block("docs/kubectl/rebalance.md", "rebalance-picture")
    run_commands(block("docs/kubectl/rebalance.md", "rebalance"), f"-s {cluster.url}", cwd=tmp_path)


def test_no_hot_node(cluster, shop, plimsoll):
    cluster.objects[PAGE]["nodes"] = cluster.objects[PAGE]["nodes"][1:]
    del cluster.objects["/api/v1/pods"]  # they are not needed
    assert plimsoll("rebalance") == "No node is hot.\n"
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


def pod_answer(answer):
    return lambda cluster: cluster.objects.update({WEB: answer})


CLAIM = {"name": "disk", "persistentVolumeClaim": {"claimName": "a"}}


@pytest.mark.parametrize(
    "fault, why",
    [
        (change(("spec", "volumes"), [CLAIM]), "it has storage"),
        (change(("metadata", "uid"), "another"), "it is terminating"),
        (owner_has(replicas=1, ready=1), "its controller wants one replica"),
        (lambda cluster: cluster.objects.pop(f"{SETS}/web-7d9"), "its controller cannot be read"),
        (lambda cluster: cluster.objects.pop(WEB), "it cannot be read"),
        (pod_answer(403), "it cannot be read"),
        (pod_answer("[1]"), "it is terminating"),
        (change(("metadata", "ownerReferences"), [3, {}, {"controller": False}]),
         "it has no controller"),
        (change(("metadata", "ownerReferences"), [{"controller": True}]), "it has no controller"),
    ],
)  # fmt: skip
def test_pods_that_are_read_and_stay(cluster, shop, plimsoll, fault, why):
    """The list had the pod as it was before."""
    cluster.objects["/api/v1/pods"] = copy.deepcopy(cluster.objects["/api/v1/pods"])
    fault(cluster)
    node = plan(plimsoll)
    assert node["state"] == "noPod" and node["move"] is None
    assert node["why"] == f"no pod to move: 1 protected (shop/web-0: {why})"
    assert node["why"] in plimsoll("rebalance")


def test_without_the_right_to_evict(cluster, apply, plimsoll):
    """A plan does not know budgets. It is not carried out."""
    cluster.refused[WEB] = (403, {})
    assert plan(plimsoll)["state"] == "moves"
    assert "1 protected (shop/web-0: 403 " in apply()[0] and LEASE not in cluster.objects


def test_more_pods_than_are_read(shop, plimsoll):
    pods = [pod_of(f"web-{i}", cpu="700m") for i in range(10)]
    for pod in pods:
        pod["spec"]["volumes"] = [{"name": "cache", "emptyDir": {}}]
    shop(*pods)
    why = plan(plimsoll)["why"]
    assert why.startswith("no pod to move: 2 not tried, 8 protected (shop/web-"), why


def test_odd_pods(cluster, shop, plimsoll):
    """They move nothing, and keep no other pod from moving."""
    huge, away, bare = pod_of("huge", cpu="1e30"), pod_of("away", "nowhere"), pod_of("bare")
    bare["metadata"]["ownerReferences"] = bare["status"]["containerStatuses"] = "x"
    shop(pod_of("web-0"), pod_of("web-1", NODES[1]), pod_of("web-2", NODES[3]), huge, away, bare)
    cluster.objects["/api/v1/pods"] += [{}, {"metadata": 3}, {"spec": {"nodeName": HOT}}]
    finished = pod_of("finished")
    finished["status"]["phase"] = "Succeeded"
    cluster.objects["/api/v1/pods"] += [finished, pod_of("waits", node="")]
    cluster.objects[PAGE]["nodes"].append({})
    assert plan(plimsoll)["move"]["pod"] == "web-0"


def owned_by(kind):
    def do(pod):
        pod["metadata"]["ownerReferences"][0]["kind"] = kind

    return do


IDLE = {"plimsoll.io/idle-milli-cpu": "500"}
BOUND = "not movable (DaemonSet, Job, static or priority)"


@pytest.mark.parametrize(
    "fault, reason",
    [
        (owned_by("DaemonSet"), BOUND),
        (owned_by("Job"), BOUND),
        (lambda pod: pod["spec"].update(priority=1000), BOUND),
        (lambda pod: pod["spec"]["containers"][0]["resources"]["requests"].update(IDLE), BOUND),
        (lambda pod: pod["metadata"]["annotations"].update({"kubernetes.io/config.mirror": "a"}),
         BOUND),
        (lambda pod: pod["metadata"]["ownerReferences"][0].update(name="other-1"), "without a second replica"),
    ],
)  # fmt: skip
def test_pods_that_stay(shop, plimsoll, fault, reason):
    web = pod_of("web-0")
    fault(web)
    shop(web, pod_of("web-1", NODES[1]), pod_of("web-2", NODES[3]))
    node = plan(plimsoll)
    assert node["state"] == "noPod" and node["why"] == f"no pod to move: 1 {reason}"


def test_a_replica_that_does_not_run_yet(shop, plimsoll):
    pending = pod_of("web-3", NODES[1])
    pending["status"] = {"phase": "Pending"}
    shop(pod_of("web-0"), pod_of("web-1", NODES[1]), pending)
    assert plan(plimsoll)["why"] == "no pod to move: 1 of a workload that is changing"


def test_a_stateful_set(cluster, shop, plimsoll):
    pods = [pod_of(f"web-{i}", NODES[i]) for i in range(2)]
    for pod in pods:
        owned_by("StatefulSet")(pod)
    shop(*pods)
    assert plan(plimsoll)["why"].endswith("(shop/web-0: its controller cannot be read)")
    cluster.objects["/apis/apps/v1/namespaces/shop/statefulsets/web-7d9"] = replica_set()
    assert plan(plimsoll)["move"]["pod"] == "web-0"


def test_expired_readings(cluster, shop, plimsoll):
    cluster.objects[PAGE]["nodes"][0]["estimate"]["expired"] = True
    assert plan(plimsoll)["why"] == "its readings have expired"


def test_priorities(shop, plimsoll):
    web = pod_of("web-0")
    web["spec"]["priority"] = 1000
    shop(web, pod_of("web-1", NODES[1]))
    assert plan(plimsoll)["why"].endswith(f": 1 {BOUND}")
    (node,) = json.loads(plimsoll("rebalance", "--max-priority=1000", "-ojson"))["nodes"]
    assert node["state"] == "moves"


def test_no_room(cluster, shop, plimsoll):
    """Requests count, though nodes are idle."""
    for node in cluster.objects[PAGE]["nodes"]:
        node["requested"] = {"cpu": 9, "mem": 0}
    shop(pod_of("web-0"), pod_of("web-1", NODES[1], cpu="1m"))
    assert plan(plimsoll)["state"] == "noTarget"
    titles, row = plimsoll("rebalance").splitlines()
    assert titles.endswith("  STAYS HOT")
    why = "no pod to move: 1 whose requests fit on no other node"
    assert row.split(maxsplit=9) == [HOT, "75%", "65%", *"------", why]


@pytest.mark.parametrize(
    "fact", [{"tainted": True}, {"podsMax": 1, "pods": 1}, {"closedBy": "cordoned"}]
)
def test_nodes_that_are_no_targets(cluster, shop, plimsoll, fact):
    """The coolest node is going away, or has as many pods as it takes."""
    (cool,) = (node for node in cluster.objects[PAGE]["nodes"] if node["node"] == COOL)
    cool |= fact
    shop(pod_of("web-0"), pod_of("web-1", NODES[1]), pod_of("web-2", NODES[2]))
    assert plan(plimsoll)["move"]["target"] == NODES[1]


def test_a_pool_that_is_filled(cluster, shop, plimsoll):
    """Its nodes may be as full as its policy wants."""
    cluster.objects[PAGE]["policy"]["pools"].append({"limits": {CPU: 0.95}, "hotLine": 0.8})
    cluster.objects[PAGE]["nodes"][0]["pool"] = 1
    assert plimsoll("rebalance") == "No node is hot.\n"


def test_another_scoring(cluster, shop, plimsoll):
    cluster.objects[PAGE]["policy"]["scoring"] = "absolute"
    said = plimsoll("rebalance", status=2)
    assert said.endswith("the policy in force: expected extender.scoring: estimate\n")


def test_no_extender(cluster, shop, plimsoll):
    cluster.objects[EXPLAIN] = 503
    assert plan(plimsoll)["why"] == NO_TARGET
    cluster.objects[PAGE] = 404
    assert "no extender answers: " in plimsoll("rebalance", status=2)


def test_no_list_of_pods(cluster, shop, plimsoll):
    cluster.objects["/api/v1/pods"] = 403
    assert "GET /api/v1/pods" in plimsoll("rebalance", status=2)


def test_odd_answers_about_a_pod(cluster, shop, plimsoll):
    """Of nodes that are above a limit, or that nobody knows, none is a target."""
    rows = [{}, {"node": "elsewhere"}, {"node": COOL, "over": "cpu above 0.1"}, {"node": NODES[3]}]
    cluster.objects[EXPLAIN] = {"version": 1, "nodes": rows}
    assert plan(plimsoll)["why"] == NO_TARGET
    rows.append({"node": NODES[1], "estimate": {"headroom": 50}})
    assert plan(plimsoll)["move"]["target"] == NODES[1]


def test_two_hot_nodes(cluster, apply, plimsoll):
    """One plan moves one pod. Each node has the reasons of its own pods."""
    cluster.objects[PAGE]["nodes"][3]["estimate"]["cpu"]["usage"] = 0.7
    owner_has(replicas=1, ready=1)(cluster)
    whys = [node["why"] for node in json.loads(plimsoll("rebalance", "-ojson"))["nodes"]]
    why = "no pod to move: 1 protected (shop/web-{}: its controller wants one replica)"
    assert whys == [why.format(0), why.format(2)]
    owner_has()(cluster)
    assert apply()[0].endswith("\nevicted shop/web-0 from node-0000\n")
    assert cluster.evicted == [WEB]


def test_an_extender_by_its_address(cluster, shop, plimsoll):
    """It is asked about each scheduler's last pod. The pods of the programs may be hidden."""
    other = pod_of("other", NODES[1])
    other["spec"]["schedulerName"] = "volcano"
    shop(pod_of("web-0"), pod_of("web-1", NODES[1], bound=7300), other)
    cluster.objects[PAGE]["nodes"][3]["estimate"]["cpu"]["usage"] = 0.7
    paths = []

    def decide(path):
        paths.append(path)
        return asked("another")

    hidden = {"/nodes": cluster.objects[PAGE], "/decisions": decide, f"{SYSTEM}/pods": 403}
    cluster.objects |= hidden
    said = plimsoll("rebalance", f"--extender={cluster.url}")
    assert UNASKED in said
    assert paths == [f"/decisions?pod=shop/{name}&uid=uid-{name}" for name in ("web-0", "other")]


# -- usage as it is measured -----------------------------------------------------------------------


def pods_page(controller, *pods, node=HOT):
    path = f"{SYSTEM}/pods/{controller}:8090/proxy/pods?node={node}"
    return {path: {"node": node, "pods": [{"name": "shop/web-1"}, 3, *pods]}}


def measured(cores, size=2**30, name="shop/web-0"):
    return {"name": name, "mean": {"cpuCores": cores, "memoryBytes": size}}


def test_usage_is_measured(cluster, shop, plimsoll):
    """By the leader; a standby measures nothing, or does not answer."""
    standby, leader = CONTROLLERS
    cluster.objects |= pods_page(leader, measured(2))
    for answer in ({"node": HOT, "pods": [{"name": "shop/web-0"}]}, 503):
        cluster.objects |= dict.fromkeys(pods_page(standby), answer)
        node = plan(plimsoll)
        assert node["move"]["cores"] == pytest.approx(2)
        assert node["move"]["usageAfter"] == pytest.approx(0.55)


@pytest.mark.parametrize(
    "pod",
    [
        measured(4, name="other/web-0"),
        measured(-1),
        measured("4"),
        measured(4, size=-1),
        measured(4, size=1e300),
        measured(1e300),
        {"name": "shop/web-0", "mean": 4},
        {"name": 3, "mean": {}},
    ],
)
def test_usage_is_not_measured(cluster, shop, plimsoll, pod):
    cluster.objects |= pods_page(CONTROLLERS[1], pod)
    assert plan(plimsoll)["move"]["cores"] == pytest.approx(1.5)


@pytest.mark.parametrize("answer", [403, 404, "[", [], {"pods": 3}])
def test_no_page_of_pods(cluster, shop, plimsoll, answer):
    cluster.objects |= dict.fromkeys(pods_page(CONTROLLERS[1]), answer)
    assert plan(plimsoll)["move"]["cores"] == pytest.approx(1.5)


def test_an_idle_pod(cluster, shop, plimsoll):
    cluster.objects |= pods_page(CONTROLLERS[1], measured(0))
    assert plan(plimsoll)["why"].endswith(": 1 below 5% of the node")


# -- evictions -------------------------------------------------------------------------------------


@pytest.fixture(name="apply")
def fixture_apply(shop, plimsoll):
    """rebalance --apply; (what it prints, its error)."""

    def call(*words, status=0):
        done = plimsoll("rebalance", "--apply", *words, status=None)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout, done.stderr.removeprefix("kubectl plimsoll rebalance: ").strip()

    return call


def webs():
    return [pod_of(f"web-{i}", NODES[i]) for i in range(3)]


UNASKED = "no pod to move: 1 whose scheduler does not ask an extender"


def test_a_scheduler_that_does_not_ask(cluster, shop, apply, plimsoll):
    """It asked once, and has bound a pod since that it did not ask about, perhaps in the same second. Another one may
    do so."""
    unasked = pod_of("unasked", NODES[1], owner="other", bound=60)
    before = copy.deepcopy(unasked)
    before["metadata"].update(name="before", uid="uid-before")
    shop(before, unasked, *webs())
    unconfirmed = {"uid": "uid-unasked", "confirmedAt": None}
    for page in (unconfirmed, asked("another"), {}, {"uid": 3}, {"uid": "uid-unasked"}):
        cluster.objects[decision("unasked")] = page
        assert UNASKED in apply()[0]
    cluster.objects[decision("unasked")] = 503
    assert f"{UNASKED} (GET {SYSTEM}" in apply()[0] and not cluster.evicted
    cluster.objects[decision("unasked", 0)] = asked("unasked")
    assert plan(plimsoll)["state"] == "moves", "another replica was asked"
    del cluster.objects[decision("unasked", 0)]
    unasked["spec"]["schedulerName"] = "volcano"
    assert "evicted shop/web-0 from node-0000" in apply()[0]


@pytest.mark.parametrize("change", [{"owner": None}, {"mirror": "a"}])
def test_pods_that_nobody_would_be_asked_about(cluster, shop, plimsoll, change):
    """Somebody has bound it; a kubelet runs it."""
    unasked = pod_of("unasked", NODES[1], bound=60)
    if "owner" in change:
        del unasked["metadata"]["ownerReferences"]
    if "mirror" in change:
        unasked["metadata"]["annotations"]["kubernetes.io/config.mirror"] = change["mirror"]
    shop(*webs(), unasked)
    cluster.objects[decision("unasked")] = 404
    assert plan(plimsoll)["state"] == "moves"


def test_a_successor_that_came_back(cluster, shop, apply):
    """Its workload stays for the rest of the day."""
    evicted = f"{ago(7200)} shop/ReplicaSet/web-7d9"
    cluster.objects[LEASE] = lease(f"{evicted} {HOT}")
    back = pod_of("web-1", bound=7100)
    shop(pod_of("web-0", bound=9000), back, pod_of("web-2", NODES[1]))
    assert "no pod to move: 2 of a workload that came back after an eviction today" in apply()[0]
    assert not cluster.evicted
    cluster.objects[LEASE] = lease(f"{evicted} {NODES[3]}")
    assert "evicted shop/web-" in apply()[0]
    entry = json.loads(cluster.objects[LEASE]["metadata"]["annotations"][EVICTIONS])[-1]
    assert entry.split()[1:] == ["shop/ReplicaSet/web-7d9", HOT]


def test_apply(cluster, apply):
    assert apply()[0].endswith("\nevicted shop/web-0 from node-0000\n")
    assert cluster.evicted == [WEB] and counted(cluster) == 1


def test_a_budget(cluster, apply, plimsoll):
    cluster.budgets.add(WEB)
    assert "1 protected (shop/web-0: 429 " in apply()[0]
    assert LEASE not in cluster.objects, "what is not evicted is not counted"
    assert "1 protected (shop/web-0: 429 " in plan(plimsoll)["why"]
    cluster.budgets.clear()
    cluster.server.before_write = lambda: cluster.budgets.add(WEB)
    said, _ = apply(status=1)
    assert "\nnot evicted shop/web-0 from node-0000: " in said and "429" in said
    assert counted(cluster) == 1


def test_the_next_plan_waits(cluster, apply):
    cluster.objects[LEASE] = lease(ago(30))
    why = "--apply: a pod was evicted less than 60 s ago, and the effect does not show yet"
    assert apply(status=2)[1] == why
    apply("--interval=20s")
    written = cluster.objects[LEASE]["metadata"]
    assert written["labels"] == {"a": "b"} and counted(cluster) == 2


def test_evictions_per_hour(cluster, apply):
    cluster.objects[LEASE] = lease(*[ago(100 * number) for number in range(10, 0, -1)])
    for _ in range(2):
        assert "waits until more pods may be evicted" in apply()[0]
    assert not cluster.evicted and cluster.objects[LEASE]["metadata"]["resourceVersion"] == "7"
    assert "evicted shop/web-0 from" in apply("--max-evictions-per-hour=11", "-ojson")[1]
    assert cluster.evicted == [WEB] and counted(cluster) == 11


@pytest.mark.parametrize(
    "value",
    [
        json.dumps([ago(90000)] * 10),
        json.dumps([ago(-3600)] * 10),  # a run of all tests takes minutes
        json.dumps(["now", None, 3, [], ""] * 10),
        '{"a": "b"}',
        "[",
        "",
        3,
    ],
)
def test_what_is_no_eviction_of_the_last_day(cluster, apply, value):
    cluster.objects[LEASE] = lease(annotations={EVICTIONS: value, "other": "kept"})
    apply()
    assert cluster.evicted == [WEB] and counted(cluster) == 1
    assert cluster.objects[LEASE]["metadata"]["annotations"]["other"] == "kept"


def test_evictions_of_the_last_day(cluster, apply):
    """They do not count, and the oldest of very many are forgotten."""
    cluster.objects[LEASE] = lease(*[ago(7200)] * 700)
    assert "evicted shop/web-0" in apply()[0] and counted(cluster) == 501


@pytest.mark.parametrize("first", [True, False])
def test_another_process_evicts(cluster, apply, first):
    """It has counted an eviction while this one made its plan."""
    if not first:
        cluster.objects[LEASE] = lease(ago(600))

    def other():
        cluster.objects[LEASE] = lease(ago(600), ago(0))
        cluster.objects[LEASE]["metadata"]["resourceVersion"] = "8"

    cluster.server.before_write = other
    assert apply(status=2)[1] == "another process evicts pods"
    assert not cluster.evicted and counted(cluster) == 2


@pytest.mark.parametrize("answer", [(403, {}), (404, {}), (422, {}), (200, "["), (200, [])])
def test_an_eviction_that_cannot_be_counted(cluster, apply, answer):
    cluster.refused[LEASE] = answer
    apply(status=2)
    assert not cluster.evicted


def test_a_count_that_takes_too_long(cluster, apply):
    """Another process may plan again by now, so the eviction is not requested."""
    began = time.monotonic()
    cluster.server.before_write = lambda: wait_until(lambda: time.monotonic() > began + 3)
    said, _ = apply("--interval=1s", status=1)
    assert "\nnot evicted shop/web-0 from node-0000: " in said
    assert not cluster.evicted and counted(cluster) == 1


@pytest.mark.parametrize("answer", [403, "[", {}, {"metadata": {"resourceVersion": 3}}])
def test_a_lease_that_cannot_be_read(cluster, apply, answer):
    cluster.objects[LEASE] = answer
    apply(status=2)
    assert not cluster.evicted


# -- for long --------------------------------------------------------------------------------------


@pytest.fixture(name="watch")
def fixture_watch(cluster, apply, run, binary):
    def start(*words):
        server = f"--server={cluster.url}"
        argv = [binary("kubectl-plimsoll"), "rebalance", "--watch", "--interval=1s", server, *words]
        return run(argv, env={"KUBECONFIG": ""})

    return start


def wait_cycles(cluster, count=2):
    """So many plans are made from here on."""
    page, seen = cluster.objects[PAGE], []

    def give(_):
        seen.append(1)
        return page

    cluster.objects[PAGE] = give
    wait_until(lambda: len(seen) > count, what="plans")
    cluster.objects[PAGE] = page


def test_it_goes_on(cluster, watch):
    """A line for what changes; neither a budget nor an API server that fails ends it."""
    cluster.budgets.add(WEB)
    process = watch("--apply")
    wait_cycles(cluster)
    assert process.text().count("1 protected (shop/web-0: 429 ") == 1 and not process.stderr()

    page = cluster.objects[PAGE]
    cluster.objects[PAGE] = 403
    wait_cycles(cluster)
    cluster.objects[PAGE] = page
    wait_cycles(cluster)
    assert len(process.stderr().splitlines()) == 1 and "403" in process.stderr()

    cluster.budgets.clear()
    wait_until(lambda: cluster.evicted, what="the eviction")
    wait_cycles(cluster)
    assert process.text().count("\nevicted shop/web-0 from node-0000\n") == 1
    assert counted(cluster) == 1
    process.stop()


def test_kill_after_the_count(cluster, watch):
    """The eviction did not happen, but counts: the next process never evicts more than it may."""
    killed = watch("--apply", "--max-evictions-per-hour=1")
    cluster.server.before_write = killed.kill
    wait_until(lambda: LEASE in cluster.objects, what="the count")
    cluster.server.before_write = lambda: None
    assert not cluster.evicted and counted(cluster) == 1
    process = watch("--apply", "--max-evictions-per-hour=1")
    wait_until(lambda: "waits until more pods may be evicted" in process.text(), what="its plan")
    wait_cycles(cluster)
    assert not cluster.evicted
    process.kill()
    watch("--apply", "--max-evictions-per-hour=2")
    wait_until(lambda: cluster.evicted == [WEB], what="the eviction")


def test_a_full_disk(shop, plimsoll):
    with open("/dev/full", "wb") as full:
        said = plimsoll("rebalance", "--watch", "--interval=1s", status=1, stdout=full)
    assert "standard output" in said


def test_a_plan_again_and_again(cluster, watch):
    process = watch()
    wait_cycles(cluster)
    assert process.text().count("This is a plan.") == 1
    cluster.objects[PAGE]["nodes"] = cluster.objects[PAGE]["nodes"][1:]
    wait_until(lambda: "No node is hot." in process.text(), what="another plan")
    assert not cluster.evicted and LEASE not in cluster.objects
