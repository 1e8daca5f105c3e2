#!/usr/bin/python3
"""The decisions again, in another language, to record what the programs must answer.

Filter, score and hot value as the policy's description has them (docs/policy.md), written from that and
not from policy/*.c. test_harness_reference_policy.py shows on crane's own answers that this is right.

    reference_policy.py

It writes its answers into tests/data/policy-verdicts.jsonl, for the policies, nodes and calls that are
there.
"""

import fnmatch
import json
import math
import pathlib
import re
from datetime import datetime, timezone

VERDICTS = pathlib.Path(__file__).resolve().parents[1] / "data" / "policy-verdicts.jsonl"
API_VERSION = "scheduler.policy.crane.io/v1alpha1"
KIND = "DynamicSchedulerPolicy"
HOT_VALUE = "node_hot_value"
GRACE_MS = 5 * 60 * 1000
VALUE_MAX = 1e9  # more counts as this

# -- the rules ------------------------------------------------------------------------------------

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
TIMESTAMP = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?Z")
DURATION_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|ms|s|m|h)")
UNIT_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1000, "m": 60000, "h": 3600000}


def timestamp_ms(text):
    """Milliseconds since the epoch, or None. Finer digits are dropped."""
    match = TIMESTAMP.fullmatch(text)
    if not match:
        return None
    try:
        at = datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    if match[1].endswith("60") or at.second > 59:  # strptime knows leap seconds
        return None
    return round(at.timestamp()) * 1000 + int(((match[2] or "") + "000")[:3])


def duration_ms(text):
    """A Go duration, which the policies here always have right."""
    if text == "0":
        return 0
    parts = DURATION_PART.findall(text)
    assert "".join(number + unit for number, unit in parts) == text, text
    return round(sum(float(number) * UNIT_MS[unit] for number, unit in parts))


def usable(text, period_ms, now_ms):
    """The number in an annotation, or None when it may not be used."""
    if text is None or text.count(",") != 1:
        return None
    number, stamp = text.split(",")
    if not NUMBER.fullmatch(number):
        return None
    value = float(number)
    if not math.isfinite(value) or value < 0:
        return None
    at_ms = timestamp_ms(stamp)
    if at_ms is None or now_ms >= at_ms + period_ms + GRACE_MS:
        return None
    return min(value, VALUE_MAX)


def limits_of(entries):
    """[(metric, limit, whether what is above it is ranked last)] of a list of predicates."""
    return [(p["name"], limit_ratio(p), p.get("overLimit") == "last") for p in entries or []]


def limit_ratio(entry):
    limit = entry["maxLimitPecent" if "maxLimitPecent" in entry else "maxLimitPercent"]
    return limit / 100 if limit > 1 else limit


class Policy:
    """A policy's spec, as it stands in the file."""

    def __init__(self, spec):
        self.periods_ms = {
            entry["name"]: duration_ms(entry["period"]) for entry in spec.get("syncPolicy") or []
        }
        self.predicates = limits_of(spec.get("predicate"))
        self.priorities = [
            (p["name"], p["weight"], p.get("scale") == "relative", p.get("target"))
            for p in spec.get("priority") or []
        ]
        self.hot_values = [
            (duration_ms(p["timeRange"]), p["count"]) for p in spec.get("hotValue") or []
        ]
        self.scoring = (spec.get("extender") or {}).get("scoring") or "absolute"
        self.rules = [
            (rule["match"], rule.get("exempt", False), limits_of(rule.get("limits")))
            for rule in spec.get("rules") or []
        ]
        # A pool is a policy with other lists.
        self.pools = [
            (pool["nodeSelector"], Policy({**spec, **pool, "pools": []}))
            for pool in spec.get("pools") or []
        ]

    def of(self, labels):
        """The policy that applies to a node with these labels."""
        for selector, policy in self.pools:
            if selector.items() <= labels.items():
                return policy
        return self

    def usage(self, name, annotations, now_ms):
        return usable(annotations.get(name), self.periods_ms[name], now_ms)

    def limits_for(self, pod):
        """The limits that apply to a Pod on a node: no pod is one that no rule matches."""
        owners = pod["metadata"].get("ownerReferences", []) if pod else []
        if any(owner["kind"] == "DaemonSet" for owner in owners):
            return []
        for match, is_exempt, limits in self.rules if pod else ():
            if matches(match, pod):
                return [] if is_exempt else self.predicates + limits
        return self.predicates

    def rejected_by(self, annotations, now_ms, pod=None):
        """The name of the first limit that rejects the node, or ""."""
        return self._over(annotations, now_ms, pod, False)

    def last_by(self, annotations, now_ms, pod=None):
        """The same of those with overLimit: last, on a node that none rejects."""
        if self.rejected_by(annotations, now_ms, pod):
            return ""
        return self._over(annotations, now_ms, pod, True)

    def _over(self, annotations, now_ms, pod, wants_last):
        for name, limit, is_last in self.limits_for(pod):
            if limit == 0 or is_last != wants_last:
                continue
            usage = self.usage(name, annotations, now_ms)
            if usage is not None and usage > limit:
                return name
        return ""

    def largest(self, candidates, now_ms):
        """What scale: relative measures by, from the annotations of a call's candidates."""
        return {
            name: max((self.usage(name, a, now_ms) or 0.0 for a in candidates), default=0.0)
            for name, _, is_relative, _ in self.priorities
            if is_relative
        }

    def score100(self, annotations, now_ms, largest):
        if not self.priorities:
            return 0
        free = weights = 0.0
        for name, weight, is_relative, target in self.priorities:
            weights += weight
            usage = self.usage(name, annotations, now_ms)
            if usage is None:
                continue
            if is_relative:
                usage /= max(usage, largest[name]) or 1.0
            worth = packed(usage, target) if target else 1.0 - usage
            free += worth * weight * 100.0
        hot = usable(annotations.get(HOT_VALUE), 0, now_ms) or 0.0
        return min(max(trunc(free / weights) - trunc(10.0 * hot), 0), 100)

    def hot(self, bindings_ms, now_ms):
        """The hot value of a node that was given pods at these times."""
        return sum(
            sum(now_ms - range_ms < at_ms for at_ms in bindings_ms) // count
            for range_ms, count in self.hot_values
        )


