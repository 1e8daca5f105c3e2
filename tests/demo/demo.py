"""The demo: real programs, a real exporter, and a small cluster that is none.

Starts a node_exporter for this machine, synthetic ones for four nodes with other loads, a stand-in
for the API server, the controller and the extender; waits for the annotations, and shows the nodes as
the extender answers for them. Then a burst of pods is placed, one by one as kube-scheduler does, and
the table shows where they went. Without --once it goes on until Ctrl-C. With --crane the policy is
policy/crane.yaml, and else the recommended one.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(TOP / "tests" / "integration"))

import table  # noqa: E402
from harness import Exporters, Process, StandIn, fetch, wait_until  # noqa: E402

# name, address, CPU and memory: every synthetic node has a character of its own.
REAL_NODE = ("this-machine", "127.0.0.1")
SYNTHETIC = [
    ("idle", "127.1.0.1", {"cpu": 0.06, "mem": 0.21}),
    ("steady", "127.1.0.2", {"cpu": 0.38, "mem": 0.44}),
    ("hot-cpu", "127.1.0.3", {"cpu": 0.91, "mem": 0.35}),
    ("full-memory", "127.1.0.4", {"cpu": 0.17, "mem": 0.88}),
]
NODE_CPUS, NODE_GIB = 8, 32
BURST, BURST_PER_S = 16, 20
# What a pod of the burst uses once it runs; it requests more.
POD_CPUS, POD_GIB = 0.4, 0.6
SCRAPE_INTERVAL_S = 2
SYNC_PERIOD = "10s"
TOLERANCE = 0.02

PODS = "/api/v1/namespaces/default/pods"


def pod_of(number):
    """A pod of one Deployment."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "burst", "uid": "11aa"}
    requests = {"cpu": "500m", "memory": "1Gi"}
    return {
        "metadata": {
            "name": f"burst-{number}",
            "namespace": "default",
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {
            "containers": [{"name": "app", "image": "app", "resources": {"requests": requests}}]
        },
    }


class Trouble(Exception):
    """Something is off; the demo must not end well."""


class CpuMeter:
    """/proc/stat over the interval since it was made, as the controller reads it."""

    def __init__(self):
        self.start = self.read()

    @staticmethod
    def read():
        with open("/proc/stat", encoding="ascii") as file:
            # user nice system idle iowait irq softirq steal; guest time is part of user already
            fields = [int(f) for f in file.readline().split()[1:9]]
        return sum(fields), fields[3]

    def busy_ratio(self):
        total, idle = self.read()
        return 1 - (idle - self.start[1]) / max(1, total - self.start[0])


def memory_ratio():
    with open("/proc/meminfo", encoding="ascii") as file:
        kib = {name: int(v.split()[0]) for name, v in (line.split(":") for line in file)}
    return 1 - kib["MemAvailable"] / kib["MemTotal"]


class Demo:
    def __init__(self, build, directory, out, is_crane):
        self.is_crane = is_crane
        self.limit_ratio = 0.65 if is_crane else 0.8
        self.pods, self.placed = [], []  # of the burst; the nodes of those that are bound
        self.build = pathlib.Path(build).resolve()
        self.directory = directory
        self.out = out
        self.started = []

    def say(self, text=""):
        print(text, file=self.out, flush=True)

    def run(self, argv, name):
        process = Process(argv, name, self.directory)
        self.started.append(process)
        return process

    def program(self, name):
        folder = "cli" if name == "kubectl-plimsoll" else name.removeprefix("plimsoll-")
        path = self.build / folder / name
        return os.path.relpath(path) if path.is_relative_to(os.getcwd()) else path

    def start(self):
        exporter = shutil.which("prometheus-node-exporter")
        if not exporter:
            raise Trouble("prometheus-node-exporter is missing: apt-get install it")
        hosts = [argument for _, address, _ in SYNTHETIC for argument in ("--host", address)]
        self.exporters = Exporters(self.directory, *hosts)
        self.started.append(self.exporters.process)
        for _, address, load in SYNTHETIC:
            self.exporters.set([address], load=load)

        real = self.run(
            [exporter, f"--web.listen-address={REAL_NODE[1]}:{self.exporters.port}"],
            "node-exporter",
        )
        real.wait_log("Listening on")
        self.standin = StandIn(self.directory)
        self.started.append(self.standin.process)
        nodes = [REAL_NODE, *[(name, address) for name, address, _ in SYNTHETIC]]
        for name, address in nodes:
            shape = {"cpus": NODE_CPUS, "memory_gib": NODE_GIB}
            self.standin.admin("nodes", {"names": [name], "first_address": address, **shape})
        self.names = [name for name, _ in nodes]
        # No pod of the demo can run on the one node that is real.
        cordon = {"spec": {"unschedulable": True}}
        self.standin.patch(f"/api/v1/nodes/{REAL_NODE[0]}", cordon)

        self.policy = os.path.join(self.directory, "policy.yaml")
        name = "crane.yaml" if self.is_crane else "policy.yaml"
        text = (TOP / "policy" / name).read_text(encoding="utf-8")
        # A demo has no three minutes: written more often.
        text = re.sub(r"period: \w+", f"period: {SYNC_PERIOD}", text)
        pathlib.Path(self.policy).write_text(text, encoding="utf-8")
        common = [f"--policy-config-path={self.policy}", f"--kubeconfig={self.standin.kubeconfig}"]

        self.meter = CpuMeter()
        self.controller = self.run(
            [
                self.program("plimsoll-controller"),
                *common,
                f"--target-url-template=http://{{address}}:{self.exporters.port}/metrics",
                f"--scrape-interval={SCRAPE_INTERVAL_S}s",
                "--health-port=0",
            ],
            "controller",
        )
        self.extender = self.run(
            [self.program("plimsoll-extender"), *common, "--port=0"],
            "extender",
        )
        self.controller_url = f"http://127.0.0.1:{self.controller.wait_port()}"
        self.extender_url = f"http://127.0.0.1:{self.extender.wait_port()}"

    def stop(self):
        for process in reversed(self.started):
            try:
                process.stop(timeout_s=10)
            except AssertionError as problem:
                self.say(f"{problem}")

    def check_alive(self):
        for process in self.started:
            if not process.is_running():
                raise Trouble(f"{process.name} has ended:\n{process.text()[-2000:]}")

    def is_annotated(self):
        self.check_alive()
        wanted = re.findall(r"name: (\w+_usage_\w+)", pathlib.Path(self.policy).read_text())
        return all(set(wanted) <= set(self.standin.annotations(name)) for name in self.names)

    def ask(self, verb, pod, names):
        arguments = {"Pod": pod, "Nodes": None, "NodeNames": names}
        answer = fetch(f"{self.extender_url}/demo/{verb}", "POST", arguments)
        if answer.status != 200:
            raise Trouble(f"the extender answered {verb} with {answer.status}")
        return answer.json()

    def decide(self, pod):
        """As kube-scheduler asks, which leaves out a cordoned node: {name: points} of the nodes that
        pass, {name: reason} of the others."""
        names = [name for name, _, _ in SYNTHETIC]
        filtered = self.ask("filter", pod, names)
        passing = filtered["NodeNames"]
        rejected = {**filtered["FailedNodes"], **filtered["FailedAndUnresolvableNodes"]}
        if set(names) != {*passing, *rejected} or set(passing) & set(rejected):
            raise Trouble(f"each node must pass or fail: {filtered}")
        rows = self.ask("prioritize", pod, passing)
        return dict.fromkeys(passing, 0) | {row["Host"]: row["Score"] for row in rows}, rejected

    def knows(self):
        """{node: what the extender knows of it}"""
        answer = fetch(f"{self.extender_url}/nodes")
        if answer.status != 200:
            raise Trouble(f"the extender answered /nodes with {answer.status}")
        return {row["node"]: row for row in answer.json()["nodes"]}

    def counted(self, name, known):
        """By what the pods of the burst count, before a reading shows them."""
        if self.is_crane:
            value = self.standin.annotations(name).get("node_hot_value")
            return "-" if value is None else f"{float(value.split(',')[0]):.0f}"
        return f"{round(100 * known[name]['estimate']['cpu']['usage'])}%"

    def rows(self):
        """A row per node, best first: what its annotations say, and what the extender answers about
        the next pod of the burst."""
        scores, rejected = self.decide(self.pods[len(self.placed)])
        verdicts = {REAL_NODE[0]: "cordoned", **rejected}
        known = {} if self.is_crane else self.knows()
        rows = []
        for name in self.names:
            annotations = self.standin.annotations(name)

            def reading(metric):
                return float(annotations[metric].split(",")[0]) if metric in annotations else None

            rows.append(
                table.Row(
                    node=name,
                    score=scores.get(name),
                    cpu=reading("cpu_usage_avg_5m"),
                    mem=reading("mem_usage_avg_5m"),
                    pods=self.placed.count(name),
                    counted=self.counted(name, known),
                    verdict=verdicts.get(name, "ok"),
                )
            )
        return sorted(rows, key=lambda row: -1 if row.score is None else row.score, reverse=True)

    def render(self, rows, style):
        counted = "RECENT" if self.is_crane else "EXPECTED"
        return table.render(rows, counted, self.limit_ratio, style)

    def real_node_error(self):
        """How far the real node's windows are from what the kernel says of the same interval.

        The meter began a moment before the first scrape, which matters less with every second.
        """
        annotations = self.standin.annotations(REAL_NODE[0])
        cpu, mem = (float(annotations[f"{r}_usage_avg_5m"].split(",")[0]) for r in ("cpu", "mem"))
        kernel_cpu, kernel_mem = self.meter.busy_ratio(), memory_ratio()
        said = (
            f"{REAL_NODE[0]}: CPU {cpu:.3f}, /proc/stat says {kernel_cpu:.3f}; "
            f"memory {mem:.3f}, /proc/meminfo says {kernel_mem:.3f}"
        )
        return max(abs(cpu - kernel_cpu), abs(mem - kernel_mem)), said

    def above(self):
        """The nodes that the status page has above a limit."""
        status = fetch(f"{self.controller_url}/status.json").json()
        return [row["name"] for row in status["nodes"] if row["verdict"] == "rejected"]

    def create_pods(self):
        """Those of the burst, and one more, which is only asked about."""
        for number in range(BURST + 1):
            pod = pod_of(number)
            answer = self.standin.call("POST", PODS, pod)
            if answer.status != 201:
                raise Trouble(f"the API server answered {answer.status}: {answer.text}")
            self.pods.append(answer.json())

    @staticmethod
    def has_kubectl():
        """Whether the plugin can use it: Debian 12's is too old."""
        program = shutil.which("kubectl")
        argv = [program, "proxy", "--help"]
        return (
            program
            and b"--append-server-path"
            in subprocess.run(argv, capture_output=True, check=False).stdout
        )

    def plugin(self, *words):
        """What `kubectl plimsoll` prints."""
        argv = [self.program("kubectl-plimsoll"), *words, f"--extender={self.extender_url}"]
        env = {**os.environ, "KUBECONFIG": self.standin.kubeconfig}
        done = subprocess.run(
            argv, env=env, capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode:
            raise Trouble(f"kubectl plimsoll {' '.join(words)}: {done.stderr}")
        return done.stdout

    def burst(self):
        """Asks about each pod in turn, and binds it to the node with the most points."""
        for pod in self.pods[:BURST]:
            scores, _ = self.decide(pod)
            best = max(scores, key=scores.get)
            name = pod["metadata"]["name"]
            target = {"kind": "Node", "name": best}
            binding = {"metadata": {"name": name}, "target": target}
            answer = self.standin.call("POST", f"{PODS}/{name}/binding", binding)
            if answer.status != 201:
                raise Trouble(f"binding {name}: {answer.status}: {answer.text}")
            self.placed.append(best)
            time.sleep(1 / BURST_PER_S)

    def start_pods(self):
        """The pods begin to use what they use, and readings follow."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        running = {"name": "app", "state": {"running": {"startedAt": now}}}
        status = {"status": {"phase": "Running", "containerStatuses": [running]}}
        for pod in self.pods[:BURST]:
            self.standin.patch(f"{PODS}/{pod['metadata']['name']}/status", status)
        self.exporters.set_loads(
            {
                address: {
                    "cpu": load["cpu"] + self.placed.count(name) * POD_CPUS / NODE_CPUS,
                    "mem": load["mem"] + self.placed.count(name) * POD_GIB / NODE_GIB,
                }
                for name, address, load in SYNTHETIC
            }
        )


def by_name(rows):
    return {row.node: row for row in rows}


def expect(holds, what):
    if not holds:
        raise Trouble(f"expected {what}")


BURST_TEXT = f"""
A burst: {BURST} pods of a Deployment that nobody has seen before, {BURST_PER_S} a second.
Each requests 500m of CPU and 1 GiB. As kube-scheduler does, the demo asks about
one after the other, and binds it to the node with the most points. No reading
shows any of them before the last is placed:
"""


def tell_burst(demo, best, style):
    """Where the pods went, and why not all to @best, the node that had the most points before."""

    def is_counted():
        if demo.is_crane:
            rows = by_name(demo.rows())
            # The policy counts two of a minute as 1, and fewer as nothing.
            names = [name for name in demo.placed if demo.placed.count(name) >= 2]
            return all(rows[name].counted not in ("-", "0") for name in names)
        return sum(row["pods"] for row in demo.knows().values()) == BURST

    wait_until(is_counted, 60, "the pods to be counted")
    after = demo.rows()
    demo.say(demo.render(after, style))
    rows = by_name(after)
    expect(len(demo.placed) == BURST, "all pods to be placed")
    expect({"idle", "steady"} == set(demo.placed), "pods on both nodes below the limits")
    if demo.is_crane:
        demo.say(
            "\nRECENT is of bindings in the last minutes: each 1 takes 10 of 100 points off.\n"
        )
        return
    one = (int(rows[best.node].counted[:-1]) / 100 - best.cpu) / rows[best.node].pods
    everything = round(100 * (best.cpu + BURST * one))
    demo.say(
        "\nEach pod counts from the moment when it is placed: EXPECTED is the share of its"
        f"\nCPU that a node should soon use. By readings alone all {BURST} would have gone to"
        f"\n{best.node}, which should then use {everything}% of its CPU.\n"
    )


def tell_last(demo):
    """Why the last pod of the burst is where it is, as the plugin explains it."""
    pod = f"default/{demo.pods[BURST - 1]['metadata']['name']}"
    command = f"explain pod {pod}"
    if not demo.has_kubectl():
        demo.say(f"With kubectl 1.22 or later, `kubectl plimsoll {command}` says why.\n")
        return
    explained = demo.plugin(*command.split())
    demo.say(f"$ kubectl plimsoll {command}\n{explained}")
    expect(explained.startswith(f"{pod}: on {demo.placed[-1]}"), "the pod to be explained")


def show(demo, style):
    demo.say("Starting a node_exporter, four synthetic exporters, an API server stand-in,")
    demo.say("plimsoll-controller and plimsoll-extender.")
    demo.start()
    demo.create_pods()
    demo.say(f"Waiting for the first annotations (a scrape every {SCRAPE_INTERVAL_S} s) ...")
    wait_until(demo.is_annotated, 60, "annotations on every node")
    for name in ("hot-cpu", "full-memory"):
        wait_until(lambda: by_name(demo.rows())[name].verdict != "ok", 30, "the extender's watch")

    before = demo.rows()
    demo.say("\nThe nodes as the extender filters and ranks them:\n")
    demo.say(demo.render(before, style))
    rows = by_name(before)
    expect("cpu_usage" in rows["hot-cpu"].verdict, "hot-cpu to be rejected for its CPU")
    expect("mem_usage" in rows["full-memory"].verdict, "full-memory to be rejected for memory")
    expect(rows["idle"].verdict == rows["steady"].verdict == "ok", "idle and steady to pass")
    expect(rows["idle"].score > rows["steady"].score, "idle to rank above steady")
    for name, _, load in SYNTHETIC:
        expect(abs(rows[name].cpu - load["cpu"]) < 0.02, f"{name}'s CPU window near {load['cpu']}")
        expect(abs(rows[name].mem - load["mem"]) < 0.02, f"{name}'s memory window near its load")

    above = set(demo.above()) - {REAL_NODE[0]}  # its load is what it is
    expect(
        above == {"hot-cpu", "full-memory"}, "the status page to show the same two above a limit"
    )

    demo.say(BURST_TEXT)
    demo.burst()
    tell_burst(demo, before[0], style)
    tell_last(demo)

    def agreement():
        error, said = demo.real_node_error()
        assert error <= TOLERANCE, said
        return said

    demo.say(wait_until(agreement, 60, "this machine's windows to agree with /proc"))


def tell_more(demo):
    demo.say(
        f"""
The same in a browser: {demo.controller_url}/

  Beyond the line: {", ".join(demo.above())}. Choose a row to see a node in full.

Look further, from another terminal:

  export KUBECONFIG={demo.standin.kubeconfig}
  export PLIMSOLL_EXTENDER={demo.extender_url}
  {demo.program("kubectl-plimsoll")} top
  {demo.program("kubectl-plimsoll")} explain pod default/burst-0
  kubectl get nodes -o custom-columns='NODE:.metadata.name,CPU:.metadata.annotations.cpu_usage_avg_5m'

  extender:    {demo.extender_url}/readyz?verbose  {demo.extender_url}/metrics
  controller:  {demo.controller_url}/readyz?verbose  {demo.controller_url}/metrics

Logs: {demo.directory}"""
    )


def follow(demo, style):
    """Redraw until Ctrl-C; in a pipe, one table every half minute."""
    demo.say("\nThe pods run now, and readings follow. Ctrl-C ends everything.\n")
    height = 0
    while True:
        demo.check_alive()
        text = demo.render(demo.rows(), style)
        if style.is_terminal:
            # Without wrapping, so that a line stays one line in a narrow window too.
            back = f"\x1b[{height}A" if height else ""
            text = f"{back}\x1b[J\x1b[?7l{text}\x1b[?7h"
        demo.say(text)
        height = text.count("\n") + 1
        time.sleep(2 if style.is_terminal else 30)


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=TOP / "build", help="where the programs are")
    parser.add_argument("--once", action="store_true", help="end after the tables")
    parser.add_argument("--crane", action="store_true", help="by policy/crane.yaml")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, interrupt)
    style = table.Style(sys.stdout)
    directory = tempfile.mkdtemp(prefix="plimsoll-demo-")
    demo = Demo(options.build, directory, sys.stdout, options.crane)
    status = 0
    try:
        show(demo, style)
        if options.once:
            demo.say(
                "\n`make demo` keeps all of this running, to look at with kubectl and a browser."
            )
        else:
            tell_more(demo)
            demo.start_pods()
            follow(demo, style)
    except KeyboardInterrupt:
        demo.say("\nended")
    except (Trouble, AssertionError, OSError, KeyError, RuntimeError) as trouble:
        demo.say(f"\nsomething is off: {trouble}\nlogs: {directory}")
        status = 1
    finally:
        demo.stop()
    if status == 0:
        shutil.rmtree(directory, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
