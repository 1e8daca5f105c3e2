"""A real kubelet with containerd as a source: its own TLS, authentication and authorization by the
API server with exactly the role of deploy/, and what it measures against /proc of the machine."""

import os
import shutil
import ssl
import time
import urllib.error
import urllib.request
from typing import NamedTuple

import pytest
from cluster.nodes import node_object
from cluster.plimsoll import kubelet_source, refused
from cluster.real_node import PORT, containerd_argv, kubelet_argv
from cluster.workloads import Background
from harness import wait_until
from policies import policy_object

NODE, ADDRESS = "real-kubelet", "127.3.0.1"
WINDOW_S = 120
CPU, MEM = "cpu_usage_avg_2m", "mem_usage_avg_2m"
POLICY = policy_object({CPU: "5s", MEM: "5s"})
APART = 0.03


class Sample(NamedTuple):
    at_unix: float
    busy_s: float
    mem_ratio: float


def machine():
    """What the machine has used, by the measures of a kubelet."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _iowait, irq, softirq, *_ = map(int, file.readline().split()[1:])
    with open("/proc/meminfo", encoding="ascii") as file:
        kib = {name: int(rest.split()[0]) for name, rest in (line.split(":") for line in file)}
    used = sum(kib[name] for name in ("Active", "Inactive(anon)", "Unevictable"))
    ticks = user + nice + system + irq + softirq
    return Sample(time.time(), ticks / os.sysconf("SC_CLK_TCK"), used / kib["MemTotal"])


class Recorder:
    """The machine, every second."""

    def __init__(self):
        self.samples = [machine()]

    def once(self, ended):
        ended.wait(1)
        self.samples.append(machine())

    def means(self, from_unix, to_unix):
        """(CPU, memory) in between, as shares."""
        inside = [s for s in self.samples if from_unix <= s.at_unix <= to_unix]
        first, last = inside[0], inside[-1]
        cpu = (last.busy_s - first.busy_s) / (last.at_unix - first.at_unix) / os.cpu_count()
        return cpu, sum(s.mem_ratio for s in inside) / len(inside)


@pytest.fixture
def recorder():
    found = Recorder()
    with Background(found.once):
        yield found


def start_kubelet(plane, run, directory):
    """With a containerd of its own, next to a system's. It takes the Node as its own that the test
    has made: one with a loopback address it would not register."""
    argv, socket = containerd_argv(directory, "pause")
    run(argv, "containerd")
    wait_until(lambda: os.path.exists(socket), 60, "containerd to listen")
    own = {"address": ADDRESS, "registerNode": False}
    return run(kubelet_argv(plane, NODE, directory, socket, [], **own), "kubelet")


def status_for(token, path):
    """What the kubelet answers to this token; None: nothing."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(
        f"https://{ADDRESS}:{PORT}{path}", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def read(text):
    with open(text, encoding="ascii") as file:
        return file.read().strip()


@pytest.mark.alone
@pytest.mark.nightly
def test_a_real_kubelet_against_the_machine(plane, plimsoll, run, recorder, tmp_path, figure):
    assert shutil.which("containerd") and shutil.which("runc"), "see tests/tools/install-packages"
    plane.api.create("/api/v1/nodes", node_object(NODE, ADDRESS, cpu="1", memory="1Gi", kwok=False))
    try:
        kubelet = start_kubelet(plane, run, tmp_path)
        path = plimsoll.write_token("plimsoll-controller")
        wait_until(
            lambda: status_for(read(path), "/metrics/resource") == 200,
            120,
            f"the kubelet to answer, see {kubelet.err_path}",
            poll_s=0.5,
        )
        # Our role is for this alone; and not everybody has it.
        for denied in ("/pods", "/stats/summary", "/containerLogs/a/b/c", "/configz"):
            assert status_for(read(path), denied) == 403, denied
        other = plane.kubectl("create", "token", "default", "--namespace=default").strip()
        assert status_for(other, "/metrics/resource") == 403
        assert status_for("no-token", "/metrics/resource") == 401

        def capacity():
            found = plane.api.get(f"/api/v1/nodes/{NODE}")["status"]["capacity"]
            return found["cpu"] == str(os.cpu_count())

        wait_until(capacity, 60, "the kubelet to tell its capacity", poll_s=0.5)
        plimsoll.controller(
            plimsoll.write_policy(POLICY),
            None,
            sources=[kubelet_source(path, plane.authority.cert)],
            interval="5s",
        )
        began = time.time()

        def full():
            said = plane.api.get(f"/api/v1/nodes/{NODE}")["metadata"].get("annotations", {})
            if not {CPU, MEM} <= said.keys():
                return None
            cpu, stamp = said[CPU].split(",")
            mem, _ = said[MEM].split(",")
            at = time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
            return at > began + WINDOW_S + 15 and (float(cpu), float(mem), at)

        cpu, mem, at = wait_until(full, WINDOW_S + 90, "a full window", poll_s=1)
        true_cpu, true_mem = recorder.means(at - WINDOW_S, at)
        figure(f"CPU {cpu:.4f}, by /proc {true_cpu:.4f}; memory {mem:.4f}, by /proc {true_mem:.4f}")
        assert abs(cpu - true_cpu) < APART and abs(mem - true_mem) < APART
        assert not refused(plane, "plimsoll-controller")
    finally:
        plane.api.delete(f"/api/v1/nodes/{NODE}")
