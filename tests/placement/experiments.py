"""The runs that docs/placement.md is made of, in groups: {group: {label: rows}}.

Rows are {algorithm: {metric: its value of each seed}}, as runs.py has them. All groups use the same
seeds, so that a variant's rows stand beside those of the scenario's peers.
"""

import dataclasses
import json
import pathlib

import runs
import traces

TOP = runs.HERE.parents[1]
PARTS = (
    *("no-compensation", "constant-factor", "one-factor", "no-own-load", "own-load-once"),
    *("no-reservations", "best-alone", "two-replicas", "from-binding"),
)
# What a part is worth, over situations in which it could matter.
PART_SCENARIOS = (
    *("steadyP", "manyown", "rollout", "burst100", "burst-hetero", "bursts", "loop", "batch"),
    *("noreq", "stale", "autoscaling", "churn-spikes", "clumps", "manyown-pulls"),
)
LAG_SCENARIOS, LAGS_S = ("clumps", "burst100", "loop"), ("0", "0.2", "1")
LAG_VARIANTS = ("no-reservations", "two-replicas")
WINDOW_SCENARIOS = ("batch", "loop", "steady")
# Windows and period of the CPU means, as in a policy.
WINDOWS = ((("5m", "2m"), "3m"), (("5m",), "3m"), (("2m",), "3m"), (("5m", "2m"), "1m"))
# What plays them in clusters.
CLOSED = (runs.BASELINE, "crane", runs.OURS)
# Crane's arithmetic as tests/e2e/test_closed_loop.py plays it: without maxima.
PLAIN_CRANE = {
    "apiVersion": "scheduler.policy.crane.io/v1alpha1",
    "kind": "DynamicSchedulerPolicy",
    "spec": {
        "syncPolicy": [{"name": f"{name}_usage_avg_5m", "period": "3m"} for name in ("cpu", "mem")],
        "predicate": [
            {"name": f"{name}_usage_avg_5m", "maxLimitPecent": 0.65} for name in ("cpu", "mem")
        ],
        "priority": [{"name": f"{name}_usage_avg_5m", "weight": 1} for name in ("cpu", "mem")],
        "hotValue": [{"timeRange": "5m", "count": 5}, {"timeRange": "1m", "count": 2}],
    },
}


@dataclasses.dataclass(frozen=True)
class Experiment:
    group: str
    label: str
    run: runs.Run


def path_of(scenario):
    return runs.HERE / "scenarios" / f"{scenario}.yaml"


def of_peers(build, seeds):
    names = tuple(runs.of_kind(build, "peer", "variant"))
    for path in runs.scenarios():
        group = "recorded" if traces.needed(path) else "peers"
        if traces.missing(path):
            print(f"  left out, {path.stem}: {traces.missing(path)}", flush=True)
        else:
            yield Experiment(group, path.stem, runs.Run(path, seeds, names))


def of_variants(seeds):
    """Of these the estimate and the default scheduler are among the peers."""
    for scenario in PART_SCENARIOS:
        yield Experiment("parts", scenario, runs.Run(path_of(scenario), seeds, PARTS))


def of_lags(seeds):
    names = (runs.BASELINE, runs.OURS, *LAG_VARIANTS)
    for scenario in LAG_SCENARIOS:
        for lag_s in LAGS_S:
            run = runs.Run(path_of(scenario), seeds, names, ("--lag", lag_s))
            yield Experiment("lags", f"{scenario}, {lag_s} s", run)


def policy_with(windows, period):
    """The recommended one with other means of CPU; the first ranks and limits."""
    text = (TOP / "policy" / "policy.yaml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if windows[1:] or "cpu_usage_avg_2m" not in line]
    text = "\n".join([*lines, ""]).replace("cpu_usage_avg_5m", f"cpu_usage_avg_{windows[0]}")
    return text.replace("period: 3m", f"period: {period}")


def of_windows(seeds, folder):
    names = (runs.BASELINE, runs.OURS)
    for scenario in WINDOW_SCENARIOS:
        for windows, period in WINDOWS:
            policy = folder / f"placement-{'-'.join(windows)}-{period}.yaml"
            policy.write_text(policy_with(windows, period), encoding="utf-8")
            run = runs.Run(path_of(scenario), seeds, names, ("--policy", str(policy)))
            label = f"{scenario}, {' and '.join(windows)} every {period}"
            yield Experiment("windows", label, run)


def of_closed_loop(build, seeds, folder):
    policy = folder / "placement-crane.json"
    policy.write_text(json.dumps(PLAIN_CRANE), encoding="utf-8")
    names = tuple(runs.of_kind(build, "peer", "variant"))
    for path in sorted((TOP / "tests" / "e2e" / "scenarios").glob("*.yaml")):
        run = runs.Run(path, seeds, names, ("--crane-policy", str(policy)))
        yield Experiment("closed", path.stem, run)
        played = dataclasses.replace(run, seeds=runs.TUNING[:1], algorithms=CLOSED)
        yield Experiment("played", path.stem, played)


def with_peers(groups):
    """Variants beside what they are variants of."""
    for label, rows in groups["parts"].items():
        groups["parts"][label] = {**groups["peers"][label], **rows}
    return groups


def measure(build, seeds):
    """All of them, and what they were measured with."""
    folder = pathlib.Path(build)
    experiments = [
        *of_peers(build, seeds),
        *of_variants(seeds),
        *of_lags(seeds),
        *of_windows(seeds, folder),
        *of_closed_loop(build, seeds, folder),
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
        "groups": with_peers(groups),
    }
