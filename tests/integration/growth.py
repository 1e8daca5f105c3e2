"""Whether what a program takes grows."""

import statistics
from typing import NamedTuple

DAY = 24  # samples
WARM_DAYS = 2  # caches fill: of decisions, of allocators
# Of 12 MiB, 60 KiB a day and 250 KiB in all; of 85 descriptors not even one a day.
MEMORY_MAX = (0.005, 0.02)
COUNT_MAX = (0.01, 0.05)


class Growth(NamedTuple):
    """From the first day's median to the last's, and a day: the slope of the line through all
    samples by least squares, as a share of the first day's median."""

    first: float
    last: float
    a_day: float

    def is_flat(self, bounds):
        """At most so large a share a day, and in all."""
        return self.a_day <= bounds[0] and self.last <= self.first * (1 + bounds[1])


def growth(samples, per_day=DAY):
    """Of whole days, at least two."""
    assert len(samples) >= 2 * per_day and len(samples) % per_day == 0
    first = statistics.median(samples[:per_day])
    last = statistics.median(samples[-per_day:])
    slope = statistics.linear_regression(range(len(samples)), samples).slope
    return Growth(first, last, slope * per_day / first)


def lines_a_day(counts):
    """Of how many lines there were at the end of each hour."""
    ends = [0, *counts[DAY - 1 :: DAY]]
    return [end - begin for begin, end in zip(ends, ends[1:])]
