"""For which pods the filter names only the best nodes; tests/unit/policy/judge has which these are."""

import json
import uuid

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


def test_whole_list(start_standin, start_extender):
    """For pods with preferences, for those that were refused before, and for those of DaemonSets."""
    standin = start_standin()
    annotations = {CPU: f"0.2,{ago()}"}
    standin.admin("nodes", {"names": NODES, "images": 0, "annotations": annotations})
    content = policy(limits={CPU: 0.9})
    content["spec"]["extender"] = {"shortlist": 24}
    extender = start_extender(standin, content=content)
    extender.wait_live()
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
