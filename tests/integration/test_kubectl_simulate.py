"""kubectl plimsoll simulate and record: what a policy would change, of a cluster and of a recording."""

import copy
import json
import os
import stat

import pytest
import yaml
from extender_kit import POD, annotate, policy
from pages import TOP, block, run_commands
from paper_cluster import EXTENDERS, POLICY_PATH, SYSTEM
from policies import CPU, HOT, MEM, ago
from terminal import on_terminal

PODS = f"{SYSTEM}/pods"
PEAK = "cpu_usage_max_avg_1h"
# (cpu, mem) of node-0, ...: a limit of 0.6 rejects the last but one, one of 0.95 lets the last pass.
LOADS = ((0.2, 0.5), (0.4, 0.3), (0.1, 0.2), (0.7, 0.1), (0.9, 0.2))
IN_FORCE = policy(limits={CPU: 0.8}, weights={CPU: 1})
STRICT = policy(limits={CPU: 0.6}, weights={MEM: 1})


def page(query=""):
    return [f"{PODS}/{name}:8010/proxy/decisions{query}" for name in EXTENDERS]


def reading(metric, ratio, age_s=2):
    return {
        "metric": metric,
        "weight": 1,
        "value": ratio,
        "ageSeconds": age_s,
        "full": 1,
        "points": 50,
    }


def ranked(node, ratio, score=5):
    terms = [reading(CPU, ratio)] if ratio is not None else []
    return {"node": node, "score": score, "known": True, "priorities": terms, "hotValue": 0}


def decision(name, best, rejected=(), at="2026-07-23T11:33:09.996Z", **more):
    over = [{"node": n, "metric": CPU, "value": v, "limit": 0.8} for n, v in rejected]
    return {
        "namespace": "shop",
        "name": name,
        "uid": f"uid-{name}",
        "filter": {"at": at, "daemonset": False, "rejectedNodes": over, **more},
        "prioritize": {"at": at, "bestNodes": best} if best else None,
    }


def bound(name, node):
    requests = {"cpu": "2", "memory": "1Gi"}
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-{name}",
            "creationTimestamp": ago(600),
            "annotations": {"secret": "hunter2"},
        },
        "spec": {
            "nodeName": node,
            "containers": [
                {
                    "name": "a",
                    "env": [{"name": "PASSWORD", "value": "hunter2"}],
                    "resources": {"requests": requests},
                }
            ],
        },
        "status": {"phase": "Running"},
    }


# web-0 went to the coolest then, which the new limit would have rejected; web-1's node is the best
# by either; of web-2 it is not known where it is; agent-0 had no choice.
DECISIONS = [
    decision("web-0", [ranked("node-1", 0.65), ranked("node-0", 0.7)], [("node-4", 0.9)]),
    decision(
        "web-1", [ranked("node-2", 0.1), ranked("node-0", 0.2)], at="2026-07-23T11:33:08.000Z"
    ),
    decision(
        "web-2", [ranked("node-0", 0.2), ranked("node-1", 0.4)], at="2026-07-23T11:33:07.000Z"
    ),
    decision("agent-0", None, at="2026-07-23T11:33:06.000Z", daemonset=True),
]


def tell(paper, decisions, names=EXTENDERS):
    """What these extenders keep."""
    for name in names:
        pages = f"{PODS}/{name}:8010/proxy/decisions"
        lines = [
            {"namespace": d["namespace"], "name": d["name"], "at": d["filter"]["at"]}
            for d in decisions
        ]
        paper.objects[pages] = {"decisions": lines}
        for told in decisions:
            paper.objects[f"{pages}?pod=shop/{told['name']}"] = told


