#!/usr/bin/python3
"""Holds the recommended policy to what it promises, in the simulator, relative to kube-scheduler alone.

    gates.py BUILD JUNIT    run them with BUILD's simulator, a line for each; results into JUNIT

Each is a bound on what the estimate leaves of the default scheduler's figure on the same arrivals.
Seeds are fixed, so a result changes only with the code. With PLIMSOLL_NIGHTLY=1 also the geometric
mean over all scenarios.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

import traces

HERE = pathlib.Path(__file__).resolve().parent
LEAST_RATIO = 0.01  # of a scenario in the geometric mean: 0 would hide all others

# scenario, seeds, more arguments, bounds: (metric, what may be left of default's at most)
GATES = [
    ("loop", 16, [], [("hotNodeMinutes", 0.56)]),
    ("noreq", 2, [], [("hotNodeMinutes", 0.12)]),
    ("hetero", 3, [], [("hotNodeMinutes", 0.10)]),
    ("stale", 6, [], [("hotNodeMinutes", 0.35)]),
    ("clumps", 4, ["--lag", "0.2"], [("hotNodeMinutes", 0.40)]),
    ("steady", 6, [], [("hotNodeMinutes", 0.25)]),
    ("restart", 4, [], [("hotNodeMinutes", 0.12)]),
    ("allhot", 2, [], [("throttledCoreSeconds", 0.40)]),
]
MEAN_SEEDS, MEAN_BOUND = 4, 0.30
# What counts in a scenario, if not hot node-minutes: nodes are hot at best, or it is about memory.
METRICS = {"allhot": "throttledCoreSeconds", "leaks": "fullNodeMinutes"}


def metric_of(scenario):
    return METRICS.get(scenario, "hotNodeMinutes")


def simulate(build, scenario, seeds, arguments):
    """{algorithm: its row of the simulator's JSON}"""
    argv = [build / "tests" / "placement" / "placement", "-o", "json", "--seeds", str(seeds)]
    path = HERE / "scenarios" / f"{scenario}.yaml"
    argv += ["--scenario", path, *traces.arguments(path, build)]
    argv += ["--algorithm", "default", "--algorithm", "estimate", *arguments]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return {row["algorithm"]: row for row in json.loads(said)}


class Results:
    def __init__(self):
        self.suite = xml.Element("testsuite", name="placement")
        self.failed = 0

    def add(self, name, took_s, is_held, figure):
        self.failed += not is_held
        print(f"{'ok    ' if is_held else 'FAILED'} {name}: {figure} ({took_s:.0f} s)", flush=True)
        case = xml.SubElement(
            self.suite, "testcase", classname="placement", name=name, time=f"{took_s:.2f}"
        )
        if not is_held:
            xml.SubElement(case, "failure", message=figure)


def relative(rows, metric):
    """What the estimate leaves of it, and the standard error; nothing of nothing is 1."""
    measured = rows["estimate"][metric]
    return measured.get("relative", 1.0), measured.get("relativeError", 0.0)


def hold_gates(build, results):
    for scenario, seeds, arguments, bounds in GATES:
        started_s = time.monotonic()
        rows = simulate(build, scenario, seeds, arguments)
        took_s = time.monotonic() - started_s
        for metric, bound in bounds:
            ratio, error = relative(rows, metric)
            figure = f"{ratio:.2f} +- {error:.2f} of default, at most {bound:.2f}"
            results.add(f"{scenario}.{metric}", took_s, ratio <= bound, figure)
        left = [rows[name]["pendingPods"]["mean"] for name in ("default", "estimate")]
        figure = f"{left[1]:.0f} pods, {left[0]:.0f} with default"
        results.add(f"{scenario}.pendingPods", 0, left[1] <= left[0], figure)


def hold_mean(build, results):
    started_s = time.monotonic()
    logs = []
    for path in sorted((HERE / "scenarios").glob("*.yaml")):
        if traces.missing(path):
            print(f"left out {path.stem}: {traces.missing(path)}", flush=True)
            continue
        rows = simulate(build, path.stem, MEAN_SEEDS, [])
        ratio, _ = relative(rows, metric_of(path.stem))
        logs.append(math.log(max(ratio, LEAST_RATIO)))
    mean = math.exp(sum(logs) / len(logs))
    figure = f"{mean:.2f} over {len(logs)} scenarios, at most {MEAN_BOUND:.2f}"
    results.add("geometric-mean", time.monotonic() - started_s, mean <= MEAN_BOUND, figure)


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    build, results = pathlib.Path(sys.argv[1]).resolve(), Results()
    hold_gates(build, results)
    if os.environ.get("PLIMSOLL_NIGHTLY") == "1":
        hold_mean(build, results)
    xml.ElementTree(results.suite).write(sys.argv[2])
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
