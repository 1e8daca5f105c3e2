"""Debian's Prometheus between the exporters and plimsoll-controller."""

import statistics
import time

import pytest

from controller_kit import log_lines, patched, policy, read_annotation, reading
from harness import wait_until
from prometheus_kit import crane_rules

CPU, MEM = "cpu_usage_avg_5m", "mem_usage_avg_5m"
PEAKS = ("cpu_usage_max_avg_1h", "cpu_usage_max_avg_1d", "mem_usage_max_avg_1h")
# Counters have hundredths of a second, and a maximum keeps what a first second makes of that.
TOLERANCE = 0.05
FAST_RULES = crane_rules("1s", "1s", "2s")


@pytest.fixture
def start_asking(start_controller):
    def start(standin, prometheus, *flags, exporters=1, behind=(), match=None, **more):
        source = {"kind": "prometheus", "url": prometheus.url}
        sources = [{**source, "match": match} if match else source, *behind]
        return start_controller(standin, exporters, *flags, sources=sources, **more)

    return start


def names(count):
    return [f"node-{i:04d}" for i in range(count)]


def values(standin, node, keys):
    found = {key: reading(standin, node, key) for key in keys}
    return {key: value.value for key, value in found.items() if value}


def fates_of_queries(controller):
    """Except for those that a busy machine's Prometheus was too late for."""
    return set(controller.labels("plimsoll_prometheus_queries_total", "result")) - {"timeout"}


def written(standins, nodes, keys, since_unix, count):
    """[{node: {key: [values]}}]: what so many patches of every node say, one after the other."""

    def rows(standin, node):
        patches = [patched(row) for row in standin.patches(name=node, since=since_unix)]
        return [row for row in patches if keys <= row.keys()]

    wait_until(
        lambda: all(len(rows(s, n)) >= count for s in standins for n in nodes),
        60,
        f"{count} patches of every node with {sorted(keys)}",
    )
    return [
        {
            node: {k: [read_annotation(row[k]).value for row in rows(standin, node)] for k in keys}
            for node in nodes
        }
        for standin in standins
    ]


def test_same_load_through_both(
    start_prometheus, start_exporters, start_standin, start_controller, start_asking
):
    """Synthetic exporters with known loads, scraped directly and by two Prometheis: one computes,
    one records by crane's rules."""
    # crane's rule takes a CPU's idle time over wall time: that asks for seconds as they pass.
    exporters = start_exporters()
    loads = {node: {"cpu": 0.1 + 0.2 * i, "mem": 0.9 - 0.15 * i} for i, node in enumerate(names(5))}
    for i, load in enumerate(loads.values()):
        exporters.set([f"127.1.0.{i + 1}"], load=load)
    targets = {f"127.1.0.{i + 1}:{exporters.port}": {} for i in range(5)}
    computing = start_prometheus(targets)
    recording = start_prometheus(targets, rules=FAST_RULES, name="recording")
    content = policy({key: "2s" for key in (CPU, MEM, *PEAKS)})
    # A maximum keeps what a rate over the first two samples makes of the delay of one of them.
    samples = "min(count_over_time(node_memory_MemTotal_bytes[5m]))"
    for prometheus in (computing, recording):
        wait_until(lambda p=prometheus: [v for _, v in p.query(samples) if v >= 15], 60, "samples")
    standins = {way: start_standin("--nodes", 5) for way in ("direct", "computed", "recorded")}
    start_controller(standins["direct"], exporters, content=content)
    computed = start_asking(standins["computed"], computing, content=content)
    recorded = start_asking(standins["recorded"], recording, content=content)
    off = {}
    found = written(standins.values(), loads, {CPU, MEM, *PEAKS}, 0, 4)
    for way, nodes in zip(standins, found):
        for node, series in nodes.items():
            for key, values_of_key in series.items():
                wanted = loads[node][key.partition("_")[0]]
                off[way, node, key] = max(abs(value - wanted) for value in values_of_key)
    worst = max(off, key=off.get)
    print(f"the worst of {len(off)} windows in four patches is {off[worst]:.5f} off: {worst}")
    assert off[worst] < TOLERANCE
    for controller in (computed, recorded):
        assert fates_of_queries(controller) == {"ok"}
        fates = controller.labels("plimsoll_prometheus_series", "fate")
        assert fates["unmatched"] == fates["unusable"] == fates["duplicate"] == 0