@pytest.fixture
def cluster(cluster):
    paper = cluster
    nodes = [copy.deepcopy(paper.nodes()[0]) for _ in LOADS]
    for number, (item, (cpu, mem)) in enumerate(zip(nodes, LOADS)):
        item["metadata"]["name"] = f"node-{number}"
        item["metadata"]["annotations"].update(
            {CPU: f"{cpu:.5f},{ago(30)}", MEM: f"{mem:.5f},{ago(30)}", HOT: f"0,{ago(30)}"}
        )
        item["status"]["capacity"] = {"cpu": "8", "memory": "32Gi", "hugepages-2Mi": "0"}
    paper.objects["/api/v1/nodes"] = nodes
    paper.objects["/api/v1/pods"] = [bound("web-0", "node-1"), bound("web-1", "node-2")]
    paper.objects[POLICY_PATH] = {**IN_FORCE, "metadata": {"name": "default"}}
    tell(paper, DECISIONS)
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
        "passBefore": 4,
        "passAfter": 3,
        "newlyRejected": 1,
        "newlyPassing": 0,
        "scoresChanged": 3,
        "ranksChanged": 3,
    }
    nodes = by_node(shown)
    assert nodes["node-3"]["before"] == {"rejectedBy": "", "score": 3, "rank": 4}
    assert nodes["node-3"]["after"] == {
        "rejectedBy": CPU,
        "score": None,
        "rank": None,
        "value": 0.7,
        "limit": 0.6,
    }
    assert nodes["node-1"]["before"]["rank"] == 3 and nodes["node-1"]["after"]["rank"] == 2
    assert [row["rank"] for row in (nodes["node-2"]["before"], nodes["node-2"]["after"])] == [1, 1]
    assert shown["policy"]["inForce"] == "DynamicSchedulerPolicy default"
    assert shown["policy"]["simulated"] == path and shown["notes"] == []
    assert [(m["metric"], m["usable"], m["new"]) for m in shown["metrics"]] == [
        (CPU, 5, False),
        (MEM, 5, True),
    ]
    assert (
        yaml.safe_load(plimsoll("simulate", "-f", path, "-oyaml", status=1)).keys() == shown.keys()
    )


def test_placements(cluster, plimsoll, tmp_path):
    """As the nodes were then: node-1 was above the new limit, which it is not now."""
    path = write(tmp_path / "policy.yaml", STRICT)
    shown = json.loads(plimsoll("simulate", "-f", path, "-ojson", status=1))["placements"]
    assert (shown["count"], shown["sameFirst"], shown["newlyRejected"], shown["leftOut"]) == (
        3,
        1,
        1,
        1,
    )
    rows = {row["pod"]: row for row in shown["items"]}
    ranks = {name: (row["rankBefore"], row["rankAfter"]) for name, row in rows.items()}
    assert ranks == {"web-0": (1, None), "web-1": (1, 1), "web-2": (1, 2)}
    assert [rows[name]["bound"] for name in sorted(rows)] == [True, True, False]
    assert rows["web-0"]["candidates"] == 3 and rows["web-2"]["node"] == "node-0"
    few = json.loads(plimsoll("simulate", "-f", path, "-ojson", "--placements=1", status=1))
    assert [row["pod"] for row in few["placements"]["items"]] == ["web-0"], "the newest"
    none = json.loads(plimsoll("simulate", "-f", path, "-ojson", "--placements=0", status=1))
    assert none["placements"]["count"] == 0 and none["notes"] == []
    cluster.objects[page()[0]] = 403
    part = json.loads(plimsoll("simulate", "-f", path, "-ojson", status=1))
    assert part["placements"]["count"] == 3
    assert len(part["notes"]) == 1 and part["notes"][0].startswith("not all decisions: GET ")
    cluster.objects[PODS] = 403
    cluster.objects["/api/v1/pods"] = 403
    blind = plimsoll("simulate", "-f", path, status=1)
    assert "placements: none are known" in blind and "no decisions: GET " in blind
    assert "placements lack where pods are" in blind


def test_many_nodes(cluster, plimsoll, tmp_path):
    """The best and the worst that pass, of each side; a side with few shows few."""
    one = cluster.nodes()[0]
    cluster.objects["/api/v1/nodes"] = nodes = [copy.deepcopy(one) for _ in range(20)]
    for number, item in enumerate(nodes):
        item["metadata"]["name"] = f"node-{number:02}"
        item["metadata"]["annotations"][CPU] = f"{number / 20},{ago(30)}"
    path = write(tmp_path / "policy.yaml", policy(limits={CPU: 0.325}, weights={CPU: 1}))
    lines = plimsoll("simulate", "-f", path, status=1).partition("RANK")[2].splitlines()[1:12]
    rows = [line.split() for line in lines]
    sides = [f"{number + 1} node-{number:02} {10 - number // 2}".split() for number in range(17)]
    for place, number in enumerate((0, 1, 2, 3, 4)):
        assert rows[place] == sides[number] * 2
    assert rows[5] == ["..."]
    assert rows[6:] == [*sides[12:15], sides[15] + sides[5], sides[16] + sides[6]]
    wide = plimsoll("simulate", "-f", path, "-owide", status=1)
    assert sum(line.split()[:1] == ["-"] for line in wide.splitlines()) == 3, "of the old policy"
    assert "more: -o wide" not in wide


