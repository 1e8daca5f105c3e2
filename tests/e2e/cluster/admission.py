"""deploy/admission: the list of nodes that new pods prefer, and what the API server makes of a pod."""

from harness import wait_until

from .plimsoll import TOP, fast_policy

LISTS = "/apis/plimsoll.io/v1alpha1/preferrednodes"
LABEL = "plimsoll.io/admission=enabled"


def estimating_policy():
    """The recommended one for those who cannot wait, see fast_policy()."""
    policy = fast_policy(hot_value=False, limit=0.95)
    policy["spec"]["extender"] = {"scoring": "estimate"}
    return policy


def container(cpu=None, **more):
    requests = {"requests": {"cpu": cpu}} if cpu else {}
    return {"name": f"c{id(more)}", "image": "none", "resources": requests} | more


def asked(plane, namespace, *containers, metadata=None, **spec):
    """What the API server makes of a pod: {node: weight} of the preferences on one node, and all."""
    pod = plane.api.call(
        "POST",
        f"/api/v1/namespaces/{namespace}/pods?dryRun=All",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "asked"} | (metadata or {}),
            "spec": {"containers": list(containers)} | spec,
        },
    )
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    nodes = {
        term["preference"]["matchFields"][0]["values"][0]: term["weight"]
        for term in terms
        if "matchFields" in term["preference"]
    }
    return nodes, terms, pod


def install_and_start(plimsoll, namespace, policy):
    """The extender that writes the list; until new pods of the namespace get it."""
    plimsoll.install(plimsoll.plane, "admission")
    plimsoll.plane.kubectl("label", "namespace", namespace.name, LABEL)
    extender = plimsoll.extender(policy, "--admission")
    new_pod = [namespace.name, container("100m")]
    wait_until(lambda: asked(plimsoll.plane, *new_pod)[0], 60, "the list in new pods")
    return extender


def uninstall(plane):
    for name in ("policy", "rbac", "crd"):
        plane.kubectl("delete", "-f", str(TOP / f"deploy/admission/{name}.yaml"))
