"""kubectl plimsoll simulate: what a policy would change, of a cluster."""

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
    same = write(tmp_path / "same.yaml", IN_FORCE)
    assert plimsoll("simulate", "-f", same).isascii()
    shown = json.loads(plimsoll("simulate", "-f", path, f"--in-force={path}", "-ojson"))
    assert shown["inForce"]["nodes"][3]["score"] is None


def test_what_a_metric_lacks(cluster, plimsoll, tmp_path):
    cluster.annotate(CPU, "much", slice(1))
    path = write(tmp_path / "policy.yaml", policy(limits={CPU: 0.8}, weights={PEAK: 1}))
    shown = plimsoll("simulate", "-f", path)
    assert f"metric {CPU}: no usable value on 1 of 5 nodes\n" in shown
    assert f"metric {PEAK}: no usable value on 5 of 5 nodes\n" in shown


def test_bad_policies(cluster, plimsoll, tmp_path):
    assert "none.yaml" in plimsoll("simulate", "-f", "none.yaml", status=2)
    (tmp_path / "latin").write_bytes(b"\xff")
    assert "latin: not UTF-8" in plimsoll("simulate", "-f", "latin", status=2)
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
    shown = run_commands(block("docs/kubectl/simulate.md", "simulate"), flags, cwd=tmp_path)
    assert shown.startswith(block("docs/kubectl/simulate.md", "simulate-picture")), shown
