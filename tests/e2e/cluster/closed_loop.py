"""A cluster whose exporters say what its pods use, and how hot its nodes become.

The harness sees in a watch where pods go, and sets the load of the synthetic exporter of that node.
What a node cannot give its pods do not get: kwok's own pages would let the idle counter of such a
node go back, and a controller drops that.
"""

import heapq
import json
import statistics
import threading
import time

from harness import Watch

from .nodes import Fleet
from .workloads import Namespace, job_object, pod_object

HOT = 0.65
GIB_PER_CORE = 4  # of nodes
GIB_PER_REQUEST = 2  # requested with a core
USED_MEMORY = 0.8  # of what is requested
FEED_S = 0.1


class Run:
    """A pod: what it uses, and since when it does so on which node.

    It is done when its life is over, however late kwok says so: a busy machine must not make the
    pods of one cluster work longer than those of another.
    """

    def __init__(self, pod, load):
        self.pod, self.load = pod, load
        self.node, self.since = None, None

    def is_working(self, now):
        return self.since <= now < self.since + self.load.life_s

    def cores(self, now):
        return self.load.at(now - self.since) if self.is_working(now) else 0.0

    def core_seconds(self, now):
        """Since it began."""
        age_s = now - self.since
        return self.load.cores * (
            age_s + (self.load.spike_factor - 1) * min(age_s, self.load.spike_s)
        )


