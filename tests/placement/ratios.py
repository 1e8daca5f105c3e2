"""What is left of a figure relative to another, with its error, over seeds.

Every algorithm meets the same pods, so what differs between two of them is compared seed by seed.
Errors are standard errors by the jackknife: the figure without one seed after the other.
"""

import dataclasses
import math

import runs

LEAST_RATIO = 0.01  # of a scenario in a geometric mean: 0 would hide all others
# Two that differ by less, or by less than so many errors, are level.
LEVEL_RATIO, LEVEL_ERRORS = 0.05, 2


@dataclasses.dataclass(frozen=True)
class Measured:
    value: float
    error: float = 0.0

    def __str__(self):
        return f"{self.value:.2f} ± {self.error:.2f}"

    def is_beyond(self, level=LEVEL_RATIO):
        """Whether it differs from 0 by more than chance, and by so much that it matters."""
        return abs(self.value) > max(level, LEVEL_ERRORS * self.error)


def jackknife(figure, count):
    """Of @figure(without), which leaves that seed out, or none of @count when it is None."""
    whole = figure(None)
    if count < 2:
        return Measured(whole)
    rest = [figure(seed) for seed in range(count)]
    mean = math.fsum(rest) / count
    squares = math.fsum((value - mean) ** 2 for value in rest)
    return Measured(whole, math.sqrt(squares * (count - 1) / count))


def total(seeds, without=None):
    return math.fsum(value for seed, value in enumerate(seeds) if seed != without)


def mean(seeds, without=None):
    return total(seeds, without) / (len(seeds) - (without is not None))


class Left:
    """What algorithms leave of the baseline's figure in one scenario."""

    def __init__(self, scenario, rows, family=""):
        self.scenario, self.rows, self.family = scenario, rows, family
        self.metric = runs.metric_of(scenario)
        self.count = len(rows[runs.BASELINE][self.metric])

    def ratio(self, algorithm, without=None, base=runs.BASELINE):
        """Nothing of nothing is 1."""
        of, by = (total(self.rows[name][self.metric], without) for name in (algorithm, base))
        if by > 0:
            return of / by
        return 1.0 if of <= 0 else math.inf

    def measured(self, algorithm, base=runs.BASELINE):
        return jackknife(lambda without: self.ratio(algorithm, without, base), self.count)

    def difference(self, one, other):
        """By how much @one leaves less than @other."""
        return jackknife(
            lambda without: self.ratio(other, without) - self.ratio(one, without), self.count
        )

    def leaves_pending(self, algorithm):
        """Pods stay pending for which the baseline has a node."""
        left = [mean(self.rows[name]["pendingPods"]) for name in (algorithm, runs.BASELINE)]
        return left[0] > left[1] + 10


def geometric_of(values):
    return math.exp(math.fsum(math.log(max(value, LEAST_RATIO)) for value in values) / len(values))


def arithmetic_of(values):
    return math.fsum(values) / len(values)


def over_scenarios(mean_of, lefts, figure):
    """@mean_of the scenarios' @figure(left, without), the same seed left out of all at once."""
    count = min(left.count for left in lefts)
    return jackknife(lambda without: mean_of([figure(left, without) for left in lefts]), count)


def geometric(lefts, algorithm):
    return over_scenarios(geometric_of, lefts, lambda left, without: left.ratio(algorithm, without))


def by_family(lefts):
    """{family: its lefts}, in the order of their names"""
    families = sorted({left.family for left in lefts})
    return {family: [left for left in lefts if left.family == family] for family in families}


def families(lefts, algorithm):
    """The geometric mean over families, each of which is the geometric mean of its scenarios."""
    groups = by_family(lefts).values()
    return jackknife(
        lambda without: geometric_of(
            [geometric_of([left.ratio(algorithm, without) for left in group]) for group in groups]
        ),
        min(left.count for left in lefts),
    )


def pooled(lefts, algorithm, metric):
    """The sum of a metric over scenarios, relative to that of the baseline; None where it has none"""
    if not sum(total(left.rows[runs.BASELINE][metric]) for left in lefts):
        return None

    def figure(without):
        sums = (
            math.fsum(total(left.rows[name][metric], without) for left in lefts)
            for name in (algorithm, runs.BASELINE)
        )
        return next(sums) / (next(sums) or math.inf)

    return jackknife(figure, min(left.count for left in lefts))


def arithmetic(lefts, algorithm):
    return over_scenarios(
        arithmetic_of, lefts, lambda left, without: left.ratio(algorithm, without)
    )


def factor(lefts, one, other):
    """The geometric mean of @one over that of @other, each scenario's ratio at least LEAST_RATIO."""

    def figure(without):
        means = [
            geometric_of([left.ratio(name, without) for left in lefts]) for name in (one, other)
        ]
        return math.log(means[0] / means[1])

    log = jackknife(figure, min(left.count for left in lefts))
    return Measured(math.exp(log.value), math.exp(log.value) * log.error)


def is_factor(measured):
    """Whether a factor differs from 1 by more than chance, and by so much that it matters."""
    log, error = math.log(measured.value), measured.error / measured.value
    return abs(log) > max(math.log(1 + LEVEL_RATIO), LEVEL_ERRORS * error)


def verdict(left, one, other):
    """How @one compares with @other: "better", "level" or "worse"."""
    difference = left.difference(one, other)
    if not difference.is_beyond():
        return "level"
    return "better" if difference.value > 0 else "worse"


def estimate_error(left, algorithm):
    """ESTIMATE_ERROR_PERCENT of a scenario."""
    seeds = left.rows[algorithm]["estimateErrorPercent"]
    return jackknife(lambda without: mean(seeds, without), left.count)


def estimate_error_over(lefts, algorithm):
    """Its geometric mean over scenarios."""
    return over_scenarios(
        geometric_of,
        lefts,
        lambda left, without: mean(left.rows[algorithm]["estimateErrorPercent"], without),
    )
