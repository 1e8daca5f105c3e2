"""The shortlist with a real kube-scheduler: pods go where they would go without it, and none waits
because of it."""

import collections
import json
import random
from datetime import datetime, timezone

import pytest
from cluster.plimsoll import fast_policy, total
from cluster.relay import Service
from cluster.workloads import Background, pod_object
from harness import wait_until
from local_server import Handler, LocalServer

CPU, MEM = "cpu_usage_avg_5s", "mem_usage_avg_5s"
ZONE = "topology.kubernetes.io/zone"
NODES = {"a": 110, "b": 80, "c": 50}
PLACES = 24
REPLICAS = 60
IDLE = 16
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
    """An extender that takes some nodes only."""

    nodes = set()
    calls = {}  # {pod: for each call the number of nodes, and whether the pod was refused before}

    def do_POST(self):
        args = json.loads(self.body())
        pod, names = args["Pod"], args["NodeNames"]
        conditions = pod["status"].get("conditions", [])
        refused = [row["reason"] for row in conditions if row["status"] == "False"]
        self.calls.setdefault(pod["metadata"]["name"], []).append((len(names), bool(refused)))
        answer = {"NodeNames": [name for name in names if name in self.nodes]}
        self.reply(200, json.dumps(answer))


@pytest.fixture
def picky():
    """Its entry in the scheduler's configuration. It is ignorable, as ours is: the scheduler asks
    such extenders last."""
    server = LocalServer(Picky)
    Picky.calls.clear()
    yield {
        "urlPrefix": server.url,
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "ignorable": True,
    }
    server.close()


@pytest.fixture
def serve():
    services = []

    def call(programs):
        services.append(Service(programs))
        return services[-1]

    yield call
    for service in services:
        service.stop()


def annotate(fleet, name, usage):
    reading = f"{usage:.5f},{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    fleet.annotate(name, {CPU: reading, MEM: reading})


def add_nodes(fleet, seed):
    """{node: zone}; a node is the busier the higher its number, except for some luck. The last five of
    each zone are special."""
    zones, luck = {}, random.Random(seed)
    for zone, count in NODES.items():
        for i in range(count):
            labels = {ZONE: zone} | ({"special": "yes"} if i >= count - 5 else {})
            (name,) = fleet.add(1, labels=labels)
            annotate(fleet, name, 0.1 + 0.4 * i / count + 0.05 * luck.random())
            zones[name] = zone
    return zones


def start_extender(plimsoll, nodes, shortlist, port=0):
    """An extender with that shortlist that has read all nodes."""
    policy = fast_policy(hot_value=False, limit=0.9, period="3h")
    policy["spec"]["extender"] = {"scoring": "estimate", "shortlist": shortlist}
    path = plimsoll.write_policy(policy, f"shortlist-{shortlist}.yaml")
    extender = plimsoll.extender(path, port=port)
    wait_until(
        lambda: total(extender, "plimsoll_extender_readings", state="usable") == 2 * len(nodes),
        what="the readings",
    )
    return extender


def start_scheduler(plimsoll, scheduler, name, extender, *entries):
    """A scheduler that asks about every node."""
    # Of the pods' preferences and its scores the former count more.
    ours = plimsoll.scheduler_entry(extender, weight=1)
    scheduler(name=name, extenders=[ours, *entries], percentageOfNodesToScore=100)


def lists(extender, kind):
    return total(extender, "plimsoll_extender_shortlists_total", list=kind)


def test_pods_go_where_they_would_go(fleet, namespace, plimsoll, scheduler, figure):
    zones = add_nodes(fleet, 1)
    wanted = set(namespace.plane.kubectl("get", "nodes", "-l", "special", "-o", "name").split())
    wanted = {name.removeprefix("node/") for name in wanted}
    by_zone, special = {}, {}
    for shortlist in (0, PLACES):
        name = f"{namespace.name}-{shortlist}"
        extender = start_extender(plimsoll, zones, shortlist)
        start_scheduler(plimsoll, scheduler, name, extender)
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
    # What is soft differs by a pod or two from run to run as well.
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


def test_other_replicas_answer_the_second_attempt(
    fleet, namespace, plimsoll, scheduler, picky, serve, figure
):
    """Another extender rejects the least loaded nodes, which are the whole shortlist."""
    nodes = fleet.add(100)
    idle, busy = nodes[:IDLE], nodes[IDLE:]
    short, whole = (IDLE, False), (len(nodes), True)
    Picky.nodes = set(busy)
    for name in nodes:
        annotate(fleet, name, 0.1 if name in idle else 0.4)
    replicas = [start_extender(plimsoll, nodes, IDLE) for _ in range(2)]
    start_scheduler(plimsoll, scheduler, namespace.name, serve(replicas), picky)

    namespace.create_pods("early", 40, scheduler=namespace.name)
    wait_until(lambda: len(Picky.calls) == 40, what="all pods to be refused")
    wait_until(lambda: namespace.events("FailedScheduling"), what="a FailedScheduling event")
    message = namespace.events("FailedScheduling")[0]["message"]
    reason = f"1 node and {len(busy) - 1} more left out by Plimsoll's shortlist"
    assert message.startswith(f"0/{len(nodes)} nodes are available: {reason}. "), message
    for replica in replicas:
        port = replica.url.rpartition(":")[2]
        replica.kill()
        start_extender(plimsoll, nodes, IDLE, port)

    # After each change of a node the scheduler tries pending pods again.
    def change_a_node(ended):
        annotate(fleet, busy[0], 0.4)
        ended.wait(0.05)

    with Background(change_a_node):
        namespace.wait_bound(40)
        for i in range(80):
            namespace.create_pod(f"late-{i:03}", scheduler=namespace.name)
        namespace.wait_bound(120)
    # A second attempt that begins within milliseconds does not know of the first.
    for calls in Picky.calls.values():
        assert calls[-1] == whole and set(calls[:-1]) == {short}, calls
    attempts = collections.Counter(len(calls) for calls in Picky.calls.values())
    figure(
        f"an extender behind ours rejects the {IDLE} least loaded nodes: {{attempts: pods}} "
        f"{dict(attempts)}; {message!r}"
    )
