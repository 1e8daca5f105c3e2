"""Deployments through the default scheduler and through a second one, as users run them.

The checks are those that crane-scheduler-plus publishes: a `cpu-stress` Deployment of one replica,
and an nginx Deployment with a rolling update, scaled 3 -> 30 -> 3.
"""

import time

import pytest
from cluster.nodes import CALM
from cluster.workloads import per_node, placed, pod_object
from harness import wait_until

STRESSED = {"cpu": 0.85, "mem": 0.3}


def wait_available(namespace, name, replicas, timeout_s=90):
    """Wait until a rollout is over: every replica is of the newest template and available."""

    def look():
        found = namespace.deployment(name)
        status = found["status"]
        seen = {
            key: status.get(key, 0)
            for key in ("observedGeneration", "replicas", "updatedReplicas", "availableReplicas")
        }
        wanted = dict.fromkeys(seen, replicas)
        wanted["observedGeneration"] = found["metadata"]["generation"]
        assert seen == wanted, f"{name}: {seen}, wanted {wanted}"
        # Pods that are being deleted are no replicas any more, but still there.
        assert len(namespace.pods(name)) == replicas
        return True

    wait_until(look, timeout_s, f"{replicas} replicas of {name}", poll_s=0.2)


@pytest.mark.parametrize("name", ["default-scheduler", "load-aware"])
def test_rollout(plane, fleet, namespace, scheduler, stack, figure, name):
    names = fleet.add(6, load=CALM)
    if name != "default-scheduler":
        scheduler()  # the cluster's own, which knows nothing of the extender
    stack(name=name)
    started = time.monotonic()

    def pod(app, **more):
        return pod_object(f"{app}-0", scheduler=name, **more)

    namespace.create_deployment("cpu-stress", 1, pod("cpu-stress", cpu="2"))
    wait_available(namespace, "cpu-stress", 1)
    (stressed,) = placed(namespace.pods("cpu-stress")).values()
    fleet.set_load([stressed], **STRESSED)

    def is_hot():
        text = fleet.annotations(stressed).get("cpu_usage_avg_5s", "0")
        return float(text.split(",")[0]) > 0.65

    wait_until(is_hot, what="the stressed node to show", poll_s=0.1)

    namespace.create_deployment("nginx", 3, pod("nginx"))
    wait_available(namespace, "nginx", 3)
    namespace.scale("nginx", 30)
    wait_available(namespace, "nginx", 30)
    wide = placed(namespace.pods("nginx"))
    assert stressed not in wide.values()

    changed = {"spec": {"template": {"metadata": {"annotations": {"e2e/revision": "2"}}}}}
    plane.api.patch(f"{namespace.apps}/deployments/nginx", changed)
    wait_available(namespace, "nginx", 30)
    renewed = placed(namespace.pods("nginx"))
    assert not set(renewed) & set(wide), "every pod was replaced"
    assert stressed not in renewed.values()

    namespace.scale("nginx", 3)
    wait_available(namespace, "nginx", 3)
    assert len(placed(namespace.pods("cpu-stress"))) == 1

    # Every pod that ever was has been scheduled once, by the scheduler that it asked for. kubelets
    # and controllers have nothing to complain of.
    expected = 1 + 30 + 30
    wait_until(
        lambda: len(namespace.events("Scheduled")) >= expected, what=f"{expected} Scheduled events"
    )
    scheduled = namespace.events("Scheduled")
    by = {event["reportingComponent"] for event in scheduled}
    assert by == {name}, by
    warnings = [event for event in namespace.events() if event["type"] != "Normal"]
    assert not warnings, [event["message"] for event in warnings]
    calm = [node for node in names if node != stressed]
    figure(
        f"{len(scheduled)} pods scheduled in {time.monotonic() - started:.0f} s, none on the "
        f"stressed node; 30 replicas {per_node(wide, calm)}, renewed {per_node(renewed, calm)}"
    )
