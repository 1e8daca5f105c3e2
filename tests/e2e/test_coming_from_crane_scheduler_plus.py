"""deploy/coming-from/crane-scheduler-plus.md, as it stands: to Plimsoll without a gap, and back.

The fork is objects and a thread that writes what its controller would; its agent is a stand-in. Our
programs run as the Deployments of the overlay have them: their environment is read from there.
"""

import threading
import time

import pytest
import yaml
from cluster import extender_pod
from cluster.api import ApiError
from cluster.nodes import Fleet
from cluster.pages import follow, follow_on
from cluster.plimsoll import TOP, Plimsoll, ask, pod_environment, refused, wait_ready
from cluster.workloads import pod_object
from harness import Exporters, wait_until
from pages import block
from programs import complete
from reference_policy import Policy, timestamp_ms

PAGE = "deploy/coming-from/crane-scheduler-plus.md"
PREFIX = "plimsoll.local/"
AGENT_PORT = 19101
FORK = "/apis/apps/v1/namespaces/crane-system/deployments/crane-scheduler-controller"
AHEAD_S = 8 * 3600  # its clock is Asia/Shanghai's
LOADS = [(0.9, 0.3), (0.3, 0.4), (0.1, 0.2), (0.02, 0.1)]


def fork_policy():
    """Crane's policy as the fork writes it: limits in percent, and no name.

    No hot value here: the pods of both controllers have only just been bound.
    """
    policy = yaml.safe_load((TOP / "policy" / "crane.yaml").read_text(encoding="utf-8"))
    policy.pop("metadata", None)
    policy["spec"].pop("hotValue")
    for row in policy["spec"]["predicate"]:
        row["maxLimitPecent"] = round(row["maxLimitPecent"] * 100)
    return policy


def fork_objects():
    def workload(kind, name, **spec):
        pod = {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "fork"}]},
        }
        return {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "crane-system"},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": pod, **spec},
        }

    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "crane-system"}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "dynamic-scheduler-policy", "namespace": "crane-system"},
            "data": {"policy.yaml": yaml.safe_dump(fork_policy(), sort_keys=False)},
        },
        workload("Deployment", "crane-scheduler-controller", replicas=3),
        workload("Deployment", "crane-scheduler", replicas=1),
        workload("DaemonSet", "node-metrics"),
    ]


class ForkController(threading.Thread):
    """Writes percentages with a local clock while its Deployment has replicas."""

    def __init__(self, plane, fleet, loads):
        super().__init__(daemon=True)
        self.plane, self.fleet, self.loads = plane, fleet, loads
        self.ending = threading.Event()

    def run(self):
        while not self.ending.wait(1):
            if self.plane.api.get(FORK)["spec"]["replicas"] == 0:
                continue
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + AHEAD_S))
            for name, load in self.loads.items():
                values = {"node_hot_value": "0"}
                for resource, ratio in zip(("cpu", "mem"), load):
                    for window in ("avg_5m", "max_avg_1h", "max_avg_1d"):
                        values[f"{resource}_usage_{window}"] = f"{ratio * 100:.5f}"
                self.fleet.annotate(name, {key: f"{v},{at}" for key, v in values.items()})

    def stop(self):
        self.ending.set()
        self.join(30)


@pytest.fixture
def bare(bare):
    """With the fork in it."""
    bare.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(fork_objects()))
    return bare


@pytest.fixture
def agents(log_dir):
    peer = Exporters(log_dir, "--agent", "--port", AGENT_PORT, "--speed", "20", name="agents")
    # What it noted before a node had the load of the test is a peak like any other.
    peer.set("all", load={"cpu": 0.01, "mem": 0.01})
    yield peer
    peer.stop()


def start(plane, plimsoll, run, name, *flags):
    env = pod_environment(plane, name)
    assert env["PLIMSOLL_ANNOTATION_PREFIX"] == PREFIX.rstrip("/")
    argv = [plimsoll.binary(name), f"--kubeconfig={plimsoll.kubeconfig(name)}", *flags]
    process = run(argv, name, env)
    process.url = f"http://127.0.0.1:{process.wait_port()}"
    wait_ready(process)
    return process


class Watcher(threading.Thread):
    """Asks the extender again and again which nodes pass."""

    def __init__(self, extender, names):
        super().__init__(daemon=True)
        self.extender, self.names = extender, names
        self.answers, self.ending = [], threading.Event()

    def run(self):
        while not self.ending.wait(0.1):
            answer = ask(self.extender, "filter", pod_object("asked-0"), self.names)
            self.answers.append(frozenset(answer["NodeNames"]))

    def stop(self):
        self.ending.set()
        self.join(30)
        return self.answers


@pytest.fixture
def background(bare, run):
    """Starts a thread, which ends before what it talks to."""
    started = []

    def start_thread(thread):
        started.append(thread)
        thread.start()
        return thread

    yield start_thread
    for thread in started:
        thread.stop()


