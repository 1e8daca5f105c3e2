"""The verb bind: pods really bound, and every way in which the API server may not want that."""

import concurrent.futures
import functools
import random
import signal

import pytest

from extender_kit import AGENT, Connection, annotate, go_json
from extender_kit import policy
from harness import wait_until
from policies import node_names

NODES = node_names(4)
HERE, THERE = NODES[:2]
BINDING = r"/binding$"
SUCCESS = b'{"Error":""}'


def binding(pod, node=HERE, **more):
    """ExtenderBindingArgs for a pod, as it is stored."""
    metadata = pod["metadata"]
    args = {
        "PodName": metadata["name"],
        "PodNamespace": metadata["namespace"],
        "PodUID": metadata["uid"],
        "Node": node,
    }
    return {**args, **more}


class Cluster:
    """A stand-in with nodes, the extender, and what became of pods."""

    def __init__(self, standin, extender):
        self.standin, self.extender = standin, extender

    def pod(self, name="web-0"):
        return self.standin.admin("objects", resource="pods", namespace="default", name=name)

    def pods(self, count, prefix="web-"):
        self.standin.add_pods(count, prefix=prefix)
        return [self.pod(f"{prefix}{i}") for i in range(count)]

    def node_of(self, name="web-0"):
        return self.pod(name)["spec"].get("nodeName")

    def bind(self, args):
        """The reply to one call, on a connection of its own as concurrent binds have."""
        with Connection(self.extender.port) as connection:
            return connection.call("/v1/bind", go_json(args))

    def error(self, args):
        reply = self.bind(args)
        assert reply.status == 200, reply.head
        assert reply.headers["content-type"] == "application/json"
        answer = reply.json()
        assert list(answer) == ["Error"] and isinstance(answer["Error"], str)
        return answer["Error"]

    def results(self):
        return {
            series.partition('"')[2].rstrip('"}'): value
            for series, value in self.extender.metrics().items()
            if series.startswith("plimsoll_binds_total{") and value
        }

    def wait_under_way(self, count):
        wait_until(
            lambda: self.extender.metric("plimsoll_binds_under_way") == count,
            what=f"{count} binds under way",
        )

    def begun(self):
        under_way = self.extender.metric("plimsoll_binds_under_way")
        return under_way + sum(self.results().values())

    def posts(self, **more):
        return self.standin.count(
            verb="create", resource="pods", subresource="binding", user_agent=AGENT, **more
        )


def start_cluster(
    start_standin, start_extender, *flags, standin_flags=(), kubeconfig=None, build="build", **more
):
    standin = start_standin("--nodes", len(NODES), *standin_flags)
    config = kubeconfig(standin) if kubeconfig else standin
    extender = start_extender(config, "--bind", *flags, content=policy(**more), build=build)
    extender.wait_ready(f"nodes: {len(NODES)} nodes")
    return Cluster(standin, extender)


@pytest.fixture
def start(start_standin, start_extender):
    return functools.partial(start_cluster, start_standin, start_extender)


@pytest.fixture
def cluster(start):
    return start()


# -- bound --------------------------------------------------------------------------------------


def test_off_unless_asked_for(start_standin, start_extender):
    extender = start_extender(start_standin("--nodes", 1))
    with Connection(extender.port) as connection:
        for path in ("/bind", "/v1/bind"):
            reply = connection.call(path, go_json({}))
            assert (reply.status, reply.body) == (404, b"")
    assert not any(
        series.startswith(("plimsoll_binds_", "plimsoll_bind_")) or 'verb="bind"' in series
        for series in extender.metrics()
    )


def test_binds(start):
    """On one connection, and counted by the hot value like any binding."""
    cluster = start(hot={"5m": 1})
    cluster.extender.wait_live()
    annotate(cluster.standin, HERE, 0)
    with cluster.extender.scheduler() as scheduler:
        wait_until(lambda: scheduler.prioritize([HERE]) == {HERE: 10}, what="a first score")
        pods = cluster.pods(5)
        for pod in pods:
            reply = scheduler.connection.call("/v1/bind", go_json(binding(pod)))
            assert (reply.status, reply.body) == (200, SUCCESS)
        wait_until(lambda: scheduler.prioritize([HERE]) == {HERE: 5}, what="the hot value")
    assert [cluster.node_of(f"web-{i}") for i in range(5)] == [HERE] * 5
    assert cluster.results() == {"bound": 5}
    assert cluster.posts(code=201) == 5
    assert cluster.extender.metric("plimsoll_bind_duration_seconds_count") == 5
    assert cluster.extender.metric("plimsoll_binds_under_way") == 0
    assert cluster.extender.metric("plimsoll_extender_requests_total", verb="bind") == 5


