"""The series of each node on the controller's /metrics page; and /api/v1/query: what the descheduler and
Grafana send, and what they are answered."""

import re
import time
import urllib.parse

import pytest

from controller_kit import policy
from harness import fetch, wait_until
from policies import write_policy
from programs import complete

CPU, MEM = "cpu_usage_avg_5m", "mem_usage_avg_5m"
LOADS = {"node-0000": {"cpu": 0.2, "mem": 0.4}, "node-0001": {"cpu": 0.7, "mem": 0.1}}
TOLERANCE = 0.03
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
RULES = {
    "metrics": {CPU: "2s", MEM: "2s"},
    "predicate": {CPU: 0.65},
    "priority": {CPU: 1, MEM: 0.5},
    "hot": {"5m": 2},
}


def shown(controller, family):
    """{(node, metric): value}; of what has no such label, None."""
    return {
        (labels.get("node"), labels.get("metric")): value
        for labels, value in controller.metrics().of(f"plimsoll_node_{family}")
    }


@pytest.fixture
def two_nodes(start_exporters, start_standin):
    # Several seconds in one, so that counters of 10 ms are exact enough.
    exporters = start_exporters("--speed", "20")
    for i, load in enumerate(LOADS.values()):
        exporters.set([f"127.1.0.{i + 1}"], load=load)
    return exporters, start_standin("--nodes", 2)


def test_what_is_shown_of_nodes(two_nodes, start_controller, tmp_path):
    exporters, standin = two_nodes
    path = write_policy(tmp_path / "policy.json", policy(**RULES))
    controller = start_controller(standin, exporters, content=path)

    def as_loaded():
        usage = shown(controller, "usage_ratio")
        assert usage.keys() == {(node, metric) for node in LOADS for metric in (CPU, MEM)}
        return all(
            abs(usage[node, f"{resource}_usage_avg_5m"] - load) < TOLERANCE
            for node, loads in LOADS.items()
            for resource, load in loads.items()
        )

    wait_until(as_loaded, what="usage as the exporters have it")
    assert shown(controller, "limit_ratio") == {(None, CPU): 0.65}
    assert shown(controller, "hot_value") == {(node, None): 0 for node in LOADS}
    scores = shown(controller, "score")
    for node, load in LOADS.items():
        free = ((1 - load["cpu"]) + 0.5 * (1 - load["mem"])) / 1.5 * 100
        assert abs(scores[node, None] - free) < 100 * TOLERANCE, scores

    standin.wait_job(standin.add_pods(4, nodes=["node-0001"]))
    wait_until(lambda: shown(controller, "hot_value")["node-0001", None] == 2, what="bindings")

    write_policy(path, policy({MEM: "2s"}))
    both = {(node, MEM) for node in LOADS}
    wait_until(lambda: shown(controller, "usage_ratio").keys() == both, what="the other policy")
    assert not shown(controller, "limit_ratio") and not shown(controller, "score")
    standin.admin("delete", {"resource": "nodes", "names": ["node-0000"]})
    wait_until(
        lambda: shown(controller, "usage_ratio").keys() == {("node-0001", MEM)}, what="one to go"
    )


# -- queries -------------------------------------------------------------------------------------


def query_url(controller, **parameters):
    return f"{controller.url}/api/v1/query?{urllib.parse.urlencode(parameters)}"


def get(controller, **parameters):
    return fetch(query_url(controller, **parameters))


def post(controller, **parameters):
    """As Go's client of Prometheus does, which the descheduler and Grafana use."""
    body = urllib.parse.urlencode(parameters).encode()
    return fetch(f"{controller.url}/api/v1/query", "POST", body, FORM)


def samples(answer):
    """{node: value} of a vector."""
    assert answer.status == 200, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    content = answer.json()
    assert content["status"] == "success" and content["data"]["resultType"] == "vector"
    found = {}
    for row in content["data"]["result"]:
        at_unix, value = row["value"]
        assert row["metric"].keys() == {"__name__", "instance"}
        assert isinstance(value, str) and abs(at_unix - time.time()) < 300
        found[row["metric"]["instance"]] = float(value)
    return found


def test_what_is_answered(two_nodes, start_controller, tmp_path):
    exporters, standin = two_nodes
    standin.add_nodes(None, names=["dead"], first_address="127.9.0.1")
    exporters.trouble(["127.9.0.1"], "close")
    path = write_policy(tmp_path / "policy.json", policy())
    controller = start_controller(standin, exporters, "--node-series=false", content=path)

    def settled():
        answer = post(controller, query=CPU, time=f"{time.time():.3f}")
        if answer.status == 503:
            said = answer.json()
            assert (said["status"], said["errorType"]) == ("error", "unavailable")
            return False
        usage = samples(answer)
        return usage.keys() == LOADS.keys() and all(
            abs(usage[node] - load["cpu"]) < 0.03 for node, load in LOADS.items()
        )

    wait_until(settled, what="usage as the exporters have it, and nothing of the node without one")
    memory = samples(get(controller, query=MEM))
    for node, load in LOADS.items():
        assert abs(memory[node] - load["mem"]) < 0.03
    # Grafana's Save & test asks this, of a time in 1970.
    check = post(controller, query="1+1", time="4")
    assert check.json()["data"] == {
        "resultType": "scalar",
        "result": [pytest.approx(time.time(), abs=60), "2"],
    }
    head = fetch(query_url(controller, query=CPU), "HEAD")
    assert head.status == 200 and head.body == b"" and int(head.headers["Content-Length"]) > 100
    write_policy(path, policy({MEM: "2s"}))
    wait_until(lambda: get(controller, query=CPU).status == 400, what="the other policy")
    standin.admin("delete", {"resource": "nodes", "names": ["node-0000"]})
    wait_until(lambda: set(samples(get(controller, query=MEM))) == {"node-0001"}, what="one to go")


def promtool(controller, query, status=0):
    return complete("promtool", "query", "instant", controller.url, query, status=status)


def test_the_client_of_prometheus_reads_it(two_nodes, start_controller):
    exporters, standin = two_nodes
    controller = start_controller(standin, exporters)
    lines = wait_until(
        lambda: (said := promtool(controller, CPU, None)).stdout.count("\n") == 2 and said.stdout,
        what="a value of each node",
    )
    series = re.findall(r"^(\w+)\{instance=\"([\w-]+)\"\} => [\d.]+ @\[[\d.]+\]$", lines, re.M)
    assert sorted(series) == [(CPU, node) for node in LOADS]
    refused = promtool(controller, f"avg({CPU})", status=1)
    assert "bad_data: invalid parameter" in refused.stderr
