"""Memory runs out at any one allocation: a program ends by its "out of memory" line and SIGABRT, or
with a clear error, or does without; it never crashes, hangs, or says something wrong."""

import collections
import concurrent.futures
import mmap
import os
import re
import signal
import struct
import subprocess

import pytest

from controller_kit import policy as controller_policy
from extender_kit import Extender, annotate, policy
from harness import NIGHTLY, clean_environment, fetch, wait_until
from policies import write_policy

# Of the allocations of a run so many, spread evenly; all of them in `make nightly`.
TRIES = 10**6 if NIGHTLY else 60
SLOW_TRIES = 10**6 if NIGHTLY else 8
SLOW_LANES = 16  # of what mostly waits
LAST_WORDS = re.compile(r'level=error msg="out of memory"')


class Allocations:
    """What a program with the shim counts, and which allocation is to fail."""

    def __init__(self, path):
        path.write_bytes(bytes(16))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 16)
        shim = os.path.join(os.environ["PLIMSOLL_RELEASE_DIR"], "tests", "liballocation_fault.so")
        assert os.path.exists(shim), shim
        self.env = {"LD_PRELOAD": shim, "ALLOCATIONS": str(path)}

    def fail(self, number):
        """The one after `number` - 1 others from now on; 0: none."""
        self.map[:] = struct.pack("qq", 0, number)

    def seen(self):
        return struct.unpack("qq", self.map[:])[0]

    def is_pending(self):
        return struct.unpack("qq", self.map[:])[1] > 0


@pytest.fixture
def allocations(tmp_path):
    return Allocations(tmp_path / "allocations")


