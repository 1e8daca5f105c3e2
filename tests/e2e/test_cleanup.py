"""Leaving again: --cleanup, and the uninstall of deploy/README.md, after which nothing is left."""

import json
import re
import subprocess

import pytest
import yaml
from cluster.plimsoll import NAMESPACE, TOP, Plimsoll, fast_policy, refused
from harness import wait_until

README = TOP / "deploy" / "README.md"
POLICY_FILE = TOP / "policy" / "policy.yaml"
FOREIGN = {
    "kubeadm.alpha.kubernetes.io/cri-socket": "unix:///run/containerd/containerd.sock",
    "example.com/cpu_usage_avg_5m": "0.1,2026-01-01T00:00:00Z",
    "owner": "alice",
}
# What components of the cluster make for themselves, or count up, whoever comes and goes.
OWN_LIFE = {"events", "leases", "endpointslices", "nodes"}


@pytest.fixture
def plane(start_plane):
    """What is left of the cluster is what is tested."""
    return start_plane()


def cleanup(plimsoll, *flags):
    """`plimsoll-controller --cleanup` with the token of the controller; (status, output)."""
    done = subprocess.run(
        [
            plimsoll.binary("plimsoll-controller"),
            f"--kubeconfig={plimsoll.kubeconfig('plimsoll-controller')}",
            "--cleanup",
            *flags,
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def add_nodes(fleet, count):
    """Nodes with annotations of others; and kube-controller-manager has written its own, too."""
    fleet.add(count, load={"cpu": 0.3})
    for name in fleet.addresses:
        fleet.annotate(name, FOREIGN)
        wait_until(
            lambda n=name: "node.alpha.kubernetes.io/ttl" in fleet.annotations(n),
            what=f"the annotation of kube-controller-manager on {name}",
        )


def annotate(fleet, plimsoll, exporters, policy):
    """Let a controller write the annotations of a policy everywhere, and end."""
    controller = plimsoll.controller(plimsoll.write_policy(policy), exporters)
    keys = {entry["name"] for entry in policy["spec"]["syncPolicy"]} | {"node_hot_value"}
    wait_until(
        lambda: all(keys <= set(found) for found in fleet.all_annotations().values()),
        what="annotations",
    )
    assert controller.stop() == 0


def test_cleanup(plane, fleet, plimsoll, exporters, figure):
    add_nodes(fleet, 3)
    before = fleet.all_annotations()
    default = yaml.safe_load(POLICY_FILE.read_text(encoding="utf-8"))
    # Two policies, one after the other: what the first left is ours as well.
    annotate(fleet, plimsoll, exporters, fast_policy())
    annotate(fleet, plimsoll, exporters, default)
    annotated = fleet.all_annotations()
    assert all("cpu_usage_avg_5s" in found for found in annotated.values())

    status, said = cleanup(plimsoll, "--dry-run")
    assert status == 0, said
    assert fleet.all_annotations() == annotated, "a dry run writes nothing"
    # Under no policy file at all: the built-in one, or the cluster's.
    status, said = cleanup(plimsoll)
    assert status == 0, said
    assert fleet.all_annotations() == before
    patches = [e for e in plane.audit("plimsoll-controller") if e["verb"] == "patch"]
    last = patches[-len(before) :]
    assert {event["objectRef"]["name"] for event in last} == set(before), "one patch for each node"
    # Again: there is nothing to do, and nothing is done.
    status, said = cleanup(plimsoll)
    assert status == 0, said
    assert len([e for e in plane.audit("plimsoll-controller") if e["verb"] == "patch"]) == len(
        patches
    )
    assert not refused(plane, "plimsoll-controller")
    taken = sum(len(found) for found in annotated.values()) - sum(map(len, before.values()))
    figure(f"--cleanup took {taken} annotations off {len(before)} nodes, {len(FOREIGN)} stayed")


def inventory(plane):
    """{resource: names} of all that the cluster holds and that does not come and go by itself."""
    found = {}
    resources = plane.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    for resource in sorted(resources):
        if resource.split(".")[0] in OWN_LIFE:
            continue
        listed = plane.kubectl(
            "get", resource, "-A", "-o", "name", "--ignore-not-found", check=False
        )
        assert listed.returncode == 0, f"{resource}: {listed.stderr}"
        found[resource] = sorted(listed.stdout.split())
    return found


def uninstall_commands():
    """The commands of the section "Leaving", in order."""
    section = README.read_text(encoding="utf-8").partition("\n## Leaving\n")[2]
    section = section.partition("\n## ")[0]
    block = re.search(r"```\n(.*?)```", section, re.DOTALL).group(1)
    return [line.strip() for line in block.strip().splitlines()]


def nodes(plane):
    """What matters of the nodes: not who wrote it last, nor when."""
    return {
        item["metadata"]["name"]: {
            **{
                key: item["metadata"].get(key, {})
                for key in ("labels", "annotations", "finalizers")
            },
            "spec": item["spec"],
        }
        for item in json.loads(plane.kubectl("get", "nodes", "-o", "json"))["items"]
    }


def test_uninstall(plane, fleet, plimsoll, exporters, figure):
    """Installed, used, and left by the words of the README: the cluster is as before."""
    add_nodes(fleet, 2)
    # The harness has installed deploy/ already: without it the cluster looks like this.
    plane.kubectl("delete", "-k", str(TOP / "deploy"), "--wait=true")
    kinds_before, nodes_before = inventory(plane), nodes(plane)

    Plimsoll.install(plane)
    plane.kubectl(
        "wait", "--for=condition=Established",
        "crd/dynamicschedulerpolicies.scheduler.policy.crane.io", "--timeout=30s",
    )  # fmt: skip
    plane.kubectl("apply", "-f", str(POLICY_FILE))
    annotate(fleet, plimsoll, exporters, yaml.safe_load(POLICY_FILE.read_text(encoding="utf-8")))
    plane.kubectl("get", f"--namespace={NAMESPACE}", "lease/plimsoll-controller")
    assert nodes(plane) != nodes_before

    ran = []
    for command in uninstall_commands():
        assert command.startswith("kubectl "), command
        words = command.replace("deploy/", f"{TOP}/deploy/").split()[1:]
        if "wait" in words:
            # Nothing runs pods with our image here: the Job's program runs as a process, with the
            # Job's account, and the Job is told to be complete.
            job = yaml.safe_load((TOP / "deploy" / "cleanup" / "job.yaml").read_text())
            pod = job["spec"]["template"]["spec"]
            assert pod["serviceAccountName"] == "plimsoll-controller"
            assert pod["containers"][0]["args"] == ["--cleanup"]
            plimsoll.write_token("plimsoll-controller")
            status, said = cleanup(plimsoll)
            assert status == 0, said
            continue
        plane.kubectl(*words)
        ran.append(words[0])
    assert ran, "no command in deploy/README.md"

    wait_until(lambda: inventory(plane) == kinds_before, 60, "the cluster to be as before", 1)
    assert nodes(plane) == nodes_before
    leases = plane.kubectl("get", "leases", "-A", "-o", "name")
    assert "plimsoll" not in leases
    figure(
        f"after the README's uninstall: {sum(map(len, kinds_before.values()))} objects of "
        f"{len(kinds_before)} kinds as before, nodes too"
    )
