"""The reference implementation against crane's recorded answers and worked examples."""

import collections
import json
import pathlib


from reference_policy import (
    API_VERSION,
    KIND,
    Case,
    Generator,
    Policy,
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
    verdict = {"rejectedBy": "a", "lastBy": "", "score100": 25, "score": None}
    right = [{"node": "n", **verdict, "more": 1}]
    assert case.expected() == [{k: v for k, v in right[0].items() if k != "more"}]
    assert not list(case.differences(right))
    assert list(case.differences([{**right[0], "score100": 24}]))
    assert list(case.differences([{**right[0], "rejectedBy": ""}]))
    assert list(case.differences([{**right[0], "node": "m"}]))
    assert list(case.differences(right * 2))
    assert list(case.differences([]))
