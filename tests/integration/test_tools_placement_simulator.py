"""The simulator behind docs/placement.md: its command line, its scenario files, and that it repeats itself."""

import json
import os
import pathlib
import subprocess

import pytest
from pages import TOP, block

REPLAY = "name: x\nmeasured: 1h\nnodes: [{count: 1, cores: 1}]\npods:\n- {kind: replay, "


def simulate(*arguments):
    build = pathlib.Path(os.environ["PLIMSOLL_RELEASE_DIR"])
    argv = [str(build / "tests" / "placement" / "placement"), *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(name="example")
def example_fixture(tmp_path):
    """The scenario that the README shows, as a file."""
    path = tmp_path / "example.yaml"
    path.write_text(block("tests/placement/README.md", "scenario"), encoding="utf-8")
    return path


def test_example_runs(example):
    done = simulate("--scenario", example, "--seeds=1", "-o", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    peers = {"default", "crane", "koordinator", "koordinator-0", "tlp-ms", "tlp-ms-tuned", "lvrb"}
    peers |= {"estimate", "workloads", "oracle"}
    assert {row["algorithm"] for row in rows} == peers
    for row in rows:
        assert row["scenario"] == "example"
        assert 0.05 < row["meanUtilisation"]["mean"] < 1
        assert row["meanUtilisation"]["mean"] <= row["busiestP99"]["mean"] <= 1
        assert row["pendingPods"]["mean"] == 0 or row["algorithm"] == "crane"


def test_every_pod_has_an_id():
    """Seed 101 once drew a pod whose id was 0, which is none to the extender."""
    done = simulate(
        *("--scenario", TOP / "tests" / "placement" / "scenarios" / "batch.yaml"),
        *("--seeds=1", "--first-seed=101", "--scale=0.01", "--algorithm=estimate"),
    )
    assert done.returncode == 0, done.stderr


def test_evictions():
    """Of pods that have run for an hour."""
    path = TOP / "tests" / "placement" / "scenarios" / "steps.yaml"
    names = ("estimate", "estimate+rebalance")
    wanted = [f"--algorithm={name}" for name in names]
    done = simulate("--scenario", path, "--seeds=1", "-o", "json", *wanted)
    alone, rebalanced = json.loads(done.stdout)
    assert "evictionsPer1000PodHours" not in alone
    assert rebalanced["algorithm"] == names[1]
    assert rebalanced["evictionsPer1000PodHours"]["mean"] > 0
    assert 0 <= rebalanced["repeatedEvictionsRatio"]["mean"] < 1


def test_an_algorithm_that_is_not_there(example):
    refused = simulate("--scenario", example, "--algorithm", "x")
    assert refused.returncode == 2 and "x: not a value" in refused.stderr


@pytest.fixture(name="replay")
def replay_fixture(tmp_path):
    """Arguments for the replay that the README shows, of the trace that traces.md shows."""
    (tmp_path / "example.trace").write_text(block("tests/placement/traces.md", "trace"), "utf-8")
    (tmp_path / "replay.yaml").write_text(block("tests/placement/README.md", "replay"), "utf-8")
    return ["--scenario", tmp_path / "replay.yaml", "--traces", tmp_path]


def test_replay_is_what_was_recorded(replay):
    """Two series: 0.5 and 16 cores requested, by two pods that come as recorded; the others by both."""
    pods = json.loads(simulate(*replay, "-o", "world").stdout)["pods"]
    recorded = [pod for pod in pods if pod["request"] in (0.5, 16)]
    assert [(pod["workload"], pod["request"], pod["arrives"]) for pod in recorded] == [
        (2, 0.5, 0),
        (3, 16, 60),
    ]
    # 100 s and one more: 16 cores for 90 s, then 0.2
    assert recorded[1]["cores"] == pytest.approx((16 * 90 + 0.2 * 11) / 101, rel=1e-5)
    used = {int(age_s): cores for age_s, cores in recorded[1]["uses"]}
    assert used[0] == 16 and used[90] == 0.2, used
    drawn = {(pod["workload"], pod["request"]) for pod in pods if pod not in recorded}
    assert drawn == {(0, 0.125), (1, 4)}, "scaled by 0.5, overcommitted by 2"
    assert all(0 <= pod["cores"] <= 0.5 for pod in pods if pod["workload"] == 0)


@pytest.mark.parametrize(
    "text, said",
    [
        ("name: x\nnodess: []\n", "line 2: scenario.nodess: unknown field"),
        ("name: x\nmeasured: 40\n", "line 2: measured: expected a duration such as 40m"),
        (
            "measured: 1h\nnodes:\n- {count: 1, cores: 1, joins: 1m}\n- {count: 1, cores: 1, leaves: 1m}\n"
            "pods: [{}]\n",
            "line 3: nodes: expected one that is always there",
        ),
        (REPLAY + "trace: ../x}\n", "line 5: trace: expected the name of a trace"),
        ("a: [\n", "line 2"),
    ],
)
def test_wrong_scenarios_are_refused_with_their_line(tmp_path, text, said):
    path = tmp_path / "wrong.yaml"
    path.write_text(text, encoding="utf-8")
    done = simulate("--scenario", path)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith(f"placement: {path}: ") and said in done.stderr