def test_what_a_metric_lacks(cluster, plimsoll, tmp_path):
    cluster.annotate(CPU, "much", slice(1))
    path = write(tmp_path / "policy.yaml", policy(limits={CPU: 0.8}, weights={PEAK: 1}))
    shown = plimsoll("simulate", "-f", path)
    assert f"metric {CPU}: no usable value on 1 of 5 nodes\n" in shown
    assert f"metric {PEAK}: no usable value on 5 of 5 nodes\n  it is new: " in shown
    assert "of its whole window after 1h" in shown
    assert shown.isascii()
    gpus = policy(limits={}, weights={"gpus": 1})
    assert "until a source delivers it" in plimsoll("simulate", "-f", write(tmp_path / "g", gpus))


def test_estimate(cluster, plimsoll, tmp_path):
    """A pod that was bound a moment ago counts where it is, also in a recording."""
    path = write(tmp_path / "policy.yaml", (TOP / "policy" / "policy.yaml").read_text())
    cluster.annotate(CPU, cluster.nodes()[2]["metadata"]["annotations"][CPU])
    cluster.annotate(MEM, cluster.nodes()[2]["metadata"]["annotations"][MEM])

    def after(*words):
        shown = json.loads(plimsoll("simulate", "-f", path, "-ojson", *words))
        return {name: row["after"] for name, row in by_node(shown).items()}

    # The nodes with a pod have a margin for it.
    assert {name: row["score"] for name, row in after().items() if row["score"] < 10} == {
        "node-1": 9,
        "node-2": 9,
    }
    cluster.objects["/api/v1/pods"][0]["metadata"]["creationTimestamp"] = ago()
    live = after()
    moved = live.pop("node-1")
    assert moved["rank"] == 5 and moved["score"] < 10, moved
    assert {name: row["score"] for name, row in live.items() if row["score"] < 10} == {"node-2": 9}
    assert "record.json: 5 nodes, 2 pods, 4 decisions" in plimsoll("record", "record.json")
    replayed = after("--replay=record.json")
    assert replayed.pop("node-1")["rank"] == 5 and replayed == live


def test_replay_equals_live(cluster, plimsoll, tmp_path):
    path = write(tmp_path / "policy.yaml", STRICT)
    live = json.loads(plimsoll("simulate", "-f", path, "-ojson", status=1))
    plimsoll("record", "record.json")
    cluster.close()
    replayed = json.loads(
        plimsoll("simulate", "-f", path, "-ojson", "--replay", "record.json", status=1)
    )
    for shown in (live, replayed):
        del shown["at"]
    assert replayed == live
    file = tmp_path / "record.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    for secret in ("hunter2", "containerd", "managedFields", "hugepages"):
        assert secret not in text
    assert sorted(os.listdir(tmp_path)) == ["policy.yaml", "record.json"]
    # An old one is judged as of its time.
    old = text.replace(json.loads(text)["at"], "2000-01-01T00:00:00.000Z")
    write(file, old)
    shown = json.loads(plimsoll("simulate", "-f", path, "-ojson", "--replay=record.json", status=1))
    assert shown["at"] == "2000-01-01T00:00:00.000Z"


def test_prefix_unit_and_zone_are_recorded(cluster, plimsoll, tmp_path):
    for item in cluster.nodes():
        notes = item["metadata"]["annotations"]
        notes[f"load.example.com/{CPU}"] = f"55,{ago(-8 * 3600)}"
    path = write(tmp_path / "policy.yaml", STRICT)
    flags = (
        "--annotation-prefix=load.example.com",
        "--annotation-timezone=Asia/Shanghai",
        "--annotation-unit=percent",
    )
    plimsoll("record", "record.json", *flags)
    live = json.loads(plimsoll("simulate", "-f", path, "-ojson", *flags))
    shown = json.loads(plimsoll("simulate", "-f", path, "-ojson", "--replay=record.json"))
    assert shown["nodes"] == live["nodes"]
    assert shown["metrics"][0]["usable"] == 5


