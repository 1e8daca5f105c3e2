"""Three real kubelets with pods that burn CPU and hold memory, and the stock kube-scheduler.

What only a machine of its own would show is not shown: the nodes share two processors, so one that is busy
slows down the others, and each says that it has them both.
"""

import collections
import glob
import json
import statistics
import time
from pathlib import Path

import pytest
from cluster.plimsoll import kubelet_source, metrics, refused, wait_judged
from cluster.real_node import IMAGE, PLANE_ADDRESS, RealNode
from cluster.real_node import add_plane_address, build_image, lacking
from cluster.workloads import Background, placed, pod_object
from harness import fetch, wait_until
from policies import IDLE, policy_object

WINDOW_S = 60
CPU, MEM, MAXIMUM = "cpu_usage_avg_1m", "mem_usage_avg_1m", "cpu_usage_max_avg_1h"
LIMIT = 0.25
APART = 0.03
PODS = 9
BATCH_PODS = 2
BATCH_MILLI = 450
ADMITTED_S = 15  # what a kubelet ended after its start, it ended within a second
SERVICE_CPU = "500m"  # it uses 300
SLOWER_SHARE = 0.03  # at most, what services do next to batch
ACCOUNTS_APART = 0.10
MEASURED_APART = 0.10
MEASURED = {"small": (3, 8, 64), "large": (2, 25, 200)}  # pods; percent of a CPU and MiB of each


class Recorder:
    """What each node has used, every half second, by its cgroup."""

    def __init__(self, nodes, cpus):
        self.nodes, self.cpus = nodes, cpus
        self.rows = []

    def once(self, ended):
        ended.wait(0.5)
        row = {node.name: (node.busy_s(), node.memory_ratio()) for node in self.nodes}
        self.rows.append((time.time(), row))

    def means(self, name, from_unix, to_unix):
        """(CPU, memory) of a node in between, as shares."""
        inside = [(at, row[name]) for at, row in self.rows if from_unix <= at <= to_unix]
        (first_at, (first_s, _)), (last_at, (last_s, _)) = inside[0], inside[-1]
        cpu = (last_s - first_s) / (last_at - first_at) / self.cpus
        return cpu, sum(mem for _, (_, mem) in inside) / len(inside)


@pytest.fixture
def plane(start_plane):
    why = lacking()
    if why:
        pytest.skip(why)
    add_plane_address()
    return start_plane(PLANE_ADDRESS)


@pytest.fixture
def nodes(plane, log_dir, tmp_path):
    """Three that are ready, with the image of their pods."""
    image = build_image(tmp_path)
    found = []
    try:
        for number in range(3):
            found.append(RealNode(plane, str(tmp_path), log_dir, number))
            found[-1].start(image)
        for node in found:
            for what in ("create", "condition=Ready"):
                plane.kubectl("wait", f"--for={what}", f"node/{node.name}", "--timeout=120s")
        yield found
    finally:
        for node in found:
            node.remove()


@pytest.fixture
def recorder(plane, nodes):
    capacity = plane.api.get(f"/api/v1/nodes/{nodes[0].name}")["status"]["capacity"]
    found = Recorder(nodes, int(capacity["cpu"]))
    with Background(found.once):
        yield found


def burning(name, percent, mib, cpu="50m", **spec):
    """A pod that asks for little and uses what it likes, as many do."""
    pod = pod_object(name, cpu=cpu, memory="32Mi", hostNetwork=True, **spec)
    pod["spec"]["automountServiceAccountToken"] = False
    pod["spec"]["containers"][0] |= {
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "args": [str(percent), str(mib)],
    }
    return pod


def reading(plane, node, key):
    """(value, its time); (-1, 0) where it has none."""
    said = plane.api.get(f"/api/v1/nodes/{node.name}")["metadata"].get("annotations", {})
    value, _, stamp = said.get(key, "-1,1970-01-01T00:00:00Z").partition(",")
    at = time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
    return float(value), at


def wait_agreed(plane, recorder, nodes, since_unix):
    """Until each node says of a full window what its cgroup says of it; [(ours, the cgroup's)]."""

    def look():
        found = []
        for node in nodes:
            (cpu, at), (mem, _) = (reading(plane, node, key) for key in (CPU, MEM))
            assert at > since_unix + WINDOW_S + 15, f"{node.name}: the window is not full"
            true_cpu, true_mem = recorder.means(node.name, at - WINDOW_S, at)
            found.append(f"{cpu:.3f} {true_cpu:.3f} {mem:.3f} {true_mem:.3f}")
            assert abs(cpu - true_cpu) < APART and abs(mem - true_mem) < APART, found
        return found

    return wait_until(look, WINDOW_S + 120, "windows that agree", poll_s=1)


