"""docs/placement.md, results.md, and the bounds of `make check`: neither can be stale."""

import json
import os
import pathlib
import re
import sys

import pytest
from pages import TOP

sys.path.insert(0, str(TOP / "tests" / "placement"))
import experiments  # the folder of the simulator has to be in the path first
import fingerprint
import gates
import ratios
import runs
import tables
import traces

BUILD = pathlib.Path(os.environ["PLIMSOLL_RELEASE_DIR"])


def left(**hot):
    """What algorithms have left in a scenario; `hot` has {algorithm: node-minutes of each seed}."""
    rows = {
        name: {
            "hotNodeMinutes": seeds,
            "throttledCoreSeconds": seeds,
            "pendingPods": [0] * len(seeds),
            "estimateErrorPercent": seeds,
        }
        for name, seeds in hot.items()
    }
    return ratios.Left("loop", rows, "")


def test_sets_of_seeds_do_not_overlap():
    sets = [set(seeds) for seeds in (runs.TUNING, runs.PAGE, runs.GATES)]
    assert len(set.union(*sets)) == sum(map(len, sets))
    assert len(runs.PAGE) >= 12 and len(runs.GATES) >= 12


@pytest.mark.parametrize(
    "estimate, crane, said",
    [
        ([50, 50], [90, 90], "better"),
        ([90, 90], [50, 50], "worse"),
        ([50, 50], [54, 54], "level"),  # by less than matters
        ([50, 50], [40, 90], "level"),  # by less than chance
        ([20, 80], [40, 100], "better"),  # on the same draws, however different they are
    ],
)
def test_verdict_needs_both(estimate, crane, said):
    found = left(default=[100, 100], estimate=estimate, crane=crane)
    assert ratios.verdict(found, "estimate", "crane") == said


def test_page_has_a_place_for_each_table_and_each_is_written():
    texts = [page.read_text(encoding="utf-8") for page in fingerprint.PAGES]
    places = [re.findall(r"<!-- placement: ([\w-]+) -->", text) for text in texts]
    assert sorted(places[0]) == sorted(tables.PAGE_PLACES)
    assert sorted(places[1]) == sorted(tables.APPENDIX_PLACES)
    assert all(block.strip() for text in texts for block in fingerprint.BLOCK.findall(text))


def test_tables_are_not_mended_by_hand():
    """The simulations behind them are repeated in `make check`, by gates.py."""
    told = fingerprint.PATH.read_text(encoding="utf-8").splitlines()
    assert told[1] == f"page {fingerprint.page_digest()}", fingerprint.STALE
    scenarios = {line.partition(" ")[0] for line in told[2:]}
    assert scenarios == {path.stem for path in runs.scenarios() if not traces.needed(path)}


@pytest.fixture(name="small_fingerprint")
def small_fingerprint_fixture(tmp_path, monkeypatch):
    """Of one quick scenario."""
    monkeypatch.setattr(runs, "scenarios", lambda: [experiments.path_of("burst50")])
    path = tmp_path / "fingerprint.txt"
    told = fingerprint.PATH.read_text(encoding="utf-8").splitlines()
    lines = [*told[:2], *(line for line in told if line.startswith("burst50 "))]
    path.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(fingerprint, "PATH", path)
    return path


def test_page_of_other_code_is_stale(small_fingerprint):
    assert fingerprint.differences(BUILD) == [] or fingerprint.is_other_libm()
    text = small_fingerprint.read_text(encoding="utf-8")
    small_fingerprint.write_text(re.sub(r"(burst50 estimate) \S+", r"\1 1", text), encoding="utf-8")
    lines = fingerprint.differences(BUILD)
    assert any(line.startswith("now burst50 estimate ") for line in lines)
    assert any(line.startswith("was burst50 estimate 1 ") for line in lines)


def test_every_gate_has_a_bound():
    bounds = json.loads(gates.BOUNDS.read_text(encoding="utf-8"))
    names = {gate.name for gate in gates.all_gates(BUILD)}
    assert names <= set(bounds), "gates.py BUILD --measure"
    gone = {name for name in set(bounds) - names if not name.startswith("replay-")}
    assert not gone, "a bound of nothing"


def test_claims_about_parts_and_peers_can_fail():
    """Without the part, or with a peer that is as good, the figure is 1. One is of preferred nodes."""
    bounds = json.loads(gates.BOUNDS.read_text(encoding="utf-8"))
    claims = {name: row for name, row in bounds.items() if "-of-" in name}
    assert len(claims) == len(gates.PARTS) + len(runs.rivals(BUILD)) + 1
    assert not [name for name, row in claims.items() if gates.is_idle(name, row)]


def test_bound_is_three_errors_away():
    assert gates.bound_of(ratios.Measured(0.4, 0.02), 24, 24) == 0.46
    assert gates.bound_of(ratios.Measured(0.4, 0.02), 24, 6) == 0.52
    assert gates.bound_of(ratios.Measured(0.4, 0.0), 24, 24) == 0.42


def test_bounds_follow_from_what_was_measured():
    """None is loosened by hand, nor made for other numbers of seeds. Values there are rounded."""
    bounds = json.loads(gates.BOUNDS.read_text(encoding="utf-8"))
    for gate in gates.all_gates(BUILD):
        row = bounds[gate.name]
        expected = gates.described(gate, ratios.Measured(row["value"], row["error"]))
        assert row == {name: pytest.approx(value, abs=0.0011) for name, value in expected.items()}


def test_gate_above_its_bound_fails(capsys):
    gate = gates.Gate("loop.x", (("loop", ()),), lambda left: left.measured("estimate"))
    lefts = {("loop", ()): left(default=[10, 10], estimate=[5, 5])}
    results = gates.Results()
    gates.hold(gate, {"bound": 0.4, "quickBound": 0.6}, False, lefts, results)
    assert results.failed == 0
    gates.hold(gate, {"bound": 0.4, "quickBound": 0.6}, True, lefts, results)
    assert results.failed == 1 and "FAILED loop.x: 0.500 ± 0.000" in capsys.readouterr().out
    assert [len(case) for case in results.suite] == [0, 1]
