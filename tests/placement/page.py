#!/usr/bin/python3
"""Simulates every scenario, and writes all figures and plots of docs/placement.md and of results.md from what comes
out, and the README's line.

    page.py BUILD              an hour on two processors; one that was stopped goes on
    page.py BUILD --again      write the page from what the last run measured
    page.py BUILD --quick OUT  few seeds of everything, and the pages into the folder OUT: to try this

It needs every recording (traces.md). What is made stands between `<!-- placement: NAME -->` and `<!-- end -->`; all else there is written
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
import ratios
import runs
import tables
import traces

PAGE = experiments.TOP / "docs" / "placement.md"
APPENDIX = runs.HERE / "results.md"
README = experiments.TOP / "README.md"
PAGE_PLOTS = ("families", "loads")
QUICK_SEEDS = 2
PLACE = r"(<!-- placement: {} -->\n).*?(<!-- end -->)"


def replace(text, name, content):
    found = re.compile(PLACE.format(name), re.DOTALL)
    assert found.search(text), f"no place for {name}"
    return found.sub(lambda match: f"{match[1]}\n{content}\n{match[2]}", text)


def write_page(page, results, places):
    text = page.read_text(encoding="utf-8")
    for name, make in places.items():
        text = replace(text, name, make(results))
    page.write_text(text, encoding="utf-8")


def write_plots(folder, appendix_folder, results):
    folder.mkdir(exist_ok=True)
    lefts, ideals = results.of("situations"), runs.IDEALS
    shown = [*tables.SHOWN, runs.BY_ADMISSION, runs.OURS, "oracle"]
    families = {
        f"{tables.FAMILIES[family]}": {name: ratios.geometric(group, name) for name in shown}
        for family, group in ratios.by_family(lefts).items()
    }
    title = "hot minutes, relative to the default scheduler's"
    plots = {
        "families": plot.dots(title, families, runs.OURS, ideals),
        "situations": plot.dots(
            title,
            {left.scenario: {name: left.measured(name) for name in shown} for left in lefts},
            runs.OURS,
            ideals,
        ),
        "loads": plot.curves(
            title,
            tables.load_curves(results),
            (
                (30, 40, 50, 60, 70, 80),
                (0, 0.25, 0.5, 0.75, 1, 1.25),
                ("mean CPU usage of the cluster", "hot minutes, default: 1"),
                "{:.0f}%",
            ),
            runs.OURS,
            ideals,
        ),
    }
    for name, svg in plots.items():
        of_page = folder if name in PAGE_PLOTS else appendix_folder
        (of_page / f"{name}.svg").write_text(svg, encoding="utf-8")


def measured_by(build, seeds, kept):
    """Measured again and kept; the last ones when there are no @seeds."""
    if seeds:
        kept.write_text(json.dumps(experiments.measure(build, seeds)), encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def quick_page(build, out):
    out.mkdir(exist_ok=True)
    kept = build / "placement-quick.json"
    results = tables.Results(measured_by(build, runs.TUNING[:QUICK_SEEDS], kept))
    pages = [pathlib.Path(shutil.copy(page, out)) for page in (PAGE, APPENDIX)]
    write_page(pages[0], results, tables.PAGE_PLACES)
    write_page(pages[1], results, tables.APPENDIX_PLACES)
    write_plots(out / "placement", out, results)
    return pages[0]


def whole_page(build, is_again):
    measured = measured_by(build, None if is_again else runs.PAGE, build / "placement.json")
    results = tables.Results(measured)
    write_page(PAGE, results, tables.PAGE_PLACES)
    write_page(APPENDIX, results, tables.APPENDIX_PLACES)
    write_page(README, results, tables.README_PLACES)
    write_plots(PAGE.with_suffix(""), APPENDIX.parent, results)
    fingerprint.write(build, measured)
    return PAGE


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[1:] not in ([], ["--again"], ["--quick", arguments[-1]]):
        print(__doc__)
        return 2
    lacking = [traces.missing(path) for path in runs.scenarios() if traces.missing(path)]
    if lacking:
        print(f"  {lacking[0]}", file=sys.stderr)
        return 1
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
