"""What the tests reach of each library: lines and branches, by the counts that gcov left in a build.

    coverage.py BUILD             prints a table; writes the same line by line, BUILD/coverage/index.html
    coverage.py BUILD --compare   and fails where a library is below its row in coverage.txt
    coverage.py BUILD --update    and writes that file

The build is gcc's, with -Db_coverage=true and without optimization; the tests have run. A program
that is killed, or aborts, leaves no counts. What is left out, since no test could count it:

  - assertions: a branch that is taken there is a fault, and ends the program
  - mem_exhausted() and abort(), and the branches that lead there: they end the program, so no
    counts are left; tests/integration/test_both_allocation_faults.py makes allocations fail
  - of a switch without a default the way past all cases: the compiler has checked that each value
    of the enum has a case
  - the loops of jansson, which ask for a key and for its value, as if there were one without
"""

import collections
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
FILE = TOP / "tests" / "tools" / "coverage.txt"
FOLDERS = ("common", "policy", "controller", "extender", "cli")
END_OF_PROGRAM = r"\s*(mem_exhausted\(\)|abort\(\));"
ASSERTION_OR_FOREACH = r"\s*(assert|json_(object|array)_foreach) ?\("
# Two runs do not race in the same way: so many branches or lines of a library may be missed once.
TOLERANCE_PERCENT = 0.1
TOLERANCE_COUNT = 2


def gcovr(*arguments):
    argv = ["gcovr", "--root", str(TOP), "-j", str(os.cpu_count() or 2), *map(str, arguments)]
    subprocess.run(argv, cwd=TOP, check=True)


def leave_out(file):
    """Remove what gcovr cannot recognise by one line."""
    text = (TOP / file["file"]).read_text(encoding="utf-8").splitlines()
    lines = {line["line_number"]: line for line in file["lines"]}
    leave_out_ways_to_the_end(text, lines)
    leave_out_ways_past_all_cases(text, lines)


def leave_out_ways_past_all_cases(text, lines):
    for number, row in enumerate(text, 1):
        if not re.match(r"\s*switch \(", row) or number not in lines:
            continue
        indent = row[: len(row) - len(row.lstrip())]
        cases = itertools.takewhile(lambda line, end=indent + "}": line != end, text[number:])
        branches = lines[number]["branches"]
        if indent + "default:" not in cases and branches and not branches[-1]["count"]:
            branches.pop()


def leave_out_ways_to_the_end(text, lines):
    """The branches never taken of each `if` whose body ends the program."""
    for body in (i for i, row in enumerate(text) if re.match(END_OF_PROGRAM, row)):
        start = body - 1
        while not re.search(r"\bif \(", text[start]) and start > body - 6:
            start -= 1
        for number in range(start + 1, body + 1):
            if number in lines:
                taken = [branch for branch in lines[number]["branches"] if branch["count"]]
                lines[number]["branches"] = taken


class Figures:
    def __init__(self):
        self.lines = self.lines_missed = self.branches = self.branches_missed = 0

    def add(self, file):
        for line in file["lines"]:
            if line["gcovr/noncode"] or line["gcovr/excluded"]:
                continue
            self.lines += 1
            self.lines_missed += not line["count"]
            self.branches += len(line["branches"])
            self.branches_missed += sum(not branch["count"] for branch in line["branches"])

    def percent(self):
        return (
            100 - 100 * self.lines_missed / max(self.lines, 1),
            100 - 100 * self.branches_missed / max(self.branches, 1),
        )

    def below(self, on_file):
        """Whether this is less than a row on file, by more than two runs differ."""
        totals = (self.lines, self.branches)
        return any(
            now < before - max(TOLERANCE_PERCENT, 100 * TOLERANCE_COUNT / max(total, 1))
            for now, before, total in zip(self.percent(), on_file, totals)
        )


def measure(build):
    """{library: Figures}, `all` last; writes the pages."""
    counts, pages = build / "coverage.json", build / "coverage"
    left_out = ["--exclude-lines-by-pattern", END_OF_PROGRAM]
    left_out += ["--exclude-branches-by-pattern", ASSERTION_OR_FOREACH]
    # Functions of headers are compiled into the tests as well.
    own = [part for folder in FOLDERS for part in ("--filter", f"{folder}/")]
    objects = [build / folder for folder in (*FOLDERS, "tests/unit")]
    # gcov infers some counts from others, and gets negative ones where a child of fork() ends by
    # exec or _exit().
    gcovr("--gcov-ignore-parse-errors", "--json", counts, *left_out, *own, *objects)
    report = json.loads(counts.read_text(encoding="utf-8"))
    found, everything = collections.defaultdict(Figures), Figures()
    for file in report["files"]:
        leave_out(file)
        found[os.path.dirname(file["file"])].add(file)
        everything.add(file)
    counts.write_text(json.dumps(report), encoding="utf-8")
    pages.mkdir(exist_ok=True)
    gcovr("--add-tracefile", counts, "--html-details", pages / "index.html")
    return {name: found[name] for name in sorted(found)} | {"all": everything}


def on_file():
    rows = [row.split() for row in FILE.read_text(encoding="utf-8").splitlines()[1:]]
    return {name: (float(lines), float(branches)) for name, lines, branches in rows}


def table(found):
    yield f"{'library':32} lines % branches %"
    for name, figures in found.items():
        lines, branches = figures.percent()
        yield f"{name:32} {lines:7.1f} {branches:10.1f}"


def main():
    found = measure(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(table(found)))
    if sys.argv[2:] == ["--update"]:
        FILE.write_text("\n".join(table(found)) + "\n", encoding="utf-8")
    if sys.argv[2:] != ["--compare"]:
        return 0
    before = on_file()
    worse = [name for name in found if name in before and found[name].below(before[name])]
    for name in worse:
        print(f"{name}: below what is on file, {before[name][0]} and {before[name][1]} %")
    for name in found.keys() ^ before.keys():
        print(f"{name}: not on file, or no longer there: tests/tools/coverage.py BUILD --update")
    return 1 if worse or found.keys() != before.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
