"""kubectl plimsoll explain pod: why a pod is where it is, from extenders' answers or annotations."""

import copy
import functools
import json

import pytest
import yaml

from extender_kit import POD, annotate, policy
from pages import block, run_commands
from paper_cluster import EXTENDERS, SYSTEM
from policies import CPU

PODS = f"{SYSTEM}/pods"
WEB = "/api/v1/namespaces/shop/pods/web-0"
ASKED = "decisions?pod=shop/web-0&uid=1"
UNKNOWN = "no such pod among the last ones that this extender was asked about"


def proxy(name):
    return f"{PODS}/{name}:8010/proxy/{ASKED}"


def web(node="node-1"):
    waits = {"type": "PodScheduled", "status": "False", "message": "0/4 nodes are available"}
    return {
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "1"},
        "spec": {
            "containers": [{"name": "a", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}],
            **({"nodeName": node} if node else {}),
        },
        "status": {"phase": "Running"} if node else {"phase": "Pending", "conditions": [waits]},
    }


@pytest.fixture
def cluster(cluster):
    """Four nodes, two extenders that know no pod, and a pod on the second node."""
    paper = cluster
    paper.objects[WEB] = web()
    for name in EXTENDERS:
        paper.objects[proxy(name)] = (404, {"error": UNKNOWN})
    return paper


@pytest.fixture
def explain(plimsoll):
    return functools.partial(plimsoll, "explain", "pod")


def decision(verb="prioritize", at="2026-07-23T11:33:09.996Z", node="node-1"):
    answers = {"filter": None, "prioritize": None}
    answers[verb] = {"at": at, "candidates": 3, "bestNodes": [{"node": node, "score": 10}]}
    return {"namespace": "shop", "name": "web-0", "uid": "1", "confirmedAt": at, **answers}


def test_what_extenders_answered(cluster, explain, start_standin, start_extender):
    """A real one's answer, and that of a replica which was asked earlier."""
    names = [f"node-{number}" for number in range(3)]
    standin = start_standin()
    standin.admin("nodes", {"names": names, "cpus": 10, "memory_gib": 100})
    for name, cpu in zip(names, (0.3, 0.1, 0.7)):
        annotate(standin, name, cpu)
    content = policy(limits={CPU: 0.65}, weights={CPU: 1}, scoring="estimate")
    extender = start_extender(standin, content=content)
    extender.wait_ready(r"(?m)pods: 0 pods$")
    pod = copy.deepcopy(POD)
    pod["metadata"].update(name="web-0", namespace="shop", uid="1")
    with extender.scheduler() as scheduler:
        passing, _ = scheduler.filter(names, pod)
        scheduler.prioritize(passing, pod)
    answer = json.loads(extender.page("/decisions?pod=shop/web-0").text)
    cluster.objects[proxy(EXTENDERS[0])] = answer
    cluster.objects[proxy(EXTENDERS[1])] = decision(at="2026-01-01T00:00:00Z", node="node-3")
    cluster.objects[proxy(EXTENDERS[1])]["confirmedAt"] = None

    lines = explain("shop/web-0").splitlines()
    assert lines[0] == "shop/web-0: on node-1, Running"
    assert lines.pop(1).startswith("unverified: ")
    assert lines[1] == "its node is the best node of the extender"
    assert lines[2].endswith(": 3 candidates, 2 passed, 1 rejected")
    assert lines[3] == f"  1 over {CPU} above 65.0%"
    assert lines[4] == f"  node-2: rejected: {CPU} is 70.0 of 65.0%"
    assert lines[5].endswith(": 2 candidates, scoring estimate")
    assert "shop/ReplicaSet/web-7d9 is not measured" in lines[6]
    assert lines[7:9] == ["", "node-1: passes; score 10 of 10"]
    assert lines[9].startswith("  use    cpu  ") and "%  10.0 read (" in lines[9]
    assert any(line.startswith("node-0: passes; score ") for line in lines[10:])
    assert not any("node-3" in line for line in lines)

    shown = json.loads(explain("shop/web-0", "-o", "json"))
    assert shown == {
        "pod": "shop/web-0",
        "phase": "Running",
        "node": "node-1",
        "condition": None,
        "decision": answer,
        "whyNot": None,
        "explanation": None,
    }
    assert yaml.safe_load(explain("shop/web-0", "-oyaml")) == shown


def test_the_replicas_answers_are_put_together(cluster, explain):
    cluster.objects[proxy(EXTENDERS[0])] = decision("filter")
    cluster.objects[proxy(EXTENDERS[1])] = decision(node="node-0")
    shown = explain("shop/web-0")
    assert "its node is not among the best" in shown and "other plugins of the scheduler" in shown
    assert shown.count(": 3 candidates") == 2
    cluster.objects[proxy(EXTENDERS[1])] = 403
    shown = explain("shop/web-0")
    assert "not every extender answered: GET " in shown and ": 403 " in shown
    assert "prioritize: no call" in shown


