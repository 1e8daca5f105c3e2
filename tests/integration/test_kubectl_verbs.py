"""kubectl-plimsoll: what people are shown of a cluster."""

import json
import os
import re

import pytest
import yaml

from pages import TOP, block, run_commands
from policies import CPU, MEM, ago, policy_object
from programs import complete
from terminal import on_terminal

POLICY = policy_object({CPU: "3m", MEM: "3m"}, {CPU: 0.65}, {MEM: 1}, name="default")
POLICIES = "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies"


@pytest.fixture(scope="module")
def cluster(module_start_standin, module_start_extender):
    """Four nodes under a policy that is the cluster's, and an extender."""
    standin = module_start_standin("--nodes", 4)
    standin.call("POST", POLICIES, POLICY)
    for number, annotations in enumerate(
        (
            {"cpu_usage_avg_5m": f"0.21,{ago(42)}", "mem_usage_avg_5m": f"0.38,{ago(42)}"},
            {"cpu_usage_avg_5m": f"0.91,{ago(40)}", "mem_usage_avg_5m": f"0.60,{ago(40)}"},
            {"cpu_usage_avg_5m": f"0.91,{ago(3600)}", "mem_usage_avg_5m": "much"},
            {},
        )
    ):
        standin.patch(f"/api/v1/nodes/node-000{number}", {"metadata": {"annotations": annotations}})
    standin.extender = module_start_extender(standin)
    standin.extender.wait_ready()
    standin.extender.register(standin)
    return standin


@pytest.fixture(autouse=True)
def as_it_is(cluster):
    """What the extender says is not older than what a test has done."""
    cluster.extender.page_of_now("/nodes")


def nodes_of(table):
    """{node: the rest of its line, word by word}"""
    rows = [line.split(maxsplit=6) for line in table.splitlines()]
    return {row[0]: row[1:] for row in rows if row and row[0].startswith("node-")}


def test_top(plimsoll):
    table = plimsoll("top")
    assert table.isascii() and "\x1b" not in table
    assert table.splitlines()[0].split("  ")[0] == "NODE"
    assert "CPU 5m <=65%" in table and "MEM 5m" in table
    rows = nodes_of(table)
    assert list(rows) == [f"node-000{i}" for i in range(4)]
    assert rows["node-0000"][:4] == ["6", "21%", "38%", "0"] and rows["node-0000"][5] == "ok"
    assert rows["node-0001"][5] == "cpu_usage_avg_5m above 0.65"
    assert rows["node-0002"][1:3] == ["stale", "bad"]
    assert rows["node-0003"][1:] == ["-", "-", "0", "-", "passes, no usable value"]
    assert (
        "4 nodes: 3 pass, 1 above a limit, 2 without a usable value; by plimsoll-extender-0 at 20"
        in table
    )
    assert list(nodes_of(plimsoll("top", "--sort-by=cpu")))[:2] == ["node-0001", "node-0000"]
    assert "age, or a metric of the policy" in plimsoll("top", "--sort-by=disk", status=2)
    for verb in ("top", "trial", "simulate", "rebalance", "workloads"):
        assert "expected nothing but flags" in plimsoll(verb, "now", status=2)


def test_top_of_some_nodes(plimsoll, cluster):
    for number in (1, 3):
        label = {"metadata": {"labels": {"pool": {1: "a", 3: "b"}[number]}}}
        cluster.patch(f"/api/v1/nodes/node-000{number}", label)
    lines = plimsoll("top", "-l", "pool in (a,b)", "--no-headers").splitlines()
    assert [line.split()[0] for line in lines] == ["node-0001", "node-0003"]
    titled = plimsoll("top", "-l", "pool=b").splitlines()
    assert titled[0].startswith("NODE") and titled[1].startswith("node-0003")
    assert "1 node: " in titled[3]
    assert "400 " in plimsoll("top", "-l", "pool in (", status=2)
    none = plimsoll("top", "-l", "pool=none", status=None)
    assert none.stderr == "kubectl plimsoll top: no node has the labels pool=none\n"
    assert "0 nodes: " in none.stdout and none.returncode == 0


def test_explain(plimsoll):
    """Of the cluster, and of one node."""
    wanted = rows_of(plimsoll("explain", "nodes", "-ojson"))
    assert [row["node"] for row in wanted] == [f"node-000{i}" for i in range(4)]
    one = yaml.safe_load(plimsoll("explain", "node", "node-0001", "-o", "yaml"))
    assert [timeless(row) for row in one["nodes"]] == wanted[1:2]
    table = plimsoll("explain", "node", "node-0001")
    assert table.startswith("by plimsoll-extender-0 at 20")
    assert "\nnode-0001: rejected: cpu_usage_avg_5m above 0.65\n" in table
    assert table.isascii() and "node-0000" not in table
    assert "there is no node 'node-9'" in plimsoll("explain", "node", "node-9", status=2)
    for words in ([], ["pod"], ["pods"], ["nodes", "node-0001", "node-0002"]):
        assert "expected `node NAME`" in plimsoll("explain", *words, status=2)


def rows_of(text):
    return [timeless(row) for row in json.loads(text)["nodes"]]


def timeless(row):
    """Without what changes from one second to the next."""
    for reading in (*row["predicates"], *row["priorities"]):
        reading.pop("ageSeconds", None)
        reading.pop("expiredSeconds", None)
    return row


