"""The reference implementation against crane's recorded answers and worked examples."""

import collections
import json
import pathlib

import pytest

from reference_policy import (
    API_VERSION,
    KIND,
    Case,
    Generator,
    Policy,
    duration_ms,
    score10,
    spread10,
    stamp,
    timestamp_ms,
    usable,
)

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
NOW = "2026-07-23T11:25:54Z"
NOW_MS = 1784805954000


def test_crane_verdicts():
    cases = nodes = 0
    for line in (DATA / "crane-verdicts.jsonl").read_text(encoding="utf-8").splitlines():
        recorded = json.loads(line)
        policy, now_ms = Policy(recorded), timestamp_ms(recorded["now"])
        for node in recorded["nodes"]:
            answer = (
                policy.rejected_by(node["annotations"], now_ms),
                policy.score100(node["annotations"], now_ms, {}),
            )
            assert answer == (node["rejectedBy"], node["score100"]), (recorded["now"], node)
            nodes += 1
        cases += 1
    assert (cases, nodes) == (120, 1920)


@pytest.mark.parametrize(
    "text, value",
    [
        (f"0.34210,{NOW}", 0.3421),
        (f"34.2,{NOW}", 34.2),
        (f"-0,{NOW}", 0),
        (f"+.5e-1,{NOW}", 0.05),
        ("0.5,2026-07-23T11:17:55Z", 0.5),
        ("0.5,2026-07-23T11:17:54.001Z", 0.5),
        ("0.5,2026-07-23T11:17:54Z", None),  # 3 m + 5 m ago
        ("0.5,2026-07-24T11:25:54Z", 0.5),  # ahead of the clock
        (None, None),
        ("", None),
        (f"0.5,{NOW},", None),
        (f"-0.5,{NOW}", None),
        (f"0.5 ,{NOW}", None),
        (f"nan,{NOW}", None),
        (f"1e999,{NOW}", None),
        (f"0x1,{NOW}", None),
        (f"1_0,{NOW}", None),
        (f"\u0660,{NOW}", None),
        ("0.5,2026-07-23T11:25:60Z", None),
        ("0.5,2026-02-29T11:25:54Z", None),
        ("0.5,2026-07-23 11:25:54Z", None),
        ("0.5,2026-07-23T11:25:54.Z", None),
        ("0.5,2026-07-23T11:25:54+00:00", None),
    ],
)
def test_usable(text, value):
    assert usable(text, duration_ms("3m"), NOW_MS) == value


def test_durations():
    assert duration_ms("1h30m") == 5400000
    assert duration_ms("1.5s") == 1500
    assert duration_ms("500ms") == 500
    assert duration_ms("0") == 0


def test_filter_and_score():
    policy = Policy(
        {
            "syncPolicy": [{"name": "a", "period": "3m"}, {"name": "b", "period": "3m"}],
            "predicate": [
                {"name": "a", "maxLimitPecent": 65},
                {"name": "b", "maxLimitPercent": 0},
            ],
            "priority": [{"name": "a", "weight": 3}, {"name": "b", "weight": 1}],
        }
    )

    def verdict(**values):
        annotations = {name: f"{value},{NOW}" for name, value in values.items()}
        return policy.rejected_by(annotations, NOW_MS), policy.score100(annotations, NOW_MS, {})

    assert verdict() == ("", 0)
    assert verdict(a=0.65, b=1) == ("", 26)  # 35 * 3 / 4 = 26.25
    assert verdict(a=0.66, b=0) == ("a", 50)
    assert verdict(a=0, node_hot_value=2) == ("", 55)
    assert verdict(a=0, node_hot_value=1e308) == ("", 0)
    assert verdict(a=1e308, b=0) == ("a", 0)
    assert Policy({"syncPolicy": []}).score100({}, NOW_MS, {}) == 0


def test_rules():
    def limit(name, ratio, **more):
        return {"name": name, "maxLimitPercent": ratio, **more}

    policy = Policy(
        {
            "syncPolicy": [{"name": "a", "period": "3m"}, {"name": "b", "period": "3m"}],
            "predicate": [limit("a", 0.8)],
            "rules": [
                {"match": {"namespaces": ["kube-system", "ops-*"]}, "exempt": True},
                {
                    "match": {"labels": {"tier": "batch"}, "priorityBelow": 1000},
                    "limits": [limit("b", 0.5, overLimit="last"), limit("a", 0.6)],
                },
                {"match": {"priorityClass": "x"}, "limits": [limit("b", 0.1)]},
            ],
        }
    )
    node = {"a": f"0.7,{NOW}", "b": f"0.6,{NOW}"}
    full = {"a": f"0.9,{NOW}"}

    def judged(namespace, annotations=node, labels=None, owners=(), **spec):
        metadata = {"namespace": namespace, "labels": labels or {}, "ownerReferences": owners}
        pod = {"metadata": metadata, "spec": spec}
        return (
            policy.rejected_by(annotations, NOW_MS, pod),
            policy.last_by(annotations, NOW_MS, pod),
        )

    batch = {"tier": "batch", "more": ""}
    assert judged("default") == judged("kube-system-2") == ("", "")
    assert judged("default", full) == judged("default", full, priority=5) == ("a", "")
    assert judged("kube-system", full) == judged("ops-1", full, batch) == ("", "")
    assert judged("default", labels=batch) == judged("default", full, batch) == ("a", "")
    assert judged("default", {"b": f"0.6,{NOW}"}, batch, priority=-1) == ("", "b")
    assert judged("default", labels=batch, priority=1000) == ("", "")
    # The first rule that matches, and no other.
    assert judged("default", labels=batch, priority=1000, priorityClassName="x") == ("b", "")
    assert judged("default", {"b": f"0.2,{NOW}"}, batch, priorityClassName="x") == ("", "")
    assert judged("default", full, batch, [{"kind": "DaemonSet"}]) == ("", "")
    assert policy.rejected_by(node, NOW_MS) == ""


