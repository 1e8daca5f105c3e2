"""The wall clock of running programs is set, forward and back, by an hour and by a day.

Debian's libfaketime steps CLOCK_REALTIME and leaves the clocks of timers alone, as the kernel does
when somebody sets the clock.
"""

import itertools
import re
import time

import pytest

from controller_kit import (
    all_readings,
    lease_object,
    lease_renewed_unix,
    patched,
    policy,
    read_annotation,
)
from extender_kit import Extender
from harness import fetch, wait_until
from policies import ago, node_names, write_policy
from wall_clock import WallClock

MEAN, PEAK = "cpu_usage_avg_5m", "cpu_usage_max_avg_1h"
PERIOD_S, RIGHT_WITHIN_S = 2, 10
RULES = policy(
    {MEAN: f"{PERIOD_S}s", PEAK: f"{PERIOD_S}s"}, predicate={MEAN: 0.65}, priority={MEAN: 1}
)
NODES = node_names(4)
FULL = NODES[0]
LOADS = {name: 0.9 if name == FULL else 0.2 for name in NODES}
OLD_PEAK = 0.95
HOUR_S, DAY_S = 3600, 86400
# Each step leads from one offset to the next.
OFFSETS_S = (0, HOUR_S, 0, -HOUR_S, 0, DAY_S, 0)


@pytest.fixture
def standin(start_standin):
    """Of nodes whose peaks stem from an earlier life."""
    started = start_standin(*(f"--token=token-{user}={user}" for user in ("a", "b")))
    peak = f"{OLD_PEAK:.5f},{ago(600)}"
    started.add_nodes(len(NODES), annotations={PEAK: peak})
    return started


@pytest.fixture
def start_replica(start_controller, start_exporters, standin, tmp_path):
    """A controller with a token and a wall clock of its own, and the default times of a lease."""
    exporters = start_exporters("--speed", "20")
    for i, name in enumerate(NODES, 1):
        exporters.set([f"127.1.0.{i}"], load={"cpu": LOADS[name]})

    def start(user, clock):
        path = tmp_path / f"{user}.kubeconfig"
        kubeconfig = standin.edit_kubeconfig(path, user={"token": f"token-{user}"})
        more = {"content": RULES, "build": "release", "env": clock.env}
        return start_controller(kubeconfig, exporters, "--leader-elect=true", **more)

    return start


def troubles(controller):
    """The checks of its readiness that fail."""
    return re.findall(r"(?m)^\[-\] ([a-z ]+):", fetch(f"{controller.url}/readyz").text)


def are_of_now(standin, clock):
    """Every annotation is of now by this clock."""
    found = [*all_readings(standin, MEAN).values(), *all_readings(standin, PEAK).values()]
    return len(found) == 2 * len(NODES) and all(clock.is_near(r.at_unix) for r in found)


def patched_nodes(standin, since_unix):
    return {row["name"] for row in standin.patches(since=since_unix)}


class Scheduler:
    """Asks the extender about all nodes, again and again."""

    def __init__(self, connection):
        self.connection = connection
        self.admitted = 0  # calls that the full node has passed
        self.wronged = {}  # nodes with room that have been rejected, and why

    def rejects_the_full_one(self):
        passing, rejected = self.connection.filter(NODES)
        self.wronged.update((n, why) for n, why in rejected.items() if n != FULL)
        self.admitted += FULL in passing
        return FULL in rejected


def test_clock_steps(start_replica, standin, run, tmp_path):
    """Nodes with room are never rejected; annotations are right soon, and with them the verdict on a
    full node, which may pass until then when the clock was set forward; no peak falls; the leader
    leads on, whatever its clock does, and that of the standby."""
    clock, other_clock = WallClock(tmp_path / "clock"), WallClock(tmp_path / "other-clock")
    leader = start_replica("a", clock)
    wait_until(lambda: set(all_readings(standin, MEAN)) == set(NODES), what="windows")
    standby = start_replica("b", other_clock)
    standby.process.wait_log("new leader elected")
    flag = f"--policy-config-path={write_policy(tmp_path / 'policy.yaml', RULES)}"

    def run_stepped(argv, name):
        return run(argv, name, clock.env)

    extender = Extender(run_stepped, standin, flag, build="release")
    for program in (leader, standby, extender):
        program.wait_ready()
    with extender.scheduler() as connection:
        first = Scheduler(connection)
        wait_until(
            lambda: first.rejects_the_full_one() and are_of_now(standin, clock), what="a verdict"
        )
        for before_s, offset_s in itertools.pairwise(OFFSETS_S):
            scheduler, began = Scheduler(connection), time.monotonic()
            clock.set(offset_s)
            other_clock.set(-offset_s)
            wait_until(
                lambda s=scheduler: s.rejects_the_full_one() and are_of_now(standin, clock),
                what=f"annotations and a verdict after a step to {offset_s} s",
                poll_s=0.005,
            )
            took_s, right_unix = time.monotonic() - began, time.time()
            print(f"set by {offset_s - before_s:+6} s: right after {took_s:.1f} s, in which the "
                  f"full node passed {scheduler.admitted} calls")  # fmt: skip
            assert took_s < RIGHT_WITHIN_S
            assert scheduler.wronged == {}
            # Annotations have expired by a clock that was set forward; what passes in the meantime is
            # what passes where there is none. A time ahead of the clock has not expired.
            assert scheduler.admitted == 0 or offset_s > before_s
            wait_until(lambda: clock.is_near(lease_renewed_unix(standin)), what="a renewal")
            # Every node has its next turn.
            wait_until(lambda t=right_unix: patched_nodes(standin, t) == set(NODES), what="turns")
            for replica in (leader, standby):
                wait_until(
                    lambda r=replica, off=offset_s: troubles(r) == (["clock"] if off else []),
                    what="a replica to lack nothing but the right time",
                )

    assert lease_object(standin)["spec"]["leaseTransitions"] == 0
    assert (leader.metric("plimsoll_leader"), standby.metric("plimsoll_leader")) == (1, 0)
    assert leader.process.stop() == 0
    stopped_unix = time.time()
    wait_until(
        lambda: patched_nodes(standin, stopped_unix) == set(NODES), what="the standby's patches"
    )
    rows = [row for row in standin.patches() if row["code"] == 200]
    assert [user for user, _ in itertools.groupby(row["user"] for row in rows)] == ["a", "b"]
    for row in rows:
        values = {key: read_annotation(text).value for key, text in patched(row).items()}
        assert values.get(PEAK, OLD_PEAK) == OLD_PEAK, row
        assert abs(values.get(MEAN, LOADS[row["name"]]) - LOADS[row["name"]]) < 0.02, row


def test_a_clock_that_differs_from_the_api_servers(start_replica, tmp_path):
    """The controller notices by itself, and that it ends."""
    clock = WallClock(tmp_path / "clock")
    clock.set(-600)
    controller = start_replica("a", clock)
    controller.process.wait_log(r"clock differs from the API server's\" ahead_ms=-(59|60)\d{4}$")
    wait_until(
        lambda: troubles(controller) == ["clock"], what="a controller that lacks only the time"
    )
    text = fetch(f"{controller.url}/readyz").text
    assert " s behind the API server's: annotations expire too soon" in text
    clock.set(0)
    controller.process.wait_log("this machine's clock agrees with the API server's again")
    controller.wait_ready()
