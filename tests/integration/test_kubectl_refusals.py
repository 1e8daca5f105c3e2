"""What kubectl plimsoll says where the API server refuses a call, or sends what no server should."""

import copy
import json

import yaml

from extender_kit import policy
from paper_cluster import CONTROLLERS, EXTENDERS, POLICY_PATH, SYSTEM, node
from policies import CPU, ago

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"


def written(tmp_path, content):
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(content))
    return str(tmp_path / "policy.yaml")


def pod(number, **more):
    return {
        "metadata": {"name": f"web-{number}", "namespace": "shop", "uid": f"uid-{number}"}
        | {"creationTimestamp": ago(60)},
        "spec": {"nodeName": f"node-{number}", "containers": []},
        "status": {"phase": "Running"},
    } | more


def test_what_is_not_counted(cluster, plimsoll):
    """Nodes without a name, and pods of which it is not known which, where or since when they are."""
    cluster.objects[NODES] = [node("node-0"), {"metadata": {}}, {"metadata": {"name": "\ud800"}}]
    odd = [pod(number) for number in range(3)] + [pod(3, status={"phase": "Pending"})]
    del odd[1]["metadata"]["uid"]
    del odd[2]["spec"]["nodeName"]
    del odd[3]["metadata"]["creationTimestamp"]
    odd.append(pod(4, status={"phase": "Succeeded"}))
    listed = {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": odd}
    escaped = json.dumps(pod(5)).replace('"metadata"', '"m\\u0065tadata"')
    cluster.objects[PODS] = json.dumps(listed).removesuffix("]}") + f", {escaped}]}}"
    shown = json.loads(plimsoll("top", "--requests", "-ojson"))
    assert [(row["node"], row["pods"]) for row in shown["nodes"]] == [("node-0", 1)]


def test_only_the_policy_in_force_estimates(cluster, plimsoll, tmp_path):
    """Nobody tells by what; the other one needs nobody."""
    content = policy(limits={CPU: 0.9}, weights={CPU: 1}, scoring="estimate")
    cluster.objects[POLICY_PATH] = {**content, "metadata": {"name": "default"}}
    path = written(tmp_path, policy(limits={CPU: 0.9}, weights={CPU: 1}))
    shown = json.loads(plimsoll("simulate", "-f", path, "-ojson"))
    assert [row["before"]["rank"] for row in shown["nodes"]] == [None] * 4
    assert [row["after"]["rank"] for row in shown["nodes"]] == [1, 1, 1, 1]
    assert "404" in shown["estimate"]["before"]["whyNot"] and shown["estimate"]["after"] is None


def test_explanations_that_lack_something(cluster, plimsoll):
    """What can be told without it is told."""
    told = plimsoll("explain", "nodes", status=None)
    assert told.stdout.startswith("no scores: GET ") and not told.stderr
    assert all(f"node-{number}: passes; no score\n" in told.stdout for number in range(4))
    told = plimsoll("explain", "nodes", "-ojson", status=None)
    assert told.stderr.startswith("kubectl plimsoll explain: no scores: GET ")
    assert [row["score"] for row in json.loads(told.stdout)] == [None] * 4
    cluster.objects[NODES] = 403
    assert ": GET /api/v1/nodes" in plimsoll("explain", "nodes", status=2)
    for _ in range(40):
        cluster.spec()["priority"] = [cluster.spec()["priority"]]
    deep = plimsoll("explain", "nodes", status=2)
    assert (
        "because DynamicSchedulerPolicy default is invalid: nested deeper than 32 levels\n" in deep
    )
    cluster.objects[POLICY_PATH] = 403
    assert f": GET {POLICY_PATH}: 403 " in plimsoll("explain", "nodes", status=2)


def test_nodes_of_the_input_by_the_policy_of_the_cluster(cluster, plimsoll):
    content = policy(limits={CPU: 0.2}, weights={CPU: 1})
    cluster.objects[POLICY_PATH] = {**content, "metadata": {"name": "default"}}
    listed = json.dumps({"items": [{"kind": "Node", **node("here")}]})
    shown = plimsoll("explain", "-", input=listed)
    assert shown.startswith(f"here: rejected: {CPU} above 0.2\n") and "node-0" not in shown


def test_a_policy_that_is_refused(cluster, plimsoll, tmp_path):
    """What the controllers keep is in force, and each verb that judges says why."""
    why = "is invalid: spec.predicate[0].name: expected a name of spec.syncPolicy"
    cluster.objects[POLICY_PATH] = {**policy({CPU: 0.5}, {CPU: 1}), "metadata": {"name": "default"}}
    cluster.spec()["predicate"][0]["name"] = "cpu_usage_max_1h"
    kept = yaml.safe_dump(policy({CPU: 0.2}, {CPU: 1}))
    for name in CONTROLLERS:
        page = f"{SYSTEM}/pods/{name}:8090/proxy/status.json"
        cluster.objects[page] = {"policy": {"yaml": kept}}
    source = f"the policy of {CONTROLLERS[0]}, because DynamicSchedulerPolicy default {why}"
    assert json.loads(plimsoll("top", "-ojson"))["policy"]["from"].startswith(source)
    listed = json.dumps({"items": [{"kind": "Node", **node("here")}]})
    explained = plimsoll("explain", "-", input=listed, status=None)
    assert explained.stdout.startswith(f"here: rejected: {CPU} above 0.2\n")
    assert explained.stderr.startswith(f"kubectl plimsoll explain: using {source}")
    path = written(tmp_path, policy({CPU: 0.9}, {CPU: 1}))
    simulated = json.loads(plimsoll("simulate", "-f", path, "-ojson"))
    assert simulated["policy"]["inForce"].startswith(source)


def test_a_pods_nodes(cluster, plimsoll):
    """Five of them; with -o wide all."""
    cluster.objects["/api/v1/namespaces/shop/pods/web-0"] = pod(0)
    best = [{"node": f"node-{number}", "score": 9 - number} for number in range(7)]
    answer = {
        "namespace": "shop",
        "name": "web-0",
        "at": ago(),
        "prioritize": {"at": ago(), "bestNodes": best},
    }
    asked = f"decisions?pod=shop/web-0&uid={pod(0)['metadata']['uid']}"
    for name in EXTENDERS:
        cluster.objects[f"{SYSTEM}/pods/{name}:8010/proxy/{asked}"] = answer
    for flags, count in ((), 5), (("-owide",), 7):
        assert plimsoll("explain", "pod", "shop/web-0", *flags).count("; score ") == count


def test_pods_that_are_no_extender(cluster, plimsoll):
    """They lack a label, a name, or do not run."""
    cluster.objects["/api/v1/namespaces/shop/pods/web-0"] = pod(0)
    odd = [copy.deepcopy(item) for item in cluster.objects[f"{SYSTEM}/pods"][2:]]
    del odd[0]["metadata"]["labels"]
    odd[1]["status"]["phase"] = "Pending"
    odd.append({key: value for key, value in odd[1].items() if key != "status"})
    odd.append(copy.deepcopy(odd[1]))
    del odd[-1]["metadata"]["name"]
    cluster.objects[f"{SYSTEM}/pods"] = odd
    shown = plimsoll("explain", "pod", "shop/web-0")
    assert "no decision: no pod of plimsoll-extender runs in namespace kube-system\n" in shown


def test_watching_onto_a_full_disk(plimsoll):
    """It ends."""
    with open("/dev/full", "wb") as full:
        done = plimsoll("top", "--watch", "--interval=1h", status=None, stdout=full)
    assert done.returncode == 1 and "standard output" in done.stderr


def requested(plimsoll, *flags):
    return json.loads(plimsoll("top", "--requests", "-ojson", *flags))["nodes"]


def test_requests_of_odd_nodes(cluster, plimsoll):
    """A capacity that is none is not known, and so neither is what is used."""
    odd = ({"cpu": "much", "memory": "32Gi"}, {"cpu": "-8"}, {"cpu": 8}, None)
    for item, capacity in zip(cluster.nodes(), odd):
        item["status"]["capacity"] = capacity
    unread = json.dumps(pod(0)).replace('"metadata"', '"m\\u0065tadata"')
    listed = json.dumps([pod(0), pod(0, status={"phase": "Failed"}), pod(9)]).strip("[]")
    frame = {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}
    cluster.objects[PODS] = json.dumps(frame).replace("[]", f"[{listed}, {unread}]")
    rows = requested(plimsoll)
    assert [row["pods"] for row in rows] == [1, 0, 0, 0]
    assert all(row["cpu"] == {"capacity": 0, "requested": 0} for row in rows)
    gib = 1 << 30
    assert rows[0]["memory"] == {"capacity": 32 * gib, "requested": 0, "used": 8 * gib} | {
        "reclaimable": 0
    }
    wide = plimsoll("top", "--requests", "-owide").splitlines()
    assert wide[2].split() == ["node-1", "0", *("0.0", "0.00", "-", "-") * 2]
    cluster.objects[NODES] = 403
    assert ": GET /api/v1/nodes" in plimsoll("top", "--requests", status=2)


def test_by_which_metric_requests_are_compared(cluster, plimsoll, tmp_path):
    """The mean of the shortest window; without one, nothing is known."""
    ratios = {"gpus": 0.1, "cpu_usage_avg_5m": 0.25, "cpu_usage_avg_1m": 0.5}
    ratios |= {"cpu_usage_max_avg_1h": 0.7, "cpu_usage_avg_15m": 0.75}
    for metric, ratio in ratios.items():
        cluster.annotate(metric, f"{ratio},{ago(5)}")
    for item in cluster.nodes():
        item["status"]["capacity"] = {"cpu": "8", "memory": "32Gi"}
    cluster.objects[PODS] = []
    path = written(tmp_path, policy(limits={}, weights=dict.fromkeys(ratios, 1)))
    row = requested(plimsoll, "-f", path)[0]
    assert row["cpu"]["used"] == 4 and "used" not in row["memory"]