def reply(policy, nodes, asked, now_ms, pod=None, labels=None):
    """({rejected node: metric}, {node: score}) for a scheduler that asks for these nodes.

    `nodes` has the annotations of those that are known, `labels` the labels of some. Scores are of
    all that are asked for, as if none had been rejected.
    """
    rules = {name: policy.of((labels or {}).get(name, {})) for name in nodes}
    known = [name for name in asked if name in nodes]
    rejected = {n: rules[n].rejected_by(nodes[n], now_ms, pod) for n in known}
    last = {n for n in known if rules[n].last_by(nodes[n], now_ms, pod)}
    last = last if len(last) < len(asked) else set()
    readings = [nodes[name] for name in known]
    largest = {of: of.largest(readings, now_ms) for of in rules.values()}
    others = [name for name in asked if name not in last]
    points = [
        rules[n].score100(nodes[n], now_ms, largest[rules[n]]) if n in nodes else 0 for n in others
    ]
    scores = spread10(points) if policy.scoring == "spread" else map(score10, points)
    wanted = dict.fromkeys(asked, 0)
    wanted |= {n: max(score, 1) if last else score for n, score in zip(others, scores)}
    return {n: by for n, by in rejected.items() if by}, wanted


def matches(match, pod):
    """Does this Pod meet all conditions of a rule?"""
    metadata, spec = pod["metadata"], pod.get("spec", {})
    patterns = match.get("namespaces", ["*"])
    return (
        any(fnmatch.fnmatchcase(metadata["namespace"], pattern) for pattern in patterns)
        and match.get("labels", {}).items() <= metadata.get("labels", {}).items()
        and match.get("priorityClass", "") in ("", spec.get("priorityClassName"))
        and spec.get("priority", 0) < match.get("priorityBelow", math.inf)
    )


def packed(usage, target):
    """What a usage is worth when nodes are filled up to a target."""
    if usage <= target:
        return (1.0 - target) * usage / target + target
    return target * (1.0 - usage) / (1.0 - target)


def trunc(points):
    """Toward zero. Infinity stays far away, and infinity less infinity is worth nothing."""
    if math.isnan(points):
        return 0
    return math.trunc(min(max(points, -1e9), 1e9))


def score10(score100):
    """0 to 10 by the nearest, halves up."""
    return (score100 + 5) // 10


def spread10(scores100):
    """The same for the candidates of one call, stretched from the worst to the best."""
    worst, best = min(scores100), max(scores100)
    if worst == best:
        return [10] * len(scores100)
    return [((s - worst) * 20 + best - worst) // (2 * (best - worst)) for s in scores100]


# -- what is recorded -----------------------------------------------------------------------------


def cases():
    """The recorded ones: each a policy's `spec`, `nodes` with annotations and labels, a clock, and the
    scheduler's `calls`."""
    with VERDICTS.open(encoding="utf-8") as lines:
        return list(map(json.loads, lines))


def answered(case):
    """The case, with the answer in each call."""
    now_ms = timestamp_ms(case["now"])
    annotations, labels = (
        {name: node[what] for name, node in case["nodes"].items()}
        for what in ("annotations", "labels")
    )
    policy = Policy(case["spec"])

    def answer(call):
        names = list(dict.fromkeys(call["names"]))
        rejected, scores = reply(policy, annotations, names, now_ms, call["pod"], labels)
        of = {name: policy.of(labels[name]) for name in names if name in annotations}
        readings = [annotations[name] for name in of]
        score100 = {
            name: own.score100(annotations[name], now_ms, own.largest(readings, now_ms))
            for name, own in of.items()
        }
        return {**call, "rejected": rejected, "scores": scores, "score100": score100}

    return {**case, "calls": [answer(call) for call in case["calls"]]}


def main():
    lines = [json.dumps(answered(case)) + "\n" for case in cases()]
    VERDICTS.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
