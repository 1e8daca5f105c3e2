"""The status page of plimsoll-controller: what / and /status.json answer, to whom, and what they cost."""

import base64
import hashlib
import re

import pytest

from controller_kit import policy
from harness import fetch, wait_until
from pages import TOP
from policies import write_policy
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
    """controller/README.md explains what there is, and nothing else."""
    page = (TOP / "controller" / "README.md").read_text("utf-8")
    section = page.partition("\n### /status.json\n")[2].partition("\n## ")[0]
    found = members(sample(200, hostile=True))
    assert found <= set(re.findall(r"`(\w+)`", section))
    rows = re.findall(r"^\| (`.*?) \| ", section, re.M)
    explained = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    # The sample's nodes are in no pool, and it has no pods.
    assert explained - found == {"pool", "pods"}


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
