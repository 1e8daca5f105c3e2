"""kubectl plimsoll explain: what is printed of an extender's answers about nodes."""

import json

import pytest

from extender_kit import policy
from policies import CPU, MEM
from terminal import on_terminal

NOW = "2026-07-23T12:00:00Z"
NO_CONFIG = {"HOME": "/proc/none", "KUBECONFIG": ""}
POLICY = policy(limits={CPU: 0.65, MEM: 0.5})


@pytest.fixture(scope="module")
def extender(module_start_standin, module_start_extender):
    """Of a cluster without nodes."""
    started = module_start_extender(module_start_standin())
    started.wait_ready()
    return started


@pytest.fixture
def explain(cluster, extender, plimsoll):
    """What people are shown of nodes by a policy, and what the extender has said of each."""

    def call(policy, nodes, **more):
        asked = {"nodes": nodes, "policy": json.dumps(policy), "at": NOW, **more}
        rows = cluster.explain(extender, asked)["nodes"]
        return plimsoll("explain", "nodes"), {row["node"]: row for row in rows}

    return call


def node(name, **annotations):
    return {"metadata": {"name": name, "annotations": annotations}}


NODES = [
    node("idle", cpu_usage_avg_5m=f"0.1,{NOW}", node_hot_value=f"2,{NOW}"),
    node("full", cpu_usage_avg_5m=f"0.7,{NOW}", mem_usage_avg_5m=f"0.9,{NOW}"),
    node("old", cpu_usage_avg_5m="0.7,2026-07-23T11:50:00Z"),
    node("odd", cpu_usage_avg_5m="70%,\x1b[31m" + NOW, mem_usage_avg_5m="\u00e9" * 200),
    {"metadata": {"name": "bare"}},
    {"metadata": {"name": "\x1b[2J"}},
]


def test_why(explain):
    table, rows = explain(POLICY, NODES)
    assert list(rows) == ["idle", "full", "old", "odd", "bare", "\x1b[2J"]
    assert [r["score"] for r in rows.values()] == [7, None, 0, 0, 0, 0]
    assert rows["full"]["rejectedBy"] == "cpu_usage_avg_5m"
    assert rows["full"]["reason"] == "cpu_usage_avg_5m above 0.65"
    assert [p["rejects"] for p in rows["full"]["predicates"]] == [True, True]
    assert {r["lastBy"] for r in rows.values()} == {None}
    states = {name: row["predicates"][0]["state"] for name, row in rows.items()}
    assert states == {
        "idle": "usable",
        "full": "usable",
        "old": "expired",
        "odd": "malformed",
        "bare": "missing",
        "\x1b[2J": "missing",
    }
    assert rows["idle"]["hotValue"] == 2
    assert rows["old"]["predicates"][0]["ageSeconds"] == 600
    assert table.isascii()
    assert "\x1b" not in table
    assert "full: rejected: cpu_usage_avg_5m above 0.65\n" in table
    assert "expired 2m ago (70.0%, 10m old)" in table
    assert "malformed: the annotation is not VALUE,TIME" in table
    assert "20 points off" in table


def test_other_units(start_standin, start_extender, tmp_path):
    """As the extender reads annotations."""
    flags = ("--annotation-prefix=x.io", "--annotation-unit=percent")
    extender = start_extender(start_standin(), *flags, "--annotation-timezone=Asia/Shanghai")
    extender.wait_ready()
    one = node("a", **{"x.io/cpu_usage_avg_5m": "25,2026-07-23T20:00:00Z"})
    asked = {"nodes": [one], "policy": json.dumps(POLICY), "at": NOW}
    (row,) = extender.call("POST", "/explain", asked).json()["nodes"]
    assert row["score100"] == 75


def test_a_pod(explain):
    """What it is expected to use, in a table of nodes whose pods nobody knows."""
    estimate = {**POLICY, "spec": {**POLICY["spec"], "extender": {"scoring": "estimate"}}}
    item = node("a", cpu_usage_avg_5m=f"0.40000,{NOW}")
    item["status"] = {"capacity": {"cpu": "10", "memory": "64Gi"}}
    requests = {"requests": {"cpu": "500m", "memory": "1Gi"}}
    pod = {"metadata": {"name": "waits", "namespace": "shop", "uid": "1"}}
    pod["spec"] = {"containers": [{"resources": requests}]}
    shown, _ = explain(estimate, [item], pod=pod)
    assert "  expected: 0.5 CPUs and 1024 MiB, by the cluster's factors 1 and 1" in shown
    assert "50.0%  40.0 read (0s old), 0.0 margin, 10.0 for the pod (counted twice), " in shown
    assert "since then" not in shown and "room   headroom" in shown
    item["metadata"]["annotations"].clear()
    assert " nothing read, " in explain(estimate, [item])[0]


