"""plimsoll-controller --cleanup: after it, nodes are as they were before we came."""

import re
import signal

import pytest

from controller_kit import LEASE, policy
from harness import wait_until
from policies import CPU
from programs import complete

LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-controller"
FOREIGN = {
    "node.alpha.kubernetes.io/ttl": "0",
    "example.com/cpu_usage_avg_5m": "0.5,2026-07-23T11:25:54Z",
    "cpu_usage": "high",
}


def cleanup(standin, *arguments):
    """Run it to the end: status, stdout, stderr."""
    argv = ("plimsoll-controller", "--cleanup", f"--kubeconfig={standin.kubeconfig}")
    done = complete(*argv, *arguments, status=None)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def exporters(module_start_exporters):
    return module_start_exporters()


@pytest.fixture
def controller(start_controller, exporters):
    def start(standin, metric, *arguments):
        content = policy({CPU: "1s", metric: "1s"}, hot={"5m": 2})
        return start_controller(standin, exporters, *LEASE, *arguments, content=content).process

    return start


def nodes(standin):
    return [node["metadata"]["name"] for node in standin.get("/api/v1/nodes")["items"]]


def managers(standin, node):
    fields = standin.get(f"/api/v1/nodes/{node}")["metadata"].get("managedFields", [])
    return {entry["manager"] for entry in fields}


@pytest.mark.parametrize("prefix", ["", "load.example.com/"])
def test_as_before(controller, start_standin, prefix):
    standin = start_standin()
    standin.add_nodes(3, annotations=FOREIGN)
    names = nodes(standin)
    before = {name: standin.annotations(name) for name in names}
    shaped = [f"--annotation-prefix={prefix}"] if prefix else []
    # Two policies one after the other: of the first, nothing is known any more but what stands there.
    for metric in ("psi_cpu_usage_p90_1h", "mem_usage_avg_5m"):
        process = controller(standin, metric, *shaped)
        wait_until(
            lambda m=metric: all(prefix + m in standin.annotations(name) for name in names),
            what=metric,
        )
        assert process.stop() == 0
    written = {name: set(standin.annotations(name)) - set(before[name]) for name in names}
    young = {f"{prefix}node_covered_seconds"}  # unless the first second has not passed
    assert all(
        written[name] - young
        == {
            f"{prefix}cpu_usage_avg_5m",
            f"{prefix}mem_usage_avg_5m",
            f"{prefix}psi_cpu_usage_p90_1h",
            f"{prefix}node_hot_value",
        }
        for name in names
    )
    patched = len(standin.patches())

    status, out, err = cleanup(standin, "--dry-run")
    assert status == 0, err
    assert {
        line.split()[0]: set(line.split()[1].split(",")) for line in out.splitlines()
    } == written
    assert len(standin.patches()) == patched
    assert standin.get(LEASE_PATH)["spec"]["holderIdentity"] == ""

    status, out, err = cleanup(standin)
    assert status == 0 and out == "", err
    assert re.search(r'"all nodes are clean" nodes=3 cleaned=3 had_none=0', err)
    assert {name: standin.annotations(name) for name in names} == before
    assert all("plimsoll-controller" not in managers(standin, name) for name in names)
    assert standin.call("GET", LEASE_PATH).status == 404
    assert len(standin.patches()) == patched + 3

    status, _, err = cleanup(standin)  # again: nothing to do
    assert status == 0 and "cleaned=0 had_none=3" in err
    assert len(standin.patches()) == patched + 3


def test_trouble(controller, start_standin):
    standin = start_standin("--nodes", 2)
    process = controller(standin, "mem_usage_avg_5m")
    wait_until(
        lambda: all("node_hot_value" in standin.annotations(name) for name in nodes(standin)),
        what="annotations",
    )
    status, _, err = cleanup(standin, "--dry-run")
    assert status == 0 and "will write the annotations again" in err
    process.stop()
    standin.fault("status", verb="patch", status=403, name="node-0000")
    status, _, err = cleanup(standin)
    assert status == 1 and re.search(r"what=cleanup node=node-0000 reason=forbidden", err)
    assert "cleaned=1 failed=1" in err and "will write the annotations again" not in err
    assert "node_hot_value" not in standin.annotations("node-0001")
    # A node that goes in the meantime is clean; a server that stumbles is asked again.
    again = {"metadata": {"annotations": {"node_hot_value": "0,2026-07-23T11:25:54Z"}}}
    assert standin.patch("/api/v1/nodes/node-0001", again).status == 200
    standin.fault("status", verb="patch", status=404, name="node-0001")
    standin.fault("status", verb="patch", status=503, retry_after=0, name="node-0000")
    status, _, err = cleanup(standin)
    assert status == 0, err
    assert "node_hot_value" not in standin.annotations("node-0000")


def test_signals(run, binary, start_standin):
    """SIGHUP means nothing here; SIGTERM ends it, and not all nodes are clean."""
    standin = start_standin()
    standin.add_nodes(30, annotations={"node_hot_value": "0,2026-07-23T11:25:54Z"})
    argv = [binary("plimsoll-controller"), "--cleanup", f"--kubeconfig={standin.kubeconfig}"]
    process = run([*argv, "--patch-qps=10"], "cleanup", clean_exit=False)
    process.wait_log("cleaning up")
    process.popen.send_signal(signal.SIGHUP)
    patched = len(standin.patches())
    wait_until(lambda: len(standin.patches()) > patched, what="another patch")
    assert process.stop() == 1
    assert len(standin.patches()) < 30


def test_usage(standin):
    for other in ("--once", "--target=a=http://127.0.0.1/"):
        status, _, err = cleanup(standin, "--dry-run", other)
        assert status == 2 and "--cleanup" in err
    for flag in ("--policy-config-path=/nonexistent", "--kubeconfig=/nonexistent"):
        status, _, err = cleanup(standin, flag)
        assert status == 2 and "/nonexistent: " in err
