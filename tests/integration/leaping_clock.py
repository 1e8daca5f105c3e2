"""A clock of several programs that leaps ahead whenever all of them sleep: days pass in minutes,
and nothing is late however busy the machine is. See tests/tools/leaping_clock.c."""

import contextlib
import itertools
import mmap
import os
import struct
import time

FIELDS = {"speed": 0, "ahead": 8, "suspended": 16}
LEAP_MAX_S = 5  # shorter than what programs wait for, except for their ticks
TICK_S = 0.0003
TASKS_EVERY = 50


class LeapingClock:
    """Programs that have `env` share it, Python ones as well. They need a build without sanitizers."""

    def __init__(self, path, speed=1):
        shim = os.path.join(os.environ["PLIMSOLL_RELEASE_DIR"], "tests", "libleaping_clock.so")
        assert os.path.exists(shim), shim
        path.write_bytes(struct.pack("qqq", speed, 0, 0))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 24)
        self.speed, self.ahead_s = speed, 0.0
        self.env = {"LD_PRELOAD": shim, "LEAPING_CLOCK": str(path)}

    def _set(self, field, seconds):
        at = FIELDS[field]
        self.map[at : at + 8] = struct.pack("q", int(seconds * 1e9))

    def suspend(self, seconds):
        """CLOCK_MONOTONIC has stood still for so long."""
        self._set("suspended", seconds)

    def _now_s(self):
        return time.monotonic() + self.ahead_s

    def run(self, seconds, processes):
        """Return when so much time has passed; all but what the processes need is leapt over."""
        tasks, end_s, looked_s = Tasks(processes), self._now_s() + seconds, time.monotonic()
        for tick in itertools.count():
            left_s = end_s - self._now_s()
            if left_s <= 0:
                break
            time.sleep(TICK_S)
            if tick % TASKS_EVERY == 0:
                tasks.find()
            now_s = time.monotonic()
            if tasks.are_asleep():
                self.ahead_s += min((now_s - looked_s) * self.speed, LEAP_MAX_S, left_s)
                self._set("ahead", self.ahead_s)
            looked_s = now_s
        tasks.close()


class Tasks:
    """The threads of processes. Who has been sent something no longer sleeps, even if it has no
    processor yet."""

    def __init__(self, processes):
        self.processes, self.files = processes, {}

    def find(self):
        for process in self.processes:
            assert process.is_running(), f"{process.name} has ended"
        paths = {
            f"/proc/{process.pid}/task/{task}/stat"
            for process in self.processes
            for task in os.listdir(f"/proc/{process.pid}/task")
        }
        for path in set(self.files) - paths:
            os.close(self.files.pop(path))
        for path in paths - set(self.files):
            with contextlib.suppress(FileNotFoundError):  # it has ended in the meantime
                self.files[path] = os.open(path, os.O_RDONLY)

    def are_asleep(self):
        try:
            return all(
                os.pread(file, 200, 0).rpartition(b") ")[2][:1] == b"S"
                for file in self.files.values()
            )
        except ProcessLookupError:  # one has ended
            self.find()
            return False

    def close(self):
        for file in self.files.values():
            os.close(file)
