"""Pods make load, load moves pods: the same arrivals without Plimsoll and with it.

Every pod requests the same and uses something else, most of them little, some of them much, and all
of them more at first: what requests cannot tell. kwok computes each node's exporter page from the
pods on it. PLIMSOLL_E2E_LOOP=200,300 is the number of nodes and the seconds of arrivals.
"""

import os
import random
import statistics
import time

from cluster.nodes import exporter_template
from cluster.plimsoll import fast_policy
from cluster.workloads import placed, pod_object
from harness import wait_until

NODES, ARRIVAL_S = map(int, os.environ.get("PLIMSOLL_E2E_LOOP", "40,60").split(","))
NODE_CPUS = 8
AFTER_S = 25
HOT = 0.65
SPIKE_S = 20
# CPUs used at first, later on, and how many of a hundred pods are like that: on average 0.56.
KINDS = [((0.8, 0.2), 80), ((3.0, 2.0), 20)]
MEAN_LOAD = 0.42


def arrivals():
    """What each pod will use, the same in every run: [(at first, later on)]."""
    mean = sum(usage[1] * share for usage, share in KINDS) / 100
    count = int(NODES * NODE_CPUS * MEAN_LOAD / mean)
    chance = random.Random(65)
    kinds, shares = zip(*KINDS)
    return chance.choices(kinds, shares, k=count)


def make_pod(number, usage):
    pod = pod_object(f"loop-{number:04}", cpu="400m")
    pod["metadata"]["annotations"] = {"e2e/cpu-at-first": str(usage[0]), "e2e/cpu": str(usage[1])}
    return pod


class Loop:
    """Loads of nodes, as follows from where the pods are."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.bound = {}  # pod: (node, when, usage)
        self.hot_node_s = 0.0
        self.deviations = []
        self.hottest = 0.0
        self.last = time.monotonic()

    def look(self, places, usages):
        now = time.monotonic()
        for name, node in places.items():
            self.bound.setdefault(name, (node, now, usages[name]))
        loads = dict.fromkeys(self.nodes, 0.0)
        for node, since, usage in self.bound.values():
            loads[node] += usage[0 if now - since < SPIKE_S else 1] / NODE_CPUS
        # More than a node has is no more than all of it.
        loads = [min(load, 1.0) for load in loads.values()]
        self.hot_node_s += sum(load > HOT for load in loads) * (now - self.last)
        self.deviations.append(statistics.pstdev(loads))
        self.hottest = max(self.hottest, *loads)
        self.last = now


def run_loop(namespace, nodes):
    usages = arrivals()
    by_name = {f"loop-{i:04}": usage for i, usage in enumerate(usages)}
    loop = Loop(nodes)
    started = time.monotonic()
    created = 0
    while time.monotonic() - started < ARRIVAL_S + AFTER_S:
        due = min(len(usages), int((time.monotonic() - started) / ARRIVAL_S * len(usages)) + 1)
        while created < due:
            namespace.create(make_pod(created, usages[created]))
            created += 1
        loop.look(placed(namespace.pods()), by_name)
        time.sleep(0.5)
    assert created == len(usages)
    return loop


def test_closed_loop(plane, fleet, namespace, plimsoll, exporters, scheduler, figure):
    names = fleet.add(NODES, cpu=str(NODE_CPUS), name="loop")
    found = {}

    plain = scheduler()
    found["without"] = run_loop(namespace, names)
    plain.kill()
    namespace.delete_pods()

    policy = plimsoll.write_policy(fast_policy(window="10s", period="5s"))
    plimsoll.controller(policy, exporters, f"--target-url-template={exporter_template(plane)}")
    extender = plimsoll.extender(policy)
    wait_until(
        lambda: all("cpu_usage_avg_10s" in a for a in fleet.all_annotations().values()),
        what="annotations on every node",
        poll_s=0.2,
    )
    scheduler(extenders=[plimsoll.scheduler_entry(extender)])
    found["with"] = run_loop(namespace, names)

    for name, loop in found.items():
        figure(
            f"{name} Plimsoll: {loop.hot_node_s / 60:.1f} node-minutes above {HOT:.0%} CPU, standard "
            f"deviation over nodes {statistics.mean(loop.deviations):.3f} (at the end "
            f"{loop.deviations[-1]:.3f}), {len(loop.bound)} pods on {NODES} nodes"
        )
    assert len(found["with"].bound) == len(found["without"].bound)
    assert found["with"].hot_node_s < 0.9 * found["without"].hot_node_s
    assert found["with"].deviations[-1] < found["without"].deviations[-1]
