"""What docs/placement.md and results.md say of results, as Markdown: each function is a place of a page.

Figures stand in tables and in sentences that are made here, so that none of them grows old.
"""

import statistics
import textwrap

import experiments
import ratios
import runs

NAMED_MAX = 6
HELPS_RATIO, MOST_ERROR = 0.75, 0.3
REPLAY = "replay-"
FAMILIES = {
    "blind": "missing data",
    "bursts": "bursts of unknown pods",
    "capacity": "nodes that join and leave",
    "changes": "load that changes",
    "cold": "cold start and restarts",
    "full": "busy clusters",
    "jobs": "batch jobs",
    "memory": "memory",
    "nodes": "unequal nodes and zones",
    "recorded": "recorded load",
    "requests": "requests that say little",
    "rollouts": "rollouts and slow starts",
    "scaled": "autoscaled services",
    "services": "steady services",
}
# Of the others, those with the settings that suit them best.
SHOWN = ("crane", "koordinator", "koordinator-3", "koordinator-p95-3", "tlp-ms", "lvrb")
MEASURES = [
    ("hotNodeMinutes", "hot minutes"),
    ("hotCoreMinutes", "hot core-minutes"),
    ("veryHotNodeMinutes", "minutes above 80%"),
    ("throttledCoreSeconds", "throttled CPU-seconds"),
]
FIGURES = [
    ("hotCoreMinutes", "hot core-minutes", "{:,.0f}"),
    ("veryHotNodeMinutes", "> 80%, node-minutes", "{:,.0f}"),
    ("fullNodeMinutes", "memory > 90%, node-minutes", "{:,.0f}"),
    ("throttledCoreSeconds", "throttled, CPU-seconds", "{:,.0f}"),
    ("usageStddev", "stddev", "{:.3f}"),
    ("busiestP99", "busiest node, p99", "{:.2f}"),
    ("meanUtilisation", "mean usage", "{:.3f}"),
    ("pendingPods", "pending", "{:,.0f}"),
]


class Results:
    """What experiments.measure() returned."""

    def __init__(self, measured):
        self.seeds, listed_by = measured["seeds"], measured["algorithms"]
        self.about = {row["name"]: row["about"] for row in listed_by}
        self.peers = [row["name"] for row in listed_by if row["kind"] == "peer"]
        self.variants = [row["name"] for row in listed_by if row["kind"] == "variant"]
        self.evictors = [row["name"] for row in listed_by if row["kind"] == "evictor"]
        self.rivals = [
            name for name in self.peers if name not in (runs.BASELINE, runs.OURS, *runs.IDEALS)
        ]
        families = measured["families"]
        self.lefts = {
            group: {
                label: ratios.Left(name := label.partition(",")[0], rows, families.get(name))
                for label, rows in found.items()
            }
            for group, found in measured["groups"].items()
        }

    def of(self, group):
        return list(self.lefts[group].values())

    def main(self):
        """Columns of the tables."""
        return [name for name in self.peers if name != runs.BASELINE]

    def held_out(self):
        """Recordings that nothing was chosen by."""
        return [self.lefts["situations"][name] for name in experiments.HELD_OUT]

    def recorded(self):
        return [left for left in self.of("situations") if left.family == "recorded"]


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def listed(words):
    words = [f"`{word}`" for word in words]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def paragraph(text, indent=""):
    lines = textwrap.wrap(
        text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines) + "\n"


# ---- What one may conclude


def standings(lefts, other, ours=runs.OURS):
    """{verdict: scenarios} of the recommended policy, by default, compared with another."""
    found = {"better": [], "level": [], "worse": []}
    for left in lefts:
        found[ratios.verdict(left, ours, other)].append(left.scenario)
    return found


def counted(found, word, count):
    """ "better in 9 of 10 (`loop` and ...)", the names where they are few"""
    names = found[word]
    few = f" ({listed(names)})" if 0 < len(names) <= NAMED_MAX else ""
    return f"{word} in {len(names) or 'none'}{f' of {count}' if names else ''}{few}"


def is_better_in(lefts, ours):
    found = standings(lefts, runs.BASELINE, ours)
    counts = [counted(found, word, len(lefts)) for word in found if found[word] or word == "better"]
    return f"{', '.join(counts[:-1])} and {counts[-1]}" if len(counts) > 1 else counts[0]


def beside(mean, names):
    return ", ".join(f"`{name}` {mean(name)}" for name in names)


