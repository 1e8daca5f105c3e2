"""A DNS that hangs, fails or changes its answer: what it names is away, nothing else waits, and all is found again.

A lookup that hangs does so for longer than a test lasts, unless the resolver answers it in the end.
"""

import os
import subprocess
import time

import pytest

from controller_kit import log_lines, policy, reading
from harness import fetch, wait_until
from policies import node_names
from resolver_kit import Resolver

CPU = "cpu_usage_avg_5m"
SLOWER_THAN_ANY_TEST = "timeout:30 attempts:1"
HANG = "hang"
FAULTS = (
    *(HANG, "servfail", "nxdomain", "refused", "truncated", "malformed", "noise", "alias", "crowd"),
)
# Queries of one lookup: two families; by TCP as well; and the C library asks again with twice the memory until
# all addresses fit.
QUERIES = {"truncated": 4, "noise": 4, "crowd": 40}
# For patches: as many as are under way at a time.
API_CONNECTIONS = 8
# At its full size, with the times of a resolv.conf that says nothing.
MANY, USUAL_TIMES = 300, "timeout:5 attempts:2"
# One lookup of each name, which takes 10 s, and in each second of it 32 of targets that fail; a
# lookup has a socket and one by which its end is told. What is left is what it takes without lookups: a
# connection to each target, and two of curl for each of 64 shards.
THREADS_MAX, DESCRIPTORS_MAX, DESCRIPTORS_LEFT = 620, 1400, 460
# Far less than a lookup that hangs.
STOP_S = 5


@pytest.fixture(autouse=True)
def namespaces():
    """By which a program is given a resolv.conf of its own."""
    said = subprocess.run(
        ["unshare", "--mount", "true"], capture_output=True, text=True, check=False
    )
    if said.returncode != 0:
        pytest.skip(f"no namespaces: {said.stderr.strip()}")


@pytest.fixture
def resolver(namespaces, tmp_path):
    with Resolver(str(tmp_path), SLOWER_THAN_ANY_TEST) as server:
        yield server


def by_name(exporters):
    return f"--target-url-template=http://{{node}}.test:{exporters.port}/metrics"


def threads(controller):
    return len(os.listdir(f"/proc/{controller.process.pid}/task"))


def test_names_of_exporters(resolver, start_standin, start_exporters, start_controller):
    """Connections end, and then the names cannot be resolved, each in a way of its own. One name has moved."""
    nodes = node_names(len(FAULTS) + 2)
    hosts = {node: f"127.1.0.{i + 1}" for i, node in enumerate(nodes)}
    well, moved, new = nodes[0], nodes[1], "127.1.1.1"
    standin = start_standin("--nodes", len(nodes))
    listed = (part for host in [*hosts.values(), new] for part in ("--host", host))
    exporters = start_exporters(*listed)
    resolver.addresses = {f"{node}.test": [host] for node, host in hosts.items()}
    controller = start_controller(standin, exporters, by_name(exporters), within=resolver.within)

    def scrapes(host):
        return len(exporters.scrapes(host))

    def failing():
        return controller.metric("plimsoll_targets_failing")

    wait_until(lambda: min(map(scrapes, hosts.values())) > 0, what="a scrape of all")
    assert set(resolver.asked.values()) == {2}, "one lookup, one connection"
    before_threads, before_files = threads(controller), controller.process.open_files()

    faults = {f"{node}.test": fault for node, fault in zip(nodes[2:], FAULTS)}
    resolver.faults = dict(faults)
    resolver.addresses[f"{moved}.test"] = [new]
    exporters.trouble([host for node, host in hosts.items() if node != well], "close")
    wait_until(
        lambda: failing() == len(FAULTS) and all(resolver.asked[name] > 2 for name in faults),
        what="all faults to be felt",
    )
    before = scrapes(hosts[well])
    wait_until(lambda: scrapes(hosts[well]) >= before + 2, what="more scrapes of the neighbour")
    hanging = sum(map(len, resolver.waiting.values()))
    turns = scrapes(hosts[well])
    print(f"{turns} turns; queries {dict(resolver.asked)}; {threads(controller)} threads")
    assert scrapes(new) > 0
    assert resolver.is_waiting(f"{nodes[2]}.test"), "a lookup that has hung all the while"
    assert threads(controller) <= before_threads + hanging
    assert resolver.asked[f"{well}.test"] == 2
    for name, fault in faults.items():
        assert resolver.asked[name] <= QUERIES.get(fault, 2) * (turns + 1), fault
    assert controller.metric("plimsoll_scrapes_total", 0, result="reset") <= 3 * len(hosts)

    exporters.well()
    resolver.repair()
    wait_until(lambda: failing() == 0, what="all to be found")
    wait_until(
        lambda: threads(controller) <= before_threads
        and controller.process.open_files() <= before_files + API_CONNECTIONS,
        what="threads and descriptors to be as before",
    )
    told = log_lines(controller.process, "node is failing")
    assert all(sum(f"node={node} " in line for line in told) <= 1 for node in nodes), told


