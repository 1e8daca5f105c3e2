"""kubectl plimsoll explain -: why a value is not used, and that its answers are the recorded ones."""

import json
import os
import resource
import subprocess

import pytest

from extender_kit import policy
from pages import TOP
from paper_cluster import PaperCluster
from policies import CPU, MEM
from programs import complete
from terminal import on_terminal

NOW = "2026-07-23T12:00:00Z"
POLICY_FILE = str(TOP / "policy" / "crane.yaml")

NO_CONFIG = {"HOME": "/proc/none", "KUBECONFIG": ""}
POLICY = policy(limits={CPU: 0.65, MEM: 0.5})


@pytest.fixture(scope="module")
def asked(module_start_standin, module_start_extender):
    """A cluster with an extender and no nodes."""
    standin = module_start_standin()
    extender = module_start_extender(standin)
    extender.wait_ready()
    paper = PaperCluster()
    paper.ask(extender)
    yield paper
    paper.close()


@pytest.fixture
def server(asked):
    return (f"--server={asked.url}",)


@pytest.fixture
def explain(tmp_path, server):
    def call(policy, nodes, *flags, status=0, **more):
        path = tmp_path / "policy.json"
        path.write_text(json.dumps(policy))
        flags = ("explain", "-", "-f", path, *server, *flags)
        text = nodes if isinstance(nodes, str) else json.dumps({"kind": "NodeList", "items": nodes})
        done = complete(
            "kubectl-plimsoll", *flags, status=status, input=text, env=NO_CONFIG, **more
        )
        return done.stdout if status == 0 else done.stderr

    return call


def rows_of(text):
    return json.loads(text)["nodes"]


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
    rows = {r["node"]: r for r in rows_of(explain(POLICY, NODES, "--now", NOW, "-o", "json"))}
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

    table = explain(POLICY, NODES, "--now", NOW)
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


def test_a_pod_of_the_input(explain):
    """What it is expected to use, in a table of nodes whose pods nobody knows."""
    estimate = {**POLICY, "spec": {**POLICY["spec"], "extender": {"scoring": "estimate"}}}
    item = {"kind": "Node", **node("a", cpu_usage_avg_5m=f"0.40000,{NOW}")}
    item["status"] = {"capacity": {"cpu": "10", "memory": "64Gi"}}
    requests = {"requests": {"cpu": "500m", "memory": "1Gi"}}
    pod = {"kind": "Pod", "metadata": {"name": "waits", "namespace": "shop", "uid": "1"}}
    pod["spec"] = {"containers": [{"resources": requests}]}
    text = json.dumps({"items": [item, pod]})
    shown = explain(estimate, text, f"--now={NOW}", "--pod=shop/waits")
    assert "  expected: 0.5 CPUs and 1024 MiB, by the cluster's factors 1 and 1" in shown
    assert "50.0%  40.0 read (0s old), 0.0 margin, 10.0 for the pod (counted twice), " in shown
    assert "since then" not in shown and "room   headroom" in shown
    error = explain(estimate, text, "--pod=shop/nobody", status=2)
    assert "--pod: no pod 'shop/nobody' in the input" in error
    item["metadata"]["annotations"].clear()
    assert " nothing read, " in explain(estimate, json.dumps({"items": [item]}), f"--now={NOW}")


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "standard input: "),
        ("{", "standard input: expected JSON, of kubectl's -o json or --raw: line 1"),
        pytest.param("[" * 1000000, "line 1", id="brackets"),
        ("kind: NodeList\nitems: []\n", "line 1"),
        ("null", "nodes[0]: no metadata.name"),
        ("[]", "nodes[0]: no metadata.name"),
        ('{"items": 5}', "items: expected an array"),
        ('{"items":[[]]}', "nodes[0]: "),
        ('{"items":[{"metadata":{"name":7}}]}', "nodes[0]: "),
        ('{"items":[{"metadata":{"name":""}}]}', "nodes[0]: "),
        pytest.param('{"items":[{"metadata":{"name":"%s"}}]}' % ("x" * 100000), "nodes[0]", id="x"),
        ('{"items": [{"metadata": {"name": "a"}}, {}]}', "nodes[1]"),
        ('{"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "a"}}]}', "duplicate"),
    ],
)
def test_bad_input_is_an_error_of_one_line(explain, text, why):
    message = explain(POLICY, text, status=2)
    assert why in message and message.startswith("kubectl plimsoll explain: ")
    assert message.count("\n") == 1 and len(message) < 700, message[:2000]


def test_kinds_of_lists(explain):
    for document in (
        {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": NODES},
        {"kind": "List", "apiVersion": "v1", "items": NODES},  # kubectl's
        NODES[0],
        {"items": []},
    ):
        rows = rows_of(explain(POLICY, json.dumps(document), "--now", NOW, "-o", "json"))
        items = document.get("items", [document])
        assert [row["node"] for row in rows] == [item["metadata"]["name"] for item in items]
    assert explain(POLICY, []).endswith("\nno nodes\n")


def run_measured(argv, limit_bytes, **more):
    """(exit status, stderr, peak RSS in MiB) with a ceiling on the address space."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))

    with subprocess.Popen(argv, stderr=subprocess.PIPE, preexec_fn=limit, **more) as process:
        message = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, message, usage.ru_maxrss / 1024


def test_input_without_end_is_bounded(binary, server):
    argv = [binary("kubectl-plimsoll", "release"), "explain", "-", "-f", POLICY_FILE, *server]
    with open("/dev/zero", "rb") as endless:
        status, message, peak_mib = run_measured(argv, 2 << 30, stdin=endless)
    assert status == 2, message
    assert f"larger than {512 << 20} bytes" in message
    print(f"endless input: refused at {peak_mib:.0f} MiB")


def test_output_that_cannot_be_written_is_an_error(explain):
    with open("/dev/full", "wb") as full:
        said = explain(POLICY, [], "-ojson", status=1, stdout=full)
    assert said == "kubectl-plimsoll: cannot write to standard output\n"


def test_colours_only_on_a_terminal(binary, tmp_path, server):
    path = tmp_path / "node.json"
    path.write_text(json.dumps(NODES[0]))
    argv = [binary("kubectl-plimsoll"), "explain", "-", "-f", POLICY_FILE, "--now", NOW]
    argv += server

    def shown(env=None):
        with open(path, "rb") as nodes:
            return on_terminal(argv, env={**NO_CONFIG, **(env or {})}, stdin=nodes)

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
        (row,) = rows_of(explain(policy, items, *flags, "-ojson"))
        return row["rejectedBy"], [limit["rejects"] for limit in row["predicates"]]

    calm = node("calm", cpu_usage_avg_5m=f"0.1,{NOW}", mem_usage_avg_5m=f"0.3,{NOW}")
    said = "rule 1 of the policy applies to the pod: no limit rejects it"
    assert explained(said, {}, labels={"app": "web"}) == (None, [False, False])
    said = "rule 2 of the policy applies to the pod: it adds limits"
    assert explained(said, calm) == ("mem_usage_avg_5m", [False, False, True])
    owner = {"kind": "DaemonSet", "name": "d", "controller": True}
    said = "the pod belongs to a DaemonSet: no limit rejects it"
    assert explained(said, {}, ownerReferences=[owner]) == (None, [False, False])
