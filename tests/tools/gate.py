"""The gate: runs named groups of steps, prints a line for each, and ends with the counts.

    gate.py check                 format, lint, builds, unit tests, sanitizers, fuzz corpora, clang-tidy
    gate.py check integration     and the integration tests against the built programs
    gate.py e2e                   tests with a real cluster, in a sandbox; see tests/e2e/README.md

Each step's output goes to build-gate/<step>.log; of a failed step the end is shown. A step that
runs tests counts each of them, any other step counts as one. Steps that need a failed build are
counted as failed, not left out.
"""

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

    def step(self, name, argv, env=None, count=None):
        """Run one step. `count` reads its tests' results as (passed, failed, [skip reasons])."""
        started = time.monotonic()
        log = OUT / f"{name}.log"
        print(f"  {name:<28} ", end="", flush=True)
        with open(log, "wb") as out:
            code = subprocess.run(
                argv, cwd=TOP, env=os.environ | (env or {}), stdout=out, stderr=out, check=False
            ).returncode
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
        print(f"{detail}  ({time.monotonic() - started:.0f} s)", flush=True)
        if failed:
            lines = log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
            print("\n".join("    | " + line for line in lines))
            print(f"    the whole log: {log.relative_to(TOP)}", flush=True)
        return failed == 0

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

    def pytest(self, name, paths, build, extra_env=None, arguments=(), within=()):
        if build in self.broken_builds:
            print(f"  {name:<28} FAILED: its build did")
            self.failed += 1
            return
        results = OUT / f"{name}.xml"
        results.unlink(missing_ok=True)
        self.step(
            name,
            [*within, "/usr/bin/python3", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
             f"--junitxml={results}", *arguments, *paths],
            env=SANITIZER_ENV
            | {"PLIMSOLL_BUILD_DIR": str(OUT / build), "PYTHONDONTWRITEBYTECODE": "1"}
            | (extra_env or {}),
            count=lambda: read_junit(results),
        )  # fmt: skip
        for figure in read_figures(results):
            print(f"    {figure}", flush=True)

    def finish(self):
        for reason in self.skip_reasons:
            print(f"skipped: {reason}")
        counts = f"{self.passed} passed, {self.failed} failed"
        if self.skipped:
            counts += f", {self.skipped} skipped"
        print(counts)
        return 1 if self.failed else 0


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
    gate.pytest(
        "integration",
        ["tests/integration"],
        "asan",
        {
            "PLIMSOLL_RELEASE_DIR": str(OUT / "gcc"),
            "PLIMSOLL_TSAN_DIR": str(OUT / "tsan"),
            "PLIMSOLL_LOG_DIR": str(OUT / "integration-logs"),
        },
    )


def e2e(gate):
    gate.build("asan")
    gate.build("gcc")  # for the test that measures
    logs = OUT / "e2e-logs"
    shutil.rmtree(logs, ignore_errors=True)
    gate.pytest(
        "e2e",
        ["tests/e2e"],
        "asan",
        {"PLIMSOLL_RELEASE_DIR": str(OUT / "gcc"), "PLIMSOLL_LOG_DIR": str(logs)},
        within=["tests/e2e/sandbox"],
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
