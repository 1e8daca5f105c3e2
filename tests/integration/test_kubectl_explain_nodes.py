"""kubectl plimsoll explain -: why a value is not used, and that its answers are the recorded ones."""

import json
import os
import resource
import subprocess

import pytest

from extender_kit import policy
from pages import TOP
from policies import CPU, MEM
from programs import complete
from terminal import on_terminal

NOW = "2026-07-23T12:00:00Z"
POLICY_FILE = str(TOP / "policy" / "crane.yaml")

POLICY = policy(limits={CPU: 0.65, MEM: 0.5})


@pytest.fixture
def explain(tmp_path):
    def call(policy, nodes, *flags, status=0, **more):
        path = tmp_path / "policy.json"
        path.write_text(json.dumps(policy))
        flags = ("explain", "-", "-f", path, *flags)
        text = nodes if isinstance(nodes, str) else json.dumps({"kind": "NodeList", "items": nodes})
        done = complete("kubectl-plimsoll", *flags, status=status, input=text, **more)
        return done.stdout if status == 0 else done.stderr

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
    rows = {r["node"]: r for r in json.loads(explain(POLICY, NODES, "--now", NOW, "-o", "json"))}
    assert list(rows) == ["idle", "full", "old", "odd", "bare", "\x1b[2J"]
    assert [r["score"] for r in rows.values()] == [7, None, 0, 0, 0, 0]
    assert rows["full"]["rejectedBy"] == "cpu_usage_avg_5m"
    assert rows["full"]["reason"] == "cpu_usage_avg_5m above 0.65"
    assert [p["rejects"] for p in rows["full"]["predicates"]] == [True, True]
    assert {r["lastBy"] for r in rows.values()} == {""}
    states = {name: row["predicates"][0]["state"] for name, row in rows.items()}
    assert states == {
        "idle": "usable",
        "full": "usable",
        "old": "expired",
        "odd": "malformed",
        "bare": "missing",
        "\x1b[2J": "missing",
    }
    assert rows["idle"]["hotValue"]["value"] == 2
    assert rows["old"]["predicates"][0]["ageSeconds"] == 600

    table = explain(POLICY, NODES, "--now", NOW)
    assert table.isascii()
    assert "\x1b" not in table
    assert "full: rejected: cpu_usage_avg_5m above 0.65\n" in table
    assert "expired 2m ago (70.0%, 10m old)" in table
    assert "malformed: '70%,?[31m" in table
    assert "20 points off" in table


def test_one_node_and_other_units(explain):
    one = node("a", **{"x.io/cpu_usage_avg_5m": "25,2026-07-23T20:00:00Z"})
    flags = ("--annotation-prefix=x.io", "--annotation-unit=percent")
    flags += ("--annotation-timezone=Asia/Shanghai", "--now", NOW, "-o=json")
    assert json.loads(explain(POLICY, json.dumps(one), *flags))[0]["score100"] == 75


