"""Ten days of a cluster that changes all the time, and one at the default intervals: what the programs
take does not grow.

In each hour nodes, pods, workloads and exporters come and go, with new names; every third brings
another policy. Watches are cut, positions in them are lost, the API server is away. A scheduler
calls, and somebody looks at all pages. The clock leaps (leaping_clock.py), so ten days take about
half an hour.
"""

import itertools
import json
import os
import random
import statistics

import pytest

from controller_kit import Controller, offered_milli, policy
from extender_kit import Extender
from growth import DAY, WARM_DAYS, growth, lines_a_day
from kubelet_kit import add_pod
from leaping_clock import LeapingClock
from policies import IDLE

DAYS = 10
SPEED = 1000  # at most
HOUR_S = 3600
NODES, NEW_NODES = 24, 2  # a cluster, and what is replaced in an hour
NEW_PODS, POD_HOURS = 20, 6
BATCH_PODS = 4  # new ones on idle CPU
NEW_CALLS = 25
ILL_EXPORTERS = 4
# All that alternates comes round once a day, so that days are alike.
ILLNESSES = ("hang", "mute", "rst", "close", "status", "html", "empty", "not_http")
AWAY_S = 300
# Scrapes and renewals take the peers' time: less often than by default.
SELDOM = (
    "--scrape-interval=3m",
    "--leader-elect-lease-duration=10m",
    "--leader-elect-renew-deadline=8m",
    "--leader-elect-retry-period=1m",
)
# Of a day at the default intervals: at least so many scrapes and renewals, and from its second quarter,
# when each policy has been in force, to its last at most so much more.
SCRAPES_MIN, RENEWALS_MIN = 110_000, 30_000
KIB_MORE, DESCRIPTORS_MORE = 768, 12
KEPT_DECISIONS = 1024
# What neither program ever takes.
MOST_MIB = 32


def policies():
    """One after the other, forever: plain, with taints, with more metrics and idle CPU, refused."""
    means = {"cpu_usage_avg_5m": "3m", "mem_usage_avg_5m": "3m"}
    more = {"cpu_usage_max_avg_1d": "15m", "cpu_usage_p95_1h": "15m", "net_usage_avg_1h": "15m"}
    kinds = (
        (means, {"extender": {"scoring": "estimate"}}),
        (means, {"extender": {"scoring": "estimate"}, "taints": {"levels": [0.5, 0.8]}}),
        (
            {**means, **more},
            {"hotValue": [{"timeRange": "5m", "count": 5}], "idle": {"line": 0.65, "peak": "1d"}},
        ),
        (means, {"extender": {"scoring": "guess"}}),
    )
    for number, (metrics, spec) in enumerate(itertools.cycle(kinds)):
        limit = {"cpu_usage_avg_5m": 0.5 + 0.1 * (number % 4)}
        made = policy(metrics, limit, dict.fromkeys(means, 1))
        made["metadata"] = {"name": "default"}
        made["spec"].update(spec)
        yield made


