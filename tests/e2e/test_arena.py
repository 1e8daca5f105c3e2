"""`make arena` as somebody runs it who has a scheduler of another project; see docs/arena.md."""

import json
import os
import re
import sys

import pytest
import yaml
from arena import PROMETHEUS, read_config, table
from harness import HERE as INTEGRATION
from pages import TOP
from programs import complete
from tools import build

PROGRAM = os.path.join(INTEGRATION, "..", "e2e", "arena.py")
# All nodes are hot, whichever scheduler it is: so one run is enough to compare levels.
SCENARIO = """
name: busy
nodes: [{count: 6, cores: 8}]
warmUp: 10s
measured: 120s
watchLag: 0.5s
pods:
- {kind: burst, workloads: 3, requests: [0.5], usage: {share: 3}, life: {mean: 1000h}, burst: {pods: 30, over: 20s}}
"""
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: another}]
"""
# Waits until it has seen what the page promises, as the controller of a scheduler would.
SCRIPT = """#!/bin/sh -e
kubectl --kubeconfig=$1 get --raw /apis/metrics.k8s.io/v1beta1/nodes >$3/metrics.json
until curl -sf "$2/api/v1/query?query=count(up)" | grep -q '"6"'; do sleep 0.2; done
until grep -q podUsage $3/reports.json; do
  sleep 1
  kubectl --kubeconfig=$1 get nodemetrics.slo.koordinator.sh -o json >$3/reports.json
done
exec sleep 1000
"""
# As much of Koordinator's as is needed.
REPORTS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nodemetrics.slo.koordinator.sh}
spec:
  group: slo.koordinator.sh
  names: {kind: NodeMetric, listKind: NodeMetricList, plural: nodemetrics, singular: nodemetric}
  scope: Cluster
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


@pytest.fixture
def arena(tmp_path, monkeypatch):
    """Run it to its end, with kube-scheduler or what is named as schedulers: {name: config}."""
    (tmp_path / "busy.yaml").write_text(SCENARIO)
    env = {name: value for name, value in os.environ.items() if name.startswith("PLIMSOLL_")}
    kubectl = build.program("kubectl", "kubernetes")
    monkeypatch.setenv("PATH", os.path.dirname(kubectl), prepend=os.pathsep)

    def run(schedulers, *flags, status=0, binary=build.program("kube-scheduler", "kubernetes")):
        words = []
        for name, config in schedulers:
            (tmp_path / f"{name}.config").write_text(config)
            words.append(f"{name}:{binary}:{tmp_path / name}.config")
        chosen = ["--runs=1", "--pace=10", f"--scenarios={tmp_path / 'busy.yaml'}", *flags]
        out = tmp_path / "out"
        done = complete(
            sys.executable, PROGRAM, out, *words, *chosen, status=status, env=env, timeout=300
        )
        return done.stdout if status == 0 else done.stderr

    return run


@pytest.mark.alone
def test_by_path_as_built_in(arena, tmp_path, figure):
    script, crd = tmp_path / "script.sh", tmp_path / "crd.yaml"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    crd.write_text(REPORTS)
    extras = {
        "metricsServer": True,
        "nodeMetrics": True,
        "apply": [str(crd)],
        "run": [f"{script} ARENA_KUBECONFIG ARENA_PROMETHEUS {tmp_path}"],
    }
    players = [("peer", f"{CONFIG}---\n{yaml.safe_dump(extras)}")]
    said = arena(players, "--only=default peer extender")
    found = [json.loads(path.read_text()) for path in (tmp_path / "out/busy").glob("*.json")]
    rows = {row["scheduler"]: row for row in found}
    assert set(rows) == {"default", "peer", "extender"}
    assert {(row["bound"], row["pods"], row["pace"]) for row in rows.values()} == {(30, 30, 10)}
    assert rows["peer"]["programs"] == rows["default"]["programs"]
    for level in ("mean", "hot"):  # pods may come some seconds late
        assert rows["peer"][level] == pytest.approx(rows["default"][level], rel=0.35), level
    assert {program["name"] for program in rows["extender"]["programs"]} == {
        *("kube-scheduler", "plimsoll-controller", "plimsoll-extender")
    }
    metrics, reports = (
        json.loads((tmp_path / f"{name}.json").read_text())["items"]
        for name in ("metrics", "reports")
    )
    assert len(metrics) == 6 and all(row["usage"]["memory"] != "0" for row in metrics)
    used = [
        pod["podUsage"]["resources"]["cpu"]
        for row in reports
        for pod in row["status"]["podsMetric"]
    ]
    assert len(reports) == 6 and used and "0m" not in used, reports
    line = r"\| busy \| 1 \| [\d.]+ \([\d. to]+\) \|( [\d.]+ ± 0.00 \([\d. to]+\) \|){2}"
    assert re.search(line, said), said
    assert (tmp_path / "out/table.md").read_text().strip() in said
    figure("; ".join(f"{name}: {row['hot']:.1f} hot node-minutes" for name, row in rows.items()))

    again = arena(players, "--only=default peer extender")
    assert "seed" not in again.partition("|")[0] and again.strip() in said, "it played again"
    # Another configuration is another scheduler; this one ends before it has begun.
    unknown = CONFIG.replace("another}", "another, plugins: {score: {enabled: [{name: NoSuch}]}}}")
    error = arena([("peer", unknown)], "--only=peer", status=1)
    assert "arena: peer: scheduler ended with" in error and "NoSuch" in error, error
    assert "Traceback" not in error


WANTS = f"{CONFIG}---\nrun: [/no/x -y]"


@pytest.mark.parametrize(
    "names, config, binary, flag, told",
    [
        ("one", CONFIG, "/nowhere", "--runs=1", "one: no program /nowhere"),
        ("one", CONFIG, "/etc/passwd", "--runs=1", "one: /etc/passwd is not executable"),
        ("one one", CONFIG, "/bin/true", "--runs=1", "one: two schedulers have this name"),
        ("default", CONFIG, "/bin/true", "--runs=1", "default: two schedulers have this name"),
        ("one", "a: [", "/bin/true", "--runs=1", "one.config: not YAML: while parsing"),
        ("one", "kind: Pod", "/bin/true", "--runs=1", "but Pod"),
        ("one", f"{CONFIG}---\nrun: x", "/bin/true", "--runs=1", "only metricsServer, apply, "),
        ("one", WANTS, "/bin/true", "--runs=1", "one.config wants /no/x, which is no file"),
        ("", "", "", "--scenarios=nothing", "nothing: no file of this name, and none of batch"),
        ("", "", "", "--only=nobody", "no scheduler is called nobody"),
    ],
)
def test_what_is_wrong(arena, names, config, binary, flag, told):
    error = arena([(name, config) for name in names.split()], flag, binary=binary, status=1)
    assert error.startswith("arena: ") and told in error, error


def test_configurations_of_peers():
    """Programs and manifests of other projects are not here; the arena understands the rest."""
    texts = {path.stem: read_config(path) for path in (TOP / "tests/e2e/peers").glob("*.yaml")}
    wants = {name for name, text in texts.items() if PROMETHEUS in text}
    assert len(texts) == 3 and wants == {"crane", "trimaran"}


def test_the_page_has_its_runs():
    """tests/data/arena.jsonl, a run in each line."""
    found = {}
    for line in (TOP / "tests/data/arena.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        place = found.setdefault(f"{row['scenario']}, pace {row['pace']:g}", {})
        place.setdefault(row["scheduler"], {})[row["seed"]] = row
    assert "\n".join(table(found)) in (TOP / "docs/arena.md").read_text("utf-8"), table(found)
