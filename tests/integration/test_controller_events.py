"""The Events of plimsoll-controller: on changes of state, few, and no trouble to anything else."""

import pytest

from api_kit import EVENTS
from controller_kit import policy
from harness import wait_until
from policies import node_names, write_policy

CPU = "cpu_usage_avg_5m"
LOADS = (0.2, 0.7, 0.9)
OVERLOADED, NORMAL = "NodeOverloaded", "NodeLoadNormal"


def limit(ratio, period="2s"):
    """A policy of one limit; the period is the time that a change has to stand for."""
    return policy({CPU: period}, {CPU: ratio})


@pytest.fixture
def cluster(start_exporters, start_standin):
    """Three nodes, of which the last two are above 0.65 and the last above 0.8."""
    exporters = start_exporters("--speed", "20")
    for i, load in enumerate(LOADS):
        exporters.set([f"127.1.0.{i + 1}"], load={"cpu": load})
    return exporters, start_standin("--nodes", len(LOADS))


def events(standin, reason=None):
    """{node: Event} of a reason, or all Events."""
    items = standin.get(EVENTS)["items"]
    if reason is None:
        return items
    return {e["involvedObject"]["name"]: e for e in items if e["reason"] == reason}


def written(standin):
    """How often any was."""
    return standin.count(resource="events", verb="patch")


def told(controller, reason, result):
    return controller.metric("plimsoll_events_total", reason=reason, result=result)


def test_changes_are_told(cluster, start_controller, tmp_path):
    exporters, standin = cluster
    path = write_policy(tmp_path / "policy.json", limit(0.65))
    controller = start_controller(standin, exporters, content=path)
    found = wait_until(
        lambda: len(events(standin, OVERLOADED)) == 2 and events(standin, OVERLOADED),
        what="overload to be told",
    )
    assert set(found) == {"node-0001", "node-0002"} and len(events(standin)) == 2
    event = found["node-0001"]
    metric, value, *rest, ratio = event["message"].split()
    assert (metric, rest, ratio) == (CPU, ["above", "limit"], "0.65")
    assert abs(float(value) - 0.7) < 0.03
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Node",
        "name": "node-0001",
        "uid": "node-0001",
    }
    assert (event["type"], event["count"]) == ("Warning", 1)
    assert event["source"] == {"component": "plimsoll-controller"}
    assert event["firstTimestamp"] == event["lastTimestamp"]

    write_policy(path, limit(0.8))
    found = wait_until(lambda: events(standin, NORMAL), what="the end of overload to be told")
    assert set(found) == {"node-0001"}
    assert found["node-0001"]["message"] == "within every limit of the policy"
    assert found["node-0001"]["type"] == "Normal"

    # Over a limit that ranks it last it is overloaded as well.
    ranked_last = limit(0.65)
    ranked_last["spec"]["predicate"][0]["overLimit"] = "last"
    write_policy(path, ranked_last)
    wait_until(
        lambda: events(standin, OVERLOADED)["node-0001"]["count"] == 2, what="overload to be told"
    )
    # An object for each node and reason. An answer is counted a moment after it is stored.
    assert len(events(standin)) == 3
    wait_until(lambda: told(controller, OVERLOADED, "sent") == 3, what="the answer to be counted")
    assert told(controller, NORMAL, "sent") == 1


@pytest.mark.parametrize("flag", ["--events=false", "--dry-run"])
def test_none_at_all(cluster, start_controller, flag):
    exporters, standin = cluster
    controller = start_controller(standin, exporters, flag, content=limit(0.65))
    gauge = "plimsoll_node_usage_ratio"
    wait_until(lambda: len(controller.metrics().of(gauge)) == len(LOADS), what="windows")
    names = set(node_names(len(LOADS)))
    assert {labels["node"] for labels, _ in controller.metrics().of(gauge)} == names
    assert written(standin) == 0
    assert not controller.metrics().of("plimsoll_events_total")
