"""The extender's policy file while it runs: what is bad changes nothing, and is said once."""

import os
import random

import pytest

from extender_kit import annotate, policy
from harness import wait_until
from policies import CPU, node_names, write_policy

NODES = node_names(2)
IDLE, HALF = NODES
TOLERANT, STRICT = policy(limits={CPU: 0.65}), policy(limits={CPU: 0.4})


@pytest.fixture
def extender(start_standin, start_extender):
    standin = start_standin("--nodes", len(NODES))
    annotate(standin, IDLE, 0.1)
    annotate(standin, HALF, 0.5)
    extender = start_extender(standin, content=TOLERANT)
    extender.wait_live()
    extender.standin = standin
    return extender


@pytest.fixture
def path(extender):
    return extender.policy_path


def errors(extender):
    return [line for line in extender.process.stderr().splitlines() if "level=error" in line]


def wait_rejected(scheduler, *names):
    wait_until(lambda: set(scheduler.filter(NODES)[1]) == set(names), what=f"{names} rejected")


def test_bad_policies_change_nothing_and_are_said_once(extender, path):
    def in_force():
        """How often a policy was put in force: each time is counted and logged."""
        generation = extender.metric("plimsoll_policy_generation")
        assert generation == len(extender.log_lines("policy is in force"))
        return generation

    with extender.scheduler() as scheduler:
        write_policy(path, STRICT)
        wait_rejected(scheduler, HALF)
        assert in_force() == 2
        bad = [
            b"",
            random.Random(1).randbytes(1000),
            policy(limits={CPU: -1}),
            {**STRICT, "kind": "Deployment"},
        ]
        for i, content in enumerate(bad, 1):
            write_policy(path, content)
            extender.reload()
            wait_until(lambda: len(errors(extender)) == i, what="the error")
            assert extender.metric("plimsoll_policy_failed") == 1
            assert set(scheduler.filter(NODES)[1]) == {HALF}
            ready, text = extender.ready()
            assert ready and "generation 2; cannot load the latest policy: " in text, text
            assert str(path) in errors(extender)[-1]
        # A file that is gone may be on its way back; a signal asks for it now.
        os.unlink(path)
        extender.reload()
        wait_until(lambda: len(errors(extender)) == len(bad) + 1, what="the missing file")
        # Again, and it is counted again, but not said.
        count = extender.metric("plimsoll_policy_errors_total")
        assert count >= len(bad) + 1  # the file may be looked at between its change and the signal
        extender.reload()
        wait_until(
            lambda: extender.metric("plimsoll_policy_errors_total") == count + 1, what="the signal"
        )
        assert set(scheduler.filter(NODES)[1]) == {HALF}
        assert in_force() == 2
        write_policy(path, TOLERANT)
        wait_rejected(scheduler)
        assert in_force() == 3
        assert extender.metric("plimsoll_policy_failed") == 0
        assert len(errors(extender)) == len(bad) + 1


def test_as_a_config_map_is_mounted(start_standin, start_extender, tmp_path):
    """..data is a symbolic link to a directory; kubelet swaps it by rename."""
    for version, content in (("1", TOLERANT), ("2", STRICT)):
        (tmp_path / version).mkdir()
        write_policy(tmp_path / version / "policy.yaml", content)
    data, path = tmp_path / "..data", tmp_path / "policy.yaml"
    data.symlink_to("1")
    path.symlink_to("..data/policy.yaml")
    standin = start_standin("--nodes", len(NODES))
    annotate(standin, HALF, 0.5)
    extender = start_extender(standin, content=str(path))
    extender.wait_live()
    with extender.scheduler() as scheduler:
        assert scheduler.filter(NODES)[1] == {}
        for version, rejected in (("2", [HALF]), ("1", [])):
            (tmp_path / "..new").symlink_to(version)
            os.rename(tmp_path / "..new", data)
            wait_rejected(scheduler, *rejected)