def test_names(cluster, explain):
    cluster.objects[proxy(EXTENDERS[0])] = decision()
    shown = explain("shop/web-0")
    assert explain("web-0", "-n", "shop") == shown
    nobody = explain("web-0", status=2)
    assert "there is no pod default/web-0, " in nobody and nobody.count("\n") == 1
    for name in (
        "shop/",
        "sh.p/web-0",
        "/web-0",
        "shop/web-0/x",
        "shop/web?0",
        "Shop/web-0",
        "../x",
        "shop/..",
        "",
    ):
        assert "expected NAMESPACE/NAME" in explain(name, status=2)
    # It is gone, and an extender still knows it.
    cluster.objects[WEB] = 404
    cluster.objects[proxy(EXTENDERS[0]).removesuffix("&uid=1")] = decision()
    assert explain("shop/web-0").startswith("shop/web-0: its node is unknown: GET /api/v1/")
    cluster.objects[WEB] = {"metadata": {"uid": "1&pod=shop/web-1"}}
    assert "prioritize at " in explain("shop/web-0"), "it asked for the name alone"
    cluster.objects[WEB] = 403
    cluster.objects[proxy(EXTENDERS[0]).removesuffix("&uid=1")] = 404
    assert f"explain: GET {WEB}: 403" in explain("shop/web-0", status=2)


def test_no_decision(cluster, explain):
    """The nodes as they are: its own, and the best."""
    lines = explain("shop/web-0").splitlines()
    assert lines[0] == "shop/web-0: on node-1, Running"
    assert lines[1].startswith("no decision: the scheduler has not called the extender for it rec")
    assert lines[2].startswith("the nodes now, by plimsoll-extender-0 at 20")
    assert lines[4] == "its node, which counts the pod already:"
    nodes = [line.split(":")[0] for line in lines if line.startswith("node-")]
    assert nodes == ["node-1", "node-0", "node-2", "node-3"]
    shown = json.loads(explain("shop/web-0", "-o", "json"))
    assert shown["decision"] is None and "has not called" in shown["whyNot"]
    assert len(shown["explanation"]["nodes"]) == 4
    many = cluster.objects[f"{PODS}/{EXTENDERS[0]}:8010/proxy/explain"]
    many["nodes"] += [{**many["nodes"][0], "node": f"more-{i}"} for i in range(30)]
    assert "28 other nodes, no better: -o wide shows all\n" in explain("shop/web-0")
    assert "other nodes" not in explain("shop/web-0", "-o", "wide")


def test_an_extender_in_a_second_schedulers_pod(cluster, explain):
    for item in cluster.objects[PODS]:
        item["metadata"] = copy.deepcopy(item["metadata"])
        if item["metadata"]["name"] in EXTENDERS:
            item["metadata"]["labels"]["app.kubernetes.io/name"] = "plimsoll-scheduler"
    assert f"by {EXTENDERS[0]} at" in explain("shop/web-0")


def test_a_pod_that_waits(cluster, explain):
    cluster.objects[WEB] = web(node=None)
    shown = explain("shop/web-0")
    assert shown.startswith("shop/web-0: pending: 0/4 nodes are available\n")
    assert json.loads(explain("shop/web-0", "-ojson"))["condition"]["status"] == "False"


def test_the_page(cluster):
    """Its commands run, and print the decision of extender/README.md as the picture is."""
    answer = json.loads(block("extender/README.md", "decision"))
    cluster.objects[WEB] = web(node="node-a")
    answer["uid"] = "1"
    cluster.objects[proxy(EXTENDERS[0])] = answer
    picture = block("docs/kubectl/explain.md", "explain-pod-picture")
    shown = run_commands(block("docs/kubectl/explain.md", "explain-pod"), f"-s {cluster.url}")
    assert shown.startswith(picture * 2)
    assert json.loads(shown[2 * len(picture) :])["decision"] == answer


def test_preferred_nodes(cluster, explain):
    """What admission gave a pod about which no extender was asked, as the page shows it."""
    weights = {"node-a": 100, "node-b": 96} | {f"other-{i}": 50 for i in range(30)}
    terms = [
        {
            "weight": weight,
            "preference": {
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]
            },
        }
        for node, weight in weights.items()
    ]
    pod = cluster.objects[WEB] = web(node="node-b")
    note = {"plimsoll.io/preferred-nodes": "0.5,2026-07-23T11:33:09Z"}
    pod["metadata"]["annotations"] = note
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
    pod["spec"]["affinity"] = {"nodeAffinity": affinity}
    shown = explain("shop/web-0")
    assert shown.startswith(block("docs/kubectl/explain.md", "explain-preferred"))
    assert "\nno decision: no extender was called for it: where admission steers pods" in shown