def usage_percent(left):
    """Of the cluster's CPUs, under the default scheduler."""
    return 100 * ratios.mean(left.rows[runs.BASELINE]["meanUtilisation"])


def each_unseen(results):
    """With the least busy cluster first."""
    return [
        f"**{left.measured(runs.OURS)}** ({left.scenario.removeprefix(REPLAY)}, {usage_percent(left):.0f}%)"
        for left in sorted(results.held_out(), key=usage_percent)
    ]


def all_hot(lefts, name):
    """What is left of all hot node-minutes together, where those count."""
    counted_by = [left for left in lefts if left.scenario not in runs.METRICS]
    return ratios.pooled(counted_by, name, "hotNodeMinutes")


def conclusions(results):
    lefts, unseen = results.of("situations"), results.held_out()
    count = len(ratios.by_family(lefts))
    rivals = ("koordinator-3", "koordinator-p95-3", "tlp-ms", "oracle")
    bullets = [
        f"**Recordings that nothing was tuned on**, by the cluster's mean CPU usage: {', '.join(each_unseen(results))}; "
        f"geometric mean {ratios.geometric(unseen, runs.OURS)}. Our models of others: "
        f"{beside(lambda name: ratios.geometric(unseen, name), rivals)}.",
        f"**{count} families** of situations, each counted once: **{ratios.families(lefts, runs.OURS)}**. "
        f"Our models of others: {beside(lambda name: ratios.families(lefts, name), rivals)}.",
        f"**{len(lefts)} situations**, each counted once: **{ratios.geometric(lefts, runs.OURS)}** (arithmetic "
        f"mean {ratios.arithmetic(lefts, runs.OURS)}). Compared with kube-scheduler alone, the recommended policy is "
        f"{is_better_in(lefts, runs.OURS)}.",
        f"**All hot minutes together**, so that the busiest clusters count most: {all_hot(lefts, runs.OURS)} of them are "
        f"left over the situations, {all_hot(results.recorded(), runs.OURS)} over the recordings, and "
        f"{all_hot(unseen, runs.OURS)} over the three unseen ones. There, our models of others leave "
        f"{beside(lambda name: all_hot(unseen, name), rivals)}: choosing nodes cannot save much more in busy clusters. "
        "Moving pods and right-sizing them can.",
        f"**Without an extender**, by [preferred nodes](admission.md): {ratios.families(lefts, runs.BY_ADMISSION)} over "
        f"families, {ratios.geometric(unseen, runs.BY_ADMISSION)} over these recordings. Compared with kube-scheduler "
        f"alone, it is {is_better_in(lefts, runs.BY_ADMISSION)}.",
    ]
    return "".join(paragraph(f"* {text}", indent="  ") for text in bullets)


def family_table(results):
    lefts = results.of("situations")
    columns = [*SHOWN, runs.BY_ADMISSION, runs.OURS, "oracle"]
    rows = []
    for family, group in ratios.by_family(lefts).items():
        cells = [str(ratios.geometric(group, name)) for name in columns]
        rows.append([FAMILIES[family], f"{len(group)}", *cells])
    means = [f"**{ratios.families(lefts, name)}**" for name in columns]
    return table(["family", "situations", *columns], [*rows, ["geometric mean", "", *means]])


def pooled_text(lefts, metric):
    """Nothing where the default scheduler has next to none."""
    measured = ratios.pooled(lefts, runs.OURS, metric)
    return str(measured) if measured and measured.error < MOST_ERROR else ""


def measure_table(results):
    lefts = results.of("situations")

    def row(title, group):
        return [title, *(pooled_text(group, metric) for metric, _ in MEASURES)]

    rows = [row(FAMILIES[family], group) for family, group in ratios.by_family(lefts).items()]
    return table(["family", *(head for _, head in MEASURES)], rows)


def standing_table(results):
    lefts, unseen = results.of("situations"), results.held_out()
    rows = []
    for name in [*results.rivals, *results.variants, *runs.IDEALS]:
        found = standings(lefts, name)
        worse = f"{len(found['worse'])}" + (
            f": {listed(found['worse'])}" if 0 < len(found["worse"]) <= NAMED_MAX else ""
        )
        means = (ratios.families(lefts, name), ratios.geometric(unseen, name))
        cells = [f"{len(found['better'])}", f"{len(found['level'])}", worse]
        rows.append([name, results.about[name], *map(str, means), *cells])
    ours = [str(ratios.families(lefts, runs.OURS)), str(ratios.geometric(unseen, runs.OURS))]
    heads = ["scheduler", "what it is", "over families", "unseen recordings"]
    heads += [f"estimate is {word} in" for word in ("better", "level", "worse")]
    return table(heads, [[f"**{runs.OURS}**", results.about[runs.OURS], *ours, "", "", ""], *rows])


