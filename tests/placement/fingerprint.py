"""Whether docs/placement.md is of today's code: one draw of each scenario, simulated again.

page.py writes fingerprint.txt from what it measured: of the page's first seed, what the default
scheduler and the estimate come to in each scenario, and in a few quick ones every peer, every part and everybody who evicts.
The check simulates just these, and compares exactly. So a refactoring passes, and whatever changes a
placement, a load or a figure does not.

A line is a scenario, an algorithm, its hot node-minutes, and a digest of all its figures. The line
`page` has a digest of what is made on the page and in results.md, so that no table is changed by hand. The line `libm`
tells how this machine's mathematical functions round: on another one the last digit of a load may
differ, and with it everything that follows. Recorded load is left out, since a machine may not have the
recordings.
"""

import re

import experiments
import runs
import traces

PATH = runs.HERE / "fingerprint.txt"
PAGES = [experiments.TOP / "docs" / "placement.md", runs.HERE / "results.md"]
QUICK = ("loop", "stale")  # every peer
QUICK_PARTS = ("loop", "stale", "clumps")
QUICK_EVICTING = ("steps",)
STALE = "docs/placement.md is stale: run `make placement`, which writes it again"
OTHER_LIBM = "this machine's libm rounds otherwise than the one that wrote fingerprint.txt"
BLOCK = re.compile(r"<!-- placement: [\w-]+ -->\n(.*?)<!-- end -->", re.DOTALL)


def page_digest():
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    return runs.digest_of("".join(block for text in texts for block in BLOCK.findall(text)))


def wanted(build):
    """[(scenario's path, algorithms)] that are simulated again."""
    peers = runs.of_kind(build, "peer", "variant")
    for path in runs.scenarios():
        if traces.needed(path):
            continue
        names = peers if path.stem in QUICK else [runs.BASELINE, runs.OURS]
        parts = experiments.PARTS if path.stem in QUICK_PARTS else ()
        evicting = experiments.EVICTING if path.stem in QUICK_EVICTING else ()
        yield path, tuple([*names, *parts, *evicting])


def line_of(scenario, algorithm, row):
    """Of the first of the seeds that @row has."""
    first = {metric: seeds[0] for metric, seeds in sorted(row.items())}
    return f"{scenario} {algorithm} {first['hotNodeMinutes']:g} {runs.digest_of(repr(first))}"


def write(build, measured):
    """After the page: @measured is what experiments.measure() returned"""
    groups = measured["groups"]
    lines = [f"libm {measured['libm']}", f"page {page_digest()}"]
    for path, names in wanted(build):
        rows = {}
        for group in ("situations", "parts", "evictions"):
            rows.update(groups[group].get(path.stem, {}))
        lines += [line_of(path.stem, name, rows[name]) for name in names]
    PATH.write_text("\n".join([*lines, ""]), encoding="utf-8")


def differences(build):
    """What is not as it was: lines of text."""
    told = PATH.read_text(encoding="utf-8").splitlines()
    again = [runs.Run(path, runs.PAGE[:1], names) for path, names in wanted(build)]
    found = []
    for run, rows in zip(again, runs.simulate_all(build, again, has_progress=False), strict=True):
        found += [line_of(run.scenario, name, row) for name, row in rows.items()]
    lines = [f"now {line}" for line in found if line not in told]
    lines += [f"was {line}" for line in told[2:] if line not in found]
    if told[1] != f"page {page_digest()}":
        lines.append("what is made on the page was changed by hand")
    return lines


def is_other_libm():
    return PATH.read_text(encoding="utf-8").splitlines()[0] != f"libm {runs.libm()}"
