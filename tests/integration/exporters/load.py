"""Load over time, exactly integrable: counters and expected windows agree to the last digit.

A model is a number (constant) or an object:

    {"kind": "constant", "value": 0.3}
    {"kind": "sine", "mean": 0.5, "amplitude": 0.3, "period_s": 600, "phase_s": 0}
    {"kind": "ramp", "from": 0.1, "to": 0.9, "seconds": 300}          stays at `to`
    {"kind": "steps", "steps": [[0, 0.2], [60, 0.8]], "repeat_s": 120}  [from second, value]

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
    def __init__(self, mean, amplitude, period_s, phase_s=0.0):
        if mean - amplitude < 0:
            raise ValueError("a sine must stay at or above 0")
        self.mean, self.amplitude, self.phase_s = mean, amplitude, phase_s
        self.omega = 2 * math.pi / period_s

    def value(self, t):
        return self.mean + self.amplitude * math.sin(self.omega * (t + self.phase_s))

    def integral(self, t):
        swing = math.cos(self.omega * self.phase_s) - math.cos(self.omega * (t + self.phase_s))
        return self.mean * t + self.amplitude / self.omega * swing


class Ramp:
    def __init__(self, start, end, seconds):
        self.start, self.end, self.seconds = start, end, seconds

    def value(self, t):
        share = min(1.0, t / self.seconds)
        return self.start + (self.end - self.start) * share

    def integral(self, t):
        rising = min(t, self.seconds)
        slope = (self.end - self.start) / self.seconds
        return (
            self.start * rising
            + slope * rising * rising / 2
            + self.end * max(0.0, t - self.seconds)
        )


class Steps:
    def __init__(self, steps, repeat_s=None):
        self.times = [float(t) for t, _ in steps]
        self.levels = [float(v) for _, v in steps]
        if self.times[0] != 0 or self.times != sorted(self.times):
            raise ValueError("steps must begin at 0 and ascend")
        if repeat_s is not None and repeat_s <= self.times[-1]:
            raise ValueError("repeat_s must lie beyond the last step")
        self.repeat_s = repeat_s

    def value(self, t):
        if self.repeat_s:
            t %= self.repeat_s
        return self.levels[bisect_right(self.times, t) - 1]

    def _once(self, t):
        total = 0.0
        for i, (begin, level) in enumerate(zip(self.times, self.levels)):
            end = self.times[i + 1] if i + 1 < len(self.times) else t
            total += level * max(0.0, min(t, end) - begin)
        return total

    def integral(self, t):
        if not self.repeat_s:
            return self._once(t)
        rounds, rest = divmod(t, self.repeat_s)
        return rounds * self._once(self.repeat_s) + self._once(rest)


def parse(spec):
    """A model from its JSON form."""
    if isinstance(spec, (int, float)):
        return Constant(spec)
    spec = dict(spec)
    kind = spec.pop("kind")
    if kind == "ramp":
        return Ramp(spec.pop("from"), spec.pop("to"), **spec)
    return {"constant": Constant, "sine": Sine, "steps": Steps}[kind](**spec)


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
