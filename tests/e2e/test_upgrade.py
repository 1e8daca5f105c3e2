"""Upgrade and rollback: the programs of an older commit beside ours. What docs/install.md promises for
neighbouring releases is shown with one that writes other annotations."""

import os
import pathlib
import subprocess
import time

import pytest

from controller_kit import (
    lease_object,
    node_names,
    policy,
    read_annotation,
    reading,
    stamp,
    write_policy,
)
from extender_kit import Extender
from harness import wait_until

# The last one without `_peak` annotations, without the estimate, with the time of writing as a metric's.
OLD = "0f083ca3dbab724c0c2c3500f76953c56928d0a3"
TOP = pathlib.Path(__file__).resolve().parents[2]
CPU, MEM, MAX = "cpu_usage_avg_5m", "mem_usage_avg_5m", "cpu_usage_max_avg_1h"
LOADS = {"127.1.0.1": 0.1, "127.1.0.2": 0.3, "127.1.0.3": 0.5, "127.1.0.4": 0.9}
# What both know.
POLICY = policy(
    {CPU: "1s", MEM: "1s", MAX: "1s"}, {CPU: 0.65}, {CPU: 0.5, MEM: 0.3, MAX: 0.2}, {"30m": 1}
)
LEASE = (
    "--leader-elect=true", "--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=1s",
)  # fmt: skip
# By which, under what load, and how the one before ended.
LIVES = (("old", 0.1, ""), ("new", 0.1, "stopped"), ("old", 0.9, "killed"), ("new", 0.1, "killed"))
BUILDS = {"old": "old", "new": "build"}
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module", autouse=True)
def old_build(tmp_path_factory):
    """The older programs, where find_program() looks for those of the build "old"."""
    git = ["git", "-C", str(TOP)]
    if subprocess.run([*git, "cat-file", "-e", f"{OLD}^{{commit}}"], check=False).returncode != 0:
        pytest.skip("the history is not in this clone")
    source, build = (tmp_path_factory.mktemp(name) for name in ("source", "build"))
    archive = subprocess.run([*git, "archive", OLD], check=True, capture_output=True).stdout
    programs = ["controller/plimsoll-controller", "extender/plimsoll-extender"]
    for argv, text in (
        (["tar", "-x", "-C", source], archive),
        (["meson", "setup", "--buildtype=release", build, source], None),
        (["ninja", "-C", build, "-j2", *programs], None),
    ):
        done = subprocess.run(argv, input=text, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    os.environ["PLIMSOLL_OLD_DIR"] = str(build)
    yield
    del os.environ["PLIMSOLL_OLD_DIR"]


@pytest.mark.parametrize("writer", ["old", "new"])
def test_either_reads_the_other(
    writer, start_standin, start_exporters, start_controller, run, binary, tmp_path
):
    """The half-states of a rolling update: equal verdicts and scores by one controller's annotations."""
    names = node_names(len(LOADS))
    standin, exporters = start_standin("--nodes", len(names)), start_exporters("--speed", "20")
    exporters.set_loads(
        {address: {"cpu": load, "mem": load / 2} for address, load in LOADS.items()}
    )
    path = write_policy(tmp_path / "policy.yaml", POLICY)
    flag = f"--policy-config-path={path}"
    extenders = [
        Extender(
            run,
            binary,
            standin,
            flag,
            "--compact-scores=false",
            build=build,
            name=f"extender-{version}",
        )
        for version, build in BUILDS.items()
    ]
    for extender in extenders:
        extender.wait_ready()
    controller = start_controller(standin, exporters, content=path, build=BUILDS[writer])
    standin.add_pods(3, prefix="web-", nodes=names[:1])

    def annotated():
        values = [reading(standin, name, CPU) for name in names]
        assert all(values) and [v.value for v in values] == pytest.approx(
            [*LOADS.values()], abs=0.05
        )
        assert standin.annotations(names[0])["node_hot_value"].startswith("3,")
        return True

    wait_until(annotated, what="loads and a hot value")
    assert controller.process.stop() == 0  # what stands is compared

    def equal():
        with extenders[0].scheduler() as by_old, extenders[1].scheduler() as by_new:
            passing, rejected = by_old.filter(names)
            scores = by_old.prioritize(passing)
            assert (passing, list(rejected)) == (names[:3], names[3:])
            assert scores == by_new.prioritize(passing)
            also_passing, also_rejected = by_new.filter(names)
            assert (passing, list(rejected)) == (also_passing, list(also_rejected))
        assert scores.get(names[0], 0) < scores[names[1]], "three pods are hot"
        return scores

    print(f"{writer} controller: both extenders give {wait_until(equal, what='equal verdicts')}")


def another(standin, holder):
    """Who holds the Lease, unless that is nobody or still `holder`."""
    found = (lease_object(standin) or {"spec": {}})["spec"].get("holderIdentity")
    return found if found != holder else None


def test_no_maximum_is_lost(start_standin, start_exporters, start_controller):
    """Old, new, old, new: the Lease goes from one to the next, and no maximum is lost."""
    standin, exporters = start_standin(), start_exporters("--speed", "20")
    standin.add_nodes(1, annotations={MAX: f"0.70000,{stamp(time.time() - 1200)}"})
    maximum, before, holder = 0.7, None, ""
    for version, load, way in LIVES:
        if way == "killed":
            before.process.kill()
        exporters.set("all", load={"cpu": load})
        controller = start_controller(
            standin, exporters, "--annotation-dead-band=0", *LEASE, content=POLICY,
            build=BUILDS[version],
        )  # fmt: skip
        if way == "stopped":
            controller.wait_ready()
            assert before.process.stop() == 0
        holder = wait_until(lambda holder=holder: another(standin, holder), what="another leader")
        began_unix, maximum = int(time.time()), max(maximum, load - 0.05)

        def written(began_unix=began_unix, maximum=maximum):
            found = standin.annotations("node-0000").items()
            readings = {key: read_annotation(text) for key, text in found if "_usage_" in key}
            assert readings[MAX].at_unix > began_unix and readings[MAX].value >= maximum - 2e-5
            return readings

        readings = wait_until(written, 60, f"the maximum by the {version} one")
        print(f"{version}, the one before {way or 'unknown'}: {readings[MAX].value:.5f}")
        before = controller
