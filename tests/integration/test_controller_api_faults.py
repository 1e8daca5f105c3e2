"""An API server in trouble: plimsoll-controller scrapes on, comes back by itself, and is patient."""

import json
import os
import time

from controller_kit import AGENT, SCRAPE_S, all_readings, log_lines, policy
from harness import wait_until
from policies import node_names

FAST = ("--speed", "20")
RULES = policy({"cpu_usage_avg_5m": "1s"}, hot={"1m": 1})
KEY = "cpu_usage_avg_5m"


def wait_fresh(standin, names, since_unix, timeout_s=40):
    """Wait until each of these nodes has an annotation of after `since_unix`."""

    def are_fresh():
        found = all_readings(standin, KEY)
        stale = [n for n in names if n not in found or found[n].at_unix <= since_unix]
        assert not stale, f"not written again: {stale[:5]}, {len(stale)} in all"
        return True

    wait_until(are_fresh, timeout_s, "annotations of every node after the trouble")


def share_scraped(exporters, count, since_unix):
    """How many of the scrapes that were due since then took place, of the node with the fewest."""
    due = (time.time() - since_unix) / SCRAPE_S
    return min(
        sum(at >= since_unix for at, _, _ in exporters.scrapes(f"127.1.0.{i + 1}")) / due
        for i in range(count)
    )


def requests_since(standin, since_unix, **query):
    rows = standin.admin("requests", since=since_unix, agent=AGENT, limit=50000, **query)
    return [row for row in rows if row["at_unix"] >= since_unix]


def test_patches_that_fail(start_standin, start_exporters, start_controller):
    """Each node's patches fail in another way, several times; none is given up for good."""
    ways = [
        {"action": "status", "status": 429, "retry_after": 1},
        {"action": "status", "status": 429, "plain": True},
        {"action": "status", "status": 500},
        {"action": "status", "status": 503, "retry_after": 1},
        {"action": "status", "status": 409},
        {"action": "status", "status": 422},
        {"action": "reset"},
        {"action": "close"},
        {"action": "garbage"},
        {"action": "empty"},
        {"action": "huge", "mebibytes": 4},
        {"action": "deep"},
        {"action": "html"},
        {"action": "truncate"},
        {"action": "not_http"},
    ]
    count = len(ways) + 2
    names = node_names(count)
    standin, exporters = start_standin("--nodes", count), start_exporters(*FAST)
    controller = start_controller(standin, exporters, content=RULES)
    wait_until(lambda: len(all_readings(standin, KEY)) == count, what="the first windows")
    began_unix = time.time()
    rules = [
        standin.fault(verb="patch", name=f"^{name}$", count=3, **way)
        for name, way in zip(names, ways)
    ]
    wait_until(
        lambda: all(row["left"] == 0 for row in standin.faults().values()),
        what="all faults to be met",
    )
    assert len(standin.faults()) == len(rules)
    took_s = time.time() - began_unix
    wait_fresh(standin, names, time.time())
    patches = standin.patches(since=began_unix)
    calm = [row for row in patches if row["name"] in names[-2:]]
    gaps = [b["at_unix"] - a["at_unix"] for a, b in zip(calm[::2], calm[2::2])]
    outcomes = controller.labels("plimsoll_patches_total", "outcome")
    print(
        f"{3 * len(ways)} failures of {len(ways)} kinds in {took_s:.1f} s, {len(patches)} patches "
        f"in all, the two calm nodes at most {max(gaps):.1f} s apart; {outcomes}"
    )
    # A patch in each second; a failure is tried again twice at most, and then as a new one.
    assert len(patches) < count * (time.time() - began_unix + 2) * 2
    assert {"ok", "throttled", "conflict", "invalid"} <= set(outcomes)
    assert share_scraped(exporters, count, began_unix) > 0.6
    began = log_lines(controller.process, "node is failing")
    assert 0 < len(began) <= len(ways) * 3