def recorded_table(results):
    rows = []
    for left in results.recorded():
        columns = ("koordinator-3", "tlp-ms", runs.BY_ADMISSION, runs.OURS, "oracle")
        name = left.scenario.removeprefix(REPLAY)
        unseen = "yes" if left.scenario in experiments.HELD_OUT else ""
        rows.append(
            [
                name,
                unseen,
                f"{usage_percent(left):.0f}%",
                *(str(left.measured(of)) for of in columns),
            ]
        )
    return table(["recording", "unseen", "mean CPU", *columns], rows)


# ---- Curves


def at_load(results, load):
    return [results.lefts["loads"][f"{scenario}, {load}"] for scenario in experiments.LOAD_OF]


def load_curves(results):
    """{recording: {algorithm: [(mean CPU in %, what is left)]}}"""
    panels = {}
    for load in experiments.LOADS:
        for left in at_load(results, load):
            panel = panels.setdefault(left.scenario.removeprefix(REPLAY), {})
            for name in experiments.LOAD_ALGORITHMS[1:]:
                panel.setdefault(name, []).append((usage_percent(left), left.measured(name)))
    return panels


def load_table(results):
    rows = []
    for load in experiments.LOADS:
        lefts = at_load(results, load)
        means = [str(ratios.geometric(lefts, name)) for name in (runs.OURS, "tlp-ms", "oracle")]
        throttled = pooled_text(lefts, "throttledCoreSeconds")
        points = [str(left.measured(runs.OURS)) for left in lefts]
        rows.append([f"{100 * load:.0f}%", *points, *means, throttled])
    heads = ["mean", "mean of tlp-ms", "mean of oracle", "throttled"]
    names = [name.removeprefix(REPLAY) for name in experiments.LOAD_OF]
    return table(["mean CPU", *names, *heads], rows)


def load_rule(results):
    means = {
        load: ratios.geometric(at_load(results, load), runs.OURS) for load in experiments.LOADS
    }
    helps = [load for load, mean in means.items() if mean.value <= HELPS_RATIO]
    level = [load for load, mean in means.items() if mean.value >= 1 - ratios.LEVEL_RATIO]
    text = ""
    if helps:
        text = (
            f"**Up to {100 * max(helps):.0f}% mean CPU** it leaves at most {max(means[load].value for load in helps):.2f} "
            "of the hot minutes, averaged over the recordings."
        )
    if level:
        busy = [
            left
            for load in experiments.LOADS
            if load >= min(level)
            for left in at_load(results, load)
        ]
        throttled = ratios.pooled(busy, runs.OURS, "throttledCoreSeconds")
        text += (
            f" **From {100 * min(level):.0f}% on it gains nothing** in hot minutes: the more evenly such a load is spread, "
            f"the more nodes are above 65%. At {100 * max(means):.0f}% mean CPU it has {means[max(means)].value:.2f} of the "
            f"default scheduler's hot minutes. It throttles pods less even then: {throttled.value:.2f} of the CPU-seconds."
        )
    return paragraph(text.strip())


def evictions(left, name):
    """Of each seed, and how many of those are repeated."""
    row = left.rows[name]
    rates = row["evictionsPer1000PodHours"]
    again = zip(rates, row["repeatedEvictionsRatio"], strict=True)
    return ratios.mean(rates), ratios.mean([rate * ratio for rate, ratio in again])


def eviction_row(results, name):
    lefts = results.of("evictions")
    found = {left.scenario: evictions(left, name) for left in lefts}
    rates = {scenario: rate for scenario, (rate, _) in found.items()}
    worst = max(rates, key=rates.get)
    again = sum(repeated for _, repeated in found.values())
    return [
        name,
        str(ratios.geometric(lefts, name)),
        str(ratios.factor(lefts, name, runs.OURS)),
        f"{statistics.median(rates.values()):.1f}",
        f"{rates[worst]:.0f} (`{worst}`)",
        f"{100 * again / (sum(rates.values()) or 1):.0f}%",
    ]


