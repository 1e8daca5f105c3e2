"""/decisions: what was answered about the last pods, and why."""

import copy
import json
import math
import uuid

import pytest

from extender_kit import POD, annotate, policy
from harness import fetch, wait_until
from pages import block
from policies import CPU, MEM, node_names

NODES = node_names(5)
IDLE, HALF, HOT, FULL, BARE = NODES


@pytest.fixture
def cluster(start_standin):
    """Nodes of 10 CPUs at 10, 50, 70 (over the limit) and 30% (memory over its limit), one bare."""
    standin = start_standin()
    standin.admin("nodes", {"names": NODES, "cpus": 10, "memory_gib": 100})
    for name, cpu, mem in ((IDLE, 0.1, 0.2), (HALF, 0.5, 0.2), (HOT, 0.7, 0.2), (FULL, 0.3, 0.9)):
        annotate(standin, name, cpu, **{MEM: mem})
    return standin


@pytest.fixture
def start(start_extender):
    def call(standin, *flags, scoring="estimate", **more):
        content = policy(limits={CPU: 0.65, MEM: 0.8}, weights={CPU: 1, MEM: 1}, scoring=scoring)
        extender = start_extender(standin, *flags, content=content, **more)
        extender.wait_ready(r"(?m)pods: (0 pods$|not needed)")
        return extender

    return call


def pod(name="web-0", namespace="default", cpu="1"):
    other = copy.deepcopy(POD)
    other["metadata"].update(name=name, namespace=namespace, uid=str(uuid.uuid4()))
    other["spec"]["containers"][0]["resources"]["requests"] = {"cpu": cpu}
    return other


def listed(extender):
    answer = extender.page_of_now("/decisions")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
    return json.loads(answer.text)


def decision(extender, name):
    answer = extender.page(f"/decisions?pod={name}")
    assert answer.status == 200, answer.text
    return json.loads(answer.text)


def test_estimate(cluster, start):
    extender = start(cluster)
    asked = pod("web-0", "shop")
    with extender.scheduler() as scheduler:
        passing, rejected = scheduler.filter([*NODES, "stranger", IDLE], asked)
        scores = scheduler.prioritize(passing, asked)
        first = decision(extender, "shop/web-0")
        second = scheduler.prioritize(passing, pod("web-1", "shop"))
    assert (first["namespace"], first["name"]) == ("shop", "web-0")
    assert first["uid"] == asked["metadata"]["uid"]
    assert (first["filterCalls"], first["prioritizeCalls"]) == (1, 1)

    told = first["filter"]
    counts = {"candidates": 7, "passed": 4, "rejected": 2, "leftOut": 0, "duplicates": 1}
    assert {key: told[key] for key in counts} == counts and told["unknown"] == 1
    assert told["list"] == "whole" and not told["allOverLimits"] and not told["daemonset"]
    assert {row["metric"]: row["over"] for row in told["predicates"]} == {CPU: 1, MEM: 1}
    assert {row["node"] for row in told["rejectedNodes"]} == set(rejected) == {HOT, FULL}
    for row in told["rejectedNodes"]:
        assert row["value"] > row["limit"]

    ranking = first["prioritize"]
    assert ranking["scoring"] == "estimate" and ranking["expected"]["loadCores"] == 1
    assert ranking["expected"]["workload"] == "shop/ReplicaSet/web-7d9"
    sent = {row["node"]: row["score"] for row in ranking["bestNodes"]}
    assert sent == scores
    assert [row["score"] for row in ranking["bestNodes"]] == sorted(sent.values(), reverse=True)
    for row in ranking["bestNodes"]:
        if not row["known"]:
            continue
        for resource in ("cpu", "mem"):
            usage = row["estimate"][resource]
            parts = ("inFlight", "margin", "pod", "reserved")
            total = (usage["reading"] or 0) + sum(usage[part] for part in parts)
            assert math.isclose(total, usage["expected"], abs_tol=1e-5)
        largest = max(
            row["estimate"][r]["expected"] * row["estimate"][r]["weight"] for r in ("cpu", "mem")
        )
        assert math.isclose(row["estimate"]["headroom"], 100 * (1 - largest), abs_tol=1e-3)
    # The second pod saw what the first was promised.
    best = ranking["bestNodes"][0]["node"]
    others = decision(extender, "shop/web-1")
    assert others["filter"] is None
    assert {row["node"]: row["score"] for row in others["prioritize"]["bestNodes"]} | second == {
        row["node"]: row["score"] for row in others["prioritize"]["bestNodes"]
    }
    reserved = {
        row["node"]: row["estimate"]["cpu"]["reserved"]
        for row in others["prioritize"]["bestNodes"]
        if row["known"]
    }
    assert reserved[best] == pytest.approx(0.1) and sum(reserved.values()) == reserved[best]

    lines = listed(extender)["decisions"]
    assert [line["name"] for line in lines] == ["web-1", "web-0"]
    assert lines[1]["prioritize"]["bestNodes"] == ranking["bestNodes"][:1]
    assert lines[1]["filter"] == told | {"rejectedNodes": told["rejectedNodes"][:1]}
    # One line each, for grep.
    rows = extender.page_of_now("/decisions").text.splitlines()
    assert sum('"name":"web-' in row for row in rows) == len(lines) == 2
    # Of what a pod asks for, and of what it is, nothing is kept but what it is expected to use.
    text = extender.page("/decisions?pod=shop/web-0").text
    assert "nginx" not in text and "html" not in text and "NodeNames" not in text


