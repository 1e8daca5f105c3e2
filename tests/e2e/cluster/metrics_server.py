"""The real metrics-server behind the real aggregator, over what kwok or exporters say in the
kubelets' place.

kwok's nodes have the address of their exporter, and kwok itself listens on one: metrics-server asks
at the port that the Node names, so that its nodes must have kwok's address (point_to_kwok()).
"""

import json

from harness import wait_until

from .nodes import KWOK_PORT

# A Service's endpoints may be no loopback address, but it may be another name for localhost.
ADDRESS, PORT = "127.0.0.1", 4443
# The least that it takes.
RESOLUTION_S = 10
GROUP_VERSION = "v1beta1.metrics.k8s.io"
LIST_PATH = "/apis/metrics.k8s.io/v1beta1/nodes"


def objects(port):
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "metrics-server", "namespace": "kube-system"},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": GROUP_VERSION},
            "spec": {
                "group": "metrics.k8s.io",
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {"name": "metrics-server", "namespace": "kube-system", "port": port},
            },
        },
    ]


class MetricsServer:
    """The only one at its port in the sandbox."""

    def __init__(self, plane, port=PORT):
        self.plane = plane
        self.port = port
        self.process = None

    def register(self):
        """Tell the API server where the group is, whether or not anybody answers there."""
        text = "\n---\n".join(json.dumps(item) for item in objects(self.port))
        self.plane.kubectl("apply", "-f", "-", stdin=text)

    def start(self, *flags):
        config = self.plane.kubeconfig
        self.process = self.plane.run(
            "metrics-server",
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            f"--bind-address={ADDRESS}",
            f"--secure-port={self.port}",
            f"--cert-dir={self.plane.path('metrics-server')}",
            "--kubelet-insecure-tls",
            "--kubelet-use-node-status-port",
            "--kubelet-preferred-address-types=ExternalIP",
            f"--metric-resolution={RESOLUTION_S}s",
            "--kubelet-request-timeout=5s",
            *flags,
        )

    def kill(self):
        self.process.kill()

    def items(self):
        """{node: item} of what it says now; {} while nobody answers."""
        status, text = self.plane.api.request("GET", LIST_PATH)
        if status != 200:
            return {}
        return {item["metadata"]["name"]: item for item in json.loads(text)["items"]}

    def wait_items(self, names, timeout_s=120):
        wait_until(
            lambda: self.plane.check() or set(names) <= self.items().keys(),
            timeout_s,
            f"metrics-server to know {len(names)} nodes, see {self.process.err_path}",
            poll_s=0.5,
        )


def ask_exporters(exporters):
    """Flags with which it asks synthetic exporters, each at the address of its node."""
    return (
        f"--kubelet-port={exporters.port}",
        "--kubelet-use-node-status-port=false",
        "--kubelet-preferred-address-types=InternalIP",
        "--kubelet-insecure-tls=false",
        "--deprecated-kubelet-completely-insecure",
    )


def point_to_kwok(plane, names):
    """Make kwok the kubelet of these nodes, as metrics-server looks for it."""
    for name in names:
        node = plane.api.get(f"/api/v1/nodes/{name}")
        status = {
            "addresses": [
                *node["status"]["addresses"],
                {"type": "ExternalIP", "address": plane.address},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": KWOK_PORT}},
        }
        plane.api.patch(f"/api/v1/nodes/{name}/status", {"status": status})
