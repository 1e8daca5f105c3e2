"""Several sources of readings: which one serves a node, and what that looks like from outside.

The sources are synthetic exporters with different loads, so that a value shows where it came from.
"""

import os

import pytest

from controller_kit import all_readings, exporter_url, log_lines, patched, policy
from harness import wait_until
from tls_kit import Authority

SHORT = "cpu_usage_avg_10s"
SYNC_S = 4
FAST = ("--speed", "20")


def agent_at(agents):
    return {"kind": "node-metrics", "url": exporter_url(agents.port)}


def both(agents):
    """The node's exporter, and behind it the agent."""
    return [{"kind": "node-exporter"}, agent_at(agents)]


def served(controller):
    return controller.labels("plimsoll_nodes_served", "source")


def sources_line(controller):
    """What /readyz?verbose says of the sources."""
    return next(line for line in controller.ready()[1].splitlines() if "sources: " in line)


def every_node_near(standin, key, expected, count):
    found = all_readings(standin, key)
    return len(found) == count and all(abs(r.value - expected) < 0.02 for r in found.values())


def assert_nothing_twice(standin):
    """No key of a node is written sooner than its plan has it."""
    times = {}
    for row in standin.patches():
        for key in patched(row).keys() - {"node_hot_value"}:
            times.setdefault((row["name"], key), []).append(row["at_unix"])
    for what, at in times.items():
        # Half a sync at least, except for a sixteenth and the ways of two patches.
        gaps = [b - a for a, b in zip(at, at[1:])]
        assert all(gap >= SYNC_S / 2 - SYNC_S / 16 - 1 for gap in gaps), (what, at)
    return sum(len(at) for at in times.values())


def test_the_next_takes_over_and_gives_back(start_standin, start_exporters, start_controller):
    standin = start_standin("--nodes", 4)
    exporters, agents = start_exporters(*FAST), start_exporters("--agent", *FAST)
    exporters.set("all", load={"cpu": 0.3, "mem": 0.3})
    agents.trouble("all", "extra", text=f"node_{SHORT} 60\n")
    rules = policy({name: f"{SYNC_S}s" for name in (SHORT, "mem_usage_avg_5m")})
    controller = start_controller(standin, exporters, sources=both(agents), content=rules)
    wait_until(lambda: served(controller) == {"node-exporter": 4, "node-metrics": 0}, what="start")
    wait_until(lambda: every_node_near(standin, SHORT, 0.3, 4), 60, "the exporters' values")
    controller.wait_ready()
    assert sources_line(controller).endswith("sources: node-exporter 4, node-metrics 0")
    assert controller.metric("plimsoll_source_switches_total") == 0

    exporters.admin("listen", {"on": False})
    wait_until(lambda: served(controller) == {"node-exporter": 0, "node-metrics": 4}, what="switch")
    wait_until(lambda: every_node_near(standin, SHORT, 0.6, 4), 60, "the agents' values")
    assert controller.ready()[0]
    assert "node-exporter 0, node-metrics 4 (node-000" in sources_line(controller)
    assert ": connect, ...)" in sources_line(controller), sources_line(controller)
    switches = {"from": "node-exporter", "to": "node-metrics"}
    assert controller.metric("plimsoll_source_switches_total", **switches) == 4
    assert len(log_lines(controller.process, "node switched to another source")) == 4

    exporters.admin("listen", {"on": True})
    wait_until(lambda: served(controller) == {"node-exporter": 4, "node-metrics": 0}, what="return")
    wait_until(lambda: every_node_near(standin, SHORT, 0.3, 4), 60, "the exporters' values again")
    back = "node switched back to a preferred source"
    assert len(log_lines(controller.process, back)) == 4
    assert controller.metric("plimsoll_source_switches_total") == 8
    print(f"{assert_nothing_twice(standin)} annotations written")


@pytest.mark.parametrize("kind, what", [("node-exporter", "key"), ("prometheus", "ca")])
def test_a_file_that_nobody_can_read(
    start_standin, start_exporters, start_controller, tmp_path, kind, what
):
    """A FIFO that nobody writes: its source fails and says so, and nobody waits for it."""
    ours = Authority(str(tmp_path / "pki"), "ours")
    cert, key = ours.client()
    os.mkfifo(tmp_path / "fifo")
    files = {"ca": ours.cert, "cert": cert, "key": key, what: tmp_path / "fifo"}
    tls = {f"{name}_file": str(path) for name, path in files.items()}
    url = "https://127.0.0.1:1" if kind == "prometheus" else "https://{address}:1/metrics"
    sources = [{"kind": kind, "url": url, "tls_config": tls}]
    controller = start_controller(start_standin("--nodes", 1), start_exporters(), sources=sources)
    controller.process.wait_log("fifo: not a regular file")
    assert controller.page("/livez").text == "ok"
    assert controller.process.stop() == 0
