"""Without descriptors to start with, both programs end alike: with 1, as what may go better next time."""

import subprocess

import pytest

PROGRAMS = {
    "plimsoll-controller": ["--bind-address=127.0.0.1", "--health-port=0"],
    "plimsoll-extender": ["--bind-address=127.0.0.1", "--port=0"],
}
LONE_MASTER = "--master=http://127.0.0.1:1"


def start(binary, program, limit):
    """Its status and log; 0 when it did start."""
    argv = ["prlimit", f"--nofile={limit}", binary(program), *PROGRAMS[program], LONE_MASTER]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "msg=serving" in line:
                process.terminate()
        return process.wait(30), "".join(lines)


@pytest.mark.parametrize("program", PROGRAMS)
def test_too_few_descriptors(binary, program):
    failures = 0
    for limit in range(5, 40):
        status, log = start(binary, program, limit)
        if "msg=serving" in log:
            break
        assert status == 1, log
        assert 'msg="cannot start"' in log
        failures += 1
    assert failures >= 3, "with 5 descriptors it cannot start"
    assert status == 0, log