def test_concurrent_binds(cluster):
    """As the scheduler's binding goroutines do: each with a connection, all at once."""
    pods = cluster.pods(200)
    nodes = {pod["metadata"]["name"]: random.Random(1).choice(NODES) for pod in pods}
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        args = [binding(pod, nodes[pod["metadata"]["name"]]) for pod in pods]
        assert set(pool.map(cluster.error, args)) == {""}
    assert {name: cluster.node_of(name) for name in nodes} == nodes
    assert cluster.results() == {"bound": 200}


# -- refused without asking ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def untouched(module_start_standin, module_start_extender):
    """A cluster with a pod web-0 that nobody binds."""
    cluster = start_cluster(module_start_standin, module_start_extender)
    cluster.pods(1)
    yield cluster
    assert cluster.node_of() is None
    assert cluster.posts() == 0


def test_bad_input(untouched):
    """What else is refused is in the unit test of bind_request_parse()."""
    refused = untouched.results().get("refused", 0)
    args = binding(untouched.pod())
    assert "is not a valid pod name" in untouched.error({**args, "PodName": "../secrets/x"})
    assert untouched.results() == {"refused": refused + 1}
    with Connection(untouched.extender.port) as connection:
        assert connection.call("/v1/bind", b"[]").status == 400
        assert connection.call("/v1/bind", b" " * (1 << 20)).status == 413


# -- what the API server says -------------------------------------------------------------------


def test_conflicts(cluster):
    (pod,) = cluster.pods(1)
    assert cluster.error(binding(pod, PodUID="00000000-dead")).startswith("409 ")
    assert cluster.node_of() is None
    assert cluster.error(binding(pod, HERE)) == ""
    assert "already assigned" in cluster.error(binding(pod, THERE))
    assert cluster.results() == {"bound": 1, "conflict": 2}
    assert cluster.node_of() == HERE


def test_node_that_is_not_in_the_table(cluster):
    """The scheduler knows it, and the table may be behind: kube-scheduler's own binder does not look."""
    (pod,) = cluster.pods(1)
    assert cluster.error(binding(pod, "node-9999")) == ""
    assert cluster.node_of() == "node-9999"
    assert cluster.results() == {"bound": 1}


def test_pod_is_gone(cluster):
    (pod,) = cluster.pods(1)
    cluster.standin.admin("delete", {"resource": "pods", "names": ["web-0"]})
    assert 'pods "web-0" not found' in cluster.error(binding(pod))
    # Made again under its name: not the one that was meant.
    cluster.pods(1)
    assert cluster.error(binding(pod)).startswith("409 ")
    assert cluster.node_of() is None
    assert cluster.results() == {"not_found": 1, "conflict": 1}


@pytest.mark.parametrize("status, result", [(410, "gone"), (422, "invalid")])
def test_errors_about_one_pod(cluster, status, result):
    """Binding others may succeed: that is no outage."""
    (pod,) = cluster.pods(1)
    cluster.standin.fault("status", verb="create", path=BINDING, status=status)
    assert cluster.error(binding(pod)).startswith(f"{status} ")
    assert cluster.results() == {result: 1}
    assert "cannot bind pods" not in cluster.extender.process.stderr()


WATCHING = [
    {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list", "watch"]},
    {
        "apiGroups": ["scheduler.policy.crane.io"],
        "resources": ["dynamicschedulerpolicies"],
        "verbs": ["list", "watch"],
    },
]
BINDING_TOO = [
    *WATCHING,
    {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]},
]


@pytest.mark.parametrize("action", ["empty", "garbage"])
def test_what_a_proxy_says_binds_nothing(cluster, action):
    """A success would make the scheduler wait for a binding that does not exist."""
    (pod,) = cluster.pods(1)
    cluster.standin.fault(action, verb="create", path=BINDING)
    assert "the answer of a proxy" in cluster.error(binding(pod))
    assert cluster.results() == {"bad_answer": 1}


def test_forbidden_is_said_once(start):
    def auth(standin, rules):
        row = {"token": "t", "user": "extender", "rules": rules}
        standin.admin("auth", {"tokens": [row]})
        return standin

    def kubeconfig(standin):
        auth(standin, WATCHING)
        return standin.edit_kubeconfig(standin.kubeconfig + ".t", user={"token": "t"})

    cluster = start(standin_flags=("--token", "admin"), kubeconfig=kubeconfig)
    pods = cluster.pods(4)
    for pod in pods[:3]:
        assert "403 pods" in cluster.error(binding(pod))
    assert cluster.extender.process.stderr().count("cannot bind pods") == 1
    assert "403 pods" in cluster.extender.ready()[1]
    assert cluster.results() == {"forbidden": 3}
    auth(cluster.standin, BINDING_TOO)
    assert cluster.error(binding(pods[3])) == ""
    cluster.extender.process.wait_log("binds succeed again")
    assert "bind: no failure" in cluster.extender.ready()[1]
    assert cluster.results() == {"forbidden": 3, "bound": 1}


