"""What arrives in a cluster, by the simulator of tests/placement: the same nodes and pods in both.

Its scenarios have windows of five minutes. The clusters play them several times as fast, with
windows that much shorter. Times here are seconds of the cluster, loads are cores.
"""

import bisect
import collections
import dataclasses
import json
import math
import os
import subprocess

PACE = 10
CLUMP_S = 0.2  # pods of one workload that come closer than this are one Job's


def simulator(*arguments):
    program = os.path.join(os.environ["PLIMSOLL_RELEASE_DIR"], "tests/placement/placement")
    done = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@dataclasses.dataclass
class Load:
    """What one pod uses, and when it comes and ends; `uses` are [age, cores from then on]."""

    workload: str
    request: float
    cores: float
    spike_factor: float
    spike_s: float
    arrives_s: float
    life_s: float
    uses: list

    def at(self, age_s):
        if self.uses:
            return self.uses[bisect.bisect(self.uses, [age_s, math.inf]) - 1][1]
        return self.cores * (self.spike_factor if age_s < self.spike_s else 1)

    def changes_s(self):
        """The ages at which it uses something else."""
        return [age_s for age_s, _ in self.uses[1:]] + [self.spike_s, self.life_s]


class Arrivals:
    """A scenario's nodes, and its pods as Deployments that grow and as Jobs.

    A pod whose life ends within the scenario belongs to a Job, any other to a Deployment.
    """

    def __init__(self, path, pace=PACE, seed=1, traces=None):
        """`traces` is the folder of recordings, for scenarios that replay one."""
        self.path, self.pace = path, pace
        recordings = ("--traces", traces) if traces else ()
        world = simulator("--scenario", path, "--first-seed", seed, "-o", "world", *recordings)
        self.nodes = world["nodes"]
        pods = [
            Load(
                f"w{pod['workload']}", pod["request"], pod["cores"], pod["spikeFactor"],
                pod["spikeSeconds"] / pace, pod["arrives"] / pace, pod["life"] / pace,
                [[age_s / pace, cores] for age_s, cores in pod.get("uses", ())],
            )
            for pod in world["pods"]
        ]  # fmt: skip
        # Nothing has to happen before the first pod.
        skipped_s = pods[0].arrives_s
        for pod in pods:
            pod.arrives_s -= skipped_s
        self.measured_from_s = max(0, world["warmUpSeconds"] / pace - skipped_s)
        self.end_s = (world["warmUpSeconds"] + world["measuredSeconds"]) / pace - skipped_s
        self.pods = [pod for pod in pods if pod.arrives_s < self.end_s]
        self.of_deployments, self.jobs = collections.defaultdict(list), {}
        self._group()

    def _group(self):
        latest = {}
        for pod in self.pods:
            if pod.arrives_s + pod.life_s > self.end_s:
                self.of_deployments[pod.workload].append(pod)
                continue
            job = latest.get(pod.workload)
            if job is None or pod.arrives_s - job[-1].arrives_s > CLUMP_S:
                # As a CronJob would call it.
                job = self.jobs[f"{pod.workload}-{29000000 + len(self.jobs)}"] = []
                latest[pod.workload] = job
            job.append(pod)

    def events(self):
        """[(when, Deployment to scale up or Job to create)], in time."""
        grow = [(pod.arrives_s, name) for name, pods in self.of_deployments.items() for pod in pods]
        create = [(pods[0].arrives_s, name) for name, pods in self.jobs.items()]
        return sorted(grow + create)

    def predict(self, algorithms, crane_policy, seeds):
        """{algorithm: hotNodeMinutes of the simulator's JSON}; the first seed, 1, has these pods."""
        rows = simulator(
            "--scenario", self.path, "--crane-policy", crane_policy, "--seeds", seeds, "-o", "json",
            *(word for name in algorithms for word in ("--algorithm", name)),
        )  # fmt: skip
        return {row["algorithm"]: row["hotNodeMinutes"] for row in rows}
