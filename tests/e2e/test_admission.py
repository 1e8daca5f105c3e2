"""deploy/admission with a kube-scheduler in its default configuration, which knows nothing of us."""

import pytest
from cluster.plimsoll import TOP, fast_policy
from harness import wait_until

LISTS = "/apis/plimsoll.io/v1alpha1/preferrednodes"
PODS = 60
SMALL, LARGE, REST = {"n1": 100, "n2": 50}, {"n3": 90}, {"n4": 1}


def listed(nodes, max_cores=None):
    bound = {} if max_cores is None else {"maxCores": max_cores}
    return bound | {"nodes": [{"name": name, "weight": nodes[name]} for name in nodes]}


def put_list(plane, classes):
    body = {"apiVersion": "plimsoll.io/v1alpha1", "kind": "PreferredNodes", "classes": classes}
    body["metadata"] = {"name": "default"}
    if plane.api.request("GET", f"{LISTS}/default")[0] == 404:
        return plane.api.request("POST", LISTS, body)[0]
    return plane.api.request(
        "PATCH", f"{LISTS}/default", {"classes": classes}, "application/merge-patch+json"
    )[0]


def spread_of(places, nodes):
    return sum(node in nodes for node in places.values())


def recommended_policy():
    policy = fast_policy(hot_value=False, limit=0.95)
    policy["spec"]["extender"] = {"scoring": "estimate"}
    return policy


def container(cpu=None, **more):
    requests = {"requests": {"cpu": cpu}} if cpu else {}
    return {"name": f"c{id(more)}", "image": "none", "resources": requests} | more


def asked(plane, namespace, *containers, metadata=None, **spec):
    """What the API server makes of a pod: {node: weight} of the preferences on one node, and all."""
    pod = plane.api.call(
        "POST",
        f"/api/v1/namespaces/{namespace}/pods?dryRun=All",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "asked"} | (metadata or {}),
            "spec": {"containers": list(containers)} | spec,
        },
    )
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    nodes = {
        term["preference"]["matchFields"][0]["values"][0]: term["weight"]
        for term in terms
        if "matchFields" in term["preference"]
    }
    return nodes, terms, pod


@pytest.fixture
def steered(plane, plimsoll, namespace):
    """A namespace whose pods get preferences, and a list."""
    plimsoll.install(plane, "admission")
    wait_until(
        lambda: put_list(plane, [listed(SMALL, 0.5), listed(LARGE, 4), listed(REST)]) < 300,
        what="the kind",
    )
    plane.kubectl("label", "namespace", namespace.name, "plimsoll.io/admission=enabled")
    wait_until(
        lambda: asked(plane, namespace.name, container("100m"))[0] == SMALL, what="the policy"
    )
    yield namespace.name
    for name in ("policy", "rbac", "crd"):
        plane.kubectl("delete", "-f", str(TOP / f"deploy/admission/{name}.yaml"))


def test_which_list(plane, steered):
    sidecar = {"restartPolicy": "Always"}
    cases = (
        ("no request", [container()], {}, SMALL),
        ("as large as the class", [container("500m")], {}, SMALL),
        ("larger", [container("501m")], {}, LARGE),
        (
            "containers together",
            [container("300m", name="a"), container("300m", name="b")],
            {},
            LARGE,
        ),
        ("no class has a bound", [container("5")], {}, REST),
        (
            "an init container",
            [container("100m")],
            {"initContainers": [container("1", name="i")]},
            LARGE,
        ),
        (
            "a sidecar",
            [container("300m")],
            {"initContainers": [container("300m", name="s", **sidecar)]},
            LARGE,
        ),
        ("the pod's own", [container("100m")], {"resources": {"requests": {"cpu": "2"}}}, LARGE),
    )
    for what, containers, spec, expected in cases:
        assert asked(plane, steered, *containers, **spec)[0] == expected, what


def test_own_preferences_stay(plane, steered):
    own = {
        "weight": 7,
        "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
    }
    required = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
    }
    affinity = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [own],
            "requiredDuringSchedulingIgnoredDuringExecution": required,
        },
        "podAntiAffinity": {},
    }
    nodes, terms, pod = asked(plane, steered, container("100m"), affinity=affinity)
    assert nodes == SMALL and terms[0] == own and len(terms) == 1 + len(SMALL)
    kept = pod["spec"]["affinity"]
    assert kept["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] == required
    for partial in ({}, {"podAffinity": {}}, {"nodeAffinity": {}}):
        assert asked(plane, steered, container("100m"), affinity=partial)[0] == SMALL, partial


def test_pods_that_stay_as_they_are(plane, steered):
    owner = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "name": "d",
        "uid": "u",
        "controller": True,
    }
    cases = (
        ("another scheduler", {"schedulerName": "mine"}, {}),
        ("a node of its own", {"nodeName": "n9"}, {}),
        ("a DaemonSet's", {}, {"ownerReferences": [owner]}),
        ("opted out", {}, {"annotations": {"plimsoll.io/admission": "disabled"}}),
    )
    for what, spec, metadata in cases:
        assert not asked(plane, steered, container("100m"), metadata=metadata, **spec)[1], what
    assert not asked(plane, "default", container("100m"))[1], "a namespace without the label"


def test_lists_that_name_no_node(plane, steered):
    def is_unchanged():
        terms = asked(plane, steered, container("100m"))[1]
        assert not terms, terms
        return True

    for classes in ([], [listed({})], [listed(SMALL, 0.05)]):
        assert put_list(plane, classes) == 200
        wait_until(is_unchanged, what=str(classes))
    assert put_list(plane, [listed({"gone": 100})]) == 200
    wait_until(
        lambda: asked(plane, steered, container("100m"))[0] == {"gone": 100}, what="it is back"
    )
    plane.api.delete(f"{LISTS}/default")
    wait_until(is_unchanged, what="no list")


def test_lists_that_would_refuse_pods(plane, steered):
    for nodes in ({"n1": 0}, {"n1": 101}, {"A!": 1}, {"a..b": 1}, {"": 1}, {254 * "a": 1}):
        assert put_list(plane, [listed(nodes)]) == 422, nodes


def test_pods_go_where_there_is_room(
    plane, steered, fleet, namespace, plimsoll, exporters, scheduler, figure
):
    plane.api.delete(f"{LISTS}/default")
    cool = fleet.add(6, load={"cpu": 0.2, "mem": 0.1})
    hot = fleet.add(6, load={"cpu": 0.7, "mem": 0.1})
    scheduler()
    namespace.create_pods("without", PODS)
    without = spread_of(namespace.wait_bound(PODS), hot)
    namespace.delete_pods()

    path = plimsoll.write_policy(recommended_policy())
    plimsoll.controller(path, exporters)
    extender = plimsoll.extender(path, "--admission")

    def weights():
        """Those that a new pod gets, as soon as the list has the readings of all nodes."""
        found = asked(plane, steered, container("100m"))[0]
        assert found.keys() == {*cool, *hot}, found
        assert min(found[node] for node in cool) > max(found[node] for node in hot) + 20, found
        return found

    wait_until(weights, 60, "the list")
    namespace.create_pods("with", PODS)
    steered_pods = spread_of(namespace.wait_bound(PODS), hot)
    assert without > PODS / 4 and steered_pods < PODS / 20
    figure(f"of {PODS} pods {without} on the hotter half without the list, {steered_pods} with it")
    namespace.delete_pods()

    # The writer dies: the list stays, pods are created and placed.
    extender.kill()
    namespace.create_pods("orphaned", PODS)
    assert spread_of(namespace.wait_bound(PODS), hot) < PODS / 20