def test_relative():
    policy = Policy(
        {
            "syncPolicy": [{"name": "a", "period": "3m"}, {"name": "b", "period": "3m"}],
            "priority": [
                {"name": "a", "weight": 1, "scale": "relative"},
                {"name": "b", "weight": 1, "scale": "absolute"},
            ],
        }
    )
    nodes = [
        {"a": f"0.1,{NOW}", "b": f"0.2,{NOW}"},
        {"a": f"0.4,{NOW}", "b": f"0.2,{NOW}"},
        {"a": f"0.8,2026-07-23T11:17:54Z", "b": f"0.2,{NOW}"},  # expired
        {},
    ]
    largest = policy.largest(nodes, NOW_MS)
    assert largest == {"a": 0.4}
    assert [policy.score100(n, NOW_MS, largest) for n in nodes] == [77, 40, 40, 0]
    # One that is no candidate is measured as if it were.
    assert policy.score100({"a": f"0.5,{NOW}"}, NOW_MS, largest) == 0
    # Nobody uses anything, or nobody says so.
    assert policy.largest([{}], NOW_MS) == policy.largest([], NOW_MS) == {"a": 0}
    assert policy.score100({"a": f"0,{NOW}"}, NOW_MS, {"a": 0}) == 50


def test_scores():
    assert [score10(s) for s in (0, 4, 5, 94, 95, 100)] == [0, 0, 1, 9, 10, 10]
    assert spread10([7]) == [10]
    assert spread10([50, 51, 52]) == [0, 5, 10]
    assert spread10([0, 5, 100]) == [0, 1, 10]


def test_hot():
    policy = Policy(
        {"hotValue": [{"timeRange": "5m", "count": 5}, {"timeRange": "1m", "count": 2}]}
    )
    assert policy.hot([], NOW_MS) == 0
    assert policy.hot([NOW_MS - i for i in range(5)], NOW_MS) == 3
    assert policy.hot([NOW_MS - 60000] * 5, NOW_MS) == 1  # exactly a minute ago is outside
    assert policy.hot([NOW_MS - 59999] * 5, NOW_MS) == 3
    assert policy.hot([NOW_MS + 5000] * 2, NOW_MS) == 1  # ahead of the clock counts as now


def test_generator_reaches_everything():
    """Random cases are worth something only if every kind of answer is among them."""
    seen, generator = collections.Counter(), Generator(1)
    for _ in range(200):
        case = generator.case(20)
        policy, now_ms = Policy(case.document["spec"]), timestamp_ms(case.now)
        seen[policy.scoring] += 1
        seen["relative"] += any(is_relative for _, _, is_relative, _ in policy.priorities)
        pod = generator.pod()
        for _, own in [("", policy), *policy.pools]:
            seen["exempt"] += bool(own.predicates) and not own.limits_for(pod)
            seen["more limits"] += len(own.limits_for(pod)) > len(own.predicates)
        seen["target"] += any(target for _, _, _, target in policy.priorities)
        for row in case.expected():
            seen["rejected" if row["rejectedBy"] else "passes"] += 1
            seen["last"] += row["lastBy"] != ""
            seen["zero" if row["score100"] == 0 else "points"] += 1
        for annotations in case.nodes.values():
            for name, period_ms in policy.periods_ms.items():
                if name in annotations:
                    value = usable(annotations[name], period_ms, now_ms)
                    seen["unusable" if value is None else "usable"] += 1
    kinds = (
        "absolute",
        "spread",
        "relative",
        "target",
        "exempt",
        "more limits",
        "rejected",
        "last",
        "passes",
        "zero",
        "points",
        "usable",
        "unusable",
    )
    assert all(seen[kind] >= 10 for kind in kinds), seen


def test_same_seed_same_cases():
    assert Generator(5).case() == Generator(5).case()
    assert Generator(5).case() != Generator(6).case()


def test_differences_are_seen():
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "spec": {
            "syncPolicy": [{"name": "a", "period": "3m"}],
            "predicate": [{"name": "a", "maxLimitPecent": 0.5}],
            "priority": [{"name": "a", "weight": 1}],
        },
    }
    case = Case(document, {"n": {"a": f"0.75,{NOW}"}}, stamp(NOW_MS))
    verdict = {"rejectedBy": "a", "lastBy": "", "score100": 25, "score": 3}
    right = [{"node": "n", **verdict, "more": 1}]
    assert case.expected() == [{k: v for k, v in right[0].items() if k != "more"}]
    assert not list(case.differences(right))
    assert list(case.differences([{**right[0], "score100": 24}]))
    assert list(case.differences([{**right[0], "rejectedBy": ""}]))
    assert list(case.differences([{**right[0], "node": "m"}]))
    assert list(case.differences(right * 2))
    assert list(case.differences([]))
