"""What kubectl plimsoll says where the API server refuses a call, or sends what no server should."""

import copy

import yaml

from extender_kit import policy
from paper_cluster import EXTENDERS, SYSTEM
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


def test_a_policy_that_is_refused(cluster, plimsoll, tmp_path, start_standin, start_extender):
    """The file and the line are told."""
    standin = start_standin("--nodes", 1)
    extender = start_extender(standin)
    extender.wait_ready()
    cluster.follow(standin, extender)
    bad = policy({CPU: 0.5}, {CPU: 1})
    bad["spec"]["predicate"][0]["name"] = "cpu_usage_max_1h"
    path = written(tmp_path, bad)
    why = "spec.predicate[0].name: expected a name of spec.syncPolicy"
    said = plimsoll("simulate", "-f", path, status=2)
    assert "policy: line " in said and why in said
    cluster.objects[NODES] = 403
    assert "GET /api/v1/nodes: 403 " in plimsoll("simulate", "-f", path, status=2)


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
    shown = plimsoll("explain", "pod", "shop/web-0", status=2)
    assert (
        "no extender answers: no pod of plimsoll-extender runs in namespace kube-system\n" in shown
    )


def test_watching_onto_a_full_disk(plimsoll):
    """It ends."""
    with open("/dev/full", "wb") as full:
        done = plimsoll("top", "--watch", "--interval=1h", status=None, stdout=full)
    assert done.returncode == 1 and "standard output" in done.stderr
