"""What cannot be printed, as on a full disk, is an error and not silence."""

import subprocess

import pytest

from programs import complete

COMMANDS = [
    "plimsoll-controller --help",
    "plimsoll-controller --version",
    "plimsoll-controller --check-config",
    "plimsoll-extender --help",
    "plimsoll-extender --version",
    "plimsoll-extender --check-config",
    "kubectl-plimsoll explain --help",
]


def fails_to_print(*words):
    with open("/dev/full", "wb") as full:
        done = complete(*words, status=1, stdin=subprocess.DEVNULL, stdout=full)
    return "standard output" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_printed_at_once(command):
    assert fails_to_print(*command.split())


def test_windows_of_a_dry_run(exporters):
    target = f"--target=web-1=http://127.1.0.1:{exporters.port}/metrics"
    flags = ("--dry-run", "--once", "--scrape-interval=1s", target)
    assert fails_to_print("plimsoll-controller", *flags)
