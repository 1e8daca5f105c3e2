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


NAMES = [
    *("cpu_usage_avg_5m", "gpu_mem_usage_p95_1h", "mem_usage_avg_5m", "cpu_usage_max_avg_1h"),
    *("gpu", "a.b-c", "load_usage_p99_1d"),
]
PEAK = "cpu_usage_max_avg_"
ODD_NAMES = ["", "-a", "a_", "a b", "x/y", "ä", "a" * 63, "a" * 64]
DURATIONS = "3m 90s 1h30m 500ms 1.5h 1h0m0s .5s 1.s 0 0s 1500us +3m".split()
ODD_DURATIONS = ["", "3 m", "3m "]
ODD_DURATIONS += "3 1d -1s 9999999h m 1h-3m 0x1s 1e3s 00 999us 5µs -1us 0.0ns 0.1ns".split()
LIMITS = [0.65, 0, 1, 65, 100, 1e-9, 0.5, 1.0]
ODD_LIMITS = [-0.1, 100.1, 650, -0.0, 1e300]
WEIGHTS = [0.2, 1, 0, 3, 1e300, 0.5]
ODD_WEIGHTS = [-1, -0.0, 1.7e308, 1.6e308]
COUNTS = [1, 2, 5, 9223372036854775807]
ODD_COUNTS = [0, -1, -9223372036854775808]
RESOURCES = ["gpu", "gpu_mem", "a", "x1_2"]
ODD_RESOURCES = ["cpu", "psi_io", "GPU", "1a", "a_", "a_usage_b", "_a", "a-b", "", "a" * 33]
EXPORTERS = ["dcgm", "a", "a-1"]
ODD_EXPORTERS = ["", "a_b", "-a", "a-", "http://x", "A", "a" * 33]
SERIES = ["DCGM_FI_DEV_GPU_UTIL", "x", "a:b_c9", "s" * 128]
ODD_SERIES = ["", "9a", "a{b}", "a b", "a-b", "s" * 129, "\u00e9"]
LABELS = ["gpu", "modelName", "_x9", "L" * 64]
ODD_LABELS = ["", "9a", "a-b", "a:b", "L" * 65, "\u00e9", "a b"]
VALUES = ["", "0", "NVIDIA A100", '~"\\!', "v" * 128]
ODD_VALUES = ["v" * 129, "\u00e9", "a\nb", "\x7f"]
SELECTED = ["pool", "nvidia.com/gpu.present", "A_9"]
ODD_SELECTED = ["", "a/", "/a", "a/b/c", "A/b", "_a", "a" * 64, "\u00e9"]
CHOSEN = ["", "true", "a.b_c-d", "v" * 63]
ODD_CHOSEN = ["v" * 64, "a b", "-a", "\u00e9"]
CAPACITIES = [100, 0.5, 1e300, 1e-9, 1]
ODD_CAPACITIES = [0, -1, -0.0, "100"]


