"""Runs plimsoll-extender and the Go peer side by side and compares them; see extender_peer.sh.

Both know the same 5,000 nodes, one in twenty of them overloaded, and are asked the same by turns. With
two cores or more, servers share one and the client has another.
"""

import datetime
import json
import os
import random
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# What the Go peer has built in.
POLICY = os.path.join(HERE, "..", "..", "policy", "crane.yaml")
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

from harness import Process, StandIn, fetch, wait_until  # noqa: E402

METRICS = [
    f"{resource}_usage_{window}"
    for resource in ("cpu", "mem")
    for window in ("avg_5m", "max_avg_1h", "max_avg_1d")
]
REPETITIONS = int(os.environ.get("REPETITIONS", "5"))
WITHOUT = os.environ.get("WITHOUT")  # a body that is left out
GROUPS = 20
SHAPES = [
    # body, verb, requests a repetition
    ("names-5000", "filter", 200),
    ("names-5000", "prioritize", 200),
    ("names-500", "filter", 1000),
    ("names-500", "prioritize", 1000),
    ("nodes-500", "filter", 40),
    ("nodes-5000", "filter", 8),
]
COLUMNS = ("p50_us", "p99_us", "cpu_us")
NAMES = ("ours", "Go")


def pinned(core, *argv):
    cores = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cores[core % len(cores)]), *argv] if len(cores) > 1 else list(argv)


def add_nodes(standin, names):
    random.seed(1)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    for group in range(GROUPS):
        usage = {m: 0.9 if group == 0 else random.uniform(0, 0.6) for m in METRICS}
        standin.admin(
            "nodes",
            {
                "names": names[group::GROUPS],
                "images": 0,
                "first_address": None,
                "annotations": {m: f"{u:.5f},{now}" for m, u in usage.items()},
            },
        )


def measure(build, port, pid, work, body, verb, count):
    argv = [os.path.join(build, "tests/bench/extender_load"), str(port), f"/{verb}"]
    argv += [os.path.join(work, body), str(count), str(pid)]
    done = subprocess.run(pinned(0, *argv), stdout=subprocess.PIPE, text=True, check=True)
    return [float(field) for field in done.stdout.split()]


def main():
    build, work, *out = sys.argv[1:]
    build = os.path.abspath(build)
    subprocess.run([os.path.join(build, "tests/bench/request_bodies"), work], check=True)
    with open(os.path.join(work, "names-5000"), encoding="utf-8") as file:
        names = json.load(file)["NodeNames"]
    standin = StandIn(work)
    servers = []
    try:
        add_nodes(standin, names)
        listed = os.path.join(work, "nodes.json")
        with open(listed, "w", encoding="utf-8") as file:
            file.write(standin.call("GET", "/api/v1/nodes").text)
        extender = os.path.join(build, "extender/plimsoll-extender")
        ours = [extender, f"--kubeconfig={standin.kubeconfig}", "--port=0"]
        ours += [f"--policy-config-path={POLICY}"]
        servers = [
            Process(pinned(1, *ours), "ours", work),
            Process(pinned(1, f"{work}/go-extender", listed), "go", work, {"GOMAXPROCS": "1"}),
        ]
        ports = [server.wait_port() for server in servers]
        url = f"http://127.0.0.1:{ports[0]}/readyz"
        wait_until(lambda: fetch(url).status == 200, 60, "readiness")
        results = []
        for body, verb, count in SHAPES:
            if body == WITHOUT:
                continue
            rows = [[] for _ in servers]
            for _ in range(REPETITIONS):
                for server, port, row in zip(servers, ports, rows):
                    row.append(measure(build, port, server.pid, work, body, verb, count))
            medians = [[statistics.median(column) for column in zip(*row)] for row in rows]
            size = os.path.getsize(os.path.join(work, body))
            print(f"{verb} {body}, {size / 1e3:.0f} kB, median of {REPETITIONS} x {count}")
            results.append({"body": body, "verb": verb})
            for name, (p50, p99, cpu) in zip(NAMES, medians):
                results[-1][name] = dict(zip(COLUMNS, (p50, p99, cpu)))
                print(f"  {name:14} p50 {p50:9.0f} us  p99 {p99:9.0f} us  CPU {cpu:9.0f} us")
            p50, cpu = (medians[1][i] / medians[0][i] for i in (0, 2))
            print(f"  against Go: p50 {p50:6.1f}x, CPU {cpu:6.1f}x")
        if out:
            with open(out[0], "w", encoding="utf-8") as file:
                json.dump(results, file)
    finally:
        for server in servers:
            server.kill()
        standin.process.stop()


if __name__ == "__main__":
    main()
