"""kubectl plimsoll simulate says what the real extender then answers, once the policy is applied."""

import json
import random
from datetime import datetime, timedelta, timezone

import pytest
import yaml
from cluster.plimsoll import ask, metrics
from cluster.workloads import pod_object
from harness import wait_until
from policies import policy_object

CPU, MEM, PEAK = "cpu_usage_avg_5m", "mem_usage_avg_5m", "cpu_usage_max_avg_1h"
NODES = 200
SPREAD = {"scoring": "spread"}
ESTIMATE = {"scoring": "estimate", "shortlist": 0}
ESTIMATE_BEST = 16  # the extender names the scores of so many nodes


def policy(limits, weights, extender=None, scale="absolute"):
    metrics = dict.fromkeys((CPU, MEM, PEAK), "15m")
    content = policy_object(metrics, limits, weights, name="default", extender=extender)
    for row in content["spec"]["priority"]:
        row["scale"] = scale
    return content


# The first is in force at first; of each other it is asked what it would change.
POLICIES = (
    policy({CPU: 0.9}, {CPU: 1}),
    policy({CPU: 0.65, MEM: 80}, {CPU: 0.3, MEM: 0.7}),
    policy({PEAK: 0.5}, {CPU: 1, MEM: 1, PEAK: 2}, SPREAD),
    policy({CPU: 0.7, PEAK: 0}, {CPU: 1, MEM: 2}, scale="relative"),
    policy({MEM: 0.8}, {CPU: 1, MEM: 1, PEAK: 0.5}, ESTIMATE),
)


def readings(generator):
    """Of one node; some lack one, have an old one, or one that nobody can read."""
    found = {}
    for metric in (CPU, MEM, PEAK):
        state = generator.random()
        age = timedelta(hours=2 if state < 0.05 else 0)
        stamp = (datetime.now(timezone.utc) - age).strftime("%Y-%m-%dT%H:%M:%SZ")
        if state > 0.1:
            found[metric] = f"{generator.random():.5f},{stamp}"
        elif state > 0.05:
            found[metric] = "much"
    return found


@pytest.fixture
def follow(plane, tmp_path):
    """Puts a policy in force as users do, and waits until the program follows it."""

    def put(policy, extender):
        path = tmp_path / "policy.yaml"
        path.write_text(yaml.safe_dump(policy))
        before = metrics(extender)["plimsoll_policy_generation"]
        plane.kubectl("apply", "-f", str(path))
        wait_until(
            lambda: metrics(extender)["plimsoll_policy_generation"] > before, what="the policy"
        )

    yield put
    plane.kubectl("delete", "dsp", "--all")


def answers(extender, names):
    """{node: (whether it passes, its score or None)}"""
    pod = pod_object("p-0", cpu="0", memory="0")
    # Such a pod gets no shortlist.
    pod["status"] = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
    told = ask(extender, "filter", pod, names)
    rows = ask(extender, "prioritize", pod, told["NodeNames"])
    scores = dict.fromkeys(told["NodeNames"], 0) | {row["Host"]: row["Score"] for row in rows}
    failed = {**(told["FailedNodes"] or {}), **(told["FailedAndUnresolvableNodes"] or {})}
    assert len(failed) + len(told["NodeNames"]) == len(names)
    return {name: (name not in failed, scores.get(name)) for name in names}


def test_the_extender_does_what_was_simulated(fleet, plimsoll, verb, follow, figure, tmp_path):
    generator = random.Random(5)
    for _ in range(NODES):
        fleet.add(1, kwok=False, annotations=readings(generator))
    extender = plimsoll.extender(None)
    follow(POLICIES[0], extender)
    file = tmp_path / "new.yaml"
    verdicts = scores = flips = 0
    differences = []
    for number, content in enumerate(POLICIES[1:]):
        file.write_text(yaml.safe_dump(content))
        shown = json.loads(verb("simulate", "-f", str(file), "-o", "json"))
        if number == 0:
            nodes = tmp_path / "nodes.json"
            nodes.write_text(fleet.plane.kubectl("get", "nodes", "-o", "json"))
            again = verb("simulate", "-f", str(file), "-o", "json", f"--nodes={nodes}")
            assert json.loads(again)["nodes"] == shown["nodes"]
        follow(content, extender)
        found = answers(extender, [row["node"] for row in shown["nodes"]])
        is_estimate = content["spec"].get("extender") == ESTIMATE
        told = sorted(
            (row for row in shown["nodes"] if row["after"]["rank"]),
            key=lambda row: row["after"]["rank"],
        )
        best = {row["node"] for row in told[:ESTIMATE_BEST]}
        flips += shown["summary"]["newlyRejected"] + shown["summary"]["newlyPassing"]
        for row in shown["nodes"]:
            passes, score = found[row["node"]]
            verdicts += 1
            after = row["after"]
            if passes != (after["rejectedBy"] == ""):
                differences.append((number, passes, row))
            if passes and (row["node"] in best or not is_estimate):
                scores += 1
                if score != after["score"]:
                    differences.append((number, score, row))
    assert verdicts == len(POLICIES[1:]) * NODES and flips > NODES / 2
    assert not differences
    figure(
        f"{verdicts} verdicts and {scores} scores of {NODES} nodes: {len(differences)} differences"
    )