def test_there_and_back(bare, agents, log_dir, run, binary, background, figure):
    fleet = Fleet(bare, agents)
    names = [fleet.add(1, load={"cpu": cpu, "mem": mem})[0] for cpu, mem in LOADS]
    hot = names[0]
    fork = background(ForkController(bare, fleet, dict(zip(names, LOADS))))
    plimsoll = Plimsoll(bare, log_dir, run, binary)
    controller = {}

    def ours(name):
        """The metrics of the policy; until it is read, the built-in one has others."""
        rows = fork_policy()["spec"]["syncPolicy"]
        return {PREFIX + row["name"] for row in rows} & fleet.annotations(name).keys()

    def theirs(name):
        return {k: v for k, v in fleet.annotations(name).items() if "/" not in k}

    def start_ours():
        """What the kubelet would do once the Deployment is there; the block waits for its work."""
        path = "/apis/apps/v1/namespaces/kube-system/deployments/plimsoll-controller"
        wait_until(lambda: exists(bare, path), 60, "the Deployment")
        controller["process"] = start(
            bare, plimsoll, run, "plimsoll-controller", "--bind-address=127.0.0.1",
            "--health-port=0", "--scrape-interval=1s",
            "--leader-elect-resource-namespace=kube-system",
        )  # fmt: skip

    wait_until(lambda: all(len(theirs(name)) == 7 for name in names), 60, "the fork's annotations")

    # Look first: their own formula has nothing but zeros, ours an order.
    looking = follow_on(bare, block(PAGE, "look-extender"), "plimsoll-extender", run)
    looking.wait_log(r"initial list complete.*resource=nodes")
    table = follow(bare, block(PAGE, "look"))
    looking.stop()
    assert all(name in table for name in names), table
    now = timestamp_ms(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())) + AHEAD_S * 1000
    rules = Policy(fork_policy()["spec"])
    assert [rules.score100(fleet.annotations(name), now, {}) for name in names] == [0, 0, 0, 0]

    starter = threading.Thread(target=start_ours, daemon=True)
    starter.start()
    follow(bare, block(PAGE, "beside"))
    starter.join(60)
    # All at once, in the first patch: nobody waits three minutes for the rest.
    wait_until(lambda: all(len(ours(n)) == 6 for n in names), 60, "our annotations")
    assert all(len(theirs(name)) == 7 for name in names)
    assert not refused(bare, "plimsoll-controller")
    flags = ("--bind-address=0.0.0.0", "--port=0")
    extender = start(bare, plimsoll, run, "plimsoll-extender", *flags)
    # The built-in policy would reject the same node, and score otherwise.
    extender.wait_log(r'policy is in force" from="DynamicSchedulerPolicy default"')
    passing = frozenset(names) - {hot}
    wait_until(
        lambda: set(ask(extender, "filter", pod_object("asked-0"), names)["NodeNames"]) == passing,
        what="verdicts",
    )

    def order():
        """Where the fork has zeros."""
        rows = ask(extender, "prioritize", pod_object("asked-0"), names)
        scores = dict.fromkeys(names, 0) | {row["Host"]: row["Score"] for row in rows}
        assert min(scores.values()) > 0 and len(set(scores.values())) > 1, scores
        return scores

    scores = wait_until(order, what="an order")
    watcher = background(Watcher(extender, names))

    follow(bare, block(PAGE, "rest"))
    wait_until(lambda: not any(theirs(name) for name in names), 30, "theirs to be gone")
    assert all(len(ours(name)) == 6 for name in names)

    follow(bare, block(PAGE, "back"))
    assert all(theirs(name) for name in names)
    answers = watcher.stop()
    # From the first verdict to the last, whatever came and went.
    assert len(answers) > 5 and set(answers) == {passing}, set(answers)

    # Later than on the page: until here the verdicts must not change.
    with extender_pod.published(bare, fleet, extender_pod.ports_of(extender)):
        shown = follow(bare, block(PAGE, "recommended"))
    assert "simulated: " in shown, shown

    first, rest = block(PAGE, "leave").split("kubectl -n kube-system wait", 1)
    assert controller["process"].stop() == 0
    follow(bare, first)
    env = pod_environment(bare, "plimsoll-cleanup", "batch/v1/jobs")
    kubeconfig = plimsoll.kubeconfig("plimsoll-controller")
    complete("kubectl-plimsoll", "cleanup", "--apply", f"--kubeconfig={kubeconfig}", env=env)
    assert not any(PREFIX in key for name in names for key in fleet.annotations(name))
    assert all(theirs(name) for name in names), "the fork's stay"
    extender.stop()
    follow(bare, "kubectl -n kube-system wait" + rest)
    fork.stop()
    figure(f"{len(answers)} verdicts, all the same; scores {[scores[name] for name in names]}")


def exists(plane, path):
    try:
        return plane.api.get(path) is not None
    except ApiError:
        return False