def test_the_page_of_explain(cluster):
    commands = block("docs/kubectl/explain.md", "explain")
    shown = run_commands(commands, env={"KUBECONFIG": cluster.kubeconfig})
    assert "\nnode-0001: rejected" in shown and '"node": "node-0003"' in shown


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_top_on_a_terminal(binary, cluster, columns):
    env = {"KUBECONFIG": cluster.kubeconfig}
    argv = [binary("kubectl-plimsoll"), "top"]
    assert "\x1b[31m" in on_terminal(argv, columns, env=env)
    shown = on_terminal(argv, columns, env={**env, "NO_COLOR": "1"})
    assert "\x1b" not in shown
    table = shown.split("\r\n\r\n")[0].split("\r\n")
    assert max(map(len, table)) <= columns, "\n".join(table)
    assert ("█" in shown) == (columns >= 80)
    assert on_terminal(argv, columns, env={**env, "TERM": "dumb"}).isascii()


def test_refused_words(plimsoll):
    """They are reported before a missing kubeconfig, and the last line names the help to read."""
    for words, said in {
        "--nothing top": "unknown flag --nothing",
        "-n": "expected a verb",
        "tip": "unknown verb tip; did you mean top?",
        "status": "unknown verb status; expected top, trial, explain, workloads, doctor, simulate, "
        "rebalance, cleanup",
    }.items():
        lines = plimsoll(*words.split(), status=2).splitlines()
        assert lines == [f"kubectl plimsoll: {said}", "See 'kubectl plimsoll --help'."]
    for words, said in {
        "top --nothing": "unknown flag --nothing",
        "top -o xml": "--output: 'xml': ",
        "top node-0000": "'node-0000': expected nothing but flags",
        "top --watch -o json": "--watch: expected with -o table or wide",
        "top --request-timeout=x": "--request-timeout: 'x': ",
        "explain": "expected `node NAME`, ",
        "explain web-0": "expected `node NAME`, `nodes` or `pod NAME`; did you mean `pod web-0` or "
        "`node web-0`?",
        "workloads --limit=-1": "--limit: '-1': expected ",
        "simulate": "--filename: expected the policy to simulate, such as -f policy.yaml",
        "simulate policy.yaml": "'policy.yaml': expected nothing but flags",
        "rebalance --watch -o json": "--watch: expected with -o table or wide",
    }.items():
        verb = words.split()[0]
        lines = plimsoll(*words.split(), status=2, env={"KUBECONFIG": "/none"}).splitlines()
        assert lines[0].startswith(f"kubectl plimsoll {verb}: {said}"), lines
        assert lines[1:] == [f"See 'kubectl plimsoll {verb} --help'."]
    assert "See" not in plimsoll("explain", "node", "node-9", status=2), "no flag would help"


def test_kubectls_forms(plimsoll, cluster):
    """The names of kinds and TYPE/NAME; the variable of a namespace names the installation's."""
    forms = (["node", "node-0000"], ["node/node-0000"], ["nodes", "node-0000"], ["no/node-0000"])
    said = {plimsoll("explain", *words).split("\n")[2] for words in forms}
    assert len(said) == 1 and said.pop().startswith("node-0000: ")
    assert plimsoll("explain", "node").count("node-000") == plimsoll("explain", "nodes").count(
        "node-000"
    )
    for words in (["pod/shop/nobody"], ["pods", "shop/nobody"], ["po", "nobody", "-n", "shop"]):
        said = plimsoll("explain", *words, status=2)
        assert "there is no pod shop/nobody, and no extender knows it; --namespace sets" in said
    said = plimsoll("explain", "pod/nobody", status=2, env={"PLIMSOLL_NAMESPACE": "shop"})
    assert "no pod default/nobody" in said, said
    assert "expected `node NAME`" in plimsoll("explain", "thing/name", status=2)


def test_verbs(plimsoll, binary, tmp_path):
    listed = plimsoll("--help")
    for line in listed.partition("Verbs:\n")[2].partition("\n\n")[0].splitlines():
        verb = line.split()[0]
        assert plimsoll(verb, "--help").startswith(f"Usage: kubectl plimsoll {verb}")
        assert "unknown flag --nonsense" in plimsoll(verb, "--nonsense", status=2)
    assert plimsoll("--version") == plimsoll("version") == plimsoll("top", "--version")
    assert plimsoll("-h") == plimsoll("help") == listed
    assert plimsoll("__complete") == ""
    assert "Usage" in plimsoll(status=2)
    # kubectl runs the helper, which asks kubectl for names.
    os.symlink(binary("kubectl-plimsoll"), tmp_path / "kubectl-plimsoll")
    (tmp_path / "k3s").write_text('#!/bin/sh\necho "$0 $@"\n')
    (tmp_path / "k3s").chmod(0o755)
    (tmp_path / "kubectl").symlink_to("k3s")
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    helper = TOP / "cli" / "kubectl_complete-plimsoll"
    said = complete(helper, "top", "-o", "", env=path)
    assert said.stdout == "table\nwide\njson\nyaml\n:4\n"
    for variable in ("", "k3s kubectl", "k3s *"):
        program = variable or "kubectl"
        env = path | {"KUBECTL": variable}
        for words, asked in (
            ("pod ", "get pod "),
            ("-n shop po w", "get -n shop po w"),
            ("no", ""),
        ):
            said = complete(helper, "explain", *words.split(" "), env=env)
            names = f"{tmp_path}/{program} __complete {asked}\n"
            assert said.stdout == (names if asked else "node\nnodes\n:4\n")
