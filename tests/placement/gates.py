#!/usr/bin/python3
"""Holds the recommended policy to what docs/placement.md says of it, in the simulator.

    gates.py BUILD JUNIT       a line for each bound; results into JUNIT
    gates.py BUILD --measure   write bounds.json again, for people to review: minutes

A bound is what was measured with the gates' seeds (runs.py) and three standard errors more. Of a
scenario it is of what the estimate leaves of the default scheduler's figure, and of its error
(simulation.h); of a part, of what the whole leaves of the estimate's without it; of a peer, of what
the estimate leaves of the peer's. So a part that stops to help, or a peer that catches up, is red.

`make check` has few seeds of each, and errors that much larger; PLIMSOLL_NIGHTLY=1 has all, and the
means over all scenarios. Seeds are fixed, so a result changes only with the code.
"""

import dataclasses
import json
import math
import os
import pathlib
import sys
import time
import xml.etree.ElementTree as xml

import experiments
import fingerprint
import ratios
import runs
import traces

BOUNDS = runs.HERE / "bounds.json"
ERRORS = 3
# A difference that nobody would mind, where errors are next to nothing.
LEAST_SLACK = 0.02
QUICK_SEEDS, WHOLE_SEEDS = 3, 6
# Scenarios of which more, or less, can be had in a few seconds.
QUICK_SEEDS_OF = {
    **dict.fromkeys(("loop", "loop-restart", "burst50", "burst100", "burst200"), 12),
    **dict.fromkeys(
        ("burst-hetero", "burst-spikes", "autoscaling", "cold", "joining", "scaled"), 12
    ),
    **dict.fromkeys(("diurnal", "drift", "release", "replay-bitbrains", "replay-azure"), 2),
    **dict.fromkeys(("replay-bitbrains-august", "replay-bitbrains-august-50"), 2),
}
# What the page says is worth something, and where that shows: scenario, more arguments.
PARTS = {
    "no-compensation": ("loop", ()),
    "by-requests": ("noreq", ()),
    "no-own-load": ("burst-hetero", ()),
    "own-load-once": ("burst-hetero", ()),
    "no-reservations": ("clumps", ("--lag", "1")),
    "best-alone": ("loop", ()),
    "from-binding": ("manyown-pulls", ()),
}
PEER_SCENARIOS = ("loop", "burst-hetero", "burst100", "autoscaling")


@dataclasses.dataclass(frozen=True)
class Gate:
    """A figure of runs that may not be above a bound; `of` takes their ratios.Left."""

    name: str
    places: tuple  # of (scenario, more arguments)
    of: object
    is_for_all_seeds: bool = False


def path_of(scenario):
    return experiments.path_of(scenario)


def runnable():
    return [path for path in runs.scenarios() if not traces.missing(path)]


def scenario_gates():
    for path in runnable():
        place = (path.stem, ())
        metric = runs.metric_of(path.stem)
        yield Gate(f"{path.stem}.{metric}", (place,), lambda left: left.measured(runs.OURS))
        yield Gate(
            f"{path.stem}.estimateErrorPercent",
            (place,),
            lambda left: ratios.estimate_error(left, runs.OURS),
        )


def part_gates():
    for part, place in PARTS.items():
        yield Gate(
            f"{place[0]}.{runs.OURS}-of-{part}",
            (place,),
            lambda left, part=part: left.measured(runs.OURS, part),
        )


def peer_gates(build):
    places = tuple((scenario, ()) for scenario in PEER_SCENARIOS)
    for peer in runs.rivals(build):
        yield Gate(
            f"peers.estimate-of-{peer}",
            places,
            lambda *lefts, peer=peer: ratios.factor(lefts, runs.OURS, peer),
        )
    yield Gate(
        f"peers.{runs.BY_ADMISSION}-of-{runs.BASELINE}",
        places,
        lambda *lefts: ratios.factor(lefts, runs.BY_ADMISSION, runs.BASELINE),
    )


def mean_gates():
    places = tuple((path.stem, ()) for path in runnable() if not traces.needed(path))
    for name, mean in (("geometric", ratios.geometric), ("arithmetic", ratios.arithmetic)):
        yield Gate(f"{name}-mean", places, lambda *lefts, mean=mean: mean(lefts, runs.OURS), True)


def all_gates(build):
    return [*scenario_gates(), *part_gates(), *peer_gates(build), *mean_gates()]


def algorithms_at(build, place):
    """That the gates need in a scenario with such arguments."""
    names = [runs.BASELINE, runs.OURS]
    names += [part for part in PARTS if PARTS[part] == place]
    if place[0] in PEER_SCENARIOS and not place[1]:
        names += [*runs.rivals(build), runs.BY_ADMISSION]
    return tuple(dict.fromkeys(names))


def seeds_of(scenario, is_whole):
    quick = QUICK_SEEDS_OF.get(scenario, QUICK_SEEDS)
    count = max(quick, WHOLE_SEEDS) if is_whole else quick
    return runs.GATES[:count]


