"""deploy/admission with a kube-scheduler in its default configuration, which knows nothing of us."""

import time
from collections import Counter

import pytest
from cluster.admission import LABEL, LISTS, asked, container, estimating_policy, uninstall
from harness import wait_until

PODS = 60
BURST, BURST_S = 500, 10
FAIR_TIMES = 2  # of its share by weight, what a node may get of a burst
SMALL, LARGE, REST = {"n1": 100, "n2": 50}, {"n3": 90}, {"n4": 1}
WRITTEN = "2026-07-23T11:33:09Z"
OLD_S = 60  # deploy/admission/policy.yaml


def listed(nodes, max_cores=None):
    bound = {} if max_cores is None else {"maxCores": max_cores}
    return bound | {"nodes": [{"name": name, "weight": nodes[name]} for name in nodes]}


def put_list(plane, classes):
    body = {"apiVersion": "plimsoll.io/v1alpha1", "kind": "PreferredNodes", "classes": classes}
    body |= {"metadata": {"name": "default"}, "writtenAt": WRITTEN}
    if plane.api.request("GET", f"{LISTS}/default")[0] == 404:
        return plane.api.request("POST", LISTS, body)[0]
    return plane.api.request(
        "PATCH", f"{LISTS}/default", {"classes": classes}, "application/merge-patch+json"
    )[0]


def spread_of(places, nodes):
    return sum(node in nodes for node in places.values())


@pytest.fixture
def steered(plane, plimsoll, namespace):
    """A namespace whose pods get preferences, and a list."""
    plimsoll.install(plane, "admission")
    wait_until(
        lambda: put_list(plane, [listed(SMALL, 0.5), listed(LARGE, 4), listed(REST)]) < 300,
        what="the kind",
    )
    plane.kubectl("label", "namespace", namespace.name, LABEL)
    wait_until(
        lambda: asked(plane, namespace.name, container("100m"))[0] == SMALL, what="the policy"
    )
    yield namespace.name
    uninstall(plane)


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
        nodes, _, pod = asked(plane, steered, *containers, **spec)
        size = "0.5" if expected is SMALL else "4" if expected is LARGE else "largest"
        noted = {"plimsoll.io/preferred-nodes": f"{size},{WRITTEN}"}
        assert nodes == expected and pod["metadata"]["annotations"] == noted, what


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
    own_note = {"metadata": {"annotations": {"a/b": "c"}}}
    nodes, terms, pod = asked(plane, steered, container("100m"), affinity=affinity, **own_note)
    assert pod["metadata"]["annotations"]["a/b"] == "c"
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


@pytest.mark.timeout(600)
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

    path = plimsoll.write_policy(estimating_policy())
    plimsoll.controller(path, exporters)
    extender = plimsoll.extender(path, "--admission")

    def weights():
        """Those that a new pod gets, as soon as the list has the readings of all nodes."""
        found = asked(plane, steered, container("100m"))[0]
        assert found.keys() == {*cool, *hot}, found
        assert min(found[node] for node in cool) > max(found[node] for node in hot) + 20, found
        return found

    wait_until(weights, 60, "the list")
    listed_at = time.monotonic()
    namespace.create_pods("with", PODS)
    steered_pods = spread_of(namespace.wait_bound(PODS), hot)
    assert without > PODS / 4 and steered_pods < PODS / 20
    figure(f"of {PODS} pods {without} on the hotter half without the list, {steered_pods} with it")
    namespace.delete_pods()

    # A list with the same nodes is written again and again, or it would be ignored.
    time.sleep(max(0, listed_at + OLD_S + 1 - time.monotonic()))
    wait_until(weights, 60, "the list")

    # A burst, whose writer dies in the middle: its last list stays, and pods are created and placed.
    began = time.monotonic()
    for i in range(BURST):
        time.sleep(max(0, began + i * BURST_S / BURST - time.monotonic()))
        if i == BURST / 2:
            extender.kill()
        namespace.create_pod(f"burst-{i:03}")
    took_s = time.monotonic() - began
    last = asked(plane, steered, container("100m"))[0]
    counts = Counter(namespace.wait_bound(BURST, timeout_s=120).values())
    shares = {node: BURST * weight / sum(last.values()) for node, weight in last.items()}
    assert counts.keys() <= shares.keys()
    assert all(count <= FAIR_TIMES * shares[node] for node, count in counts.items()), shares
    figure(
        f"{BURST} pods in {took_s:.0f} s, the writer killed in the middle: "
        f"{[counts[node] for node in cool]} on the cool nodes, {[counts[node] for node in hot]} on "
        f"the hot ones, whose last weights are {[last[node] for node in cool + hot]}"
    )
    # An old list would send all pods to the nodes that had room then.
    wait_until(
        lambda: "annotations" not in asked(plane, steered, container("100m"))[2]["metadata"],
        OLD_S,
        "the list to be ignored",
    )