def run_pods(plane, namespace, name):
    """Where PODS were placed, when they all run there; then they end."""
    namespace.create_deployment(name, PODS, burning(f"{name}-0", 2, 16))
    wait_until(
        lambda: namespace.deployment(name)["status"].get("availableReplicas") == PODS,
        120,
        f"the pods of {name} to run",
        poll_s=0.5,
    )
    places = placed(namespace.pods(name))
    namespace.scale(name, 0)
    wait_until(lambda: not namespace.pods(name), 120, "them to end", poll_s=0.5)
    return places


def wait_peak(plane, node):
    """The first peak of an hour. Until there is one, a maximum is the present mean, which may fall."""
    return wait_until(
        lambda: max(0, reading(plane, node, f"{MAXIMUM}_peak")[0]), 240, "a peak", poll_s=1
    )


def start_controller(plane, plimsoll, policy):
    return plimsoll.controller(
        policy,
        None,
        sources=[kubelet_source(plimsoll.write_token("plimsoll-controller"), plane.authority.cert)],
        interval="5s",
    )


def place(plane, namespace, name, extenders):
    """How many pods each node gets of a scheduler with these extenders, by the node's name."""
    kube_scheduler = plane.start_scheduler(extenders=extenders)
    places = run_pods(plane, namespace, name)
    kube_scheduler.kill()
    return collections.Counter(places.values())


def restart_kubelet(plane, node, controller):
    """Kill it until the controller has noticed; what stood on the Node then."""
    node.kubelet.kill()
    wait_until(lambda: "node is failing" in controller.text(), 60, "the failure", poll_s=0.5)
    during = plane.api.get(f"/api/v1/nodes/{node.name}")["metadata"]["annotations"]
    node.start_kubelet()
    return during


@pytest.mark.nightly
@pytest.mark.alone
@pytest.mark.timeout(900)
def test_hot_node(plane, nodes, recorder, namespace, plimsoll, figure):
    """It gets no pods, its windows are those of its cgroup, and both outlive its kubelet."""
    hot, *calm = nodes
    metrics = dict.fromkeys((CPU, MEM, MAXIMUM), "5s")
    rules = policy_object(metrics, {CPU: LIMIT}, {CPU: 1}, name="default")
    policy = plimsoll.write_policy(rules)
    controller = start_controller(plane, plimsoll, policy)
    extender = plimsoll.extender(policy)
    began_unix = time.time()
    namespace.create(burning("hot-0", 90, 512, nodeName=hot.name))
    namespace.create(burning("warm-0", 5, 256, nodeName=calm[0].name))
    said = wait_agreed(plane, recorder, nodes, began_unix)
    figure(f"CPU and memory, each by us and by the cgroup: {'; '.join(said)}")
    wait_judged(extender, [hot.name], [node.name for node in calm])

    without = place(plane, namespace, "blind", [])
    aware = place(plane, namespace, "aware", [plimsoll.scheduler_entry(extender)])
    figure(
        f"of {PODS} pods the hot node got {without[hot.name]} without us ({dict(without)}), "
        f"{aware[hot.name]} with us ({dict(aware)})"
    )
    assert aware[hot.name] == 0 < without[hot.name]

    peak = wait_peak(plane, hot)
    during = restart_kubelet(plane, hot, controller)
    assert metrics.keys() <= during.keys()
    said = wait_agreed(plane, recorder, nodes, time.time())
    after, _ = reading(plane, hot, MAXIMUM)
    figure(f"after the kubelet's restart: {'; '.join(said)}; peak of an hour {peak} and {after}")
    assert after >= peak > 0
    assert not refused(plane, "plimsoll-controller")


