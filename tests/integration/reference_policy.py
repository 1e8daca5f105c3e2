#!/usr/bin/python3
"""The decisions once more, in another language, to hold the programs against.

Filter, score and hot value as the policy's description has them (docs/policy.md), written from that and
not from policy/*.c. test_harness_reference_policy.py shows on crane's own answers that this is right.

    reference_policy.py --triples 100000 build/extender/plimsoll-extender

It runs `PROGRAM explain` on random policies, nodes with annotations that are broken in every
way that comes to mind, and clocks, and prints every node on which the two disagree.
"""

import argparse
import dataclasses
import fnmatch
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone

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
        """The policy that holds for a node with these labels."""
        for selector, policy in self.pools:
            if selector.items() <= labels.items():
                return policy
        return self

    def usage(self, name, annotations, now_ms):
        return usable(annotations.get(name), self.periods_ms[name], now_ms)

    def limits_for(self, pod):
        """The limits that hold for a Pod on a node: no pod is one that no rule matches."""
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
    """Do all conditions of a rule hold for this Pod?"""
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


# -- random cases ---------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Case:
    """A policy, nodes and a clock: as many triples as there are nodes."""

    document: dict  # the DynamicSchedulerPolicy
    nodes: dict  # name -> annotations
    now: str
    labels: dict = dataclasses.field(default_factory=dict)  # name -> labels

    def policy_text(self):
        return json.dumps(self.document, indent=1)  # which is YAML as well

    def node_list(self):
        items = [
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": n, "annotations": a, "labels": self.labels.get(n, {})},
            }
            for n, a in self.nodes.items()
        ]
        return {"apiVersion": "v1", "kind": "List", "items": items}

    def expected(self):
        """What explain should say. The scheduler asks for no score of a rejected node: None."""
        policy, now_ms = Policy(self.document["spec"]), timestamp_ms(self.now)
        policies = {name: policy.of(self.labels.get(name, {})) for name in self.nodes}
        rejected = {n: policies[n].rejected_by(a, now_ms) for n, a in self.nodes.items()}
        candidates = [a for name, a in self.nodes.items() if not rejected[name]]
        largest = {p: p.largest(candidates, now_ms) for p in policies.values()}
        rows = [
            {
                "node": name,
                "rejectedBy": rejected[name],
                "lastBy": policies[name].last_by(annotations, now_ms),
                "score100": policies[name].score100(annotations, now_ms, largest[policies[name]]),
                "score": None,
            }
            for name, annotations in self.nodes.items()
        ]
        passing = [row for row in rows if not row["rejectedBy"]]
        last = [row for row in passing if row["lastBy"]]
        others = [row for row in passing if not row["lastBy"]]
        if last and others:
            passing = others
        if policy.scoring == "absolute":
            for row in passing:
                row["score"] = score10(row["score100"])
        elif passing:
            for row, score in zip(passing, spread10([row["score100"] for row in passing])):
                row["score"] = score
        if last and others:
            for row in passing:
                row["score"] = max(row["score"], 1)
            for row in last:
                row["score"] = 0
        return rows

    def differences(self, explained):
        """Lines on which `explain -o json` (parsed) and this module disagree."""
        answers = {row["node"]: row for row in explained}
        if len(answers) != len(explained) or answers.keys() != self.nodes.keys():
            yield f"other nodes: {sorted(answers.keys() ^ self.nodes.keys())}"
            return
        for row in self.expected():
            answer = answers[row["node"]]
            for key, value in row.items():
                if value is not None and answer.get(key) != value:
                    yield (
                        f"{row['node']}: {key} is {answer.get(key)!r}, expected {value!r}; "
                        f"annotations {self.nodes[row['node']]!r}"
                    )


def stamp(at_ms, fraction=False):
    at = datetime(1970, 1, 1) + timedelta(milliseconds=at_ms)
    text = at.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{at_ms % 1000:03d}Z" if fraction else f"{text}Z"


LABELS = ({"pool": "a"}, {"pool": "b"}, {"pool": "a", "x/y": ""})
NAMESPACES = ("kube-system", "ops-1", "ops-22", "default")
CLASSES = ("batch", "system-node-critical")


