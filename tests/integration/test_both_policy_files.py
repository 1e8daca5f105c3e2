"""Policies from files: what is wrong with one is said with its line and path, and ends in status 2."""

import pathlib

import pytest

from programs import complete

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("plimsoll-controller", "plimsoll-extender")


def check_config(program, path, *flags):
    argv = (program, "--check-config", f"--policy-config-path={path}", *flags)
    done = complete(*argv, status=None)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_unknown_field(program, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(
        "apiVersion: scheduler.policy.crane.io/v1alpha1\n"
        "kind: DynamicSchedulerPolicy\n"
        "spec:\n"
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
        "  predicat: []\n"
    )
    warning = "line 5: spec.predicat: unknown field (did you mean predicate?)"
    status, out, err = check_config(program, path)
    assert status == 0 and warning in err
    assert out.endswith(f"\n# Policy\n{path.read_text()}")
    status, out, err = check_config(program, path, "--strict")
    assert status == 2 and warning in err