class Churn:
    """What happens in an hour."""

    def __init__(self, standin, exporters, controller, extender, clock):
        self.standin, self.exporters, self.clock = standin, exporters, clock
        self.controller, self.extender = controller, extender
        self.processes = [each.process for each in (standin, exporters, controller, extender)]
        self.nodes, self.node_count, self.policies = {}, 0, policies()
        self.add_nodes(NODES)

    def run(self, seconds):
        self.clock.run(seconds, self.processes)

    def add_nodes(self, count):
        for row in self.standin.add_nodes(count, start=self.node_count):
            self.nodes[row["name"]] = row["address"]
        self.node_count += count

    def hour(self, number):
        self.replace_nodes()
        self.replace_pods(number)
        self.change_exporters(number)
        if number % 3 == 0:
            obj = {"resource": "dynamicschedulerpolicies", "object": next(self.policies)}
            self.standin.admin("objects", obj)
        self.trouble_watches(number)
        self.schedule(number)
        for path in ("/", "/status.json", "/metrics"):
            self.controller.page(path)
        for path in ("/decisions", "/metrics", "/nowhere"):
            self.extender.page(path)

    def replace_nodes(self):
        gone = list(self.nodes)[:NEW_NODES]
        self.standin.admin("delete", {"resource": "nodes", "names": gone})
        for name in gone:
            del self.nodes[name]
        self.add_nodes(NEW_NODES)

    def replace_pods(self, number):
        """Those of an hour are a workload, in a namespace of its own."""
        kind = ("ReplicaSet", "DaemonSet", "Job")[number % 3]
        new, ended, gone = (f"hour-{number - age}" for age in (0, POD_HOURS - 1, POD_HOURS))
        pods = {"prefix": f"pod-{number}-", "namespace": new, "owner_kind": kind}
        self.standin.add_pods(NEW_PODS, nodes=list(self.nodes), phase="Running", **pods)
        for place, node in enumerate(list(self.nodes)[:BATCH_PODS]):
            add_pod(self.standin, new, f"batch-{place}", node, **{IDLE: "500"})
        self.standin.admin("phase", {"namespace": ended, "phase": "Succeeded"})
        self.standin.admin("delete", {"resource": "pods", "namespace": gone})

    def change_exporters(self, number):
        self.exporters.well()
        ill = list(self.nodes.values())[number % NODES :][:ILL_EXPORTERS]
        self.exporters.trouble(ill, ILLNESSES[number % len(ILLNESSES)], may_miss=True)
        self.exporters.set([ill[0]], load={"cpu": (number % 8) / 8})

    def trouble_watches(self, number):
        if number % 24 == 23:
            self.standin.admin("listen", {"on": False})
            self.run(AWAY_S)
            self.standin.admin("listen", {"on": True})
        elif number % 8 == 3:
            self.standin.admin("watches/cut", {"reset": True})
        elif number % 8 == 7:
            self.standin.admin("compact", {"watches": "expire"})

    def schedule(self, number):
        candidates = [*self.nodes, f"stranger-{number}"]
        containers = [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]
        with self.extender.scheduler() as scheduler:
            for call in range(NEW_CALLS):
                name = f"pod-{number}-{call}"
                metadata = {"name": name, "namespace": f"hour-{number}", "uid": name}
                pod = {"metadata": metadata, "spec": {"containers": containers}}
                scheduler.prioritize(scheduler.filter(candidates, pod)[0], pod)


