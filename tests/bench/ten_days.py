"""Draws and tabulates what tests/integration/test_both_ten_days.py measured: tests/bench/endurance.md.

    ten_days.py FILE     the ten-days.json in the log folder of that test
"""

import json
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "integration"))

from growth import DAY, WARM_DAYS, growth, lines_a_day  # noqa: E402
from panels import panels  # noqa: E402
from report import replace_between  # noqa: E402

PAGE = TOP / "tests" / "bench" / "endurance.md"
PICTURE = TOP / "tests" / "bench" / "endurance.svg"
MARKS = "<!-- ten days -->", "<!-- ten days end -->"
PROGRAMS = ("controller", "extender")
MEASURES = (
    ("memory (RSS), MiB", "rss_kib", 1024),
    ("open descriptors", "descriptors", 1),
    ("threads", "threads", 1),
)
LINES = "log lines a day"


def samples(rows, program, measure):
    return [row[program][measure] for row in rows]


def picture(rows):
    days = len(rows) // DAY
    drawn = []
    for title, measure, unit in MEASURES:
        curves = []
        for program in PROGRAMS:
            values = samples(rows, program, measure)
            curves.append((program, [(i / DAY, value / unit) for i, value in enumerate(values, 1)]))
        drawn.append((title, curves))
    lines = {program: lines_a_day(samples(rows, program, "log_lines")) for program in PROGRAMS}
    drawn.append((LINES, [(name, list(enumerate(counts, 1))) for name, counts in lines.items()]))
    ticks = [(day, f"day {day}") for day in range(2, days + 1, 2)]
    return panels(f"What the programs take in {days} days", drawn, days, ticks)


def table(rows):
    out = ["| | day 1 | day 3 | last day | a day, from day 3 on |", "| --- " * 5 + "|"]
    for program in PROGRAMS:
        series = [
            (title, [value / unit for value in samples(rows, program, measure)], DAY)
            for title, measure, unit in MEASURES
        ]
        series.append((LINES, lines_a_day(samples(rows, program, "log_lines")), 1))
        for title, values, per_day in series:
            found = growth(values[WARM_DAYS * per_day :], per_day)
            first = sorted(values[:per_day])[per_day // 2]
            out.append(
                f"| {program}, {title} | {first:.4g} | {found.first:.4g} | {found.last:.4g} "
                f"| {found.a_day:+.2g} |"
            )
    return "\n".join(out)


def main():
    rows = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="ascii"))
    print(table(rows))
    replace_between(PAGE, MARKS, table(rows))
    PICTURE.write_text(picture(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