def test_colours_only_on_a_terminal(binary, cluster, explain):
    explain(POLICY, NODES[:1])
    argv = [binary("kubectl-plimsoll"), "explain", "nodes", f"--server={cluster.url}"]

    def shown(env=None):
        return on_terminal(argv, env={**NO_CONFIG, **(env or {})})

    assert "\x1b[1midle" in shown() and "█" in shown()
    assert shown({"NO_COLOR": "1"}).isascii()
    assert "█" in shown({"NO_COLOR": ""})


def test_each_kind_of_line(explain):
    """A limit that is off or puts a node last, a target, a pool, hot values, taints of load, nothing
    usable."""
    spec = {
        **POLICY["spec"],
        "predicate": [
            {"name": "cpu_usage_avg_5m", "maxLimitPecent": 0},
            {"name": "mem_usage_avg_5m", "maxLimitPecent": 0.5, "overLimit": "last"},
        ],
        "priority": [{"name": "cpu_usage_avg_5m", "weight": 1, "target": 0.5}],
        "pools": [{"nodeSelector": {"pool": "x"}, "priority": []}],
        "hotValue": [{"timeRange": "5m", "count": 5}],
        "taints": {},
    }
    nodes = [
        node("over", cpu_usage_avg_5m=f"0.4,{NOW}", mem_usage_avg_5m=f"0.9,{NOW}"),
        node("odd", node_hot_value=f"much,{NOW}", cpu_usage_avg_5m=f"0.5,{NOW}"),
        {"metadata": {"name": "pooled", "labels": {"pool": "x"}, "annotations": {}}},
    ]
    effects = {1: "PreferNoSchedule", 2: "PreferNoSchedule", 3: "NoSchedule"}
    nodes[1]["spec"] = {
        "taints": [{"key": f"load.plimsoll.io/{n}", "effect": effects[n]} for n in effects]
    }
    table, rows = explain({**POLICY, "spec": spec}, nodes)
    assert [row["taintLevel"] for row in rows.values()] == [0, 2, 0]
    assert "  taint  level 2 of 4\n" in table
    assert "over: passes last: mem_usage_avg_5m above 0.5; score 0 of 10" in table
    assert "switched off" in table
    assert "40.0% used of 50%" in table
    assert "  pool   number 1 of spec.pools\n" in table
    assert "no such annotation" in table
    every = [n for n in nodes if n["metadata"]["name"] == "over"]
    text, _ = explain({**POLICY, "spec": spec}, every)
    assert "score 9 of 10" in text, "where all are to be last, they are ranked as ever"


def test_rules(explain):
    """What the policy asks of a pod by its rule, or since it is a DaemonSet's, is said."""
    rules = [
        {"match": {"namespaces": ["shop"], "labels": {"app": "web"}}, "exempt": True},
        {
            "match": {"namespaces": ["shop"]},
            "limits": [{"name": "mem_usage_avg_5m", "maxLimitPecent": 0.2}],
        },
    ]
    policy = {**POLICY, "spec": {**POLICY["spec"], "rules": rules}}
    over = node("over", cpu_usage_avg_5m=f"0.7,{NOW}", mem_usage_avg_5m=f"0.3,{NOW}")

    def explained(said, more, **metadata):
        metadata |= {"namespace": "shop", "name": "p", "uid": "u"}
        pod = {"metadata": metadata, "spec": {"containers": []}}
        shown, rows = explain(policy, [{**over, **more}], pod=pod)
        assert said in shown
        (row,) = rows.values()
        return row["rejectedBy"], [limit["rejects"] for limit in row["predicates"]]

    calm = node("calm", cpu_usage_avg_5m=f"0.1,{NOW}", mem_usage_avg_5m=f"0.3,{NOW}")
    said = "rule 1 of the policy applies to the pod: no limit rejects it"
    assert explained(said, {}, labels={"app": "web"}) == (None, [False, False])
    said = "rule 2 of the policy applies to the pod: it adds limits"
    assert explained(said, calm) == ("mem_usage_avg_5m", [False, False, True])
    owner = {"kind": "DaemonSet", "name": "d", "controller": True}
    said = "the pod belongs to a DaemonSet: no limit rejects it"
    assert explained(said, {}, ownerReferences=[owner]) == (None, [False, False])
