"""plimsoll-controller ends and begins again; and its policy changes under it."""

import concurrent.futures
import random
import signal
import time

import pytest

from controller_kit import (
    all_readings,
    lease_object,
    lease_renewed_unix,
    offered_milli,
    patched,
    policy,
    read_annotation,
)
from harness import wait_until
from policies import ago, node_names

FAST = ("--speed", "20")
KILLS, WORLDS = 1000, 10
WRITERS_MIN = 100
LEASE_S = 2
# An exporter's interval is as long; readiness follows a scrape, not a tick of the same length.
READY_S = 1
PEAKS = ("cpu_usage_max_avg_1h", "cpu_usage_max_avg_1d", "mem_usage_max_avg_1h")
LINE, CORES = 0.95, 8


def add_nodes_with_peaks(standin, rng, oldest_s):
    """12 nodes with peaks from an earlier life: {node: {key: value}}."""
    peaks = {}
    for i, name in enumerate(node_names(12)):
        peaks[name] = {key: 0.7 + rng.randrange(20000) / 1e5 for key in PEAKS}
        ages_s = {key: rng.randrange(60, oldest_s) for key in PEAKS}
        texts = {k: f"{v:.5f},{ago(ages_s[k])}" for k, v in peaks[name].items()}
        standin.add_nodes(1, start=i, annotations=texts)
    return peaks


def every_patch_keeps(standin, peaks):
    """No patch ever wrote less than what had stood there, or offered CPU that a peak needs; how many
    values there were."""
    count = 0
    for row in standin.patches():
        if "status" in row["body"]:
            room = LINE - peaks[row["name"]][PEAKS[0]]
            assert (offered_milli(row) or 0) <= room * CORES * 1000 + 1, row
            continue
        for key, text in patched(row).items():
            if key in PEAKS:
                written = read_annotation(text).value
                # As it was printed, and as a float has kept it.
                assert written >= peaks[row["name"]][key] - 1e-5, (row["name"], key, text)
                count += 1
    return count


def test_kill_at_any_moment(start_standin, start_exporters, start_controller):
    """kill -9, again and again: the peaks stay, the load by that time is low."""
    standin, exporters = start_standin(), start_exporters(*FAST)
    peaks = add_nodes_with_peaks(standin, random.Random(5), 3000)
    exporters.set("all", load={"cpu": 0.6, "mem": 0.6})
    flags = (standin, exporters)
    rules = policy({"cpu_usage_avg_5m": "1s", **{key: "1s" for key in PEAKS}})
    first = start_controller(*flags, content=rules)
    wait_until(lambda: len(all_readings(standin, PEAKS[0])) == 12, what="windows of every node")
    wait_until(
        lambda: all(len(standin.patches(name=n)) >= 2 for n in node_names(12)), what="two patches"
    )
    first.process.kill()
    for key in PEAKS:
        for name, found in all_readings(standin, key).items():
            assert found.value >= peaks[name][key] - 1e-5
    standin.admin("stats/reset", {})
    exporters.set("all", load={"cpu": 0.05, "mem": 0.05})

    # After so many patches; 0: before it can have written anything.
    moments = (0, 1, 5, 13)
    for count in moments:
        before = len(standin.patches())
        controller = start_controller(*flags, content=rules)
        wait_until(
            lambda n=before + count: len(standin.patches()) >= n,
            what=f"{count} patches",
            poll_s=0.005,
        )
        controller.process.kill()
    during = every_patch_keeps(standin, peaks)

    began_unix = time.time()
    last = start_controller(*flags, content=rules)
    for key in PEAKS:
        wait_until(
            lambda key=key: all(
                r.at_unix > began_unix for r in all_readings(standin, key).values()
            ),
            what=f"{key} to be written again on every node",
        )
    total = every_patch_keeps(standin, peaks)
    lowest = min(r.value for key in PEAKS for r in all_readings(standin, key).values())
    assert all(r.value < 0.3 for r in all_readings(standin, "cpu_usage_avg_5m").values())
    print(
        f"{len(moments)} lives wrote {during} peaks, the last one {total - during}; the lowest is "
        f"{lowest:.5f} at a load of 0.05"
    )
    assert during > 0 and lowest >= 0.7
    assert last.process.stop() == 0


