"""plimsoll-extender against the API server stand-in: what the scheduler gets, and when."""

import datetime
import http.client
import json
import os
import signal
import threading
import time

import pytest

from harness import Pages, fetch, wait_until

POLICY = """
apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy:
  - {name: cpu_usage_avg_5m, period: 3m}
  predicate:
  - {name: cpu_usage_avg_5m, maxLimitPecent: %s}
  priority:
  - {name: cpu_usage_avg_5m, weight: 1}
  hotValue:
  - {timeRange: 5m, count: 2}
"""
NODES = [f"node-{i:04d}" for i in range(4)]


def now(offset_s=0):
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=offset_s)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Extender(Pages):
    """A running extender, asked as kube-scheduler asks."""

    def __init__(self, process, port, policy_path):
        self.process, self.port, self.policy_path = process, port, policy_path
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, verb, names, **more):
        body = {"Pod": {"metadata": {"name": "p"}}, "Nodes": None, "NodeNames": names, **more}
        answer = fetch(f"{self.url}/v1/{verb}", "POST", json.dumps(body).encode())
        assert answer.status == 200, answer.text
        return answer.json()

    def passing(self, names=None, **more):
        return self.ask("filter", names or NODES, **more)["NodeNames"]

    def scores(self, names=None):
        rows = self.ask("prioritize", names or NODES)
        assert all(isinstance(row["Score"], int) and 0 <= row["Score"] <= 10 for row in rows)
        assert len({row["Host"] for row in rows}) == len(rows)
        return {row["Host"]: row["Score"] for row in rows}

    def wait_ready(self):
        wait_until(lambda: self.page("/readyz").status == 200, what="readiness")


@pytest.fixture
def start_extender(run, binary, tmp_path):
    def start(standin, *flags, limit="0.65", build="build"):
        path = tmp_path / "policy.yaml"
        path.write_text(POLICY % limit)
        process = run(
            [
                binary("plimsoll-extender", build),
                f"--policy-config-path={path}",
                f"--kubeconfig={standin.kubeconfig}",
                "--port=0",
                *flags,
            ]
        )
        return Extender(process, process.wait_port(), path)

    return start


def annotate(standin, node, usage, at=None, **more):
    values = {"cpu_usage_avg_5m": f"{usage:.5f},{at or now()}", **more}
    answer = standin.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": values}})
    assert answer.status == 200, answer.text


@pytest.fixture
def cluster(start_standin):
    standin = start_standin("--nodes", len(NODES))
    for node, usage in zip(NODES, (0.1, 0.5, 0.7)):
        annotate(standin, node, usage)
    return standin


