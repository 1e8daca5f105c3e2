#!/usr/bin/python3
"""Runs every scenario, and writes the tables and plots of docs/placement.md from what comes out.

    page.py BUILD              some minutes on two processors
    page.py BUILD --quick      one seed of everything, to try this script

A table of the page stands between `<!-- placement: NAME -->` and `<!-- end -->`; all else there is
written by hand.
"""

import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

import gates
import plot
import traces

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
PAGE = TOP / "docs" / "placement.md"
PLOTS = TOP / "docs" / "placement"
PEERS = [
    *("default", "crane", "koordinator", "koordinator-0", "tlp-ms", "tlp-ms-tuned", "lvrb"),
    *("estimate", "workloads", "oracle"),
]
PARTS = [
    *("no-compensation", "constant-factor", "one-factor", "no-own-load", "own-load-once"),
    *("no-early", "no-reservations", "best-alone", "two-replicas", "last-for-ever"),
]
# What a part is worth, over situations in which it could matter: scenario and watch lag.
PART_RUNS = [
    *(("steadyP", "0"), ("manyown", "0"), ("rollout", "0"), ("burst100", "0"), ("bursts", "0")),
    *(("loop", "0"), ("batch", "0"), ("noreq", "0"), ("stale", "0"), ("churn-spikes", "0")),
    *(("clumps", "0"), ("clumps", "0.2"), ("clumps", "1")),
]
SEEDS, PART_SEEDS, LONG_SEEDS = 6, 3, 3
LONG = {"diurnal", "drift", "allhot", "batch", "leaks"}  # hours, or pods by the thousand
BEYOND_STUDY = {
    *("autoscaling", "drift", "sampled", "speeds"),
    *("leaks", "loop-restart", "reclaimed", "replicas", "restart", "zones"),
    *("replay-bitbrains", "replay-google", "replay-planetlab", "replay-planetlab-90m"),
    "replay-surf",
}
PLACE = r"(<!-- placement: {} -->\n).*?(<!-- end -->)"


def simulate(build, scenario, seeds, algorithms, lag="0"):
    """{algorithm: its row of the simulator's JSON}"""
    argv = [build / "tests" / "placement" / "placement", "-o", "json", "--seeds", str(seeds)]
    path = HERE / "scenarios" / f"{scenario}.yaml"
    argv += ["--scenario", path, *traces.arguments(path, build), "--lag", lag]
    argv += [word for name in algorithms for word in ("--algorithm", name)]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return {row["algorithm"]: row for row in json.loads(said)}


