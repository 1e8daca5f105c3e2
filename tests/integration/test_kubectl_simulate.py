"""kubectl plimsoll simulate: what a policy would change, of a cluster and of saved nodes."""

import copy
import json

import pytest
import yaml
from extender_kit import policy
from pages import block, run_commands
from policies import CPU, HOT, MEM, ago

PEAK = "cpu_usage_max_avg_1h"
# (cpu, mem) of node-0, ...: a limit of 0.6 rejects the last but one, one of 0.95 lets the last pass.
LOADS = ((0.2, 0.5), (0.4, 0.3), (0.1, 0.2), (0.7, 0.1), (0.9, 0.2))
IN_FORCE = policy(limits={CPU: 0.8}, weights={CPU: 1})
STRICT = policy(limits={CPU: 0.6}, weights={MEM: 1})


@pytest.fixture
def cluster(cluster, start_standin, start_extender):
    paper = cluster
    extender = start_extender(start_standin(), content=IN_FORCE)
    extender.wait_ready()
    paper.ask(extender)
    nodes = [copy.deepcopy(paper.nodes()[0]) for _ in LOADS]
    for number, (item, (cpu, mem)) in enumerate(zip(nodes, LOADS)):
        item["metadata"]["name"] = f"node-{number}"
        item["metadata"]["annotations"].update(
            {CPU: f"{cpu:.5f},{ago(30)}", MEM: f"{mem:.5f},{ago(30)}", HOT: f"0,{ago(30)}"}
        )
        item["status"]["capacity"] = {"cpu": "8", "memory": "32Gi", "hugepages-2Mi": "0"}
    paper.objects["/api/v1/nodes"] = nodes
    return paper


def write(path, content):
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


def by_node(shown):
    return {row["node"]: row for row in shown["nodes"]}


def test_simulate(plimsoll, tmp_path):
    path = write(tmp_path / "policy.yaml", STRICT)
    shown = json.loads(plimsoll("simulate", "-f", path, "-ojson", status=1))
    assert shown["summary"] == {
        "nodes": 5,
        "closed": 0,
        "passBefore": 4,
        "passAfter": 3,
        "aboveLimitBefore": 1,
        "aboveLimitAfter": 2,
        "newlyRejected": 1,
        "newlyPassing": 0,
        "scoresChanged": 3,
        "ranksChanged": 3,
    }
    nodes = by_node(shown)
    assert nodes["node-3"]["before"] == {"rejectedBy": None, "score": 3, "rank": 4}
    assert nodes["node-3"]["after"] == {
        "rejectedBy": CPU,
        "score": None,
        "rank": None,
        "value": 0.7,
        "limit": 0.6,
    }
    assert nodes["node-1"]["before"]["rank"] == 3 and nodes["node-1"]["after"]["rank"] == 2
    assert [row["rank"] for row in (nodes["node-2"]["before"], nodes["node-2"]["after"])] == [1, 1]
    assert shown["policy"]["inForce"] == "the policy in force"
    assert shown["policy"]["simulated"] == path
    assert [(m["metric"], m["usable"], m["new"]) for m in shown["metrics"]] == [
        (CPU, 5, False),
        (MEM, 5, True),
    ]
    assert (
        yaml.safe_load(plimsoll("simulate", "-f", path, "-oyaml", status=1)).keys() == shown.keys()
    )


def test_what_a_metric_lacks(cluster, plimsoll, tmp_path):
    cluster.annotate(CPU, "much", slice(1))
    path = write(tmp_path / "policy.yaml", policy(limits={CPU: 0.8}, weights={PEAK: 1}))
    shown = plimsoll("simulate", "-f", path)
    assert f"metric {CPU}: no usable value on 1 of 5 nodes\n" in shown
    assert f"metric {PEAK}: no usable value on 5 of 5 nodes\n  it is new: " in shown
    assert "it covers its whole window after 1h" in shown
    assert shown.isascii()
    gpus = policy(limits={}, weights={"gpus": 1})
    assert "until a source delivers it" in plimsoll("simulate", "-f", write(tmp_path / "g", gpus))


def test_saved_nodes(cluster, plimsoll, tmp_path):
    """The time is that of the files."""
    path = write(tmp_path / "policy.yaml", STRICT)
    live = json.loads(plimsoll("simulate", "-f", path, "-ojson", status=1))
    write(tmp_path / "nodes.json", json.dumps({"items": cluster.nodes()}))
    write(tmp_path / "old.yaml", IN_FORCE)
    files = ("simulate", "-f", path, "--nodes=nodes.json", "--in-force=old.yaml", "-ojson")
    del cluster.objects["/api/v1/nodes"]
    saved = json.loads(plimsoll(*files, status=1))
    assert saved["nodes"] == live["nodes"] and saved["policy"]["inForce"] == "old.yaml"
    later = json.loads(plimsoll(*files, "--now=2100-01-01T00:00:00Z"))
    assert later["at"].startswith("2100-01-01T00:00:00") and later["metrics"][0]["usable"] == 0
    nodes = (tmp_path / "nodes.json").read_text()
    by_pipe = json.loads(plimsoll(*files, "--nodes=-", input=nodes, status=1))
    assert by_pipe["nodes"] == live["nodes"]
    for cut in (nodes[:-3], ""):
        write(tmp_path / "nodes.json", cut)
        assert "nodes.json: " in plimsoll(*files, status=2)
    write(tmp_path / "nodes.json", "[]")
    assert "nodes[0]: no metadata.name" in plimsoll(*files, status=2)
    for flags, said in (
        (("--now=2100-01-01T00:00:00Z",), "--now: expected with --nodes"),
        (("--nodes=-", "--in-force=-"), "only one of the files can be standard input"),
        (("--nodes=nodes.json", "--now=noon"), "--now: 'noon': expected "),
        (("--nodes=none.json", "--in-force=old.yaml"), "none.json: "),
    ):
        assert said in plimsoll("simulate", "-f", path, *flags, status=2)


def test_bad_policies(cluster, plimsoll, tmp_path):
    assert "none.yaml" in plimsoll("simulate", "-f", "none.yaml", status=2)
    bad = copy.deepcopy(STRICT)
    bad["spec"]["priority"][0]["weight"] = -1
    said = plimsoll("simulate", "-f", write(tmp_path / "bad", bad), status=2)
    assert "bad: no extender answers: " in said
    assert "policy: line " in said and "spec.priority[0].weight: expected" in said
    odd = copy.deepcopy(STRICT)
    odd["spec"]["predicat"] = []
    path = write(tmp_path / "odd", odd)
    assert "warning: line " in plimsoll("simulate", "-f", path, status=1)
    shown = json.loads(plimsoll("simulate", "-f", path, "-ojson", status=1))
    assert "spec.predicat" in shown["policy"]["warnings"][0]
    cluster.objects["/api/v1/nodes"] = 403
    assert "GET /api/v1/nodes" in plimsoll("simulate", "-f", path, status=2)


def test_the_page(cluster, tmp_path):
    """Its commands run, and print the picture."""
    write(tmp_path / "policy.yaml", STRICT)
    flags = f"-s {cluster.url} || test $? = 1"
    (tmp_path / "saved").write_text(json.dumps({"items": cluster.nodes()}))
    commands = block("docs/kubectl/simulate.md", "simulate")
    commands = commands.replace("kubectl get nodes -o json", "cat saved")
    shown = run_commands(commands, flags, cwd=tmp_path)
    assert shown.startswith(block("docs/kubectl/simulate.md", "simulate-picture")), shown
