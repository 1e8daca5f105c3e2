"""The demo: real programs, a real exporter, and a small cluster that is none.

Starts a node_exporter for this machine, synthetic ones for four nodes with other loads, a stand-in
for the API server, the controller and the extender; waits for the annotations, and shows the nodes as
the extender answers for them. Then a burst of pods lands on the best node, and the table shows what
that does. Without --once it goes on until Ctrl-C.
"""

import argparse
import json
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
BURST = 4
SCRAPE_INTERVAL_S = 2
SYNC_PERIOD = "10s"
TOLERANCE = 0.02

POD = {"metadata": {"name": "demo", "namespace": "default"}, "spec": {}, "status": {}}


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
    def __init__(self, build, directory, out):
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
        path = self.build / name.removeprefix("plimsoll-") / name
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
            self.standin.admin("nodes", {"names": [name], "first_address": address})
        self.names = [name for name, _ in nodes]

        self.policy = os.path.join(self.directory, "policy.yaml")
        text = (TOP / "policy" / "crane.yaml").read_text(encoding="utf-8")
        # Its scores can be read off the table, and a demo has no three minutes: written more often.
        text = re.sub(r"period: \w+", f"period: {SYNC_PERIOD}", text)
        pathlib.Path(self.policy).write_text(text, encoding="utf-8")
        common = [f"--policy-config-path={self.policy}", f"--kubeconfig={self.standin.kubeconfig}"]

        self.meter = CpuMeter()
        self.controller = self.run(
            [
                self.program("plimsoll-controller"),
                *common,
                f"--node-exporter-port={self.exporters.port}",
                f"--scrape-interval={SCRAPE_INTERVAL_S}s",
                "--health-port=0",
            ],
            "controller",
        )
        self.extender = self.run(
            [self.program("plimsoll-extender"), *common, "--port=0", "--compact-scores=false"],
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

    def ask(self, verb):
        arguments = {"Pod": POD, "Nodes": None, "NodeNames": self.names}
        answer = fetch(f"{self.extender_url}/demo/{verb}", "POST", arguments)
        if answer.status != 200:
            raise Trouble(f"the extender answered {verb} with {answer.status}")
        return answer.json()

    def explain(self):
        nodes = self.standin.get("/api/v1/nodes")
        result = subprocess.run(
            [
                self.program("plimsoll-extender"),
                "explain",
                f"--policy-config-path={self.policy}",
                "-o",
                "json",
            ],
            input=json.dumps(nodes),
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            raise Trouble(f"explain ended with {result.returncode}: {result.stderr}")
        return {row["node"]: row for row in json.loads(result.stdout)}

    def rows(self):
        """A row per node, best first: what its annotations say and what the extender answers."""
        filtered = self.ask("filter")
        rejected = {**filtered["FailedNodes"], **filtered["FailedAndUnresolvableNodes"]}
        scores = {row["Host"]: row["Score"] for row in self.ask("prioritize")}
        explained = self.explain()
        rows = []
        for name in self.names:
            annotations = self.standin.annotations(name)

            def reading(metric):
                return float(annotations[metric].split(",")[0]) if metric in annotations else None

            if (name in filtered["NodeNames"]) == (name in rejected):
                raise Trouble(f"{name} neither passes nor fails: {filtered}")
            rows.append(
                table.Row(
                    node=name,
                    score=scores[name],
                    score100=explained[name]["score100"],
                    cpu=reading("cpu_usage_avg_5m"),
                    cpu_1h=reading("cpu_usage_max_avg_1h"),
                    mem=reading("mem_usage_avg_5m"),
                    mem_1h=reading("mem_usage_max_avg_1h"),
                    hot=reading("node_hot_value"),
                    verdict=rejected.get(name, "ok"),
                )
            )
        return sorted(rows, key=lambda row: (row.verdict != "ok", -row.score, -row.score100))

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

    def burst(self, node):
        self.standin.add_pods(BURST, prefix="burst", nodes=[node])


def by_name(rows):
    return {row.node: row for row in rows}


def expect(holds, what):
    if not holds:
        raise Trouble(f"expected {what}")


def show(demo, style):
    demo.say("Starting a node_exporter, four synthetic exporters, an API server stand-in,")
    demo.say("plimsoll-controller and plimsoll-extender.")
    demo.start()
    demo.say(f"Waiting for the first annotations (a scrape every {SCRAPE_INTERVAL_S} s) ...")
    wait_until(demo.is_annotated, 60, "annotations on every node")
    wait_until(lambda: by_name(demo.rows())["hot-cpu"].verdict != "ok", 30, "the extender's watch")

    before = demo.rows()
    demo.say("\nThe nodes as the extender filters and ranks them:\n")
    demo.say(table.render(before, style))
    rows = by_name(before)
    expect("cpu_usage" in rows["hot-cpu"].verdict, "hot-cpu to be rejected for its CPU")
    expect("mem_usage" in rows["full-memory"].verdict, "full-memory to be rejected for memory")
    expect(rows["idle"].verdict == rows["steady"].verdict == "ok", "idle and steady to pass")
    expect(rows["idle"].score > rows["steady"].score, "idle to rank above steady")
    for name, _, load in SYNTHETIC:
        expect(abs(rows[name].cpu - load["cpu"]) < 0.02, f"{name}'s CPU window near {load['cpu']}")
        expect(abs(rows[name].mem - load["mem"]) < 0.02, f"{name}'s memory window near its load")

    status = fetch(f"{demo.controller_url}/status.json").json()
    above = {row["name"] for row in status["nodes"] if row["verdict"] == "rejected"}
    above.discard(REAL_NODE[0])  # its load is what it is
    expect(
        above == {"hot-cpu", "full-memory"}, "the status page to show the same two above a limit"
    )

    demo.burst("idle")
    demo.say(
        f"\nA burst: {BURST} pods were just bound to idle. Its load cannot show them yet, so the"
    )
    demo.say("hot value takes points off at once:\n")
    was = rows["idle"].score
    wait_until(lambda: by_name(demo.rows())["idle"].score < was, 30, "the burst to cost points")
    wait_until(lambda: by_name(demo.rows())["idle"].hot, 60, "the hot value's annotation")
    demo.say(table.render(demo.rows(), style))
    demo.say("")

    def agreement():
        error, said = demo.real_node_error()
        assert error <= TOLERANCE, said
        return said

    demo.say(wait_until(agreement, 60, "this machine's windows to agree with /proc"))


def tell_more(demo):
    program = demo.program("plimsoll-extender")
    explain = f"{program} explain --policy-config-path={demo.policy}"
    demo.say(
        f"""
The same in a browser: {demo.controller_url}/

  hot-cpu and full-memory are beyond the line. Choose a row to see the node's last hour.

Look further, from another terminal:

  export KUBECONFIG={demo.standin.kubeconfig}
  kubectl get nodes -o custom-columns='NODE:.metadata.name,CPU:.metadata.annotations.cpu_usage_avg_5m'
  kubectl get nodes -o json | {explain}

  (without kubectl: curl -s {demo.standin.url}/api/v1/nodes | {explain})

  extender:    {demo.extender_url}/readyz?verbose  {demo.extender_url}/metrics
  controller:  {demo.controller_url}/readyz?verbose  {demo.controller_url}/metrics

Logs: {demo.directory}"""
    )


def follow(demo, style):
    """Redraw until Ctrl-C; in a pipe, one table every half minute."""
    demo.say("\nCtrl-C ends everything.\n")
    height = 0
    while True:
        demo.check_alive()
        text = table.render(demo.rows(), style)
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
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, interrupt)
    style = table.Style(sys.stdout)
    directory = tempfile.mkdtemp(prefix="plimsoll-demo-")
    demo = Demo(options.build, directory, sys.stdout)
    status = 0
    try:
        show(demo, style)
        if options.once:
            demo.say(
                "\n`make demo` keeps all of this running, to look at with kubectl and a browser."
            )
        else:
            tell_more(demo)
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
