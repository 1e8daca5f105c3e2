"""One controller and one extender with up to 100,000 nodes: what they take, and how fresh values are.

    scale.py BUILD_DIRECTORY                      measures, and writes tests/bench/results.md again
    scale.py BUILD_DIRECTORY --nodes 5000,20000   measures, and prints
    scale.py BUILD_DIRECTORY --nodes 5000 --kubelets 15   the same, with kubelets every 15 s
    scale.py BUILD_DIRECTORY --nodes 5000 --pods 30       with exporters, and 30 pods per node to measure

Nodes come from node_api, their pages from exporter_fleet or kubelet_fleet; results go to BUILD_DIRECTORY/bench-scale.json.
All of it shares the machine's cores, so times on the clock are those of a busy machine. A process
that may have fewer open files than there are nodes makes some connections again for each scrape, which
costs more CPU; the table says for which sizes.
"""

import argparse
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "integration"))

from controller_cost import REPLY_MS, run_time_s, write_page  # noqa: E402
from controller_kit import Controller  # noqa: E402
from harness import Process, fetch, wait_until  # noqa: E402
from panels import panels  # noqa: E402
from report import PAGE, figure, machine, replace_between  # noqa: E402
from tls_kit import Authority  # noqa: E402

PICTURE = PAGE.parent / "performance-scale.svg"
MARKS = "<!-- scale -->", "<!-- scale end -->"
SIZES = (5000, 20000, 50000, 100000)
INTERVAL_S = 60  # between two scrapes of a node
HEARTBEAT_S = 300  # a kubelet's, when nothing changes
FILL_S = 100  # in which --patch-qps writes every node once
SETTLE_S = 45
LOOK_S = 60
NAMES = (500, 10000)


def quantile(buckets, share):
    """Of a histogram's {upper bound: cumulative count}, linear within a bucket."""
    rows = sorted(buckets.items())
    wanted = share * rows[-1][1]
    low, below = 0.0, 0
    for bound, count in rows:
        if count >= wanted and count > below:
            high = low if bound == float("inf") else bound
            return low + (high - low) * (wanted - below) / (count - below)
        low, below = bound, count
    return low


def sample_ages(text):
    found = re.findall(r'^plimsoll_sample_age_seconds_bucket\{le="([^"]+)"\} (\d+)', text, re.M)
    return {float(bound): int(count) for bound, count in found}


