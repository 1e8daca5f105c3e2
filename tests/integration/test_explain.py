"""plimsoll-extender explain: the recorded answers of crane's plugin, and why a value is not used."""

import json
import os
import pty
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
NOW = "2026-07-23T12:00:00Z"

POLICY = {
    "apiVersion": "scheduler.policy.crane.io/v1alpha1",
    "kind": "DynamicSchedulerPolicy",
    "spec": {
        "syncPolicy": [
            {"name": "cpu_usage_avg_5m", "period": "3m"},
            {"name": "mem_usage_avg_5m", "period": "3m"},
        ],
        "predicate": [
            {"name": "cpu_usage_avg_5m", "maxLimitPecent": 0.65},
            {"name": "mem_usage_avg_5m", "maxLimitPecent": 0.5},
        ],
        "priority": [{"name": "cpu_usage_avg_5m", "weight": 1}],
    },
}


@pytest.fixture
def explain(binary, tmp_path):
    def call(policy, nodes, *flags, status=0, **more):
        path = tmp_path / "policy.json"
        path.write_text(json.dumps(policy))
        argv = [binary("plimsoll-extender"), "explain", f"--policy-config-path={path}", *flags]
        text = nodes if isinstance(nodes, str) else json.dumps({"kind": "NodeList", "items": nodes})
        done = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=60, **more)
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    return call


def node(name, **annotations):
    return {"metadata": {"name": name, "annotations": annotations}}


def test_recorded_answers_of_crane(explain):
    compared = 0
    with open(os.path.join(HERE, "..", "data", "crane-verdicts.jsonl"), encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            lists = ("syncPolicy", "predicate", "priority")
            spec = {key: case[key] for key in lists if case.get(key)}
            items = [node(f"n{i}", **n["annotations"]) for i, n in enumerate(case["nodes"])]
            answers = json.loads(
                explain({**POLICY, "spec": spec}, items, "--now", case["now"], "-ojson")
            )
            for answer, recorded in zip(answers, case["nodes"], strict=True):
                assert answer["rejectedBy"] == recorded["rejectedBy"], (case, answer)
                assert answer["score100"] == recorded["score100"], (case, answer)
                compared += 1
    assert compared == 1920


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
    assert [r["score"] for r in rows.values()] == [7, 3, 0, 0, 0, 0]
    assert rows["full"]["rejectedBy"] == "cpu_usage_avg_5m"
    assert rows["full"]["reason"] == "cpu_usage_avg_5m above 65%"
    assert [p["rejects"] for p in rows["full"]["predicates"]] == [True, True]
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
    assert "full: rejected: cpu_usage_avg_5m above 65%; score 3 of 10 (30 of 100)" in table
    assert "expired 2m ago" in table
    assert "malformed: '70%,?[31m" in table
    assert "20 points off" in table


def test_one_node_and_other_units(explain):
    one = node("a", **{"x.io/cpu_usage_avg_5m": "25,2026-07-23T20:00:00Z"})
    flags = ("--annotation-prefix=x.io", "--annotation-unit=percent")
    flags += ("--annotation-timezone=Asia/Shanghai", "--now", NOW, "-o=json")
    assert json.loads(explain(POLICY, json.dumps(one), *flags))[0]["score100"] == 75


def test_spread(explain):
    policy = {**POLICY, "spec": {**POLICY["spec"], "extender": {"scoring": "spread"}}}
    nodes = [node(f"n{u}", cpu_usage_avg_5m=f"0.{u},{NOW}") for u in (10, 30, 60, 80)]
    rows = json.loads(explain(policy, nodes, "--now", NOW, "--output=json"))
    # the last is rejected, so the scheduler does not ask for its score
    assert [r["score"] for r in rows] == [10, 6, 0, 0]


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "standard input"),
        ("{", "line 1"),
        ("[]", "metadata.name"),
        ('{"items": 5}', "items"),
        ('{"items": [{"metadata": {"name": "a"}}, {}]}', "items[1]"),
        ('{"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "a"}}]}', "twice"),
    ],
)
def test_bad_input(explain, text, why):
    assert why in explain(POLICY, text, status=2)


def test_bad_flags(explain):
    assert "--now" in explain(POLICY, [], "--now", "yesterday", status=2)
    assert "--output" in explain(POLICY, [], "-o", "yaml", status=2)
    assert "none.json" in explain(POLICY, [], "none.json", status=2)
    assert explain(POLICY, []) == "no nodes\n"
    assert json.loads(explain(POLICY, [], "-ojson")) == []


def on_terminal(argv, text, env):
    """What a program prints on a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=slave, env=env) as process:
        os.close(slave)
        process.stdin.write(text.encode())
        process.stdin.close()
        output = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # the other side has closed
                break
            if not chunk:
                break
            output += chunk
        assert process.wait(30) == 0
    os.close(master)
    return output.decode()


def test_colours_only_on_a_terminal(binary):
    argv = [binary("plimsoll-extender"), "explain", "--now", NOW]
    text = json.dumps(NODES[0])
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    shown = on_terminal(argv, text, env)
    assert "\x1b[1midle" in shown
    assert "█" in shown
    assert on_terminal(argv, text, {**env, "NO_COLOR": "1"}).isascii()
