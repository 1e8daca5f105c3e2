"""spec.idle: nodes offer the CPU below the line that services do not use, as an extended resource of
their status. What stands there before a controller starts is its predecessor's offer."""

import os
import signal
import time

import pytest

from controller_kit import policy
from harness import wait_until
from policies import IDLE, write_policy
from wall_clock import WallClock

CORES = 8  # of the exporters' hosts and of the stand-in's nodes
# Windows of seconds; an offer rises once in a shortest period, by an eighth.
METRICS = {"cpu_usage_avg_4s": "2s", "cpu_usage_max_avg_8s": "2s"}
WITHOUT = policy(METRICS)
WITH = {**WITHOUT, "spec": WITHOUT["spec"] | {"idle": {"line": 0.65, "peak": "8s"}}}
CALM, BUSY = {"cpu": 0.25, "mem": 0.2}, {"cpu": 0.9, "mem": 0.2}
NOISE = 0.15
STEP_S = 6  # in which each node is read often
ROOM = int((0.65 - 0.25) * CORES * 1000)


def offer(standin, node):
    """In thousandths of a CPU; None: it offers nothing."""
    status = standin.admin("objects", resource="nodes", name=f"node-{node:04}")["status"]
    capacity, allocatable = (status.get(key, {}).get(IDLE) for key in ("capacity", "allocatable"))
    assert capacity == allocatable
    if capacity is None:
        return None
    return int(capacity.removesuffix("k")) * (1000 if capacity.endswith("k") else 1)


def of_offers(standin):
    return [row for row in standin.patches() if "status" in (row["body"] or {})]


@pytest.fixture(scope="module")
def module_exporters(module_start_exporters):
    return module_start_exporters()


@pytest.fixture
def exporters(module_exporters):
    module_exporters.well()
    module_exporters.set("all", load=CALM)
    return module_exporters


@pytest.fixture
def standin(start_standin):
    return start_standin("--nodes", 3)


def is_near_room(standin, node, share=1.0):
    """Means of a few seconds are noisy on a machine that has other work."""
    found = offer(standin, node)
    return found is not None and share * ROOM * (1 - NOISE) <= found <= ROOM * (1 + NOISE)


def test_rises_slowly_falls_at_once_and_goes(standin, exporters, start_controller, tmp_path):
    path = write_policy(tmp_path / "policy", WITH)
    controller = start_controller(standin, exporters, content=path)
    wait_until(lambda: is_near_room(standin, 0), 60, "the whole offer")
    steps = [int(row["body"]["status"]["capacity"][IDLE]) for row in of_offers(standin)
             if row["name"] == "node-0000"]  # fmt: skip
    rises = [after - before for before, after in zip([0, *steps], steps)]
    assert max(rises) <= CORES * 1000 / 8 + CORES * 10, steps
    exporters.set(["127.1.0.1"], load=BUSY)
    wait_until(lambda: offer(standin, 0) == 0, 30, "the busy node's offer to go")
    wait_until(lambda: is_near_room(standin, 1), 60, "the calm node's")
    write_policy(path, WITHOUT)
    os.kill(controller.process.pid, signal.SIGHUP)
    controller.process.wait_log("generation=2")
    wait_until(lambda: [offer(standin, n) for n in range(3)] == [None] * 3, what="no offer")


def test_killed_and_started_again(standin, exporters, start_controller):
    """The offers stand while there is no controller, and the next one lowers none that has room."""
    first = start_controller(standin, exporters, content=WITH)
    wait_until(lambda: all(is_near_room(standin, n, 0.5) for n in range(3)), 60, "half of it")
    first.process.kill()
    before = [offer(standin, node) for node in range(3)]
    since = len(of_offers(standin))
    start_controller(standin, exporters, content=WITH)
    wait_until(lambda: all(is_near_room(standin, n) for n in range(3)), 60, "the whole offers")
    for row in of_offers(standin)[since:]:
        node = int(row["name"].removeprefix("node-"))
        amount = row["body"]["status"]["capacity"][IDLE]
        assert amount is not None and int(amount) >= before[node] * (1 - 2 * NOISE), row