class Running:
    """Both programs and their peers."""

    def __init__(self, build, nodes, work, kubelets_s=None, pods=0):
        """`kubelets_s`: the interval of kubelets in the exporters' place."""
        self.nodes, self.parts, self.kubelets_s, self.pods = nodes, [], kubelets_s, pods
        self.started = time.monotonic()
        try:
            self._start(build, work)
        except BaseException:
            self.stop()
            raise

    def _part(self, name, *argv):
        part = Process(list(map(str, argv)), name, self.work)
        self.parts.append(part)
        return part

    def _start(self, build, work):
        self.work, bench = work, build / "tests/bench"
        kubelet_port, sources = self._start_pages(bench)
        api = self._part(
            "api", bench / "node_api", self.nodes, HEARTBEAT_S, kubelet_port, self.pods
        )
        api = api.wait_port()
        self.api_url = f"http://127.0.0.1:{api}"
        self.patch_qps = max(50, self.nodes // FILL_S)
        common = [
            f"--master={self.api_url}",
            f"--policy-config-path={TOP}/policy/policy.yaml",
            "--bind-address=127.0.0.1",
        ]
        self.started = time.monotonic()
        self.extender = self._part(
            "extender", build / "extender/plimsoll-extender", *common, "--port=0"
        )
        self.process = self._part(
            "controller",
            build / "controller/plimsoll-controller",
            *common,
            *sources,
            f"--patch-qps={self.patch_qps}",
            "--leader-elect=false",
            "--health-port=0",
        )
        self.controller = Controller(self.process)
        self.extender_port = self.extender.wait_port()

    def _start_pages(self, bench):
        """The port of the kubelets, 0 without; and the controller's flags."""
        sources = []
        if not self.kubelets_s:
            page = os.path.join(self.work, "page")
            write_page(page)
            port = self._part("fleet", bench / "exporter_fleet", page, REPLY_MS).wait_port()
            template = f"--target-url-template=http://{{address}}:{port}/metrics"
            if not self.pods:
                return 0, [template, f"--scrape-interval={INTERVAL_S}s"]
            url = template.partition("=")[2]
            sources.append({"kind": "node-exporter", "interval": f"{INTERVAL_S}s", "url": url})
        authority = Authority(self.work, "kubelets")
        pair = authority.server("kubelet", names="DNS:kubelet")
        program = TOP / "tests/bench/kubelet_fleet.py"
        port = self._part("fleet", sys.executable, program, *pair, self.pods).wait_port()
        token, file = os.path.join(self.work, "token"), os.path.join(self.work, "sources.json")
        pathlib.Path(token).write_text("token", encoding="ascii")
        source = {
            "kind": "kubelet",
            "interval": f"{self.kubelets_s or INTERVAL_S}s",
            "tls_config": {"ca_file": authority.cert, "server_name": "kubelet"},
            "authorization": {"credentials_file": token},
        }
        pathlib.Path(file).write_text(json.dumps({"sources": [*sources, source]}), encoding="ascii")
        return port, [f"--sources={file}"]

    def stats(self):
        return fetch(f"{self.api_url}/stats").json()

    def is_full(self):
        return self.stats()["nodes"] == self.nodes

    def measure(self):
        row = {"nodes": self.nodes, "patch_qps": self.patch_qps}
        wait_until(self.is_full, 1800, "all nodes to have annotations", poll_s=1)
        row["full_s"] = time.monotonic() - self.started
        # The patches of the beginning came close together; and the extender has read them.
        time.sleep(SETTLE_S)
        programs = {"controller": self.process, "extender": self.extender}
        before = {name: run_time_s(program.pid) for name, program in programs.items()}
        ages, patches, began = self._ages(), self.stats()["patches"], time.monotonic()
        scrapes = self.controller.metric("plimsoll_scrapes_total", result="ok")
        time.sleep(LOOK_S)
        took_s = time.monotonic() - began
        for name, program in programs.items():
            row[f"{name}_cpu"] = (run_time_s(program.pid) - before[name]) / took_s
            row[f"{name}_mib"] = program.rss_kib() / 1024
        stats = self.stats()
        row["patches_per_s"] = (stats["patches"] - patches) / took_s
        row["scrapes_per_s"] = (
            self.controller.metric("plimsoll_scrapes_total", result="ok") - scrapes
        ) / took_s
        row["value_age_s"] = [stats[key] / 1000 for key in ("p50_ms", "p99_ms")]
        grown = {bound: count - ages[bound] for bound, count in self._ages().items()}
        row["sample_age_s"] = [quantile(grown, share) for share in (0.5, 0.99)]
        row["connections"] = self.process.open_files()
        return row

    def _ages(self):
        return sample_ages(self.controller.page("/metrics").text)

    def filter_ms(self, build, count, requests):
        """The median, and the 99th of 100, of a call with so many names."""
        random.seed(count)
        chosen = random.sample(range(self.nodes), min(count, self.nodes))
        body = os.path.join(self.work, f"names-{count}")
        with open(body, "w", encoding="utf-8") as file:
            pod = {"metadata": {"name": "web-1", "namespace": "shop"}, "spec": {"containers": []}}
            json.dump({"Pod": pod, "NodeNames": [f"node-{number:06}" for number in chosen]}, file)
        load = build / "tests/bench/extender_load"
        argv = [load, self.extender_port, "/filter", body, requests, self.extender.pid]
        done = subprocess.run(list(map(str, argv)), stdout=subprocess.PIPE, text=True, check=True)
        return [float(field) / 1000 for field in done.stdout.split()[:2]]

    def stop(self):
        for part in reversed(self.parts):
            part.kill()


def measure(build, nodes, kubelets_s, pods):
    with tempfile.TemporaryDirectory() as work:
        running = Running(build, nodes, work, kubelets_s, pods)
        try:
            row = running.measure()
            row["filter_ms"] = {
                str(count): running.filter_ms(build, count, 5000000 // (count + 5000))
                for count in NAMES
            }
            return row
        finally:
            running.stop()


def kib_a_node(name, row, first):
    """None at the smallest size: the program itself and its libraries are most of it."""
    if row["nodes"] == first["nodes"]:
        return None
    return (row[f"{name}_mib"] - first[f"{name}_mib"]) * 1024 / (row["nodes"] - first["nodes"])


def scrape_us(row):
    """Patches and the watch are in it: all that a node costs."""
    return row["controller_cpu"] / row["scrapes_per_s"] * 1e6


def table(rows):
    def each(name):
        def value(row):
            kib = kib_a_node(name, row, rows[0])
            return "" if kib is None else f"{kib:.1f} KiB"

        return value

    def line(name, value):
        return f"| {name} | " + " | ".join(value(row) for row in rows) + " |"

    def pair(values, unit):
        return f"{figure(values[0])} / {figure(values[1])} {unit}"

    few, many = map(str, NAMES)
    lines = [
        line("nodes", lambda row: f"{row['nodes']:,}"),
        "| --- " * (len(rows) + 1) + "|",
        line("scraped every", lambda row: f"{INTERVAL_S} s"),
        line("scrapes a second", lambda row: figure(row["scrapes_per_s"])),
        line("controller, CPU", lambda row: f"{row['controller_cpu']:.1%} of a core"),
        line("CPU for a scrape", lambda row: f"{scrape_us(row):.0f} us"),
        line("connections kept", lambda row: f"{min(row['connections'] / row['nodes'], 1):.0%} of the nodes"),
        line("controller, memory", lambda row: f"{row['controller_mib']:.0f} MiB"),
        line("for each node more", each("controller")),
        line("extender, CPU", lambda row: f"{row['extender_cpu']:.1%} of a core"),
        line("extender, memory", lambda row: f"{row['extender_mib']:.0f} MiB"),
        line("for each node more", each("extender")),
        line("start to the first full table", lambda row: f"{row['full_s']:.0f} s"),
        line("`--patch-qps`; patches a second", lambda row: f"{row['patch_qps']}; {row['patches_per_s']:.0f}"),
        line("age of a sample when written, p50 / p99", lambda row: pair(row["sample_age_s"], "s")),
        line("age of an annotation, p50 / p99", lambda row: pair(row["value_age_s"], "s")),
        line(f"filter, {int(few):,} names, p50 / p99", lambda row: pair(row["filter_ms"][few], "ms")),
        line(f"filter, {int(many):,} names, p50 / p99", lambda row: pair(row["filter_ms"][many], "ms")),
    ]  # fmt: skip
    return "\n".join(lines)


PANELS = (
    ("controller's CPU for a scrape, us", (("", scrape_us),)),
    ("memory, MiB", (("controller", lambda row: row["controller_mib"]),
                     ("extender", lambda row: row["extender_mib"]))),
    ("age of an annotation, s", (("p99", lambda row: row["value_age_s"][1]),
                                 ("p50", lambda row: row["value_age_s"][0]))),
    ("filter, p50, ms", (("10,000 names", lambda row: row["filter_ms"]["10000"][0]),
                         ("500 names", lambda row: row["filter_ms"]["500"][0]))),
)  # fmt: skip
def picture(rows):
    most = max(row["nodes"] for row in rows)
    ticks = [(row["nodes"], f"{row['nodes'] // 1000}k") for row in rows]
    drawn = [
        (title, [(name, [(row["nodes"], value(row)) for row in rows]) for name, value in curves])
        for title, curves in PANELS
    ]
    return panels("What the programs take, by the number of nodes", drawn, most, ticks, marks=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--nodes", help="sizes, comma-separated")
    parser.add_argument("--pods", type=int, default=0, help="of each node, to be measured")
    parser.add_argument("--kubelets", type=int, metavar="SECONDS", help="scrape kubelets so often")
    options = parser.parse_args()
    out = options.build / "bench-scale.json"
    sizes = [int(size) for size in options.nodes.split(",")] if options.nodes else SIZES
    rows = []
    for nodes in sizes:
        rows.append(measure(options.build, nodes, options.kubelets, options.pods))
        print(json.dumps(rows[-1]), flush=True)
        out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(table(rows))
    if not options.nodes:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        about = f"Machine: {machine()}; at most {files:,} open files."
        replace_between(PAGE, MARKS, f"{about}\n\n{table(rows)}")
        PICTURE.write_text(picture(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
