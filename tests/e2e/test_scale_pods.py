"""What the extender pays for the pods of a large cluster, with a real API server and the recommended policy.

5,000 nodes with 150,000 pods in make nightly, else 200 with 6,000. Pods are bound when they are created, and nobody
plays kubelet. The nodes' annotations are there already.
"""

import concurrent.futures
import time
from datetime import datetime, timezone

import pytest
from cluster.nodes import node_object
from cluster.plimsoll import TOP, total
from cluster.workloads import pod_object
from harness import NIGHTLY, wait_until

NODES, PODS_PER_NODE = (5000 if NIGHTLY else 200), 30
PODS = NODES * PODS_PER_NODE
PODS_PER_WORKLOAD = 50
# What all pods take, until the extender knows them: memory for each, and CPU time.
POD_MAX_BYTES, MOST_CPU_S = 300, 5
CHANGES = 1000
KEYS = ("cpu_usage_avg_5m", "cpu_usage_avg_2m", "mem_usage_avg_5m")


@pytest.fixture
def plane(start_plane):
    """Without a manager, which would delete pods whose owners do not exist."""
    return start_plane(has_manager=False)


def known(extender):
    return total(extender, "plimsoll_extender_pods")


def node_name(index):
    return f"node-{index:04}"


def create_nodes(pool, plane):
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    annotations = {key: f"0.30000,{now}" for key in KEYS}

    def create(index):
        node = node_object(node_name(index), "127.0.0.1", annotations=annotations, kwok=False)
        plane.api.create("/api/v1/nodes", node)

    list(pool.map(create, range(NODES)))


def pod_of(index):
    """With an owner, as most pods have; workloads are spread over the nodes."""
    owner = index % (PODS // PODS_PER_WORKLOAD)
    pod = pod_object(f"app-{owner}-{index}", nodeName=node_name(index % NODES))
    pod["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": f"app-{owner}",
            "uid": f"00000000-0000-0000-0000-{owner:012}",
            "controller": True,
        }
    ]
    return pod


def create_pods(pool, plane, indices):
    pods = "/api/v1/namespaces/default/pods"
    list(pool.map(lambda index: plane.api.create(pods, pod_of(index)), indices))


@pytest.mark.alone
def test_extender_with_many_pods(plane, make_plimsoll, figure):
    plimsoll = make_plimsoll(plane, build="release")
    policy = plimsoll.write_policy(TOP / "policy" / "policy.yaml")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        create_nodes(pool, plane)
        empty = plimsoll.extender(policy)
        without_kib, without_cpu_s = empty.peak_rss_kib(), empty.cpu_s()
        empty.stop()
        began = time.monotonic()
        create_pods(pool, plane, range(PODS))
        figure(f"{PODS} pods on {NODES} nodes created in {time.monotonic() - began:.0f} s")

        began = time.monotonic()
        extender = plimsoll.extender(policy)
        wait_until(lambda: known(extender) == PODS, 120, "all pods to be known", poll_s=0.05)
        ready_s, cpu_s = time.monotonic() - began, extender.cpu_s() - without_cpu_s
        more = (extender.peak_rss_kib() - without_kib) * 1024 / PODS
        figure(
            f"the extender knows them {ready_s:.1f} s after its start: {cpu_s:.2f} s of CPU and "
            f"{more:.0f} bytes a pod more than without pods, {extender.peak_rss_kib() / 1024:.0f} MiB in all"
        )
        assert total(extender, "plimsoll_extender_workloads") == PODS // PODS_PER_WORKLOAD

        before_s = extender.cpu_s()
        create_pods(pool, plane, range(PODS, PODS + CHANGES))
        wait_until(lambda: known(extender) == PODS + CHANGES, what="the new pods", poll_s=0.05)
        each_us = (extender.cpu_s() - before_s) / CHANGES * 1e6
        figure(f"a new pod takes {each_us:.0f} us of its CPU")
    assert more < POD_MAX_BYTES
    assert cpu_s < MOST_CPU_S
