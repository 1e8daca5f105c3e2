#!/usr/bin/python3
"""Records tests/data/kube-proto: `tests/e2e/sandbox tests/e2e/tools/record_protobuf.py`.

Each answer of a real API server twice, in JSON and in protobuf: a list of pods, its first page, the
watch of a pod from its binding to its end, a bookmark, an expired watch, and a refused request;
nodes, whole and their metadata alone, and the watch of one that reports, is annotated and removed.
"""

import http.client
import pathlib
import re
import sys
import tempfile
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "integration")]

from cluster.control_plane import ControlPlane  # noqa: E402
from cluster.nodes import node_object  # noqa: E402
from cluster.workloads import Namespace, daemon_set_object, deployment_object  # noqa: E402
from cluster.workloads import pod_object, template_of  # noqa: E402
from harness import wait_until  # noqa: E402

DATA = TOP / "tests" / "data" / "kube-proto"
ACCEPT = {"json": "application/json", "pb": "application/vnd.kubernetes.protobuf"}


def ask(plane, encoding, path, query):
    """The body of an answer in this encoding."""
    connection = http.client.HTTPSConnection(
        plane.api.parts.hostname, plane.api.parts.port, context=plane.api.context, timeout=60
    )
    target = path + ("?" + urllib.parse.urlencode(query) if query else "")
    connection.request("GET", target, headers={"Accept": ACCEPT[encoding]})
    answer = connection.getresponse()
    print(encoding, target, answer.status, answer.getheader("Content-Type"))
    return answer.read()


def record(plane, name, path, **query):
    """Both of the same moment: the cluster's versions move on."""

    def same():
        bodies = {encoding: ask(plane, encoding, path, query) for encoding in ACCEPT}
        versions = re.findall(rb'"resourceVersion":"(\d+)"', bodies["json"])
        assert all(version in bodies["pb"] for version in versions)
        assert "watch" in query or ask(plane, "json", path, query) == bodies["json"]
        return bodies

    for encoding, body in wait_until(same, what=name).items():
        (DATA / f"{name}.{encoding}").write_bytes(body)


def bind(plane, namespace, pod, node):
    plane.api.create(
        f"{namespace.root}/pods/{pod}/binding",
        {"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}},
    )


def set_phase(plane, namespace, pod, phase):
    plane.api.patch(f"{namespace.root}/pods/{pod}/status", {"status": {"phase": phase}})


REQUESTS = {"cpu": "2", "memory": "1e9"}
# What a container is given, and what a resized pod with a device has in its status.
GIVEN = {"allocatedResources": REQUESTS, "resources": {"requests": REQUESTS}}
HELD = GIVEN | {
    "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
    "nodeAllocatableResourceClaimStatuses": [
        {
            "resourceClaimName": "gpu",
            "containers": ["c"],
            "mapping": [{"name": "cpu", "quantity": "2"}],
            "overhead": [{"name": "memory", "perPod": "64Mi", "perContainer": "8Mi"}],
        }
    ],
}


def run(plane, namespace, pod, more=()):
    """Its container has been started, as the kubelet says."""
    container = {"name": "c", "image": "i", "imageID": "i@sha256:0", "ready": True}
    container |= {"restartCount": 0, "state": {"running": {"startedAt": "2026-01-01T00:00:07Z"}}}
    status = {"phase": "Running", "containerStatuses": [container | GIVEN], **dict(more)}
    plane.api.patch(f"{namespace.root}/pods/{pod}/status", {"status": status})


def full_pod():
    """A Deployment's, with everything that is counted."""
    pod = pod_object("web-0")
    pod["metadata"]["annotations"] = {"note": 'Größe "M" \\ <b>\n'}
    once = {"name": "once", "image": "i", "resources": {"requests": {"cpu": "1500m"}}}
    side = {
        "name": "side",
        "image": "i",
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"cpu": "1"}},
    }
    pod["spec"] |= {"initContainers": [side, once], "runtimeClassName": "sandboxed"}
    return pod


# What keeps a pod on some nodes.
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
RESTRICTIONS = {
    "nodeSelector": {"pool": "a"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
            }
        },
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]},
    },
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    ],
}


