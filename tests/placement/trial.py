#!/usr/bin/python3
"""Whether a trial is right: writes trials.md, and what follows from it into docs/kubectl/trial.md.

    trial.py BUILD    a quarter of an hour on two processors; one that was stopped goes on

In each situation, the default scheduler places the pods while the product's trial watches
(algorithm_trial.c). What it predicts stands next to what becomes of the same pods when kube-scheduler
really asks the estimate. The width of the intervals (trial_blocks.c) was chosen by other draws. It needs every
recording (traces.md).
"""

import dataclasses
import math
import pathlib
import sys

import page
import runs
import tables
import traces

PAGE = page.experiments.TOP / "docs" / "kubectl" / "trial.md"
RESULTS = runs.HERE / "trials.md"
PLACE = "trial"
PREDICTOR = "trial"
NEAR = 0.15
# Below so many hot node-minutes there is nothing to predict.
LEAST_HOT_MINUTES = 5


@dataclasses.dataclass(frozen=True)
class Situation:
    name: str
    rows: dict

    def sum_of(self, algorithm, metric):
        return sum(self.rows[algorithm].get(metric, [math.nan]))

    @property
    def hot(self):
        """The trial places no pod: these are the default scheduler's."""
        return self.sum_of(PREDICTOR, "hotNodeMinutes")

    @property
    def reached(self):
        return self.sum_of(runs.OURS, "hotNodeMinutes") / self.hot

    @property
    def predicted(self):
        return self.sum_of(PREDICTOR, "trialRatio")

    @property
    def interval(self):
        return self.sum_of(PREDICTOR, "trialLow"), self.sum_of(PREDICTOR, "trialHigh")

    @property
    def says_something(self):
        return not math.isnan(self.predicted)

    @property
    def is_hit(self):
        low, high = (round(end, 2) for end in self.interval)
        return low <= round(self.reached, 2) <= high

    @property
    def is_near(self):
        return abs(self.predicted - self.reached) <= NEAR

    @property
    def says_gain(self):
        return self.interval[1] < 1


def row(one):
    low, high = one.interval
    said = f"{one.predicted:.2f} ({low:.2f} to {high:.2f})" if one.says_something else "too early"
    marks = ["" if one.is_hit else "outside", "" if one.is_near else "far"]
    return [one.name, f"{one.hot:.0f}", f"{one.reached:.2f}", said, " ".join(filter(None, marks))]


def table(situations):
    heads = ["situation", "hot node-minutes", "left, reached", "left, predicted", ""]
    return tables.table(heads, [row(one) for one in situations])


def verdict(situations, cold):
    said = [one for one in situations if one.says_something]
    hits, near = (sum(one.is_hit for one in said), sum(one.is_near for one in said))
    wrong = [one.name for one in said if one.says_gain and one.reached >= 1]
    text = (
        f"In a [simulation](../placement.md) of {len(said)} situations, the interval has what is then reached in "
        f"{hits} ({100 * hits / len(said):.0f}%), and the prediction is within {NEAR} of it in {near} "
        f"({100 * near / len(said):.0f}%)."
    )
    missed = [one.name for one in said if not one.is_hit]
    if missed:
        text += f" It misses in {tables.listed(missed)}."
    if wrong:
        text += f" It says that there is a gain, and there is none, in {tables.listed(wrong)}."
    else:
        text += " Wherever it says that there is a gain, there is one."
    if cold:
        names = tables.listed([one.name for one in cold])
        text += f" In {names}, nodes are hot for less than {LEAST_HOT_MINUTES} minutes: there is nothing to predict."
    text += (
        " Of each situation there is one draw. Nothing was chosen by these draws."
        " Hot node-minutes are counted each second, and so is what is left of them; the trial has readings alone."
    )
    return tables.paragraph(text)


def measure(build):
    wanted = [runs.Run(path, runs.TRIAL, (PREDICTOR, runs.OURS)) for path in runs.scenarios()]
    found = runs.simulate_all(build, wanted, build / "placement-runs")
    return [Situation(run.scenario, rows) for run, rows in zip(wanted, found, strict=True)]


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    lacking = [traces.missing(path) for path in runs.scenarios() if traces.missing(path)]
    if lacking:
        print(f"  {lacking[0]}", file=sys.stderr)
        return 1
    everything = measure(pathlib.Path(sys.argv[1]).resolve())
    cold = [one for one in everything if one.hot < LEAST_HOT_MINUTES]
    situations = [one for one in everything if one not in cold]
    page.write_page(PAGE, everything, {PLACE: lambda _: verdict(situations, cold)})
    page.write_page(RESULTS, everything, {PLACE: lambda _: table(situations)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
