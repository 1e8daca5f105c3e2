"""Nodes without kubelets: objects whose InternalIP is the loopback address of a synthetic exporter.

kwok plays the kubelet for them: it keeps them Ready, and pods that are bound to them run. A node
with kwok=False is an object and nothing else; pods that are bound to it stay Pending.
"""

import os

from addresses import address_of
from harness import wait_until
from tools import build

USAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kwok.yaml")
FIRST_ADDRESS = "127.1.0.1"
KWOK_PORT = 10247
MANAGED = "kwok.x-k8s.io/node"
# Where metrics-server asks; a kubelet's is /metrics/resource.
RESOURCE_PAGE = "metrics.k8s.io/resource-metrics-path"
POD_KEYS = ("cpu", "memory", "pods")
# Loads above and below the limits of fast_policy().
HOT = {"cpu": 0.9, "mem": 0.3}
CALM = {"cpu": 0.2, "mem": 0.3}


def resource_page(node):
    return f"/metrics/nodes/{node}/metrics/resource"


def node_object(
    name, address, cpu="8", memory="32Gi", pods="110", labels=None, annotations=None, kwok=True
):
    amounts = dict(zip(POD_KEYS, (cpu, memory, pods)))
    played = {MANAGED: "fake", RESOURCE_PAGE: resource_page(name)} if kwok else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            # As every kubelet has them.
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                **(labels or {}),
            },
            "annotations": {**played, **(annotations or {})},
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "e2e"}
            ],
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": name},
            ],
        },
    }


def start_kwok(plane):
    """Play kubelet for every node that asks for it (MANAGED), and run the pods on them at once.

    On exporter_template() it also serves what an exporter of each node would say (kwok.yaml), and
    to metrics-server what a kubelet would.
    """
    stages = build.shared("kwok", "kustomize/stage/*/fast/*.yaml")
    # kwok.yaml has another.
    stages = [path for path in stages if os.path.basename(path) != "pod-complete.yaml"]
    pages = build.shared("kwok", "kustomize/metrics/resource/*.yaml")
    cert, key = plane.kubelet_keys
    process = plane.run(
        "kwok",
        f"--kubeconfig={plane.kubeconfig}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={MANAGED}=fake",
        f"--server-address={plane.host}:{KWOK_PORT}",
        f"--node-ip={plane.address}",
        f"--node-port={KWOK_PORT}",
        # HTTP and HTTPS on the same port.
        f"--tls-cert-file={cert}",
        f"--tls-private-key-file={key}",
        *[f"--config={path}" for path in [*stages, *pages, USAGE]],
    )
    return process


def exporter_template(plane):
    """--target-url-template for the pages that kwok computes from the pods on each node."""
    return f"http://{plane.host}:{KWOK_PORT}/metrics/nodes/{{node}}/metrics/exporter"


class Fleet:
    """The nodes of one test; their loads are scripted through `exporters` (harness.Exporters)."""

    def __init__(self, plane, exporters, prefix="node"):
        self.plane = plane
        self.exporters = exporters
        self.prefix = prefix
        self.addresses = {}

    def add(self, count, load=None, name=None, address=None, **more):
        """Create nodes; returns their names. `load` is {"cpu": 0.3, "mem": 0.2} or a part of it."""
        names = []
        for _ in range(count):
            index = len(self.addresses)
            node = f"{name or self.prefix}-{index:04}"
            self.addresses[node] = address or address_of(FIRST_ADDRESS, index)
            self.plane.api.create("/api/v1/nodes", node_object(node, self.addresses[node], **more))
            names.append(node)
        if load:
            self.set_load(names, **load)
        return names

    def set_load(self, names, **load):
        self.exporters.set([self.addresses[name] for name in names], load=load)

    def annotations(self, name):
        return self.plane.api.get(f"/api/v1/nodes/{name}")["metadata"].get("annotations", {})

    def all_annotations(self):
        """{node: annotations} of every node."""
        return {
            item["metadata"]["name"]: item["metadata"].get("annotations", {})
            for item in self.plane.api.items("/api/v1/nodes")
        }

    def wait_reading(self, key, names, is_wanted, what):
        """Wait until that annotation's ratio is as wanted on every one of the nodes."""

        def look():
            found = self.all_annotations()
            for name in names:
                text = found[name].get(key, "")
                assert text and is_wanted(float(text.split(",")[0])), f"{name}: {key}={text!r}"
            return True

        wait_until(look, what=what, poll_s=0.1)

    def annotate(self, name, annotations):
        """Write annotations by hand; None removes one."""
        self.plane.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": annotations}})

    def remove(self, names=None):
        for name in names or list(self.addresses):
            self.plane.api.delete(f"/api/v1/nodes/{name}")
            del self.addresses[name]