def measure(build, gates, is_whole):
    """{place: what was left there}"""
    places = list(dict.fromkeys(place for gate in gates for place in gate.places))
    wanted = [
        runs.Run(
            path_of(place[0]), seeds_of(place[0], is_whole), algorithms_at(build, place), place[1]
        )
        for place in places
    ]
    found = runs.simulate_all(build, wanted, has_progress=is_whole)
    return {place: ratios.Left(place[0], rows) for place, rows in zip(places, found, strict=True)}


def figure_of(gate, lefts):
    return gate.of(*(lefts[place] for place in gate.places))


# ---- Bounds


def bound_of(measured, whole, count):
    """For @count of the @whole number of seeds."""
    slack = max(ERRORS * measured.error * math.sqrt(whole / count), LEAST_SLACK)
    return round(measured.value + slack, 3)


def fewest_seeds(gate, is_whole):
    return min(len(seeds_of(scenario, is_whole)) for scenario, _ in gate.places)


def described(gate, measured):
    """What bounds.json says of a gate."""
    whole = fewest_seeds(gate, True)
    row = {"value": round(measured.value, 4), "error": round(measured.error, 4)}
    row["bound"] = bound_of(measured, whole, whole)
    if not gate.is_for_all_seeds:
        count = fewest_seeds(gate, False)
        row |= {"quickSeeds": count, "quickBound": bound_of(measured, whole, count)}
    return row


def is_idle(name, row):
    """A claim about a part or a peer that would hold without it."""
    return "-of-" in name and max(row["bound"], row["quickBound"]) >= 1


def write_bounds(build):
    gates = all_gates(build)
    lefts = measure(build, gates, True)
    bounds = {gate.name: described(gate, figure_of(gate, lefts)) for gate in gates}
    known = json.loads(BOUNDS.read_text(encoding="utf-8")) if BOUNDS.exists() else {}
    for path in filter(traces.missing, runs.scenarios()):
        print(f"kept as they were, {path.stem}: {traces.missing(path)}")
        bounds |= {name: row for name, row in known.items() if name.startswith(f"{path.stem}.")}
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in bounds.items()]
    BOUNDS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    idle = [name for name, row in bounds.items() if is_idle(name, row)]
    for name in idle:
        print(f"{name} shows nothing: {bounds[name]}")
    return 1 if idle else 0


# ---- Results


class Results:
    def __init__(self):
        self.suite = xml.Element("testsuite", name="placement")
        self.failed = 0

    def case(self, name, took_s=0.0):
        return xml.SubElement(
            self.suite, "testcase", classname="placement", name=name, time=f"{took_s:.2f}"
        )

    def add(self, name, is_held, figure, took_s=0.0):
        self.failed += not is_held
        print(f"{'ok    ' if is_held else 'FAILED'} {name}: {figure}", flush=True)
        case = self.case(name, took_s)
        if not is_held:
            xml.SubElement(case, "failure", message=figure)

    def skip(self, name, reason):
        print(f"skipped {name}: {reason}", flush=True)
        xml.SubElement(self.case(name), "skipped", message=reason)


def hold(gate, row, is_whole, lefts, results):
    measured = figure_of(gate, lefts)
    bound = row["bound" if is_whole else "quickBound"]
    figure = f"{measured.value:.3f} ± {measured.error:.3f}, at most {bound:.3f}"
    results.add(gate.name, measured.value <= bound, figure)


def hold_all(build, is_whole, results):
    """Every gate has a bound; what the default scheduler places, the estimate does too."""
    bounds = json.loads(BOUNDS.read_text(encoding="utf-8"))
    gates = [gate for gate in all_gates(build) if is_whole or not gate.is_for_all_seeds]
    started_s = time.monotonic()
    lefts = measure(build, gates, is_whole)
    results.case("simulated", time.monotonic() - started_s)
    for gate in gates:
        if gate.name in bounds:
            hold(gate, bounds[gate.name], is_whole, lefts, results)
        else:
            results.add(gate.name, False, "no bound: gates.py BUILD --measure")
    for (scenario, arguments), left in lefts.items():
        if not arguments:
            pods = [
                ratios.mean(left.rows[name]["pendingPods"]) for name in (runs.OURS, runs.BASELINE)
            ]
            figure = f"{pods[0]:.1f} pods, {pods[1]:.1f} with default"
            results.add(f"{scenario}.pendingPods", pods[0] <= pods[1], figure)
    for path in filter(traces.missing, runs.scenarios()):
        results.skip(path.stem, f"no traces: {traces.missing(path)}")


def hold_page(build, results):
    """docs/placement.md is of this code."""
    started_s = time.monotonic()
    lines = fingerprint.differences(build)
    took_s = time.monotonic() - started_s
    if lines and fingerprint.is_other_libm():
        results.skip("page", fingerprint.OTHER_LIBM)
        return
    figure = (
        f"{fingerprint.STALE}: {len(lines)} differences, such as {lines[0]}" if lines else "same"
    )
    results.add("page", not lines, figure, took_s)


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    build, results = pathlib.Path(sys.argv[1]).resolve(), Results()
    if sys.argv[2] == "--measure":
        return write_bounds(build)
    hold_page(build, results)
    hold_all(build, os.environ.get("PLIMSOLL_NIGHTLY") == "1", results)
    xml.ElementTree(results.suite).write(sys.argv[2])
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
