"""Many nodes: each is written in time, evenly, within the memory that tests/bench/results.md promises.

`make nightly` has 5,000 of them, with the periods of policy/crane.yaml, a ninth as long and less: 20 s,
60 s and 10 min for 3 min, 15 min and 3 h. Otherwise it is a tenth of all that. The release build.

And as many kubelets with 30 pods each, which speak TLS.
"""

import os
import pathlib
import sys
import time
from typing import NamedTuple

import pytest
import yaml

from controller_kit import all_readings, policy
from harness import NIGHTLY, wait_until
from pages import TOP
from tls_kit import Authority


class Size(NamedTuple):
    nodes: int
    sync_s: int  # a period of the means; three of it are one of the maxima
    interval_s: int
    patches_per_s: int  # above what the rhythm needs, so that it is the rhythm that is seen


SIZE = Size(5000, 20, 10, 400) if NIGHTLY else Size(500, 5, 5, 200)
NODES, SYNC_S, INTERVAL_S = SIZE.nodes, SIZE.sync_s, SIZE.interval_s
PERIODS = {
    f"{resource}_usage_{window}": period
    for resource in ("cpu", "mem")
    for window, period in (
        ("avg_5m", f"{SYNC_S}s"),
        ("max_avg_1h", f"{3 * SYNC_S}s"),
        ("max_avg_1d", f"{30 * SYNC_S}s"),
    )
}
HOT = {"5m": 5, "1m": 2}
RSS_MAX_KIB = (80 if NIGHTLY else 24) * 1024
# Seconds that are looked at when the beginning is over, in whole syncs.
LOOK_S = SYNC_S if NIGHTLY else 2 * SYNC_S
# Of the scrapes that are due: all but what a loaded machine gives us no time for.
SHARE_SCRAPED = 0.97 if NIGHTLY else 0.8


