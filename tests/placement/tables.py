"""What docs/placement.md says of results, as Markdown: each function is a place of the page.

Figures stand in tables and in sentences that are made here, so that none of them grows old.
"""

import textwrap

import experiments
import ratios
import runs

NAMED_MAX = 6
FIGURES = [
    ("veryHotNodeMinutes", "> 80 %, node-minutes", "{:,.0f}"),
    ("fullNodeMinutes", "memory > 90 %, node-minutes", "{:,.0f}"),
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
        self.rivals = [
            name for name in self.peers if name not in (runs.BASELINE, runs.OURS, *runs.IDEALS)
        ]
        self.lefts = {
            group: {
                label: ratios.Left(label.partition(",")[0], rows) for label, rows in found.items()
            }
            for group, found in measured["groups"].items()
        }

    def of(self, group):
        return list(self.lefts[group].values())

    def main(self):
        """Columns of the tables."""
        return [name for name in self.peers if name != runs.BASELINE]


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


def standings(lefts, other):
    """{verdict: scenarios} of the recommended policy beside another."""
    found = {"better": [], "level": [], "worse": []}
    for left in lefts:
        found[ratios.verdict(left, runs.OURS, other)].append(left.scenario)
    return found


def counted(found, word, count):
    """ "better in 9 of 10 (`loop` and ...)", the names where they are few"""
    names = found[word]
    few = f" ({listed(names)})" if 0 < len(names) <= NAMED_MAX else ""
    return f"{word} in {len(names) or 'none'}{f' of {count}' if names else ''}{few}"


def conclusion(results, group, over):
    lefts = results.of(group)
    found = standings(lefts, runs.BASELINE)
    means = [mean(lefts, runs.OURS) for mean in (ratios.geometric, ratios.arithmetic)]
    counts = [counted(found, word, len(lefts)) for word in found]
    ideals = [
        f"{ratios.geometric(lefts, name)} for `{name}` ({results.about[name]})"
        for name in runs.IDEALS
    ]
    return paragraph(
        f"* **{over}** the recommended policy leaves **{means[0]}** of what kube-scheduler alone has "
        f"(geometric mean; arithmetic {means[1]}). It is {counts[0]}, {counts[1]}, and {counts[2]}. "
        f"What could be left at best: {', and '.join(ideals)}.",
        indent="  ",
    )


def recorded_load(results):
    return "recorded" in results.lefts


def conclusions(results):
    lefts = results.of("peers")
    text = conclusion(results, "peers", f"Over the {len(lefts)} situations below")
    if recorded_load(results):
        count = len(results.of("recorded"))
        text += conclusion(results, "recorded", f"With recorded load ({count} recordings)")
    rows = []
    for name in [*results.rivals, *results.variants, *runs.IDEALS]:
        found = standings(lefts, name)
        cells = [name, *(str(mean(lefts, name)) for mean in (ratios.geometric, ratios.arithmetic))]
        worse = f"{len(found['worse'])}" + (
            f": {listed(found['worse'])}" if 0 < len(found["worse"]) <= NAMED_MAX else ""
        )
        rows.append([*cells, f"{len(found['better'])}", f"{len(found['level'])}", worse])
    ours = [str(mean(lefts, runs.OURS)) for mean in (ratios.geometric, ratios.arithmetic)]
    heads = ["what it leaves", "geometric mean", "arithmetic mean"]
    heads += [f"estimate is {word} in" for word in ("better", "level", "worse")]
    return text + "\n" + table(heads, [[f"**{runs.OURS}**", *ours, "", "", ""], *rows])


def worth(results):
    """The README's: one figure."""
    lefts = results.of("peers")
    return paragraph(
        f"- **What it is worth.** In {len(lefts)} simulated situations nodes spend **{ratios.geometric(lefts, runs.OURS)}** "
        "(geometric mean) of the minutes above 65 % CPU that they spend under kube-scheduler alone "
        "([what one may conclude](docs/placement.md#what-one-may-conclude)).",
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
        "more than both."
    )


def schedulers(results):
    rows = [[name, results.about[name]] for name in [*results.peers, *results.variants]]
    return table(["scheduler", "what it is"], rows)


# ---- Tables


def scenarios(results):
    rows = [
        [path.stem, runs.sentence(path)]
        for path in runs.scenarios()
        if path.stem in results.lefts["peers"]
    ]
    return table(["situation", "what happens"], rows)


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
        text = str(left.measured(name)) + (" (jam)" if left.has_jam(name) else "")
        is_best = name in attainable and best_alone(left, name, attainable)
        cells.append(f"**{text}**" if is_best else text)
    return cells


def mean_rows(lefts, columns):
    return [
        [title, "", *(str(mean(lefts, name)) for name in columns)]
        for title, mean in (
            ("geometric mean", ratios.geometric),
            ("arithmetic mean", ratios.arithmetic),
        )
    ]


def result_table(results, group, columns):
    lefts = results.of(group)
    rows = [result_row(results, left, columns) for left in lefts]
    return table(
        ["situation", "default, node-minutes", *columns], [*rows, *mean_rows(lefts, columns)]
    )


def result(results):
    return result_table(results, "peers", results.main())


def variants(results):
    return result_table(results, "peers", [*results.variants, runs.OURS])


def recorded(results):
    return result_table(results, "recorded", results.main())


def figures(results):
    rows = []
    for left in [*results.of("peers"), *(results.of("recorded") if recorded_load(results) else [])]:
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
    mean = str(ratios.estimate_error_over(results.of("peers"), runs.OURS))
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
    text = f"Without {listed(helps)} it is worse by more than chance." if helps else ""
    text += f" Without {listed(harms)} it is better by more than chance." if harms else ""
    text += f" Without {listed(others)} it is level on this mean." if others else ""
    return paragraph(text.strip())


def plain_table(results, group, head, columns):
    rows = [
        [label, *(str(left.measured(name)) for name in columns)]
        for label, left in results.lefts[group].items()
    ]
    return table([head, *columns], rows)


def lags(results):
    return plain_table(results, "lags", "situation, lag", (runs.OURS, *experiments.LAG_VARIANTS))


def windows(results):
    rows = [
        [
            label,
            str(left.measured(runs.OURS)),
            f"{ratios.mean(left.rows[runs.OURS]['patchesPerNodeMinute']):.2f}",
            str(ratios.estimate_error(left, runs.OURS)),
        ]
        for label, left in results.lefts["windows"].items()
    ]
    return table(["situation, means of", "estimate", "patches", "estimate's error, %"], rows)


def closed(results):
    rows = []
    for label, left in results.lefts["closed"].items():
        played = results.lefts["played"][label]
        cells = [label]
        for algorithm in experiments.CLOSED:
            if algorithm == runs.BASELINE:
                minutes = (of.rows[algorithm]["hotNodeMinutes"] for of in (left, played))
                cells += [f"{ratios.mean(seeds):,.0f}" for seeds in minutes]
            else:
                cells += [str(left.measured(algorithm)), f"{played.ratio(algorithm):.2f}"]
        rows.append(cells)
    heads = ["default, node-minutes", "crane", "estimate"]
    columns = [word for head in heads for word in (head, "of the played")]
    return table(["simulated", *columns], rows)


def plugins(results):
    """Those that were run beside the real ones, in the scenarios that were played."""
    lefts = [results.lefts["closed"][label] for label in ("loop-small", "burst-small", "clumps")]
    names = [*results.rivals, *results.variants, runs.OURS]
    rows = [[name, *(str(left.measured(name)) for left in lefts)] for name in names]
    return table(["simulated", *(left.scenario for left in lefts)], rows)


PLACES = {
    "conclusions": conclusions,
    "method": method,
    "schedulers": schedulers,
    "situations": scenarios,
    "results": result,
    "variants": variants,
    "recorded": recorded,
    "figures": figures,
    "part-verdicts": part_verdicts,
    "parts": parts,
    "lags": lags,
    "windows": windows,
    "closed-loop": closed,
    "plugins": plugins,
}
README_PLACES = {"worth": worth}