def test_confirmed_by_a_binding(cluster, start):
    extender = start(cluster)
    asked = pod()
    asked["metadata"].pop("creationTimestamp")  # else it was bound then
    with extender.scheduler() as scheduler:
        scheduler.prioritize([IDLE, HALF], asked)
        assert decision(extender, "default/web-0")["confirmedAt"] is None
        asked["spec"]["nodeName"] = HALF
        cluster.admin("objects", {"resource": "pods", "object": asked})
        wait_until(lambda: decision(extender, "default/web-0")["confirmedAt"])
        scheduler.filter(NODES, pod())  # a stranger, who knows its name
        scheduler.filter(NODES, asked)  # and its uid
    assert decision(extender, "default/web-0")["filter"] is None
    page = listed(extender)
    assert [line["confirmedAt"] is None for line in page["decisions"]] == [True, False]
    assert page["decisions"][1]["confirmedAt"] == page["lastConfirmedAt"]


@pytest.mark.parametrize(
    "path, status, why",
    [
        ("/decisions?pod=web-0", 400, "NAMESPACE/NAME"),
        ("/decisions?pod=default/", 400, "NAMESPACE/NAME"),
        ("/decisions?pod=default/web-0/x", 400, "NAMESPACE/NAME"),
        ("/decisions?pod=default/web-0%0a", 400, "NAMESPACE/NAME"),
        (f"/decisions?pod={'n' * 64}/web-0", 400, "NAMESPACE/NAME"),
        (f"/decisions?pod=default/{'n' * 254}", 400, "NAMESPACE/NAME"),
        ("/decisions?pod=default/web-1", 404, "no such pod"),
    ],
)
def test_bad_queries(module_start_standin, module_start_extender, path, status, why):
    extender = module_start_extender(module_start_standin())
    reply = fetch(f"{extender.url}{path}")
    assert reply.status == status and why in reply.json()["error"]
    assert fetch(f"{extender.url}/decisions", "POST", {}).status == 405


def test_what_of_a_pod_is_not_kept(cluster, start):
    """Environment and labels, of a call and of a pod that is watched."""
    secret = "hunter2"
    extender = start(cluster, "--log-level=debug")
    for name, node in (("web-0", None), ("web-1", IDLE)):
        told = pod(name)
        told["metadata"].update(labels={"a": secret}, annotations={"a": secret})
        told["spec"]["containers"][0]["env"] = [{"name": "A", "value": secret}]
        if node:
            told["spec"]["nodeName"] = node
            cluster.admin("objects", {"resource": "pods", "object": told})
            extender.wait_ready(r"(?m)pods: 1 pods?$")
        with extender.scheduler() as scheduler:
            scheduler.filter(NODES, told)
            scheduler.prioritize(NODES, told)
    details = [f"/decisions?pod=default/web-{number}" for number in range(2)]
    pages = ("/decisions", *details, "/nodes", "/metrics", "/readyz?verbose")
    shown = [extender.page_of_now(path).text for path in pages]
    assert all("web-1" in text for text in (shown[0], shown[2]))
    assert secret not in extender.process.text() + "".join(shown)


def test_switched_off(cluster, start):
    extender = start(cluster, "--status-page=false")
    with extender.scheduler() as scheduler:
        scheduler.filter(NODES, pod())
        scheduler.prioritize([IDLE], pod())
    assert extender.page("/decisions").status == 404
    assert extender.page("/decisions?pod=default/web-0").status == 404


def shape(value):
    """The keys of JSON, all the way down."""
    if isinstance(value, dict):
        return {key: shape(of) for key, of in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return None


def test_the_documented_examples(cluster, start):
    """extender/README.md shows the keys as they are, in their order."""
    extender = start(cluster)
    asked = pod()
    with extender.scheduler() as scheduler:
        scheduler.filter([IDLE, HALF, HOT], asked)
        scheduler.prioritize([IDLE, HALF], asked)
    whole = json.loads(block("extender/README.md", "decision"))
    assert json.dumps(shape(decision(extender, "default/web-0"))) == json.dumps(shape(whole))
