"""What an extender, or the admission list, costs the real kube-scheduler: CPU time a pod, of everybody
who has a share in it, and how long pods wait.

    tests/e2e/sandbox /usr/bin/python3 tests/bench/tax.py BUILD_DIRECTORY [--out FILE] [...]

One cluster per number of nodes: kube-apiserver, etcd, kwok, and nodes whose annotations are written
once. A run starts the peer (an extender, or none), creates the pods of a scheduler that is not there
yet, then starts that, and takes the difference between two moments: when the scheduler is under way,
and when no pod waits. So neither start counts. Then pods come one by one, and a client sees how long
each waits. The peers take turns, and what is compared is CPU time, which a busy machine changes less
than the clock's.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(TOP / "tests" / "e2e"), str(TOP / "tests" / "integration")]

# pylint: disable=wrong-import-position
from addresses import address_of  # noqa: E402
from cluster.admission import install_and_start  # noqa: E402
from cluster.control_plane import ControlPlane  # noqa: E402
from cluster.nodes import FIRST_ADDRESS, node_object, start_kwok  # noqa: E402
from cluster.plimsoll import Plimsoll  # noqa: E402
from cluster.workloads import Namespace, pod_object  # noqa: E402
from harness import Process, Watch, wait_until  # noqa: E402

# Of crane's policy, which the Go peer has built in; the recommended one needs fewer.
METRICS = [
    f"{resource}_usage_{window}"
    for resource in ("cpu", "mem")
    for window in ("avg_5m", "max_avg_1h", "max_avg_1d")
]
# Without the constraints that it adds by itself, kube-scheduler places equal pods in batches.
NO_SPREAD = {
    "name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": []},
}  # fmt: skip
SAMPLINGS = {
    "default": {},
    "100": {"percentageOfNodesToScore": 100},
    "default, no spread": {"profile": {"pluginConfig": [NO_SPREAD]}},
}
THREADS = 4
# Of the pods. Until then the scheduler opens connections and fills its caches.
WARM_UP_SHARE = 0.15
POLL_S = 0.2
SINGLE_EVERY_S = 0.05
IDLE_LOOK_S = 2
# name of a column: its heading, decimals
COLUMNS = {
    "scheduler_ms": ("scheduler CPU", 2),
    "pods_per_s": ("pods/s", 0),
    "extender_ms": ("extender CPU", 3),
    "p50_ms": ("creation to binding, p50", 0),
    "p99_ms": ("p99", 0),
}


def policy_text(name="policy", extra=""):
    """A policy of this tree, with readings that outlive the bench; `extra`: of spec.extender."""
    text = (TOP / "policy" / f"{name}.yaml").read_text(encoding="utf-8")
    text = re.sub(r"period: \w+", "period: 3h", text)
    return text.replace("scoring: estimate\n", f"scoring: estimate\n{extra}")


# name: (program, policy)
PEERS = {
    "none": (None, None),
    "ours": ("plimsoll-extender", policy_text()),
    "ours, no shortlist": ("plimsoll-extender", policy_text(extra="    shortlist: 0\n")),
    "ours, crane's policy": ("plimsoll-extender", policy_text("crane")),
    "admission": ("plimsoll-extender", policy_text()),
    "Go": ("go-extender", None),
}


def now_text():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_idle(process):
    before = process.cpu_s()
    time.sleep(IDLE_LOOK_S)
    return process.cpu_s() - before < 0.03 * IDLE_LOOK_S


class Cluster:
    """A control plane with so many nodes, all below every limit."""

    def __init__(self, directory, count):
        self.directory = directory
        self.count = count
        self.plane = ControlPlane(directory, "127.100.0.1")
        self.runs = 0
        random.seed(1)
        kwok = start_kwok(self.plane)
        Plimsoll.install(self.plane)
        stamp = now_text()
        self.items = [self.node(index, stamp) for index in range(count)]
        self.each(lambda item: self.plane.api.create("/api/v1/nodes", item), self.items)
        # It writes the status of every node, which everybody who watches nodes pays for.
        wait_until(lambda: is_idle(kwok), 300, "kwok to be through with the nodes")

    @staticmethod
    def node(index, stamp):
        item = node_object(f"node-{index:04}", address_of(FIRST_ADDRESS, index))
        usage = {metric: f"{random.uniform(0.1, 0.6):.5f},{stamp}" for metric in METRICS}
        item["metadata"]["annotations"].update(usage)
        return item

    @staticmethod
    def each(function, items):
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(function, items))

    def node_list(self):
        """A NodeList, as of now, in a file."""
        path = os.path.join(self.directory, "nodes.json")
        stamp = now_text()
        for item in self.items:
            notes = item["metadata"]["annotations"]
            notes.update(
                {metric: f"{notes[metric].partition(',')[0]},{stamp}" for metric in METRICS}
            )
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"items": self.items}, file)
        return path


class Bench:
    def __init__(self, build, directory, single):
        self.build = os.path.abspath(build)
        self.single = single
        self.directory = directory
        self.go = os.path.join(directory, "go-extender")

    def program(self, name):
        return self.go if name == "go-extender" else os.path.join(self.build, "extender", name)

    def has(self, name):
        """Whether this machine has that peer."""
        if PEERS[name][0] != "go-extender":
            return True
        source = HERE / "peers" / "go-extender"
        done = subprocess.run(["go", "build", "-o", self.go, "."], cwd=source, check=False)
        return done.returncode == 0

    def start_peer(self, cluster, name, space):
        """(the extender's process, its entry in the scheduler's configuration)"""
        program, policy = PEERS[name]
        if not program:
            return None, []
        if program == "go-extender":
            argv = [self.program(program), cluster.node_list()]
            process = Process(argv, space.name, cluster.directory)
            process.url = f"http://127.0.0.1:{process.wait_port()}"
            paths = {"urlPrefix": process.url}
        else:
            plimsoll = Plimsoll(
                cluster.plane,
                cluster.directory,
                lambda argv, who: Process(argv, f"{space.name}-{who}", cluster.directory),
                self.program,
            )
            path = plimsoll.write_policy(policy)
            if name == "admission":
                return install_and_start(plimsoll, space, path), []
            process = plimsoll.extender(path)
            paths = {}
        return process, [Plimsoll.scheduler_entry(process, preemptVerb="", **paths)]

    def run(self, cluster, sampling, name, pods):
        """One run: the row of figures, each per pod."""
        cluster.runs += 1
        label = f"run-{cluster.runs}"
        space = Namespace(cluster.plane, label)
        peer, entries = self.start_peer(cluster, name, space)
        cluster.each(lambda i: space.create(pod_object(f"web-{i:04}")), range(pods))
        scheduler = cluster.plane.start_scheduler(extenders=entries, **SAMPLINGS[sampling])
        try:
            before = warmed_up(scheduler, peer, WARM_UP_SHARE * pods)
            waiting = f"{space.root}/pods"
            wait_until(
                lambda: not cluster.plane.api.items(
                    waiting, fieldSelector="spec.nodeName=", limit=1
                ),
                600,
                f"{label}: no pod to wait",
                poll_s=POLL_S,
            )
            after = moment(scheduler, peer)
            waits_ms = single_waits_ms(cluster.plane, space, self.single)
        finally:
            scheduler.kill()
            if peer:
                peer.kill()
        space.delete_pods()
        space.remove()
        return {
            "nodes": cluster.count,
            "sampling": sampling,
            "peer": name,
            **per_pod(before, after),
            **percentiles(waits_ms),
        }


def single_waits_ms(plane, space, count):
    """Of each pod that comes alone: from before its creation until a watch shows it bound."""
    sent, waits_ms = {}, {}

    def take(pod):
        name = pod["metadata"]["name"]
        if name in sent and name not in waits_ms and pod["spec"].get("nodeName"):
            waits_ms[name] = (time.monotonic() - sent[name]) * 1e3

    def see():
        # A watch may end at any time; another one begins with what there is.
        while len(waits_ms) < count:
            with Watch(plane.url, f"{space.root}/pods?watch=1", {}, 600, plane.api.context) as seen:
                for kind, pod in iter(seen.next, None):
                    if kind == "ERROR":
                        break
                    take(pod)
                    if len(waits_ms) == count:
                        return

    threading.Thread(target=see, daemon=True).start()
    begin = time.monotonic()
    for i in range(count):
        time.sleep(max(0, begin + i * SINGLE_EVERY_S - time.monotonic()))
        sent[f"single-{i:03}"] = time.monotonic()
        space.create_pod(f"single-{i:03}")
    wait_until(lambda: len(waits_ms) == count, 120, f"{count} single pods to be bound", POLL_S)
    return list(waits_ms.values())


def percentiles(waits_ms):
    if not waits_ms:
        return {}
    cuts = statistics.quantiles(waits_ms, n=100)
    return {"p50_ms": cuts[49], "p99_ms": cuts[98]}


def warmed_up(scheduler, peer, pods):
    """The moment at which so many pods are through."""

    def look():
        found = moment(scheduler, peer)
        return found["pods"] >= pods and found

    return wait_until(look, 60, "the scheduler to be under way", poll_s=POLL_S)


def moment(scheduler, peer):
    status, page = scheduler.api.request("GET", "/metrics")
    scheduler.api.close()
    assert status == 200, page

    series = "scheduler_scheduling_algorithm_duration_seconds_count"
    found = re.search(rf"^{series} (\S+)$", page, re.MULTILINE)
    return {
        "at": time.monotonic(),
        "pods": float(found.group(1)) if found else 0.0,
        "scheduler": scheduler.cpu_s(),
        "extender": peer.cpu_s() if peer else 0.0,
    }


def per_pod(before, after):
    diff = {key: after[key] - before[key] for key in before}
    pods = diff["pods"]
    assert pods >= 50, f"only {pods:.0f} pods were left after the warm-up: ask for more"
    row = {f"{who}_ms": diff[who] * 1e3 / pods for who in ("scheduler", "extender")}
    return {**row, "pods_per_s": pods / diff["at"], "pods": pods}


def summary(runs):
    """Per nodes, sampling and peer: median, least and greatest of each column."""
    groups = {}
    for row in runs:
        groups.setdefault((row["nodes"], row["sampling"], row["peer"]), []).append(row)
    rows = []
    for (nodes, sampling, peer), members in groups.items():
        row = {"nodes": nodes, "sampling": sampling, "peer": peer, "runs": len(members)}
        for column in COLUMNS.keys() & members[0].keys():
            values = [member[column] for member in members]
            row[column] = [statistics.median(values), min(values), max(values)]
        rows.append(row)
    return rows


def table(rows):
    """Markdown: medians, and in brackets the least and the greatest."""
    columns = {name: what for name, what in COLUMNS.items() if name in rows[0]}
    heads = [head + ("" if name == "pods_per_s" else ", ms") for name, (head, _) in columns.items()]
    lines = [
        f"| nodes | sampling | extender | {' | '.join(heads)} |",
        "| --- " * (3 + len(columns)) + "|",
    ]
    for row in sorted(rows, key=lambda r: (r["nodes"], r["sampling"] != "default")):
        cells = [f"{row['nodes']:,}", row["sampling"], row["peer"]]
        for column, (_, digits) in columns.items():
            middle, least, most = (f"{value:.{digits}f}" for value in row[column])
            cells.append(f"{middle} ({least} to {most})")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--out", help="JSON: every run, and the medians")
    parser.add_argument("--nodes", default="1000,5000")
    parser.add_argument("--sampling", default="default;100", help="separated by semicolons")
    parser.add_argument("--peers", default=";".join(PEERS), help="separated by semicolons")
    parser.add_argument("--pods", type=int, default=500)
    parser.add_argument("--single", type=int, default=0, help="pods that come one by one")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def main():
    options = parse_arguments()
    directory = tempfile.mkdtemp(prefix="plimsoll-tax-")
    bench = Bench(options.build, directory, options.single)
    peers = [name for name in options.peers.split(";") if bench.has(name)]
    runs = []
    try:
        for count in map(int, options.nodes.split(",")):
            cluster = Cluster(os.path.join(directory, f"nodes-{count}"), count)
            try:
                for _ in range(options.rounds):
                    for sampling in options.sampling.split(";"):
                        # The scheduler takes 30 ms for a pod that looks at 5,000 nodes.
                        pods = options.pods // (2 if (count, sampling) == (5000, "100") else 1)
                        for name in peers:
                            runs.append(bench.run(cluster, sampling, name, pods))
                            print(json.dumps(runs[-1]), file=sys.stderr, flush=True)
            finally:
                cluster.plane.stop()
    finally:
        if options.out and runs:
            with open(options.out, "w", encoding="utf-8") as file:
                json.dump({"runs": runs, "rows": summary(runs)}, file, indent=1)
        shutil.rmtree(directory, ignore_errors=True)
    print(table(summary(runs)))


if __name__ == "__main__":
    main()