FAULTS = {
    "403": {"action": "status", "status": 403},
    "409": {"action": "status", "status": 409},
    "429": {"action": "status", "status": 429, "retry_after": 1},
    "500": {"action": "status", "status": 500},
    "a page of HTML": {"action": "html"},
    "no answer": {"action": "hang"},
    "half an answer": {"action": "truncate", "bytes": 20},
    "a reset": {"action": "reset"},
    "no HTTP": {"action": "not_http"},
}
FAULT_COUNT = len(FAULTS)
QPS = 5
EVERY_DAY = ("403", "500")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in EVERY_DAY else pytest.mark.nightly) for n in FAULTS],
)
def test_failing_offers_delay_no_annotation(start_standin, start_exporters, start_controller, name):
    count = 12
    standin, exporters = start_standin("--nodes", count), start_exporters()
    exporters.set("all", load=CALM)
    standin.fault(path="/status", verb="patch", count=-1, **FAULTS[name])
    began = time.monotonic()
    controller = start_controller(standin, exporters, f"--patch-qps={QPS}", content=WITH)

    def all_are_written():
        nodes = (standin.annotations(f"node-{n:04}") for n in range(count))
        return all("cpu_usage_avg_4s" in annotations for annotations in nodes)

    wait_until(all_are_written, 60, "all annotations")
    # Offers wait for their turn, which is seldom: a tenth of all patches.
    tried = {row["name"] for row in of_offers(standin)}
    assert len(tried) <= 2 + (time.monotonic() - began) * QPS / 10, tried
    # They are tried all the same.
    controller.process.wait_log(r"node is failing.* what=\"idle CPU\"", timeout_s=60)
    standin.clear_faults()
    names = range(count)
    wait_until(
        lambda: any(offer(standin, n) is not None for n in names), 60, "an offer, with the right"
    )


def test_only_the_leader_offers(start_standin, exporters, start_controller, tmp_path):
    """Each has a token, and so a user, of its own."""
    standin = start_standin("--nodes", 3, *(f"--token={user}={user}" for user in ("a", "b")))
    flags = ("--leader-elect", "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s",
             "--leader-elect-retry-period=1s")  # fmt: skip

    def start(user):
        kubeconfig = standin.edit_kubeconfig(tmp_path / user, user={"token": user})
        return start_controller(kubeconfig, exporters, *flags, content=WITH)

    def writers():
        return {row["user"] for row in of_offers(standin)}

    first = start("a")
    wait_until(lambda: offer(standin, 0), what="an offer")
    second = start("b")
    gauge = "plimsoll_node_usage_ratio"
    wait_until(lambda: len(second.metrics().of(gauge)) == 3 * len(METRICS), what="its windows")
    exporters.set("all", load=BUSY)
    wait_until(lambda: [offer(standin, n) for n in range(3)] == [0] * 3, 60, "lower offers")
    assert writers() == {"a"}
    first.process.stop()
    wait_until(lambda: second.metric("plimsoll_leader") == 1, what="the other to lead")
    exporters.set("all", load=CALM)
    wait_until(lambda: offer(standin, 0), 60, "an offer of the next leader")
    assert writers() == {"a", "b"}


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_wall_clock_is_set(standin, exporters, start_controller, tmp_path):
    """By an hour and by a day, forward and back: no offer falls, and each follows its node."""
    clock = WallClock(tmp_path / "clock")
    start_controller(standin, exporters, content=WITH, build="release", env=clock.env)
    for offset_s in (3600, 0, -86400, 0):
        wait_until(lambda: all(is_near_room(standin, n) for n in range(3)), 60, "the whole offers")
        since = len(of_offers(standin))
        clock.set(offset_s)
        time.sleep(STEP_S)
        found = [row["body"]["status"]["capacity"][IDLE] for row in of_offers(standin)[since:]]
        assert all(int(amount or 0) > ROOM * (1 - NOISE) for amount in found), found
        exporters.set("all", load=BUSY)
        wait_until(lambda: offer(standin, 0) == 0, 30, "a busy node's offer to go")
        exporters.set("all", load=CALM)