def spread(count, tries=TRIES):
    return range(1, count + 1, -(-count // tries))


def each_allocation(path, argv, input_text=None, is_same=None, tries=TRIES, lanes=1):
    """Run a program once whole, then with each of its allocations failing, in so many lanes."""

    def run(allocations, number):
        allocations.fail(number)
        return subprocess.run(
            [str(part) for part in argv], input=input_text, capture_output=True, text=True,
            env=clean_environment(allocations.env), timeout=60, check=False,
        )  # fmt: skip

    first = Allocations(path / "allocations")
    whole = run(first, 0)
    assert whole.returncode == 0, whole.stderr
    is_same = is_same or (lambda text: text == whole.stdout)
    count = first.seen()
    assert count > 100

    def fail(number):
        done = run(Allocations(path / f"allocations-{number}"), number)
        where = f"allocation {number} of {count}: {done.returncode}\n{done.stderr[-2000:]}"
        if done.returncode == -signal.SIGABRT:
            assert LAST_WORDS.search(done.stderr), where
            return "aborted"
        if done.returncode == 0:
            assert is_same(done.stdout), where + done.stdout[-2000:]
            return "did without"
        assert done.returncode in (1, 2) and done.stderr.strip(), where
        return "refused"

    with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
        ends = collections.Counter(pool.map(fail, spread(count, tries)))
    assert ends["aborted"] > 0
    print(f"{count} allocations, {ends.total()} failed one at a time: {dict(ends)}")


@pytest.mark.parametrize("program", ["plimsoll-controller", "plimsoll-extender"])
def test_check_config(binary, tmp_path, program):
    path = write_policy(tmp_path / "policy.yaml", policy({"cpu_usage_avg_5m": 0.65}))
    argv = [binary(program, "release"), "--check-config", f"--policy-config-path={path}"]
    each_allocation(tmp_path, argv)


@pytest.mark.timeout(3600 if NIGHTLY else 300)
def test_dry_run(binary, standin, exporters, tmp_path):
    standin.add_nodes(3)
    path = write_policy(tmp_path / "policy.yaml", controller_policy())
    argv = [
        binary("plimsoll-controller", "release"),
        f"--kubeconfig={standin.kubeconfig}",
        f"--policy-config-path={path}",
        f"--target-url-template=http://{{address}}:{exporters.port}/metrics",
        "--scrape-interval=1s",
        "--once",
        "--dry-run",
    ]
    names = [f"node-{i:04d}" for i in range(3)]

    def is_whole(text):
        return all(name in text for name in names)

    each_allocation(tmp_path, argv, None, is_whole, SLOW_TRIES, SLOW_LANES)
    assert standin.patches() == []


class Serving:
    """An extender with the shim, started again when it has ended by its last words."""

    def __init__(self, run, binary, standin, allocations, policy_path):
        self.run, self.binary, self.standin = run, binary, standin
        self.allocations, self.policy_path = allocations, policy_path
        self.aborted = self.starts = 0
        self.extender = None
        self.start()

    def start(self):
        def run(argv, name):
            return self.run(argv, f"{name}-{self.starts}", self.allocations.env)

        self.allocations.fail(0)
        self.starts += 1
        flags = [f"--policy-config-path={self.policy_path}"]
        self.extender = Extender(run, self.standin, *flags, build="release")
        self.extender.wait_ready()

    def settle(self):
        """It runs, or has ended as it may."""
        process = self.extender.process
        if process.is_running():
            return
        assert process.wait_exit() == -signal.SIGABRT, process.text()[-3000:]
        assert LAST_WORDS.search(process.stderr()), process.text()[-3000:]
        self.aborted += 1
        self.start()


@pytest.fixture
def serving(run, binary, standin, allocations, tmp_path):
    standin.add_nodes(3)
    annotate(standin, "node-0000", 0.9)
    path = write_policy(tmp_path / "policy.yaml", policy({"cpu_usage_avg_5m": 0.65}))
    return Serving(run, binary, standin, allocations, path)


NAMES = ["node-0000", "node-0001", "node-0002"]


def posted(serving, path, body):
    """What a request is answered; None: the connection broke, or the answer is no 200."""
    try:
        answer = fetch(f"{serving.extender.url}{path}", "POST", body.encode())
    except OSError:
        return None
    return answer.json() if answer.status == 200 else None


def filtered(serving):
    """The names that pass, or None."""
    body = '{"Pod":{"metadata":{"name":"p"}},"NodeNames":["node-0000","node-0001","node-0002"]}'
    said = posted(serving, "/v1/filter", body)
    return said and said["NodeNames"]


def explained(serving):
    said = posted(serving, "/explain", "{}")
    return said and [row["node"] for row in said["nodes"] if row["rejectedBy"] is None]


def answer(serving, ask=filtered):
    """The same, once it has been started again where it had ended."""
    serving.settle()
    return ask(serving)


@pytest.mark.parametrize("ask", [filtered, explained])
def test_answers(serving, ask):
    """An answer is right or there is none, and the next request is answered."""
    wait_until(lambda: ask(serving) == NAMES[1:], what="the hot node to be rejected")
    tries = broken = 0
    while True:
        tries += 1
        serving.allocations.fail(tries)
        said = ask(serving)
        if serving.allocations.is_pending():
            break
        assert said in (None, NAMES[1:]), tries
        broken += said is None
        serving.allocations.fail(0)
        assert (
            wait_until(lambda: answer(serving, ask), what="the next request's answer") == NAMES[1:]
        )
    assert tries > 5
    print(f"{tries} allocations of a request: {serving.aborted} aborts, {broken} without an answer")


def test_reload(serving):
    """The policy before it, or the new one; never none, and never half of one."""
    answers = {0.65: NAMES[1:], 0.95: NAMES}

    def reload(limit, number):
        write_policy(serving.policy_path, policy({"cpu_usage_avg_5m": limit}))
        serving.allocations.fail(number)
        serving.extender.reload()

    def is_over(limit):
        """The allocation has failed, or the reload needed none as late as that."""
        return not serving.allocations.is_pending() or filtered(serving) == answers[limit]

    reload(0.95, 0)
    wait_until(lambda: filtered(serving) == NAMES, what="the new limit")
    said = NAMES
    count = serving.allocations.seen()
    for number in spread(count):
        # A reload of the policy in force would do nothing.
        limit = 0.65 if said == NAMES else 0.95
        reload(limit, number)
        wait_until(lambda: is_over(limit), what="the allocation to fail")
        serving.allocations.fail(0)
        said = wait_until(lambda: answer(serving), what="the next request's answer")
        assert said in answers.values()
    print(f"{count} allocations of a reload: {serving.aborted} aborts")
