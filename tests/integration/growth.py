"""Whether what a program takes grows."""

import statistics
from typing import NamedTuple

DAY = 24  # samples
WARM_DAYS = 2  # caches fill: of decisions, of allocators
# At most so much more a day, and so much in all. The number of idle connections varies.
KIB_A_DAY, KIB_IN_ALL = 64, 384
DESCRIPTORS_A_DAY, DESCRIPTORS_IN_ALL = 0.6, 6
LINES_A_DAY, LINES_IN_ALL = 2, 20
BOUNDS = {
    "rss_kib": (KIB_A_DAY, KIB_IN_ALL),
    "descriptors": (DESCRIPTORS_A_DAY, DESCRIPTORS_IN_ALL),
    "threads": (0, 0),
    "log_lines": (LINES_A_DAY, LINES_IN_ALL),
}


class Growth(NamedTuple):
    """From the first day's median to the last's, and a day: the slope of the line through all
    samples by least squares."""

    first: float
    last: float
    a_day: float

    def is_flat(self, measure):
        a_day, in_all = BOUNDS[measure]
        return self.a_day <= a_day and self.last - self.first <= in_all


def growth(samples, per_day=DAY):
    """Of whole days, at least two."""
    assert len(samples) >= 2 * per_day and len(samples) % per_day == 0
    first = statistics.median(samples[:per_day])
    last = statistics.median(samples[-per_day:])
    slope = statistics.linear_regression(range(len(samples)), samples).slope
    return Growth(first, last, slope * per_day)


def lines_a_day(counts):
    """Of how many lines there were at the end of each hour."""
    ends = [0, *counts[DAY - 1 :: DAY]]
    return [end - begin for begin, end in zip(ends, ends[1:])]
