"""What plimsoll-controller writes on nodes: values, form, rhythm."""

import re
import statistics
import time

import pytest

from controller_kit import (
    log_lines,
    AGENT,
    HOT_VALUE,
    SCRAPE_S,
    all_readings,
    patched,
    policy,
    read_annotation,
    reading,
)
from harness import wait_until
from policies import ago, node_names

# Several seconds of counters in one: the resolution of 10 ms is then far below the tolerance.
FAST = ("--speed", "20")


def wait_annotated(standin, count, key="cpu_usage_avg_5m", timeout_s=30):
    return wait_until(
        lambda: (found := all_readings(standin, key)) and len(found) >= count and found,
        timeout_s,
        f"{key} on {count} nodes",
    )


def scrape_times(exporters, target):
    return [at for at, code, _ in exporters.scrapes(target) if code == 200]


def expected(exporters, target, signal, at_unix, is_gauge):
    """The windows that a patch at this moment may have carried: its newest scrape is the last or,
    if that one was still under way, the one before."""
    found = []
    times = [t for t in scrape_times(exporters, target) if t < at_unix]
    for count in (len(times), len(times) - 1):
        if count < 2:
            continue
        if not is_gauge:
            found.append(exporters.truth(target, times[0], times[count - 1], signal))
            continue
        # Each scrape of a gauge speaks for the time since the one before.
        spans = list(zip(times[: count - 1], times[1:count]))
        total = sum(exporters.truth(target, b - 1e-4, b + 1e-4, signal) * (b - a) for a, b in spans)
        found.append(total / (times[count - 1] - times[0]))
    return found


def gaps_s(rows):
    return [b["at_unix"] - a["at_unix"] for a, b in zip(rows, rows[1:])]


def check_covered(row, earlier):
    """The windows are young: the patch says how many seconds its means hold, and where they end."""
    annotations = row["body"]["metadata"]["annotations"]
    if "node_covered_seconds" not in annotations:
        assert not earlier, "less than a second, before the first"
        return
    covered = read_annotation(annotations["node_covered_seconds"], HOT_VALUE)
    assert covered.at_unix == read_annotation(annotations["cpu_usage_avg_5m"]).at_unix
    if earlier:
        grown = covered.value - earlier[-1].value
        assert abs(grown - (covered.at_unix - earlier[-1].at_unix)) < 2
    earlier.append(covered)


def test_windows_agree_with_the_truth(start_standin, start_exporters, start_controller):
    """Every value of every patch, for loads that stand still, swing and jump."""
    standin, exporters = start_standin("--nodes", 4), start_exporters(*FAST)
    models = (
        0.35,
        {"kind": "sine", "mean": 0.5, "amplitude": 0.3, "period_s": 80},
        {"kind": "steps", "steps": [[0, 0.1], [60, 0.9], [130, 0.3]]},
        0,
    )
    for i, model in enumerate(models, 1):
        exporters.set([f"127.1.0.{i}"], load={"cpu": model, "mem": model})
    names = ["cpu_usage_avg_5m", "mem_usage_avg_5m", "cpu_usage_max_avg_1h", "cpu_usage_avg_1h"]
    start_controller(
        standin,
        exporters,
        content=policy({name: "2s" for name in names}),
    )
    wait_until(lambda: len(standin.patches(name="node-0003")) >= 4, what="four patches")
    worst, covered = [], {}
    for row in standin.patches():
        address = f"127.1.0.{int(row['name'][-4:]) + 1}"
        values = {key: read_annotation(text).value for key, text in patched(row).items()}
        assert set(values) == set(names)
        check_covered(row, covered.setdefault(address, []))
        for signal in ("cpu", "mem"):
            wanted = expected(exporters, address, signal, row["at_unix"], signal == "mem")
            got = values[f"{signal}_usage_avg_5m"]
            worst.append(min(abs(got - value) for value in wanted))
            assert worst[-1] < 0.01, (row["name"], signal, got, wanted)
        # Less than half of five minutes has passed: the largest mean is the mean. Its memory is
        # of floats, and the cells of an hour are wider, so that the last digit may differ.
        for other in ("cpu_usage_avg_1h", "cpu_usage_max_avg_1h"):
            assert abs(values[other] - values["cpu_usage_avg_5m"]) < 2e-5
    print(f"{len(worst)} values of {len(worst) // 2} patches, the worst is off by {max(worst):.5f}")
    assert len(worst) >= 24
    assert sum(len(readings) for readings in covered.values()) >= 8


