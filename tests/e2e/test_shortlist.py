"""The shortlist with a real kube-scheduler: pods go where they would go without it, and none waits
because of it."""

import collections
import json
import random
from datetime import datetime, timezone

import pytest
from cluster.plimsoll import fast_policy, total
from cluster.workloads import pod_object
from harness import wait_until
from local_server import Handler, LocalServer

CPU, MEM = "cpu_usage_avg_5s", "mem_usage_avg_5s"
ZONE = "topology.kubernetes.io/zone"
NODES = {"a": 110, "b": 80, "c": 50}
PLACES = 24
REPLICAS = 60
SPECIAL = {
    "affinity": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "preference": {"matchExpressions": [{"key": "special", "operator": "Exists"}]},
                }
            ]
        }
    }
}


def hard(app):
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"topologySpreadConstraints": [constraint]}


class Picky(Handler):
    """An extender that takes one node only."""

    node = None
    calls = []  # the names of each

    def do_POST(self):
        names = json.loads(self.body())["NodeNames"]
        self.calls.append(names)
        answer = {"NodeNames": [name for name in names if name == self.node]}
        self.reply(200, json.dumps(answer))


@pytest.fixture
def picky():
    server = LocalServer(Picky)
    yield server.url
    server.close()


def add_nodes(fleet, seed):
    """{node: zone}; a node is the busier the higher its number, but for some luck. The last five of
    each zone are special."""
    zones, luck = {}, random.Random(seed)
    for zone, count in NODES.items():
        for i in range(count):
            labels = {ZONE: zone} | ({"special": "yes"} if i >= count - 5 else {})
            (name,) = fleet.add(1, labels=labels)
            usage = 0.1 + 0.4 * i / count + 0.05 * luck.random()
            reading = f"{usage:.5f},{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
            fleet.annotate(name, {CPU: reading, MEM: reading})
            zones[name] = zone
    return zones


def start(plimsoll, scheduler, nodes, name, shortlist, entries=()):
    """An extender with that shortlist, and a scheduler that shows it every node."""
    policy = fast_policy(hot_value=False, limit=0.9, period="3h")
    policy["spec"]["extender"] = {"scoring": "estimate", "shortlist": shortlist}
    extender = plimsoll.extender(plimsoll.write_policy(policy, f"{name}.yaml"))
    # Of the pods' preferences and its scores the former count more.
    ours = plimsoll.scheduler_entry(extender, weight=1)
    scheduler(name=name, extenders=[ours, *entries], percentageOfNodesToScore=100)
    wait_until(
        lambda: total(extender, "plimsoll_extender_readings", state="usable") == 2 * len(nodes),
        what="the readings",
    )
    return extender


def lists(extender, kind):
    return total(extender, "plimsoll_extender_shortlists_total", list=kind)


def test_pods_go_where_they_would_go(fleet, namespace, plimsoll, scheduler, figure):
    zones = add_nodes(fleet, 1)
    wanted = set(namespace.plane.kubectl("get", "nodes", "-l", "special", "-o", "name").split())
    wanted = {name.removeprefix("node/") for name in wanted}
    by_zone, special = {}, {}
    for shortlist in (0, PLACES):
        name = f"{namespace.name}-{shortlist}"
        extender = start(plimsoll, scheduler, zones, name, shortlist)
        # Pods of a Deployment are spread over zones by the scheduler's defaults.
        for app, more in {"web": {}, "hard": hard("hard")}.items():
            pod = pod_object(app, scheduler=name, labels={"app": app}, **more)
            namespace.create_deployment(app, REPLICAS, pod)
            places = namespace.wait_bound(REPLICAS, app=app)
            by_zone[shortlist, app] = collections.Counter(zones[node] for node in places.values())
            namespace.plane.api.delete(f"{namespace.apps}/deployments/{app}")
        whole = lists(extender, "whole_preferences")
        namespace.create_pods("fond", 15, scheduler=name, **SPECIAL)
        special[shortlist] = set(namespace.wait_bound(15, app="fond").values())
        if shortlist:
            assert lists(extender, "short") >= 2 * REPLICAS
            assert lists(extender, "whole_preferences") - whole == 15
        else:
            assert lists(extender, "short") == 0
        namespace.delete_pods()
    # What is soft differs by a pod or two from run to run, too.
    for app, pods in (("web", 2), ("hard", 1)):
        uneven, without = (
            max(by_zone[shortlist, app][zone] for zone in NODES)
            - min(by_zone[shortlist, app][zone] for zone in NODES)
            for shortlist in (PLACES, 0)
        )
        assert uneven <= without + pods, by_zone
    for places in special.values():
        assert places <= wanted, "a preference that the scheduler would have followed"
    figure(f"pods per zone, {REPLICAS} of a Deployment, without and with a shortlist of {PLACES}: "
           f"{dict(by_zone[0, 'web'])}, {dict(by_zone[PLACES, 'web'])}")  # fmt: skip


def test_nobody_waits_for_what_is_left_out(fleet, namespace, plimsoll, scheduler, picky, figure):
    """Another extender takes none but the busiest node: the second try is about all nodes."""
    zones = add_nodes(fleet, 2)
    Picky.node = list(zones)[NODES["a"] - 1]
    Picky.calls.clear()
    entry = {
        "urlPrefix": picky,
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "ignorable": True,
    }
    extender = start(plimsoll, scheduler, zones, namespace.name, PLACES, [entry])
    namespace.create_pod("web", scheduler=namespace.name)
    places = namespace.wait_bound(1)
    assert places == {"web": Picky.node}
    asked = [len(names) for names in Picky.calls]
    assert asked[0] == PLACES and asked[-1] == len(zones), asked
    assert lists(extender, "whole_retry") >= 1
    figure(f"an extender behind ours was asked about {asked} nodes, until it took one")
