"""The status page of plimsoll-controller: what / and /status.json answer, to whom, and what they cost."""

import base64
import hashlib
import re

import pytest

from controller_kit import policy
from harness import fetch, wait_until
from pages import TOP
from policies import node_names, write_policy
from programs import complete
from status_sample import sample

HOSTILE = '</script><img src=x onerror="alert(1)">'
LIMITS = policy(predicate={"cpu_usage_avg_5m": 0.6}, priority={"mem_usage_avg_5m": 1})
PAGE_MAX_BYTES = 80_000


@pytest.fixture
def fleet(start_standin, exporters, start_controller, tmp_path):
    """A controller of a calm node, a hot one and one that cannot be scraped."""
    standin = start_standin()
    standin.add_nodes(2, labels={"topology.kubernetes.io/zone": "b", "x": HOSTILE})
    standin.add_nodes(None, names=["dead"], first_address="127.9.0.1")
    exporters.set(["127.1.0.1"], load={"cpu": 0.25, "mem": 0.5})
    exporters.set(["127.1.0.2"], load={"cpu": 0.9, "mem": 0.125})
    exporters.trouble(["127.9.0.1"], "close")
    path = write_policy(tmp_path / "policy", LIMITS)
    controller = start_controller(standin, exporters, content=path)
    controller.policy_path = path
    return controller


@pytest.fixture
def bare(standin, exporters, start_controller):
    """A controller of no node."""
    return start_controller(standin, exporters)


def status(controller):
    answer = controller.page("/status.json")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json()


def settled(controller):
    """The status once both nodes have readings and the third has failed."""

    def look():
        now = status(controller)
        by_verdict = now["verdicts"]
        return (
            now if by_verdict == {"passes": 1, "rejected": 1, "closed": 0, "unknown": 1} else None
        )

    return wait_until(look, what="verdicts of all three nodes")


def test_what_is_shown(fleet):
    now = settled(fleet)
    nodes = {row["name"]: row for row in now["nodes"]}
    calm, hot, dead = (nodes[name] for name in (*node_names(2), "dead"))
    assert calm["usage"] == pytest.approx([0.25, 0.5], abs=0.03)
    assert calm["limitShare"] == pytest.approx(0.25 / 0.6, abs=0.05)
    assert calm["score100"] == pytest.approx(50, abs=3)
    assert calm["source"] == "node-exporter" and calm["ageSeconds"] < 30
    assert hot["reason"] == "cpu_usage_avg_5m above 0.6" and hot["limitShare"] > 1.4
    assert calm["labels"]["x"] == HOSTILE
    assert "usage" in dead and dead["usage"] == [None, None]
    assert dead["missing"].keys() == {"cpu_usage_avg_5m", "mem_usage_avg_5m"}
    (failure,) = now["failures"]
    assert failure["nodes"] == 1 and failure["examples"] == ["dead"]
    assert failure["reason"] == dead["reason"]
    (source,) = now["sources"]
    assert (source["nodesServed"], source["nodesFailing"]) == (2, 1)
    assert now["role"] == "writer" and now["ready"] and now["nodeCount"] == 3
    assert any(line.startswith("[+] policy: ") for line in now["checks"])
    # The flags that it names exist.
    said = complete("plimsoll-controller", "--help").stdout
    named = set(re.findall(r"--[a-z-]+", failure["see"]))
    assert len(named) == 2 and not [flag for flag in named if f" {flag}" not in said]


def test_pools_of_another_policy(start_standin, exporters, start_controller, tmp_path):
    """Nodes are listed again; until they have been, the policy before judges."""
    standin, cpu = start_standin(), "cpu_usage_avg_5m"
    labels = {f"label-{i}": "x" * 60 for i in range(20)}  # more than the page shows
    standin.add_nodes(1, labels={**labels, "pool": "batch"})
    standin.add_nodes(2, start=1)
    exporters.set([f"127.1.0.{i}" for i in (1, 2, 3)], load={"cpu": 0.3, "mem": 0.5})
    path = tmp_path / "policy"
    write_policy(path, LIMITS)
    controller = start_controller(standin, exporters, content=str(path))

    def verdicts():
        return {row["name"]: row["verdict"] for row in status(controller)["nodes"]}

    wait_until(lambda: list(verdicts().values()) == ["passes"] * 3, what="readings of all")
    standin.fault("status", verb="list", resource="nodes", status=503, count=-1)
    pools = policy(predicate={cpu: 0.1})
    predicate = [{"name": cpu, "maxLimitPecent": 0.9}]
    pools["spec"]["pools"] = [{"nodeSelector": {"pool": "batch"}, "predicate": predicate}]
    write_policy(path, pools)
    controller.process.wait_log("listing nodes again")
    standin.admin("delete", {"resource": "nodes", "names": ["node-0002"]})
    scraped = len(exporters.scrapes("127.1.0.1"))
    while len(exporters.scrapes("127.1.0.1")) < scraped + 3:
        assert set(verdicts().values()) == {"passes"}
    ready, text = controller.ready()
    assert ready and "503" in text
    standin.clear_faults()
    wanted = {"node-0000": "passes", "node-0001": "rejected"}
    wait_until(lambda: verdicts() == wanted, what="verdicts by the pools")
    assert "pools:" in status(controller)["policy"]["yaml"]


