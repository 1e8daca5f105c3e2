"""The shortlist: the filter names the best of many nodes that pass, and nobody is worse off for it."""

import json
import uuid

import pytest
from extender_kit import POD, policy
from policies import CPU, ago, node_names

ZONE = "topology.kubernetes.io/zone"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
NODES = node_names(240)


def new_pod(owner="ReplicaSet", **spec):
    """A pod that the extender has not seen."""
    pod = json.loads(json.dumps(POD))
    pod["metadata"]["uid"] = str(uuid.uuid4())
    pod["metadata"]["ownerReferences"][0]["kind"] = owner
    pod["spec"].update(spec)
    return pod


def refused(reason):
    pod = new_pod()
    condition = {"type": "PodScheduled", "status": "False", "reason": reason}
    pod["status"] = {"phase": "Pending", "conditions": [condition]}
    return pod


def spread(when):
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": when}
    return {"topologySpreadConstraints": [constraint]}


def zone_of(name):
    return "aabbc"[NODES.index(name) // 50]


def best(names, count):
    """The higher the number the idler, in the request's order."""
    return sorted(sorted(names)[-count:], key=names.index)


@pytest.fixture
def start(start_standin, start_extender):
    """An extender with that spec.extender, and NODES: 100 in zone a, 100 in b, 40 in c."""

    def call(fields, limit=0.9):
        standin = start_standin("--nodes", len(NODES), "--images", 0)
        for i, name in enumerate(NODES):
            usage = f"{0.6 - i / 500:.5f},{ago()}"
            metadata = {"labels": {ZONE: zone_of(name)}, "annotations": {CPU: usage}}
            answer = standin.patch(f"/api/v1/nodes/{name}", {"metadata": metadata})
            assert answer.status == 200, answer.text
        content = policy(limits={CPU: limit})
        if fields is not None:
            content["spec"]["extender"] = fields
        extender = start_extender(standin, content=content)
        extender.wait_live()
        return extender

    return call


@pytest.mark.parametrize("cache_capable", [True, False])
def test_best_of_each_zone(start, cache_capable):
    extender = start({"shortlist": 30}, limit=0.55)
    asked = [*NODES[120:], *NODES[:120]]  # the scheduler begins somewhere else each time
    sent = asked if cache_capable else [{"metadata": {"name": name}, "x": 1} for name in asked]
    with extender.scheduler() as scheduler:
        passing, rejected = scheduler.filter(sent, new_pod(), cache_capable, is_short=True)
    left_out = next(name for name in asked if name not in NODES[:25] and name not in passing)
    reason = "node and 184 more left out by Plimsoll's shortlist"
    assert rejected.pop(left_out) == reason, "it stands for all that are left out"
    assert set(rejected) == set(NODES[:25]), "those over the limit are told, as ever"
    for zone in "abc":
        told = [name for name in passing if zone_of(name) == zone]
        assert told == best([name for name in asked if zone_of(name) == zone], 10)
    assert len(passing) == 30
    assert extender.metric("plimsoll_extender_shortlists_total", list="short") == 1
    assert extender.metric("plimsoll_extender_left_out_candidates_total") == 240 - 25 - 30
    # All that are below the limit have passed, told or not.
    verdicts = "plimsoll_extender_verdicts_total"
    assert extender.metric(verdicts, predicate="none") == 240 - 25


def test_whole_list(start):
    """For pods with preferences, for those that were refused before, and for those of DaemonSets."""
    extender = start({"shortlist": 24})
    terms = {"podAntiAffinity": {PREFERRED: [TERM]}}
    with extender.scheduler() as scheduler:

        def told(pod):
            return len(scheduler.filter(NODES, pod, is_short=True)[0])

        assert told(new_pod(**spread("DoNotSchedule"))) == 24
        assert told(new_pod(affinity={"nodeAffinity": {PREFERRED: []}})) == 24
        assert told(new_pod(**spread("ScheduleAnyway"))) == 240
        assert told(new_pod(affinity={"nodeAffinity": {PREFERRED: [TERM]}})) == 240
        assert told(new_pod(affinity=terms)) == 240
        assert told(new_pod(owner="DaemonSet")) == 240
        assert told(refused("Unschedulable")) == 240
        assert told(refused("SchedulerError")) == 240
        assert told(refused("SchedulingGated")) == 24
    lists = "plimsoll_extender_shortlists_total"
    assert extender.metric(lists, list="whole_preferences") == 3
    assert extender.metric(lists, list="whole_retry") == 2
    assert extender.metric(lists, list="short") == 3
