"""The wall clock of programs that a test starts, by Debian's libfaketime. They need a build without sanitizers."""

import glob
import os
import time

# Far more than a test takes, far less than a step.
NEAR_S = 600


class WallClock:
    """The wall clock of the programs that have its `env`."""

    def __init__(self, path):
        library = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        assert library, "apt-get install faketime"
        self.path = str(path)
        self.env = {
            "LD_PRELOAD": library[0],
            "FAKETIME_TIMESTAMP_FILE": self.path,
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Or waits for conditions return at once.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            # Files' times are what they are.
            "NO_FAKE_STAT": "1",
        }
        self.set(0)

    def set(self, offset_s):
        """In one step: the programs may be reading it."""
        self.offset_s = offset_s
        with open(f"{self.path}.new", "w", encoding="ascii") as file:
            file.write(f"{offset_s:+d}")
        os.rename(f"{self.path}.new", self.path)

    def is_near(self, at_unix):
        return abs(at_unix - time.time() - self.offset_s) < NEAR_S
