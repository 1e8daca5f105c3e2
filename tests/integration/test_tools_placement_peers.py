"""The schedulers that the simulator models: what each is known for shows in what becomes of the same pods."""

import json
import os
import pathlib
import subprocess

import pytest

CLUSTER = """\
name: peers
nodes: [{count: 20, cores: 4}]
base: {from: 0.02, to: 0.1}
warmUp: 30m
measured: 60m
deadExporters: %(dead)s
pods:
- {kind: steady, workloads: 10, requests: [0.25], requested: %(requested)s, life: {mean: 20m}, usage: %(usage)s}
"""
EVEN = "{share: 1.0}"


@pytest.fixture(name="simulate")
def simulate_fixture(tmp_path):
    """{algorithm: its row}, for a cluster whose pods request that share of it."""

    def simulate(*algorithms, requested, dead=0, usage=EVEN):
        path = tmp_path / "scenario.yaml"
        text = CLUSTER % {"requested": requested, "dead": dead, "usage": usage}
        path.write_text(text, encoding="utf-8")
        build = pathlib.Path(os.environ["PLIMSOLL_RELEASE_DIR"])
        argv = [build / "tests" / "placement" / "placement", "--scenario", path, "-o", "json"]
        argv += [f"--algorithm={name}" for name in algorithms]
        done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
        return {row["algorithm"]: row for row in json.loads(done.stdout)}

    return simulate


def test_koordinator_rejects_above_its_thresholds(simulate):
    rows = simulate("koordinator", "koordinator-0", requested=0.85)
    assert rows["koordinator"]["pendingPods"]["mean"] > 10
    assert rows["koordinator"]["meanUtilisation"]["mean"] < 0.7
    assert rows["koordinator-0"]["pendingPods"]["mean"] == 0
    assert rows["koordinator-0"]["meanUtilisation"]["mean"] > 0.8


@pytest.mark.parametrize("name", ["tlp-ms", "lvrb", "koordinator"])
def test_a_node_without_metrics_is_avoided(simulate, name):
    """By koordinator when its last report is 300 s old."""
    found, missing = (simulate(name, requested=0.3, dead=dead)[name] for dead in (0, 0.5))
    assert missing["usageStddev"]["mean"] > 1.5 * found["usageStddev"]["mean"]


def test_target_load_packing_packs_up_to_its_target(simulate):
    """15% of the CPUs are in use: the target that follows from it is 25%."""
    rows = simulate("default", "tlp-ms", "tlp-ms-tuned", requested=0.1)
    stddev = {name: row["usageStddev"]["mean"] for name, row in rows.items()}
    assert stddev["tlp-ms"] > 1.2 * stddev["tlp-ms-tuned"] > 1.2 * 1.2 * stddev["default"]
    assert 0.35 < rows["tlp-ms"]["busiestP99"]["mean"] < 0.6


def test_a_percentile_is_no_mean(simulate):
    rows = simulate("koordinator", "koordinator-p95", requested=0.85)
    left = {name: row["pendingPods"]["mean"] for name, row in rows.items()}
    assert left["koordinator-p95"] > left["koordinator"]


def test_true_means_of_workloads_are_worth_something(simulate):
    """What each workload uses is learned within minutes, and never quite."""
    usage = "{fromCores: 0.02, toCores: 2, mean: 0.4}"
    rows = simulate("estimate", "workloads", requested=0.2, usage=usage)
    error = {name: row["estimateErrorPercent"]["mean"] for name, row in rows.items()}
    assert error["workloads"] < error["estimate"]