class Measured:
    """What the pods of MEASURED use by their cgroups, and by us."""

    def __init__(self, nodes, namespace):
        self.nodes, self.namespace = nodes, namespace
        self.keys = {f"{namespace.name}/ReplicaSet/{name}": name for name in MEASURED}
        self.began_unix, self.began = time.time(), self.look()

    def look(self):
        """{workload: (CPU time of its pods, their bytes)}"""
        found = {}
        for key, name in self.keys.items():
            count, *arguments = MEASURED[name]
            rows = [row for node in self.nodes for row in node.containers(*arguments)]
            assert len(rows) == count, f"{len(rows)} containers of {name}"
            found[key] = [sum(column) for column in zip(*rows, strict=True)]
        return found

    def truth(self):
        """{workload: (CPU, bytes) of a pod}, a mean since the beginning"""
        found, took_s = {}, time.time() - self.began_unix
        for key, (cpu_s, memory) in self.look().items():
            count = MEASURED[self.keys[key]][0]
            found[key] = (cpu_s - self.began[key][0]) / took_s / count, memory / count
        return found

    def workload_means(self, verb):
        """By `kubectl plimsoll workloads`."""
        rows = {
            row["workload"]: row for row in json.loads(verb("workloads", "-ojson"))["workloads"]
        }
        return {
            key: (rows[key]["cpuCores"]["mean"], rows[key]["memoryBytes"]["mean"])
            for key in self.keys
        }

    def pod_means(self, controller, of):
        """By the leader's page; {workload: [(CPU, bytes) of each pod]}; `of`: the key of these means"""
        found = collections.defaultdict(list)
        for node in self.nodes:
            for pod in fetch(f"{controller.url}/pods?node={node.name}").json()["pods"]:
                if pod.get("workload") in self.keys:
                    assert of in pod, f"{pod['name']} has no {of} yet"
                    found[pod["workload"]].append((pod[of]["cpuCores"], pod[of]["memoryBytes"]))
        return found

    def expected(self, extender):
        """By the extender, of another pod like these."""
        found = {}
        for key, name in self.keys.items():
            pod = {"pod": self.namespace.pods(name)[0]}
            said = fetch(f"{extender.url}/explain", "POST", pod).json()["expected"]
            assert said["workload"] == key
            found[key] = said["loadCores"], said["loadBytes"]
        return found

    def wait_agreed(self, verb, controller, extender, of, timeout_s):
        """[(CPU, MiB) by us and by the cgroups] of each workload."""

        def look():
            truth, pods = self.truth(), self.pod_means(controller, of)
            said = self.workload_means(verb)
            for key, name in self.keys.items():
                assert len(pods[key]) == MEASURED[name][0]
                for ours in (said[key], self.expected(extender)[key], *pods[key]):
                    assert ours == pytest.approx(truth[key], rel=MEASURED_APART), key
            return "; ".join(
                f"{name} {said[key][0]:.3f} and {truth[key][0]:.3f} CPUs, "
                f"{said[key][1] / 2**20:.1f} and {truth[key][1] / 2**20:.1f} MiB"
                for key, name in self.keys.items()
            )

        return wait_until(
            look, timeout_s, "what we say of pods and what their cgroups say", poll_s=2
        )


@pytest.mark.nightly
@pytest.mark.alone
@pytest.mark.timeout(1200)
def test_measured_pods(plane, nodes, namespace, plimsoll, verb, figure):
    """What pods use is known of each workload with two or more, and again after a restart of everything."""
    rules = policy_object({CPU: "5s"}, {}, {CPU: 1}, name="default")
    rules["spec"]["extender"] = {"scoring": "estimate"}
    policy = plimsoll.write_policy(rules)
    plane.start_scheduler()
    for name, (count, *arguments) in MEASURED.items():
        namespace.create_deployment(name, count, burning(f"{name}-0", *arguments))
    wait_until(
        lambda: all(
            namespace.deployment(name)["status"].get("availableReplicas") == count
            for name, (count, _, _) in MEASURED.items()
        ),
        120,
        "the pods to run",
        poll_s=0.5,
    )
    measured = Measured(nodes, namespace)
    # A pod has a mean of its own from the fourth sample on.
    for of, timeout_s in (("mean", 600), ("workloadMean", 60)):
        began = time.monotonic()
        programs = start_controller(plane, plimsoll, policy), plimsoll.extender(policy)
        said = measured.wait_agreed(verb, *programs, of, timeout_s)
        figure(f"after {time.monotonic() - began:.0f} s, by us and by the cgroups: {said}")
        for program in programs:
            program.kill()


def slowness(node, name, since_unix):
    """How long a pod's work took, as a median of shares of its CPU time, by its log."""
    (path,) = glob.glob(f"/proc/{node.holder.pid}/root/var/log/pods/*_{name}_*/main/0.log")
    rows = [line.split() for line in Path(path).read_text(encoding="ascii").splitlines()]
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since_unix))
    found = [float(text) for at, _, _, text in rows if at >= since]
    assert len(found) >= 10, f"{name} said {len(found)} times how it does"
    return statistics.median(found)