@pytest.mark.timeout(400)
def test_many_nodes(start_standin, start_exporters, start_controller):
    standin, exporters = start_standin("--nodes", NODES), start_exporters()
    # Loads that move by more than the dead band between syncs.
    swing = {"kind": "sine", "mean": 0.5, "amplitude": 0.4, "period_s": 15 * SYNC_S}
    exporters.set("all", load={"cpu": swing, "mem": swing})
    began_unix = time.time()
    controller = start_controller(
        standin,
        exporters,
        f"--scrape-interval={INTERVAL_S}s",
        f"--patch-qps={SIZE.patches_per_s}",
        content=policy(
            PERIODS,
            predicate={"cpu_usage_avg_5m": 0.65, "mem_usage_avg_5m": 0.65},
            priority={name: 0.5 for name in PERIODS},
            hot=HOT,
        ),
        build="release",
    )
    process = controller.process
    wait_until(
        lambda: standin.admin("patches/summary")["objects"] == NODES,
        120,
        "a patch of every node",
        poll_s=0.5,
    )
    filled_s = time.time() - began_unix
    # The way from there to each node's own instant takes half a sync to one and a half.
    steady_unix = time.time() + 1.5 * SYNC_S
    standin.wait_job(standin.add_pods(500, nodes=["node-0007", "node-0471"]))
    wait_until(lambda: time.time() > steady_unix, 60, "the beginning to be over", poll_s=0.2)
    cpu_s, scraped = process.cpu_s(), exporters.admin("stats")["scraped"]
    late = controller.metric("plimsoll_patches_waiting")
    end_unix = steady_unix + LOOK_S + 1
    wait_until(lambda: time.time() >= end_unix, 60, "a sync of every node", poll_s=0.5)
    took_s = time.time() - steady_unix
    cpu_share = (process.cpu_s() - cpu_s) / took_s
    scrapes_per_s = (exporters.admin("stats")["scraped"] - scraped) / took_s

    summary = standin.admin("patches/summary", since=steady_unix)
    per_second = [
        summary["per_second"].get(str(second), 0)
        for second in range(int(steady_unix) + 1, int(steady_unix + took_s))
    ]
    mean = sum(per_second) / len(per_second)
    whole = standin.admin("patches/summary")
    rss_kib, peak_kib = process.rss_kib(), process.peak_rss_kib()
    print(
        f"{NODES} nodes: all written after {filled_s:.0f} s; then in {took_s:.0f} s "
        f"{summary['total']} patches, {summary['total'] / took_s:.1f} a second "
        f"({NODES / SYNC_S:.1f} would be one per node and sync), at most {max(per_second)} in a "
        f"second; {scrapes_per_s:.0f} scrapes a second; RSS {rss_kib / 1024:.1f} MiB, peak "
        f"{peak_kib / 1024:.1f}; {cpu_share:.1%} of a CPU"
    )
    assert set(whole["codes"]) == {"200"}
    # One per node and sync at most, in addition to those that were late when the look began; a second's
    # worth of rounding at the edges.
    assert summary["total"] <= NODES * (took_s + 1) / SYNC_S + late
    assert summary["most"] <= LOOK_S / SYNC_S + 1
    # Spread over the period: the busiest seconds except for a few, in which a loaded machine catches
    # up with others in which it gave us nothing.
    assert sorted(per_second)[len(per_second) * 8 // 10] < 1.5 * mean + 20
    assert peak_kib < RSS_MAX_KIB
    assert scrapes_per_s > SHARE_SCRAPED * NODES / INTERVAL_S
    # No window was lost.
    metrics = controller.metrics()
    assert metrics["plimsoll_windows"] == NODES * len(PERIODS)
    assert metrics["plimsoll_nodes_stale"] == 0
    now = time.time()
    for key, period_s in (("cpu_usage_avg_5m", SYNC_S), ("mem_usage_max_avg_1h", 3 * SYNC_S)):
        ages = [now - reading.at_unix for reading in all_readings(standin, key).values()]
        print(f"{key}: {len(ages)} annotations, {max(ages):.0f} s old at most")
        # Within the dead band a value may stand for a second period. It is then written with the next reading.
        assert len(ages) == NODES and max(ages) < 2 * period_s + INTERVAL_S + 5
    assert len(all_readings(standin, "cpu_usage_max_avg_1d")) == NODES
    is_ready, text = controller.ready()
    assert is_ready, text


PODS = 30
KUBELETS, READ_S = (5000, 15) if NIGHTLY else (250, 2)  # every fourth time also of pods
WORKLOADS = min(KUBELETS, 333) * PODS  # node_api's
KUBELETS_RSS_MAX_KIB = (420 if NIGHTLY else 56) * 1024
OTHER_FILES = 200  # curl has 128
CHEAPER = 2  # a reading than the first one of each kubelet, which has a handshake


def test_many_kubelets(run, start_controller, tmp_path):
    """What their pods use is read over one connection to each, which stays."""
    authority = Authority(tmp_path, "kubelets")
    pair = authority.server("kubelet", names="DNS:kubelet")
    fleet = run([sys.executable, TOP / "tests/bench/kubelet_fleet.py", *pair, str(PODS)], "fleet")
    port = str(fleet.wait_port())
    node_api = pathlib.Path(os.environ["PLIMSOLL_RELEASE_DIR"], "tests/bench/node_api")
    api = run([node_api, str(KUBELETS), "0", port, str(PODS)], "api")
    token, kubeconfig = tmp_path / "token", tmp_path / "kubeconfig"
    token.write_text("token")
    cluster = {"name": "a", "cluster": {"server": f"http://127.0.0.1:{api.wait_port()}"}}
    context = {"name": "a", "context": {"cluster": "a", "user": ""}}
    kubeconfig.write_text(
        yaml.safe_dump({"clusters": [cluster], "contexts": [context], "current-context": "a"})
    )
    source = {
        "kind": "kubelet",
        "interval": f"{READ_S}s",
        "tls_config": {"ca_file": authority.cert, "server_name": "kubelet"},
        "authorization": {"credentials_file": str(token)},
    }
    controller = start_controller(
        str(kubeconfig),
        0,
        sources=[source],
        content=str(TOP / "policy/policy.yaml"),
        build="release",
    )
    process = controller.process

    def wait_read(times):
        """CPU time and readings, when each kubelet was read so often."""
        wait_until(
            lambda: controller.metric("plimsoll_scrapes_total", result="ok") >= times * KUBELETS,
            300,
            "readings",
            poll_s=0.1,
        )
        return process.cpu_s(), controller.metric("plimsoll_scrapes_total", result="ok")

    first_s, first = wait_read(1)
    began_s, began = wait_read(2)
    ended_s, ended = wait_read(6)
    wait_until(
        lambda: controller.metric("plimsoll_workloads_measured") == WORKLOADS,
        60,
        "the usage of workloads",
    )
    first_us, later_us = first_s / first * 1e6, (ended_s - began_s) / (ended - began) * 1e6
    rss_kib, files = process.rss_kib(), process.open_files()
    pages = controller.metric("plimsoll_scrapes_total", source="pods", result="ok")
    for peer in (fleet, api):
        peer.kill()
    print(
        f"{KUBELETS} kubelets of {PODS} pods: {first_us:.0f} us of CPU for the first reading, {later_us:.0f} us "
        f"for a later one; {files} files; RSS {rss_kib / 1024:.1f} MiB"
    )
    assert later_us < first_us / CHEAPER
    assert files < KUBELETS * 1.2 + OTHER_FILES
    assert rss_kib < KUBELETS_RSS_MAX_KIB
    assert pages < KUBELETS / 4  # before the first page of the node
