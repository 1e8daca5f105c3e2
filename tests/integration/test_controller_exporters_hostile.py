"""Exporters that lie, stall and flood: the other nodes do not notice, and nobody gets a wrong value."""

import random
import statistics

import pytest

from addresses import address_of
from controller_kit import all_readings, log_lines, patched, policy, read_annotation, reading
from harness import NIGHTLY, wait_until

HEALTHY = [f"127.1.0.{i}" for i in range(1, 21)]
CPU, MEMORY = 0.3, 0.4
TOLERANCE = 0.02
ROUNDS = 9 if NIGHTLY else 5
# Of those that hang more than there are places for scrapes at full size, else for failing ones; of
# those that flood as many as would take many times the memory that pages under way may take.
HANGING, FLOODS = (600, 40) if NIGHTLY else (60, 4)
# The largest page that is read.
PAGE_MIB = 16
AVAILABLE, TOTAL = "node_memory_MemAvailable_bytes", "node_memory_MemTotal_bytes"
# Each on a node of its own.
TROUBLES = [
    {"kind": "hang"},
    {"kind": "mute"},
    {"kind": "rst"},
    {"kind": "close"},
    {"kind": "drip"},
    {"kind": "drip", "bytes": 100, "seconds": 0.1},
    {"kind": "garbage", "mebibytes": PAGE_MIB},
    {"kind": "garbage", "form": "line", "mebibytes": PAGE_MIB},
    {"kind": "garbage", "form": "braces", "mebibytes": PAGE_MIB},
    {"kind": "garbage", "form": "line", "mebibytes": PAGE_MIB + 1},
    {"kind": "gzip_bomb"},
    {"kind": "headers", "kibibytes": 4096},
    {"kind": "values", "value": "NaN"},
    {"kind": "values", "value": "+Inf", "label": 'mode="idle"'},
    {"kind": "values", "value": "-1", "label": 'mode="user"'},
    {"kind": "values", "value": "1e999"},
    {"kind": "values", "value": "1e300", "label": 'mode="idle"'},
    {"kind": "values", "value": "seventeen"},
    {"kind": "values", "value": "0x7fffffff"},
    {"kind": "values", "family": AVAILABLE, "value": "NaN"},
    {"kind": "values", "family": AVAILABLE, "value": "-1"},
    {"kind": "values", "family": AVAILABLE, "value": "1e300"},
    {"kind": "values", "family": TOTAL, "value": "0"},
    {"kind": "values", "family": TOTAL, "value": "-Inf"},
    {"kind": "duplicate"},
    {"kind": "duplicate", "family": TOTAL},
    {"kind": "missing"},
    {"kind": "missing", "family": AVAILABLE},
    {"kind": "extra", "text": 'node_cpu_seconds_total{cpu="0",mode="idle"} 1\n' * 1000},
    {"kind": "extra", "text": 'node_cpu_seconds_total{cpu="77",mode="idle"} 1e5\n'},
    {"kind": "extra", "text": "# TYPE x counter\nx{y=" * 10000},
    {"kind": "status"},
    {"kind": "status", "code": 400},
    {"kind": "status", "code": 401},
    {"kind": "status", "code": 404},
    {"kind": "status", "code": 429, "retry_after": 3600},
    {"kind": "status", "code": 204},
    {"kind": "redirect"},
    {"kind": "redirect", "location": "file:///etc/passwd"},
    {"kind": "html"},
    {"kind": "empty"},
    {"kind": "not_http"},
    {"kind": "stuck"},
]
# Pages cut at a place that moves all the time: as a length that is not met, by RST, unnoticeably.
CUTS = [{}, {"reset": True}, {"clean": True}, {"clean": True}, {"clean": True}, {"clean": True}]
REASONS = {
    "ok",
    "timeout",
    "reset",
    "too_large",
    "protocol",
    "no_metrics",
    "unauthorized",
    "not_found",
    "status_4xx",
    "status_5xx",
    "status_other",
}