def test_filter_and_prioritize(cluster, start_extender):
    extender = start_extender(cluster, "--compact-scores=false")
    extender.wait_ready()
    names = [*NODES, "not-seen-yet", NODES[0]]
    assert extender.ask("filter", names) == {
        "Nodes": None,
        "NodeNames": [NODES[0], NODES[1], NODES[3], "not-seen-yet"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {NODES[2]: "cpu_usage_avg_5m above 0.65"},
        "Error": "",
    }
    assert extender.scores(names) == dict(zip([*NODES, "not-seen-yet"], (9, 5, 3, 0, 0)))
    owner = {"metadata": {"ownerReferences": [{"kind": "DaemonSet"}]}}
    assert extender.passing(Pod=owner) == NODES
    assert extender.metric("plimsoll_extender_verdicts_total", predicate="cpu_usage_avg_5m") == 1
    assert extender.metric("plimsoll_extender_unknown_nodes_total") == 2
    assert extender.metric("plimsoll_extender_requests_total", verb="filter", code="200") == 2


def test_whole_nodes(cluster, start_extender):
    extender = start_extender(cluster)
    extender.wait_ready()
    items = cluster.get("/api/v1/nodes")["items"]
    reply = extender.ask("filter", None, Nodes={"metadata": {}, "items": items})
    assert reply["NodeNames"] is None
    assert reply["Nodes"]["items"] == [items[0], items[1], items[3]]
    assert list(reply["FailedAndUnresolvableNodes"]) == [NODES[2]]


def test_compact_scores_rank_the_same(cluster, start_extender):
    full = start_extender(cluster, "--compact-scores=false")
    compact = start_extender(cluster)
    for extender in (full, compact):
        extender.wait_ready()
    wanted = full.scores(NODES[:3])
    least = min(wanted.values())
    assert compact.scores(NODES[:3]) == {n: s - least for n, s in wanted.items() if s > least}


def test_paths_methods_and_bad_requests(cluster, start_extender):
    extender = start_extender(cluster)
    extender.wait_ready()
    body = json.dumps({"NodeNames": NODES[:1]}).encode()
    for path in ("/filter", "//filter", "/any/prefix/filter/", "/v1?x=1/filter"):
        status = fetch(extender.url + path, "POST", body).status
        assert status == (404 if "?" in path else 200), path
    for method, path, wanted, sent in (
        ("GET", "/filter", 405, None),
        ("POST", "/bind", 404, body),
        ("GET", "/", 404, None),
        ("POST", "/filter", 400, b'{"NodeNames":["a"'),
        ("POST", "/prioritize", 400, b'{"NodeNames":7}'),
    ):
        answer = fetch(extender.url + path, method, sent)
        assert (answer.status, answer.body) == (wanted, b""), path
    extender.process.wait_log("request refused")
    # one connection for all of it, errors included
    connection = http.client.HTTPConnection("127.0.0.1", extender.port, timeout=10)
    connection.connect()
    own_port = connection.sock.getsockname()[1]
    for sent in (body, b"{", body, b"[]", body):
        connection.request("POST", "/v1/filter", sent)
        connection.getresponse().read()
        assert connection.sock is not None and connection.sock.getsockname()[1] == own_port
    connection.close()


def test_everything_passes_before_the_first_list(start_standin, start_extender):
    standin = start_standin("--nodes", len(NODES))
    annotate(standin, NODES[0], 0.99)
    standin.fault("status", verb="list", resource="nodes", status=403, count=-1)
    extender = start_extender(standin)
    wait_until(lambda: "403" in extender.page("/readyz?verbose").text, what="the reason")
    assert extender.page("/readyz").status == 503
    assert extender.page("/livez").status == 200
    assert extender.passing() == NODES
    assert extender.scores() == {}
    standin.clear_faults()
    wait_until(lambda: extender.page("/readyz").status == 200, 60, what="readiness")
    assert extender.passing() == NODES[1:]


def test_changes_of_nodes_arrive(cluster, start_extender):
    extender = start_extender(cluster)
    extender.wait_ready()
    assert NODES[0] in extender.passing()
    annotate(cluster, NODES[0], 0.9)
    wait_until(lambda: NODES[0] not in extender.passing(), what="the rejection")
    annotate(cluster, NODES[0], 0.9, at=now(-3600))
    wait_until(lambda: NODES[0] in extender.passing(), what="the stale value to be ignored")
    annotate(cluster, NODES[0], 0.9)
    wait_until(lambda: NODES[0] not in extender.passing(), what="the rejection")
    cluster.admin("delete", {"resource": "nodes", "names": [NODES[0]]})
    wait_until(lambda: NODES[0] in extender.passing(), what="the deleted node to pass")
    wait_until(
        lambda: extender.metric("plimsoll_extender_table_nodes") == 3, what="the table to shrink"
    )


def test_a_burst_is_seen_at_once(cluster, start_extender):
    extender = start_extender(cluster)
    extender.wait_ready()
    wait_until(lambda: "counted from our own" in extender.page("/readyz?verbose").text, what="it")
    assert extender.scores(NODES[:2]) == {NODES[0]: 4}
    cluster.add_pods(4, nodes=[NODES[0]])
    wait_until(lambda: extender.scores(NODES[:2]) == {NODES[0]: 2}, what="two points off")


def test_bindings_from_before_the_start_count(cluster, start_extender):
    cluster.add_pods(4, nodes=[NODES[0]], phase="Running")
    extender = start_extender(cluster)
    wait_until(lambda: extender.scores(NODES[:2]) == {NODES[0]: 2}, what="two points off")


def test_the_annotation_stands_in_for_a_lost_pod_watch(cluster, start_extender):
    cluster.fault("status", resource="pods", status=403, count=-1)
    annotate(cluster, NODES[0], 0.1, node_hot_value=f"3,{now()}")
    extender = start_extender(cluster)
    extender.wait_ready()
    assert "node_hot_value annotations are used" in extender.page("/readyz?verbose").text
    assert extender.scores(NODES[:2]) == {NODES[0]: 1}


def test_policy_reload(cluster, start_extender):
    extender = start_extender(cluster)
    extender.wait_ready()
    assert NODES[1] in extender.passing()

    extender.policy_path.write_text(POLICY % "0.4")
    wait_until(lambda: NODES[1] not in extender.passing(), what="the new limit")
    assert extender.metric("plimsoll_policy_generation") == 2

    extender.policy_path.write_text(POLICY % "nonsense")
    wait_until(lambda: extender.metric("plimsoll_policy_failed") == 1, what="the error")
    assert NODES[1] not in extender.passing()
    ready = extender.page("/readyz?verbose")
    assert ready.status == 200
    assert "maxLimitPecent" in ready.text
    os.kill(extender.process.pid, signal.SIGHUP)
    wait_until(lambda: extender.metric("plimsoll_policy_errors_total") >= 2, what="SIGHUP")

    # as a ConfigMap mount swaps: a new directory behind a symbolic link
    target = extender.policy_path.parent / "data"
    target.mkdir()
    (target / "policy.yaml").write_text(POLICY % "0.65")
    link = extender.policy_path.parent / "link"
    link.symlink_to(target / "policy.yaml")
    os.replace(link, extender.policy_path)
    wait_until(lambda: NODES[1] in extender.passing(), what="the limit behind the link")
    assert extender.metric("plimsoll_policy_failed") == 0


def test_start_with_a_bad_configuration(run, binary, tmp_path, cluster):
    bad = tmp_path / "bad.yaml"
    bad.write_text(POLICY % "-1")
    for flags, wanted in (
        ([f"--policy-config-path={bad}"], "spec.predicate[0]"),
        ([f"--policy-config-path={tmp_path}/none.yaml"], "none.yaml"),
        ([f"--kubeconfig={tmp_path}/none"], "none"),
        (["--annotation-timezone=Nowhere/Town"], "annotation-timezone"),
        (["--prot=1"], "--port"),
        (["serve"], "explain"),
        ([f"--tls-cert-file={bad}", f"--tls-private-key-file={bad}"], f"key {bad}"),
        (["--client-ca-file=ca.crt"], "certificate"),
        (["--bind-address=here"], "here"),
    ):
        flags = [f"--kubeconfig={cluster.kubeconfig}", *flags]
        process = run([binary("plimsoll-extender"), *flags, "--port=0"])
        assert process.wait_exit() == 2, flags
        assert wanted in process.text(), process.text()
    first = run([binary("plimsoll-extender"), f"--kubeconfig={cluster.kubeconfig}", "--port=0"])
    port = first.wait_port()
    second = run([*first.argv[:-1], f"--port={port}"])
    assert second.wait_exit() == 1
    assert "in use" in second.text()
    check = run([binary("plimsoll-extender"), "--check-config", f"--policy-config-path={bad}"])
    assert check.wait_exit() == 2
    check = run([binary("plimsoll-extender"), "--check-config"])
    assert check.wait_exit() == 0
    assert "maxLimitPecent: 0.65" in check.stdout()


class Client(threading.Thread):
    """A scheduler that asks without a pause; every answer is looked at."""

    def __init__(self, port, names, is_over):
        super().__init__()
        self.port, self.names, self.is_over = port, names, is_over
        self.problems, self.durations_s = [], []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        body = json.dumps({"Pod": {}, "Nodes": None, "NodeNames": self.names}).encode()
        wanted = set(self.names)
        while not self.is_over.is_set():
            for verb in ("filter", "prioritize"):
                began = time.monotonic()
                try:
                    connection.request("POST", f"/{verb}", body)
                    answer = connection.getresponse()
                    data = answer.read()
                except OSError as error:
                    self.problems.append(repr(error))
                    return
                self.durations_s.append(time.monotonic() - began)
                if answer.status != 200:
                    self.problems.append(f"{verb}: {answer.status}")
                    continue
                reply = json.loads(data)
                if verb == "filter":
                    named = [*reply["NodeNames"], *reply["FailedAndUnresolvableNodes"]]
                    if len(named) != len(wanted) or set(named) != wanted:
                        self.problems.append("filter: nodes got lost or doubled")
                elif not all(0 < row["Score"] <= 10 for row in reply):
                    self.problems.append("prioritize: odd scores")
        connection.close()


@pytest.mark.parametrize("build", ["build", "tsan"])
def test_clients_while_the_table_changes(start_standin, start_extender, build):
    standin = start_standin("--nodes", 500, "--images", 0)
    extender = start_extender(standin, "--threads=4", build=build)
    extender.wait_ready()
    names = [f"node-{i:04d}" for i in range(500)]
    is_over = threading.Event()
    clients = [Client(extender.port, names, is_over) for _ in range(8)]
    job = standin.admin("mutate", {"per_second": 1000, "seconds": 4})
    for client in clients:
        client.start()
    row = standin.wait_job(job, 120)
    # policies change as well
    extender.policy_path.write_text(POLICY % "0.4")
    wait_until(lambda: extender.metric("plimsoll_policy_generation") == 2, what="the policy")
    is_over.set()
    for client in clients:
        client.join()
    assert not [problem for client in clients for problem in client.problems]
    durations_s = sorted(d for client in clients for d in client.durations_s)
    publications = extender.metric("plimsoll_extender_table_publications_total")
    assert 10 < publications <= 100 * (row["took_s"] + 30)
    print(
        f"{build}: {len(durations_s)} requests, {row['done'] / row['took_s']:.0f} changes/s, "
        f"{publications:.0f} publications, "
        f"p99 {durations_s[len(durations_s) * 99 // 100] * 1e3:.1f} ms with Python clients"
    )
    assert extender.process.stop() == 0