# -- an API server in trouble -------------------------------------------------------------------


@pytest.mark.parametrize("action", ["hang", "reset"])
def test_an_outage(start, action):
    cluster = start()
    pods = cluster.pods(3)
    cluster.standin.fault(action, verb="create", path=BINDING, count=-1)
    for pod in pods[:2]:
        assert cluster.error(binding(pod))
    assert cluster.results() == {"unavailable": 2}
    assert cluster.extender.process.stderr().count("cannot bind pods") == 1
    cluster.standin.clear_faults()
    assert cluster.error(binding(pods[2])) == ""
    cluster.extender.process.wait_log("binds succeed again")


# -- in parallel with everything else ------------------------------------------------------------


def test_slow_binds_hold_up_nobody(start):
    """Fewer workers than schedulers, an API server that does not answer, and more binds than may be
    under way."""
    cluster = start(build="release")
    pods = cluster.pods(130)
    cluster.standin.fault("hang", verb="create", path=BINDING, count=-1, seconds=3600)
    with concurrent.futures.ThreadPoolExecutor(130) as pool:
        answers = [pool.submit(cluster.error, binding(pod)) for pod in pods]
        # A hundred are under way, the others are told so at once.
        wait_until(lambda: sum(a.done() for a in answers) == 30, what="the refusals")
        done = [a for a in answers if a.done()]
        assert {a.result(60) for a in done} == {"too many binds in progress"}
        cluster.wait_under_way(100)
        rounds = 0  # that were answered while all binds waited
        with cluster.extender.scheduler() as scheduler:
            while cluster.extender.metric("plimsoll_binds_under_way") == 100:
                rounds += 1
                for _ in range(20):
                    assert scheduler.filter(NODES)[0] == NODES
                    scheduler.prioritize(NODES)
        assert rounds > 1
        assert all("after 4000 ms" in a.result(60) for a in answers if a not in done)
    assert cluster.results() == {"busy": 30, "unavailable": 100}


def test_clients_that_go_away(start):
    """Each bind that has begun is carried out; nobody is there to hear of it."""
    cluster = start()
    pods = cluster.pods(10)
    cluster.standin.fault("delay", verb="create", path=BINDING, count=-1, seconds=0.3)
    for count, pod in enumerate(pods, 1):
        body = go_json(binding(pod))
        with Connection(cluster.extender.port) as connection:
            connection.send(connection.head("/bind", len(body)) + body)
            wait_until(lambda n=count: cluster.begun() == n, what="the bind to begin")
    wait_until(lambda: cluster.results() == {"bound": len(pods)}, what="the binds")
    cluster.wait_under_way(0)
    with cluster.extender.scheduler() as scheduler:
        assert scheduler.filter(NODES)[0] == NODES


# -- the end ------------------------------------------------------------------------------------


def test_binds_under_way_are_finished_at_the_end(start):
    cluster = start()
    pods = cluster.pods(10)
    cluster.standin.fault("delay", verb="create", path=BINDING, count=-1, seconds=1.5)
    with concurrent.futures.ThreadPoolExecutor(10) as pool, Connection(
        cluster.extender.port
    ) as late:
        assert late.call("/healthz", b"", method="GET").status == 200
        answers = [pool.submit(cluster.error, binding(pod)) for pod in pods]
        cluster.wait_under_way(10)
        cluster.extender.process.expect_death = True
        cluster.extender.process.popen.send_signal(signal.SIGTERM)
        cluster.extender.process.wait_log('msg="shutting down"')
        assert b"shutting down" in late.call("/bind", go_json(binding(pods[0]))).body
        assert [a.result(60) for a in answers] == [""] * 10
    assert cluster.extender.process.wait_exit() == 0
    assert {cluster.node_of(pod["metadata"]["name"]) for pod in pods} == {HERE}


@pytest.mark.parametrize("signals", [1, 2])
def test_an_end_without_an_answer(start, signals):
    """Its deadline ends a bind; a second signal does not wait for that."""
    cluster = start()
    (pod,) = cluster.pods(1)
    cluster.standin.fault("hang", verb="create", path=BINDING, count=-1, seconds=3600)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(cluster.error, binding(pod))
        cluster.wait_under_way(1)
        cluster.extender.process.expect_death = True
        cluster.extender.process.popen.send_signal(signal.SIGTERM)
        if signals == 2:
            cluster.extender.process.wait_log('msg="shutting down"')
            cluster.extender.process.popen.send_signal(signal.SIGTERM)
        assert cluster.extender.process.wait_exit() == 0
        text = answer.result(60)
    assert ("shutting down" if signals == 2 else "after 4000 ms") in text, text
