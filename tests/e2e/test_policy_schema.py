"""The CRD of the policy against the real API server: it refuses what the programs refuse, with a
message that names the field, and takes what they take."""

import json
import os
import pathlib
import random
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import bad_policies
import pytest
import yaml
from cluster.plimsoll import fast_policy
from harness import NIGHTLY
from pages import shown_policies
from programs import complete

TOP = pathlib.Path(__file__).resolve().parents[2]
POLICIES = "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies"


@pytest.mark.parametrize("name", ["policy.yaml", "crane.yaml", "pack.yaml", "gpu.yaml", "psi.yaml"])
def test_policies_of_the_tree_apply(plane, name):
    plane.kubectl("apply", "-f", str(TOP / "policy" / name))
    lines = plane.kubectl("get", "dsp").splitlines()
    assert re.split(r"\s{2,}", lines[0]) == ["NAME", "IN FORCE", "METRICS", "MESSAGE", "AGE"]
    assert lines[1].split()[0] == "default"
    said = plane.kubectl("explain", "dsp.spec.predicate.maxLimitPecent")
    assert "ratio" in said
    plane.kubectl("delete", "dsp", "default")


def test_policies_of_our_pages_apply(plane):
    for content in shown_policies():
        plane.kubectl("apply", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(content))


# Refused by kubectl or the API server for what they are, before any field is looked at.
NO_OBJECTS = re.compile(
    r"error (parsing|converting)|no objects passed|Object 'Kind' is missing|apiVersion not set|"
    r"kind not set|invalid object to validate|no matches for kind|json: |cannot (restore|unmarshal)|yaml: |name may not be empty"
)
# Taken, because the file is odd and the object that kubectl makes of it is not: anchors and merge
# keys are resolved, tags and a second document are read, octals and underscores become numbers,
# of two equal keys the later is taken.
ONLY_ODD_AS_FILES = {
    "two-documents.yaml",
    "duplicate-key.yaml",
    "merge-key.yaml",
    "tag.yaml",
    "weight-octal.yaml",
    "weight-octal-with-a-sign.yaml",
    "weight-with-underscore.yaml",
    "limit-hexadecimal.yaml",
}


# Refused for another field than the programs complain of first.
ELSEWHERE = {
    "anchor-and-alias.yaml": "spec.priority[1]",  # resolved, it names a metric twice
    "latin1.yaml": "metadata.name",
    "predicate-period-zero.yaml": "spec.syncPolicy[0].period",  # a number, in an object
    "idle-never-written.yaml": "spec.syncPolicy[2].period",  # the same
}


# Refused before their fields are looked at: they have no form in JSON, or kubectl cannot compare them.
NOT_JSON = {"limit-nan.yaml", "weight-infinite.yaml", "json-quoted-number.json"}


def paths_that_name(field):
    """spec.priority[1].weight, and those that the API server may rather name."""
    yield field
    while "." in field or "[" in field:
        field = re.sub(r"(\.[^.\[]*|\[\d+\])$", "", field)
        if field in ("spec", ""):
            return
        yield field


# Where kubectl begins to tell of another file.
TOLD = re.compile(
    r'(?=error validating "|error parsing |unable to decode "|resource mapping not found for |'
    r"Error from server \()"
)


def answers(plane, folder, names):
    """{file: what kubectl says of it}, "" where it would be applied."""

    def apply(*chosen):
        files = [f"--filename={folder / name}" for name in chosen]
        return plane.kubectl("apply", "--dry-run=server", *files, check=False).stderr

    said = {}
    for text in TOLD.split(apply(*names)):
        if found := re.search(rf"{folder}/([\w.-]+\.(?:yaml|json))", text):
            said[found[1]] = text
    # Of all at once it does not tell which are taken, nor which are empty.
    return said | {name: apply(name) for name in names if name not in said}


def test_bad_policies_are_refused_by_field(plane, figure, tmp_path):
    expected = bad_policies.write(tmp_path)
    problems, by_field, no_objects, taken = [], [], [], []
    for name, said in answers(plane, tmp_path, expected).items():
        field = re.match(r"line \d+: ((spec|metadata)[^:]*): ", expected[name])
        if not said:
            taken.append(name)
        elif name in ELSEWHERE and f"{ELSEWHERE[name]}: " in said:
            by_field.append(name)
        elif field and any(path in said for path in paths_that_name(field[1])):
            by_field.append(name)
        elif (not field or name in NOT_JSON) and NO_OBJECTS.search(said):
            no_objects.append(name)
        else:
            problems.append(f"{name}: {expected[name]!r} but: {said}")
    assert not problems, "\n".join(problems)
    assert set(taken) == ONLY_ODD_AS_FILES
    figure(
        f"of {len(expected)} bad policies the API server refuses {len(by_field)} by the field's "
        f"name, {len(no_objects)} are no objects of ours at all, {len(taken)} are odd only as files"
    )


def test_a_misspelt_name_is_told(plane):
    """Not only that one is wrong: which."""
    right, wrong, never = "cpu_usage_avg_5m", "cpu_usage_avg5m", "gpu"
    for name in (wrong, never):
        for place, terms in {
            "predicate": {"predicate": limits(right, name)},
            "priority": {"priority": weights(right, name)},
            "pools": {"pools": [pool(predicate=limits(right)), pool(predicate=limits(name))]},
            "pools ": {"pools": [pool(), pool(priority=weights(right, name))]},
            "rules": {"rules": [rule(limits(right)), rule(limits(right, name))]},
        }.items():
            policy = fast_policy()
            policy["spec"] = {"syncPolicy": [{"name": right, "period": "3m"}], **terms}
            policy["spec"]["syncPolicy"].append({"name": never, "period": "0s"})
            told = plane.kubectl(
                "apply", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(policy), check=False
            ).stderr
            assert f"spec.{place.strip()}: " in told, told
            assert (
                f"expected only names of spec.syncPolicy with a period above 0, got {name}" in told
            )