def addresses(net, count):
    return [address_of(f"127.{net}.0.1", i) for i in range(count)]


def hosts(names):
    return [part for name in names for part in ("--host", name)]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("build", ["build", pytest.param("release", marks=pytest.mark.nightly)])
def test_the_others_stay_fresh(build, start_standin, start_exporters, start_controller):
    rng = random.Random(7)
    bad, cut = addresses(2, len(TROUBLES)), addresses(3, len(CUTS))
    restless, flood, hanging = addresses(4, 2), addresses(5, FLOODS), addresses(6, HANGING)
    # Processes of their own: what floods the controller must not slow down who is well.
    well = start_exporters("--speed", "20", *hosts(HEALTHY))
    same = ("--speed", "20", "--port", well.port)
    hostile = start_exporters(*same, *hosts(bad + cut + restless + hanging))
    flooding = start_exporters(*same, *hosts(flood))
    for peer in (well, hostile, flooding):
        peer.set("all", load={"cpu": CPU, "mem": MEMORY})
    standin = start_standin()
    everybody = HEALTHY + bad + cut + restless + flood

    def join(addresses_of_nodes):
        for address in addresses_of_nodes:
            standin.add_nodes(None, names=[address], first_address=address)

    join(everybody)
    controller = start_controller(
        standin,
        well,
        "--patch-qps=100",
        content=policy({"cpu_usage_avg_5m": "1s", "mem_usage_avg_5m": "1s"}),
        build=build,
    )
    wait_until(
        lambda: len(all_readings(standin, "cpu_usage_avg_5m")) == len(everybody),
        timeout_s=150,
        what="windows of every node",
    )

    def look(turn=lambda: None):
        """The times between two scrapes of a healthy node, and between two patches, in order of
        length, while each of them is scraped ROUNDS times more."""
        began_unix = standin.stats()["now_unix"]
        before = {address: len(well.scrapes(address)) for address in HEALTHY}

        def enough():
            turn()
            return all(len(well.scrapes(a)) >= before[a] + ROUNDS for a in HEALTHY)

        wait_until(enough, 60, f"{ROUNDS} scrapes of each healthy node", poll_s=0.4)
        ended_unix = standin.stats()["now_unix"]
        scrapes, patches = [], []
        for address in HEALTHY:
            times = [row[0] for row in well.scrapes(address)[before[address] - 1 :]]
            scrapes += [b - a for a, b in zip(times, times[1:])]
            rows = standin.patches(name=address, since=began_unix)
            times = [began_unix, *(row["at_unix"] for row in rows), ended_unix]
            patches += [b - a for a, b in zip(times, times[1:])]
        return sorted(scrapes), sorted(patches)

    calm = look()

    # The bad time.
    for address, trouble in zip(bad, TROUBLES):
        hostile.trouble([address], **trouble)
    hostile.trouble(hanging, "hang")
    join(hanging)
    flooding.trouble(flood, "garbage", form="series", mebibytes=PAGE_MIB - 1)
    # Their first scrapes may be felt.
    wait_until(
        lambda: controller.metric("plimsoll_targets_failing") > HANGING,
        what="all that hang to fail",
    )
    page_bytes = len(hostile.page(restless[0], "?collect[]=cpu&collect[]=meminfo").body)

    def turn():
        for address, spec in zip(cut, CUTS):
            # Another place before anybody has come by: that may happen.
            at = rng.randrange(page_bytes)
            hostile.trouble([address], "cut", may_miss=True, bytes=at, **spec)
        hostile.admin("reboot", {"targets": [restless[0]]})
        hostile.set([restless[1]], cpus=rng.choice([1, 2, 4, [0, 2, 3], [1, 3]]))

    troubled = look(turn)
    reasons = controller.labels("plimsoll_scrapes_total", "result")
    peak_kib = controller.process.peak_rss_kib()
    print(
        f"{build}: {len(HEALTHY)} healthy nodes beside {len(everybody + hanging) - len(HEALTHY)}; "
        f"interval and period 1 s; peak RSS {peak_kib / 1024:.1f} MiB"
    )
    for what, before, during in zip(("scraped", "written"), calm, troubled):
        print(f"{what} {during[-1]:.2f} s apart at most, {before[-1]:.2f} s before; mostly "
              f"{statistics.median(during):.2f} s, {statistics.median(before):.2f} s before")  # fmt: skip
        # A busy machine is slow in the calm time as well. With sanitizers, a large page takes its
        # time, and look() shows that nobody waits for all of them.
        if build == "release":
            assert statistics.median(during) < 1.5 * max(1, statistics.median(before))
            assert during[-1] < 2.5 * max(1.5, before[-1])
    assert REASONS <= set(reasons), REASONS - set(reasons)
    if build == "release":
        assert peak_kib < 96 * 1024
    is_ready, text = controller.ready()
    assert is_ready, text

    # Recovery. The many that hang leave instead: what comes of so many at once has to wait for its
    # place, and two pages that are milliseconds apart are no measure of a load.
    standin.admin("delete", {"resource": "nodes", "names": hanging})
    hostile.well("all")
    flooding.well("all")
    hostile.set([restless[1]], cpus=4)
    well_unix = standin.stats()["now_unix"]
    for key in ("cpu_usage_avg_5m", "mem_usage_avg_5m"):
        wait_until(
            lambda key=key: min(r.at_unix for r in all_readings(standin, key).values())
            > well_unix + 1,
            what=f"{key} of every node to be new",
        )
    wait_until(lambda: controller.metric("plimsoll_targets_failing") == 0, what="no failure")
    wait_until(lambda: controller.metric("plimsoll_nodes_stale") == 0, what="no stale node")

    # Whatever was written on anybody at any time was true.
    count, worst = 0, 0.0
    for row in standin.patches():
        for key, text in patched(row).items():
            off = abs(read_annotation(text).value - (CPU if key.startswith("cpu") else MEMORY))
            assert off < TOLERANCE, (row["name"], key, text, spec_of(row["name"], bad))
            count, worst = count + 1, max(worst, off)
    print(f"{count} annotations, the worst is off by {worst:.5f}")
    lines = controller.process.stderr().count("\n")
    began_lines = len(log_lines(controller.process, "node is failing"))
    print(f"{lines} lines of log, {began_lines} of them about nodes that begin to fail")
    assert 0 < began_lines <= 40 and lines < 100


