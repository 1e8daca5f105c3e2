"""The gate: runs named groups of steps, prints a line for each, and ends with the counts.

    gate.py unit           format, lint, builds, unit tests and fuzz corpora with sanitizers, the
                           bounds on what simulated placements cost, and on the instructions that
                           the hot paths take
    gate.py tidy           clang-tidy
    gate.py integration    the integration tests against the built programs, and the demo
    gate.py images         the images of deploy/Dockerfile, while the next group runs
    gate.py e2e            builds a real cluster's programs once, for minutes, and runs the tests
                           with it; see tests/e2e/README.md
    gate.py alone          those of them that must run alone, and the quick benchmark
    gate.py fuzz           every fuzz target for $FUZZ_SECONDS, 60, at night 180; see tests/tools/fuzz
    gate.py cross          the unit tests for arm64, and those of the pure libraries for s390x, by qemu
    gate.py bare           `make demo` and `make test` in a Debian 12 where nothing is installed
    gate.py release        `make release`, twice, and what came out: the same bytes, programs that run,
                           packages that are installed and removed
    gate.py mutants        small changes in what decides about nodes: do the unit tests notice?
                           ($MUTANTS of them, 600)
    gate.py coverage       what unit tests, fuzz corpora and integration tests reach, by library, and
                           that it is no less than in coverage.txt ($COVERAGE=quick: without the
                           integration tests, and not compared)
    gate.py quick          what changed since the last commit: the sanitizer build, the unit tests that
                           it relinks, and the integration files among it
    gate.py nightly [PART] all parts of `make nightly` one after the other, or one of them, each with
                           its own counts (PARTS). The groups of these alone:
             long          the integration files that take longest in full size
             older         builds the older versions of Kubernetes, runs a test with each, and those
                           of admission with the first that has it

Groups run one after the other; what only needs a processor (unit tests, clang-tidy) runs in parallel with
tests that mostly wait. With PLIMSOLL_NIGHTLY=1 tests have their full sizes.

Each step's output goes to build-gate/<step>.log; of a failed step the end is shown. A step that
runs tests counts each of them, any other step counts as one. Steps that need a failed build are
counted as failed, not left out; so is a skip that ledger.py does not excuse.
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

import lanes
from ledger import Ledger, Outcome, closing_line, read_junit, read_meson

TOP = pathlib.Path(__file__).resolve().parents[2]
OUT = TOP / "build-gate"
JOBS = str(os.cpu_count() or 2)
NIGHTLY = os.environ.get("PLIMSOLL_NIGHTLY") == "1"
SANDBOX = TOP / "tests" / "e2e" / "sandbox"
PYTHON = "/usr/bin/python3"

# name, compiler, meson arguments
BUILDS = {
    "asan": ("clang", ["-Db_sanitize=address,undefined", "-Db_lundef=false"]),
    "gcc": ("gcc", ["--buildtype=release", "-Dbench=true"]),
    "tsan": ("clang", ["-Db_sanitize=thread", "-Db_lundef=false"]),
}
COVERAGE_BUILD = (
    "gcc",
    [
        *("-Doptimization=0", "-Db_coverage=true"),
        f"-Dc_args=-fprofile-update=atomic -include {TOP / 'tests/tools/coverage_exit.h'}",
    ],
)
# Unit tests of what runs on more than one thread: metrics, HTTP server, node table, their users.
THREADED = (
    *("metrics", "body_pool", "daemon", "http_client", "loop"),
    *("http_server", "http_server_stop", "server_tls", "server_tls_replace"),
    *("kube_api", "reflector", "node_table", "node_series", "shared_page"),
)

INHERITED = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
ENV = INHERITED | {
    "ASAN_OPTIONS": "abort_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
    # Another clone of the same sources must find them compiled.
    "CCACHE_NOHASHDIR": "1",
    "PLIMSOLL_BUILD_DIR": str(OUT / "asan"),
    "PLIMSOLL_RELEASE_DIR": str(OUT / "gcc"),
    "PLIMSOLL_TSAN_DIR": str(OUT / "tsan"),
    # Compiled once, not by each of some thousand starts, and not next to the sources.
    "PYTHONPYCACHEPREFIX": str(OUT / "pycache"),
}
# A part of `make nightly` takes no longer on two processors, since no step may.
STEP_LIMIT_S = 80 * 60 if NIGHTLY else 1800
# Most tests wait most of the time.
INTEGRATION_LANES = (os.cpu_count() or 2) + 6
E2E_LANES = 4
# What takes longest at night: in a part of its own.
LONG_FILES = (
    *("test_both_allocation_faults", "test_both_release", "test_both_ten_days"),
    *("test_controller_restart", "test_kubectl_odd_objects"),
)
# What must run alone at night, of the integration tests: its figures are those of a quiet machine.
LONE_FILES = ("test_controller_scale",)
OLDER_FILE = "test_compatibility"
# What the oldest of them does not have: (file, the first version that it runs with).
SINCE = (("test_admission", "1.36"),)


class Gate:
    def __init__(self):
        OUT.mkdir(exist_ok=True)
        self.ledger = Ledger(OUT)
        self.built = {}
        self.side = concurrent.futures.ThreadPoolExecutor(1)
        self.side_steps = []

    def step(self, name, argv, env=None, count=None, is_shown=False, limit_s=None):
        """Run one step; true when it went well. Output that `is_shown` is shown as it comes."""
        if is_shown:
            print(f"  {name}:", flush=True)
        ended = lanes.run_one(
            argv, OUT / f"{name}.log", TOP, ENV | (env or {}), limit_s or STEP_LIMIT_S, is_shown
        )
        return self.ledger.account(name, *ended, count)

    def beside(self, what, *arguments):
        """Run this in parallel with the main line of steps, after what was given earlier."""
        self.side_steps.append(self.side.submit(what, *arguments))

    def build(self, name, targets=()):
        """Build once in a run; whether that went well."""
        if name not in self.built:
            self.built[name] = self._build(name, targets)
        return self.built[name]

    def build_all(self):
        """All builds that tests are run with, side by side: setting one up takes one processor."""
        with concurrent.futures.ThreadPoolExecutor(len(BUILDS)) as pool:
            return all(list(pool.map(self.build, BUILDS)))

    def _build(self, name, targets):
        compiler, arguments = COVERAGE_BUILD if name == "coverage" else BUILDS[name]
        directory = OUT / name
        if not (directory / "build.ninja").exists():
            shutil.rmtree(directory, ignore_errors=True)
            setup = ["meson", "setup", str(directory), "-Dwerror=true", *arguments]
            if not self.step(
                f"setup-{name}", setup, env={"CC": f"ccache {compiler}", "CC_LD": "lld"}
            ):
                return False
        if name == "tsan":
            targets = targets or threaded_targets(directory)
        return self.step(f"build-{name}", ["ninja", "-C", str(directory), "-j", JOBS, *targets])

    def meson_test(self, name, build, arguments=()):
        if not self.build(build):
            self.ledger.account(f"{name}: its build failed", 1, 0)
            return
        # A folder for the results of each run, since several share a build.
        results = OUT / build / "meson-logs" / f"testlog-{name}.json"
        results.unlink(missing_ok=True)
        argv = ["meson", "test", "-C", str(OUT / build), "--no-rebuild", "--print-errorlogs"]
        if NIGHTLY:  # as many rounds as a property test has in full size
            argv += ["--timeout-multiplier", "10"]
        argv += ["--num-processes", JOBS, "--logbase", f"testlog-{name}", *arguments]
        self.step(name, argv, count=lambda: read_meson(results))

    def pytest(self, group, batches, lane_count, limit_s=900, env=None):
        """Run test files of tests/<group>, each batch in a sandbox of its own.

        `batches` has {name: files}; what is named by a file has its logs below the group's. `env` is
        of the batches alone. One test that failed may have a second try when nothing else runs, and
        is named at the end (Ledger.second_try).
        """
        if not self.build_all():
            self.ledger.account(f"{group}: its build failed", 1, 0)
            return
        within = sandbox()
        lane_count = lane_count if within else 1
        (OUT / group).mkdir(exist_ok=True)

        def start(batch, tests=None):
            name = f"{group}/{batch}"
            results = OUT / f"{name}.xml"
            results.unlink(missing_ok=True)
            logs = OUT / f"{group}-logs" / ("" if batch.startswith("test_") else batch)
            argv = [*within, PYTHON, "-m", "pytest", "-q", "-rs", f"--junitxml={results}"]
            ended = lanes.run_one(
                [*argv, *map(str, tests or batches[batch])],
                OUT / f"{name}.log",
                TOP,
                ENV | {"PLIMSOLL_LOG_DIR": str(logs)} | ((not tests and env) or {}),
                STEP_LIMIT_S if NIGHTLY else limit_s,
            )
            is_first = tests is None and not NIGHTLY
            self.ledger.account(name, *ended, lambda: read_junit(results), is_first)
            return read_junit(results) if results.exists() else Outcome()

        outcomes = lanes.run(batches, lane_count, start)
        lanes.remember({k: v for outcome in outcomes for k, v in per_file(group, outcome).items()})
        failure = None if NIGHTLY else self.ledger.second_try(outcomes)
        if failure:
            self.settle_side_steps()
            if start("second-try", [test_id(group, failure[0])]).passed:
                self.ledger.unsteady.append(failure)

    def settle_side_steps(self):
        for step in self.side_steps:
            step.result()

    def finish(self):
        self.settle_side_steps()
        self.ledger.finish()


def sandbox():
    """What begins a command that runs tests: nothing where the machine allows no namespaces."""
    why = subprocess.run([SANDBOX, "true"], capture_output=True, text=True, check=False)
    if why.returncode != 0:
        print(f"  no sandbox, one lane: {'; '.join(why.stderr.splitlines())}", flush=True)
        return []
    return [str(SANDBOX)]


def per_file(group, outcome):
    """{group/test file: seconds} of a pytest run."""
    found = {}
    for took_s, name in outcome.times:
        module = f"{group}/{name.partition('.')[0]}"
        found[module] = round(found.get(module, 0.0) + took_s, 1)
    return found


def test_id(group, name):
    """As pytest calls what a junit file calls module.test."""
    module, _, test = name.partition(".")
    return TOP / "tests" / group / f"{module}.py::{test}"


def threaded_targets(directory):
    """The programs, and the unit tests in THREADED."""
    said = subprocess.run(
        ["meson", "introspect", "--tests", str(directory)], capture_output=True, check=True
    ).stdout
    tests = [row["cmd"][0] for row in json.loads(said) if row["name"] in THREADED]
    assert len(tests) >= len(THREADED), "a test in THREADED is not there"
    programs = ["controller/plimsoll-controller", "extender/plimsoll-extender"]
    return [os.path.relpath(path, directory) for path in tests] + programs


def test_files(group):
    return sorted((TOP / "tests" / group).glob("test_*.py"))


def integration_files(is_nightly=NIGHTLY):
    """Those of the group `integration`: at night without those of the group `long`."""
    files = test_files("integration")
    return [path for path in files if not (is_nightly and path.stem in LONG_FILES)]


def unit(gate):
    gate.beside(gate.step, "lint", [PYTHON, "tests/tools/lint.py"])
    gate.beside(gate.step, "format", ["tests/tools/format"])
    # Shown, so that everybody knows which page is the hardest to read.
    gate.beside(gate.step, "english", [PYTHON, "tests/tools/english.py"], None, None, True)
    gate.beside(pages, gate)
    gate.build_all()
    gate.beside(gate.meson_test, "unit-asan", "asan")
    gate.beside(gate.meson_test, "unit-gcc", "gcc")
    gate.beside(gate.meson_test, "unit-tsan", "tsan", THREADED)
    if gate.build("gcc"):
        results = OUT / "placement.xml"
        results.unlink(missing_ok=True)
        argv = [PYTHON, "tests/placement/gates.py", str(OUT / "gcc"), str(results)]
        gate.beside(gate.step, "placement", argv, None, lambda: read_junit(results))
        counts = [PYTHON, "tests/bench/instructions.py", str(OUT / "gcc")]
        gate.beside(gate.step, "instructions", counts)


def tidy(gate):
    if gate.build("asan"):
        argv = [PYTHON, "tests/tools/tidy.py", str(OUT / "asan")]
        gate.beside(gate.step, "clang-tidy", argv)


def integration(gate):
    if gate.build("gcc"):
        gate.step("readme", [PYTHON, "tests/tools/readme.py", str(OUT / "gcc")])
        demo = [*sandbox(), PYTHON, "tests/demo/demo.py", "--build", str(OUT / "gcc"), "--once"]
        gate.beside(gate.step, "demo", demo)
    files = {path.stem: [path] for path in integration_files()}
    lone = {name: files.pop(name) for name in LONE_FILES if NIGHTLY}
    gate.pytest("integration", files, INTEGRATION_LANES)
    if lone:
        gate.settle_side_steps()
        gate.pytest("integration", lone, 1)


def long(gate):
    files = {path.stem: [path] for path in test_files("integration") if path.stem in LONG_FILES}
    gate.pytest("integration", files, INTEGRATION_LANES)


def images(gate):
    gate.beside(gate.step, "images", ["tests/e2e/tools/images.py"])


def build_kubernetes(gate, *options):
    """For most tests one version of it is enough, at night as well."""
    return gate.step("kubernetes", ["tests/e2e/tools/build.py", *options], is_shown=True)


def runs_alone(path):
    return "mark.alone" in path.read_text(encoding="utf-8")


def e2e(gate):
    if not build_kubernetes(gate):
        return
    gate.beside(gate.step, "workflows", ["tests/tools/workflows"])
    if NIGHTLY:
        gate.beside(gate.step, "windows", ["tests/e2e/tools/windows.py"])
    shutil.rmtree(OUT / "e2e-logs", ignore_errors=True)
    files = [path for path in test_files("e2e") if not runs_alone(path)]
    shared = [path for path in files if not NIGHTLY or path.stem != OLDER_FILE]
    shared.sort(key=lanes.expected_s, reverse=True)
    claims = OUT / "e2e-claims"
    shutil.rmtree(claims, ignore_errors=True)
    claims.mkdir()
    named = {f"lane-{i + 1}": shared for i in range(E2E_LANES)}
    gate.settle_side_steps()  # the images, and what runs programs of Windows
    gate.pytest("e2e", named, E2E_LANES, limit_s=3000, env={"PLIMSOLL_CLAIMS": str(claims)})


def alone(gate):
    if not build_kubernetes(gate):
        return
    files = [path for path in test_files("e2e") if runs_alone(path)]
    gate.pytest("e2e", {"alone": files}, 1, limit_s=3000)
    if gate.build("gcc"):
        gate.step("bench", [PYTHON, "tests/bench/report.py", str(OUT / "gcc"), "--quick"])


def older(gate):
    if build_kubernetes(gate, "--older"):
        gate.pytest("e2e", {OLDER_FILE: [TOP / "tests" / "e2e" / f"{OLDER_FILE}.py"]}, 1)
        for stem, minor in SINCE:
            files, env = [TOP / "tests" / "e2e" / f"{stem}.py"], {"PLIMSOLL_KUBERNETES": minor}
            gate.pytest("e2e", {f"{stem}-{minor}": files}, 1, env=env)


def fuzz(gate):
    seconds = os.environ.get("FUZZ_SECONDS", "180" if NIGHTLY else "60")
    limit_s = STEP_LIMIT_S + 60 * int(seconds)  # as for 60 targets one after the other
    gate.step("fuzz", ["tests/tools/fuzz", seconds], is_shown=True, limit_s=limit_s)


def cross(gate):
    for architecture in ("arm64", "s390x"):
        results = OUT / architecture / "meson-logs" / "testlog.json"
        results.unlink(missing_ok=True)
        argv = [PYTHON, "tests/tools/cross.py", architecture]
        gate.step(f"cross-{architecture}", argv, None, lambda path=results: read_meson(path))


def bare(gate):
    argv = ["tests/tools/bare-root", "sh", "-c", "make demo DEMO=once && make test"]
    gate.step("bare", argv, is_shown=True)


def release(gate):
    """Of the last commit, each time on another path."""
    dists = [OUT / "release-one", OUT / "release-two"]
    for dist in dists:
        argv = [PYTHON, "deploy/release/release.py", str(dist)]
        if not gate.step(dist.name, argv, is_shown=True):
            return
    results = OUT / "release.xml"
    results.unlink(missing_ok=True)
    env = {"PLIMSOLL_DISTS": ":".join(map(str, dists))}
    argv = [PYTHON, "-m", "pytest", "-q", f"--junitxml={results}", "tests/release"]
    gate.step("release", argv, env, lambda: read_junit(results))


def coverage(gate):
    """Whether the integration tests pass is told by their own group, with programs that are faster."""
    if not gate.build("coverage"):
        return
    build = OUT / "coverage"
    for counts in build.rglob("*.gcda"):
        counts.unlink()
    gate.meson_test("unit-coverage", "coverage")
    argv = [PYTHON, "tests/tools/coverage.py", str(build)]
    if os.environ.get("COVERAGE") != "quick":
        programs = {f"PLIMSOLL_{name}_DIR": str(build) for name in ("BUILD", "RELEASE", "TSAN")}
        # The counting itself allocates memory, and does not expect to get none.
        files = {p.stem: [p] for p in test_files("integration") if "allocation" not in p.stem}
        within = sandbox()

        def start(name):
            log = OUT / f"coverage-{name}.log"
            pytest = [*within, PYTHON, "-m", "pytest", "-q", str(files[name][0])]
            lanes.run_one(pytest, log, TOP, ENV | programs | {"PLIMSOLL_NIGHTLY": "0"}, 900)

        lanes.run(files, INTEGRATION_LANES if within else 1, start)
        argv.append("--compare")
    gate.step("coverage", argv, is_shown=True)


def mutants(gate):
    sample = os.environ.get("MUTANTS", "600")
    gate.step("mutants", [PYTHON, "tests/tools/mutants.py", "--sample", sample], is_shown=True)


def pages(gate):
    """Links, names and code blocks of pages; no program is needed."""
    path = TOP / "tests" / "integration" / "test_docs_pages.py"
    results = OUT / "pages.xml"
    results.unlink(missing_ok=True)
    argv = [PYTHON, "-m", "pytest", "-q", f"--junitxml={results}", str(path)]
    gate.step("pages", argv, count=lambda: read_junit(results))


def changed_files():
    """Files that differ from the last commit, new ones included; if none do, those of that commit."""

    def git(*argv):
        said = subprocess.run(["git", *argv], cwd=TOP, capture_output=True, text=True, check=True)
        return said.stdout.split()

    found = git("diff", "--name-only", "HEAD") + git("ls-files", "-o", "--exclude-standard")
    return [pathlib.Path(path) for path in found or git("diff", "--name-only", "HEAD~1", "HEAD")]


def relinked(directory, changed):
    """The unit tests whose programs ninja has linked since the first of these files was changed."""
    since_unix = min([(TOP / p).stat().st_ctime for p in changed if (TOP / p).exists()], default=0)
    argv = ["meson", "introspect", "--tests", str(directory)]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    programs = {row["name"]: pathlib.Path(row["cmd"][0]) for row in json.loads(said)}
    return sorted(name for name, path in programs.items() if path.stat().st_mtime >= since_unix)


def quick(gate):
    changed = changed_files()
    tests = relinked(OUT / "asan", changed) if gate.build("asan") else []
    print(f"  {len(changed)} files changed, which {len(tests)} unit tests are linked with")
    if tests:
        gate.meson_test("unit-asan", "asan", tests)
    files = {
        path.stem: [path] for path in test_files("integration") if path.relative_to(TOP) in changed
    }
    if files:
        gate.built |= {"gcc": True, "tsan": True}  # what needs those is not for a minute
        gate.pytest("integration", files, 1)
    gate.step("lint", [PYTHON, "tests/tools/lint.py"])
    gate.step("english", [PYTHON, "tests/tools/english.py"])
    pages(gate)


GROUPS = {
    "unit": unit,
    "tidy": tidy,
    "integration": integration,
    "long": long,
    "images": images,
    "e2e": e2e,
    "alone": alone,
    "older": older,
    "fuzz": fuzz,
    "cross": cross,
    "bare": bare,
    "release": release,
    "mutants": mutants,
    "coverage": coverage,
    "quick": quick,
}


# Of `make nightly`; tests/README.md says what is in each and how long it takes.
PARTS = (
    ("unit", "tidy", "integration"),
    ("long",),
    ("images", "e2e"),
    ("alone",),
    ("fuzz",),
    ("cross", "bare", "release"),
    ("mutants", "coverage"),
    ("older",),
)


def run(names):
    """Run groups, with their closing lines; their ledger."""
    gate = Gate()
    for name in names:
        print(f"{name}:", flush=True)
        GROUPS[name](gate)
    gate.finish()
    return gate.ledger


def nightly(numbers):
    """Run parts, each with its own counts; behind several the sum."""
    ledgers = []
    for number in numbers:
        print(f"part {number} of {len(PARTS)}:", flush=True)
        ledgers.append(run(PARTS[number - 1]))
    if len(ledgers) > 1:
        print("all parts:")
        print(closing_line(*ledgers))
    return ledgers


def chosen_parts(words):
    """The numbers of the parts that the command line asks for: all, one, or None if it is wrong."""
    numbers = range(1, len(PARTS) + 1)
    if not words:
        return numbers
    return [n for n in numbers if [str(n)] == words] or None


def main():
    names = sys.argv[1:]
    if names[:1] == ["nightly"] and chosen_parts(names[1:]):
        ledgers = nightly(chosen_parts(names[1:]))
    elif names and all(name in GROUPS for name in names):
        ledgers = [run(names)]
    else:
        print(__doc__)
        return 2
    return int(any(ledger.failures for ledger in ledgers))


if __name__ == "__main__":
    lanes.end_at_a_signal()
    sys.exit(main())