def estimated_input():
    """Two nodes of 10 CPUs at 40%. `a` was given a pod of 2 CPUs a minute before its reading; so
    pods use twice what they request: 8 CPUs, by pods that request 4 within the window."""

    def pod(name, cpu, on=None, created="2026-07-23T10:00:00Z"):
        return {
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "shop",
                "uid": name,
                "creationTimestamp": created,
            },
            "spec": {
                "nodeName": on or "",
                "containers": [{"resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}],
            },
            "status": {"phase": "Running" if on else "Pending"},
        }

    items = []
    for name in ("a", "b"):
        item = node(name, cpu_usage_avg_5m="0.40000,2026-07-23T12:00:00Z")
        item["status"] = {"capacity": {"cpu": "10", "memory": "64Gi"}}
        items.append({"kind": "Node", **item})
    items += [pod("old-a", "1600m", "a"), pod("old-b", "2", "b"), pod("waits", "500m")]
    items.append(pod("new-a", "2", "a", "2026-07-23T11:59:00Z"))
    return json.dumps({"kind": "List", "items": items})


def test_estimate(explain):
    policy = json.loads(json.dumps(POLICY))
    policy["spec"]["extender"] = {"scoring": "estimate"}
    flags = (f"--now={NOW}", "--pod=shop/waits")
    text = explain(policy, estimated_input(), *flags)
    assert text.startswith(
        "pod shop/waits:\n  expected: 0.5 CPUs and 1024 MiB, by the cluster's factors 1 and 1\n"
    ), text
    a, b = json.loads(explain(policy, estimated_input(), *flags, "-o", "json"))
    cpu = {"reading": 0.4, "pod": 0.1, "weight": 1, "capacity": 10}
    cpu |= {"podLoad": 0.5, "usageToRequest": 1}
    margin_a, margin_b = (row["estimate"]["cpu"]["margin"] for row in (a, b))
    assert 0 == margin_b < margin_a < 0.6, "a has one more pod that no reading shows"
    of_a = {
        **cpu,
        "inFlight": 0.16,
        "inFlightLoad": 1.6,
        "margin": margin_a,
        "expected": 0.66 + margin_a,
    }
    of_b = {**cpu, "inFlight": 0, "inFlightLoad": 0, "margin": margin_b, "expected": 0.5 + margin_b}
    assert a["estimate"]["cpu"] == pytest.approx(of_a, abs=1e-3)
    assert b["estimate"]["cpu"] == pytest.approx(of_b, abs=1e-3)
    assert "mem" not in a["estimate"], "the policy has no priority on it"
    assert a["estimate"]["headroom"] == pytest.approx(34 - 100 * margin_a, abs=0.1)
    assert b["estimate"]["headroom"] == pytest.approx(50 - 100 * margin_b, abs=0.1)
    assert (a["score"], b["score"]) == (0, 10)
    assert "room   headroom" in text and "0.0 in flight" in text
    assert (
        f"16.0 in flight (1.6 of 10 CPUs), {100 * margin_a:.1f} margin, 10.0 for the pod (counted twice)"
        in text
    )
    assert "b: passes; score 10 of 10\n" in text
    # A pod without requests counts as 100m.
    anyone = explain(policy, estimated_input(), f"--now={NOW}")
    assert anyone.startswith("a pod without requests:\n  expected: 0.1 CPUs and "), anyone
    a, b = json.loads(explain(policy, estimated_input(), f"--now={NOW}", "-o", "json"))
    assert b["estimate"]["headroom"] == pytest.approx(100 - 40 - 2 * 1 - 100 * margin_b, abs=0.1)
    error = explain(policy, estimated_input(), "--pod=shop/nobody", status=2)
    assert "--pod: no pod 'shop/nobody' in the input" in error


def test_estimate_without_a_reading(explain):
    policy = json.loads(json.dumps(POLICY))
    policy["spec"]["extender"] = {"scoring": "estimate"}
    nodes = json.loads(estimated_input())
    nodes["items"][0]["metadata"]["annotations"].clear()
    text = explain(policy, json.dumps(nodes), f"--now={NOW}")
    assert " nothing read, " in text and " 40.0 read, " in text, text
    a, b = json.loads(explain(policy, json.dumps(nodes), f"--now={NOW}", "-o", "json"))
    assert (a["estimate"]["cpu"]["reading"], b["estimate"]["cpu"]["reading"]) == (None, 0.4)


def test_estimate_of_a_bound_pod(explain):
    """On its own node it counts once, as on any other."""
    policy = json.loads(json.dumps(POLICY))
    policy["spec"]["extender"] = {"scoring": "estimate"}
    in_flight = {"new-a": (-0.04, 0), "old-a": (0, 0), "old-b": (0.16, -0.2)}
    for pod, expected in in_flight.items():
        flags = (f"--now={NOW}", f"--pod=shop/{pod}", "--output=json")
        nodes = json.loads(explain(policy, estimated_input(), *flags))
        cpu = [row["estimate"]["cpu"] for row in nodes]
        assert [row["usageToRequest"] for row in cpu] == pytest.approx([1, 1], abs=1e-3)
        assert [row["inFlight"] for row in cpu] == pytest.approx(expected, abs=1e-3), pod


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "standard input"),
        ("{", "line 1"),
        pytest.param("[" * 1000000, "line 1", id="brackets"),
        ("kind: NodeList\nitems: []\n", "line 1"),
        ("null", "metadata.name"),
        ("[]", "metadata.name"),
        ('{"items": 5}', "items"),
        ('{"items":[[]]}', "items[0]"),
        ('{"items":[{"metadata":null}]}', "items[0]"),
        ('{"items":[{"metadata":{"name":7}}]}', "items[0]"),
        ('{"items":[{"metadata":{"name":""}}]}', "items[0]"),
        pytest.param('{"items":[{"metadata":{"name":"%s"}}]}' % ("x" * 100000), "items[0]", id="x"),
        ('{"metadata":{"name":"a\\u0000b"}}', "metadata.name"),
        ('{"items": [{"metadata": {"name": "a"}}, {}]}', "items[1]"),
        ('{"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "a"}}]}', "duplicate"),
    ],
)
def test_bad_input_is_an_error_of_one_line(explain, text, why):
    message = explain(POLICY, text, status=2)
    assert why in message and message.startswith("kubectl plimsoll explain: standard input: ")
    assert message.count("\n") == 1 and len(message) < 600, message[:2000]