def spec_of(address, bad):
    return TROUBLES[bad.index(address)] if address in bad else "no fixed trouble"


def test_a_host_called_like_a_node_that_is_not_scraped(start_standin, exporters, start_controller):
    """Only that Node's own page could show that this one is a copy of it."""
    standin = start_standin()
    exporters.trouble(["127.1.0.2"], "rst")
    standin.add_nodes(None, names=["node"], first_address="127.1.0.2")
    standin.add_nodes(None, names=["namesake"], first_address="127.1.0.1")
    start_controller(standin, exporters)
    memory = "mem_usage_avg_5m"
    wait_until(lambda: reading(standin, "namesake", memory), what="values of the host")
    assert reading(standin, "node", memory) is None


def test_a_node_that_claims_the_address_of_another(start_standin, exporters, start_controller):
    """Each node's page is read for this node, so it makes no difference to the other one."""
    standin = start_standin()
    for name in ("a-thief", "node"):
        standin.add_nodes(None, names=[name], first_address="127.1.0.1")
    controller = start_controller(standin, exporters)
    wait_until(lambda: reading(standin, "node", "mem_usage_avg_5m"), what="values of the node")
    controller.process.wait_log("node=a-thief .*reason=other_node")
    assert reading(standin, "a-thief", "mem_usage_avg_5m") is None