def create_pods(plane, namespace):
    plane.api.create(
        "/apis/node.k8s.io/v1/runtimeclasses",
        {
            "metadata": {"name": "sandboxed"},
            "handler": "x",
            "overhead": {"podFixed": {"cpu": "10m", "memory": "8Mi"}},
        },
    )
    plane.api.create(f"{namespace.apps}/deployments", deployment_object("web", 1, full_pod()))
    plane.api.create(
        f"{namespace.apps}/daemonsets", daemon_set_object("agent", pod_object("agent-0"))
    )
    template, _ = template_of(pod_object("nightly-0", restartPolicy="Never"))
    plane.api.create(
        f"/apis/batch/v1/namespaces/{namespace.name}/jobs",
        {"metadata": {"name": "nightly-29012345"}, "spec": {"template": template}},
    )
    mirror = pod_object("static", nodeName="node-0")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    namespace.create(mirror)
    whole = pod_object("whole")
    whole["spec"]["resources"] = {"requests": {"cpu": "2", "memory": "1e9"}}
    whole["spec"] |= RESTRICTIONS
    whole["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpu"}]
    namespace.create(whole)
    namespace.create_pod("ended", nodeName="node-0")
    set_phase(plane, namespace, "ended", "Succeeded")
    wait_until(lambda: len(namespace.pods()) == 6 or None, what="six pods")
    for pod in namespace.pods():
        if not pod["spec"].get("nodeName"):
            bind(plane, namespace, pod["metadata"]["name"], "node-0")
    run(plane, namespace, "whole", HELD)


def record_life(plane, namespace):
    namespace.create_pod("short")
    start = plane.api.get(f"{namespace.root}/pods")["metadata"]["resourceVersion"]
    bind(plane, namespace, "short", "node-0")
    run(plane, namespace, "short")
    plane.api.delete(f"{namespace.root}/pods/short", {"gracePeriodSeconds": 0})
    record(
        plane,
        "watch",
        f"{namespace.root}/pods",
        watch=1,
        resourceVersion=start,
        timeoutSeconds=2,
        fieldSelector="spec.nodeName!=,metadata.name=short",
    )


def record_bookmark(plane):
    """The bookmark after the objects that exist already; here there are none."""
    record(
        plane,
        "bookmark",
        "/api/v1/pods",
        watch=1,
        allowWatchBookmarks="true",
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        timeoutSeconds=2,
        fieldSelector="metadata.name=nobody",
    )


def full_node(name):
    """With everything that is read, and what a kubelet reports next to it."""
    node = node_object(name, "127.1.0.2", kwok=False)
    node["metadata"]["labels"] |= {"topology.kubernetes.io/zone": "zone-a"}
    node["metadata"]["annotations"] = {
        "cpu_usage_avg_5m": "0.25000,2026-01-01T08:00:00Z",
        "example.com/note": 'Größe "M" \\ <b>\n',
        "empty": "",
    }
    node["spec"] = {
        "podCIDRs": ["10.244.0.0/24"],
        "unschedulable": True,
        "taints": [
            {"key": "old", "effect": "PreferNoSchedule"},
            {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        ],
    }
    node["status"] |= {
        "allocatable": {"cpu": "7910m", "memory": "31Gi", "ephemeral-storage": "90Gi"},
        "images": [{"names": ["web:1", "web@sha256:0"], "sizeBytes": 123456789}],
        "nodeInfo": {
            "kubeletVersion": "v1.37.2",
            "architecture": "amd64",
            "swap": {"capacity": 4294967296},
        },
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
    }
    return node


def record_nodes(plane):
    plane.api.create("/api/v1/nodes", full_node("full"))
    plane.api.create("/api/v1/nodes", {"metadata": {"name": "bare"}})
    record(plane, "nodes", "/api/v1/nodes")
    start = plane.api.get("/api/v1/nodes")["metadata"]["resourceVersion"]
    heartbeat = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:10Z"}
    plane.api.patch("/api/v1/nodes/full/status", {"status": {"conditions": [heartbeat]}})
    plane.api.patch("/api/v1/nodes/full", {"metadata": {"annotations": {"x": "0.5,y"}}})
    plane.api.delete("/api/v1/nodes/full")
    query = {"watch": 1, "resourceVersion": start, "timeoutSeconds": 2}
    query["fieldSelector"] = "metadata.name=full"
    record(plane, "node-watch", "/api/v1/nodes", **query)


with tempfile.TemporaryDirectory(prefix="plimsoll-record-") as directory:
    cluster = ControlPlane(directory, "127.100.0.1", feature_gates=["DRANodeAllocatableResources"])
    try:
        cluster.api.create("/api/v1/nodes", node_object("node-0", "127.1.0.1", kwok=False))
        shop = Namespace(cluster, "shop")
        create_pods(cluster, shop)
        DATA.mkdir(exist_ok=True)
        record(cluster, "list", f"{shop.root}/pods")
        record(cluster, "page", f"{shop.root}/pods", limit=1)
        record_life(cluster, shop)
        record_bookmark(cluster)
        record_nodes(cluster)
        cluster.stop_api_server()
        cluster.start_api_server()  # whose watch cache begins now
        record(cluster, "expired", "/api/v1/pods", watch=1, resourceVersion=1, timeoutSeconds=2)
        record(cluster, "refused", "/api/v1/pods", fieldSelector="spec.color=red")
    finally:
        cluster.stop()
