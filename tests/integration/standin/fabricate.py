"""Believable objects in bulk."""

import random

IMAGE_NAMES = ("app", "proxy", "sidecar", "batch", "cache", "agent", "gateway", "worker")


def _images(count):
    rng = random.Random(count)
    images = []
    for i in range(count):
        name = f"registry.example.com/team-{i % 7}/{IMAGE_NAMES[i % len(IMAGE_NAMES)]}-{i}"
        digest = "%064x" % rng.getrandbits(256)
        images.append(
            {
                "names": [f"{name}@sha256:{digest}", f"{name}:v1.{i}"],
                "sizeBytes": rng.randrange(5_000_000, 900_000_000),
            }
        )
    return images


_image_cache = {}

CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
    ("Ready", "True", "KubeletReady"),
)


def node(
    name,
    address=None,
    labels=None,
    annotations=None,
    cpus=8,
    memory_gib=32,
    images=5,
    now="2026-01-01T00:00:00Z",
):
    """A Node as a kubelet of today reports it."""
    if images not in _image_cache:
        _image_cache[images] = _images(images)
    addresses = [{"type": "InternalIP", "address": address}] if address else []
    addresses.append({"type": "Hostname", "address": name})
    quantity = {
        "cpu": str(cpus),
        "ephemeral-storage": "101430960Ki",
        "hugepages-2Mi": "0",
        "memory": f"{memory_gib}Gi" if memory_gib else "0",
        "pods": "110",
    }
    metadata = {
        "name": name,
        "labels": {
            "beta.kubernetes.io/arch": "amd64",
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            **(labels or {}),
        },
        "annotations": {
            "node.alpha.kubernetes.io/ttl": "0",
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            **(annotations or {}),
        },
    }
    conditions = []
    for kind, status, reason in CONDITIONS:
        conditions.append(
            {
                "type": kind,
                "status": status,
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
                "reason": reason,
                "message": reason,
            }
        )
    return {
        "metadata": metadata,
        "spec": {"podCIDR": "10.244.0.0/24", "podCIDRs": ["10.244.0.0/24"]},
        "status": {
            "capacity": quantity,
            "allocatable": quantity,
            "conditions": conditions,
            "addresses": addresses,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": "0" * 32,
                "systemUUID": "00000000-0000-0000-0000-000000000000",
                "bootID": "00000000-0000-0000-0000-000000000000",
                "kernelVersion": "6.1.0-32-amd64",
                "osImage": "Debian GNU/Linux 12 (bookworm)",
                "containerRuntimeVersion": "containerd://1.7.27",
                "kubeletVersion": "v1.32.4",
                "kubeProxyVersion": "v1.32.4",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
            "images": _image_cache[images],
        },
    }


def pod(name, namespace="default", owner_kind=None):
    """A Pod as a ReplicaSet (or `owner_kind`) makes it, waiting for a node."""
    metadata = {"name": name, "namespace": namespace, "labels": {"app": "web"}}
    if owner_kind:
        metadata["ownerReferences"] = [
            {
                "apiVersion": "apps/v1",
                "kind": owner_kind,
                "name": f"{owner_kind.lower()}-1",
                "uid": "00000000-0000-0000-0000-000000000001",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    return {
        "metadata": metadata,
        "spec": {
            "containers": [
                {
                    "name": "app",
                    "image": "registry.example.com/app:v1",
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                }
            ],
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }
