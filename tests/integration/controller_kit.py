"""What the tests of plimsoll-controller share: policies, the running program, annotations.

Time is real in these tests, so policies have periods of seconds, and exporters count several
seconds in one (`--speed`) so that counters of 10 ms resolution are exact enough.
"""

import calendar
import json
import os
import re
import time
from typing import NamedTuple

from harness import Pages, wait_until

AGENT = "plimsoll-controller"
SCRAPE_S = 1
CPU_AND_MEM = {"cpu_usage_avg_5m": "2s", "mem_usage_avg_5m": "2s"}


def policy(metrics=None, predicate=None, priority=None, hot=None):
    """A policy of {metric: period}, {metric: limit}, {metric: weight} and {timeRange: count}."""
    rows = dict(metrics or CPU_AND_MEM)
    spec = {
        "syncPolicy": [{"name": name, "period": period} for name, period in rows.items()],
        "predicate": [{"name": n, "maxLimitPecent": v} for n, v in (predicate or {}).items()],
        "priority": [{"name": n, "weight": v} for n, v in (priority or {}).items()],
        "hotValue": [{"timeRange": n, "count": v} for n, v in (hot or {}).items()],
    }
    return {
        "apiVersion": "scheduler.policy.crane.io/v1alpha1",
        "kind": "DynamicSchedulerPolicy",
        "spec": {key: value for key, value in spec.items() if value},
    }


def write_policy(path, content):
    """Put a policy (or bytes) there in one step, as an editor does."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    with open(f"{path}.new", "wb") as file:
        file.write(data)
    os.rename(f"{path}.new", path)
    return str(path)


class Reading(NamedTuple):
    """One annotation."""

    value: float
    at_unix: int


ANNOTATION = re.compile(r"(\d+\.\d{5}),(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")
HOT_VALUE = re.compile(r"(\d+),(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")


def stamp(at_unix):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_unix))


def read_annotation(text, pattern=ANNOTATION):
    """A Reading; fails unless the text is exactly as spec'd."""
    match = pattern.fullmatch(text)
    assert match, f"annotation {text!r}"
    at_unix = calendar.timegm(time.strptime(match.group(2), "%Y-%m-%dT%H:%M:%SZ"))
    return Reading(float(match.group(1)), at_unix)


def reading(standin, node, key):
    """What stands on a node; None when there is no such annotation."""
    text = standin.annotations(node).get(key)
    return None if text is None else read_annotation(text)


def all_readings(standin, key):
    """{node: Reading} of every node that has it."""
    found = {}
    for obj in standin.admin("objects", resource="nodes"):
        text = obj["metadata"].get("annotations", {}).get(key)
        if text is not None:
            found[obj["metadata"]["name"]] = read_annotation(text)
    return found


def patched(row):
    """The annotations of one row of standin.patches(), but for the notes on peaks' times, which are
    there when they have changed (test_controller_peaks.py)."""
    assert set(row["body"]) == {"metadata"} and set(row["body"]["metadata"]) == {"annotations"}
    annotations = row["body"]["metadata"]["annotations"]
    return {key: text for key, text in annotations.items() if not key.endswith("_peak")}


def lease_object(standin):
    """The Lease of the controllers, as it is stored."""
    where = {"namespace": "kube-system", "name": "plimsoll-controller"}
    return standin.admin("objects", resource="leases", **where)


def lease_renewed_unix(standin):
    text, _, fraction = lease_object(standin)["spec"]["renewTime"].rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction}")


def node_names(count, start=0):
    return [f"node-{i:04d}" for i in range(start, start + count)]


class Controller(Pages):
    """plimsoll-controller as it runs, and what it says of itself."""

    def __init__(self, process):
        self.process = process
        port = process.wait_port(r"msg=serving .*port=(\d+)")
        self.url = f"http://127.0.0.1:{port}"

    def wait_ready(self, timeout_s=30):
        wait_until(lambda: self.ready()[0], timeout_s, "the controller to be ready")


def log_lines(process, message):
    """Lines of the log with this message."""
    quoted = f'msg="{message}"' if " " in message else f"msg={message}"
    return [line for line in process.stderr().splitlines() if quoted in line]