def measure(build, is_quick):
    """Rows of every scenario's peers, and of every run of the parts."""
    paths = sorted((HERE / "scenarios").glob("*.yaml"))
    for path in filter(traces.missing, paths):
        print(f"  left out {path.stem}: {traces.missing(path)}", flush=True)
    names = [path.stem for path in paths if not traces.missing(path)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        peers, parts = {}, {}
        for name in sorted(names, key=lambda name: name not in LONG):
            seeds = LONG_SEEDS if name in LONG else SEEDS
            seeds = 1 if is_quick else seeds
            peers[name] = pool.submit(simulate, build, name, seeds, PEERS)
        for name, lag in PART_RUNS:
            seeds = 1 if is_quick else PART_SEEDS
            wanted = ["default", "estimate", *PARTS]
            parts[name, lag] = pool.submit(simulate, build, name, seeds, wanted, lag)
        for name in names:
            peers[name].add_done_callback(lambda _, name=name: print(f"  {name}", flush=True))
        peers = {name: peers[name].result() for name in names}
        return peers, {key: run.result() for key, run in parts.items()}


def relative(rows, scenario, algorithm):
    """(what it leaves of default's hot node-minutes, standard error)"""
    measured = rows[algorithm][gates.metric_of(scenario)]
    return measured.get("relative", 1.0), measured.get("relativeError", 0.0)


def geometric_mean(ratios):
    return math.exp(sum(math.log(max(ratio, gates.LEAST_RATIO)) for ratio in ratios) / len(ratios))


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def result_table(peers):
    rows = []
    for name, row in peers.items():
        jams = {
            peer: row[peer]["pendingPods"]["mean"] > row["default"]["pendingPods"]["mean"] + 10
            for peer in PEERS
        }
        metric = gates.metric_of(name)
        minutes = metric if metric.endswith("NodeMinutes") else "hotNodeMinutes"
        cells = [name, f"{row['default'][minutes]['mean']:,.0f}"]
        for peer in PEERS[1:]:
            ratio, error = relative(row, name, peer)
            text = f"{ratio:.2f} ± {error:.2f}" + (" (jam)" if jams[peer] else "")
            cells.append(f"**{text}**" if peer == "estimate" else text)
        rows.append(cells)
    for title, names in (
        ("geometric mean", set(peers)),
        ("of those in the study", set(peers) - BEYOND_STUDY),
    ):
        means = [
            geometric_mean([relative(peers[name], name, peer)[0] for name in names])
            for peer in PEERS[1:]
        ]
        rows.append([title, "", *(f"{mean:.2f}" for mean in means)])
    return table(["scenario", "default, node-minutes", *PEERS[1:]], rows)


def figure_table(peers):
    columns = [
        ("veryHotNodeMinutes", "> 80 %, node-minutes", "{:,.0f}"),
        ("fullNodeMinutes", "memory > 90 %, node-minutes", "{:,.0f}"),
        ("throttledCoreSeconds", "throttled, CPU-seconds", "{:,.0f}"),
        ("usageStddev", "stddev", "{:.3f}"),
        ("busiestP99", "busiest node, p99", "{:.2f}"),
        ("meanUtilisation", "mean usage", "{:.3f}"),
        ("pendingPods", "pending", "{:,.0f}"),
    ]
    rows = []
    for name, row in peers.items():
        cells = [name]
        for key, _, form in columns:
            values = [form.format(row[peer][key]["mean"]) for peer in ("default", "estimate")]
            cells.append(values[0] if values[0] == values[1] else " → ".join(values))
        cells.append(f"{row['estimate']['patchesPerNodeMinute']['mean']:.2f}")
        rows.append(cells)
    return table(["scenario", *(head for _, head, _ in columns), "patches"], rows)


def part_factor(parts, part, without=None):
    """Factor on the geometric mean when the part is left out, by all seeds or all but one."""

    def mean(algorithm):
        ratios = []
        for (scenario, _), row in parts.items():
            pairs = [
                row[name][gates.metric_of(scenario)]["seeds"] for name in (algorithm, "default")
            ]
            sums = [sum(x for seed, x in enumerate(seeds) if seed != without) for seeds in pairs]
            ratios.append(sums[0] / sums[1] if sums[1] > 0 else 1.0)
        return geometric_mean(ratios)

    return mean(part) / mean("estimate")


def part_factors(parts):
    """{part: (its factor, the standard error over seeds, by leaving out one after the other)}"""
    count = len(next(iter(parts.values()))["default"]["hotNodeMinutes"]["seeds"])
    factors = {}
    for part in PARTS:
        factor = part_factor(parts, part)
        rest = (
            [part_factor(parts, part, seed) - factor for seed in range(count)] if count > 1 else []
        )
        error = math.sqrt(sum(x * x for x in rest) * (count - 1) / count)
        factors[part] = (factor, error)
    return factors


def part_table(parts):
    factors = part_factors(parts)
    heads = [name if lag == "0" else f"{name}, lag {lag} s" for name, lag in parts]
    rows = []
    for part in ["estimate", *PARTS]:
        cells = [f"{relative(row, key[0], part)[0]:.2f}" for key, row in parts.items()]
        factor, error = factors.get(part, (1.0, 0.0))
        rows.append(
            [part, *cells, f"{factor:.2f}" + (f" ± {error:.2f}" if part in factors else "")]
        )
    return table(["left out", *heads, "factor"], rows)


def replace(text, name, content):
    found = re.compile(PLACE.format(name), re.DOTALL)
    assert found.search(text), f"{PAGE}: no place for {name}"
    return found.sub(lambda match: f"{match[1]}\n{content}\n{match[2]}", text)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--quick"]):
        print(__doc__)
        return 2
    started_s = time.monotonic()
    peers, parts = measure(pathlib.Path(sys.argv[1]).resolve(), len(sys.argv) == 3)
    text = PAGE.read_text(encoding="utf-8")
    text = replace(text, "results", result_table(peers))
    text = replace(text, "figures", figure_table(peers))
    text = replace(text, "parts", part_table(parts))
    PAGE.write_text(text, encoding="utf-8")
    PLOTS.mkdir(exist_ok=True)
    shown = ["crane", "koordinator", "tlp-ms", "estimate", "oracle"]
    rows = {
        name: {peer: relative(row, name, peer) for peer in shown} for name, row in peers.items()
    }
    svg = plot.dots("Hot node-minutes relative to the default scheduler", shown, rows)
    (PLOTS / "hot.svg").write_text(svg, encoding="utf-8")
    factors = {part: factor for part, (factor, _) in part_factors(parts).items()}
    svg = plot.bars("Hot node-minutes without a part, relative to all of them", factors)
    (PLOTS / "parts.svg").write_text(svg, encoding="utf-8")
    print(f"{PAGE}, {PLOTS}: {time.monotonic() - started_s:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
