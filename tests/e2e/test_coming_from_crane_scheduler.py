"""deploy/coming-from/crane-scheduler.md, followed by its text.

crane's scheduler and controller are not to be had as programs here: of the controller there is what it
leaves on the nodes, while its Deployment has replicas. Prometheus and crane's rules are the real ones.
"""

import calendar
import pathlib
import threading
import time

import yaml
from cluster import extender_pod
from cluster.nodes import Fleet
from cluster.pages import follow, follow_on
from cluster.plimsoll import Plimsoll, as_flags, fast_policy, metrics, pod_environment, refused
from harness import fetch, wait_until
from pages import block
from prometheus_kit import RealPrometheus, crane_rules

PAGE = "deploy/coming-from/crane-scheduler.md"
METRIC = "cpu_usage_avg_5m"
LOADS = [0.2, 0.5, 0.8]
CRANE_AHEAD_S = 8 * 3600
CRANE_VALUE = "0.11111"  # by which crane's are told from ours
PERIOD_S = 2


def crane_objects():
    """What the commands look at, of crane's manifests."""
    policy = fast_policy(window="5m", period=f"{PERIOD_S}s")
    del policy["metadata"]
    data = {"policy.yaml": yaml.safe_dump(policy)}
    meta = {"namespace": "crane-system"}
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "crane-system"}}
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "dynamic-scheduler-policy", **meta},
        "data": data,
    }
    for name in ("crane-scheduler-controller", "crane-scheduler"):
        labels = {"app": name}
        command = ["/controller", "--prometheus-address=http://prometheus:9090"]
        containers = [{"name": "c", "image": "crane", "command": command}]
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, **meta},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
        }


class Crane:
    """Writes as crane's controller does, while it has replicas; and watches that no node is ever without
    a usable value."""

    def __init__(self, plane, fleet, names):
        self.plane, self.fleet, self.names = plane, fleet, names
        self.gaps, self.looks = [], 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def stop(self):
        self.done.set()
        self.thread.join(60)
        assert not self.thread.is_alive()

    def work(self):
        path = "/apis/apps/v1/namespaces/crane-system/deployments/crane-scheduler-controller"
        seen = False
        while not self.done.wait(0.3):
            deployment = self.plane.api.get(path)
            if deployment and deployment["spec"]["replicas"] > 0:
                at = time.gmtime(time.time() + CRANE_AHEAD_S)
                stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", at)
                for name in self.names:
                    self.fleet.annotate(name, {METRIC: f"{CRANE_VALUE},{stamp}"})
                seen = True
            if seen:
                self.look()

    def look(self):
        self.looks += 1
        for name in self.names:
            text = self.fleet.annotations(name).get(METRIC)
            stamp = text and time.strptime(text.partition(",")[2], "%Y-%m-%dT%H:%M:%SZ")
            age_s = stamp and time.time() + CRANE_AHEAD_S - calendar.timegm(stamp)
            if not stamp or age_s > 300 + PERIOD_S or age_s < -2:
                self.gaps.append((name, text))


def test_the_page_as_it_stands(bare, exporters, log_dir, run, binary, figure):
    fleet = Fleet(bare, exporters)
    names = [fleet.add(1, load={"cpu": load, "mem": load})[0] for load in LOADS]
    bare.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(crane_objects()))
    prometheus = RealPrometheus(
        run,
        log_dir,
        {f"{fleet.addresses[name]}:{exporters.port}": {} for name in names},
        rules=crane_rules("1s", "1s", "2s"),
    )
    crane = Crane(bare, fleet, names)
    try:
        wait_until(lambda: METRIC in fleet.annotations(names[-1]), 60, "crane's annotations")
        looking = follow_on(bare, block(PAGE, "look-extender"), "plimsoll-extender", run)
        looking.wait_log(r"initial list complete.*resource=nodes")
        said = follow(bare, block(PAGE, "look"))
        assert all(name in said for name in names), said
        looking.stop()
        assert "--prometheus-address=http://prometheus:9090" in follow(bare, block(PAGE, "address"))

        plimsoll = Plimsoll(bare, log_dir, run, binary)
        follow(bare, block(PAGE, "controller"))
        flags = as_flags(pod_environment(bare, "plimsoll-controller"))
        assert "--metrics-source=prometheus,node-exporter" in flags
        controller = plimsoll.controller(
            None,
            exporters,
            *flags,
            f"--prometheus-address={prometheus.url}",
            "--leader-elect-resource-namespace=kube-system",
        )

        def value(name):
            return float(fleet.annotations(name)[METRIC].partition(",")[0])

        for name, load in zip(names, LOADS):
            wait_until(lambda: abs(value(name) - load) < 0.03, 60, f"{name}'s load, by Prometheus")
        served = 'plimsoll_nodes_served{source="prometheus"}'  # counted once a second
        wait_until(lambda: metrics(controller)[served] == len(names), 60, "all nodes to be served")
        flags = as_flags(pod_environment(bare, "plimsoll-extender"))
        extender = plimsoll.extender(None, "--bind-address=0.0.0.0", *flags)
        policy = plimsoll.write_policy(fast_policy(window="5m", period=f"{PERIOD_S}s"))
        asked = {"policy": pathlib.Path(policy).read_text("utf-8")}
        asked["nodes"] = bare.api.items("/api/v1/nodes")
        answer = fetch(f"{extender.url}/explain", "POST", asked).json()
        reasons = {row["node"]: row["reason"] for row in answer["nodes"]}
        assert reasons[names[1]] is None, answer
        assert reasons[names[2]].startswith(f"{METRIC} above 0.65"), answer
        follow(bare, block(PAGE, "scheduler"))
        assert extender.is_running()
        generation = metrics(extender)["plimsoll_policy_generation"]
        with extender_pod.published(bare, fleet, extender_pod.ports_of(extender)):
            said = follow(bare, block(PAGE, "recommended"))
        assert "simulated: " in said, said
        wait_until(
            lambda: metrics(extender)["plimsoll_policy_generation"] > generation, 60, "the policy"
        )

        # And back: crane's controller writes again, and nothing of ours is left but its annotations.
        controller.stop()
        follow(bare, block(PAGE, "back"))
        for name in names:
            wait_until(
                lambda: fleet.annotations(name)[METRIC].startswith(CRANE_VALUE),
                60, "crane's annotations again",
            )  # fmt: skip
        assert not refused(bare, "plimsoll-controller")
    finally:
        crane.stop()
    assert crane.looks > 10 and not crane.gaps, crane.gaps
    left = bare.kubectl("get", "deployments", "--all-namespaces", "--output=name")
    assert "plimsoll" not in left
    figure(f"{crane.looks} looks at {len(names)} nodes between crane, Plimsoll and crane: no gap")
