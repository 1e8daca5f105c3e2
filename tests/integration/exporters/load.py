"""Load over time, exactly integrable: counters and expected windows agree to the last digit.

A model is a number (constant) or an object:

    {"kind": "sine", "mean": 0.5, "amplitude": 0.3, "period_s": 600}
    {"kind": "steps", "steps": [[0, 0.2], [60, 0.8]]}     [from second, value]

Seconds count from the moment when the model was set, in the exporter's (accelerated) time.
"""

import math
from bisect import bisect_right


class Constant:
    def __init__(self, value):
        self.level = float(value)

    def value(self, _t):
        return self.level

    def integral(self, t):
        """The integral from 0 to t."""
        return self.level * t


class Sine:
    def __init__(self, mean, amplitude, period_s):
        if mean - amplitude < 0:
            raise ValueError("a sine must stay at or above 0")
        self.mean, self.amplitude = mean, amplitude
        self.omega = 2 * math.pi / period_s

    def value(self, t):
        return self.mean + self.amplitude * math.sin(self.omega * t)

    def integral(self, t):
        return self.mean * t + self.amplitude / self.omega * (1 - math.cos(self.omega * t))


class Steps:
    def __init__(self, steps):
        self.times = [float(t) for t, _ in steps]
        self.levels = [float(v) for _, v in steps]
        if self.times[0] != 0 or self.times != sorted(self.times):
            raise ValueError("steps must begin at 0 and ascend")

    def value(self, t):
        return self.levels[bisect_right(self.times, t) - 1]

    def integral(self, t):
        total = 0.0
        for i, (begin, level) in enumerate(zip(self.times, self.levels)):
            end = self.times[i + 1] if i + 1 < len(self.times) else t
            total += level * max(0.0, min(t, end) - begin)
        return total


def parse(spec):
    """A model from its JSON form."""
    if isinstance(spec, (int, float)):
        return Constant(spec)
    spec = dict(spec)
    return {"sine": Sine, "steps": Steps}[spec.pop("kind")](**spec)


class Signal:
    """One load of one target: a history of models."""

    __slots__ = ("starts", "models", "totals")

    def __init__(self, spec):
        self.starts = [0.0]
        self.models = [parse(spec)]
        self.totals = [0.0]

    def set(self, spec, at):
        model = parse(spec)
        total = self.total(at)
        self.starts.append(at)
        self.models.append(model)
        self.totals.append(total)

    def value(self, t):
        return self.models[-1].value(t - self.starts[-1])

    def total(self, t):
        """The integral from 0 to t; t may lie in the past."""
        i = len(self.starts) - 1
        while i > 0 and t < self.starts[i]:
            i -= 1
        return self.totals[i] + self.models[i].integral(t - self.starts[i])

    def mean(self, t0, t1):
        return (self.total(t1) - self.total(t0)) / (t1 - t0)
