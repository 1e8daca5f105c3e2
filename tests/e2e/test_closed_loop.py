"""Pods make load, load moves pods: the same arrivals without Plimsoll and with it, side by side.

Two clusters get the same pods at the same times. Every pod requests the same and uses something
else, most of them little, some of them much, and all of them more at first: what requests cannot
tell. kwok computes each node's exporter page from the pods on it. What is measured follows from
where the pods are and since when, not from anybody's scrapes.

200 nodes in each cluster and five minutes of arrivals in make nightly, else 40 nodes, a minute, and windows
of half the length.
"""

import concurrent.futures
import random
import statistics
import time
from datetime import datetime

import pytest
from cluster.nodes import Fleet, exporter_template
from cluster.plimsoll import fast_policy, total
from cluster.workloads import Namespace, per_node, pod_object
from harness import NIGHTLY, wait_until

NODES, ARRIVAL_S, WINDOW, PERIOD = (200, 300, "10s", "5s") if NIGHTLY else (40, 60, "5s", "2s")
NODE_CPUS = 8
AFTER_S = 25
HOT = 0.65
SPIKE_S = 20
# CPUs used at first, later on, and how many of a hundred pods are like that: on average 0.56.
KINDS = [((0.8, 0.2), 80), ((3.0, 2.0), 20)]
MEAN_LOAD = 0.42
WITHOUT, WITH = "without", "with"


def arrivals():
    """What each pod will use, the same in every run: [(at first, later on)]."""
    mean = sum(usage[1] * share for usage, share in KINDS) / 100
    count = int(NODES * NODE_CPUS * MEAN_LOAD / mean)
    chance = random.Random(65)
    kinds, shares = zip(*KINDS)
    return chance.choices(kinds, shares, k=count)


def pod_name(number):
    return f"loop-{number:04}"


def make_pod(number, usage):
    pod = pod_object(pod_name(number), cpu="400m")
    pod["metadata"]["annotations"] = {"e2e/cpu-at-first": str(usage[0]), "e2e/cpu": str(usage[1])}
    return pod


def unix(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def bound_unix(pod):
    conditions = {item["type"]: item for item in pod["status"]["conditions"]}
    return unix(conditions["PodScheduled"]["lastTransitionTime"])


class Side:
    """One of the two clusters."""

    def __init__(self, plane):
        self.plane = plane
        self.fleet = Fleet(plane, None)
        self.nodes = self.fleet.add(NODES, cpu=str(NODE_CPUS), name="loop")
        self.namespace = Namespace(plane, "loop")

    def loads(self, usages, begin_unix, end_unix):
        """[load of every node] for each second, as follows from the pods."""
        seconds = int(end_unix - begin_unix)
        rows = [dict.fromkeys(self.nodes, 0.0) for _ in range(seconds)]
        by_name = {pod_name(number): usage for number, usage in enumerate(usages)}
        for pod in self.namespace.pods():
            if not pod["spec"].get("nodeName"):
                continue
            since = int(bound_unix(pod) - begin_unix)
            at_first, later = by_name[pod["metadata"]["name"]]
            for second in range(max(since, 0), seconds):
                used = at_first if second - since < SPIKE_S else later
                rows[second][pod["spec"]["nodeName"]] += used / NODE_CPUS
        # More than a node has is no more than all of it.
        return [[min(load, 1.0) for load in row.values()] for row in rows]


def send(namespace, usages, begin):
    """Create the pods, each at its time; how late the latest was."""
    late_s = 0.0
    for number, usage in enumerate(usages):
        due = begin + number * ARRIVAL_S / len(usages)
        time.sleep(max(0.0, due - time.monotonic()))
        namespace.create(make_pod(number, usage))
        late_s = max(late_s, time.monotonic() - due)
    return late_s


@pytest.fixture
def sides(start_plane):
    return {name: Side(start_plane()) for name in (WITHOUT, WITH)}


def test_closed_loop(sides, make_plimsoll, figure):
    plimsoll = make_plimsoll(sides[WITH].plane)
    policy = plimsoll.write_policy(fast_policy(window=WINDOW, period=PERIOD))
    template = exporter_template(sides[WITH].plane)
    controller = plimsoll.controller(policy, None, f"--target-url-template={template}")
    extender = plimsoll.extender(policy)
    wait_until(
        lambda: all(
            f"cpu_usage_avg_{WINDOW}" in a for a in sides[WITH].fleet.all_annotations().values()
        ),
        what="annotations on every node",
        poll_s=0.2,
    )
    sides[WITHOUT].plane.start_scheduler()
    sides[WITH].plane.start_scheduler(extenders=[plimsoll.scheduler_entry(extender)])

    usages = arrivals()
    begin, begin_unix = time.monotonic(), time.time()
    with concurrent.futures.ThreadPoolExecutor(len(sides)) as pool:
        sent = [pool.submit(send, side.namespace, usages, begin) for side in sides.values()]
        late_s = max(future.result() for future in sent)
    time.sleep(max(0.0, begin + ARRIVAL_S + AFTER_S - time.monotonic()))
    end_unix = time.time()

    hot_min, deviation = {}, {}
    for name, side in sides.items():
        places = side.namespace.wait_bound(len(usages))
        rows = side.loads(usages, begin_unix, end_unix)
        hot_min[name] = sum(load > HOT for row in rows for load in row) / 60
        over_time = [statistics.pstdev(row) for row in rows]
        deviation[name] = statistics.fmean(over_time)
        counts = per_node(places, side.nodes)
        figure(
            f"{name} Plimsoll: {hot_min[name]:.1f} node-minutes above {HOT:.0%} CPU, standard "
            f"deviation over nodes {deviation[name]:.3f} (at the end {over_time[-1]:.3f}), busiest "
            f"{max(map(max, rows)):.0%}, mean {statistics.fmean(map(statistics.fmean, rows)):.0%}; "
            f"{len(places)} pods in {ARRIVAL_S} s on {NODES} nodes, {counts[-1]} to {counts[0]} each"
        )
    assert late_s < 5, f"pods came {late_s:.1f} s late: this machine is too busy to compare"
    assert total(extender, "plimsoll_extender_requests_total", verb="filter") >= len(usages)
    assert controller.is_running()
    # In a minute on 40 nodes chance does as much as we do; what it must not be is worse.
    assert hot_min[WITH] < (0.9 if NIGHTLY else 1.1) * hot_min[WITHOUT]
    assert deviation[WITH] < deviation[WITHOUT]
