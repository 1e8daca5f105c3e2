"""Counts the instructions of the hot paths under valgrind, and compares them with those on file.

    instructions.py BUILD_DIRECTORY             fails where one takes 2% more than on file
    instructions.py BUILD_DIRECTORY --update    writes the file

The build is gcc's, --buildtype=release -Dbench=true. Counts do not depend on how busy the machine is,
nor on its processor: the C library is told to use none of the extensions. They do depend on the
compiler, which the file names; with another one nothing is compared.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
FILE = TOP / "tests" / "bench" / "instructions.txt"
STAGES = {
    "skim": "a request with 500 names",
    "judge": "filter and prioritize, 500 candidates, scoring: estimate",
    "decision": "what is kept of filter and prioritize, 500 candidates",
    "exposition": "a real node_exporter's page, for cpu and mem",
    "window-step": "one scrape into the windows of crane's policy",
    "annotation": "one annotation",
}
TIMES = 100
MAY_GROW = 1.02
# Else its functions are chosen by the processor.
PLAIN = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-EVEX,-ERMS,-FSRM,-SSE4_2,-BMI2"


def count(build, stage):
    """(instructions each time, the compiler)"""
    program = os.path.join(build, "tests/bench/instructions")
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--toggle-collect=counted",
             f"--callgrind-out-file={out.name}", program, stage],
            cwd=TOP, capture_output=True, text=True, check=False,
            env={**os.environ, "GLIBC_TUNABLES": PLAIN},
        )  # fmt: skip
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"{stage}: valgrind ended with {done.returncode}: {done.stderr[-2000:]}")
    return int(found.group(1)) // TIMES, done.stdout.strip()


def write(counts, compiler):
    lines = [f"compiler {compiler}"]
    lines += [f"{stage:12} {counts[stage]:8}  {what}" for stage, what in STAGES.items()]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read():
    head, *lines = FILE.read_text(encoding="utf-8").splitlines()
    return {line.split()[0]: int(line.split()[1]) for line in lines}, head.partition(" ")[2]


def main():
    build = os.path.abspath(sys.argv[1])
    found = {stage: count(build, stage) for stage in STAGES}
    counts = {stage: instructions for stage, (instructions, _) in found.items()}
    compiler = found["skim"][1]
    if sys.argv[2:] == ["--update"]:
        write(counts, compiler)
    before, compiler_before = read()
    if compiler != compiler_before:
        print(f"not compared: {FILE.name} is of compiler {compiler_before}, this is {compiler}")
        return 0
    worse = [stage for stage in STAGES if counts[stage] > before[stage] * MAY_GROW]
    for stage in STAGES:
        change = counts[stage] / before[stage] - 1
        print(
            f"{stage:12} {counts[stage]:8} instructions, on file {before[stage]:8} ({change:+.2%})"
        )
    if worse:
        print(
            f"more than 2 % above what is on file: {', '.join(worse)}. If that is worth it, or if"
        )
        print("the work counted is another: tests/bench/instructions.py BUILD_DIRECTORY --update")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