class Generator:
    """Random cases; the same seed gives the same ones."""

    RESOURCES = ("cpu", "mem", "net_rx", "psi_io", "gpu")
    STATISTICS = ("avg", "max_avg", "p95", "max")
    WINDOWS = ("5m", "15m", "1h", "1d")
    NUMBERS = (
        "0",
        "-0",
        "1",
        "+0.5",
        ".25",
        "1.",
        "5e-1",
        "1E-320",
        "1e300",
        "0.65",
        "34.2",
        "100",
    )
    BROKEN = (
        "",
        ",",
        "{v}",
        "{v},",
        ",{t}",
        "{v},{t},",
        "{v},{t},x",
        "{v} ,{t}",
        " {v},{t}",
        "{v}, {t}",
        "{v},{t} ",
        "{v}\n,{t}",
        "{v},{t}\n",
        "{v}%,{t}",
        "-{v},{t}",
        "--{v},{t}",
        "{v}e,{t}",
        "{v}e9999,{t}",
        "nan,{t}",
        "NaN,{t}",
        "inf,{t}",
        "-Inf,{t}",
        "0x1p-2,{t}",
        "1_0,{t}",
        "0,{v},{t}",
        "\u0660.5,{t}",  # an Arabic zero is a digit to some
        "{v},{t}Z",
        "{v},{t}+00:00",
        "{v},2026-02-30T00:00:00Z",
        "{v},2026-07-23T24:00:00Z",
        "{v},2026-07-23T11:60:00Z",
        "{v},2026-07-23T11:25:60Z",
        "{v},2026-7-23T11:25:54Z",
        "{v},20260723T112554Z",
        "{v},99999-01-01T00:00:00Z",
        "{v},now",
        "{v};{t}",
        "{t},{v}",
    )

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def chance(self, probability):
        return self.rng.random() < probability

    def duration(self, longest_ms):
        ms = self.rng.randrange(1, longest_ms)
        form = self.rng.choice(("ms", "s", "m", "h", "mixed"))
        if form == "ms":
            return f"{ms}ms"
        if form == "mixed":
            return f"{ms // 3600000}h{ms // 60000 % 60}m{ms // 1000 % 60 + 1}s"
        return f"{ms // UNIT_MS[form] + 1}{form}"

    def limit(self):
        return self.rng.choice(
            (0, 1, 0.65, 65, 100, self.rng.random(), self.rng.uniform(1, 100), 0.34210)
        )

    def weight(self):
        return self.rng.choice(
            (
                0,
                1,
                0.1,
                0.2,
                self.rng.random(),
                self.rng.uniform(0, 10),
                10 ** self.rng.uniform(-9, 9),
            )
        )

    def scale(self):
        scale = self.rng.choice(({}, {}, {"scale": "absolute"}, {"scale": "relative"}))
        target = self.rng.choice((0.5, self.rng.uniform(0.01, 0.99), 1e-9))
        return {**scale, "target": target} if self.chance(0.2) else scale

    def entries(self, names, make):
        """A list over some of the names, in any order; sometimes absent, null or empty."""
        if self.chance(0.05):
            return self.rng.choice((None, []))
        chosen = self.rng.sample(names, self.rng.randint(0, len(names)))
        return [{"name": name, **make()} for name in chosen]

    def limits(self, names):
        return self.entries(
            names,
            lambda: {
                self.rng.choice(("maxLimitPecent", "maxLimitPercent")): self.limit(),
                **self.rng.choice(({}, {}, {"overLimit": "reject"}, {"overLimit": "last"})),
            },
        )

    def weights(self, names):
        found = self.entries(names, lambda: {"weight": self.weight(), **self.scale()})
        if found and not any(p["weight"] for p in found):
            found[0]["weight"] = 1
        return found

    def pool(self, names):
        names = self.rng.sample(names, min(len(names), 8))
        pool = {"nodeSelector": self.rng.choice(LABELS)}
        if self.chance(0.7):
            pool["predicate"] = self.limits(names) or []
        if self.chance(0.7):
            pool["priority"] = self.weights(names) or []
        return pool

    def rule(self, names):
        conditions = {
            "namespaces": self.rng.sample(("kube-system", "ops-*", "de*t", "none"), 2),
            "labels": self.rng.choice(LABELS),
            "priorityClass": self.rng.choice(CLASSES),
            "priorityBelow": self.rng.choice((-5, 0, 1, 1000)),
        }
        chosen = self.rng.sample(sorted(conditions), self.rng.choice((1, 1, 2, 4)))
        rule = {"match": {name: conditions[name] for name in chosen}}
        limits = self.limits(self.rng.sample(names, min(len(names), 8)))
        return rule | ({"limits": limits} if limits and self.chance(0.6) else {"exempt": True})

    def pod(self):
        """A pending pod, which rules may match."""
        spec = {"priority": self.rng.choice((-10, 0, 999, 1000))} if self.chance(0.7) else {}
        if self.chance(0.5):
            spec["priorityClassName"] = self.rng.choice(CLASSES)
        metadata = {
            "name": "p",
            "namespace": self.rng.choice(NAMESPACES),
            "labels": self.rng.choice(({}, *LABELS)),
            "ownerReferences": [{"kind": self.rng.choice(("DaemonSet", *("ReplicaSet",) * 9))}],
        }
        return {"metadata": metadata, "spec": spec}

    def document(self):
        metrics = [
            f"{self.rng.choice(self.RESOURCES)}_usage_{self.rng.choice(self.STATISTICS)}_{window}"
            for window in self.WINDOWS * 3
        ]
        names = sorted(set(self.rng.sample(metrics, self.rng.randint(1, len(metrics)))))
        spec = {
            "syncPolicy": [{"name": n, "period": self.duration(4 * 3600000)} for n in names],
            "predicate": self.limits(names),
            "priority": self.weights(names),
            "hotValue": [{"timeRange": self.duration(600000), "count": self.rng.randint(1, 9)}],
        }
        if self.chance(0.3):
            spec["extender"] = {"scoring": self.rng.choice(("absolute", "spread"))}
        if self.chance(0.3):
            spec["pools"] = [self.pool(names) for _ in range(self.rng.randint(0, 3))]
        if self.chance(0.7):
            spec["rules"] = [self.rule(names) for _ in range(self.rng.randint(0, 4))]
        if self.chance(0.2):
            spec["syncPolicy"].append({"name": "never_written", "period": "0"})
        if self.chance(0.2):  # where its numbers come from is nothing to decide by
            spec["metrics"] = [{"name": "gpu", "series": "x", "kind": "gauge", "capacity": 1}]
        for name in ("predicate", "priority"):
            if spec[name] is None and self.chance(0.5):
                del spec[name]
        return {"apiVersion": API_VERSION, "kind": KIND, "spec": spec}

    def number(self, limits):
        if self.chance(0.7):
            return f"{self.rng.random():.5f}"
        if limits and self.chance(0.5):
            return repr(self.rng.choice(limits) + self.rng.choice((0, 0, 1e-5, -1e-5, 1e-16)))
        return self.rng.choice(self.NUMBERS)

    def at_ms(self, period_ms, now_ms):
        """Mostly fresh; often at the very edge of being expired."""
        age_ms = self.rng.choice(
            (
                self.rng.randrange(0, period_ms + GRACE_MS),
                self.rng.randrange(0, 2 * (period_ms + GRACE_MS)),
                period_ms + GRACE_MS + self.rng.choice((-1000, -1, 0, 1, 1000)),
                -self.rng.randrange(0, 3600000),
            )
        )
        return now_ms - age_ms

    def mutate(self, text):
        """Another character at one place, or one more, or one less."""
        at = self.rng.randrange(len(text) + 1)
        inserted = self.rng.choice(("", "", *"0159+-.,eEZT: x_%\t\u00e9"))
        return text[:at] + inserted + text[at + self.rng.randrange(2) :]

    def annotation(self, period_ms, now_ms, limits):
        value = self.number(limits)
        at_ms = self.at_ms(period_ms, now_ms)
        written = stamp(at_ms, fraction=at_ms % 1000 != 0 or self.chance(0.1))
        if self.chance(0.1):
            return self.rng.choice(self.BROKEN).format(v=value, t=written)
        text = f"{value},{written}"
        return self.mutate(text) if self.chance(0.1) else text

    def annotations(self, policy, now_ms):
        limits = [limit for _, limit, _ in policy.predicates]
        found = {
            name: self.annotation(period_ms, now_ms, limits)
            for name, period_ms in policy.periods_ms.items()
            if self.chance(0.9)
        }
        if self.chance(0.5):
            found[HOT_VALUE] = self.annotation(0, now_ms, [0, 1, 2, 5, 0.19, 1e18, 1e308])
        found["example.com/unrelated"] = "x"
        return found

    def case(self, node_count=100):
        document = self.document()
        now_ms = self.rng.randrange(1700000000, 1900000000) * 1000
        if self.chance(0.5):
            now_ms += self.rng.randrange(1000)
        policy = Policy(document["spec"])
        nodes = {f"node-{i}": self.annotations(policy, now_ms) for i in range(node_count)}
        labels = {name: self.rng.choice(({}, *LABELS)) for name in nodes}
        return Case(document, nodes, stamp(now_ms, fraction=now_ms % 1000 != 0), labels)


# -- against a program ----------------------------------------------------------------------------


def explain(program, case, directory):
    """The parsed answer of `PROGRAM explain -` on a case."""
    directory = pathlib.Path(directory)
    policy = directory / "policy.yaml"
    policy.write_text(case.policy_text(), encoding="utf-8")
    argv = [program, "explain", "-", "-f", str(policy), f"--now={case.now}", "-o", "json"]
    nodes = json.dumps(case.node_list())
    done = subprocess.run(
        argv, input=nodes, capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode != 0:
        raise AssertionError(f"{argv} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def compare(program, triples, seed=0, nodes_per_case=100):
    """Lines on which a program and this module disagree, over that many random triples."""
    generator, differences, checked = Generator(seed), [], 0
    with tempfile.TemporaryDirectory() as directory:
        while checked < triples:
            case = generator.case(nodes_per_case)
            differences += case.differences(explain(program, case, directory))
            checked += len(case.nodes)
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--triples", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    differences = compare(options.program, options.triples, options.seed)
    print(*differences, sep="\n", end="\n" if differences else "")
    print(f"{options.triples} triples, {len(differences)} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
