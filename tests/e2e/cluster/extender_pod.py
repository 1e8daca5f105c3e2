"""An extender that runs next to the cluster, as the pod that the API server's proxy finds it in."""

import contextlib
import subprocess

from .workloads import pod_object

ADDRESS = "10.138.0.1"  # that proxy reaches no pod on the loopback
PODS = "/api/v1/namespaces/kube-system/pods"
NAME = "extender-0"
LABELS = {
    "app.kubernetes.io/name": "plimsoll-extender",
    "app.kubernetes.io/part-of": "plimsoll",
}


def create(plane, node, address, container):
    pod = pod_object(NAME, labels=LABELS)
    pod["spec"].update(nodeName=node, serviceAccountName="plimsoll-extender")
    pod["spec"]["containers"][0].update(container)
    plane.api.create(PODS, pod)
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
    plane.api.patch(f"{PODS}/{NAME}/status", {"status": status})


def ports_of(extender):
    return {"ports": [{"containerPort": int(extender.url.rpartition(":")[2])}]}


@contextlib.contextmanager
def published(plane, fleet, container):
    """@container: of an extender that listens on all addresses. Its node is of no use to others."""
    subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
    try:
        (node,) = fleet.add(1, name="away", kwok=False)
        plane.kubectl("taint", "node", node, "away=:NoSchedule")
        create(plane, node, ADDRESS, container)
        yield
        plane.api.delete(f"{PODS}/{NAME}")
        plane.kubectl("delete", "node", node)
    finally:
        subprocess.run(["ip", "address", "del", f"{ADDRESS}/32", "dev", "lo"], check=True)
