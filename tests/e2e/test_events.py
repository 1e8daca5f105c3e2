"""The controller's Events about the policy in a real cluster: kubectl shows them, and one request
writes each."""

import json

from cluster.pages import follow
from cluster.plimsoll import fast_policy, refused
from harness import wait_until
from pages import block

ACCOUNT = "plimsoll-controller"


def test_a_policy_that_changes(plane, plimsoll, exporters):
    before = len(plane.audit(ACCOUNT))
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(fast_policy()))
    plimsoll.controller(None, exporters)

    def described(*wanted):
        def look():
            told = plane.kubectl("describe", "dsp", "default").partition("\nEvents:")[2]
            return any(all(w in row for w in wanted) for row in told.splitlines())

        wait_until(look, what=f"{wanted} among the events of the policy", poll_s=0.3)

    described("Normal", "PolicyInForce", ACCOUNT, "the policy is in force")
    assert "dynamicschedulerpolicy/default" in follow(plane, block("docs/events.md", "events"))
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(fast_policy(limit=0.5)))
    described("PolicyInForce", "(x2 over ")
    rows = [e for e in plane.audit(ACCOUNT)[before:] if e["objectRef"]["resource"] == "events"]
    assert [e["verb"] for e in rows] == ["patch"] * 2
    assert not refused(plane, ACCOUNT, after=before)
    plane.kubectl("delete", "dsp", "default")
