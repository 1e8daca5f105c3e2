"""A core dump would hold tokens and keys: the programs leave none (tests/unit/common/daemon/test_daemon.c)."""

import re


def assert_leaves_none(program):
    with open(f"/proc/{program.process.pid}/limits", encoding="ascii") as file:
        assert re.search(r"^Max core file size +0 +0 +bytes", file.read(), re.MULTILINE)


def test_controller(start_standin, exporters, start_controller):
    assert_leaves_none(start_controller(start_standin(), exporters))


def test_extender(start_standin, start_extender):
    extender = start_extender(start_standin("--nodes", 2))
    extender.wait_live()
    assert_leaves_none(extender)
