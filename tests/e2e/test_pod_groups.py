"""PodGroups of Kubernetes 1.37: kube-scheduler places all pods of a group before it binds the first,
and with a constraint on topology once in each domain, of which one wins. What the extender has
reserved is then all that it knows of them."""

import collections
import json
import os
from datetime import datetime, timezone

import pytest
from cluster.control_plane import object_name
from cluster.nodes import Fleet
from cluster.plimsoll import TOP, total
from cluster.workloads import Namespace, per_node, pod_object
from harness import wait_until

GATES = ("GenericWorkload", "TopologyAwareWorkloadScheduling")
GROUPS = "scheduling.k8s.io/v1beta1"
RACK = "example.com/rack"
NODES, RACKS = 60, 3
GANG, TOGETHER, LOOSE = 500, 60, 60
READ = ("cpu_usage_avg_5m", "mem_usage_avg_5m")
# Only the extender decides.
OVERWHELMING = 30


@pytest.fixture
def groups(start_plane, exporters, make_plimsoll, request):
    """(namespace, {node: rack}, extender) of a cluster that has PodGroups; its scheduler asks us."""
    plane = start_plane(feature_gates=GATES, apis=[GROUPS])
    fleet, racks = Fleet(plane, exporters), {}
    for rack in range(RACKS):
        labels = {RACK: f"rack-{rack}"}
        racks.update(dict.fromkeys(fleet.add(NODES // RACKS, cpu="32", labels=labels), rack))
    reading = f"0.1,{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    for name in racks:
        fleet.annotate(name, dict.fromkeys(READ, reading))
    plimsoll = make_plimsoll(plane)
    extender = plimsoll.extender(plimsoll.write_policy(TOP / "policy" / "policy.yaml"))
    wait_until(
        lambda: total(extender, "plimsoll_extender_readings", state="usable") == len(READ) * NODES,
        what="the readings",
    )
    entry = plimsoll.scheduler_entry(extender, weight=OVERWHELMING)
    plane.start_scheduler(extenders=[entry])
    name = f"{object_name(request.node.name)}-{os.urandom(2).hex()}"
    return Namespace(plane, name), racks, extender


def create_group(namespace, name, count, topology=None):
    """A gang of so many pods, in one domain of `topology` if that is a label's key."""
    spec = {"schedulingPolicy": {"gang": {"minCount": count}}}
    if topology:
        spec["schedulingConstraints"] = {"topology": [{"key": topology}]}
    root = f"/apis/{GROUPS}/namespaces/{namespace.name}/podgroups"
    namespace.plane.api.create(root, {"metadata": {"name": name}, "spec": spec})
    for i in range(count):
        pod = pod_object(f"{name}-{i:03}", schedulingGroup={"podGroupName": name})
        namespace.create(pod)


def asked_about(extender):
    return total(extender, "plimsoll_extender_requests_total", verb="prioritize")


def test_each_pod_of_a_large_group_is_reserved(groups, figure):
    namespace, racks, extender = groups
    create_group(namespace, "gang", GANG)
    places = namespace.wait_bound(GANG, app="gang", timeout_s=120)
    counts = per_node(places, racks)
    figure(f"{GANG} pods on {NODES} nodes: {counts[-1]} to {counts[0]} a node")
    assert asked_about(extender) >= GANG
    # Equal nodes, and nothing is known of a pod but its reservation.
    assert counts[0] - counts[-1] <= 1


def test_the_placement_that_won_is_reserved(groups, figure):
    namespace, racks, extender = groups
    create_group(namespace, "team", TOGETHER, topology=RACK)
    team = namespace.wait_bound(TOGETHER, app="team", timeout_s=120)
    (rack,) = {racks[node] for node in team.values()}
    assert asked_about(extender) >= RACKS * TOGETHER, "each rack was tried"
    # While what was tried is remembered, but no earlier than the bindings show what won.
    wait_until(lambda: total(extender, "plimsoll_extender_pods") == TOGETHER, what="the bindings")
    namespace.create_pods("loose", LOOSE)
    loose = namespace.wait_bound(LOOSE, app="loose")
    beside = collections.Counter(racks[node] for node in loose.values())
    figure(f"rack {rack} won; {LOOSE} other pods by rack: {json.dumps(beside)}")
    # The two racks that lost are empty.
    assert beside[rack] <= LOOSE // 10
