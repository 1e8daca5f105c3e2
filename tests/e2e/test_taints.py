"""spec.taints with a kube-scheduler in its default configuration, which knows nothing of us."""

import re

from cluster.pages import follow
from cluster.plimsoll import fast_policy, refused
from harness import NIGHTLY, wait_until
from pages import block

PODS = 60
COOL, WARM, HOT = 15, 3, 2  # HOT is a tenth
SPOT = {"key": "spot", "value": "yes", "effect": "PreferNoSchedule"}


def carried(plane):
    """{node: the keys of its taints}"""
    return {
        node["metadata"]["name"]: [taint["key"] for taint in node["spec"].get("taints", [])]
        for node in plane.api.items("/api/v1/nodes")
    }


def on(places, nodes):
    return sum(node in nodes for node in places.values())


def test_the_hottest_tenth(plane, fleet, namespace, plimsoll, exporters, scheduler, figure):
    fleet.add(COOL, load={"cpu": 0.2, "mem": 0.1})
    warm = fleet.add(WARM, load={"cpu": 0.65, "mem": 0.1})
    hot = fleet.add(HOT, load={"cpu": 0.95, "mem": 0.1})
    foreign = {name: ["spot"] if name == hot[0] else [] for name in fleet.addresses}
    audited = len(plane.audit("plimsoll-controller"))

    scheduler()
    namespace.create_pods("without", PODS)
    without = on(namespace.wait_bound(PODS), hot)
    namespace.delete_pods()
    plane.api.patch(f"/api/v1/nodes/{hot[0]}", {"spec": {"taints": [SPOT]}})

    policy = fast_policy(hot_value=False)
    policy["spec"]["taints"] = {"levels": [0.5, 0.6, 0.7, 0.8]}
    path = plimsoll.write_policy(policy)
    controller = plimsoll.controller(path, exporters)
    shown = {
        name: keys
        + [f"load.plimsoll.io/{n + 1}" for n in range(4 if name in hot else 2 * (name in warm))]
        for name, keys in foreign.items()
    }

    def is_shown():
        assert carried(plane) == shown
        return True

    wait_until(is_shown, what="the taints")
    namespace.create_pods("with", PODS)
    placed = namespace.wait_bound(PODS)
    assert without >= 3 and on(placed, hot) <= without / 5
    assert on(placed, warm) == 0, "cool nodes have room"

    # The exporters die. Readings are used for a minute; a new replica has none from the start.
    exporters.stop()
    if not NIGHTLY:
        controller.stop()
        controller = plimsoll.controller(path, exporters)
    wait_until(lambda: carried(plane) == foreign, 180, "only foreign taints")
    controller.stop()

    for name in warm:
        plane.kubectl("taint", "node", name, "load.plimsoll.io/1:PreferNoSchedule")
    before, kubeconfig = carried(plane), plimsoll.kubeconfig("plimsoll-controller")
    listing, cleanup = block("docs/kubectl/cleanup.md", "cleanup").splitlines()
    said = follow(plane, listing, kubeconfig=kubeconfig)
    assert all(re.search(rf"^{name} .*load.plimsoll.io/1$", said, re.M) for name in warm), said
    assert carried(plane) == before, "nothing is written without --apply"
    follow(plane, cleanup, kubeconfig=kubeconfig)
    assert carried(plane) == foreign
    assert not refused(plane, "plimsoll-controller", audited)
    figure(f"of {PODS} pods {without} on the hottest tenth without taints, {on(placed, hot)} with")
