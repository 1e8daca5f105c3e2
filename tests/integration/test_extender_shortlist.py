"""That lists are shortened, whole and counted; tests/unit/policy/judge and tests/data/pods.tsv have for which pods."""

import copy
import uuid

from extender_kit import POD, policy
from policies import CPU, ago, node_names

NODES = node_names(240)
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
REFUSED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def new_pod(spec=None, status=None):
    """A pod that the extender has not seen."""
    pod = copy.deepcopy(POD)
    pod["metadata"]["uid"] = str(uuid.uuid4())
    return pod | {"spec": pod["spec"] | (spec or {}), "status": status or {}}


def test_whole_lists(start_standin, start_extender):
    standin = start_standin()
    annotations = {CPU: f"0.2,{ago()}"}
    standin.admin("nodes", {"names": NODES, "images": 0, "annotations": annotations})
    content = policy(limits={CPU: 0.9})
    content["spec"]["extender"] = {"shortlist": 24}
    extender = start_extender(standin, content=content)
    extender.wait_live()
    fond = new_pod({"affinity": {"nodeAffinity": {PREFERRED: [TERM]}}})
    refused = new_pod(status={"phase": "Pending", "conditions": [REFUSED]})
    with extender.scheduler() as scheduler:
        for pod, count in ((new_pod(), 24), (fond, 240), (refused, 240)):
            assert len(scheduler.filter(NODES, pod, is_short=True)[0]) == count
    lists = extender.labels("plimsoll_extender_shortlists_total", "list")
    assert lists == {"short": 1, "whole_preferences": 1, "whole_retry": 1}