def test_form_and_rhythm(start_standin, start_exporters, start_controller):
    """One merge patch per node and sync with every due key, stamped in UTC whatever TZ says."""
    standin, exporters = start_standin("--nodes", 6), start_exporters()
    # What is written every 2 s moves by 0.07 in that time: beyond the dead band, and not far enough for a patch
    # between turns.
    levels = [0.1 + 0.009 * min(i, 160 - i) for i in range(160)]
    ramp = {"kind": "steps", "steps": [[i / 4, level] for i, level in enumerate(levels)]}
    exporters.set(
        "all", load={"cpu": ramp, "mem": ramp, "disk": 0.25, "psi_io": 0.125, "load": 0.75}
    )
    fast = {"cpu_usage_avg_1s": "2s", "mem_usage_avg_1s": "2s"}
    slow = {"disk_usage_avg_5m": "4s", "psi_io_usage_avg_5m": "4s", "load_usage_avg_5m": "1h"}
    began = time.time()
    controller = start_controller(
        standin,
        exporters,
        content=policy({**fast, **slow}, hot={"5m": 5}),
        env={"TZ": "IST-5:30"},
    )
    wait_until(
        lambda: all(len(standin.patches(name=n)) >= 5 for n in node_names(6)), what="5 patches each"
    )
    took_s = time.time() - began
    ages, later_gaps = [], []
    for name in node_names(6):
        rows = standin.patches(name=name)
        for row in rows:
            assert row["code"] == 200
            assert row["content_type"] == "application/merge-patch+json"
            assert row["target"] == f"/api/v1/nodes/{name}?fieldManager=plimsoll-controller"
            assert re.fullmatch(rf"{AGENT}/[\d.]+", row["user_agent"])
            entries = patched(row)
            hot = read_annotation(entries.pop("node_hot_value"), HOT_VALUE)
            readings = {key: read_annotation(text) for key, text in entries.items()}
            # Of the newest scrape, while the hot value is counted at the writing.
            assert len(stamps := {r.at_unix for r in readings.values()}) == 1
            assert 0 <= hot.at_unix - min(stamps) <= SCRAPE_S + 1
            ages.append(row["at_unix"] - hot.at_unix)
            # Never half of what is due.
            assert set(fast) <= set(readings)
            assert set(readings) <= set(fast) | set(slow)
        assert set(slow) <= set(patched(rows[0]))
        # The first comes between turns; a turn moments after it is passed over.
        gaps = gaps_s(rows)
        assert min(gaps) > 0.4, gaps
        later_gaps += gaps[2:]
        # What is due every 4 s rides along with what is due every 2 s, and the hourly one does not.
        with_disk = sum("disk_usage_avg_5m" in patched(row) for row in rows)
        assert 1 < with_disk < len(rows), (with_disk, len(rows))
        assert sum("load_usage_avg_5m" in patched(row) for row in rows) == 1
        last = {key: reading(standin, name, key).value for key in slow}
        assert abs(last["disk_usage_avg_5m"] - 0.25) < 0.02, last
        assert abs(last["psi_io_usage_avg_5m"] - 0.125) < 0.02, last
        assert abs(last["load_usage_avg_5m"] - 0.75) < 0.01, last
    total = len(standin.patches())
    print(f"{total} patches on 6 nodes in {took_s:.1f} s, stamped {max(ages):.2f} s before at most")
    assert total <= 6 * (took_s / 2 + 2)
    # In the middle, since a machine with other things to do may keep one of them waiting.
    assert 1.5 < statistics.median(later_gaps) < 2.5, later_gaps
    assert min(ages) >= 0 and statistics.median(ages) < 1.5, ages

    def every_key_is_counted():
        bodies = [row["body"]["metadata"]["annotations"] for row in standin.patches()]
        carried = sum(len(annotations) for annotations in bodies)
        return controller.metric("plimsoll_patch_keys_total") == carried

    wait_until(every_key_is_counted, what="the annotations to be counted")
    fields = standin.admin("objects", resource="nodes", name="node-0000")["metadata"]
    managers = [f for f in fields["managedFields"] if f["manager"] == "plimsoll-controller"]
    assert len(managers) == 1 and managers[0]["operation"] == "Update"


