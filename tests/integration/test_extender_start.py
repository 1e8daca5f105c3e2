"""How plimsoll-extender starts, and what it counts and logs of the requests that it answers."""

import time

import pytest

from extender_kit import AGENT, POD, Connection, annotate, go_json, policy
from harness import wait_until
from policies import CPU, node_names, write_policy
from programs import complete, table

NODES = node_names(4)
POLICIES = "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies"


@pytest.fixture
def cluster(start_standin):
    standin = start_standin("--nodes", len(NODES))
    annotate(standin, NODES[0], 0.1)
    annotate(standin, NODES[1], 0.7)
    return standin


LISTED_LATE_S = 2


def test_it_is_ready_when_it_knows_policy_and_pods(cluster, start_extender):
    """A scheduler that is sent to it gets no answer by the built-in policy, nor one without pods."""
    cluster.add_pods(3, nodes=[NODES[0]])
    own = policy(limits={CPU: 0.6}, scoring="estimate")
    own["metadata"] = {"name": "default"}
    assert cluster.call("POST", POLICIES, own).status == 201
    for resource in ("dynamicschedulerpolicies", "pods"):
        cluster.fault("delay", verb="list", resource=resource, seconds=LISTED_LATE_S)
    extender = start_extender(cluster)

    def says(*lines):
        return all(line in extender.ready()[1] for line in lines)

    nodes = "[+] nodes: 4 nodes"
    for waiting in ("[-] policy: DynamicSchedulerPolicy default is not known yet", "[-] pods: "):
        wait_until(lambda w=waiting: says(nodes, w), what=waiting, poll_s=0.01)
    wait_until(lambda: extender.ready()[0], what="readiness", poll_s=0.01)
    assert "[+] pods: 3 pods\n" in extender.ready()[1]
    with extender.scheduler() as scheduler:
        assert list(scheduler.filter(NODES)[1]) == [NODES[1]]


@pytest.mark.parametrize("has_object", [True, False])
def test_it_rejects_nothing_before_it_knows_the_policy(cluster, start_extender, has_object):
    """A scheduler next to it calls at once. The built-in limits need not be the cluster's, which may
    have an object, or none."""
    annotate(cluster, NODES[2], 0.9)  # above the built-in limit
    own = policy(limits={CPU: 0.95})
    own["metadata"] = {"name": "default"}
    if has_object:
        assert cluster.call("POST", POLICIES, own).status == 201
    cluster.fault("delay", verb="list", resource="dynamicschedulerpolicies", seconds=LISTED_LATE_S)
    extender = start_extender(cluster)
    wait_until(lambda: "[+] nodes: 4 nodes" in extender.ready()[1], what="the nodes", poll_s=0.01)
    with extender.scheduler() as scheduler:
        assert scheduler.filter(NODES) == (NODES, {})
        assert set(scheduler.prioritize(NODES).values()) <= {0}
        assert "[-] policy: " in extender.ready()[1], "it was asked in time"
        wait_until(lambda: extender.ready()[0], what="readiness", poll_s=0.01)
        assert list(scheduler.filter(NODES)[1]) == ([] if has_object else [NODES[2]])


def test_what_it_counts(cluster, start_extender):
    extender = start_extender(cluster, content=policy())
    extender.wait_live()
    assert extender.metric("plimsoll_extender_last_call_timestamp_seconds") == 0
    began = time.time()
    names = [*NODES, "not-seen-yet", NODES[0]]
    owners = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "x"}]
    with extender.scheduler() as scheduler:
        assert list(scheduler.filter(names)[1]) == [NODES[1]]
        scheduler.prioritize(names)
        scheduler.filter(NODES, pod={**POD, "metadata": {"ownerReferences": owners}})
    with Connection(extender.port) as connection:
        assert connection.call("/filter", go_json({"nodenames": NODES[2:]})).status == 200
        for path in ("/prioritize", "/prioritize", "/filter"):
            assert connection.call(path, b"{").status == 400
        assert connection.call("/filter", go_json({"NodeNames": []})).status == 200

    def requests(verb, code):
        return extender.metric("plimsoll_extender_requests_total", verb=verb, code=code)

    assert began <= extender.metric("plimsoll_extender_last_call_timestamp_seconds") <= time.time()
    assert (requests("filter", 200), requests("filter", 400)) == (4, 1)
    assert (requests("prioritize", 200), requests("prioritize", 400)) == (1, 2)
    verdicts = "plimsoll_extender_verdicts_total"
    assert extender.metric(verdicts, predicate=CPU) == 1
    assert extender.metric(verdicts, predicate="none") == 4 + 4 + 2
    assert extender.metric("plimsoll_extender_unknown_nodes_total") == 2
    assert extender.metric("plimsoll_extender_duplicate_nodes_total") == 2
    assert extender.metric("plimsoll_extender_daemonset_pods_total") == 1
    # At most one line a minute, however refused and accepted requests alternate.
    assert len(extender.log_lines("request refused")) == 1


@pytest.fixture(scope="module")
def kubeconfig(module_start_standin):
    return module_start_standin().kubeconfig


@pytest.mark.parametrize(
    "flags, complaint", [row[1:] for row in table("wrong-flags.tsv") if row[0] == AGENT]
)
def test_wrong_configurations(run, binary, kubeconfig, tmp_path, monkeypatch, flags, complaint):
    monkeypatch.chdir(tmp_path)
    write_policy("bad.yaml", policy(limits={CPU: -1}))
    process = run([binary(AGENT), f"--kubeconfig={kubeconfig}", "--port=0", *flags.split()])
    assert process.wait_exit() == 2
    assert complaint in process.stderr()


@pytest.mark.parametrize("address, is_open", [("0.0.0.0", True), ("::1", False), ("", False)])
def test_everybody_may_bind(address, is_open):
    flags = ("--bind", *([f"--bind-address={address}"] if address else ()), "--check-config")
    said = complete(AGENT, *flags).stderr
    assert (
        "every client that reaches this port can bind pods; set --client-ca-file" in said
    ) == is_open


def test_port_in_use(run, start_extender, kubeconfig):
    first = start_extender(kubeconfig)
    second = run([*first.process.argv, f"--port={first.port}"])
    assert second.wait_exit() == 1
    assert "in use" in second.stderr()
    pages = ("--port=0", "--health-bind-address=127.0.0.1", f"--health-port={first.port}")
    third = run([*first.process.argv, *pages])
    assert third.wait_exit() == 1
    assert "--health-port: " in third.stderr()