@pytest.mark.nightly
def test_many_names_hang(tmp_path, start_standin, exporters, start_controller):
    """Nobody waits for the lookups of targets that were given up; they end by themselves."""
    standin = start_standin("--nodes", MANY + 1)
    well, *others = node_names(MANY + 1)
    with Resolver(str(tmp_path), USUAL_TIMES) as resolver:
        resolver.addresses = {f"{node}.test": ["127.1.0.1"] for node in (well, *others)}
        resolver.faults = {f"{node}.test": HANG for node in others}
        controller = start_controller(
            standin, exporters, by_name(exporters), "--scrape-interval=5s", within=resolver.within
        )
        seen = []

        def turns():
            seen.append((threads(controller), controller.process.open_files()))
            return len(exporters.scrapes("127.1.0.1"))

        wait_until(lambda: turns() >= 6, 90, what="turns of the one that is well")
        most_threads, most_files = map(max, zip(*seen))
        queries = sum(resolver.asked.values())
        print(f"{most_threads} threads, {most_files} descriptors, {queries} queries at most")
        assert most_threads <= THREADS_MAX and most_files <= DESCRIPTORS_MAX
        resolver.repair()
        wait_until(
            lambda: controller.metric("plimsoll_targets_failing") == 0, 90, what="all to be found"
        )
        wait_until(lambda: threads(controller) <= 4, what="the lookups to end")
        assert controller.process.open_files() <= DESCRIPTORS_LEFT


@pytest.mark.nightly
def test_all_names_at_once(resolver, standin, exporters, pretended, start_controller, tmp_path):
    """Of the API server, of Prometheus, of an exporter: one after the other is found."""
    standin.add_nodes(1)
    pretended.computed[CPU] = [({"instance": "127.1.0.1"}, 0.2)]
    api, prometheus, exporter = "api.test", "prometheus.test", "node-0000.test"
    resolver.addresses = {name: ["127.0.0.1"] for name in (api, prometheus)}
    resolver.faults = {api: "servfail", prometheus: "nxdomain", exporter: HANG}
    kubeconfig = standin.edit_kubeconfig(
        tmp_path / "kubeconfig", cluster={"server": standin.url.replace("127.0.0.1", api)}
    )
    controller = start_controller(
        kubeconfig,
        exporters,
        "--metrics-source=prometheus,node-exporter",
        f"--prometheus-address={pretended.url.replace('127.0.0.1', prometheus)}",
        by_name(exporters),
        content=policy({CPU: "2s"}),
        within=resolver.within,
    )
    wait_until(lambda: resolver.asked[api] >= 2, what="lookups of the API server")
    resolver.faults[api] = HANG
    wait_until(lambda: resolver.waiting[api], what="one that hangs")
    assert fetch(f"{controller.url}/livez").text == "ok"
    assert len(log_lines(controller.process, "list/watch failed, retrying")) == 1
    resolver.repair(api)
    wait_until(lambda: resolver.asked[prometheus] >= 4, what="lookups of Prometheus")
    resolver.repair(prometheus)
    wait_until(lambda: reading(standin, "node-0000", CPU), what="a value of Prometheus")
    assert len(log_lines(controller.process, "cannot query Prometheus")) == 1
    assert resolver.is_waiting(exporter)
    began = time.monotonic()
    assert controller.process.stop() == 0
    assert time.monotonic() - began < STOP_S, "it waits for no lookup"
