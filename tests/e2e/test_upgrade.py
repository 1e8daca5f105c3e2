"""Upgrade and rollback: the programs of an older commit beside ours. What docs/install.md promises for
neighbouring releases is shown with one that writes other annotations."""

import json
import os
import pathlib
import subprocess
import time

import pytest
from cluster.plimsoll import NAMESPACE, ask, wait_ready
from cluster.workloads import pod_object
from controller_kit import policy, read_annotation
from harness import wait_until
from policies import ago

# The last one without `_peak` annotations, without the estimate, with the time of writing as a metric's.
OLD = "0f083ca3dbab724c0c2c3500f76953c56928d0a3"
TOP = pathlib.Path(__file__).resolve().parents[2]
CPU, MEM, MAX = "cpu_usage_avg_5m", "mem_usage_avg_5m", "cpu_usage_max_avg_1h"
LOADS = (0.1, 0.3, 0.5, 0.9)
# What both know.
POLICY = policy(
    {CPU: "1s", MEM: "1s", MAX: "1s"}, {CPU: 0.65}, {CPU: 0.5, MEM: 0.3, MAX: 0.2}, {"30m": 1}
)
LEASE = (
    "--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=1s",
)  # fmt: skip
# By which, under what load, and how the one before ended.
LIVES = (("old", 0.1, ""), ("new", 0.1, "stopped"), ("old", 0.9, "killed"), ("new", 0.1, "killed"))
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
CONTROLLER = "plimsoll-controller"
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


@pytest.fixture
def versions(plane, make_plimsoll):
    """{version: Plimsoll} that run its programs; nobody holds the Lease."""
    plane.api.delete(f"{LEASES}/{CONTROLLER}")
    return {version: make_plimsoll(plane, build, version) for version, build in BUILDS.items()}


def verdicts(extender, names):
    """What an extender says of the nodes: who passes, who does not, and {node: score} of the former."""
    pod = pod_object("asked-0")
    found = ask(extender, "filter", pod, names)
    passing = found["NodeNames"]
    scores = {row["Host"]: row["Score"] for row in ask(extender, "prioritize", pod, passing)}
    return passing, list(found["FailedAndUnresolvableNodes"]), scores


@pytest.mark.parametrize("writer", ["old", "new"])
def test_either_reads_the_other(writer, fleet, namespace, exporters, versions, figure):
    """The half-states of a rolling update: equal verdicts and scores by one controller's annotations."""
    names = [fleet.add(1, load={"cpu": load, "mem": load / 2})[0] for load in LOADS]
    extenders = [
        plimsoll.extender(plimsoll.write_policy(POLICY), "--compact-scores=false")
        for plimsoll in versions.values()
    ]
    path = versions[writer].write_policy(POLICY)
    controller = versions[writer].controller(path, exporters)
    wait_ready(controller)
    for i in range(3):
        namespace.create_pod(f"web-{i}", scheduler="none")
        namespace.bind(f"web-{i}", names[0])

    def annotated():
        found = fleet.all_annotations()
        values = [read_annotation(found[name].get(CPU, "")).value for name in names]
        assert values == pytest.approx(LOADS, abs=0.05)
        assert found[names[0]].get("node_hot_value", "").startswith("3,")
        return True

    wait_until(annotated, 60, "loads and a hot value")
    assert controller.stop() == 0  # what stands is compared

    def equal():
        by_old, by_new = (verdicts(extender, names) for extender in extenders)
        assert by_old == by_new
        passing, rejected, scores = by_old
        assert (passing, rejected) == (names[:3], names[3:])
        assert scores[names[0]] < scores[names[1]], "three pods are hot"
        return scores

    figure(f"{writer} controller: both extenders give {wait_until(equal, what='equal verdicts')}")


def another(plane, holder):
    """Who holds the Lease, unless that is nobody or still `holder`."""
    by_name = {lease["metadata"]["name"]: lease for lease in plane.api.items(LEASES)}
    found = by_name.get(CONTROLLER, {"spec": {}})["spec"].get("holderIdentity")
    return found if found != holder else None


def every_maximum(plane, node, since):
    """Those that have stood on a node since it was of that version, in their order."""
    query = f"watch=1&timeoutSeconds=1&resourceVersion={since}&fieldSelector=metadata.name%3D{node}"
    status, text = plane.api.request("GET", f"/api/v1/nodes?{query}")
    events = [json.loads(line) for line in text.splitlines()]
    assert status == 200 and {event["type"] for event in events} == {"MODIFIED"}, text
    return [read_annotation(e["object"]["metadata"]["annotations"][MAX]).value for e in events]


def test_no_maximum_is_lost(plane, fleet, exporters, versions, figure):
    """Old, new, old, new: the Lease goes from one to the next, and no maximum is lost."""
    (node,) = fleet.add(1, annotations={MAX: f"0.70000,{ago(1200)}"})
    since = plane.api.get(f"/api/v1/nodes/{node}")["metadata"]["resourceVersion"]
    maximum, before, holder = 0.7, None, ""
    for version, load, way in LIVES:
        if way == "killed":
            before.kill()
        fleet.set_load([node], cpu=load)
        plimsoll = versions[version]
        controller = plimsoll.controller(
            plimsoll.write_policy(POLICY), exporters, "--annotation-dead-band=0", *LEASE
        )
        if way == "stopped":
            wait_ready(controller)
            assert before.stop() == 0
        holder = wait_until(lambda holder=holder: another(plane, holder), what="another leader")
        began_unix, maximum = int(time.time()), max(maximum, load - 0.05)

        def written(began_unix=began_unix, maximum=maximum):
            reading = read_annotation(fleet.annotations(node)[MAX])
            assert reading.at_unix > began_unix and reading.value >= maximum - 2e-5
            return reading

        reading = wait_until(written, 60, f"the maximum by the {version} one")
        figure(f"{version}, the one before {way or 'unknown'}: {reading.value:.5f}")
        before = controller
    values = every_maximum(plane, node, since)
    assert all(new >= old - 2e-5 for old, new in zip([0.7, *values], values)), values
    figure(f"none of {len(values)} versions of the node has a lower maximum than the one before")
