"""kubectl-plimsoll where objects lack fields, hold something else, or come in pages; and words that are
none: it says what it can, and ends."""

import copy
import json
import random

import pytest

from harness import NIGHTLY
from paper_cluster import POLICY_PATH, SYSTEM, node
from policies import ago

LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-controller"
ROUNDS = 200 if NIGHTLY else 6
ODD = (None, 7, -1.5, "", "odd \x1b[2J\u00e9", [], {}, [None], [{}], {"a": 1}, True)
VERBS = (
    ("doctor", "-ojson"),
    ("top",),
    ("top", "-ojson"),
    ("explain", "node-0"),
    ("cleanup",),
)


def bend(draw, value, share):
    """`value` with a share of its fields removed, or odd."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if draw.random() > share}
        return {
            k: draw.choice(ODD) if draw.random() < share else bend(draw, v, share)
            for k, v in kept.items()
        }
    if isinstance(value, list):
        return [draw.choice(ODD) if draw.random() < share else bend(draw, v, share) for v in value]
    return value


def pods():
    pod = {"metadata": {"name": "p", "namespace": "s", "uid": "u"}, "spec": {"nodeName": "node-0"}}
    pod["spec"]["containers"] = [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]
    pod["status"] = {"phase": "Running"}
    return [{**pod, "metadata": {**pod["metadata"], "uid": f"u{i}"}} for i in range(6)]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_odd_objects(cluster, plimsoll, seed):
    draw = random.Random(seed)
    cluster.objects["/api/v1/pods"] = pods()
    for item in cluster.nodes():
        item["status"]["capacity"] = {"cpu": "8", "memory": "32Gi"}
    for path, content in cluster.objects.items():
        if isinstance(content, (dict, list)):
            cluster.objects[path] = bend(draw, content, draw.choice((0, 0.03, 0.1, 0.3)))
    for verb in VERBS:
        done = plimsoll(*verb, status=None)
        assert done.returncode in (0, 1, 2), (verb, done.returncode, done.stderr)
        assert "\x1b" not in done.stdout + done.stderr
        if not done.stdout:
            assert done.stderr.startswith("kubectl plimsoll "), (verb, done.stderr)
        elif "-ojson" in verb:
            json.loads(done.stdout)


def test_cleanup_prints_no_escapes(cluster, plimsoll):
    first, second = cluster.nodes()[:2]
    first["metadata"].update(name="odd \x1b[2J", uid="0")
    second["metadata"]["uid"] = "1"
    owned = second["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:annotations"]
    owned["f:odd\x1b[2J"] = {}
    second["metadata"]["annotations"]["odd\x1b[2J"] = ""
    lines = plimsoll("cleanup").splitlines()
    assert lines[0].startswith("odd ?[2J cpu_usage_avg_5m") and "odd?[2J" in lines[1]
    cluster.objects[LEASE_PATH] = {
        "spec": {"holderIdentity": "\x1b[2J", "renewTime": ago(0), "leaseDurationSeconds": 15}
    }
    assert " is held by ?[2J, " in plimsoll("cleanup", "--apply", status=2)


@pytest.mark.parametrize(
    "odd",
    [
        *({"leaseDurationSeconds": duration_s} for duration_s in (-(2**62), 2**62, 0, "15")),
        *({"leaseDurationSeconds": 3600, "renewTime": time} for time in (None, "now")),
        {"leaseDurationSeconds": 3600, "holderIdentity": None},
    ],
)
def test_a_lease_out_of_range(cluster, plimsoll, odd):
    """Nobody holds it."""
    cluster.nodes().clear()
    cluster.objects[LEASE_PATH] = {"spec": {"holderIdentity": "a", "renewTime": ago(60), **odd}}
    assert plimsoll("cleanup", "--apply") == "cleaned 0 of 0 nodes\n"


def test_objects_that_cannot_be_told_apart(cluster, plimsoll):
    """Nodes without a name, or one that is no text, or twice; pods of no node, and finished ones;
    a program's pod without a name."""
    names = [f"node-{i}" for i in range(10)]
    cluster.spec()["syncPolicy"].append({"name": "cpu_usage_avg_1m", "period": "1m"})
    cluster.objects["/api/v1/nodes"] = [
        *({**node(name), "status": {"capacity": {"cpu": "8", "memory": "1Gi"}}} for name in names),
        node("node-0"),
        {"metadata": {"name": "\ud800"}},
        {"metadata": {}},
        {"metadata": {"name": ""}},
    ]
    listed = [copy.deepcopy(pods()[0]) for _ in range(14)]
    for number, pod in enumerate(listed):
        pod["metadata"] |= {"uid": f"u{number}", "namespace": f"s{number}"}
    listed[10]["spec"]["nodeName"] = "elsewhere"
    listed[11]["status"]["phase"] = "Failed"
    del listed[12]["spec"]["nodeName"]
    listed[13]["metadata"]["name"] = "\ud800"
    cluster.objects["/api/v1/pods"] = listed
    del cluster.objects[f"{SYSTEM}/pods"][0]["metadata"]["name"]
    assert len(json.loads(plimsoll("doctor", "-ojson", status=None).stdout)["checks"]) > 20
    refused = plimsoll("top", "--watch", "-ojson", status=2)
    assert "expected with -o table or wide" in refused


def test_names_of_pods_on_a_terminal(cluster, plimsoll):
    """An API server that takes any name is none of Kubernetes, but may be asked."""
    for item in cluster.objects[f"{SYSTEM}/pods"]:
        name = item["metadata"]["name"]
        item["metadata"]["name"] = f"{name}\x1b"
        for page in ("nodes", "explain"):
            kept = cluster.objects.get(f"{SYSTEM}/pods/{name}:8010/proxy/{page}")
            cluster.objects[f"{SYSTEM}/pods/{name}%1B:8010/proxy/{page}"] = kept
    for verb in (("top",), ("explain", "nodes")):
        shown = plimsoll(*verb)
        assert "by plimsoll-extender-0? at 20" in shown and "\x1b" not in shown
