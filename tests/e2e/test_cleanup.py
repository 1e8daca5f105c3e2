"""Leaving again: --cleanup, after which the nodes are as before."""

import yaml
from cluster.pages import follow
from cluster.plimsoll import TOP, fast_policy, refused
from harness import wait_until
from pages import block

POLICY_FILE = TOP / "policy" / "crane.yaml"
FOREIGN = {
    "kubeadm.alpha.kubernetes.io/cri-socket": "unix:///run/containerd/containerd.sock",
    "example.com/cpu_usage_avg_5m": "0.1,2026-01-01T00:00:00Z",
    "owner": "alice",
}


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


def patches(plane):
    """The nodes that the controller's account has patched, one after the other."""
    events = plane.audit("plimsoll-controller")
    return [
        event["objectRef"]["name"]
        for event in events
        if (event["verb"], event["objectRef"]["resource"]) == ("patch", "nodes")
    ]


def test_cleanup(plane, fleet, plimsoll, exporters, figure):
    add_nodes(fleet, 3)
    before, audited = fleet.all_annotations(), len(plane.audit("plimsoll-controller"))
    crane = yaml.safe_load(POLICY_FILE.read_text(encoding="utf-8"))
    # Two policies, one after the other: what the first left is ours as well.
    annotate(fleet, plimsoll, exporters, fast_policy())
    annotate(fleet, plimsoll, exporters, crane)
    annotated = fleet.all_annotations()
    assert all("cpu_usage_avg_5s" in found for found in annotated.values())

    # Under no policy file at all: the built-in one, or the cluster's.
    kubeconfig = plimsoll.kubeconfig("plimsoll-controller")
    dry_run, cleanup = block("docs/install.md", "cleanup").splitlines()
    said = follow(plane, dry_run, kubeconfig=kubeconfig)
    assert all(name in said for name in fleet.addresses), said
    assert fleet.all_annotations() == annotated, "a dry run writes nothing"
    patched = patches(plane)
    follow(plane, cleanup, kubeconfig=kubeconfig)
    assert fleet.all_annotations() == before
    # Again: there is nothing to do, and nothing is done.
    follow(plane, cleanup, kubeconfig=kubeconfig)
    assert sorted(patches(plane)[len(patched) :]) == sorted(before), "one patch for each node"
    assert not refused(plane, "plimsoll-controller", audited)
    taken = sum(len(found) for found in annotated.values()) - sum(map(len, before.values()))
    figure(f"--cleanup took {taken} annotations off {len(before)} nodes, {len(FOREIGN)} stayed")
