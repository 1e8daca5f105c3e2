"""What the tests of plimsoll-controller share: policies, the running program, annotations.

Time is real in these tests, so policies have periods of seconds, and exporters count several
seconds in one (`--speed`) so that counters of 10 ms resolution are exact enough.
"""

import calendar
import re
import time
from typing import NamedTuple

from harness import Pages, wait_until
from policies import CPU, IDLE, MEM, policy_object, write_policy

AGENT = "plimsoll-controller"
SCRAPE_S = 1
# Lease times of a fifth of the defaults.
LEASE_S = 3
LEASE = (
    "--leader-elect=true",
    f"--leader-elect-lease-duration={LEASE_S}s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=300ms",
)
CPU_AND_MEM = {CPU: "2s", MEM: "2s"}


def policy(metrics=None, *lists, **more):
    """As policy_object(); means of cpu and memory when no {metric: period} is given."""
    return policy_object(metrics or CPU_AND_MEM, *lists, **more)


def exporter_url(port):
    """Of exporters that listen on this port of every node."""
    return f"http://{{address}}:{port}/metrics"


def write_sources(path, *sources, port=None, interval=f"{SCRAPE_S}s"):
    """A file for --sources. node_exporters listen on `port`, if they do not say where."""
    full = []
    for source in sources:
        where = {"url": exporter_url(port)} if port and source["kind"] == "node-exporter" else {}
        full.append({"interval": interval, **where, **source})
    return write_policy(path, {"sources": full})


class Reading(NamedTuple):
    """One annotation."""

    value: float
    at_unix: int


ANNOTATION = re.compile(r"(\d+\.\d{5}),(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")
HOT_VALUE = re.compile(r"(\d+),(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")


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


def wait_values(standin, key, expected, apart=2e-5, timeout_s=40):
    """Wait until these nodes, and no others, carry these values."""

    def stand():
        found = {name: r.value for name, r in all_readings(standin, key).items()}
        assert found.keys() == expected.keys(), found
        return all(abs(found[name] - value) <= apart for name, value in expected.items())

    wait_until(stand, timeout_s, f"{key} of {expected}")


def patched(row):
    """The annotations of one row of standin.patches(), except for the notes on peaks' times, which are
    there when they have changed (tests/unit/controller/track/test_peaks.c), and on how much young windows hold
    (test_controller_annotations.py)."""
    assert set(row["body"]) == {"metadata"}
    assert set(row["body"]["metadata"]) == {"uid", "annotations"}
    annotations = row["body"]["metadata"]["annotations"]
    notes = ("_peak", "node_covered_seconds")
    return {key: text for key, text in annotations.items() if not key.endswith(notes)}


def offered_milli(row):
    """The idle CPU that one row of standin.patches() offers; None: nothing, or it is of something else."""
    body = (
        row["body"] if isinstance(row["body"], dict) else {}
    )  # taints are changed by a JSON patch
    amount = body.get("status", {}).get("capacity", {}).get(IDLE)
    return None if amount is None else int(amount)


def lease_object(standin):
    """The Lease of the controllers, as it is stored."""
    where = {"namespace": "kube-system", "name": "plimsoll-controller"}
    return standin.admin("objects", resource="leases", **where)


def lease_renewed_unix(standin):
    text, _, fraction = lease_object(standin)["spec"]["renewTime"].rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction}")


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
