#!/usr/bin/python3
"""Mutation testing: mutants.py [FILES...] [--sample N] [--seed S]

Makes small changes in C sources, one at a time (mutate.py), and runs the unit tests that use the
source against each. A mutant that no test notices is a missing test, or is no change at all. Without
FILES: what decides about nodes, and who writes.

Of each file, library and all of them, it prints how many mutants were noticed, by a test that failed;
how many timed out, since with them no test failed and one did not end in a multiple of its usual time;
and how many survived. Each share is of these three together: what does not compile, or optimises to
the code of the original, is counted in addition and is in no share. It ends with 1 when fewer than
90% were noticed: a mutant that timed out is neither noticed nor missed.

All mutants of a source are compiled at once, into a shared library that the tests load in place of
the original (mutate.schemata): nothing is compiled or linked per mutant, and the source tree is not
touched. A mutant that survives is tried again under sanitizers, as CI runs the tests.
"""

import argparse
import collections
import concurrent.futures
import functools
import json
import math
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mutate

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build-gate" / "mutants"
FILES = (
    "policy/*.c",
    "policy/estimate/*.c",
    "policy/judge/*.c",
    "extender/table/node_*.c",
    "controller/window/*.c",
    "controller/track/plan.c",
    "controller/track/plan_due.c",
    "common/kube/lease_candidate.c",
)
PROMISED_SHARE = 0.9
NOTICED, TIMED_OUT, SURVIVED = OUTCOMES = ("noticed", "timed out", "survived")
# Tests of other libraries that take or wait longer are left out.
SLOW_TEST_CPU_S = 0.5
SLOW_TEST_S = 3.0
# For a test that waits for what a mutant no longer does: at least, and times what it takes.
TEST_LIMIT_S = 10.0
TEST_LIMIT_FACTOR = 4
MEMORY_BYTES = 4 << 30
# Undefined behaviour ends a test without the library that would describe it.
SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fsanitize-undefined-trap-on-error")
SHARED = (
    *("-shared", "-Wl,-soname,libmutant.so", "-o", "libmutant.so"),
    *("-Wl,--no-as-needed", "-lm"),  # a test may not need it by itself
)


def run(*argv, **more):
    return subprocess.run([str(part) for part in argv], check=True, **more)


def introspect(what):
    return json.loads(run("meson", "introspect", what, BUILD, stdout=subprocess.PIPE).stdout)


def build(pool):
    BUILD.parent.mkdir(exist_ok=True)
    if not (BUILD / "build.ninja").exists():
        env = os.environ | {"CC": "ccache gcc", "CC_LD": "lld"}
        argv = ["--buildtype=release"]  # compiled before, for a compiler cache
        run("meson", "setup", BUILD, TOP, *argv, env=env, stdout=subprocess.DEVNULL)
    # With the tests that are new since.
    run("ninja", "--quiet", "-C", BUILD, "build.ninja", stdout=subprocess.DEVNULL)
    tests = [t for t in introspect("--tests") if t["name"] and t["suite"][0].endswith(":unit")]
    wanted = [os.path.relpath(test["cmd"][0], BUILD) for test in tests]
    run("ninja", "--quiet", "-C", BUILD, *wanted)
    return list(pool.map(Original, wanted, (test["suite"][1] for test in tests)))


def link_data(folder):
    """Links to what tests read: a mutant writes into this folder, not into the source."""
    for name in ("policy", "tests"):
        (folder / name).symlink_to(TOP / name)
    return folder


class Original:
    """A unit test as ninja links it, and the time it takes."""

    def __init__(self, target, suite):
        self.target = target
        self.library = suite.partition(":")[2]
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            cwd = link_data(pathlib.Path(folder))
            process = subprocess.Popen([BUILD / target], cwd=cwd, **quiet)
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # reaped above
        wall_s = time.monotonic() - began
        self.took_s = used.ru_utime + used.ru_stime
        self.limit_s = max(TEST_LIMIT_S, TEST_LIMIT_FACTOR * wall_s)
        self.is_slow = self.took_s > SLOW_TEST_CPU_S or wall_s > SLOW_TEST_S


class Library:
    """The library that a source is in: how it is compiled, and what links it."""

    def __init__(self, path, targets):
        for target in targets:
            for group in target["target_sources"]:
                if target["type"] == "static library" and str(path) in group.get("sources", ()):
                    self.archive = os.path.relpath(target["filename"][0], BUILD)
                    self.name = path.parent.relative_to(TOP).as_posix()
                    self.compiler = [
                        *(word for word in group["compiler"] if word != "ccache"),
                        *(word for word in group["parameters"] if not word.startswith("-W")),
                        *("-w", "-fdiagnostics-color=never"),
                    ]
                    return
        raise SystemExit(f"{path} is in no library")