def test_kinds_of_lists(explain):
    for document in (
        {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": NODES},
        {"kind": "List", "apiVersion": "v1", "items": NODES},  # kubectl's
        NODES[0],
        {"items": []},
    ):
        rows = json.loads(explain(POLICY, json.dumps(document), "--now", NOW, "-o", "json"))
        items = document.get("items", [document])
        assert [row["node"] for row in rows] == [item["metadata"]["name"] for item in items]
    assert explain(POLICY, []) == "no nodes\n"


def run_measured(argv, limit_bytes, **more):
    """(exit status, stderr, peak RSS in MiB) with a ceiling on the address space."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))

    with subprocess.Popen(argv, stderr=subprocess.PIPE, preexec_fn=limit, **more) as process:
        message = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, message, usage.ru_maxrss / 1024


def test_input_without_end_is_bounded(binary):
    argv = [binary("kubectl-plimsoll", "release"), "explain", "-", "-f", POLICY_FILE]
    with open("/dev/zero", "rb") as endless:
        status, message, peak_mib = run_measured(argv, 2 << 30, stdin=endless)
    assert status == 2, message
    assert f"larger than {512 << 20} bytes" in message
    print(f"endless input: refused at {peak_mib:.0f} MiB")


def test_output_that_cannot_be_written_is_an_error(explain):
    with open("/dev/full", "wb") as full:
        said = explain(POLICY, [], "-ojson", status=1, stdout=full)
    assert said == "kubectl-plimsoll: cannot write to standard output\n"


def test_colours_only_on_a_terminal(binary, tmp_path):
    path = tmp_path / "node.json"
    path.write_text(json.dumps(NODES[0]))
    argv = [binary("kubectl-plimsoll"), "explain", "-", "-f", POLICY_FILE, "--now", NOW]

    def shown(env=None):
        with open(path, "rb") as nodes:
            return on_terminal(argv, env=env, stdin=nodes)

    assert "\x1b[1midle" in shown() and "█" in shown()
    assert shown({"NO_COLOR": "1"}).isascii()
    assert "█" in shown({"NO_COLOR": ""})


def test_each_kind_of_line(explain):
    """A limit that is off or puts a node last, a target, a pool, hot values, nothing usable."""
    spec = {
        **POLICY["spec"],
        "predicate": [
            {"name": "cpu_usage_avg_5m", "maxLimitPecent": 0},
            {"name": "mem_usage_avg_5m", "maxLimitPecent": 0.5, "overLimit": "last"},
        ],
        "priority": [{"name": "cpu_usage_avg_5m", "weight": 1, "target": 0.5}],
        "pools": [{"nodeSelector": {"pool": "x"}, "priority": []}],
        "hotValue": [{"timeRange": "5m", "count": 5}],
    }
    nodes = [
        node("over", cpu_usage_avg_5m=f"0.4,{NOW}", mem_usage_avg_5m=f"0.9,{NOW}"),
        node("odd", node_hot_value=f"much,{NOW}", cpu_usage_avg_5m=f"0.5,{NOW}"),
        {"metadata": {"name": "pooled", "labels": {"pool": "x"}, "annotations": {}}},
    ]
    table = explain({**POLICY, "spec": spec}, nodes, f"--now={NOW}")
    assert "over: passes last: mem_usage_avg_5m above 0.5; score 0 of 10" in table
    assert "switched off" in table
    assert "40.0% used of 50%" in table
    assert "  pool   number 1 of spec.pools\n" in table
    assert "no such annotation" in table
    every = [n for n in nodes if n["metadata"]["name"] == "over"]
    text = explain({**POLICY, "spec": spec}, every, f"--now={NOW}")
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
        pod = {
            "kind": "Pod",
            "metadata": {"namespace": "shop", "name": "p", "uid": "u", **metadata},
        }
        items = [over, {**pod, "spec": {"containers": []}}]
        items[0] = {**over, **more}
        flags = (f"--now={NOW}", "--pod=shop/p")
        assert said in explain(policy, items, *flags)
        (row,) = json.loads(explain(policy, items, *flags, "-ojson"))
        return row["rejectedBy"], [limit["rejects"] for limit in row["predicates"]]

    calm = node("calm", cpu_usage_avg_5m=f"0.1,{NOW}", mem_usage_avg_5m=f"0.3,{NOW}")
    said = "rule 1 of the policy applies to the pod: no limit rejects it"
    assert explained(said, {}, labels={"app": "web"}) == ("", [False, False])
    said = "rule 2 of the policy applies to the pod: it adds limits"
    assert explained(said, calm) == ("mem_usage_avg_5m", [False, False, True])
    owner = {"kind": "DaemonSet", "name": "d", "controller": True}
    said = "the pod belongs to a DaemonSet: no limit rejects it"
    assert explained(said, {}, ownerReferences=[owner]) == ("", [False, False])