def offered(plane, node):
    """In CPUs; -1: the node has no offer."""
    status = plane.api.get(f"/api/v1/nodes/{node.name}")["status"]
    capacity, allocatable = (status[field].get(IDLE) for field in ("capacity", "allocatable"))
    assert capacity == allocatable
    return -1 if capacity is None else float(capacity.replace("k", "000")) / 1000


def used_meanwhile(controller, seconds):
    """By batch, in CPUs: a mean."""
    rows = []
    for _ in range(seconds):
        rows.append(metrics(controller).total("plimsoll_idle_used_cores"))
        time.sleep(1)
    return sum(rows) / len(rows)


def batch(name, node, milli):
    pod = burning(name, 100, 16, nodeSelector={"kubernetes.io/hostname": node.name})
    amounts = {IDLE: str(milli)}
    resources = {"requests": amounts | {"memory": "32Mi"}, "limits": amounts}
    pod["spec"]["containers"][0]["resources"] = resources
    return pod


def outlive_kubelet(plane, node, controller, namespace):
    """It admits all pods of a node again when it starts, and ends those for which an offer is too small."""
    failures = controller.text().count("node is failing")
    node.kubelet.kill()
    wait_until(
        lambda: controller.text().count("node is failing") > failures, 60, "the failure", poll_s=0.5
    )
    restarted_unix = time.time()
    node.start_kubelet()
    wait_until(lambda: reading(plane, node, CPU)[1] > restarted_unix, 120, "a reading", poll_s=1)
    time.sleep(ADMITTED_S)
    pods = namespace.pods("batch")
    assert len(pods) == BATCH_PODS
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}


@pytest.mark.nightly
@pytest.mark.alone
@pytest.mark.timeout(900)
def test_batch_on_idle_cpu(plane, nodes, recorder, namespace, plimsoll, figure):
    """Batch runs on what services leave, they are no slower for it, and no reading of ours has it."""
    node = nodes[0]
    plimsoll.install(plane, "idle")
    rules = policy_object({CPU: "5s", "cpu_usage_max_avg_1m": "5s"}, {}, {CPU: 1}, name="default")
    rules["spec"]["idle"] = {"line": 0.65, "peak": "1m"}
    controller = start_controller(plane, plimsoll, plimsoll.write_policy(rules))
    namespace.create(burning("service-0", 30, 16, cpu=SERVICE_CPU, nodeName=node.name))
    wait_until(lambda: offered(plane, node) >= 0.5, 180, "the offer", poll_s=1)
    alone = reading(plane, node, CPU)[0]
    quiet = slowness(node, "service-0", time.time() - 30)

    plane.start_scheduler()
    for number in range(BATCH_PODS):
        namespace.create(batch(f"batch-{number}", node, BATCH_MILLI))
    wait_until(
        lambda: {pod["status"]["phase"] for pod in namespace.pods("batch")} == {"Running"},
        120,
        "batch to run",
        poll_s=0.5,
    )
    ran_unix = time.time()
    time.sleep(45)  # until the kubelet has two samples of each pod
    used = used_meanwhile(controller, WINDOW_S) / recorder.cpus
    services, at = reading(plane, node, CPU)
    total, _ = recorder.means(node.name, at - WINDOW_S, at)
    beside = slowness(node, "service-0", ran_unix + 10)
    # Where batch leaves no CPU idle, services also wait for what runs outside the node, each its share.
    others = 1 - total
    figure(
        f"service {quiet:.3f} without batch, {beside:.3f} beside it; node {total:.3f} by its cgroup, "
        f"{services:.3f} services (before: {alone:.3f}) and {used:.3f} batch by us; "
        f"offer {offered(plane, node):.2f} of {recorder.cpus} CPUs"
    )
    assert beside <= quiet * (1 + others + SLOWER_SHARE)
    assert abs(total - services - used) <= ACCOUNTS_APART * (total - services)
    assert used > 0.5

    namespace.create(burning("service-1", 60, 16, cpu="100m", nodeName=node.name))
    wait_until(lambda: offered(plane, node) == -1, 180, "no offer", poll_s=1)
    outlive_kubelet(plane, node, controller, namespace)
