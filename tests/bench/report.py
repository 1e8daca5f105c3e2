"""Every comparison in one run: one result file, one table.

    report.py BUILD_DIRECTORY            all of it, at length, and tests/bench/results.md again
    report.py BUILD_DIRECTORY --sections tax   one section again; the others' rows are those of the
                                         last runs in that directory
    report.py BUILD_DIRECTORY --quick    three minutes; ends with 1 where each of three measurements
                                         is below a row's floor: 70% of its target, and with an
                                         extender 1.25 times of what the scheduler takes without

Each row is something that costs us so much and a peer, or a ceiling, so much; "better" is how many
times less ours is, and what the targets are of. Results go to BUILD_DIRECTORY/bench.json. A section
that has fewer rows than it should, since its peer could not be built, is a failure either way, and
no page is written; nor is one while a section was never measured at length.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
BENCH = TOP / "tests" / "bench"
PAGE = BENCH / "results.md"
MARKS = "<!-- bench -->", "<!-- bench end -->"
PYTHON = "/usr/bin/python3"
MISSING = 77
FLOOR_SHARE, QUICK_TRIES = 0.7, 3
MOST_TIMES_NO_EXTENDER = 1.25


def row(name, unit, ours, peer, peer_name, target=None, floor=None):
    return {
        "name": name,
        "unit": unit,
        "ours": ours,
        "peer": peer,
        "peer_name": peer_name,
        "better": peer / ours,
        "target": target,
        "floor": floor or FLOOR_SHARE * (target or 0),
    }


def run(argv, **environment):
    """What it prints; None where it says that the machine lacks something."""
    done = subprocess.run(
        [str(part) for part in argv],
        cwd=TOP, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    sys.stdout.write(done.stdout)
    sys.stdout.flush()
    if done.returncode == MISSING:
        return None
    if done.returncode != 0:
        sys.exit(f"{argv[0]} ended with {done.returncode}")
    return done.stdout


def extender(build, quick):
    out = build / "bench-extender.json"
    # 5,000 whole nodes make Go collect garbage or not: the ratio is anything from 15 to 50.
    small = {"REPETITIONS": "1", "WITHOUT": "nodes-5000"} if quick else {}
    if not run([BENCH / "extender_peer.sh", build, out], **small):
        return []
    rows = []
    for shape in json.loads(out.read_text(encoding="utf-8")):
        kind, _, count = shape["body"].partition("-")
        name = f"{shape['verb']}, {int(count):,} {'names' if kind == 'names' else 'whole nodes'}"
        # CPU time, since the clock's says more about how busy the machine is.
        ours, go = shape["ours"]["cpu_us"], shape["Go"]["cpu_us"]
        target = 25 if kind == "nodes" else 8 if count == "500" else 10
        rows.append(row(f"{name}, CPU", "us", ours, go, "Go", target))
    return rows


def exposition(build, _):
    text = run([BENCH / "exposition.sh", build])
    if not text:
        return []
    ours = {
        (page, kind): float(us)
        for page, block in re.findall(r"^page (\w+), .*\n((?:  .*\n)+)", text, re.MULTILINE)
        for kind, us in re.findall(r"^  (\S.*?) +([\d.]+) us", block, re.MULTILINE)
    }
    rows = []
    for page, us in dict(re.findall(r"^expfmt (\w+): ([\d.]+) us", text, re.MULTILINE)).items():
        for kind, target in (("skim", 60), ("every line strictly", 25)):
            name = f"exporter's page {page}, {kind}"
            rows.append(row(name, "us", ours[page, kind], float(us), "expfmt", target))
    return rows


def is_kubernetes_built():
    return subprocess.run([TOP / "tests/e2e/tools/build.py"], check=False).returncode == 0


def tax(build, quick):
    out = build / "bench-tax.json"
    argv = [TOP / "tests/e2e/sandbox", PYTHON, BENCH / "tax.py", build, "--out", out]
    if quick:
        argv += ["--nodes", "1000", "--sampling", "default", "--peers", "none;ours"]
        argv += ["--rounds", "2", "--pods", "300"]
    if not is_kubernetes_built():
        return []
    run(argv)
    found = json.loads(out.read_text(encoding="utf-8"))["rows"]
    rows = []
    for one in found:
        ours = one["scheduler_ms"][0]
        place = f"{one['nodes']:,} nodes, sampling {one['sampling']}"
        for other in found:
            same = (other["nodes"], other["sampling"]) == (one["nodes"], one["sampling"])
            if not same or other["peer"] not in ("none", "Go"):
                continue
            name, peer = f"scheduler's CPU, {place}", other["scheduler_ms"][0]
            if (one["peer"], other["peer"]) == ("ours, crane's policy", "none"):
                rows.append(row(f"{name}, crane's policy", "ms", ours, peer, "no extender"))
            if one["peer"] != "ours":
                continue
            if other["peer"] == "Go":
                rows.append(row(name, "ms", ours, peer, "Go extender"))
                continue
            target = {"default": 1 / 1.15, "100": 1 / 0.95}[one["sampling"]]
            floor = 1 / MOST_TIMES_NO_EXTENDER
            rows.append(row(name, "ms", ours, peer, "no extender", target, floor))
    return rows


def controller(build, quick):
    """At length only: Prometheus needs minutes until it is under way."""
    if quick or not shutil.which("prometheus"):
        return []
    out = build / "bench-controller.json"
    options = ["--nodes", "1000", "--rounds", "3", "--prometheus", "--out", out]
    run([PYTHON, BENCH / "controller_cost.py", build, *options])
    (found,) = json.loads(out.read_text(encoding="utf-8"))
    ours, peer = found["this"], found["Prometheus"]
    name = f"controller, {found['nodes']:,} nodes every 15 s"
    cpu = row(f"{name}, CPU", "ms/s", ours["share"] * 1e3, peer["share"] * 1e3, "Prometheus", 8)
    return [cpu, row(f"{name}, memory", "MiB", ours["mib"], peer["mib"], "Prometheus", 20)]


# How many rows each has, and with --quick.
SECTIONS = {
    extender: (6, 5),
    exposition: (4, 4),
    controller: (2, 0),
    tax: (12, 1),
}


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*: (.*)", file.read()).group(1)
    return f"{os.cpu_count()} cores, {model}"


def figure(value):
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def times(value):
    return f"{value:.0f}x" if value >= 10 else f"{value:.2g}x"


def table(rows):
    lines = ["| what | ours | peer | better by | target |", "| --- | --- | --- | --- | --- |"]
    for one in rows:
        target = f"{one['target']:.2g}x" if one["target"] else ""
        lines.append(
            f"| {one['name']} | {figure(one['ours'])} {one['unit']} | {one['peer_name']}: "
            f"{figure(one['peer'])} {one['unit']} | {times(one['better'])} | {target} |"
        )
    return "\n".join(lines)


def replace_between(path, marks, text):
    before, _, rest = path.read_text(encoding="utf-8").partition(marks[0])
    after = rest.partition(marks[1])[2]
    path.write_text(f"{before}{marks[0]}\n{text}\n{marks[1]}{after}", encoding="utf-8")


def write_page(rows):
    replace_between(PAGE, MARKS, f"Machine: {machine()}.\n\n{table(rows)}")


def misses(rows):
    return [one for one in rows if one["better"] < one["floor"]]


def measure(section, options):
    """Its rows; of a quick one that is below a floor, the best of some tries."""
    rows = section(options.build, options.quick)
    for _ in range(QUICK_TRIES - 1):
        if not options.quick or not misses(rows):
            break
        print(f"\n== {section.__name__} once more, since it is below a floor", flush=True)
        pairs = zip(rows, section(options.build, True), strict=True)
        rows = [max(pair, key=lambda one: one["better"]) for pair in pairs]
    return rows


def measure_all(options):
    """({name of a section: its rows}, the names of sections that lack some)"""
    rows, lacking = {}, []
    for section, counts in SECTIONS.items():
        name = section.__name__
        if name in options.sections.split(",") and counts[options.quick]:
            print(f"\n== {name}", flush=True)
            rows[name] = measure(section, options)
            if len(rows[name]) < counts[options.quick]:
                lacking.append(f"{name}: {len(rows[name])} of {counts[options.quick]} rows")
    return rows, lacking


def with_last(path, measured):
    """The sections that were just measured, and the others as @path has them."""
    last = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return last.get("sections", {}) | measured


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sections", default=",".join(one.__name__ for one in SECTIONS))
    return parser.parse_args()


def main():
    options = parse_arguments()
    measured, lacking = measure_all(options)
    rows = [row for found in measured.values() for row in found]
    print(f"\n{table(rows)}")
    for said in lacking:
        print(f"not measured: {said}")
    low = misses(rows) if options.quick else []
    for one in low:
        print(f"below its floor: {one['name']}: {one['better']:.2f}x of {one['floor']:.2f}x")
    if not options.quick and not lacking:
        path = options.build / "bench.json"
        sections = with_last(path, measured)
        path.write_text(json.dumps({"sections": sections}, indent=1), encoding="utf-8")
        if len(sections) == len(SECTIONS):
            write_page([row for section in SECTIONS for row in sections[section.__name__]])
    return 1 if low or lacking else 0


if __name__ == "__main__":
    sys.exit(main())