class Sample:
    """Random policies: mostly usual, with an odd part here and there."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, usual, odd, rarely=0.04):
        return self.random.choice(odd if self.random.random() < rarely else usual)

    def some_names(self, names):
        found = self.random.sample(names, self.random.randint(0, len(names)))
        if found and self.random.random() < 0.04:
            found.append(found[0])
        if self.random.random() < 0.04:
            found.append(self.random.choice(NAMES + ODD_NAMES))
        return found

    def predicate(self, name):
        spelling = self.pick(["maxLimitPecent"], ["maxLimitPercent"], 0.3)
        entry = {"name": name, spelling: self.pick(LIMITS, ODD_LIMITS)}
        if self.random.random() < 0.02:
            entry = {"name": name}
        if self.random.random() < 0.02:
            entry.update(maxLimitPecent=0.5, maxLimitPercent=0.5)
        if self.random.random() < 0.1:
            entry["overLimit"] = self.pick(["reject", "last"], ["ignore", ""])
        return entry

    def resource(self, name):
        entry = {
            "name": name,
            "series": self.pick(SERIES, ODD_SERIES),
            "kind": self.pick(["gauge", "counter"], ["histogram", ""]),
        }
        if self.random.random() < 0.5:
            entry["exporter"] = self.pick(EXPORTERS, ODD_EXPORTERS)
        if self.random.random() < 0.5:
            labels = self.random.sample(LABELS, self.random.randint(0, len(LABELS)))
            if self.random.random() < 0.06:
                labels.append(self.random.choice(ODD_LABELS))
            entry["match"] = {label: self.pick(VALUES, ODD_VALUES) for label in labels}
        if self.random.random() < 0.01:
            count = self.random.randint(8, 9)
            entry["match"] = {f"l{i}": "" for i in range(count)}
        if self.random.random() < 0.5:
            entry["reduce"] = self.pick(["max", "mean", "sum", "min"], ["avg", ""])
        by_series = self.random.random() < 0.3
        if by_series:
            entry["capacitySeries"] = self.pick(SERIES, ODD_SERIES)
        if by_series == (self.random.random() < 0.03):
            entry["capacity"] = self.pick(CAPACITIES, ODD_CAPACITIES)
        if self.random.random() < 0.02:
            del entry[self.random.choice(sorted(entry))]
        return entry

    def resources(self):
        names = self.random.sample(RESOURCES, self.random.randint(0, len(RESOURCES)))
        if names and self.random.random() < 0.04:
            names.append(names[0])
        if self.random.random() < 0.1:
            names.append(self.random.choice(ODD_RESOURCES))
        if self.random.random() < 0.02:
            names = [f"m{i}" for i in range(self.random.randint(16, 17))]
        return [self.resource(name) for name in names]

    def priority(self, name):
        return (
            {"name": name, "weight": self.pick(WEIGHTS, ODD_WEIGHTS)}
            | self.pick([{}, {"scale": "relative"}, {"scale": "absolute"}],
                        [{"scale": "spread"}], 0.01)
            | self.pick([{}, {}, {"target": 0.5}],
                        [{"target": 0}, {"target": 1}, {"target": "0.5"}, {"target": -0.5}], 0.01)
        )  # fmt: skip

    def pool(self, names):
        labels = self.random.sample(SELECTED, self.random.randint(1, len(SELECTED)))
        if self.random.random() < 0.06:
            labels = self.random.choice([[], [*labels, self.random.choice(ODD_SELECTED)]])
        entry = {"nodeSelector": {label: self.pick(CHOSEN, ODD_CHOSEN) for label in labels}}
        if self.random.random() < 0.6:
            entry["predicate"] = [self.predicate(name) for name in self.some_names(names)]
        if self.random.random() < 0.6:
            entry["priority"] = [self.priority(name) for name in self.some_names(names)]
        return entry if self.random.random() > 0.02 else entry | {"nodeSelector": None}

    def rule(self, names):
        match = {}
        if self.random.random() < 0.5:
            match["namespaces"] = self.pick([["a"], ["kube-*", "b-1"]], [[], ["A"], [""], ["a/b"]])
        if self.random.random() < 0.4:
            labels = self.random.sample(SELECTED, self.random.randint(1, len(SELECTED)))
            match["labels"] = {label: self.pick(CHOSEN, ODD_CHOSEN) for label in labels}
        if self.random.random() < 0.4:
            match["priorityClass"] = self.pick(["batch", "a.b-c"], ["", "A", "a_b"])
        if self.random.random() < 0.4:
            match["priorityBelow"] = self.pick([0, -5, 1000], [1.5, "1", 1 << 31])
        if not match and self.random.random() < 0.8:
            match["priorityBelow"] = 0
        entry = {"match": match}
        if self.random.random() < 0.5:
            entry["exempt"] = self.pick([True], [False, "true"])
        if ("exempt" in entry) == (self.random.random() < 0.05):
            entry["limits"] = [self.predicate(name) for name in self.some_names(names)]
        return entry

    def extender(self):
        entry = {}
        if self.random.random() < 0.7:
            entry["scoring"] = self.pick(["absolute", "spread", "estimate"], ["other", ""])
        if self.random.random() < 0.4:
            entry["whenAllOver"] = self.pick(["reject", "pass"], ["other", ""])
        if self.random.random() < 0.4:
            entry["shortlist"] = self.pick(["auto", 0, 64, 100000], ["", "0", -1, 100001, 1.5])
        if self.random.random() < 0.4:
            entry["shortlistFor"] = self.pick(["withoutPreferences", "all"], ["other", ""])
        return entry

    def taints(self):
        levels = self.pick([[0.5, 0.6], [0.2], [0.1, 0.2, 0.3, 1]],
                           [[], [0.6, 0.5], [0.5, 0.5], [0, 0.5], [0.5, 1.1], [0.1, 0.2, 0.3, 0.4, 0.5],
                            ["0.5"], 0.5], 0.2)  # fmt: skip
        return self.pick([{}, {"levels": levels}], [{"levels": levels}])

    def idle(self, known):
        windows = [name.removeprefix(PEAK) for name in known if name.startswith(PEAK)]
        fields = {
            "line": self.pick([0.65, 1, 0.01], [0, 1.1, -0.5, "0.5", ""]),
            "peak": self.pick(windows or ["1h"], ["", "h", "0h", "1.5h", "1h30m", "2h", 6]),
        }
        return {name: value for name, value in fields.items() if self.random.random() < 0.7}

    def policy(self):
        known = self.some_names(NAMES)
        spec = {
            "syncPolicy": [
                {"name": name, "period": self.pick(DURATIONS, ODD_DURATIONS)} for name in known
            ]
        }
        if self.random.random() < 0.02:
            spec["syncPolicy"] += [
                {"name": f"m{i}", "period": "3m"} for i in range(self.random.randint(60, 66))
            ]
        if self.random.random() < 0.3:
            spec["metrics"] = self.resources()
        if self.random.random() < 0.8:
            spec["predicate"] = [self.predicate(name) for name in self.some_names(known)]
        if self.random.random() < 0.8:
            spec["priority"] = [self.priority(name) for name in self.some_names(known)]
        if self.random.random() < 0.2:
            spec["pools"] = [self.pool(known) for _ in range(self.pick([1, 2, 8], [9]))]
        if self.random.random() < 0.2:
            spec["rules"] = [self.rule(known) for _ in range(self.pick([1, 2, 8], [9]))]
        if self.random.random() < 0.5:
            spec["hotValue"] = [
                {
                    "timeRange": self.pick(["5m", "1m", "90s"], DURATIONS + ODD_DURATIONS),
                    "count": self.pick(COUNTS, ODD_COUNTS),
                }
                for _ in range(self.pick([0, 1, 2, 16], [17]))
            ]
        if self.random.random() < 0.3:
            spec["extender"] = self.extender()
        if self.random.random() < 0.2:
            spec["taints"] = self.taints()
        # Without its metric it is refused, which is said often enough.
        has_peak = any(name.startswith(PEAK) for name in known)
        if self.random.random() < (0.3 if has_peak else 0.02):
            spec["idle"] = self.idle(known)
        return {**fast_policy(), "spec": spec}


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
    """Whatever the one takes the other takes, over random policies."""
    sample = Sample(1)
    policies = [sample.policy() for _ in range(3000 if NIGHTLY else 600)]
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