def test_forged_annotations_are_replaced(start_standin, start_exporters, start_controller):
    """Anybody who may write a node, its kubelet say: with a usual time, one far ahead, or no reading."""
    standin, exporters = start_standin("--nodes", 3), start_exporters(*FAST)
    for number in (1, 2, 3):
        exporters.set([f"127.1.0.{number}"], load={"cpu": 0.5})
    start_controller(standin, exporters, content=policy({"cpu_usage_avg_1s": "2s"}))
    wait_annotated(standin, 3, "cpu_usage_avg_1s")
    forged = [f"0.01000,{ago()}", f"0.01000,{ago(-1e8)}", "0,soon"]
    for node, text in zip(node_names(3), forged):
        body = {"metadata": {"annotations": {"cpu_usage_avg_1s": text}}}
        standin.patch(f"/api/v1/nodes/{node}", body)

    def replaced():
        return all(
            standin.annotations(node)["cpu_usage_avg_1s"].startswith(("0.49", "0.50"))
            for node in node_names(3)
        )

    wait_until(replaced, what="what was forged to be replaced")


def test_prefix_zone_and_selector(start_standin, start_exporters, start_controller):
    """crane's clock and a prefix for every key, only on the selected nodes."""
    standin, exporters = start_standin(), start_exporters(*FAST)
    # What stands there under crane's clock is read by it as well.
    old = {"load.example.com/cpu_usage_max_avg_1h": f"0.99000,{ago(60 - 8 * 3600)}"}
    standin.add_nodes(2, labels={"pool": "web"}, annotations=old)
    standin.add_nodes(2, start=2, labels={"pool": "batch"})
    standin.add_nodes(1, start=4)
    start_controller(
        standin,
        exporters,
        "--annotation-prefix=load.example.com",
        "--annotation-timezone=Asia/Shanghai",
        "--node-selector=pool in (web, db)",
        content=policy({"cpu_usage_avg_5m": "2s", "cpu_usage_max_avg_1h": "2s"}, hot={"1m": 1}),
    )
    wait_annotated(standin, 2, "load.example.com/cpu_usage_avg_5m")
    keys = {f"load.example.com/{k}" for k in ("cpu_usage_avg_5m", "cpu_usage_max_avg_1h")}
    keys.add("load.example.com/node_hot_value")
    for row in standin.patches():
        assert row["name"] in ("node-0000", "node-0001")
        assert set(patched(row)) == keys
        written = read_annotation(patched(row)["load.example.com/cpu_usage_avg_5m"])
        assert -1 < row["at_unix"] + 8 * 3600 - written.at_unix < 2 + SCRAPE_S
        peak = read_annotation(patched(row)["load.example.com/cpu_usage_max_avg_1h"])
        assert peak.value == pytest.approx(0.99, abs=1e-5)
    # A node comes into the selection, and goes.
    standin.patch("/api/v1/nodes/node-0002", {"metadata": {"labels": {"pool": "db"}}})
    standin.patch("/api/v1/nodes/node-0000", {"metadata": {"labels": {"pool": None}}})
    wait_annotated(standin, 3, "load.example.com/cpu_usage_avg_5m")
    scrapes = len(exporters.scrapes("127.1.0.1"))
    wait_until(lambda: len(exporters.scrapes("127.1.0.3")) >= 4, what="scrapes of the new one")
    assert len(exporters.scrapes("127.1.0.1")) <= scrapes + 1
    assert exporters.scrapes("127.1.0.4") == exporters.scrapes("127.1.0.5") == []


