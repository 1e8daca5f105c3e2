"""What makes the quick bench red: a row below its floor, and a row that is not there."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import report  # the folder of benchmarks has to be in the path first


@pytest.fixture(name="bench")
def bench_fixture(tmp_path, monkeypatch):
    """bench({section: "better" of its rows}): the exit status; the targets are 10, the floors 7."""

    def bench(measured, *arguments, counts=(1, 1)):
        def section(name):
            def rows(_build, _quick):
                return [report.row(name, "us", 1, times, "peer", 10) for times in measured[name]]

            rows.__name__ = name
            return rows

        monkeypatch.setattr(report, "SECTIONS", {section(name): counts for name in measured})
        monkeypatch.setattr(sys, "argv", ["report.py", str(tmp_path), *arguments])
        monkeypatch.setattr(report, "write_page", written.append)
        return report.main()

    written = bench.written = []
    return bench


def test_quick_is_green_down_to_the_floor(bench):
    assert bench({"one": [7.1], "two": [10]}, "--quick") == 0
    assert not bench.written


def test_quick_is_red_below_a_floor(bench, capsys):
    assert bench({"one": [6.9], "two": [10]}, "--quick") == 1
    said = capsys.readouterr().out
    assert "below its floor: one: 6.90x of 7.00x" in said and said.count("one once more") == 2


def test_quick_is_red_when_nothing_is_measured(bench, capsys):
    """The Go peer, or Kubernetes, could not be built."""
    assert bench({"one": [], "two": [10]}, "--quick") == 1
    assert "not measured: one: 0 of 1 rows" in capsys.readouterr().out


def test_page_is_written_whole_or_not_at_all(bench):
    assert bench({"one": [10], "two": []}) == 1 and not bench.written
    assert bench({"one": [10], "two": [1]}) == 0 and len(bench.written[0]) == 2
