"""Thousands of nodes: how soon all are annotated, and what it costs us and the scheduler.

With the flags and the policy that come with the programs, and the release build. 5,000 nodes in make
nightly, else 500.
"""

import concurrent.futures
import time
from datetime import datetime

import pytest
import yaml
from addresses import address_of
from cluster.nodes import FIRST_ADDRESS, node_object
from cluster.plimsoll import TOP, refused, total
from harness import NIGHTLY, wait_until

NODES, PODS = (5000, 500) if NIGHTLY else (500, 100)
RSS_MAX_MIB = 80 if NIGHTLY else 24
# The defaults of the flags.
INTERVAL_S, PATCHES_PER_S = 15, 50
EVERY_NODE = {"percentageOfNodesToScore": 100}
POLICY_FILE = TOP / "policy" / "policy.yaml"
# Below the default policy's limits: what is compared is the cost of asking, not of refusals.
CALM = {"kind": "sine", "mean": 0.3, "amplitude": 0.2, "period_s": 240}


@pytest.fixture
def plane(start_plane):
    """Thousands of nodes are not for those who share a cluster."""
    return start_plane()


@pytest.fixture
def plimsoll(plane, make_plimsoll):
    return make_plimsoll(plane, build="release")


def create_nodes(plane):
    def create(index):
        name = f"node-{index:04}"
        address = address_of(FIRST_ADDRESS, index)
        plane.api.create("/api/v1/nodes", node_object(name, address, kwok=False))
        return name

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(create, range(NODES)))


def unix(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def patch_times(plane):
    """{node: time of the first patch}, and how many patches there were."""
    first, count = {}, 0
    for event in plane.audit("plimsoll-controller"):
        if event["verb"] == "patch" and event["objectRef"]["resource"] == "nodes":
            assert event["responseStatus"]["code"] == 200, event
            first.setdefault(event["objectRef"]["name"], unix(event["requestReceivedTimestamp"]))
            count += 1
    return first, count


def peak_rss_mib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def bind_times(namespace, prefix, count):
    """When each pod of that prefix got its node, once all have one."""

    def look():
        found = [
            unix(event["eventTime"])
            for event in namespace.events("Scheduled")
            if event["involvedObject"]["name"].startswith(f"{prefix}-")
        ]
        return sorted(found) if len(found) == count else None

    return wait_until(look, 60, f"{count} Scheduled events", poll_s=0.5)


def placing(namespace, start, names):
    """(pods placed a second by schedulers that find them all waiting, the CPU time that they took)"""
    for name in names:
        namespace.create_pods(name, PODS // len(names), scheduler=name)
    processes = [start(name) for name in names]
    for name in names:
        namespace.wait_bound(PODS // len(names), app=name, timeout_s=300)
    times = [bind_times(namespace, name, PODS // len(names)) for name in names]
    cpu_s = sum(process.cpu_s() for process in processes)
    for process in processes:
        process.kill()
    first, last = min(found[0] for found in times), max(found[-1] for found in times)
    return (PODS - 1) / (last - first), cpu_s


@pytest.mark.alone
def test_scale(plane, plimsoll, exporters, namespace, scheduler, figure):
    began = time.monotonic()
    names = create_nodes(plane)
    figure(f"{NODES} nodes created in {time.monotonic() - began:.1f} s")
    exporters.set("all", load={"cpu": CALM, "mem": CALM})
    policy = plimsoll.write_policy(POLICY_FILE)
    wanted = {row["name"] for row in yaml.safe_load(POLICY_FILE.read_text())["spec"]["syncPolicy"]}
    extender = plimsoll.extender(policy)

    started_unix = time.time()
    controller = plimsoll.controller(policy, exporters, interval=f"{INTERVAL_S}s")
    limit_s = 3 * INTERVAL_S + 2 * NODES / PATCHES_PER_S + 30
    wait_until(
        lambda: len(patch_times(plane)[0]) == NODES, limit_s, "a patch of every node", poll_s=1
    )
    cpu_s, rss_mib = controller.cpu_s(), controller.rss_kib() / 1024
    first, count = patch_times(plane)
    took_s = max(first.values()) - started_unix
    written_s = max(first.values()) - min(first.values())
    figure(
        f"{NODES} nodes annotated {took_s:.0f} s after the start (scrape interval {INTERVAL_S} s, at "
        f"most {PATCHES_PER_S} patches a second): {count} patches, {count / written_s:.1f} a second"
    )
    figure(
        f"controller: {rss_mib:.0f} MiB (peak {peak_rss_mib(controller):.0f}), "
        f"{cpu_s / (time.time() - started_unix):.1%} of a CPU meanwhile"
    )
    items = plane.api.items("/api/v1/nodes", resourceVersion="0")
    assert all(wanted <= set(item["metadata"]["annotations"]) for item in items)
    assert set(first) == set(names)
    for account in ("plimsoll-controller", "plimsoll-extender"):
        assert not refused(plane, account)
    readings = NODES * len(wanted)
    wait_until(
        lambda: total(extender, "plimsoll_extender_readings", state="usable") >= readings,
        what="the extender to know every reading",
    )

    entry = plimsoll.scheduler_entry(extender)

    def start(extenders, **config):
        return lambda name: scheduler(name=name, extenders=extenders, **config)

    def compare(prefix, **config):
        """(CPU time of the scheduler that does not ask, of the one that does)"""
        alone, alone_s = placing(namespace, start([], **config), [f"{prefix}-alone"])
        cpu_before = extender.cpu_s()
        asked, asked_s = placing(namespace, start([entry], **config), [f"{prefix}-asking"])
        spent_s = extender.cpu_s() - cpu_before
        figure(
            f"{PODS} pods, {config or 'default sampling'}: {alone:.0f} a second without the extender, "
            f"{asked:.0f} with it; the scheduler took {alone_s:.1f} and {asked_s:.1f} s of CPU, the "
            f"extender {spent_s:.2f}"
        )
        # Most of what asking costs is kube-scheduler's own: it encodes the names and decodes our reply.
        assert spent_s < asked_s / 5
        return alone_s, asked_s

    compare("sampled")
    alone_s, asked_s = compare("all", **EVERY_NODE)
    if NIGHTLY:
        assert asked_s < alone_s, "without sampling, a scheduler that asks has less to do"
    both, _ = placing(namespace, start([entry], **EVERY_NODE), ["one", "other"])
    figure(f"two schedulers at once: {both:.0f} pods a second")
    figure(f"extender: {extender.rss_kib() / 1024:.0f} MiB (peak {peak_rss_mib(extender):.0f})")
    calls = total(extender, "plimsoll_extender_requests_total", verb="prioritize")
    assert calls >= 3 * PODS, f"only {calls} of {3 * PODS} pods asked"
    assert (
        total(extender, "plimsoll_extender_requests_total", verb="filter", code="200") >= 3 * PODS
    )
    assert count < 2.5 * NODES, "a node is written once, and not again before its period"
    # By the API server's clock, which may have been busy for a moment.
    assert count <= (written_s + 1) * PATCHES_PER_S, "--patch-qps"
    assert rss_mib < RSS_MAX_MIB
