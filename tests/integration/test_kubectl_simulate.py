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


def test_simulate(plimsoll, tmp_path):
    path = write(tmp_path / "policy.yaml", STRICT)
    shown = json.loads(plimsoll("simulate", "-f", path, "-ojson", status=1))
    assert {key: answer["nodes"][3]["score"] for key, answer in shown.items()} == {
        "inForce": 3,
        "simulated": None,
    }
    assert shown["simulated"]["nodes"][3]["rejectedBy"] == CPU
    assert yaml.safe_load(plimsoll("simulate", "-f", path, "-oyaml", status=1)).keys() == {
        "inForce",
        "simulated",
    }
    assert plimsoll("simulate", "-f", write(tmp_path / "same.yaml", IN_FORCE)).isascii()


def test_what_a_metric_lacks(cluster, plimsoll, tmp_path):
    cluster.annotate(CPU, "much", slice(1))
    path = write(tmp_path / "policy.yaml", policy(limits={CPU: 0.8}, weights={PEAK: 1}))
    shown = plimsoll("simulate", "-f", path)
    assert f"metric {CPU}: no usable value on 1 of 5 nodes\n" in shown
    assert f"metric {PEAK}: no usable value on 5 of 5 nodes\n" in shown


def verdicts(shown):
    rows = zip(shown["inForce"]["nodes"], shown["simulated"]["nodes"])
    return [(a["node"], a["score"], b["score"], b["rejectedBy"]) for a, b in rows]


def test_saved_nodes(cluster, plimsoll, tmp_path):
    """The time is that of the files."""
    path = write(tmp_path / "policy.yaml", STRICT)
    live = json.loads(plimsoll("simulate", "-f", path, "-ojson", status=1))
    write(tmp_path / "nodes.json", json.dumps({"items": cluster.nodes()}))
    write(tmp_path / "old.yaml", IN_FORCE)
    files = ("simulate", "-f", path, "--nodes=nodes.json", "--in-force=old.yaml", "-ojson")
    del cluster.objects["/api/v1/nodes"]
    saved = json.loads(plimsoll(*files, status=1))
    assert verdicts(saved) == verdicts(live)
    later = json.loads(plimsoll(*files, "--now=2100-01-01T00:00:00Z"))["simulated"]
    assert later["at"].startswith("2100-01-01T00:00:00")
    assert later["nodes"][0]["predicates"][0]["state"] == "expired"
    nodes = (tmp_path / "nodes.json").read_text()
    by_pipe = json.loads(plimsoll(*files, "--nodes=-", input=nodes, status=1))
    assert verdicts(by_pipe) == verdicts(live)
    for cut in (nodes[:-3], ""):
        write(tmp_path / "nodes.json", cut)
        assert "nodes.json: " in plimsoll(*files, status=2)
    write(tmp_path / "nodes.json", "[]")
    assert "nodes[0]: no metadata.name" in plimsoll(*files, status=2)
    for flags, said in (
        (("--now=2100-01-01T00:00:00Z",), "--now: expected with --nodes"),
        (("--nodes=-", "--in-force=-"), "only one of the files can be standard input"),
        (("--nodes=nodes.json", "--now=noon"), "at: expected a time"),
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
    assert "spec.predicat" in shown["simulated"]["policy"]["warnings"][0]
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