def shape(value):
    """The members of objects, and what they are, of the first of each array that has one."""
    if isinstance(value, dict):
        return {key: shape(member) for key, member in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value and isinstance(value[0], dict) else list
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


def test_the_sample_is_true(fleet):
    """What the page's looks are tested with has the members that the program writes."""
    real, made = settled(fleet), sample(200)
    for status_ in (real, made):
        rows = {row["verdict"]: row for row in status_.pop("nodes")}
        # These depend on the cluster and on the policy.
        for row in rows.values():
            for key in ("labels", "hot", "taintLevel", "idle"):
                row.pop(key, None)
        status_["rows"] = rows
        for row in rows.values():
            row["missing"] = set(row.get("missing", {}))
        status_["policy"]["metrics"] = {
            bool(metric.get("limit")): metric for metric in status_["policy"]["metrics"]
        }
    assert shape(real) == shape(made)


def members(value):
    """The names of all members at any depth, except for those that the cluster makes up."""
    if isinstance(value, list):
        return set().union(*map(members, value))
    if not isinstance(value, dict):
        return set()
    free = {"labels", "missing", "nodeSelector", "verdicts"}
    return set(value).union(*(members(part) for key, part in value.items() if key not in free))


def test_every_member_is_documented():
    """docs/http-api.md explains what there is, and nothing else."""
    page = (TOP / "docs" / "http-api.md").read_text("utf-8")
    section = page.partition("\n## /status.json\n")[2].partition("\n## ")[0]
    found = members(sample(200, hostile=True))
    assert found <= set(re.findall(r"`(\w+)`", section))
    rows = re.findall(r"^\| (`.*?) \| ", section, re.M)
    explained = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    # The sample's nodes are in no pool.
    assert explained - found == {"pool"}


def test_a_new_policy_is_shown(fleet):
    settled(fleet)
    changed = policy(predicate={"cpu_usage_avg_5m": 0.95})
    changed["spec"]["oddity"] = 1
    write_policy(fleet.policy_path, changed)
    now = wait_until(
        lambda: (s := status(fleet))["verdicts"]["rejected"] == 0 and s, what="the other limit"
    )
    assert now["policy"]["metrics"][0]["limit"] == 0.95
    assert now["policy"]["warningCount"] == 1 and "oddity" in now["policy"]["warnings"][0]
    assert "maxLimitPecent: 0.95" in now["policy"]["yaml"]


def allowed(headers):
    """{directive: sources} of the Content-Security-Policy."""
    parts = headers["Content-Security-Policy"].split("; ")
    return {part.split()[0]: part.split()[1:] for part in parts}


def test_the_page_is_one_document(bare):
    answer = bare.page("/")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert len(answer.body) <= PAGE_MAX_BYTES
    policies = allowed(answer.headers)
    for element, directive in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>", answer.text, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policies[directive] == [f"'sha256-{digest}'"]
    assert policies["default-src"] == ["'none'"] and policies["frame-ancestors"] == ["'none'"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    # Nothing from elsewhere, and nothing that is set other than as text.
    html = re.sub(r"http://www\.w3\.org/2000/svg", "", answer.text)
    assert not re.findall(r"https?://|src=|@import|url\(", html.replace("link rel", ""))
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", html)
    assert not re.findall(r"<[^>]*\s(?:on\w+|style)=", html.partition("<script>")[0])


@pytest.mark.parametrize("path", ["/", "/status.json"])
def test_read_only(bare, path):
    url = bare.url + path
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        answer = fetch(url, method)
        assert (answer.status, answer.body) == (405, b""), method
    head = fetch(url, "HEAD")
    assert head.status == 200 and head.body == b""
    assert int(head.headers["Content-Length"]) > 500
    assert head.headers["X-Content-Type-Options"] == "nosniff"
    for other in ("/status.json/", "/status", "//", "/index.html"):
        assert bare.page(other).status == 404


def test_switched_off(start_standin, exporters, start_controller):
    standin = start_standin("--nodes", 1)
    controller = start_controller(standin, exporters, "--status-page=false")
    controller.wait_ready()
    assert controller.page("/").status == 404
    assert controller.page("/status.json").status == 404
    assert controller.page("/metrics").status == 200
