"""What plimsoll-controller costs while it runs, for a number of nodes; see README.md.

The whole program: scrapes of every node each 15 s, windows, and patches in the periods of
policy/crane.yaml, against the stand-in API server and exporter_fleet, whose replies take 1 to 4 ms.
It runs `--rounds` times; medians are printed. With `--prometheus`, Debian's Prometheus with
crane-scheduler's rules takes its turn on the same pages.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

from controller_kit import Controller  # noqa: E402
from exporters.target import Clock, Target  # noqa: E402
from harness import Process, StandIn, wait_until  # noqa: E402
from prometheus_cost import PrometheusCost  # noqa: E402

INTERVAL_S = 15
REPLY_MS = 4
LOOK_S = 60


def write_page(path):
    """What the fleet's pages are made from: node_exporter's on a node of 8 CPUs."""
    target = Target("node", Clock(), {"cpu": 0.3, "mem": 0.4}, 8)
    with open(path, "wb") as file:
        file.write(target.page(("cpu", "loadavg", "meminfo")))


def run_time_s(pid):
    """User and system time of all threads, to the nanosecond."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


class Running:
    """A controller, with a stand-in and exporters of its own."""

    def __init__(self, program, fleet, nodes, work):
        os.makedirs(work, exist_ok=True)
        self.nodes, self.parts = nodes, []
        try:
            page = os.path.join(work, "page")
            write_page(page)
            exporters = Process([fleet, page, str(REPLY_MS)], "fleet", work)
            self.parts.append(exporters)
            port = exporters.wait_port()
            self.standin = StandIn(work, "--nodes", str(nodes))
            self.parts.append(self.standin.process)
            self.process = Process(
                [
                    program,
                    f"--kubeconfig={self.standin.kubeconfig}",
                    f"--policy-config-path={os.path.join(ROOT, 'policy', 'crane.yaml')}",
                    f"--target-url-template=http://{{address}}:{port}/metrics",
                    f"--scrape-interval={INTERVAL_S}s",
                    "--patch-qps=1000",  # the beginning is soon over
                    "--bind-address=127.0.0.1",
                    "--health-port=0",
                ],
                "controller",
                work,
            )
            self.parts.append(self.process)
            self.controller = Controller(self.process)
            wait_until(self._is_steady, 600, "all nodes to be written", poll_s=1)
        except BaseException:
            self.stop()
            raise

    def _is_steady(self):
        metrics = self.controller.metrics()
        written = self.standin.admin("patches/summary")["objects"]
        return written == self.nodes and metrics["plimsoll_patches_waiting"] <= self.nodes / 100

    def scrapes(self):
        return self.controller.metric("plimsoll_scrapes_total", result="ok")

    def measure(self):
        pid = self.process.pid
        self.scrapes()  # the page's own memory is there
        before = time.monotonic(), run_time_s(pid), self.scrapes()
        time.sleep(LOOK_S)
        after = time.monotonic(), run_time_s(pid), self.scrapes()
        took_s, cpu_s, scrapes = (b - a for a, b in zip(before, after))
        return {
            "share": cpu_s / took_s,
            "us": cpu_s / scrapes * 1e6,
            "mib": self.process.rss_kib() / 1024,
        }

    def stop(self):
        for part in reversed(self.parts):
            part.kill()


def once(program, fleet, nodes, work):
    running = Running(program, fleet, nodes, work)
    try:
        return running.measure()
    finally:
        running.stop()


def once_prometheus(fleet, nodes, work):
    page = os.path.join(work, "page")
    write_page(page)
    running = PrometheusCost(fleet, page, REPLY_MS, nodes, INTERVAL_S, work)
    try:
        return running.measure(LOOK_S)
    finally:
        running.stop()


def show_prometheus(rows, ours):
    share, mib = (statistics.median(row[key] for row in rows) for key in ("share", "mib"))
    print(
        f"  {'Prometheus':14} {share:7.2%} of a core  {mib:6.0f} MiB: {share / ours['share']:.1f} times the CPU, "
        f"{mib / ours['mib']:.0f} times the memory"
    )
    return {"share": share, "mib": mib}


def show(rows):
    median = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    print(
        f"  {'controller':14} {median['share']:7.2%} of a core  {median['mib']:6.1f} MiB"
        f"  {median['us']:6.0f} us a scrape"
    )
    return median


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--nodes", default="1000,5000")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--prometheus", action="store_true")
    parser.add_argument("--out", help="a file for the medians, as JSON")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    fleet = os.path.join(build, "tests/bench/exporter_fleet")
    program = os.path.join(build, "controller/plimsoll-controller")
    found = []
    for nodes in map(int, options.nodes.split(",")):
        rows, peer_rows = [], []
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as work:
                rows.append(once(program, fleet, nodes, work))
            if options.prometheus:
                with tempfile.TemporaryDirectory() as work:
                    peer_rows.append(once_prometheus(fleet, nodes, work))
        print(f"{nodes} nodes every {INTERVAL_S} s, median of {options.rounds} x {LOOK_S} s")
        found.append({"nodes": nodes, "this": show(rows)})
        if options.prometheus:
            found[-1]["Prometheus"] = show_prometheus(peer_rows, found[-1]["this"])
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