def eviction_table(results):
    """The estimate by itself, and with rebalance."""
    alone = [runs.OURS, str(ratios.geometric(results.of("evictions"), runs.OURS)), "", "", "", ""]
    rows = [eviction_row(results, name) for name in experiments.EVICTING]
    heads = ["scheduler", "hot minutes", "relative to the scheduler alone"]
    heads += ["evictions per 1,000 pod-hours, median", "worst", "repeated"]
    return table(heads, [alone, *rows])


def eviction_note(results):
    names = listed([left.scenario for left in results.of("evictions")])
    text = (
        f"These are geometric means over the {len(results.of('evictions'))} situations that are measured for an hour or "
        f"more, by hot minutes, and have pods that live for an hour or more on average: {names}. Each is drawn "
        f"{experiments.EVICTING_SEEDS} times."
    )
    about = [[name, results.about[name]] for name in results.evictors]
    return paragraph(text) + "\n" + table(["evictions by", "what it is"], about)


def worth(results):
    """The README's line."""
    lefts = results.of("situations")
    return paragraph(
        "- **What it is worth.** Minutes that nodes spend above 65% CPU, as a share of those with kube-scheduler alone. On "
        f"three recordings that it was not tuned on, each with its mean CPU usage: {', '.join(each_unseen(results))}; of their "
        f"hot minutes together, {all_hot(results.held_out(), runs.OURS)}. Over "
        f"{len(ratios.by_family(lefts))} families of simulated situations: **{ratios.families(lefts, runs.OURS)}**; of all "
        f"their hot minutes together, {all_hot(lefts, runs.OURS)}. "
        "[When it helps, and when it does not](docs/placement.md).",
        indent="  ",
    )


def method(results):
    page, checks = (f"{seeds[0]} to {seeds[-1]}" for seeds in (results.seeds, runs.GATES))
    return paragraph(
        f"Each situation is drawn {len(results.seeds)} times, with the seeds {page}. The bounds of `make "
        f"check` are of the seeds {checks}, and those up to {runs.TUNING[-1]} are for trying things, so "
        "nothing is judged by the draws that it was chosen by. Every scheduler meets the same draws, "
        "and two are compared draw by draw. ± is the standard error, by leaving out one draw after the "
        f"other. Two that differ by less than {ratios.LEVEL_RATIO:.2f}, or by less than "
        f"{ratios.LEVEL_ERRORS} standard errors of their difference, are called level. A figure is "
        "**bold** only where it is better than that of every other scheduler that one could use, by "
        f"more than both. Runs without a part and of lags have the first {experiments.PART_SEEDS} draws, "
        f"runs of other loads {experiments.LOAD_SEEDS}, and with evictions "
        f"{experiments.EVICTING_SEEDS}."
    )


# ---- Tables


def scenarios(results):
    rows = [
        [path.stem, FAMILIES[left.family], runs.sentence(path)]
        for path in runs.scenarios()
        for left in [results.lefts["situations"][path.stem]]
    ]
    return table(["situation", "family", "what happens"], rows)


def best_alone(left, name, names):
    """Better than all others beyond chance."""
    others = [other for other in names if other != name]
    return all(ratios.verdict(left, name, other) == "better" for other in others)


def result_row(results, left, columns):
    metric = left.metric
    minutes = metric if metric.endswith("NodeMinutes") else "hotNodeMinutes"
    cells = [left.scenario, f"{ratios.mean(left.rows[runs.BASELINE][minutes]):,.0f}"]
    attainable = [runs.BASELINE, runs.OURS, *results.rivals, *results.variants]
    for name in columns:
        text = str(left.measured(name)) + (" (pending)" if left.leaves_pending(name) else "")
        is_best = name in attainable and best_alone(left, name, attainable)
        cells.append(f"**{text}**" if is_best else text)
    return cells


def mean_rows(lefts, columns):
    return [
        [title, "", *(str(mean(lefts, name)) for name in columns)]
        for title, mean in (
            ("geometric mean over families", ratios.families),
            ("geometric mean", ratios.geometric),
            ("arithmetic mean", ratios.arithmetic),
        )
    ]


def result_table(results, columns):
    lefts = results.of("situations")
    rows = [result_row(results, left, columns) for left in lefts]
    return table(
        ["situation", "default, node-minutes", *columns], [*rows, *mean_rows(lefts, columns)]
    )


def result(results):
    return result_table(results, results.main())


def variants(results):
    return result_table(results, [*results.variants, runs.OURS])


