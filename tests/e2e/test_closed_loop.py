"""Pods make load, load moves pods: the same arrivals in three clusters, side by side.

One cluster has kube-scheduler alone, one our extender with crane's arithmetic, one with scoring:
estimate. All get pods of the same Deployments at the same times. Every pod requests the same and uses
something else, by its Deployment: most of them little, some of them much, and all of them more at first. That is
what requests cannot tell. kwok computes each node's exporter page from the pods on it. What is measured follows
from where the pods are and since when, not from anybody's scrapes.

200 nodes in each cluster and five minutes of arrivals in make nightly, else 40 nodes, a minute, and windows
of half the length.
"""

import collections
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
# Each Deployment: CPUs used at first, later on, and its share of a hundred pods; on average 0.56.
DEPLOYMENTS = {
    **{f"little-{i}": ((0.8, 0.2), 16) for i in range(5)},
    **{f"much-{i}": ((3.0, 2.0), 10) for i in range(2)},
}
MEAN_LOAD = 0.42
WITHOUT, CRANE, ESTIMATE = "default scheduler", "crane's arithmetic", "estimate"


def arrivals():
    """The Deployment of each pod, the same in every run."""
    mean = sum(usage[1] * share for usage, share in DEPLOYMENTS.values()) / 100
    count = int(NODES * NODE_CPUS * MEAN_LOAD / mean)
    shares = [share for _, share in DEPLOYMENTS.values()]
    return random.Random(65).choices(list(DEPLOYMENTS), shares, k=count)


def make_pod(deployment):
    at_first, later = DEPLOYMENTS[deployment][0]
    pod = pod_object(deployment, labels={"app": deployment}, cpu="400m")
    pod["metadata"]["annotations"] = {"e2e/cpu-at-first": str(at_first), "e2e/cpu": str(later)}
    return pod


def unix(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def bound_unix(pod):
    conditions = {item["type"]: item for item in pod["status"]["conditions"]}
    return unix(conditions["PodScheduled"]["lastTransitionTime"])


class Side:
    """One of the clusters."""

    def __init__(self, plane):
        self.plane = plane
        self.fleet = Fleet(plane, None)
        self.nodes = self.fleet.add(NODES, cpu=str(NODE_CPUS), name="loop")
        self.namespace = Namespace(plane, "loop")
        for name in DEPLOYMENTS:
            self.namespace.create_deployment(name, 0, make_pod(name))

    def send(self, order, begin):
        """One more pod of each Deployment in this order, at its time; how late the latest was."""
        counts, late_s = collections.Counter(), 0.0
        for number, name in enumerate(order):
            due = begin + number * ARRIVAL_S / len(order)
            time.sleep(max(0.0, due - time.monotonic()))
            counts[name] += 1
            self.namespace.scale(name, counts[name])
            late_s = max(late_s, time.monotonic() - due)
        return late_s

    def loads(self, begin_unix, end_unix):
        """[load of every node] for each second, as follows from the pods."""
        seconds = int(end_unix - begin_unix)
        rows = [dict.fromkeys(self.nodes, 0.0) for _ in range(seconds)]
        for pod in self.namespace.pods():
            if not pod["spec"].get("nodeName"):
                continue
            since = int(bound_unix(pod) - begin_unix)
            at_first, later = DEPLOYMENTS[pod["metadata"]["labels"]["app"]][0]
            for second in range(max(since, 0), seconds):
                used = at_first if second - since < SPIKE_S else later
                rows[second][pod["spec"]["nodeName"]] += used / NODE_CPUS
        # More than a node has is no more than all of it.
        return [[min(load, 1.0) for load in row.values()] for row in rows]


def start_plimsoll(side, make_plimsoll, name, policy):
    """Both programs, and the scheduler that asks them; the extender."""
    plimsoll = make_plimsoll(side.plane, name=name)
    path = plimsoll.write_policy(policy)
    template = exporter_template(side.plane)
    plimsoll.controller(path, None, f"--target-url-template={template}")
    extender = plimsoll.extender(path)
    wait_until(
        lambda: all(f"cpu_usage_avg_{WINDOW}" in a for a in side.fleet.all_annotations().values()),
        what="annotations on every node",
        poll_s=0.2,
    )
    side.plane.start_scheduler(extenders=[plimsoll.scheduler_entry(extender)])
    return extender


@pytest.fixture
def sides(start_plane):
    return {name: Side(start_plane()) for name in (WITHOUT, CRANE, ESTIMATE)}


@pytest.mark.alone
def test_closed_loop(sides, make_plimsoll, figure):
    fast = {"window": WINDOW, "period": PERIOD}
    start_plimsoll(sides[CRANE], make_plimsoll, "crane", fast_policy(**fast))
    policy = fast_policy(hot_value=False, scoring="estimate", **fast)
    extender = start_plimsoll(sides[ESTIMATE], make_plimsoll, "estimate", policy)
    sides[WITHOUT].plane.start_scheduler()

    order = arrivals()
    begin, begin_unix = time.monotonic(), time.time()
    with concurrent.futures.ThreadPoolExecutor(len(sides)) as pool:
        sent = [pool.submit(side.send, order, begin) for side in sides.values()]
        late_s = max(future.result() for future in sent)
    time.sleep(max(0.0, begin + ARRIVAL_S + AFTER_S - time.monotonic()))
    end_unix = time.time()

    hot_min, deviation = {}, {}
    for name, side in sides.items():
        places = side.namespace.wait_bound(len(order))
        rows = side.loads(begin_unix, end_unix)
        hot_min[name] = sum(load > HOT for row in rows for load in row) / 60
        over_time = [statistics.pstdev(row) for row in rows]
        deviation[name] = statistics.fmean(over_time)
        counts = per_node(places, side.nodes)
        figure(
            f"{name}: {hot_min[name]:.1f} node-minutes above {HOT:.0%} CPU, standard deviation "
            f"over nodes {deviation[name]:.3f} (at the end {over_time[-1]:.3f}), busiest "
            f"{max(map(max, rows)):.0%}, mean {statistics.fmean(map(statistics.fmean, rows)):.0%}; "
            f"{len(places)} pods in {ARRIVAL_S} s on {NODES} nodes, {counts[-1]} to {counts[0]} each"
        )
    assert late_s < 5, f"pods came {late_s:.1f} s late: this machine is too busy to compare"
    assert total(extender, "plimsoll_extender_requests_total", verb="filter") >= len(order)
    assert total(extender, "plimsoll_extender_pods") == len(order)
    # In a minute on 40 nodes chance does as much as we do; what it must not be is worse.
    assert hot_min[ESTIMATE] <= (0.5 if NIGHTLY else 1.0) * hot_min[WITHOUT]
    assert hot_min[ESTIMATE] <= (0.6 if NIGHTLY else 1.1) * hot_min[CRANE]
    assert deviation[ESTIMATE] < deviation[WITHOUT]
