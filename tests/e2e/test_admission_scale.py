"""deploy/admission with 5,000 nodes: how large the list is, how often it is written, what a pod pays."""

import json
import random
import statistics
import time

import pytest
from addresses import address_of
from cluster.admission import LABEL, LISTS, asked, container, estimating_policy
from cluster.nodes import node_object
from cluster.plimsoll import total
from cluster.workloads import Namespace
from harness import wait_until
from policies import ago

NODES = 5000
LISTED = 32
ROUNDS, ROUND = 10, 60
PODS, PODS_A_SECOND = 500, 25
QUIET_S = 30
# What docs/admission.md says.
LIST_KIB = 20
POD_KIB = 5
CREATE_MORE_MS = 15
WRITES_A_SECOND = 1
WRITES_A_MINUTE_QUIET = 7


def size_kib(item):
    """As JSON, without who owns which of its fields."""
    metadata = {k: v for k, v in item["metadata"].items() if k != "managedFields"}
    return len(json.dumps(item | {"metadata": metadata}, separators=(",", ":"))) / 1024


def creations_ms(namespace, prefix):
    took = []
    for i in range(ROUND):
        began = time.monotonic()
        namespace.create_pod(f"{prefix}-{i:03}")
        took.append(1000 * (time.monotonic() - began))
    return took


def writes(extender):
    return total(extender, "plimsoll_extender_admission_writes_total", 0, result="sent")


@pytest.fixture
def many(plane, plimsoll):
    """Nodes with long names, as clouds give them, and readings that nobody renews."""
    rng = random.Random(1)
    for i in range(NODES):
        address = address_of("10.1.0.1", i)
        name = f"ip-{address.replace('.', '-')}.eu-central-1.compute.internal"
        notes = {
            f"{r}_usage_avg_5s": f"{rng.uniform(0.1, 0.6):.5f},{ago()}" for r in ("cpu", "mem")
        }
        node = node_object(name, address, annotations=notes, kwok=False)
        plane.api.create("/api/v1/nodes", node)
    policy = estimating_policy()
    for metric in policy["spec"]["syncPolicy"]:
        metric["period"] = "15m"
    plimsoll.install(plane, "admission")
    return plimsoll.extender(plimsoll.write_policy(policy), "--admission")


@pytest.mark.nightly
@pytest.mark.alone
@pytest.mark.own_plane
def test_5000_nodes(plane, many, namespace, scheduler, figure):
    plain = Namespace(plane, f"{namespace.name}-plain")
    plane.kubectl("label", "namespace", namespace.name, LABEL)
    steered = [namespace.name, container("100m")]
    wait_until(lambda: len(asked(plane, *steered)[0]) == LISTED, 60, "the list")

    (written,) = plane.api.items(LISTS)
    list_kib = size_kib(written)
    # Without a scheduler, so that the API server has nothing else to do.
    for space in (plain, namespace):
        creations_ms(space, "first")
    without, steered_ms = [], []
    for i in range(ROUNDS):
        without += creations_ms(plain, f"pod{i}")
        steered_ms += creations_ms(namespace, f"pod{i}")
    more_ms = statistics.median(steered_ms) - statistics.median(without)
    pod_kib, plain_kib = (size_kib(space.pod("pod0-000")) for space in (namespace, plain))
    figure(
        f"{NODES} nodes: the list has {list_kib:.1f} KiB, a pod {pod_kib:.1f} KiB and {plain_kib:.1f} KiB "
        f"without it; a pod is created in {statistics.median(steered_ms):.2f} ms (90% in "
        f"{statistics.quantiles(steered_ms, n=10)[-1]:.2f}), and without the policy in "
        f"{statistics.median(without):.2f} ms (90% in {statistics.quantiles(without, n=10)[-1]:.2f})"
    )
    assert list_kib <= LIST_KIB and pod_kib - plain_kib <= POD_KIB and more_ms <= CREATE_MORE_MS
    for space in (plain, namespace):
        space.delete_pods()

    scheduler()
    before, began = writes(many), time.monotonic()
    for i in range(PODS):
        time.sleep(max(0, began + i / PODS_A_SECOND - time.monotonic()))
        namespace.create_pod(f"web-{i:03}")
    places = namespace.wait_bound(PODS, timeout_s=200)
    busy_s = time.monotonic() - began
    busy = writes(many) - before
    before = writes(many)
    time.sleep(QUIET_S)
    quiet = writes(many) - before
    figure(
        f"{PODS} pods in {busy_s:.0f} s on {len(set(places.values()))} nodes: {busy:.0f} writes, "
        f"and {quiet:.0f} in {QUIET_S} s without pods"
    )
    assert 0 < busy <= WRITES_A_SECOND * busy_s + 1
    assert 0 < quiet <= WRITES_A_MINUTE_QUIET * QUIET_S / 60 + 1
    plain.remove()
