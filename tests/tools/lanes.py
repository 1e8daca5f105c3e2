"""Runs test files in lanes side by side, each lane in a sandbox of its own.

A batch is some files that share one pytest, and with it the fixtures of its session. The longest
batch begins first, by the times of the last run, which are kept in the user's cache.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

USERS_CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
CACHE = USERS_CACHE / "plimsoll-gate"
TIMES = CACHE / "times.json"
# What a file takes of which nothing is known yet.
UNKNOWN_S_PER_KB = 1.5
# The process groups of what runs now.
groups = set()


def end_at_once(number, _frame):
    for group in list(groups):
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.killpg(group, signal.SIGKILL)
    os._exit(128 + number)


def end_at_a_signal():
    """From now on Ctrl-C ends this program and all that it runs, in whichever threads it waits for them."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_at_once)


def known_times():
    try:
        return json.loads(TIMES.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def remember(times):
    TIMES.parent.mkdir(parents=True, exist_ok=True)
    partial = TIMES.with_suffix(f".{os.getpid()}")
    partial.write_text(
        json.dumps(known_times() | times, indent=1, sort_keys=True), encoding="utf-8"
    )
    partial.replace(TIMES)


def expected_s(path):
    return (
        known_times().get(f"{path.parent.name}/{path.stem}")
        or path.stat().st_size / 1024 * UNKNOWN_S_PER_KB
    )


def run_one(argv, log_path, cwd, env, limit_s, is_shown=False):
    """Run a command with its output in a log; (status, seconds).

    Its output `is_shown` as it comes as well. What takes too long is killed with all that it started.
    """
    started_s = time.monotonic()
    with open(log_path, "wb") as log, subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
        stdout=subprocess.PIPE if is_shown else log, start_new_session=True,
    ) as process:  # fmt: skip
        groups.add(process.pid)
        expired = threading.Event()

        def kill():
            expired.set()
            os.killpg(process.pid, signal.SIGKILL)

        limit = threading.Timer(limit_s, kill)
        limit.start()
        for line in process.stdout or ():
            log.write(line)
            print("    " + line.decode(errors="replace"), end="", flush=True)
        code = process.wait()
        groups.remove(process.pid)
        limit.cancel()
        if expired.is_set():
            log.write(f"\nkilled after {limit_s} s\n".encode())
    return code, time.monotonic() - started_s


def run(batches, lanes, start):
    """Run start(name) for every batch of {name: files}, `lanes` at a time, the longest first; what
    they return."""
    order = sorted(batches, key=lambda name: -sum(map(expected_s, batches[name])))
    with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
        return list(pool.map(start, order))
