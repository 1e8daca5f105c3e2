"""scoring: estimate: what a node will use counts, not what its annotation reads."""

import copy
import json
import time
import uuid

import pytest

from extender_kit import POD, annotate, measure, policy
from harness import wait_until
from policies import ago, node_names, write_policy

NODES = node_names(3)
A, B, C = NODES


@pytest.fixture
def cluster(start_standin):
    """Three nodes of 10 CPUs, at 20, 24.5 and 60%."""
    standin = start_standin()
    standin.admin("nodes", {"names": NODES, "cpus": 10, "memory_gib": 100})
    for name, usage in zip(NODES, (0.20, 0.245, 0.60)):
        annotate(standin, name, usage)
    return standin


@pytest.fixture
def start(start_extender):
    def call(standin, *flags, scoring="estimate", says=r"pods: \d+ pods$", **more):
        content = policy(scoring=scoring, **more)
        extender = start_extender(standin, *flags, content=content)
        extender.wait_ready(f"(?m){says}")
        return extender

    return call


def pod(cpu="1"):
    """Another pod each time: the reservation of its answer is its own."""
    other = copy.deepcopy(POD)
    other["metadata"]["uid"] = str(uuid.uuid4())
    other["spec"]["containers"][0]["resources"]["requests"] = {"cpu": cpu}
    return other


def wait_metric(extender, name, wanted):
    wait_until(lambda: extender.metric(name) == wanted, 30, f"{name} to be {wanted}")


def wait_scores(scheduler, wanted, of=None):
    """The same pod each time, so that only what is known of the nodes counts."""
    of = of or pod()

    def check():
        scores = scheduler.prioritize(NODES, of)
        assert scores == wanted, scores
        return True

    wait_until(check, 30, f"scores of {wanted}", poll_s=0.01)


def test_a_binding_counts_at_once_and_so_does_a_deletion(cluster, start):
    extender = start(cluster)
    with extender.scheduler() as scheduler:
        wait_scores(scheduler, {A: 10, B: 8, C: 0})
        # 10 pods that request 100m: 10% of the node in all.
        cluster.add_pods(10, prefix="burst-", nodes=[A])
        wait_scores(scheduler, {A: 6, B: 10, C: 0})
        wait_metric(extender, "plimsoll_extender_pods", 10)
        bound = extender.metric("plimsoll_extender_last_binding_timestamp_seconds")
        assert time.time() - 60 < bound <= time.time()
        cluster.admin("delete", {"resource": "pods", "prefix": "burst-"})
        wait_scores(scheduler, {A: 10, B: 8, C: 0})
        wait_metric(extender, "plimsoll_extender_pods", 0)


def test_the_next_pod_sees_the_last_answer(cluster, start):
    """Before the watch shows the binding, which here never comes."""
    extender = start(cluster)
    with extender.scheduler() as scheduler:
        assert scheduler.prioritize(NODES, pod())[A] == 10
        second = scheduler.prioritize(NODES, pod())
        assert second[B] == 10 and second[A] < 10, second
        wait_metric(extender, "plimsoll_extender_reservations", 2)
        wait_metric(extender, "plimsoll_extender_reservations", 0)  # 5 s later
        assert scheduler.prioritize(NODES, pod())[A] == 10


def test_hot_values_have_no_watch_of_their_own(cluster, start):
    """They have no effect on an estimate. A policy that ranks by them finds what was bound in the meantime, and
    what had been counted before is not counted again."""

    def reload(scoring, says):
        write_policy(extender.policy_path, policy(scoring=scoring, hot={"5m": 1}))
        extender.reload()
        extender.wait_ready(says)

    counted = "bindings: counted from the pod watch"
    extender = start(cluster, scoring="absolute", hot={"5m": 1}, says=counted)
    with extender.scheduler() as scheduler:
        cluster.add_pods(2, prefix="first-", nodes=[A])
        wait_scores(scheduler, {A: 6, B: 8, C: 4})
        reload("estimate", r"(?m)pods: 2 pods$")
        wait_until(lambda: len(cluster.watches("pods")) == 1, what="one watch of pods")
        assert "bindings: not needed" in extender.ready()[1]
        cluster.add_pods(1, prefix="second-", nodes=[B])
        extender.wait_ready(r"(?m)pods: 3 pods$")
        reload("absolute", counted)
        wait_scores(scheduler, {A: 6, B: 7, C: 4})


def test_without_the_right_to_see_pods(cluster, start):
    """Readings and the pod's own load are enough to answer."""
    cluster.fault("status", status=403, resource="pods", verb="list", count=-1)
    extender = start(cluster, says=r"pods: 0 pods, but the pod watch is not open.*403")
    with extender.scheduler() as scheduler:
        wait_scores(scheduler, {A: 10, B: 8, C: 0})


def run_pods(standin, node, count, since_s):
    """Return: their uids."""
    uids = []
    for i in range(count):
        path = "/api/v1/namespaces/default/pods"
        body = pod()
        del body["metadata"]["uid"], body["metadata"]["resourceVersion"]
        body["metadata"]["name"] = f"grows-{i}"
        body["spec"]["nodeName"] = node
        found = standin.call("POST", path, body).json()
        bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(since_s)}
        status = {"status": {"phase": "Running", "conditions": [bound]}}
        assert standin.patch(f"{path}/grows-{i}/status", status).status == 200
        uids.append(found["metadata"]["uid"])
    return uids


def estimated(extender, node):
    (row,) = extender.call("POST", "/explain", {"select": [node]}).json()["nodes"]
    return row["estimate"]["cpu"]["reading"] + row["estimate"]["cpu"]["inFlight"]


def test_pods_that_grow(cluster, start):
    """Within one reading the node is what it reads; when the pods end, what they used is known to be gone."""
    for name, usage in ((A, 0.1), (B, 0.45), (C, 0.6)):
        annotate(cluster, name, usage)
    uids = run_pods(cluster, A, 2, since_s=3600)
    extender = start(cluster, says=r"pods: 2 pods$")
    with extender.scheduler() as scheduler:
        wait_scores(scheduler, {A: 10, B: 0, C: 0})
        annotate(cluster, A, 0.59)  # each from half a core to 2.8
        wait_scores(scheduler, {A: 3, B: 10, C: 2})
        usage = ",".join(f"{uid[:8]}=2.8/100" for uid in uids)
        metadata = {"metadata": {"annotations": {"pod_usage": usage}}}
        assert cluster.patch(f"/api/v1/nodes/{A}", metadata).status == 200
        cluster.admin("delete", {"resource": "pods", "prefix": "grows-"})
        wait_scores(scheduler, {A: 10, B: 0, C: 0})
        assert estimated(extender, A) == pytest.approx(0.03, abs=0.01)


def test_measured_workloads(cluster, start):
    """A pod is expected to use what others of its workload do, from the ConfigMap that the controller writes."""
    extender = start(cluster)
    with extender.scheduler() as scheduler:
        wait_scores(scheduler, {A: 10, B: 8, C: 0})
        measure(cluster, "default/ReplicaSet/web-7d9 pods=9 request=1/1000 mean=4/1000", "broken")
        wait_metric(extender, "plimsoll_extender_workloads", 1)
        asked = pod()
        scheduler.prioritize(NODES, asked)
    uid = asked["metadata"]["uid"]
    decision = json.loads(extender.page(f"/decisions?pod=default/web-0&uid={uid}").text)
    expected = decision["prioritize"]["expected"]
    assert expected["measured"] and expected["loadCores"] == 4
