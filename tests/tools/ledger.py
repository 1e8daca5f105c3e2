"""What the gate has counted: steps and tests, their times, and skips with what excuses them."""

import json
import os
import pathlib
import re
import subprocess
import threading
import time
import xml.etree.ElementTree

TOP = pathlib.Path(__file__).resolve().parents[2]
SLOWEST = 15
TAIL_LINES = 80


def lacks_psi():
    return not pathlib.Path("/proc/pressure").exists()


def lacks_disk_times():
    rows = pathlib.Path("/proc/diskstats").read_text(encoding="ascii").splitlines()
    return not any(int(row.split()[12]) for row in rows)


def lacks_root():
    return os.geteuid() != 0


def lacks_namespaces():
    return subprocess.run([TOP / "tests/e2e/sandbox", "true"], stderr=-3, check=False).returncode


def lacks_own_cgroups():
    return lacks_root() or not pathlib.Path("/sys/fs/cgroup/cpuacct").exists()


def lacks_traces():
    argv = [
        "/usr/bin/python3",
        "-c",
        "import traces; exit(not set(traces.SOURCES) - {*traces.available()})",
    ]
    return subprocess.run(argv, cwd=TOP / "tests" / "placement", check=False).returncode == 0


def lacks_its_libm():
    argv = ["/usr/bin/python3", "-c", "import fingerprint; exit(not fingerprint.is_other_libm())"]
    return subprocess.run(argv, cwd=TOP / "tests" / "placement", check=False).returncode == 0


# What may be skipped, and where: a test, the reason that it gives, and what must be true of this
# machine. Any other skip is a failure, so that a green run is a whole run.
MAY_SKIP = [
    (r"test_controller_real_resources\.", r"no pressure stall information", lacks_psi),
    (r"test_controller_real_resources\.", r"no time of any disk", lacks_disk_times),
    (r"test_controller_(real_resources|dns_faults)\.", r"^no namespaces: ", lacks_namespaces),
    (r"test_real_nodes\.", r"cgroups", lacks_own_cgroups),
    (r"test_image\.", r"building images needs root", lacks_root),
    (r"^placement\.replay-", r"^no traces: ", lacks_traces),
    (r"^placement\.page$", r"^this machine's libm rounds otherwise", lacks_its_libm),
    (r"test_ipv6\.", r"no second user id without root", lacks_root),
]


# What a failure says of a sanitizer's finding, or of a program that has died; the texts of
# tests/integration/harness.py and programs.py, of subprocess, and of an exit status that is compared.
DEATH = re.compile(
    r"(Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer|runtime error:|Assertion .* failed"
    r"|\bended with -?\d|: status -\d|Error: -\d+: |\bdied with |\bassert -\d+ (==|in) "
)


class Outcome:
    """Tests of one step: `times` has (seconds, name) of each, `failures` (name, what it says),
    `deaths` the names of those where a program died or a sanitizer spoke."""

    def __init__(self):
        self.passed = 0
        self.failures, self.skips, self.times, self.figures, self.deaths = [], [], [], [], []


def read_meson(path):
    """The results of a `meson test`, by its testlog.json."""
    found = Outcome()
    for line in path.read_text(encoding="utf-8").splitlines():
        result = json.loads(line)
        name = result["name"]
        # A cmocka program that skipped one of its tests ends like one that passed.
        said = (result.get("stdout") or "") + (result.get("stderr") or "")
        skipped = re.findall(r"^\[  SKIPPED \] (?!\d+ test)(\w+)", said, re.MULTILINE)
        found.skips += [(f"{name}.{test}", "skipped by cmocka") for test in dict.fromkeys(skipped)]
        if result["result"] == "SKIP":
            found.skips.append((name, "no reason given"))
        elif result["result"] in ("OK", "EXPECTEDFAIL"):
            found.passed += 1
        else:
            found.failures.append((name, result["result"]))
        found.times.append((result["duration"], f"{name} ({path.parents[1].name})"))
    return found


