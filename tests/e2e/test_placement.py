"""Where pods go, and where not, because of load."""

import re
import time

from cluster.nodes import CALM, HOT
from cluster.plimsoll import total, wait_judged
from cluster.workloads import per_node, pod_object  # noqa: F401, for the example
from harness import wait_until
from pages import block

CPU = "cpu_usage_avg_5s"


def wait_unschedulable(namespace, pod):
    def look():
        condition = namespace.condition(pod)
        return condition if condition.get("reason") == "Unschedulable" else None

    return wait_until(look, what=f"{pod} to be unschedulable", poll_s=0.1)


# test_hot_nodes_get_no_pod(), as the README of these tests has it
exec(block("tests/e2e/README.md", "example"))  # pylint: disable=exec-used


def test_all_hot_waits_with_one_reason(fleet, namespace, stack, figure):
    names = fleet.add(3, load=HOT)
    _, extender = stack()
    wait_judged(extender, names)

    namespace.create_pod("patient-0")
    condition = wait_unschedulable(namespace, "patient-0")
    message = condition["message"]
    # One reason, counted, and nothing about preemption having been useful.
    assert re.match(rf"0/3 nodes are available: 3 {CPU} above 0\.65\. ", message), message
    wait_until(lambda: namespace.events("FailedScheduling"), what="a FailedScheduling event")
    # The event goes through a format: no sign of ours may mean anything there.
    assert namespace.events("FailedScheduling")[0]["message"] == message
    figure(f"all nodes hot: {message!r}")

    fleet.set_load(names, **CALM)
    fallen = time.monotonic()
    fleet.wait_reading(CPU, names[:1], lambda ratio: ratio <= 0.65, "the load to have fallen")
    published = time.monotonic()
    namespace.wait_bound(1)
    bound = time.monotonic()
    figure(
        f"bound {bound - published:.1f} s after the first node's annotation was below the limit, "
        f"{bound - fallen:.1f} s after the load fell (window of 5 s, period of 2 s)"
    )
    # kube-scheduler's own backoff of a pod is up to 10 s.
    assert bound - published < 15


def asked(extender, verb):
    return total(extender, "plimsoll_extender_requests_total", verb=verb)


def uids(pods):
    return {pod["metadata"]["uid"] for pod in pods}


def test_load_evicts_nobody_from_full_nodes(fleet, namespace, stack, priority_class, figure):
    """The same where evicting would make room, for kube-scheduler's own filters know no load.

    Without the extender's preempt verb it evicts a pod from each node in turn, and then finds the
    node rejected.
    """
    names = fleet.add(3, load=CALM, cpu="2100m")
    _, extender = stack()
    fleet.wait_reading(CPU, names, lambda ratio: ratio < 0.25, "the nodes to show")
    namespace.create_pods("low", 6, cpu="1")
    places = namespace.wait_bound(6)
    namespace.create_pod("small-0", cpu="50m")
    namespace.wait_bound(1, app="small")
    before = uids(namespace.pods("low"))
    fleet.set_load(names, **HOT)
    wait_judged(extender, names)

    namespace.create_pod("urgent-0", priorityClassName=priority_class, cpu="1")
    condition = wait_unschedulable(namespace, "urgent-0")
    wait_until(lambda: asked(extender, "preempt") >= 1, 60, "an attempt to preempt")
    assert uids(namespace.pods("low")) == before
    assert not namespace.events("Preempted")
    figure(
        f"{len(before)} pods stayed on full, hot nodes; the urgent one waits: {condition['message']!r}"
    )

    # Where the load allows it, preemption is as useful as before. The pod waits for room, as far as
    # kube-scheduler knows, so that it looks again when a pod ends somewhere, or after 5 minutes.
    calm = names[1]
    fleet.set_load([calm], **CALM)
    fleet.wait_reading(CPU, [calm], lambda ratio: ratio < 0.65, "the load to have fallen")
    namespace.delete_pod("small-0")
    wait_until(
        lambda: namespace.pod("urgent-0")["spec"].get("nodeName") == calm,
        60,
        f"the urgent pod on {calm}",
        poll_s=0.1,
    )
    left = {pod["metadata"]["name"] for pod in namespace.pods("low")}
    (victim,) = set(places) - left
    assert places[victim] == calm
    figure("once a node was calm, one pod was evicted, from there")
