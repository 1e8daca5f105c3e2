#!/usr/bin/python3
"""Simulates every scenario, and writes all figures and plots of docs/placement.md from what comes out (but for
those of idle.py), and the README's one figure.

    page.py BUILD              half an hour on two processors; one that was stopped goes on
    page.py BUILD --again      write the page from what the last run measured
    page.py BUILD --quick OUT  few seeds of everything, and the page into the folder OUT: to try this

What is made stands between `<!-- placement: NAME -->` and `<!-- end -->`; all else there is written
by hand, and has no figure of the simulator. It also writes fingerprint.txt (fingerprint.py), by which
`make check` sees that the page is not of today's code.
"""

import json
import pathlib
import re
import shutil
import sys
import time

import experiments
import fingerprint
import plot
import runs
import tables

PAGE = experiments.TOP / "docs" / "placement.md"
README = experiments.TOP / "README.md"
QUICK_SEEDS = 2
PLACE = r"(<!-- placement: {} -->\n).*?(<!-- end -->)"


def replace(text, name, content):
    found = re.compile(PLACE.format(name), re.DOTALL)
    assert found.search(text), f"no place for {name}"
    return found.sub(lambda match: f"{match[1]}\n{content}\n{match[2]}", text)


def write_page(page, results, places=tables.PLACES):
    text = page.read_text(encoding="utf-8")
    for name, make in places.items():
        if name == "recorded" and not tables.recorded_load(results):
            print("  no recordings: their table stays as it was, all else is without", flush=True)
            continue
        text = replace(text, name, make(results))
    page.write_text(text, encoding="utf-8")


def write_plots(folder, results):
    folder.mkdir(exist_ok=True)
    ideals = [name for name in runs.IDEALS]
    rows = {}
    for group, title in (("peers", "situations"), ("recorded", "recorded load")):
        if group in results.lefts:
            rows[title] = {}
            for left in results.of(group):
                rows[left.scenario] = {name: left.measured(name) for name in results.main()}
    svg = plot.dots("Left of the default scheduler's hot node-minutes", rows, runs.OURS, ideals)
    (folder / "hot.svg").write_text(svg, encoding="utf-8")
    svg = plot.bars(
        "Hot node-minutes without a part, relative to all of them", tables.part_factors(results)
    )
    (folder / "parts.svg").write_text(svg, encoding="utf-8")


def measured_by(build, seeds, kept):
    """Measured anew and kept; the last ones when there are no @seeds."""
    if seeds:
        kept.write_text(json.dumps(experiments.measure(build, seeds)), encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def quick_page(build, out):
    out.mkdir(exist_ok=True)
    kept = build / "placement-quick.json"
    results = tables.Results(measured_by(build, runs.TUNING[:QUICK_SEEDS], kept))
    page = pathlib.Path(shutil.copy(PAGE, out))
    write_page(page, results)
    write_plots(out / "placement", results)
    return page


def whole_page(build, is_again):
    measured = measured_by(build, None if is_again else runs.PAGE, build / "placement.json")
    results = tables.Results(measured)
    write_page(PAGE, results)
    write_page(README, results, tables.README_PLACES)
    write_plots(PAGE.with_suffix(""), results)
    fingerprint.write(build, measured)
    return PAGE


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[1:] not in ([], ["--again"], ["--quick", arguments[-1]]):
        print(__doc__)
        return 2
    started_s = time.monotonic()
    build = pathlib.Path(arguments[0]).resolve()
    if "--quick" in arguments:
        page = quick_page(build, pathlib.Path(arguments[2]))
    else:
        page = whole_page(build, "--again" in arguments)
    print(f"{page}: {time.monotonic() - started_s:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