def start_with_token(start_standin, start_controller, exporters, tmp_path, in_file, **auth):
    """A stand-in that wants a token, and a controller that has one in a file."""
    standin = start_standin("--nodes", 4, "--token", "first=plimsoll")
    if auth:
        standin.admin("auth", {"reset": True, "tokens": [{"user": "plimsoll", **auth}]})
    path = tmp_path / f"token-{os.path.basename(standin.kubeconfig)}"
    path.write_text(in_file + "\n")
    kubeconfig = standin.edit_kubeconfig(
        str(path) + ".kubeconfig", user={"token": None, "tokenFile": str(path)}
    )
    controller = start_controller(kubeconfig, exporters, content=RULES)
    return standin, path, controller


def test_doors_that_open_late(start_standin, start_exporters, start_controller, tmp_path):
    """Forbidden, unauthorized and refused at the start: not ready and why; then they come in."""
    exporters = start_exporters(*FAST)
    reads = [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list", "watch"]},
    ]
    writes = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]}]
    parts = (start_standin, start_controller, exporters, tmp_path)
    forbidden = start_with_token(*parts, "first", token="first", rules=[])
    unpatched = start_with_token(*parts, "first", token="first", rules=reads)
    wrong = start_with_token(*parts, "wrong")
    absent = start_standin("--nodes", 4)
    absent.admin("listen", {"on": False})
    late = start_controller(absent, exporters, content=RULES)

    def said(controller, *wanted):
        def look():
            is_ready, text = controller.ready()
            assert not is_ready and all(part in text for part in wanted), text
            return True

        wait_until(look, what=f"readyz to say {wanted}")

    said(forbidden[2], "no complete list yet", "forbidden", "RBAC")
    said(wrong[2], "no complete list yet", "401")
    said(late, "no complete list yet", "onnect")
    wait_until(lambda: unpatched[0].count(verb="patch", code=403) >= 8, what="refused patches")
    said(unpatched[2], "[+] nodes", "[+] scrapes", "[-] writes", "forbidden", "RBAC")
    assert all_readings(unpatched[0], KEY) == {}
    began_unix = time.time()
    absent.admin("listen", {"on": True})
    wrong[1].write_text("first")
    for standin, _, _ in (forbidden, unpatched):
        user = {"token": "first", "user": "plimsoll", "rules": reads + writes}
        standin.admin("auth", {"reset": True, "tokens": [user]})
    took_s = {}
    doors = {"absent": absent, "unpatched": unpatched[0], "wrong": wrong[0]}
    doors["forbidden"] = forbidden[0]
    for what, standin in doors.items():
        wait_until(lambda s=standin: len(all_readings(s, KEY)) == 4, 60, f"windows: {what}")
        took_s[what] = round(time.time() - began_unix, 1)
    print(f"seconds until every node was written, once the door was open: {took_s}")
    unpatched[2].wait_ready()
    for what, controller in (("forbidden", forbidden[2]), ("wrong", wrong[2]), ("absent", late)):
        controller.wait_ready()
        told = log_lines(controller.process, "list/watch failed, retrying")
        # One line for each resource: nodes and pods.
        assert 1 <= len(told) <= 4, (what, told)
    began = log_lines(unpatched[2].process, "node is failing")
    assert len(began) == 4
    assert all("what=patch" in line and "reason=forbidden" in line for line in began)
    ended = "node recovered"
    wait_until(lambda: len(log_lines(unpatched[2].process, ended)) == 4, what="all to be told well")
    for standin, _, _ in (forbidden, wrong):
        denied = [row for row in requests_since(standin, 0) if row["code"] in (401, 403)]
        took = denied[-1]["at_unix"] - denied[0]["at_unix"]
        print(f"{len(denied)} denied requests in {took:.1f} s")
        # Two resources, and each try is two requests when the token may be a new one. The first
        # pauses are random and below 0.8 s; together with the later ones, they last seconds.
        assert len(denied) <= 2 * 2 * (4 + took)
