"""The gate: runs named groups of steps, prints a line for each, and ends with the counts.

    gate.py check                 format, lint, builds, unit tests, sanitizers, fuzz corpora, clang-tidy
    gate.py check integration     and the integration tests against the built programs
    gate.py e2e                   builds a real cluster's programs once, for minutes, and runs the
                                  tests with it, in a sandbox; see tests/e2e/README.md

Each step's output goes to build-gate/<step>.log; of a failed step the end is shown. A step that
runs tests counts each of them, any other step counts as one. Steps that need a failed build are
counted as failed, not left out.
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

TOP = pathlib.Path(__file__).resolve().parents[2]
OUT = TOP / "build-gate"
JOBS = str(os.cpu_count() or 2)
TAIL_LINES = 80

# name, compiler, meson arguments
BUILDS = {
    "gcc": ("gcc", ["--buildtype=release", "-Dbench=true"]),
    "asan": ("clang", ["-Db_sanitize=address,undefined", "-Db_lundef=false"]),
    "tsan": ("clang", ["-Db_sanitize=thread", "-Db_lundef=false"]),
    "fuzz": ("clang", ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dfuzz=true"]),
}

SANITIZER_ENV = {
    "ASAN_OPTIONS": "abort_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


class Gate:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.skip_reasons = []
        self.broken_builds = set()
        OUT.mkdir(exist_ok=True)

    def step(self, name, argv, env=None, count=None, is_long=False):
        """Run one step. `count` reads its tests' results as (passed, failed, [skip reasons]).

        The output of a step that `is_long` is shown as it comes.
        """
        if is_long:
            print(f"  {name}:", flush=True)
        else:
            print(f"  {name:<28} ", end="", flush=True)
        ended = execute(name, argv, env, is_long)
        if is_long:
            print(f"  {name:<28} ", end="")
        return self.account(name, *ended, count)

    def account(self, name, code, took_s, count):
        """Count how a step went, and say so."""
        log = OUT / f"{name}.log"
        passed, failed, skips = (1, 0, []) if code == 0 else (0, 1, [])
        if count:
            try:
                passed, failed, skips = count()
            except (OSError, ValueError, xml.etree.ElementTree.ParseError) as problem:
                print(f"(no results: {problem}) ", end="")
                passed, failed, skips = 0, 1, []
            if code != 0 and failed == 0:
                failed = 1
            if passed + failed == 0:
                failed = 1  # a test step that ran nothing has not passed
        self.passed += passed
        self.failed += failed
        self.skipped += len(skips)
        self.skip_reasons += skips
        detail = f"{passed} passed, {failed} failed" if count else ("ok" if code == 0 else "FAILED")
        print(f"{detail}  ({took_s:.0f} s)", flush=True)
        if failed:
            lines = log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
            print("\n".join("    | " + line for line in lines))
            print(f"    the whole log: {log.relative_to(TOP)}", flush=True)
        return failed == 0

    def skip(self, reason):
        self.skipped += 1
        self.skip_reasons.append(reason)

    def build(self, name):
        compiler, arguments = BUILDS[name]
        directory = OUT / name
        if not (directory / "build.ninja").exists():
            shutil.rmtree(directory, ignore_errors=True)
            setup = ["meson", "setup", str(directory), "-Dwerror=true", *arguments]
            if not self.step(f"setup-{name}", setup, env={"CC": compiler}):
                self.broken_builds.add(name)
                return
        if not self.step(f"build-{name}", ["ninja", "-C", str(directory), "-j", JOBS]):
            self.broken_builds.add(name)

    def meson_test(self, name, build, arguments=()):
        if build in self.broken_builds:
            print(f"  {name:<28} FAILED: its build did")
            self.failed += 1
            return
        results = OUT / build / "meson-logs" / "testlog.json"
        results.unlink(missing_ok=True)
        self.step(
            name,
            ["meson", "test", "-C", str(OUT / build), "--no-rebuild", "--print-errorlogs",
             "--num-processes", JOBS, *arguments],
            env=SANITIZER_ENV,
            count=lambda: read_meson(results),
        )  # fmt: skip

    def pytest(self, build, runs, within=()):
        """Run pytest with {name: arguments}, one run beside the other where there are several."""
        if build in self.broken_builds:
            for name in runs:
                print(f"  {name:<28} FAILED: its build did")
                self.failed += 1
            return
        env = SANITIZER_ENV | {
            "PLIMSOLL_BUILD_DIR": str(OUT / build),
            "PLIMSOLL_RELEASE_DIR": str(OUT / "gcc"),
            "PLIMSOLL_TSAN_DIR": str(OUT / "tsan"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip

        def run(name):
            results = OUT / f"{name}.xml"
            results.unlink(missing_ok=True)
            return execute(
                name,
                [*within, "/usr/bin/python3", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                 f"--junitxml={results}", *runs[name]],
                env | {"PLIMSOLL_LOG_DIR": str(OUT / f"{name}-logs")},
            )  # fmt: skip

        print(f"  {', '.join(runs)} ...", flush=True)
        with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
            ended = dict(zip(runs, pool.map(run, runs)))
        for name, how in ended.items():
            results = OUT / f"{name}.xml"
            print(f"  {name:<28} ", end="")
            self.account(name, *how, lambda results=results: read_junit(results))
            for figure in read_figures(results):
                print(f"    {figure}", flush=True)

    def finish(self):
        for reason in self.skip_reasons:
            print(f"skipped: {reason}")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed else 0


def execute(name, argv, env=None, is_shown=False):
    """Run a command with its output in a log; (status, seconds)."""
    started = time.monotonic()
    common = {"cwd": TOP, "env": os.environ | (env or {})}
    with open(OUT / f"{name}.log", "wb") as log:
        if not is_shown:
            done = subprocess.run(argv, **common, stdout=log, stderr=log, check=False)
            return done.returncode, time.monotonic() - started
        with subprocess.Popen(
            argv, **common, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            for line in process.stdout:
                log.write(line)
                print("    " + line.decode(errors="replace"), end="", flush=True)
    return process.returncode, time.monotonic() - started


def read_meson(path):
    passed, failed, skips = 0, 0, []
    for line in path.read_text().splitlines():
        result = json.loads(line)
        if result["result"] == "SKIP":
            said = (result.get("stdout") or "").strip().splitlines()
            skips.append(f"{result['name']}: {said[-1] if said else 'no reason given'}")
        elif result["result"] in ("OK", "EXPECTEDFAIL"):
            passed += 1
        else:
            failed += 1
    return passed, failed, skips


def read_junit(path):
    passed, failed, skips = 0, 0, []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        skip = case.find("skipped")
        if skip is not None:
            skips.append(f"{case.get('name')}: {skip.get('message')}")
        elif case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        else:
            passed += 1
    return passed, failed, skips


def read_figures(path):
    """What tests measured: the properties named "figure" of each."""
    if not path.exists():
        return
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        for item in case.iter("property"):
            if item.get("name") == "figure":
                yield f"{case.get('name')}: {item.get('value')}"


def check(gate):
    gate.step("format", ["tests/tools/format"])
    gate.step("lint", ["/usr/bin/python3", "tests/tools/lint.py"])
    for name in BUILDS:
        gate.build(name)
    gate.meson_test("unit-gcc", "gcc")
    gate.meson_test("unit-asan", "asan")
    # What runs on more than one thread: metrics, HTTP server, node table, and their users.
    threaded = [f"--suite={room}" for room in ("codec", "net", "kube", "extender")]
    gate.meson_test("unit-tsan", "tsan", threaded)
    if "asan" not in gate.broken_builds:
        gate.step("clang-tidy", ["tests/tools/tidy", str(OUT / "asan")])


def integration(gate):
    for name in BUILDS:
        if name != "fuzz" and not (OUT / name / "build.ninja").exists():
            gate.build(name)
    gate.step("readme", ["/usr/bin/python3", "tests/tools/readme.py", str(OUT / "gcc")])
    gate.pytest("asan", {"integration": ["tests/integration"]})


def e2e(gate):
    sandbox = "tests/e2e/sandbox"
    possible = subprocess.run(
        [sandbox, "true"], cwd=TOP, capture_output=True, text=True, check=False
    )
    if possible.returncode != 0:
        gate.skip(f"e2e: {'; '.join(possible.stderr.splitlines())}")
        return
    if not gate.step("kubernetes", ["tests/e2e/tools/build.py"], is_long=True):
        return
    gate.step("images", ["tests/e2e/tools/images.py"], is_long=True)
    gate.build("asan")
    gate.build("gcc")  # for what measures
    # Each has a sandbox of its own. Two processors are enough for both of the first.
    for runs in (
        {"e2e": "not patient and not alone", "e2e-patient": "patient"},
        {"e2e-alone": "alone"},
    ):
        for name in runs:
            shutil.rmtree(OUT / f"{name}-logs", ignore_errors=True)
        gate.pytest(
            "asan",
            {name: ["tests/e2e", "-m", marks] for name, marks in runs.items()},
            within=[sandbox],
        )


def main():
    groups = {"check": check, "integration": integration, "e2e": e2e}
    names = sys.argv[1:]
    if not names or any(name not in groups for name in names):
        print(__doc__)
        return 2
    gate = Gate()
    for name in names:
        print(f"{name}:", flush=True)
        groups[name](gate)
    return gate.finish()


if __name__ == "__main__":
    sys.exit(main())
