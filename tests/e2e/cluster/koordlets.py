"""Koordinator's NodeMetric of each node in a closed loop, as koordlet would write it.

koordlet needs a node that is one. By default it reports once a minute what node and pods used in the
last five (reportIntervalSeconds, aggregateDurationSeconds of slo.koordinator.sh/v1alpha1).
"""

import collections
import threading
import time

from .closed_loop import GIB_PER_CORE

CRD = "nodemetrics.slo.koordinator.sh"
VERSION = "slo.koordinator.sh/v1alpha1"
PATH = f"/apis/{VERSION}/nodemetrics"
SAMPLE_S, REPORT_S, SAMPLES = 15, 60, 20


class Koordlets:
    """They run until the closed loop ends."""

    def __init__(self, side):
        self.side = side
        side.plane.kubectl("wait", "--for=condition=Established", f"crd/{CRD}")
        self.samples = {node: collections.deque(maxlen=SAMPLES) for node in side.nodes}
        for node in side.nodes:
            what = {"apiVersion": VERSION, "kind": "NodeMetric", "metadata": {"name": node}}
            side.plane.api.create(PATH, {**what, "spec": {}})
        self.report()
        threading.Thread(target=side.guard, args=[self.work], daemon=True).start()

    def work(self):
        every_s, count = SAMPLE_S / self.side.arrivals.pace, 0
        while not self.side.ended.wait(every_s):
            count += 1
            self.report(is_written=count % (REPORT_S // SAMPLE_S) == 0)

    def report(self, is_written=True):
        now = time.monotonic()
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for node, samples in self.samples.items():
            samples.append((self.side.usage(node, now), self.side.pods_on(node, now)))
            if is_written:
                status = {"updateTime": at, **self.status(node, now)}
                self.side.plane.api.patch(f"{PATH}/{node}/status", {"status": status})

    def status(self, node, now):
        side, samples = self.side, self.samples[node]
        cores = side.cores[node] * sum(usage for usage, _ in samples) / len(samples)
        memory = side.memory(node, now) * side.cores[node] * GIB_PER_CORE
        pods = [
            {
                "name": pod,
                "namespace": side.namespace.name,
                "podUsage": resources(sum(of.get(pod, 0) for _, of in samples) / len(samples)),
            }
            for pod in samples[-1][1]
        ]
        return {"nodeMetric": {"nodeUsage": resources(cores, memory)}, "podsMetric": pods}


def resources(cores, memory_gib=0):
    memory = {"memory": f"{int(memory_gib * 1024)}Mi"} if memory_gib else {}
    return {"resources": {"cpu": f"{int(cores * 1000)}m", **memory}}
