#!/usr/bin/python3
"""Writes recorded series in the simulator's format (traces.md).

    traces.py OUT       OUT/NAME.trace of each source that the folder PLIMSOLL_TRACES has

traces.md says where the sources come from, and how they stand in that folder. The output names each
source that differs from the recording of the published figures.
"""

import hashlib
import itertools
import lzma
import os
import pathlib
import re
import sys
import threading

TOP = pathlib.Path(__file__).resolve().parents[2]
STEP_S = 300
WRITING = threading.Lock()
UNIT_MILLICORES = 1000  # of 100%, where a source has only shares of something unnamed


def folder():
    """Where the sources are looked for; it need not exist."""
    named = os.environ.get("PLIMSOLL_TRACES")
    return pathlib.Path(named) if named else TOP.parent / "shared" / "data" / "traces"


def run_lengths(values):
    runs = ((value, len(list(same))) for value, same in itertools.groupby(values))
    return ",".join(f"{value}x{count}" if count > 1 else f"{value}" for value, count in runs)


def line(workload, request, step, cpu, **more):
    """One series; `used` is a list, all else of `more` a number."""
    used = more.pop("used", None)
    fields = {"workload": re.sub(r"\s", "-", workload), "request": request, "step": step, **more}
    fields["cpu"] = run_lengths(cpu)
    if used:
        fields["used"] = run_lengths(used)
    return " ".join(f"{name}={value}" for name, value in fields.items()) + "\n"


def repacked(path):
    """Fields of each line."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for text in lines:
            if not text.startswith("#"):
                yield text.rstrip("\n").split(",")


def digest(path):
    """SHA-256 of its lines, without comments."""
    with lzma.open(path) as text:
        return hashlib.sha256(re.sub(rb"^#.*\n", b"", text.read(), flags=re.M)).hexdigest()


def filled(texts):
    """Numbers; a reading that is missing is as the one before it, or as the first."""
    values = list(itertools.accumulate(texts, lambda last, text: text or last))
    first = next((text for text in values if text), "0")
    return [int(text or first) for text in values]


def planetlab(path):
    """day, host, slice, percentages"""
    for _, _, workload, *percentages in repacked(path):
        cpu = [int(text) * UNIT_MILLICORES // 100 for text in percentages]
        yield line(workload, UNIT_MILLICORES, STEP_S, cpu)


def bitbrains(path):
    """vm, cpu, cores, MHz, start, tenths of a percent; and vm, mem, KiB, start, MiB"""
    lines = repacked(path)
    for (name, _, cores, _, _, *tenths), (_, _, kib, _, *mib) in zip(lines, lines, strict=True):
        if int(cores) > 0:
            cpu, used = [int(cores) * tenth for tenth in filled(tenths)], filled(mib)
            more = {"memory": int(kib) // 1024, "used": used}
            yield line(f"vm-{name}", 1000 * int(cores), STEP_S, cpu, **more)


def surf(path):
    """job, submitted, duration, cores, MB, run lengths of tenths of a percent"""
    for job, submitted, duration, cores, _, *runs in repacked(path):
        pairs = (run.partition("x") for run in runs)
        cpu = [int(value) * int(cores) for value, _, times in pairs for _ in range(int(times or 1))]
        times = {"arrives": submitted, "lasts": duration}
        yield line(f"job-{job}", 1000 * int(cores), 30, cpu, **times)


def google(path):
    """job, day, cpu or mem, percentages"""
    for job, _, kind, *percentages in repacked(path):
        if kind == "cpu":
            cpu = [round(float(text) * UNIT_MILLICORES / 100) for text in percentages]
            yield line(f"job-{job}", UNIT_MILLICORES, STEP_S, cpu)


def azure(path):
    """vm, tenths of a percent"""
    for name, *tenths in repacked(path):
        yield line(name, UNIT_MILLICORES, STEP_S, filled(tenths))


# Name of the trace: its file in the folder, and what reads it.
SOURCES = {
    "planetlab": ("planetlab-2011-cpu-5min.csv.xz", planetlab),
    "bitbrains": ("bitbrains-rnd-2013-7-cpu-mem-5min.csv.xz", bitbrains),
    "bitbrains_august": ("bitbrains-rnd-2013-8-cpu-mem-5min.csv.xz", bitbrains),
    "azure": ("azure-2017-vm-cpu-5min.csv.xz", azure),
    "surf": ("surf-2022-week-jobs-cpu-30s.csv.xz", surf),
    "google": ("google-2011-jobs-cpu-mem-5min.csv.xz", google),
}


def source_of(name):
    return folder() / SOURCES[name][0]


def digests():
    """{name: digest()} of the recordings of the published figures, from traces.md"""
    page = pathlib.Path(__file__).with_name("traces.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\w+)` \| .* \| `([0-9a-f]{64})` \|$", page, re.M))


def available():
    """Names of the traces that can be replayed here."""
    return [name for name in SOURCES if source_of(name).exists()]


def needed(scenario):
    """Names of the traces that a scenario's file replays."""
    return re.findall(r"\btrace: *(\w+)", scenario.read_text(encoding="utf-8"))


def missing(scenario):
    """Why a scenario cannot run here; None when it can"""
    names = [name for name in needed(scenario) if name not in available()]
    if not names:
        return None
    return f"{folder()} does not have {', '.join(names)}: tests/placement/traces.md"


def out_of(build):
    return build / "tests" / "placement" / "traces"


def arguments(scenario, build):
    """What `placement` is given in addition to a scenario's file: the folder of the traces, if it needs one"""
    return ["--traces", prepare(out_of(build))] if needed(scenario) else []


def files(scenario, build):
    """What `placement` reads there."""
    return [out_of(build) / f"{name}.trace" for name in needed(scenario)]


def write(name, out):
    """OUT/NAME.trace, unless it is newer than its source and this script"""
    source, reader = source_of(name), SOURCES[name][1]
    target = out / f"{name}.trace"
    made_of = max(source.stat().st_mtime, pathlib.Path(__file__).stat().st_mtime)
    if target.exists() and target.stat().st_mtime > made_of:
        return
    part = out / f"{name}.{os.getpid()}"
    with open(part, "w", encoding="utf-8") as text:
        text.writelines(reader(source))
    part.rename(target)


def prepare(out):
    """Writes the traces that are available, and returns OUT, for `placement --traces`."""
    with WRITING:
        out.mkdir(parents=True, exist_ok=True)
        for name in available():
            write(name, out)
    return out


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    if not available():
        print(f"{folder()} has none of {', '.join(SOURCES)}", file=sys.stderr)
        return 1
    prepare(pathlib.Path(sys.argv[1]))
    for name in available():
        is_same = digest(source_of(name)) == digests()[name]
        differs = "" if is_same else ", which differs from the recording of the published figures"
        print(f"{sys.argv[1]}/{name}.trace: {source_of(name)}{differs}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