def figures(results):
    rows = []
    for left in results.of("situations"):
        cells = [left.scenario]
        for key, _, form in FIGURES:
            values = [
                form.format(ratios.mean(left.rows[peer][key]))
                for peer in (runs.BASELINE, runs.OURS)
            ]
            cells.append(values[0] if values[0] == values[1] else " → ".join(values))
        cells.append(f"{ratios.mean(left.rows[runs.OURS]['patchesPerNodeMinute']):.2f}")
        cells.append(str(ratios.estimate_error(left, runs.OURS)))
        rows.append(cells)
    mean = str(ratios.estimate_error_over(results.of("situations"), runs.OURS))
    rows.append(["geometric mean", *[""] * (len(FIGURES) + 1), mean])
    heads = [head for _, head, _ in FIGURES]
    return table(["situation", *heads, "patches", "estimate's error, %"], rows)


def part_factors(results):
    """{part: its factor on the geometric mean when it is left out}"""
    lefts = results.of("parts")
    return {part: ratios.factor(lefts, part, runs.OURS) for part in experiments.PARTS}


def parts(results):
    lefts = results.of("parts")
    factors = part_factors(results)
    rows = []
    for name in (runs.OURS, *experiments.PARTS):
        factor = str(factors[name]) if name in factors else "1"
        is_clear = name in factors and ratios.is_factor(factors[name])
        error = ratios.estimate_error_over(lefts, name)
        cells = [f"{left.ratio(name):.2f}" for left in lefts]
        rows.append([name, *cells, f"**{factor}**" if is_clear else factor, str(error)])
    heads = [left.scenario for left in lefts]
    about = [[part, results.about[part]] for part in experiments.PARTS]
    return (
        table(["left out", *heads, "factor", "estimate's error, %"], rows)
        + "\n"
        + table(["left out", "what that is"], about)
    )


def part_verdicts(results):
    """A sentence: which are worth something."""
    factors = part_factors(results)
    clear = [part for part in experiments.PARTS if ratios.is_factor(factors[part])]
    helps = [part for part in clear if factors[part].value > 1]
    harms = [part for part in clear if factors[part].value < 1]
    others = [part for part in experiments.PARTS if part not in clear]
    found = [("Worse", helps), ("Better", harms), ("Level", others)]
    sentences = [
        f"{word}{' beyond chance' if names is not others else ''}: {listed(names)}."
        for word, names in found
        if names
    ]
    return paragraph(" ".join(sentences))


def scaled(results):
    """Every scheduler meets the same load there, and not the same pods."""
    rows = []
    for left in results.of("situations"):
        if left.family != "scaled":
            continue
        for name in (runs.BASELINE, *SHOWN, runs.OURS, "oracle"):
            cells = [left.scenario, name]
            if name == runs.BASELINE:
                cells += [
                    f"{ratios.mean(left.rows[name][metric]):,.0f}"
                    for metric in ("hotNodeMinutes", "throttledCoreSeconds")
                ]
            else:
                throttled = ratios.pooled([left], name, "throttledCoreSeconds")
                cells += [str(left.measured(name)), str(throttled or "")]
            cells += [
                f"{ratios.mean(left.rows[name][metric]):,.0f}"
                for metric in ("meanPods", "pendingPods")
            ]
            rows.append(cells)
    heads = ["hot node-minutes", "throttled CPU-seconds", "pods", "pending"]
    return table(["situation", "scheduler", *heads], rows)


def plain_table(results, group, head, columns):
    rows = [
        [label, *(str(left.measured(name)) for name in columns)]
        for label, left in results.lefts[group].items()
    ]
    return table([head, *columns], rows)


def lags(results):
    return plain_table(results, "lags", "situation, lag", (runs.OURS, *experiments.LAG_VARIANTS))


PAGE_PLACES = {
    "conclusions": conclusions,
    "recorded": recorded_table,
    "loads": load_table,
    "load-rule": load_rule,
    "families": family_table,
}
APPENDIX_PLACES = {
    "method": method,
    "situations": scenarios,
    "results": result,
    "variants": variants,
    "measures": measure_table,
    "standings": standing_table,
    "evictions": eviction_table,
    "evictions-of": eviction_note,
    "figures": figures,
    "part-verdicts": part_verdicts,
    "parts": parts,
    "lags": lags,
    "scaled": scaled,
}
README_PLACES = {"worth": worth}