class Test:
    """A unit test that loads one source from a library."""

    def __init__(self, path, took_s, limit_s):
        self.path = path
        self.took_s = took_s
        self.limit_s = limit_s

    def run(self, folder, mutant=0, is_checked=False):
        """What becomes of a mutant in this test, with the library in this folder."""
        env = {"LD_LIBRARY_PATH": folder, "MUTANT": mutant, "CMOCKA_TEST_ABORT": 1}
        # An endless loop ends soon, whatever else the machine does.
        cpu_s = math.ceil(0.5 + 3 * self.took_s)
        cpu_s *= 4 if is_checked else 1
        limits = ["--core=0", f"--cpu={cpu_s}:{cpu_s + 1}"]
        if is_checked:
            env["LD_PRELOAD"] = asan()
        else:
            limits.append(f"--as={MEMORY_BYTES}")
        # prlimit itself must not load AddressSanitizer, which is as slow as a test.
        argv = ["prlimit", *limits, "env", *(f"{k}={v}" for k, v in env.items()), self.path]
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        try:
            done = subprocess.run(argv, cwd=folder, timeout=self.limit_s, check=False, **quiet)
        except subprocess.TimeoutExpired:
            return TIMED_OUT
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return TIMED_OUT
        return NOTICED if done.returncode else SURVIVED


def worst(outcomes):
    """Of what several tests say: one that fails decides, so no more are run."""
    said = SURVIVED
    for outcome in outcomes:
        if outcome == NOTICED:
            return NOTICED
        said = outcome if outcome == TIMED_OUT else said
    return said


@functools.cache
def defined(path):
    """The functions and variables that an object or a program has for others."""
    said = run("nm", "--defined-only", "--extern-only", path, stdout=subprocess.PIPE, text=True)
    return {line.split()[-1] for line in said.stdout.splitlines()}


class File:
    """A source, its mutants, and the tests that load it from a library of its own."""

    def __init__(self, path, mutants, targets, directory):
        self.name = os.path.relpath(path, TOP)
        self.text = path.read_text(encoding="utf-8")
        self.library = Library(path, targets)
        self.directory = pathlib.Path(directory)
        # What is outside of functions is compiled one by one.
        self.together = dict(enumerate(mutate.inside_functions(self.text, mutants), 1))
        self.ids = {mutant: i for i, mutant in self.together.items()}
        self.lock = threading.Lock()
        self.plain, plain = self._folder("plain"), ["-O1"]
        while broken := self._compile_schemata(self.plain, plain):
            self.together = {i: m for i, m in self.together.items() if i not in broken}

    def _folder(self, name):
        (self.directory / name).mkdir()
        return link_data(self.directory / name)

    def _cc(self, text, folder, *more):
        """What the compiler complains about; "" when all is well."""
        source = folder / pathlib.Path(self.name).name
        source.write_text(text, encoding="utf-8")
        return subprocess.run(
            [*self.library.compiler, *more, source],
            stderr=subprocess.PIPE,
            cwd=folder,
            text=True,
            check=False,
        ).stderr

    def _compile_schemata(self, folder, more):
        """The ids of mutants that do not compile."""
        said = self._cc(mutate.schemata(self.text, self.together), folder, *SHARED, *more)
        broken = {int(i) for i in re.findall(r"^mutant-(\d+):.* error:", said, re.MULTILINE)}
        if said and not broken - {0}:
            raise SystemExit(f"{self.name} does not compile:\n{said}")
        return broken

    def link_tests(self, originals, pool):
        """Those that use it: the tests of its own library first, then quick ones of others."""
        archive = BUILD / self.library.archive
        mine = f"{pathlib.Path(self.name).name}.o"
        listed = run("ar", "t", archive, stdout=subprocess.PIPE, text=True).stdout.split()
        objects = [archive.parent / path for path in listed]
        (own,) = [path for path in objects if path.name == mine]
        run("ar", "rcsT", self.directory / "rest.a", *(path for path in objects if path != own))
        functions = defined(own)
        found = [
            (original.library != self.library.name, original.took_s, original)
            for original in originals
            if original.library == self.library.name or not original.is_slow
            if functions & defined(BUILD / original.target)
        ]
        if not found:
            raise SystemExit(f"no unit test uses {self.name}")
        found.sort(key=lambda row: row[:2])
        self.tests = list(pool.map(self._link, (original for _, _, original in found)))
        self.own_tests = [
            test for (is_of_another, *_), test in zip(found, self.tests) if not is_of_another
        ]

    def _link(self, original):
        path = self.directory / pathlib.Path(original.target).name
        test = Test(path, original.took_s, original.limit_s)
        line = commands()[original.target].split()
        line[line.index("-o") + 1] = str(path)
        at = line.index(self.library.archive)
        line[at : at + 1] = [str(self.directory / "rest.a"), str(self.plain / "libmutant.so")]
        run(*line, "-Wl,--export-dynamic", cwd=BUILD)
        if test.run(self.plain) != SURVIVED:
            raise SystemExit(f"{original.target} fails without a mutant of {self.name}")
        return test

    @functools.cached_property
    def checked(self):
        """The mutants with sanitizers."""
        folder = self._folder("checked")
        assert not self._compile_schemata(folder, SANITIZED)
        for test in self.own_tests:
            if test.run(folder, is_checked=True) != SURVIVED:
                raise SystemExit(f"{test.path.name} fails under sanitizers without a mutant")
        return folder

    @functools.cached_property
    def code(self):
        """{id: what the compiler makes of the function}, 0 for the original ones."""
        folder = self._folder("code")
        more = ["-O2", "-S", "-fno-ipa-icf", "-fno-asynchronous-unwind-tables", "-o", "out.s"]
        assert not self._cc(mutate.schemata(self.text, self.together), folder, *more)
        return mutate.assembly((folder / "out.s").read_text(encoding="utf-8"))

    def judge(self, mutant):
        """One of OUTCOMES, "not compiled" or "same code"."""
        i = self.ids.get(mutant)
        if i is None:
            return self._judge_alone(mutant)
        if i not in self.together:
            return "not compiled"
        outcome = worst(test.run(self.plain, i) for test in self.tests)
        if outcome != SURVIVED:
            return outcome
        with self.lock:
            code, checked = self.code, self.checked
        if mutate.is_same(code, i):
            return "same code"
        return worst(test.run(checked, i, is_checked=True) for test in self.own_tests)

    def _judge_alone(self, mutant):
        with tempfile.TemporaryDirectory(dir=self.directory) as name:
            folder = pathlib.Path(name)
            if self._cc(mutant.apply(self.text), folder, *SHARED, "-O1"):
                return "not compiled"
            return worst(test.run(folder) for test in self.tests)