def limits(*names):
    return [{"name": name, "maxLimitPecent": 0.5} for name in names]


def weights(*names):
    return [{"name": name, "weight": 1} for name in names]


def pool(**terms):
    return {"nodeSelector": {"a": "b"}, **terms}


def rule(terms):
    return {"match": {"priorityClass": "low"}, "limits": terms}


# Right in one field and wrong in another.
TEXTS = [
    *("cpu_usage_avg_5m", "mem_usage_avg_5m", "cpu_usage_max_avg_1h", "gpu", "gpu_mem", "psi_io"),
    *(
        "",
        "a",
        "A",
        "-a",
        "a-1",
        "a_b",
        "a_usage_b",
        "a b",
        "a.b_c-d",
        "a:b_c9",
        "x/y",
        "a/b/c",
        "ä",
        "kube-*",
    ),
    *(
        "9a",
        '~"\\!',
        "a\nb",
        "\x7f",
        "nvidia.com/gpu.present",
        *("v" * n for n in (33, 63, 64, 65, 128, 129)),
    ),
    *"3m 90s 1h30m 500ms 1.5h 1h0m0s .5s 1.s 0 0s 1500us +3m 3 1d -1s 9999999h m 1h-3m 0x1s 1e3s".split(),
    *("3 m", "3m ", "00", "999us", "5µs", "-1us", "0.0ns", "0.1ns", "h", "0h", "2h", "0.5"),
    *("absolute", "spread", "estimate", "relative", "reject", "last", "pass", "auto", "all"),
    *("withoutPreferences", "gauge", "counter", "max", "mean", "sum", "min"),
]
NUMBERS = [0, 1, 2, 5, 65, 100, 2.0, 0.5, 0.65, 1.5, 1e-9, 1e300, -1, -0.1, -0.0, 1.1, 100.1, 650]
NUMBERS += [1.6e308, 1.7e308, 100000, 100001, 1 << 31, (1 << 63) - 1, -(1 << 63)]
OTHERS = [True, False, [], {}, [0.5, 0.6], [0.6, 0.5], [0.1, 0.2, 0.3, 0.4, 0.5], ["a"], ["A"]]


def places(node):
    """(map or list, key) of all that is in a policy."""
    for key in node if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], (dict, list)):
            yield from places(node[key])


def variant(rng, policy):
    """A policy of the pages in which a place or two have another value, another often, or are gone."""
    policy = json.loads(json.dumps(policy))
    for _ in range(rng.randint(0, 2)):
        parent, key = rng.choice(list(places(policy["spec"])))
        if isinstance(parent, list) and rng.random() < 0.3:
            parent += [parent[key]] * rng.choice((1, 8, 16, 64))
        elif key != "syncPolicy" and rng.random() < 0.1:
            del parent[key]
        elif isinstance(parent[key], str):  # in a file, any scalar is a text
            parent[key] = rng.choice(TEXTS)
        elif isinstance(parent[key], (bool, list, dict)):
            parent[key] = rng.choice(OTHERS)
        else:
            parent[key] = rng.choice(NUMBERS if rng.random() < 0.9 else TEXTS + OTHERS)
        policy = json.loads(json.dumps(policy))  # nothing in two places
    return policy


def by_programs(policies):
    """What the programs' parser says of each: "ok", or what is wrong (tools/policy_lines.c)."""
    program = os.path.join(os.environ["PLIMSOLL_BUILD_DIR"], "tests", "policy_lines")
    lines = "".join(f"{json.dumps(policy)}\n" for policy in policies)
    said = complete(program, input=lines).stdout.splitlines()
    assert len(said) == len(policies)
    return said


def by_check_config(program, policy, path):
    path.write_text(json.dumps(policy))
    done = subprocess.run(
        [program, "--check-config", f"--policy-config-path={path}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_api_server_and_programs_agree(plane, binary, tmp_path, figure):
    """Whatever the one takes the other takes, over random variants of policies."""
    rng, shown = random.Random(1), shown_policies()
    policies = [variant(rng, rng.choice(shown)) for _ in range(3000 if NIGHTLY else 600)]
    said = by_programs(policies)
    with ThreadPoolExecutor(3) as pool:
        answers = list(
            pool.map(
                lambda policy: plane.api.request("POST", f"{POLICIES}?dryRun=All", policy), policies
            )
        )
    problems = [
        f"{json.dumps(policy['spec'])}\n  {status} {text[:600]}\n  {ours}"
        for policy, ours, (status, text) in zip(policies, said, answers)
        if status != (201 if ours == "ok" else 422)
    ]
    taken = said.count("ok")
    figure(
        f"random policies on which API server and programs agree: {len(policies) - len(problems)} "
        f"of {len(policies)} ({taken} taken, {len(policies) - taken} refused)"
    )
    assert not problems, "\n".join(problems[:20])
    assert 0.2 < taken / len(policies) < 0.8, "the sample is lopsided"
    # What was asked is what the programs do.
    good, bad = said.index("ok"), next(i for i, text in enumerate(said) if text != "ok")
    for program in ("plimsoll-controller", "plimsoll-extender"):
        status, errors = by_check_config(binary(program), policies[good], tmp_path / "policy.json")
        assert status == 0, errors
        status, errors = by_check_config(binary(program), policies[bad], tmp_path / "policy.json")
        assert status == 2 and f"policy.json: {said[bad]}\n" in errors, (said[bad], errors)
