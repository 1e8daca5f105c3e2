"""What plimsoll-controller says of this machine agrees with /proc and /sys over the same interval.

By Debian's real prometheus-node-exporter; tests/e2e/test_node_exporter.py compares it with the newest.
measured_machine.py says how, and makes the load: network traffic on a veth pair in a network
namespace, some writing and some computing.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from measured_machine import RESOURCES

HERE = pathlib.Path(__file__).resolve().parent
ATTEMPTS = 4
# What the bounds do not know: the exporter's own rounding, and five decimals.
TOLERANCE = 0.01
# Bounds so far apart hold nothing; the machine was too busy then for a measurement.
NARROW = 0.12
# All that a machine may do without: what its kernel does not have.
NO_PSI = "the kernel has no pressure stall information"
MAY_LACK = {name: NO_PSI for name in RESOURCES if name.startswith("psi_")}
MAY_LACK["disk"] = "the kernel counts no time of any disk"


def isolated(argv):
    """In namespaces of its own. Who is not root becomes it in there, over nothing else."""
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    isolate = ["unshare", *as_root, "--net", "--mount", "--pid", "--fork", "--kill-child=KILL"]
    isolate.append("--mount-proc")  # LeakSanitizer looks for its process there
    why = subprocess.run(
        [*isolate, "true"], capture_output=True, text=True, timeout=30, check=False
    )
    if why.returncode != 0:
        pytest.skip(f"no namespaces: {why.stderr.strip()}")
    return [*isolate, *argv]


def measure(directory):
    exporter = shutil.which("prometheus-node-exporter")
    assert exporter, "apt-get install prometheus-node-exporter"
    root = os.environ.get("PLIMSOLL_BUILD_DIR")
    assert root, "set PLIMSOLL_BUILD_DIR to a build directory (make test does)"
    assert shutil.which("ip"), "apt-get install iproute2"
    controller = os.path.join(root, "controller", "plimsoll-controller")
    program = [sys.executable, str(HERE / "measured_machine.py"), controller, exporter]
    done = subprocess.run(
        isolated([*program, str(directory)]),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["net"]["ours"] == report["net_tx"]["ours"], "the busier direction"
    return report


def measure_well(make_directory):
    """Measured until every resource was so once without too much happening in between."""
    best = {}
    for _ in range(ATTEMPTS):
        for name, found in measure(make_directory()).items():
            if name not in best or width(found) < width(best[name]):
                best[name] = found
        if all(width(found) <= NARROW for found in best.values()):
            break
    return best


def width(found):
    return 0 if found["low"] is None else found["high"] - found["low"]


def check(resource, found):
    """That we say what the kernel says, or nothing where it has nothing."""
    ours, low, high = found["ours"], found["low"], found["high"]
    if low is None:
        assert ours is None and found["why"], "something is said of what is not there"
        assert resource in MAY_LACK, found["why"]
        pytest.skip(MAY_LACK[resource])
    assert ours is not None, found["why"]
    print(f"{resource}: we say {ours:.5f}, the kernel {low:.5f} to {high:.5f}")
    assert low - TOLERANCE <= ours <= high + TOLERANCE
    assert high - low <= NARROW, "the machine is too busy to measure anything on it"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    return measure_well(lambda: tmp_path_factory.mktemp("measured"))


@pytest.mark.parametrize("resource", RESOURCES)
def test_agrees_with_the_kernel(measured, resource):
    check(resource, measured[resource])


def test_there_was_something_to_measure(measured):
    assert measured["net_tx"]["ours"] > 0.02 and measured["net_rx"]["ours"] > 0.005
    assert measured["cpu"]["ours"] > 0.2 and measured["load"]["ours"] > 0
    if measured["disk"]["low"] is None or measured["disk"]["high"] == 0:
        pytest.skip("the kernel counts no time of any disk")
    assert measured["disk"]["ours"] > 0
