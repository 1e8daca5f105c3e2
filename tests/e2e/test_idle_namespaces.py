"""deploy/idle-namespaces with the real API server: what new pods request where a namespace has the label,
and where it has none. And docs/idle.md: its commands, and its Job with a real scheduler."""

import re

import pytest
import yaml
from cluster.pages import follow
from cluster.workloads import Namespace, per_node
from harness import wait_until
from pages import TOP, block

IDLE = "plimsoll.io/idle-milli-cpu"
OVERLAY = str(TOP / "deploy" / "idle-namespaces")
POLICIES = "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies"


def idle(milli, **others):
    return {"requests": {IDLE: milli, **others}, "limits": {IDLE: milli}}


def requests(**amounts):
    return {"requests": amounts}


# What a container requests: what it requests where the label is, as the API server writes it. A second row
# of the same is left as it is.
CONTAINERS = {
    "thousandths": (requests(cpu="500m"), idle("500")),
    "whole": (requests(cpu="2"), idle("2k")),
    "both": (requests(cpu="1.5"), idle("1500")),
    "many": (requests(cpu="128"), idle("128k")),
    # As a double it is less than 290 thousandths.
    "what a double is not": (requests(cpu="0.29"), idle("290")),
    "less than a thousandth": (requests(cpu="0.0001"), idle("1")),
    "nothing": (requests(cpu="0"), idle("0")),
    "limits only": ({"limits": {"cpu": "250m"}}, idle("250")),
    "less than its limit": ({"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}, idle("100")),
    "with memory": (requests(cpu="2", memory="1Gi"), idle("2k", memory="1Gi")),
    "with limits of memory": (
        {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}},
        {"requests": {IDLE: "2k", "memory": "1Gi"}, "limits": {IDLE: "2k", "memory": "2Gi"}},
    ),
    "the resource": (idle("700", memory="1Gi"), idle("700", memory="1Gi")),
    # CPU is removed, and the amount stays.
    "both of them": (idle("700", cpu="1"), idle("700")),
    "a limit of CPU beside it": (
        {"requests": {IDLE: "700", "cpu": "1"}, "limits": {IDLE: "700", "cpu": "2"}},
        idle("700"),
    ),
    "no CPU": (requests(memory="1Gi"), requests(memory="1Gi")),
    "none": ({}, {}),
}


def pod_of(*containers, init=(), sidecars=(), **spec):
    """A pod of containers with these resources."""

    def made(prefix, rows, **more):
        return [
            {"name": f"{prefix}-{i}", "image": "x", "resources": row, **more}
            for i, row in enumerate(rows)
        ]

    inits = made("init", init) + made("sidecar", sidecars, restartPolicy="Always")
    spec = {"containers": made("main", containers), "initContainers": inits, **spec}
    return {"metadata": {"name": "a-pod"}, "spec": spec}


def resources(pod):
    """Those of its containers, and of its init containers."""
    spec = pod["spec"]
    return [
        [row["resources"] for row in spec.get(part, [])]
        for part in ("containers", "initContainers")
    ]


@pytest.fixture
def labelled(plane, namespace):
    """A namespace whose pods run on idle CPU."""
    done = plane.kubectl("apply", "-k", OVERLAY, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    other = Namespace(plane, f"{namespace.name}-idle")
    plane.kubectl("label", "namespace", other.name, "plimsoll.io/idle=true")

    def is_in_force():
        return resources(try_to_create(other, pod_of(requests(cpu="1"))))[0] == [idle("1k")]

    wait_until(is_in_force, what="the MutatingAdmissionPolicy to be in force")
    yield other
    other.remove()
    plane.kubectl("delete", "-k", OVERLAY)


def try_to_create(namespace, pod):
    return namespace.plane.api.create(f"{namespace.root}/pods?dryRun=All", pod)


def test_containers(namespace, labelled, figure):
    rows = CONTAINERS.values()
    for what, (given, wanted) in CONTAINERS.items():
        assert resources(try_to_create(labelled, pod_of(given)))[0] == [wanted], what
    # Next to each other, and before.
    given, wanted = ([row[i] for row in rows] for i in (0, 1))
    pod = pod_of(*given, init=given, sidecars=given)
    assert resources(try_to_create(labelled, pod)) == [wanted, wanted * 2]
    # Where there is no label, nothing is changed.
    pod = pod_of(*[row for row in given if IDLE not in str(row)])
    assert IDLE not in str(resources(try_to_create(namespace, pod)))
    figure(f"{len(CONTAINERS)} kinds of resources, {3 * len(CONTAINERS)} containers in one pod")


def test_memory_of_the_whole_pod_stays(labelled):
    amounts = {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    pod = try_to_create(labelled, pod_of(requests(cpu="1"), resources=amounts))
    assert resources(pod)[0] == [idle("1k")]
    assert pod["spec"]["resources"] == amounts


LEFT = {
    "no requests": pod_of({}, {}, init=[{}]),
    "CPU of the whole pod": pod_of({}, resources=requests(cpu="1")),
    "CPU of the whole pod, too": pod_of(requests(cpu="1"), resources=requests(cpu="2")),
    "a limit of the whole pod": pod_of(requests(cpu="1"), resources={"limits": {"cpu": "2"}}),
    "one of ours": pod_of(requests(cpu="1")),
}
LEFT["one of ours"]["metadata"]["labels"] = {"app.kubernetes.io/part-of": "plimsoll"}


def test_pods_that_are_left_as_they_are(namespace, labelled):
    for what, pod in LEFT.items():
        found, before = (try_to_create(space, pod) for space in (labelled, namespace))
        assert resources(found) == resources(before), what
        assert found["spec"].get("resources") == before["spec"].get("resources"), what


def limit_range(**limits):
    return {"metadata": {"name": "cpu"}, "spec": {"limits": [{"type": "Container", **limits}]}}


# A LimitRange's amounts of CPU; what each of two containers requests that say "2" and nothing.
DEFAULTS = (
    ({"default": {"cpu": "3"}}, idle("3k")),
    ({"defaultRequest": {"cpu": "100m"}}, idle("100")),
    ({"default": {"cpu": "3"}, "defaultRequest": {"cpu": "100m"}}, idle("100")),
    # Less than what the container requests, which would be refused if it requested CPU.
    ({"default": {"cpu": "500m"}}, idle("500")),
)


def test_defaults_of_a_limit_range_do_no_harm(plane, namespace, labelled, figure):
    """The API server applies them before the policy, and again behind it."""
    for limits, unsaid in DEFAULTS:
        for space in (namespace, labelled):
            plane.api.create(f"{space.root}/limitranges", limit_range(**limits))

        # The API server reads it from a cache.
        def is_in_force(space):
            return resources(try_to_create(space, pod_of({})))[0] != [{}]

        for space in (namespace, labelled):
            wait_until(lambda s=space: is_in_force(s), what="the LimitRange to be in force")
        pod = pod_of(requests(cpu="2"), {}, init=[requests(cpu="1")], sidecars=[idle("700")])
        found = resources(try_to_create(labelled, pod))
        assert found == [[idle("2k"), unsaid], [idle("1k"), idle("700")]], limits
        # Where there is no label, such a pod requests both.
        assert "cpu" in resources(try_to_create(namespace, pod_of(idle("700"))))[0][0]["requests"]
        for space in (namespace, labelled):
            plane.api.delete(f"{space.root}/limitranges/cpu")
            wait_until(lambda s=space: not is_in_force(s), what="the LimitRange to be gone")
    figure(f"{len(DEFAULTS)} LimitRanges with defaults of CPU: no container requests CPU")


# -- the page --------------------------------------------------------------------------------------


def is_switched_on(plane):
    return "idle" in plane.api.get(f"{POLICIES}/default")["spec"]


@pytest.fixture
def policy_object(plane):
    plane.kubectl("apply", "-f", str(TOP / "policy" / "policy.yaml"))
    yield
    plane.kubectl("delete", "-f", str(TOP / "policy" / "policy.yaml"))


def test_the_commands_of_the_page(plane, fleet, namespace, policy_object):
    def run(commands):
        return follow(plane, commands.replace("NAMESPACE", namespace.name))

    look = block("docs/idle.md", "look")
    run(block("docs/idle.md", "on"))
    assert is_switched_on(plane)
    assert "plimsoll-controller-idle" in plane.kubectl("get", "clusterrolebindings")
    (node,) = fleet.add(1)
    assert re.search(rf"^{node} +<none>$", run(look), re.M)
    offer(plane, node, "2500")
    assert re.search(rf"^{node} +2500$", run(look), re.M)

    run(block("docs/idle.md", "namespaces"))

    def requests_idle():
        return resources(try_to_create(namespace, pod_of(requests(cpu="1"))))[0] == [idle("1k")]

    wait_until(requests_idle, what="new pods to request idle CPU")
    run(block("docs/idle.md", "off"))
    assert not is_switched_on(plane)
    wait_until(lambda: not requests_idle(), what="new pods to request CPU")
    run(block("docs/idle.md", "off-rights"))
    for kind in ("clusterrolebindings", "clusterroles", "mutatingadmissionpolicies"):
        assert "idle" not in plane.kubectl("get", kind)


def offer(plane, node, milli):
    amounts = {"capacity": {IDLE: milli}, "allocatable": {IDLE: milli}}
    plane.api.patch(f"/api/v1/nodes/{node}/status", {"status": amounts})


def test_the_job_of_the_page(plane, fleet, namespace, scheduler, figure):
    """The scheduler places its pods until the offers are taken, and no more when one has fallen."""
    scheduler("default-scheduler")
    nodes = fleet.add(2)
    job = yaml.safe_load(block("docs/idle.md", "job"))
    count = job["spec"]["parallelism"]
    job["spec"]["completionMode"] = "Indexed"
    job["spec"]["template"]["metadata"] = {"annotations": {"e2e/lives": " ".join(["1h"] * count)}}
    for node, milli in zip(nodes, ("6500", "4000")):
        offer(plane, node, milli)
    namespace.create_job(job)
    assert per_node(namespace.wait_bound(5), nodes) == [3, 2]
    waiting = [pod for pod in namespace.pods() if not pod["spec"].get("nodeName")]
    assert len(waiting) == count - 5
    name = waiting[0]["metadata"]["name"]
    said = f"Insufficient {IDLE}"
    wait_until(lambda: said in namespace.condition(name).get("message", ""), what=said)
    assert {pod["status"]["qosClass"] for pod in namespace.pods()} == {"Burstable"}

    # Nothing is evicted when it falls, and nothing comes until there is more than is taken.
    offer(plane, nodes[0], "0")
    offer(plane, nodes[1], "6000")
    assert per_node(namespace.wait_bound(6), nodes) == [3, 3]
    figure(f"6 of {count} pods run on idle CPU of two nodes, {count - 6} wait")