def kill_again_and_again(start, standin, users, peaks, rng):
    """kill -9 at random instants, and at once the next: none writes before the lease of the one before
    it has run out. Every other one may get ready first.

    `start(kubeconfig)` starts one; `users` has a kubeconfig for each of two users, who take turns.
    Returns how long it took to get ready, how many of those killed had written, and how many peaks and
    offers of idle CPU.
    """
    ready_s, writers, offers, free_unix, names = [], 0, 0, 0, sorted(users)
    for i in range(KILLS // WORLDS):
        began, began_unix, user = time.monotonic(), time.time(), names[i % 2]
        controller = start(users[user])
        if i % 2:
            wait_until(lambda c=controller: c.ready()[0], what="readiness", poll_s=0.005)
            ready_s.append(time.monotonic() - began)
        time.sleep(rng.uniform(0, 2 * LEASE_S))
        controller.process.kill()
        rows = [row for row in standin.patches(since=began_unix) if row["user"] == user]
        assert not rows or rows[0]["at_unix"] >= free_unix, (i, free_unix, rows[0])
        writers += bool(rows)
        offers += sum(offered_milli(row) is not None for row in rows)
        if standin.count(resource="leases", verb="create", code=201):
            free_unix = lease_renewed_unix(standin) + LEASE_S
    return ready_s, writers, every_patch_keeps(standin, peaks), offers


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_thousand_kills(start_standin, start_exporters, start_controller, tmp_path):
    """In several clusters at a time: most of a life is waiting."""
    exporters = start_exporters(*FAST)
    exporters.set("all", load={"cpu": 0.05, "mem": 0.05})
    flags = ("--leader-elect=true", "--leader-elect-renew-deadline=1400ms")
    flags += (f"--leader-elect-lease-duration={LEASE_S}s", "--leader-elect-retry-period=200ms")
    periods = {"cpu_usage_avg_5m": "1s", **{key: "1s" for key in PEAKS}}
    rules = policy(periods, idle={"line": LINE, "peak": "1h"})

    def start(kubeconfig):
        return start_controller(kubeconfig, exporters, *flags, content=rules, build="release")

    began, worlds = time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor(WORLDS) as pool:
        for number in range(WORLDS):
            rng, standin = random.Random(number), start_standin("--token=a=a", "--token=b=b")
            users = {
                user: standin.edit_kubeconfig(tmp_path / f"{number}-{user}", user={"token": user})
                for user in ("a", "b")
            }
            peaks = add_nodes_with_peaks(standin, rng, 300)
            worlds.append(pool.submit(kill_again_and_again, start, standin, users, peaks, rng))
        found = [world.result() for world in worlds]
    ready_s = sorted(s for world in found for s in world[0])
    writers, count, offers = (sum(world[i] for world in found) for i in (1, 2, 3))
    shares = {share: ready_s[int(share * (len(ready_s) - 1))] for share in (0.5, 0.9, 0.99, 1)}
    print(f"{KILLS} kills in {time.monotonic() - began:.0f} s, {writers} of those killed had written, {count} "
          f"peaks in all, and {offers} offers; ready after " + ", ".join(f"{s:.2f} s ({share:.0%})" for share, s in shares.items()))  # fmt: skip
    assert writers >= WRITERS_MIN and count > 0 and offers > 0
    assert shares[0.5] < READY_S


def test_a_clean_end(start_standin, start_exporters, start_controller):
    """SIGTERM and SIGINT: status 0, and patches under way arrive; it waits for nothing else."""
    standin, exporters = start_standin("--nodes", 8), start_exporters(*FAST)
    exporters.trouble(["127.1.0.8"], "hang")
    rules = policy({"cpu_usage_avg_5m": "1s"})

    took_s = []
    for number in (signal.SIGTERM, signal.SIGINT):
        controller = start_controller(standin, exporters, content=rules)
        wait_until(lambda: len(all_readings(standin, "cpu_usage_avg_5m")) == 7, what="the windows")
        slow = standin.fault("delay", verb="patch", resource="nodes", seconds=0.7, count=-1)
        wait_until(lambda: standin.faults()[slow]["hits"] > 0, what="a patch under way")
        before = len(standin.patches())
        began = time.monotonic()
        assert controller.process.stop(number) == 0
        took_s.append(time.monotonic() - began)
        rows = standin.patches()[before:]
        assert rows and all(row["code"] == 200 for row in rows), "none was given up"
        standin.clear_faults()
        standin.admin("delete", {"resource": "nodes"})
        standin.add_nodes(8)
    # Patches that never end are given up; and since they may yet arrive, the Lease is left to expire.
    controller = start_controller(standin, exporters, "--leader-elect=true", content=rules)
    stuck = standin.fault("hang", verb="patch", resource="nodes", count=-1)
    wait_until(lambda: standin.faults()[stuck]["hits"] > 0, what="a patch under way")
    began = time.monotonic()
    controller.process.popen.send_signal(signal.SIGTERM)
    controller.process.wait_log("shutting down")
    is_ready, text = controller.ready()
    assert not is_ready and "[-] shutdown" in text
    assert controller.process.wait_exit() == 0
    took_s.append(time.monotonic() - began)
    print(f"ended after {took_s[0]:.2f} and {took_s[1]:.2f} s with patches that take 0.7 s, after "
          f"{took_s[2]:.2f} s with some that never end")  # fmt: skip
    assert max(took_s[:2]) < took_s[2] and took_s[2] > 4
    assert lease_object(standin)["spec"]["holderIdentity"]