def test_bad_policies(cluster, plimsoll, tmp_path):
    assert "--filename: expected" in plimsoll("simulate", status=2)
    assert "none.yaml" in plimsoll("simulate", "-f", "none.yaml", status=2)
    bad = copy.deepcopy(STRICT)
    bad["spec"]["priority"][0]["weight"] = -1
    said = plimsoll("simulate", "-f", write(tmp_path / "bad", bad), status=2)
    assert "bad: line " in said and "spec.priority[0].weight: expected" in said
    odd = copy.deepcopy(STRICT)
    odd["spec"]["predicat"] = []
    path = write(tmp_path / "odd", odd)
    assert "warning: line " in plimsoll("simulate", "-f", path, status=1)
    shown = json.loads(plimsoll("simulate", "-f", path, "-ojson", status=1))
    assert "spec.predicat" in shown["policy"]["warnings"][0]
    cluster.objects["/api/v1/nodes"] = 403
    assert "GET /api/v1/nodes" in plimsoll("simulate", "-f", path, status=2)
    assert "GET /api/v1/nodes" in plimsoll("record", "x.json", status=2)
    assert not (tmp_path / "x.json").exists()
    assert "expected the FILE" in plimsoll("record", status=2)


def changed(recording, path, value):
    """A copy with another value at the path."""
    copied = copy.deepcopy(recording)
    place = copied
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copied


# (path in the recording, what is there, what is said); the unit test of recordings has more
HOSTILE = (
    (("kind",), "Pod", "kind: expected PlimsollRecording"),
    (("annotations", "prefix"), "-", "--annotation-prefix"),
    (("annotations", "timezone"), "../x", "--annotation-timezone"),
    (("policy",), None, "policy.from: expected a string"),
    (("policy", "text"), "kind: [", "policy.text: line "),
    (("nodes", 1, "name"), "x" * 300, "nodes[1].name: "),
)


def test_hostile_recordings(plimsoll, tmp_path):
    plimsoll("record", "record.json")
    recording = json.loads((tmp_path / "record.json").read_text())
    policy_path = write(tmp_path / "policy.yaml", STRICT)
    for path, value, said in HOSTILE:
        (tmp_path / "record.json").write_text(json.dumps(changed(recording, path, value)))
        told = plimsoll("simulate", "-f", policy_path, "--replay=record.json", status=2)
        assert told.startswith("kubectl plimsoll simulate: record.json: ") and said in told


