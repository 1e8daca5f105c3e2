"""Thousands of nodes: how soon all are annotated, and what it costs us.

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

NODES = 5000 if NIGHTLY else 500
RSS_MAX_MIB = 80 if NIGHTLY else 24
# The defaults of the flags.
INTERVAL_S, PATCHES_PER_S = 15, 50
POLICY_FILE = TOP / "policy" / "policy.yaml"
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


@pytest.mark.alone
def test_scale(plane, plimsoll, exporters, figure):
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
    figure(f"extender: {extender.rss_kib() / 1024:.0f} MiB (peak {peak_rss_mib(extender):.0f})")
    assert count < 2.5 * NODES, "a node is written once, and not again before its period"
    # By the API server's clock, which may have been busy for a moment.
    assert count <= (written_s + 1) * PATCHES_PER_S, "--patch-qps"
    assert rss_mib < RSS_MAX_MIB