@functools.cache
def commands():
    """{test: how ninja links it}"""
    said = run("ninja", "-C", BUILD, "-t", "commands", stdout=subprocess.PIPE, text=True).stdout
    lines = [line for line in said.splitlines() if " -o tests/" in line and " -c " not in line]
    return {line.partition(" -o ")[2].split()[0]: line for line in lines}


@functools.cache
def asan():
    said = run("gcc", "-print-file-name=libasan.so", stdout=subprocess.PIPE, text=True).stdout
    return said.strip()


def share(counts, outcome=NOTICED):
    return counts[outcome] / max(sum(counts[one] for one in OUTCOMES), 1)


def report(name, counts):
    shares = ", ".join(f"{share(counts, one):.1%} {one}" for one in OUTCOMES)
    others = "".join(
        f"; {count} {what}" for what, count in sorted(counts.items()) if what not in OUTCOMES
    )
    print(f"{name}: {sum(counts[one] for one in OUTCOMES)} mutants: {shares}{others}", flush=True)


def choose(paths, sample, seed):
    """{path: some of its mutants, or all}, without files that have none."""
    every = [
        (path, mutant)
        for path in paths
        for mutant in mutate.mutants(path.read_text(encoding="utf-8"))
    ]
    if sample and sample < len(every):
        print(f"{sample} of {len(every)} mutants, --seed {seed}")
        picked = set(random.Random(seed).sample(range(len(every)), sample))
        every = [one for i, one in enumerate(every) if i in picked]
    chosen = {}
    for path, mutant in every:
        chosen.setdefault(path, []).append(mutant)
    return chosen


def judge_all(file, mutants, pool):
    counts = collections.Counter()
    for mutant, outcome in zip(mutants, pool.map(file.judge, mutants)):
        counts[outcome] += 1
        if outcome in (SURVIVED, TIMED_OUT):
            print(f"{file.name}:{mutant.line}: {outcome}: {mutant.what}", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--sample", type=int, help="so many mutants of all files")
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86400)
    options = parser.parse_args()
    paths = [path.resolve() for path in options.files] or [
        path for pattern in FILES for path in sorted(TOP.glob(pattern))
    ]
    chosen = choose(paths, options.sample, options.seed)
    counted = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        originals = build(pool)
        targets = introspect("--targets")
        for path, mutants in chosen.items():
            with tempfile.TemporaryDirectory(prefix="plimsoll-mutants-") as directory:
                file = File(path, mutants, targets, directory)
                file.link_tests(originals, pool)
                counts = judge_all(file, mutants, pool)
            report(file.name, counts)
            counted[f"library {file.library.name}"] += counts
    for name, counts in counted.items():
        report(name, counts)
    total = sum(counted.values(), collections.Counter())
    report("all", total)
    return int(share(total) < PROMISED_SHARE)


if __name__ == "__main__":
    sys.exit(main())
