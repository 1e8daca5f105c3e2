"""Pretended kubelets: HTTPS, the pages that the controller reads, and what goes wrong with them."""

import ssl
import time
from typing import NamedTuple

from local_server import Handler, LocalServer
from standin import fabricate

CPUS, MEMORY_GIB, SWAP_BYTES = 8, 32, 4 << 30
POD_BYTES = 200 << 20
RESOURCE, CADVISOR = "/metrics/resource", "/metrics/cadvisor"


class Asked(NamedTuple):
    path: str
    token: str  # "" without one
    client: str  # common name of the client's certificate; "" without one


class Kubelet:
    """One node's. Loads are shares of all CPUs, of the memory and of the swap.

    It samples every `resolution_s` and repeats a sample until the next one, as cAdvisor does; pods at
    other times than the node.
    """

    def __init__(self, pair, client_ca=None, address="127.0.0.1"):
        self.load = (0.5, 0.25, 0.125)
        self.pressure = 0.375
        self.resolution_s = 2
        self.pods = {}  # (namespace, name): cores
        self.answer = None  # (status, headers, body) in place of the page
        self.asked = []
        self.began_unix = time.time()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)
        if client_ca:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_OPTIONAL
        kubelet = self

        class Asking(Handler):
            def setup(self):
                # Here, in the connection's own thread, a peer that turns away delays nobody.
                self.request = context.wrap_socket(self.request, server_side=True)
                super().setup()

            def finish(self):
                super().finish()
                self.request.close()  # the server knows the socket below alone

            def do_GET(self):  # noqa: N802
                kubelet.note(self)
                status, headers, body = kubelet.answer or (200, {}, kubelet.page(self))
                self.reply(status, body, **headers)

        self.server = LocalServer(Asking, address)
        self.port, self.stop = self.server.port, self.server.close

    def note(self, handler):
        subject = (handler.request.getpeercert() or {}).get("subject", ())
        client = "".join(value for part in subject for key, value in part if key == "commonName")
        scheme, _, token = handler.headers.get("Authorization", "").partition(" ")
        assert scheme in ("", "Bearer")
        self.asked.append(Asked(handler.path, token, client))

    def pod_rows(self):
        """With their own times."""
        at = (time.time() - 0.7) // self.resolution_s * self.resolution_s + 0.7
        for (namespace, name), cores in self.pods.items():
            used_s = 10 + cores * (at - self.began_unix)
            yield (
                f'pod_cpu_usage_seconds_total{{namespace="{namespace}",pod="{name}"}} '
                f"{used_s} {int(at * 1000)}\n"
                f'pod_memory_working_set_bytes{{namespace="{namespace}",pod="{name}"}} '
                f"{POD_BYTES} {int(at * 1000)}\n"
            )

    def page(self, asking):
        at = time.time() // self.resolution_s * self.resolution_s
        cpu, mem, swap = self.load
        busy_s = 1000 + cpu * CPUS * (at - self.began_unix)
        mem_bytes, swap_bytes = mem * MEMORY_GIB * 2**30, swap * SWAP_BYTES
        stamp = int(at * 1000)
        if asking.path == CADVISOR:
            waited_s = 50 + self.pressure * (at - self.began_unix)
            rows = [
                'container_cpu_usage_seconds_total{cpu="total",id="/kubepods"} 1',
                f'container_cpu_usage_seconds_total{{cpu="total",id="/",image=""}} {busy_s}',
                'container_memory_working_set_bytes{id="/kubepods"} 1',
                f'container_memory_working_set_bytes{{id="/",image=""}} {mem_bytes}',
                f'container_pressure_cpu_waiting_seconds_total{{id="/"}} {waited_s}',
            ]
        else:
            rows = [
                'pod_cpu_usage_seconds_total{namespace="a",pod="b"} 1',
                f"node_cpu_usage_seconds_total {busy_s}",
                f"node_memory_working_set_bytes {mem_bytes}",
                f"node_swap_usage_bytes {swap_bytes}",
            ]
        lines = [f"{row} {stamp}\n" for row in rows]
        return "".join([*lines, *self.pod_rows(), "resource_scrape_error 0\n"])


def add_pod(standin, namespace, name, node, owner_kind=None, uid=None, **requests):
    """A bound Pod of the stand-in."""
    pod = fabricate.pod(name, namespace, owner_kind)
    pod["metadata"]["uid"] = uid or f"uid-of-{namespace}-{name}"
    pod["spec"]["nodeName"] = node
    pod["spec"]["containers"][0]["resources"] = {"requests": requests, "limits": requests}
    pod["status"] = {"phase": "Running"}
    standin.admin("objects", {"resource": "pods", "object": pod})


def add_node(standin, name, kubelet, path=None, address="127.0.0.1", **status):
    """A Node of the stand-in whose kubelet this is."""
    node = fabricate.node(name, address, cpus=CPUS, memory_gib=MEMORY_GIB)
    node["metadata"]["uid"] = f"uid-of-{name}"
    if path:
        node["metadata"]["annotations"]["metrics.k8s.io/resource-metrics-path"] = path
    node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] = kubelet.port
    node["status"]["nodeInfo"]["swap"] = {"capacity": SWAP_BYTES}
    node["status"] |= status
    standin.admin("objects", {"resource": "nodes", "object": node})
