"""The reference implementation against crane's recorded answers, and its own in tests/data."""

import collections
import json

from reference_policy import VERDICTS, Policy, answered, cases, timestamp_ms, usable


def test_crane_verdicts():
    nodes = 0
    lines = VERDICTS.with_name("crane-verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    for line in lines:
        recorded = json.loads(line)
        policy, now_ms = Policy(recorded), timestamp_ms(recorded["now"])
        for node in recorded["nodes"]:
            answer = (
                policy.rejected_by(node["annotations"], now_ms),
                policy.score100(node["annotations"], now_ms, {}),
            )
            assert answer == (node["rejectedBy"], node["score100"]), (recorded["now"], node)
            nodes += 1
    assert (len(lines), nodes) == (120, 1920)


def test_recorded_answers_are_those_of_the_reference():
    for case in cases():
        assert answered(case) == case


def test_every_kind_of_answer_is_recorded():
    seen = collections.Counter()
    for case in cases():
        policy, now_ms = Policy(case["spec"]), timestamp_ms(case["now"])
        seen[policy.scoring] += 1
        seen["pools"] += bool(policy.pools)
        for _, _, is_relative, target in policy.priorities:
            seen["relative" if is_relative else "plain"] += 1
            seen["target"] += bool(target)
        for call in case["calls"]:
            limits = policy.limits_for(call["pod"])
            seen["exempt"] += bool(policy.predicates) and not limits
            seen["more limits"] += len(limits) > len(policy.predicates)
            seen["rejected"] += len(call["rejected"])
            seen["passes"] += len(call["scores"]) - len(call["rejected"])
            seen["strangers"] += len(call["scores"]) - len(call["score100"])
            seen["repeated"] += len(call["names"]) - len(call["scores"])
            for score100 in call["score100"].values():
                seen["points" if score100 else "zero"] += 1
            for name in call["score100"]:
                node = case["nodes"][name]
                own = policy.of(node["labels"])
                seen["last"] += own.last_by(node["annotations"], now_ms, call["pod"]) != ""
        for node in case["nodes"].values():
            for name in policy.periods_ms.keys() & node["annotations"].keys():
                value = usable(node["annotations"][name], policy.periods_ms[name], now_ms)
                seen["unusable" if value is None else "usable"] += 1
    kinds = (
        *("absolute", "spread", "pools", "relative", "plain", "target", "exempt", "more limits"),
        *("rejected", "passes", "strangers", "repeated", "points", "zero", "last"),
        *("usable", "unusable"),
    )
    assert all(seen[kind] >= 10 for kind in kinds), seen
