"""What kubectl plimsoll says where the API server refuses a call, or sends what no server should."""

import copy
import json

import yaml

from extender_kit import policy
from paper_cluster import CONTROLLERS, EXTENDERS, POLICY_PATH, SYSTEM, node
from policies import CPU, ago

NODES = "/api/v1/nodes"


def written(tmp_path, content):
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(content))
    return str(tmp_path / "policy.yaml")


def pod(number):
    return {
        "metadata": {"name": f"web-{number}", "namespace": "shop", "uid": f"uid-{number}"}
        | {"creationTimestamp": ago(60)},
        "spec": {"nodeName": f"node-{number}", "containers": []},
        "status": {"phase": "Running"},
    }


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
