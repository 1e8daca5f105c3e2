"""deploy/coming-from/hand-written-extender.md: its loop is a cluster's scheduler, and its commands
put kube-scheduler with our sidecar in its place, and it back again, while pods keep coming.

kwok lets the pods of Deployments "run" at once; what they would do is done by processes: the loop,
and with the account and the ConfigMap of the overlay kube-scheduler and the extender.
"""

import os
import re
import subprocess
import time

import pytest
import yaml
from cluster.nodes import Fleet
from cluster.pages import environment, follow
from cluster.plimsoll import TOP, Plimsoll, total, wait_ready
from cluster.workloads import Background, Namespace
from harness import wait_until
from pages import block

PAGE = "deploy/coming-from/hand-written-extender.md"
OVERLAY = TOP / "deploy" / "coming-from" / "my-scheduler"
SCHEDULER = "my-scheduler"
SECURE_PORT = 26395


class Loop:
    """The loop of the page, with the Deployment that it would be."""

    def __init__(self, plane, log_dir):
        self.plane, self.process = plane, None
        self.log = open(os.path.join(log_dir, "loop.log"), "ab")
        plane.kubectl(
            "-n", "kube-system", "create", "deployment", SCHEDULER, "--image=example.com/loop"
        )

    def start(self):
        self.process = subprocess.Popen(
            ["bash", "-c", block(PAGE, "loop")],
            env=environment(self.plane), stdout=self.log, stderr=self.log,
            start_new_session=True,
        )  # fmt: skip

    def stop(self):
        if self.process:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        self.process = None

    def close(self):
        self.stop()
        self.log.close()


@pytest.fixture
def loop(bare, log_dir):
    made = Loop(bare, log_dir)
    yield made
    made.close()


def start_scheduler_pod(plane, plimsoll, tmp_path):
    """kube-scheduler and sidecar as the overlay has them; (kube-scheduler, sidecar)."""
    objects = list(yaml.safe_load_all(plane.kubectl("kustomize", str(OVERLAY))))
    (config,) = (o for o in objects if o["kind"] == "ConfigMap")
    (deployment,) = (
        o for o in objects
        if o["kind"] == "Deployment" and o["metadata"]["name"] == "plimsoll-scheduler"
    )  # fmt: skip
    spec = deployment["spec"]["template"]["spec"]
    assert spec["volumes"][0]["configMap"]["name"] == config["metadata"]["name"]
    (sidecar,) = (c for c in spec["containers"] if c["name"] == "extender")
    assert {"name": "PLIMSOLL_BIND", "value": "true"} in sidecar["env"]
    assert "--bind-address=127.0.0.1" in sidecar["args"]

    kubeconfig = plimsoll.kubeconfig("plimsoll-scheduler")
    extender = plimsoll.run(
        [plimsoll.binary("plimsoll-extender"), f"--kubeconfig={kubeconfig}", "--port=0", "--bind"],
        "sidecar",
    )
    extender.url = f"http://127.0.0.1:{extender.wait_port()}"
    wait_ready(extender)
    text, count = re.subn(
        r"urlPrefix: http://127.0.0.1:8010/",
        f"urlPrefix: {extender.url}/",
        config["data"]["config.yaml"],
    )
    assert count == 2
    path = tmp_path / "config.yaml"
    path.write_text(f"{text}clientConnection: {{kubeconfig: {kubeconfig}}}\n")
    scheduler = plane.run(
        "kube-scheduler",
        f"--config={path}",
        f"--bind-address={plane.address}",
        f"--secure-port={SECURE_PORT}",
        f"--cert-dir={plane.path('pki')}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "-v=2",
        name="kube-scheduler-mine",
    )
    return scheduler, extender


def scheduled_by(plane, namespace):
    """The pods of which a scheduler said that it placed them; a loop says nothing."""
    return {
        event["involvedObject"]["name"]
        for event in plane.api.items(f"{namespace.root}/events")
        if event["reason"] == "Scheduled"
    }


def test_there_and_back(bare, exporters, loop, log_dir, run, binary, tmp_path, figure):
    fleet = Fleet(bare, exporters)
    fleet.add(3, load={"cpu": 0.2})
    namespace = Namespace(bare, "shop")
    made = []

    def create(ended):
        name = f"web-{len(made):03}"
        namespace.create_pod(name, scheduler=SCHEDULER, cpu="1m")
        made.append(name)
        ended.wait(0.5)

    def wait_newest_bound(count=3):
        """Pods that are made from now on get a node."""
        first = len(made) + 1
        wait_until(lambda: len(made) >= first + count, 60, "more pods")
        for name in made[first : first + count]:
            wait_until(lambda: namespace.pod(name)["spec"].get("nodeName"), 60, f"{name}'s node")
        return set(made[first : first + count])

    loop.start()
    with Background(create):
        wait_newest_bound()
        assert not scheduled_by(bare, namespace)

        follow(bare, block(PAGE, "installing"))
        plimsoll = Plimsoll(bare, log_dir, run, binary)
        scheduler, extender = start_scheduler_pod(bare, plimsoll, tmp_path)
        # Both are at it.
        wait_until(lambda: total(extender, "plimsoll_binds_total", result="bound") > 0, 60,
                   "a bind of ours beside the loop's")  # fmt: skip
        follow(bare, block(PAGE, "switching"))
        loop.stop()
        ours = wait_newest_bound()
        wait_until(lambda: ours <= scheduled_by(bare, namespace), what="what the scheduler said")

        began = time.monotonic()
        said = follow(bare, block(PAGE, "example"))
        assert re.search(r"^hello +1/1 +Running ", said, re.M), said
        assert re.search(r"Scheduled +pod/hello +Successfully assigned default/hello to ", said)
        took_s = time.monotonic() - began

        going, rest = block(PAGE, "back").split("kubectl delete", 1)
        before = total(extender, "plimsoll_binds_total", result="bound")
        follow(bare, going)
        loop.start()
        assert "is forbidden" not in scheduler.text()
        follow(bare, "kubectl delete" + rest)
        scheduler.kill()
        extender.stop()
        theirs = wait_newest_bound()
        assert not theirs & scheduled_by(bare, namespace)
    # Nobody was left behind, no matter who was at it.
    namespace.wait_bound(len(made))
    assert bare.kubectl("get", "crd", "--output=name") == ""
    figure(
        f"{len(made)} pods through the switch and back, {before:.0f} of them bound by the extender; "
        f"the example's four commands took {took_s:.1f} s"
    )