def read_junit(path):
    """The results of a pytest run, by its junit file."""
    found = Outcome()
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}"
        skip = case.find("skipped")
        trouble = [*case.iter("failure"), *case.iter("error")]
        if trouble:
            said = [one.get("message") or "" for one in trouble]
            found.failures.append((name, said[0].partition("\n")[0]))
            found.deaths += [name for text in said if DEATH.search(text)]
        elif skip is not None:
            found.skips.append((name, skip.get("message")))
        else:
            found.passed += 1
        found.times.append((float(case.get("time") or 0), name))
        for item in case.iter("property"):
            if item.get("name") == "figure":
                found.figures.append(f"{case.get('name')}: {item.get('value')}")
    return found


def is_excused(name, reason):
    return any(
        re.search(test, name) and re.search(words, reason) and holds()
        for test, words, holds in MAY_SKIP
    )


class Ledger:
    """Counts steps as they end, from any thread, and prints a line for each."""

    def __init__(self, out):
        self.out = out
        self.passed = 0
        self.skips, self.times, self.failures, self.unsteady = [], [], [], []
        self.had_second_try = False
        self.lock = threading.Lock()
        self.started_s = time.monotonic()

    def second_try(self, outcomes):
        """The failure whose test is to be run again, of a group's; None, and all are counted.

        It is the only one that failed, no other has had a second try in this run, and no program
        died in it: that is no bad luck of a busy machine.
        """
        failures = [failure for outcome in outcomes for failure in outcome.failures]
        names = {name for name, _ in failures}
        may_be_luck = len(names) == 1 and not any(outcome.deaths for outcome in outcomes)
        if not may_be_luck or self.had_second_try:
            self.failures += failures
            return None
        self.had_second_try = True
        return failures[0]

    def account(self, name, code, took_s, count=None, has_second_try=False):
        """Count how a step went; true when all of it is well.

        `count` reads the Outcome of the tests it ran; a step without one counts as one. The failures
        of a step that `has_second_try` are not counted: second_try() counts them.
        """
        outcome, problem = Outcome(), f"status {code}"
        if count:
            try:
                outcome = count()
            except (OSError, ValueError, xml.etree.ElementTree.ParseError) as error:
                problem = f"no results: {error}"
        elif code == 0:
            outcome.passed = 1
        skips = [skip for skip in outcome.skips if is_excused(*skip)]
        unexcused = [skip for skip in outcome.skips if skip not in skips]
        if not outcome.failures and (code != 0 or not (outcome.passed or skips)):
            outcome.failures.append((name, problem))  # a step that ran nothing has not passed
            has_second_try = False
        with self.lock:
            self.passed += outcome.passed
            self.skips += skips
            self.failures += [(test, f"skipped: {reason}") for test, reason in unexcused]
            if not has_second_try:
                self.failures += outcome.failures
            self.times += outcome.times
            failed = len(outcome.failures) + len(unexcused)
            detail = f"{outcome.passed} passed, {failed} failed"
            if not count:
                detail = "FAILED" if failed else "ok"
            print(f"  {name:<28} {detail}  ({took_s:.0f} s)")
            for test, reason in unexcused:
                print(
                    f"    {test} was skipped, which tests/tools/ledger.py does not excuse: {reason}"
                )
            if outcome.failures:
                self.show_end(name)
            for figure in outcome.figures:
                print(f"    {figure}")
            print(end="", flush=True)
        return failed == 0

    def show_end(self, name):
        log = self.out / f"{name}.log"
        if log.exists():
            lines = log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
            print("\n".join("    | " + line for line in lines))
            print(f"    the whole log: {log}")

    def finish(self):
        """Print the slowest tests and the closing line."""
        print(f"the {SLOWEST} slowest tests:")
        for took_s, name in sorted(self.times, reverse=True)[:SLOWEST]:
            print(f"  {took_s:6.1f} s  {name}")
        for name, reason in self.skips:
            print(f"skipped: {name}: {reason}")
        for name, reason in self.unsteady:
            print(f"passed at its second try only: {name}: {reason}")
        for name, reason in self.failures:
            print(f"failed: {name}: {reason}")
        print(f"all of it took {time.monotonic() - self.started_s:.0f} s")
        if self.unsteady:
            print(f"{len(self.unsteady)} at its second try")
        print(closing_line(self))


def closing_line(*ledgers):
    passed = sum(one.passed for one in ledgers)
    failed = sum(len(one.failures) for one in ledgers)
    skipped = sum(len(one.skips) for one in ledgers)
    return f"{passed} passed, {failed} failed, {skipped} skipped"
