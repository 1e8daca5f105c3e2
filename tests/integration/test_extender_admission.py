"""--admission: the nodes that new pods prefer are written, by one extender, whatever happens to it."""

import pytest

from extender_kit import annotate, policy
from harness import wait_until
from policies import node_names

NODES = node_names(2)
LIST = "/apis/plimsoll.io/v1alpha1/preferrednodes/default"
# The Lease lasts 15 s.
TAKEN_OVER_S = 5


@pytest.fixture
def standin(start_standin):
    standin = start_standin()
    standin.admin("nodes", {"names": NODES, "cpus": 10, "memory_gib": 100})
    for name, usage in zip(NODES, (0.5, 0.2)):
        annotate(standin, name, usage)
    return standin


@pytest.fixture
def start(start_extender, standin):
    return lambda: start_extender(standin, "--admission", content=policy(scoring="estimate"))


def listed(standin):
    """{node: weight} of the smallest pods."""
    answer = standin.call("GET", LIST)
    if answer.status == 404:
        return {}
    return {node["name"]: node["weight"] for node in answer.json()["classes"][0]["nodes"]}


def test_the_kind_comes_later(start, standin):
    """Until then one line is logged, and writing is tried every 10 s. A list that somebody deletes comes back."""
    standin.fault("status", resource="preferrednodes", verb="patch", status=404, count=2)
    extender = start()
    extender.wait_ready(r"admission: the last write failed: 404")
    wait_until(lambda: listed(standin), 40, "a list")
    assert listed(standin) == {NODES[1]: 100, NODES[0]: 79}, "30% of a node less"
    extender.wait_ready("admission: this replica writes")
    assert len(extender.log_lines("cannot write the preferred nodes")) == 1
    assert len(extender.log_lines("the preferred nodes are written again")) == 1
    assert extender.metric("plimsoll_extender_admission_writes_total", result="failed") == 2
    standin.call("DELETE", LIST)
    wait_until(lambda: listed(standin), 20, "the same list again")
    standin.call("DELETE", LIST)
    standin.add_pods(1, nodes=NODES[:1])
    wait_until(lambda: listed(standin), 5, "a new list for the next pods")


def test_one_writes_and_the_other_takes_over(start, standin):
    first = start()
    wait_until(lambda: listed(standin), what="a list")
    second = start()
    second.wait_ready("admission: .+_[0-9a-f]{16} writes")
    standin.call("DELETE", LIST)
    first.process.stop()
    wait_until(lambda: listed(standin), TAKEN_OVER_S, "the other's list")
    second.wait_ready("admission: this replica writes")
    assert "releasing lease" in first.process.stderr()