@pytest.mark.parametrize("match", [None, 'cluster="ours"'], ids=str)
def test_every_resource_of_a_real_exporter(
    match, start_prometheus, real_node_exporter, start_standin, start_controller, start_asking
):
    """This machine, by a Prometheus that knows the node by a label, and directly."""
    port = int(real_node_exporter.rpartition(":")[2])
    labels = {"instance": "m", "node": "node-0000", "cluster": "ours"}
    prometheus = start_prometheus({f"127.0.0.1:{port}": labels})
    resources = ("cpu", "mem", "load", "disk", "fs", "psi_cpu", "psi_mem", "psi_io")
    keys = {f"{resource}_usage_avg_10s" for resource in (*resources, "net", "net_rx", "net_tx")}
    content = policy({key: "2s" for key in keys})
    direct = start_standin("--nodes", 1, "--first-address", "127.0.0.1")
    asked = start_standin("--nodes", 1, "--first-address", "127.0.0.1")
    network = "--network-speed=1G"
    start_controller(direct, port, network, content=content)
    controller = start_asking(asked, prometheus, network, match=match, content=content)

    def seen():
        found = [set(values(standin, "node-0000", keys)) for standin in (direct, asked)]
        assert found[0] == found[1] >= {f"{r}_usage_avg_10s" for r in ("cpu", "mem", "load")}
        return found[0]

    wait_until(seen, 60, "both to have the same windows")
    # From when both windows are full; then the mean of each over the same time.
    written((direct, asked), ["node-0000"], seen(), time.time(), 5)

    def agree():
        found = written((direct, asked), ["node-0000"], seen(), time.time(), 8)
        ours, theirs = (
            {key: statistics.mean(row) for key, row in nodes["node-0000"].items()}
            for nodes in found
        )
        apart = {key: round(abs(ours[key] - theirs[key]), 4) for key in sorted(ours)}
        print(f"apart over 16 s: {apart}")
        assert max(apart.values()) < 0.05, apart
        return True

    # One of them is a second or two later, which shows while the load of this machine changes.
    wait_until(agree, 120, "both to agree while the load is steady")
    assert fates_of_queries(controller) == {"ok"}


@pytest.mark.parametrize("rules", [None, FAST_RULES], ids=["computed", "crane's rules"])
def test_an_exporter_that_dies(
    rules, start_prometheus, start_exporters, start_standin, start_asking
):
    """A rate over five minutes has five more minutes to live; the node has no value at once."""
    exporters = start_exporters()
    targets = {f"127.1.0.{i}:{exporters.port}": {} for i in (1, 2, 3)}
    prometheus = start_prometheus(targets, rules=rules)
    standin = start_standin("--nodes", 3)
    controller = start_asking(standin, prometheus, content=policy({CPU: "2s", MEM: "2s"}))

    def failing():
        return controller.metric("plimsoll_targets_failing", source="prometheus")

    wait_until(lambda: len(standin.annotations("node-0002")) >= 4, what="windows")
    computed = f"rate(node_cpu_seconds_total{{instance='127.1.0.2:{exporters.port}'}}[5m])"
    wait_until(lambda: prometheus.query(computed), what="a rate")
    wait_until(lambda: failing() == 0, what="all nodes to have values")
    exporters.trouble(["127.1.0.2"], "close")
    wait_until(lambda: failing() == 1, what="the node whose exporter is down to have none")
    assert prometheus.query(computed), "Prometheus would still have answered"
    if rules:
        # Of one that is no target any more there is no `up`; what was recorded lives on for a while.
        return
    prometheus.set_targets({at: {} for at in list(targets)[:2]})
    wait_until(lambda: failing() == 2, 60, "the node that is no target any more to have none")
    exporters.well()
    wait_until(lambda: failing() == 1, what="the exporter that is back")


def test_it_dies_and_comes_back(start_prometheus, start_exporters, start_standin, start_asking):
    """kill -9: the exporters are believed within two rounds, and Prometheus again when it is back."""
    exporters = start_exporters()
    exporters.set({"first": "127.1.0.1", "count": 2}, load={"cpu": 0.4})
    # That it can be seen whose value stands there: Prometheus scrapes other loads.
    exporters.set({"first": "127.2.0.1", "count": 2}, load={"cpu": 0.7})
    prometheus = start_prometheus(
        {f"127.2.0.{i}:{exporters.port}": {"instance": f"127.1.0.{i}"} for i in (1, 2)}
    )
    standin = start_standin("--nodes", 2)
    name = "cpu_usage_avg_4s"
    controller = start_asking(
        standin,
        prometheus,
        exporters=exporters,
        behind=[{"kind": "node-exporter"}],
        content=policy({name: "2s"}),
    )

    def stands(value):
        return all(
            abs(values(standin, node, [name]).get(name, 0) - value) < TOLERANCE for node in names(2)
        )

    def served(source):
        return controller.metric("plimsoll_nodes_served", source=source)

    wait_until(lambda: stands(0.7), what="Prometheus' values")
    wait_until(lambda: exporters.scrapes("127.1.0.1")[1:], 60, "windows of the exporters")
    prometheus.process.kill()
    died = time.monotonic()
    wait_until(lambda: served("node-exporter") == 2, what="the exporters to serve")
    print(f"the exporters served {time.monotonic() - died:.1f} s after the kill, rounds are 1 s")
    wait_until(lambda: stands(0.4), what="the exporters' values")
    assert len(log_lines(controller.process, "cannot query Prometheus")) == 1
    prometheus.start()
    wait_until(lambda: served("prometheus") == 2, what="Prometheus to serve")
    wait_until(lambda: stands(0.7), what="Prometheus' values")
    assert len(log_lines(controller.process, "Prometheus queries succeed again")) == 1
    for node in names(2):
        written = [row["body"]["metadata"]["annotations"] for row in standin.patches(name=node)]
        stamps = [row[name].partition(",")[2] for row in written if name in row]
        assert len(stamps) == len(set(stamps)), "no annotation twice in one second"