class ClosedLoop:
    """One of the clusters that are compared; `exporters` are its own."""

    def __init__(self, plane, arrivals, exporters):
        self.plane = plane
        self.arrivals = arrivals
        self.exporters = exporters
        self.fleet = Fleet(plane, exporters)
        self.controller = None  # Plimsoll's, where it has one
        self.cores, self.base = {}, {}
        for node in arrivals.nodes:
            cores = int(node["cores"])
            (name,) = self.fleet.add(1, cpu=str(cores), memory=f"{cores * GIB_PER_CORE}Gi")
            self.cores[name], self.base[name] = cores, node["base"]
        self.nodes = list(self.cores)
        self.runs, self.runs_of = {}, {name: [] for name in self.nodes}
        self.next_of = {name: iter(pods) for name, pods in arrivals.of_deployments.items()}
        self.lock = threading.Lock()
        self.dirty, self.changes = set(self.nodes), []
        self.namespace = Namespace(plane, "loop")
        for name, pods in arrivals.of_deployments.items():
            self.namespace.create_deployment(name, 0, self._pod(name, pods[0]))
        self.ended = threading.Event()
        self.error = None
        self.feed()
        for work in (self._see, self._feed):
            threading.Thread(target=self.guard, args=[work], daemon=True).start()

    @staticmethod
    def _pod(workload, load, **more):
        memory_mib = int(load.request * GIB_PER_REQUEST * 1024)
        return pod_object(
            workload, cpu=f"{int(load.request * 1000)}m", memory=f"{memory_mib}Mi",
            labels={"app": workload}, **more,
        )  # fmt: skip

    def guard(self, work):
        """Run this in a thread whose error ends the test."""
        try:
            work()
        except Exception as error:  # pylint: disable=broad-except
            if not self.ended.is_set():
                self.error = error

    def stop(self):
        self.ended.set()
        if self.error:
            raise self.error

    # -- where pods are ----------------------------------------------------------------------

    def _see(self):
        # A watch may end at any time.
        while not self.ended.is_set():
            path = f"{self.namespace.root}/pods"
            found = self.plane.api.get(path)
            for pod in sorted(found["items"], key=lambda pod: pod["metadata"]["creationTimestamp"]):
                self._take(pod, time.monotonic())
            since = found["metadata"]["resourceVersion"]
            with Watch(
                self.plane.url,
                f"{path}?watch=1&timeoutSeconds=300&resourceVersion={since}",
                {},
                600,
                self.plane.api.context,
            ) as watch:
                for kind, pod in iter(watch.next, None):
                    if kind == "ERROR" or self.ended.is_set():
                        break
                    self._take(pod, time.monotonic())

    def _take(self, pod, now):
        meta = pod["metadata"]
        run = self.runs.get(meta["name"])
        if run is None:
            run = self.runs[meta["name"]] = Run(meta["name"], self._load_of(meta))
        with self.lock:
            if run.node is None and pod["spec"].get("nodeName"):
                run.node, run.since = pod["spec"]["nodeName"], now
                self.runs_of[run.node].append(run)
                self.dirty.add(run.node)
                for after_s in run.load.changes_s():
                    heapq.heappush(self.changes, (now + after_s, run.node))

    def _load_of(self, meta):
        job = meta["labels"].get("batch.kubernetes.io/job-name")
        if job is None:
            return next(self.next_of[meta["labels"]["app"]])
        index = int(meta["annotations"]["batch.kubernetes.io/job-completion-index"])
        return self.arrivals.jobs[job][index]

    # -- what the exporters say --------------------------------------------------------------

    def usage(self, node, now):
        """Of the CPUs; at most 1."""
        used = sum(run.cores(now) for run in self.runs_of[node])
        return min(1.0, self.base[node] + used / self.cores[node])

    def feed(self):
        with self.lock:
            now = time.monotonic()
            while self.changes and self.changes[0][0] <= now:
                self.dirty.add(heapq.heappop(self.changes)[1])
            loads = {
                self.fleet.addresses[node]: {
                    "cpu": self.usage(node, now),
                    "mem": self.memory(node, now),
                }
                for node in self.dirty
            }
            self.dirty.clear()
        if loads:
            self.exporters.set_loads(loads)

    def memory(self, node, now):
        used_gib = sum(self.memory_of(run) for run in self.runs_of[node] if run.is_working(now))
        return used_gib / (self.cores[node] * GIB_PER_CORE)

    @staticmethod
    def memory_of(run):
        """GiB."""
        return run.load.request * GIB_PER_REQUEST * USED_MEMORY

    def _feed(self):
        while not self.ended.wait(FEED_S):
            self.feed()

    def pods_on(self, node, now):
        """{pod: cores} of those that work there."""
        runs = [(name, run) for name, run in list(self.runs.items()) if run.node == node]
        return {name: run.cores(now) for name, run in runs if run.is_working(now)}

    # -- what arrives ------------------------------------------------------------------------

    def play(self, begin):
        """To its end, send what arrives, at its time from `begin` on; how late the latest was."""
        counts, late_s, killed = dict.fromkeys(self.next_of, 0), 0.0, False
        events = self.arrivals.events()
        taken = 0
        while not self.ended.is_set():
            self.plane.check()
            now = time.monotonic() - begin
            if not killed and now >= self.arrivals.measured_from_s:
                killed = True
                self._lose_exporters()
            next_s = events[taken][0] if taken < len(events) else self.arrivals.end_s
            if next_s > now:
                time.sleep(min(next_s - now, 0.5))
                continue
            if taken == len(events):
                break
            late_s = max(late_s, now - next_s)
            grown = set()
            while taken < len(events) and events[taken][0] <= now:
                name = events[taken][1]
                taken += 1
                if name in counts:
                    counts[name] += 1
                    grown.add(name)
                else:
                    self._create_job(name)
            for name in grown:
                self.namespace.scale(name, counts[name])
        return late_s

    def _create_job(self, name):
        pods = self.arrivals.jobs[name]
        pod = self._pod(pods[0].workload, pods[0], restartPolicy="Never")
        lives = " ".join(f"{pod.life_s:.2f}s" for pod in pods)
        pod["metadata"]["annotations"] = {"e2e/lives": lives}
        self.namespace.create_job(job_object(name, len(pods), pod))

    def _lose_exporters(self):
        nodes = zip(self.nodes, self.arrivals.nodes)
        lost = [self.fleet.addresses[name] for name, node in nodes if node["losesExporter"]]
        if lost:  # kube-scheduler alone asks none
            self.exporters.trouble(lost, "rst", may_miss=True)

    # -- how hot it was ----------------------------------------------------------------------

    def measure(self, begin):
        """After its end: node-minutes at the scenario's pace, and what else there is to say.

        Pods may still come, where the machine is busy.
        """
        times = range(int(self.arrivals.measured_from_s), int(self.arrivals.end_s))
        rows = [[self.usage(node, begin + at) for node in self.nodes] for at in times]
        cores = list(self.cores.values())
        used = [sum(u * c for u, c in zip(row, cores)) / sum(cores) for row in rows]
        return {
            "hot": sum(load > HOT for row in rows for load in row) * self.arrivals.pace / 60,
            "stddev": statistics.fmean(map(statistics.pstdev, rows)),
            "busiest": max(map(max, rows)),
            "mean": statistics.fmean(used),
            "bound": sum(run.node is not None for run in list(self.runs.values())),
        }

    def dump(self, begin):
        """Where each pod went and when, for those who look into a result."""
        runs = [
            {
                "pod": name, "node": run.node, "workload": run.load.workload,
                "cores": run.load.cores, "request": run.load.request,
                "arrives_s": run.load.arrives_s,
                "since_s": run.since and run.since - begin,
            }
            for name, run in list(self.runs.items())
        ]  # fmt: skip
        with open(self.plane.path("runs.json"), "w", encoding="utf-8") as file:
            json.dump(runs, file, indent=0)