def taken(process):
    """What a program takes now."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        status = dict(line.split(":", 1) for line in file)
    return {
        "rss_kib": int(status["VmRSS"].split()[0]),
        "descriptors": process.open_files(),
        "threads": int(status["Threads"]),
        "log_lines": process.stderr().count("\n"),
    }


@pytest.fixture
def start_churn(start_standin, start_exporters, run, binary, tmp_path, monkeypatch):
    """Starts both programs and their peers, by one clock."""

    def start(*flags):
        clock = LeapingClock(tmp_path / "clock", SPEED)
        with monkeypatch.context() as patched:
            for name, value in clock.env.items():
                patched.setenv(name, value)
            standin, exporters = start_standin(), start_exporters()
            argv = [
                binary("plimsoll-controller", "release"),
                *("--health-port=0", "--bind-address=127.0.0.1", *flags),
                f"--target-url-template=http://{{address}}:{exporters.port}/metrics",
                f"--kubeconfig={standin.kubeconfig}",
            ]
            controller = Controller(run(argv, "plimsoll-controller"))
            extender = Extender(run, standin, build="release")
        controller.wait_ready()
        extender.wait_ready()
        return Churn(standin, exporters, controller, extender, clock)

    return start


def live(churn, hours, path):
    """{program: {measure: what it took at the end of each hour}}, which is written to a file as well."""
    programs = {"controller": churn.controller.process, "extender": churn.extender.process}
    rows = []
    for hour in range(hours):
        churn.hour(hour)
        churn.run(HOUR_S)
        rows.append({name: taken(process) for name, process in programs.items()})
        with open(path, "w", encoding="ascii") as file:
            json.dump(rows, file)
    return {
        name: {measure: [row[name][measure] for row in rows] for measure in rows[0][name]}
        for name in programs
    }


@pytest.mark.nightly
@pytest.mark.timeout(3 * 3600)
def test_ten_days(start_churn, log_dir):
    found_of = live(start_churn(*SELDOM), DAYS * DAY, os.path.join(log_dir, "ten-days.json"))
    for name, measures in found_of.items():
        assert max(measures["rss_kib"]) < MOST_MIB * 1024
        for measure, samples in measures.items():
            per_day = DAY
            if measure == "log_lines":
                samples, per_day = lines_a_day(samples), 1
            found = growth(samples[WARM_DAYS * per_day :], per_day)
            print(f"{name}, {measure}: {found}")
            assert found.is_flat(measure), (name, measure, samples)


@pytest.mark.nightly
@pytest.mark.timeout(2 * 3600)
def test_a_day_at_the_default_intervals(start_churn, log_dir):
    churn = start_churn()
    # What grows by itself on the first two days.
    for number in range(KEPT_DECISIONS // NEW_CALLS + 1):
        churn.schedule(-number)
    found_of = live(churn, DAY, os.path.join(log_dir, "a-day.json"))
    offers = sum(offered_milli(row) is not None for row in churn.standin.patches())
    scrapes = churn.controller.metric("plimsoll_scrapes_total", result="ok", source="node-exporter")
    renewals = churn.standin.count(resource="leases", verb="update", code=200)
    print(f"{scrapes} scrapes, {renewals} renewals, {offers} offers of idle CPU")
    for name, measures in found_of.items():
        print(f"{name}: {measures}")
        more = {
            key: statistics.median(found[DAY * 3 // 4 :])
            - statistics.median(found[DAY // 4 : DAY // 2])
            for key, found in measures.items()
        }
        print(f"{name}, from the second quarter to the last: {more}")
        assert max(measures["rss_kib"]) < MOST_MIB * 1024
        assert more["rss_kib"] <= KIB_MORE, name
        assert more["descriptors"] <= DESCRIPTORS_MORE and more["threads"] <= 0, name
    assert scrapes >= SCRAPES_MIN and renewals >= RENEWALS_MIN and offers > 0


# -- the statistic distinguishes what is flat from what grows -----------------------------------

HOURS = range(8 * DAY)
BASE_KIB = 12 * 1024


def noise(hour):
    """What comes round once a day, and what is random."""
    return 80 * ((hour % 24) > 12) + random.Random(hour).uniform(0, 100)


FLAT = {
    "still": (lambda hour: BASE_KIB, "rss_kib"),
    "noise": (lambda hour: BASE_KIB + noise(hour), "rss_kib"),
    "peaks": (lambda hour: BASE_KIB + 4096 * (hour % 24 == 7) + noise(hour), "rss_kib"),
    "falls": (lambda hour: BASE_KIB - 10 * hour, "rss_kib"),
    "one step early": (lambda hour: BASE_KIB + 132 * (hour > 20) + noise(hour), "rss_kib"),
    "connections that vary": (lambda hour: 20 + hour % 7 + (hour // 24) % 3, "descriptors"),
    "two connections more": (lambda hour: 20 + 2 * (hour > 90), "descriptors"),
}
GROWING = {
    "4 KiB an hour": (lambda hour: BASE_KIB + 4 * hour + noise(hour), "rss_kib"),
    "in steps": (lambda hour: BASE_KIB + 132 * (hour // 30) + noise(hour), "rss_kib"),
    "one step, late": (lambda hour: BASE_KIB + 500 * (hour > 160) + noise(hour), "rss_kib"),
    "a descriptor a day": (lambda hour: 85 + hour // 24 + hour % 7, "descriptors"),
}


@pytest.mark.parametrize("name", [*FLAT, *GROWING])
def test_is_flat(name):
    sample, measure = {**FLAT, **GROWING}[name]
    found = growth([sample(hour) for hour in HOURS])
    assert found.is_flat(measure) == (name in FLAT), found


def test_lines_a_day():
    assert lines_a_day([2 * hour + 7 for hour in range(1, 73)]) == [55, 48, 48]