def test_nodes_come_and_go(start_standin, start_exporters, start_controller):
    """A deleted node is neither scraped nor written; one of its name is another node."""
    standin, exporters = start_standin("--nodes", 3), start_exporters(*FAST)
    exporters.set(["127.1.0.1"], load={"cpu": 0.9})
    exporters.set(["127.7.0.1"], load={"cpu": 0.2})
    controller = start_controller(
        standin, exporters, content=policy({"cpu_usage_avg_5m": "2s", "cpu_usage_max_avg_1h": "2s"})
    )
    wait_annotated(standin, 3)
    standin.admin("delete", {"resource": "nodes", "names": ["node-0000", "node-0001"]})
    wait_until(lambda: controller.metric("plimsoll_nodes") == 1, what="two nodes to be forgotten")
    scraped = [len(exporters.scrapes(f"127.1.0.{i}")) for i in (1, 2)]
    standin.add_nodes(1, first_address="127.7.0.1")
    standin.add_nodes(1, start=3)
    wait_annotated(standin, 3)
    assert abs(reading(standin, "node-0000", "cpu_usage_avg_5m").value - 0.2) < 0.02
    assert abs(reading(standin, "node-0000", "cpu_usage_max_avg_1h").value - 0.2) < 0.02
    assert [len(exporters.scrapes(f"127.1.0.{i}")) for i in (1, 2)] == scraped
    assert controller.metric("plimsoll_nodes") == 3
    # A node that moves is measured at its new place, and nothing is said about the way there.
    standin.patch(
        "/api/v1/nodes/node-0002/status",
        {"status": {"addresses": [{"type": "InternalIP", "address": "127.7.0.1"}]}},
    )
    wait_until(lambda: exporters.scrapes("127.7.0.1"), what="a scrape at the new place")
    assert log_lines(controller.process, "node is failing") == []


def test_hot_values(start_standin, start_exporters, start_controller):
    """Counted from pods that are bound, before the start and after it."""
    standin, exporters = start_standin("--nodes", 4), start_exporters(*FAST)
    a, b, c, _ = node_names(4)
    # Before the start: four on b, which run already by that time.
    standin.add_pods(4, prefix="early-", nodes=[b], phase="Running")
    start_controller(
        standin,
        exporters,
        content=policy({"cpu_usage_avg_5m": "2s"}, hot={"5m": 5, "1m": 2}),
    )

    def hot_values():
        found = {}
        for name in node_names(4):
            text = standin.annotations(name).get("node_hot_value")
            found[name] = read_annotation(text, HOT_VALUE).value if text else None
        return list(found.values())

    wait_until(lambda: hot_values() == [0, 2, 0, 0], what="the early pods to count")
    standin.add_pods(10, prefix="web-")
    standin.admin("bind", {"nodes": [a], "prefix": "web-"})
    standin.add_pods(5, prefix="more-", nodes=[c, b])
    # floor(10 / 5) + floor(10 / 2); floor(6 / 5) + floor(6 / 2); floor(3 / 5) + floor(3 / 2)
    wait_until(lambda: hot_values() == [7, 4, 1, 0], what="the bindings to count")
    standin.admin("phase", {"phase": "Running"})
    standin.admin("delete", {"resource": "pods", "prefix": "web-"})
    standin.add_pods(1, prefix="last-", nodes=[c])
    wait_until(lambda: hot_values()[2] == 2, what="one more")
    assert hot_values() == [7, 4, 2, 0], "a pod that has gone was bound nevertheless"
