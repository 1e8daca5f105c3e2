"""The controller's Events in a real cluster: kubectl shows them, and nothing is asked for them while
nothing changes."""

from cluster.pages import follow
from cluster.plimsoll import fast_policy, refused
from harness import wait_until
from pages import block

ACCOUNT = "plimsoll-controller"


def test_a_node_that_is_overloaded_and_back(plane, plimsoll, exporters, fleet):
    (calm,) = fleet.add(1, name="calm", load={"cpu": 0.2, "mem": 0.2})
    (busy,) = fleet.add(1, name="busy", load={"cpu": 0.9, "mem": 0.2})
    before = len(plane.audit(ACCOUNT))
    plimsoll.controller(plimsoll.write_policy(fast_policy()), exporters)

    def described(*wanted):
        def look():
            told = plane.kubectl("describe", "node", busy).partition("\nEvents:")[2]
            return next((r for r in told.splitlines() if all(w in r for w in wanted)), None)

        return wait_until(look, what=f"{wanted} among the events of {busy}", poll_s=0.3)

    def asked(resource):
        rows = [e for e in plane.audit(ACCOUNT)[before:] if e["verb"] == "patch"]
        return [e for e in rows if e["objectRef"]["resource"] == resource]

    line = described("Warning", "NodeOverloaded", ACCOUNT)
    assert line.endswith(" above limit 0.65") and "cpu_usage_avg_5s 0." in line
    listed = follow(plane, block("docs/events.md", "events"))
    assert f"node/{busy}" in listed and f"node/{calm}" not in listed

    written = len(asked("nodes"))
    wait_until(lambda: len(asked("nodes")) >= written + 3, what="more patches of nodes")
    assert len(asked("events")) == 1

    fleet.set_load([busy], cpu=0.2)
    assert described("Normal", "NodeLoadNormal").endswith("within every limit of the policy")
    fleet.set_load([busy], cpu=0.9)
    described("NodeOverloaded", "(x2 over ")
    assert [e["objectRef"]["name"] for e in asked("events")] == [
        f"{busy}.plimsoll-{what}" for what in ("overloaded", "load-normal", "overloaded")
    ]
    assert not refused(plane, ACCOUNT, after=before)
