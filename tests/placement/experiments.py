"""The runs that docs/placement.md is made of, in groups: {group: {label: rows}}.

Rows are {algorithm: {metric: its value of each seed}}, as runs.py has them. All groups use the same
seeds, so that a variant's rows stand next to those of the scenario's peers.
"""

import dataclasses
import pathlib
import re

import runs

TOP = runs.HERE.parents[1]
# Recordings that came when the estimate was complete: nothing was chosen by them.
HELD_OUT = ("replay-azure", "replay-bitbrains-august", "replay-bitbrains-august-50")
PARTS = (
    *("no-compensation", "by-requests", "no-own-means", "no-own-load", "own-load-once"),
    *("no-reservations", "best-alone", "two-replicas", "from-binding"),
)
PART_SEEDS = 3
# What a part is worth, over situations in which it could matter.
PART_SCENARIOS = (
    *("steadyP", "manyown", "rollout", "burst100", "burst-hetero", "bursts", "loop", "batch"),
    *("noreq", "stale", "autoscaling", "churn-spikes", "clumps", "manyown-pulls"),
)
LAG_SCENARIOS, LAGS_S = ("clumps", "burst100", "loop"), ("0", "0.2", "1")
LAG_VARIANTS = ("no-reservations", "two-replicas")
# Recorded load scaled to other means of the cluster: what the scenario's own is, as a share of its CPUs.
# (replay-bitbrains would need more than the 110 pods that a node may have.)
LOAD_OF = {"replay-planetlab": 0.444, "replay-bitbrains-august": 0.693, "replay-azure": 0.45}
LOADS, LOAD_SEEDS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75), 3
LOAD_ALGORITHMS = (runs.BASELINE, "tlp-ms", runs.OURS, "oracle")
EVICTING = ("estimate+rebalance", "estimate+rebalance-ms")
EVICTING_SEEDS, LONG_S = 3, 3600


@dataclasses.dataclass(frozen=True)
class Experiment:
    group: str
    label: str
    run: runs.Run


def path_of(scenario):
    return runs.HERE / "scenarios" / f"{scenario}.yaml"


def family_of(path):
    return re.search(r"^family: (\w+)$", path.read_text(encoding="utf-8"), re.M)[1]


def of_situations(build, seeds):
    names = tuple(runs.of_kind(build, "peer", "variant"))
    for path in runs.scenarios():
        yield Experiment("situations", path.stem, runs.Run(path, seeds, names))


def of_parts(seeds):
    """The estimate and the default scheduler are in the situations."""
    for scenario in PART_SCENARIOS:
        yield Experiment("parts", scenario, runs.Run(path_of(scenario), seeds, PARTS))


def seconds(duration):
    parts = re.findall(r"([\d.]+)([hms])", duration)
    return sum(float(number) * {"h": 3600, "m": 60, "s": 1}[unit] for number, unit in parts)


def lives_long(path):
    """Whether evictions may be worth it there: some pods live for an hour on average, and it is measured for as
    long, by hot minutes."""
    text = path.read_text(encoding="utf-8")
    lives = re.findall(r"life: \{mean: (\w+)", text)
    (measured,) = re.findall(r"^measured: (\w+)$", text, re.M)
    is_measured = path.stem not in runs.METRICS and seconds(measured) >= LONG_S
    return is_measured and any(seconds(life) >= LONG_S for life in lives)


def of_evictions(seeds):
    for path in filter(lives_long, runs.scenarios()):
        yield Experiment("evictions", path.stem, runs.Run(path, seeds, EVICTING))


def of_loads(seeds, folder):
    for scenario in LOAD_OF:
        text = path_of(scenario).read_text(encoding="utf-8")
        (overcommit,) = re.findall(r"overcommit: ([\d.]+)", text)
        for load in LOADS:
            path = folder / f"placement-{scenario}-{load}.yaml"
            scaled = float(overcommit) * load / LOAD_OF[scenario]
            path.write_text(
                text.replace(f"overcommit: {overcommit}", f"overcommit: {scaled:.3f}"),
                encoding="utf-8",
            )
            run = runs.Run(path, seeds, LOAD_ALGORITHMS)
            yield Experiment("loads", f"{scenario}, {load}", run)


def of_lags(seeds):
    names = (runs.BASELINE, runs.OURS, *LAG_VARIANTS)
    for scenario in LAG_SCENARIOS:
        for lag_s in LAGS_S:
            run = runs.Run(path_of(scenario), seeds, names, ("--lag", lag_s))
            yield Experiment("lags", f"{scenario}, {lag_s} s", run)


def first_seeds(rows, count):
    return {
        name: {metric: seeds[:count] for metric, seeds in row.items()} for name, row in rows.items()
    }


def beside_situations(groups):
    """Variants, with what they are variants of and the default scheduler: of the same seeds."""
    counts = {"parts": PART_SEEDS, "evictions": EVICTING_SEEDS}
    for group, count in counts.items():
        for label, rows in groups[group].items():
            beside = first_seeds(groups["situations"][label], count)
            groups[group][label] = {**beside, **rows}
    return groups


def measure(build, seeds):
    """All of them, and what they were measured with."""
    folder = pathlib.Path(build)
    experiments = [
        *of_situations(build, seeds),
        *of_parts(seeds[:PART_SEEDS]),
        *of_evictions(seeds[:EVICTING_SEEDS]),
        *of_loads(seeds[:LOAD_SEEDS], folder),
        *of_lags(seeds[:PART_SEEDS]),
    ]
    groups = {experiment.group: {} for experiment in experiments}
    wanted = [experiment.run for experiment in experiments]
    found = runs.simulate_all(build, wanted, folder / "placement-runs")
    for experiment, rows in zip(experiments, found, strict=True):
        groups[experiment.group][experiment.label] = rows
    return {
        "seeds": list(seeds),
        "algorithms": runs.algorithms(build),
        "libm": runs.libm(),
        "families": {path.stem: family_of(path) for path in runs.scenarios()},
        "groups": beside_situations(groups),
    }
