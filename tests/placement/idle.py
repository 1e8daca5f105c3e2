#!/usr/bin/python3
"""Simulates batch work on the CPU that services leave idle, and writes what tests/placement/results.md says of it.

    idle.py BUILD    minutes; what was simulated before is not simulated again

Each file in scenarios/idle/ has services. `placement -o idle` lays batch over them, with each of the offers
in offer.c. What is made stands between `<!-- placement: idle -->` and `<!-- end -->`, and in a plot next to
it. fingerprint.py leaves it out, as the page's other figures do not depend on it.
"""

import pathlib
import sys

import page
import plot
import ratios
import runs
import tables
import traces

PLACE = "idle"
NONE, ORACLE = "none", "oracle"
SHIPPED = "max-1h"  # the default of spec.idle
LEAST_DONE, MOST_THROTTLED = 0.5, 0.01
ERRORS = 2


def scenarios():
    return sorted((runs.HERE / "scenarios" / "idle").glob("*.yaml"))


class Situation:
    """What each offer comes to in one scenario."""

    def __init__(self, name, rows):
        self.name, self.rows = name, rows
        self.offers = [name for name in rows if name not in (NONE, ORACLE)]
        self.count = len(rows[NONE]["nodeMinutes"])

    def ratio(self, over, by):
        """Of two sums, each a list of (offer, metric, sign)."""

        def total(terms, without):
            return sum(
                sign * ratios.total(self.rows[offer][metric], without)
                for offer, metric, sign in terms
            )

        return ratios.jackknife(
            lambda without: total(over, without) / total(by, without), self.count
        )

    def done(self, offer):
        """Core-hours of batch, as a share of the oracle's."""
        metric = "batchCoreSeconds"
        return self.ratio([(offer, metric, 1)], [(ORACLE, metric, 1)])

    def throttled(self, offer):
        """What services do not get, as a share of what they use."""
        return self.ratio([(offer, "throttledCoreSeconds", 1)], [(offer, "servicesCoreSeconds", 1)])

    def caused(self, offer):
        """By batch alone."""
        metric = "throttledCoreSeconds"
        return self.ratio(
            [(offer, metric, 1), (NONE, metric, -1)], [(offer, "servicesCoreSeconds", 1)]
        )

    def hot(self, offer):
        """Share of node-time above the line."""
        return self.ratio([(offer, "hotNodeMinutes", 1)], [(offer, "nodeMinutes", 1)])

    def usage(self, offer):
        seeds = self.rows[offer]["meanUtilisation"]
        return ratios.jackknife(lambda without: ratios.mean(seeds, without), self.count)

    def is_worth_it(self, offer):
        """The criterion, by more than chance."""
        done, caused = self.done(offer), self.caused(offer)
        return (
            done.value - ERRORS * done.error >= LEAST_DONE
            and caused.value + ERRORS * caused.error <= MOST_THROTTLED
        )


def percent(measured, digits):
    text = f"{100 * measured.value:.{digits}f} ± {100 * measured.error:.{digits}f}"
    return text if text.strip("0. ±") else "0"


def row(situation, offer):
    done = str(situation.done(offer)) if offer not in (NONE, ORACLE) else ""
    is_worth_it = offer in situation.offers and situation.is_worth_it(offer)
    return [
        situation.name,
        offer,
        f"**{done}**" if is_worth_it else done,
        percent(situation.throttled(offer), 3),
        percent(situation.caused(offer), 3),
        percent(situation.hot(offer), 1),
        percent(situation.usage(offer), 1),
    ]


def table(situations):
    heads = ["services", "offer", "batch done, of the oracle's", "services throttled, % of use"]
    heads += ["by batch", "above the line, % of node-time", "mean usage, %"]
    rows = [row(situation, offer) for situation in situations for offer in situation.rows]
    return tables.table(heads, rows)


def worth_it(situations):
    """{offer: how many situations it meets the criterion in}"""
    return {
        offer: sum(situation.is_worth_it(offer) for situation in situations)
        for offer in situations[0].offers
    }


def span(situations, figure):
    values = [100 * figure(situation).value for situation in situations]
    return f"{min(values):.1f} to {max(values):.1f}%"


def costs(situations, offers):
    """What batch costs, and what it fills, with @offers and without any."""
    hot, usage = (
        [
            f"{span(situations, lambda one, name=name: figure(one, name))} with `{name}`"
            for name in offers
        ]
        for figure in (Situation.hot, Situation.usage)
    )
    return (
        " What it costs is time above the line: of all node-time "
        f"{span(situations, lambda one: one.hot(NONE))} without batch, {', '.join(hot)}. The cluster's CPU is "
        f"{span(situations, lambda one: one.usage(NONE))} busy without batch, {', '.join(usage)}."
    )


def verdict(situations):
    counts = worth_it(situations)
    always = [offer for offer, count in counts.items() if count == len(situations)]
    seldom = [f"`{offer}` in {counts[offer] or 'none'}" for offer in counts if offer not in always]
    worst = max(one.caused(offer).value for one in situations for offer in one.offers)
    text = "**The criterion does not hold**: no offer meets it in every situation."
    if always:
        text = (
            f"**The criterion holds** for {tables.listed(always)}: met in all {len(situations)} "
            "situations."
        )
    if seldom:
        text += f" It is met by {', '.join(seldom)}."
    text += f" Batch throttles services by at most {100 * worst:.3f}% of their use, whatever is offered."
    text += costs(situations, always or situations[0].offers)
    text += (
        f" There are {len(runs.IDLE)} draws of each situation, with the seeds {runs.IDLE[0]} to "
        f"{runs.IDLE[-1]}, which nothing else uses."
    )
    return tables.paragraph(text)


def drawing(situations):
    names = [NONE, *situations[0].offers, ORACLE]
    rows = {"batch done": {}}
    for one in situations:
        rows[one.name] = {name: one.done(name) for name in names}
    rows["above the line"] = {}
    for one in situations:
        rows[f"{one.name}, hot"] = {name: one.hot(name) for name in names}
    title = "core-hours of batch relative to the oracle's; share of node-time above the line"
    return plot.dots(title, rows, SHIPPED, (ORACLE,))


def measure(build):
    wanted = [runs.Run(path, runs.IDLE, (runs.OURS,), ("-o", "idle")) for path in scenarios()]
    found = runs.simulate_all(build, wanted, build / "placement-runs")
    return [
        Situation(run.scenario.removeprefix("idle-"), rows)
        for run, rows in zip(wanted, found, strict=True)
    ]


def services():
    rows = [[path.stem.removeprefix("idle-"), runs.sentence(path)] for path in scenarios()]
    return tables.table(["services", "what they are"], rows)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    lacking = [path.stem for path in scenarios() if traces.missing(path)]
    if lacking:
        print(
            f"  no traces for {', '.join(lacking)}: the page's section on idle CPU stays as it was"
        )
        return 0
    situations = measure(pathlib.Path(sys.argv[1]).resolve())
    content = "\n".join([verdict(situations), services(), table(situations)])
    text = page.replace(page.APPENDIX.read_text(encoding="utf-8"), PLACE, content)
    page.APPENDIX.write_text(text, encoding="utf-8")
    (page.APPENDIX.parent / "idle.svg").write_text(drawing(situations), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
