"""A cluster of only IPv6: its network has no IPv4 address, not even on loopback, and sockets that are
asked for `::` take nothing else unless they say so (bindv6only)."""

import ctypes
import os
import pathlib
import re
import subprocess

import pytest
from cluster import extender_pod
from cluster.kubelet import ReviewingKubelet
from cluster.plimsoll import fast_policy, page, wait_ready
from cluster.workloads import placed, pod_object
from harness import Exporters, wait_until
from programs import complete

ADDRESS = "fd00::1"  # of the control plane, and of our pods: an API server's proxy asks no ::1
NODES = ("fd00:1::1", "fd00:1::2")
KUBELET = "fd00:1::3"
CLONE_NEWNET = 0x40000000
CPU = "cpu_usage_avg_5s"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def without_ipv4():
    """A network of its own for this thread, and for all that it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net", encoding="ascii") as before:
        assert libc.unshare(CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        try:
            for words in ("link set lo up", "-4 address flush dev lo"):
                subprocess.run(["ip", *words.split()], check=True)
            for address in (ADDRESS, *NODES, KUBELET):
                subprocess.run(["ip", "address", "add", address, "dev", "lo"], check=True)
            pathlib.Path("/proc/sys/net/ipv6/bindv6only").write_text("1", encoding="ascii")
            yield
        finally:
            assert libc.setns(before.fileno(), CLONE_NEWNET) == 0


@pytest.fixture
def plane(without_ipv4, start_plane):
    return start_plane(ADDRESS, has_manager=False)


@pytest.fixture
def exporters(without_ipv4, log_dir):
    hosts = [f"--host={address}" for address in ("::1", *NODES)]
    peer = Exporters(log_dir, *hosts)
    yield peer
    peer.stop()


@pytest.fixture
def kubelet_node(plane, fleet):
    """A node without an exporter, whose kubelet is asked; busy to 50%."""
    (node,) = fleet.add(1, address=KUBELET, kwok=False)
    kubelet = ReviewingKubelet(plane, node, KUBELET)
    yield node
    kubelet.stop()


@pytest.mark.nightly
def test_ipv6_alone(plane, fleet, exporters, kubelet_node, plimsoll, binary, figure):
    hot, cool = (
        fleet.add(1, address=address, load={"cpu": load, "mem": 0.1})[0]
        for address, load in zip(NODES, (0.9, 0.2))
    )
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    policy = plimsoll.write_policy(fast_policy())
    plane.kubectl("apply", "-f", policy)
    controllers = [
        plimsoll.as_pod(
            "plimsoll-controller", "--metrics-source=node-exporter,kubelet", "--scrape-interval=1s",
            f"--target-url-template=http://{{address}}:{exporters.port}/metrics", "--health-port=0",
            "--leader-elect-resource-namespace=kube-system",
        )
        for _ in range(2)
    ]  # fmt: skip
    for controller in controllers:
        controller.url = f"http://[::1]:{controller.wait_port(r'msg=serving .*port=([0-9]+)')}"
    extender = plimsoll.as_pod("plimsoll-extender", f"--bind-address={ADDRESS}", "--port=8010")
    extender.url = f"http://[{ADDRESS}]:{extender.wait_port()}"
    wait_ready(extender)
    for node, load in ((hot, 0.9), (cool, 0.2), (kubelet_node, 0.5)):
        fleet.wait_reading(CPU, [node], lambda ratio, load=load: abs(ratio - load) < 0.1, "loads")

    plane.start_scheduler(extenders=[plimsoll.scheduler_entry(extender, nodeCacheCapable=True)])
    plane.kubectl("cordon", kubelet_node)
    for i in range(3):
        plane.api.create(PODS, pod_object(f"web-{i}"))
    wait_until(lambda: len(placed(plane.api.items(PODS))) == 3, 60, "three pods to have a node")
    assert set(placed(plane.api.items(PODS)).values()) == {cool}

    # The plugin, through the API server.
    extender_pod.create(plane, kubelet_node, ADDRESS, extender_pod.ports_of(extender))
    argv = [binary("kubectl-plimsoll"), "explain", "pod", "default/web-0"]
    argv += [f"--kubeconfig={plane.kubeconfig}"]
    done = complete(*argv)
    assert "no decision" not in done.stdout, done
    assert f"{hot}: rejected" in done.stdout, done.stdout

    # The Lease is handed over.
    leader, standby = sorted(controllers, key=lambda c: "started leading" not in c.stderr())
    assert leader.stop() == 0
    standby.wait_log("started leading")
    assert "<html" in page(standby, "/").text and hot in page(standby, "/status.json").text

    # A template, outside of the cluster.
    template = f"http://{{address}}:{exporters.port}/node/{{address}}/metrics"
    argv = [
        binary("plimsoll-controller"),
        f"--kubeconfig={plane.kubeconfig}",
        "--once",
        "--dry-run",
    ]
    argv += [f"--policy-config-path={policy}", f"--target-url-template={template}"]
    done = complete(*argv, status=None)
    assert re.search(rf"^{hot} +[89]\d\.\d%", done.stdout, re.MULTILINE), done

    # On `::` the programs take IPv4 too, if there is any.
    subprocess.run(["ip", "address", "add", "127.0.0.1/8", "dev", "lo"], check=True)
    standby.url = standby.url.replace("[::1]", "127.0.0.1")
    assert page(standby, "/livez").status == 200
    figure(f"3 pods on the cool node, lease, status page, plugin and kubelet by {plane.url} alone")
