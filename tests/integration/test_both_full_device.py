"""What cannot be printed, as on a full disk, is an error and not silence."""

import subprocess

import pytest

COMMANDS = [
    "plimsoll-controller --help",
    "plimsoll-controller --version",
    "plimsoll-controller --check-config",
    "plimsoll-extender --help",
    "plimsoll-extender --version",
    "plimsoll-extender --check-config",
    "plimsoll-extender explain --help",
]


def onto_full_device(argv):
    with open("/dev/full", "wb") as full:
        return subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_printed_at_once(binary, command):
    program, *arguments = command.split()
    done = onto_full_device([binary(program), *arguments])
    assert done.returncode == 1
    assert "standard output" in done.stderr


def test_what_a_cleanup_would_do(binary, start_standin):
    standin = start_standin("--nodes", 1)
    standin.patch(
        "/api/v1/nodes/node-0000",
        {"metadata": {"annotations": {"node_hot_value": "1,2026-07-23T11:25:54Z"}}},
    )
    argv = [
        binary("plimsoll-controller"),
        *("--kubeconfig", standin.kubeconfig, "--cleanup", "--dry-run"),
    ]
    done = onto_full_device(argv)
    assert done.returncode == 1
    assert "standard output" in done.stderr


def test_windows_of_a_dry_run(binary, exporters):
    argv = [
        binary("plimsoll-controller"),
        *("--dry-run", "--once", "--scrape-interval=1s"),
        f"--target=web-1=http://127.1.0.1:{exporters.port}/metrics",
    ]
    done = onto_full_device(argv)
    assert done.returncode == 1
    assert "standard output" in done.stderr