def test_broken_recordings(plimsoll, tmp_path):
    plimsoll("record", "record.json")
    text = (tmp_path / "record.json").read_text()
    path = write(tmp_path / "policy.yaml", STRICT)

    def replay(file):
        return plimsoll("simulate", "-f", path, f"--replay={file}", status=2)

    for end in (0, 1, len(text) // 2, len(text) - 3):
        (tmp_path / "cut.json").write_text(text[:end])
        assert "cut.json: line " in replay("cut.json")
    assert "Is a directory" in replay(".")
    assert "cannot open" in replay("none.json")


def test_hostile_decisions(cluster, plimsoll, tmp_path):
    """What an extender says is not trusted: nothing crashes, and a terminal's escapes stay out."""
    odd = decision(
        "web-0", [ranked("node-0", 1e300), ranked("\x1b[31m", -1), 3, None, {"node": []}]
    )
    odd["prioritize"]["bestNodes"][0]["priorities"] += [3, {"metric": "\x1b"}, {"metric": []}]
    odd["prioritize"]["bestNodes"][0]["estimate"] = {"cpu": {"reading": "x", "ageSeconds": 1e300}}
    odd["prioritize"]["bestNodes"][0]["hotValue"] = 1e300
    odd["filter"]["rejectedNodes"] = [1, {"node": "node-1"}, {"node": "node-2", "metric": 1}]
    tell(cluster, [odd])
    path = write(tmp_path / "policy.yaml", STRICT)
    shown = plimsoll("simulate", "-f", path, "-owide", status=1)
    assert "shop/web-0 on node-1: rank " in shown and "\x1b" not in shown
    for answer in (
        {},
        {"decisions": 3},
        {"decisions": [3, {"namespace": "../x", "name": "y"}]},
        "{",
    ):
        cluster.objects.update({name: answer for name in page()})
        assert "placements: none are known" in plimsoll("simulate", "-f", path, status=1)


def test_record_keeps_the_old_file_when_it_fails(cluster, plimsoll, tmp_path):
    plimsoll("record", "record.json")
    before = (tmp_path / "record.json").read_text()
    cluster.objects[POLICY_PATH] = 500
    plimsoll("record", "record.json", "--request-timeout=1s", status=2)
    assert (tmp_path / "record.json").read_text() == before
    cluster.objects[POLICY_PATH] = 404
    assert "cannot write beside it" in plimsoll("record", "none/record.json", status=2)
    os.mkdir(tmp_path / "folder")
    assert "folder: cannot write" in plimsoll("record", "folder", status=2)
    assert sorted(os.listdir(tmp_path)) == ["folder", "record.json"]


def test_the_page(cluster, tmp_path):
    """Its commands run, and print the picture."""
    write(tmp_path / "policy.yaml", STRICT)
    flags = f"-s {cluster.url} || test $? = 1"
    shown = run_commands(block("docs/kubectl-plugin.md", "simulate"), flags, cwd=tmp_path)
    assert shown.startswith(block("docs/kubectl-plugin.md", "simulate-picture")), shown


def test_progress_on_a_terminal(binary, cluster, tmp_path):
    path = write(tmp_path / "policy.yaml", STRICT)
    for number in range(len(LOADS), 200):
        cluster.nodes().append(copy.deepcopy(cluster.nodes()[0]))
        cluster.nodes()[number]["metadata"]["name"] = f"node-{number}"
    argv = [binary("kubectl-plimsoll"), "simulate", "-f", path, f"-s={cluster.url}"]
    with open(tmp_path / "out", "w+", encoding="utf-8") as out:
        said = on_terminal(argv, stream="stderr", status=1, stdout=out)
    assert all(f"nodes: {count}" in said for count in (100, 200)) and "nodes: 101" not in said
    assert "decisions: 4" in said and said.endswith("\r\x1b[K")
    assert "decisions: 4" not in (tmp_path / "out").read_text()


@pytest.mark.parametrize("scoring", ["absolute", "estimate"])
def test_what_a_real_extender_has_kept(
    cluster, plimsoll, start_standin, start_extender, tmp_path, scoring
):
    """Its answers to calls, minutes ago, by the readings of then."""
    names = [f"node-{number}" for number in range(3)]
    standin = start_standin()
    standin.admin("nodes", {"names": names, "cpus": 8, "memory_gib": 32})
    for name, cpu in zip(names, (0.3, 0.5, 0.9)):
        annotate(standin, name, cpu)
    content = policy(limits={CPU: 0.8}, weights={CPU: 1}, scoring=scoring)
    extender = start_extender(standin, content=content)
    extender.wait_ready(r"nodes: 3 nodes")
    pod = copy.deepcopy(POD)
    pod["metadata"].update(name="web-0", namespace="shop", uid="uid-web-0")
    with extender.scheduler() as scheduler:
        passing, _ = scheduler.filter(names, pod)
        scheduler.prioritize(passing, pod)
    cluster.objects[POLICY_PATH] = {**content, "metadata": {"name": "default"}}
    for name in EXTENDERS:
        for query in ("", "?pod=shop/web-0"):
            answer = json.loads(extender.page(f"/decisions{query}").text)
            cluster.objects[f"{PODS}/{name}:8010/proxy/decisions{query}"] = answer
    strict = write(
        tmp_path / "strict", policy(limits={CPU: 0.4}, weights={CPU: 1}, scoring=scoring)
    )
    shown = json.loads(plimsoll("simulate", "-f", strict, "-ojson", status=1))
    (row,) = shown["placements"]["items"]
    del row["at"]
    # By now node-0, ..., have other loads.
    assert row == {
        "namespace": "shop",
        "pod": "web-0",
        "node": "node-1",
        "bound": True,
        "candidates": 3,
        "rankBefore": 2,
        "rankAfter": None,
        "sameFirst": True,
    }
