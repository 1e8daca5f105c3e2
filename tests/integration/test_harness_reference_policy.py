"""The reference implementation against crane's recorded answers, and its own in tests/data."""

import json

from reference_policy import VERDICTS, Policy, answered, cases, timestamp_ms


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
