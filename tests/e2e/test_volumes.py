"""Pods that wait for a volume: kube-scheduler has chosen their node, and binds them minutes later."""

import json
import time

from cluster.plimsoll import TOP, page, total
from cluster.workloads import pod_object
from harness import wait_until

CLASS = "slow"
# Longer than what is reserved for other pods (RESERVATION_MS).
SLOW_S = 7


def put_claim(namespace):
    """A claim whose provisioner, which nobody runs, is asked when a pod's node is known."""
    api = namespace.plane.api
    api.create(
        "/apis/storage.k8s.io/v1/storageclasses",
        {
            "metadata": {"name": CLASS},
            "provisioner": "example.com/slow",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    )
    api.create(
        f"{namespace.root}/persistentvolumeclaims",
        {
            "metadata": {"name": "data"},
            "spec": {
                "storageClassName": CLASS,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
    )


def provision(namespace):
    namespace.plane.api.create(
        "/api/v1/persistentvolumes",
        {
            "metadata": {"name": namespace.name},
            "spec": {
                "storageClassName": CLASS,
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "hostPath": {"path": "/nowhere"},
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": namespace.name,
                    "name": "data",
                },
            },
        },
    )


def test_reserved_until_the_volume_is_there(plane, fleet, namespace, plimsoll, scheduler):
    fleet.add(3)
    extender = plimsoll.extender(plimsoll.write_policy(TOP / "policy" / "policy.yaml"))
    scheduler(extenders=[plimsoll.scheduler_entry(extender)])

    def reserved():
        return total(extender, "plimsoll_extender_reservations")

    def confirmed_at():
        answer = page(extender, f"/decisions?pod={namespace.name}/web-0")
        return json.loads(answer.text)["confirmedAt"]

    put_claim(namespace)
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    namespace.create(pod_object("web-0", volumes=[claim]))
    wait_until(lambda: reserved() == 1, what="an answer")
    time.sleep(SLOW_S)
    assert "nodeName" not in namespace.pod("web-0")["spec"] and reserved() == 1
    assert confirmed_at() is None
    provision(namespace)
    namespace.wait_bound(1)
    wait_until(lambda: reserved() == 0, what="the reservation to end")
    assert confirmed_at()
    plane.api.delete(f"/apis/storage.k8s.io/v1/storageclasses/{CLASS}")
    plane.api.delete(f"/api/v1/persistentvolumes/{namespace.name}")
