"""deploy/ against the real API server: it applies as it stands, its pods keep to the restricted
standard, and the guard on Nodes holds."""

import json
import os
import pathlib
import re
import shutil
import urllib.parse

import pytest
import yaml
from cluster.api import Api
from cluster.pages import owners_overlay
from harness import wait_until
from programs import complete, table

TOP = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = TOP / "deploy"
# monitoring*/ have neither pods nor kinds of Kubernetes' own: test_monitoring.py applies them.
# plugin-users/ has no pods: test_plugin.py applies it. Nor has idle*/: see idle_rights() and test_idle_namespaces.py.
KUSTOMIZATIONS = [
    str(path.parent.relative_to(DEPLOY))
    for path in sorted(DEPLOY.rglob("kustomization.yaml"))
    if "kind: Component" not in path.read_text("utf-8")
    and not path.parent.name.startswith(("monitoring", "plugin-users", "idle"))
]
# Its pod needs its account first: see test_helm_test() in test_chart.py.
BUT_DOCTOR = [name for name in KUSTOMIZATIONS if name != "doctor"]
# These have one pod.
SINGLE = ("cleanup", "doctor", "rebalance")
ACCOUNT = "system:serviceaccount:kube-system:plimsoll-controller"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


def kustomize(plane, name):
    return list(yaml.safe_load_all(plane.kubectl("kustomize", str(DEPLOY / name))))


def pod_templates(plane, name):
    return [
        o if o["kind"] == "Pod" else o["spec"]["template"]
        for o in kustomize(plane, name)
        if o["kind"] in ("Deployment", "Job", "Pod")
    ]


@pytest.fixture
def controller_api(plane):
    """A client with the controller's token."""
    argv = ("create", "token", "plimsoll-controller", "--namespace=kube-system")
    api = Api(plane.url, plane.authority.cert, token=plane.kubectl(*argv).strip())
    yield api
    api.close()


# -- the manifests ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUT_DOCTOR)
def test_the_api_server_takes_it(plane, name):
    done = plane.kubectl("apply", "-k", str(DEPLOY / name), "--dry-run=server", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "warnings"


@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_pods_keep_to_the_restricted_standard(plane, name):
    namespace = f"restricted-{KUSTOMIZATIONS.index(name)}"
    level = {"pod-security.kubernetes.io/enforce": "restricted"}
    plane.api.create("/api/v1/namespaces", {"metadata": {"name": namespace, "labels": level}})
    templates = pod_templates(plane, name)
    assert len(templates) == (1 if name.endswith(SINGLE) else 2)
    for template in templates:
        account = {"metadata": {"name": template["spec"]["serviceAccountName"]}}
        plane.api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", account)
        metadata = {**template["metadata"], "name": "a-pod", "namespace": namespace}
        pod = {**template, "metadata": metadata}
        plane.api.create(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)


def test_where_images_are_is_said_once(plane, tmp_path):
    """With a registry's name in that one file every pod of ours has it, also those that clean up and look."""
    copy = tmp_path / "deploy"
    shutil.copytree(DEPLOY, copy, symlinks=True)
    path = copy / "images" / "kustomization.yaml"
    text = path.read_text("utf-8").replace("newTag", "newName: registry.example/ours, newTag")
    path.write_text(text, encoding="utf-8")
    for name in KUSTOMIZATIONS:
        said = plane.kubectl("kustomize", str(copy / name))
        images = {line.split()[-1].rpartition(":")[0] for line in re.findall(r"image: .*", said)}
        assert "registry.example/ours" in images, name
        assert images <= {"registry.example/ours", "registry.k8s.io/kube-scheduler"}, name


@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_no_pod_goes_to_a_windows_node(plane, name):
    """There are no images for it."""
    for template in pod_templates(plane, name):
        assert template["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}


def test_the_api_server_takes_the_component(plane, tmp_path):
    overlay = str(owners_overlay(tmp_path / "overlay"))
    done = plane.kubectl("apply", "-k", overlay, "--dry-run=server", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "warnings"
    objects = list(yaml.safe_load_all(plane.kubectl("kustomize", overlay)))
    (extender,) = (
        o["spec"]["template"]["spec"]["containers"][0]
        for o in objects
        if o["kind"] == "Deployment" and o["metadata"]["name"] == "plimsoll-extender"
    )
    env = {entry["name"]: entry.get("value") for entry in extender["env"]}
    assert env["PLIMSOLL_CLIENT_CA_FILE"], "whoever is answered can bind pods"
    env = {"PLIMSOLL_BIND": env["PLIMSOLL_BIND"]}
    said = complete("plimsoll-extender", "--check-config", env=env)
    assert "\nbind=true (env)\n" in said.stdout, said.stdout


@pytest.mark.parametrize("name", BUT_DOCTOR)
def test_flags_are_ones_that_the_programs_have(plane, name):
    templates = pod_templates(plane, name)
    containers = [c for template in templates for c in template["spec"]["containers"]]
    ours = [c for c in containers if c["image"].startswith("plimsoll-")]
    assert len(ours) == len(templates), "one in each pod"
    for container in ours:
        # Only the plugin is not the image's own program; it has no --check-config.
        command = container.get("command", [container["image"].split(":")[0]])
        look = "--help" if "command" in container else "--check-config"
        # From the pod come its address and its namespace.
        env = {
            e["name"]: e.get("value", "127.0.0.1" if e["name"] == "POD_IP" else "kube-system")
            for e in container.get("env", [])
        }
        args = [re.sub(r"\$\((\w+)\)", lambda m: env[m[1]], a) for a in container["args"]]
        # Files of the Secret are not here.
        env = {k: v for k, v in env.items() if not k.endswith("_FILE")}
        complete(os.path.basename(command[0]), *args, look, env=env)


@pytest.mark.parametrize("name", BUT_DOCTOR)
def test_network_policies_open_what_is_called(plane, name):
    """Names can be asked for, and what an overlay names can be called."""
    objects = kustomize(plane, name)
    policies = [o for o in objects if o["kind"] == "NetworkPolicy" and "egress" in o["spec"]]
    assert policies or "cleanup" in name
    for spec in (policy["spec"] for policy in policies):
        selected = spec["podSelector"]["matchLabels"].items()
        (template,) = (
            template
            for template in pod_templates(plane, name)
            if selected <= template["metadata"]["labels"].items()
        )
        called = {("UDP", 53), ("TCP", 53)}
        for entry in template["spec"]["containers"][0]["env"]:
            if entry.get("value", "").startswith("http"):
                called.add(("TCP", urllib.parse.urlsplit(entry["value"]).port))
            elif entry["name"].endswith("_PORT"):
                called.add(("TCP", int(entry["value"])))
        opened = {
            (row["protocol"], row["port"]) for rule in spec["egress"] for row in rule["ports"]
        }
        assert called <= opened


# Of each node: its zone, and whether it is of the control plane, where extenders rather are.
ZONE, CONTROL = "topology.kubernetes.io/zone", "node-role.kubernetes.io/control-plane"
CLUSTERS = {
    "two nodes without zones": [("", False)] * 2,
    "one of the control plane": [("", True), *[("", False)] * 3],
    "one without a zone": [("", False), ("a", False), ("b", True)],
    "two zones": [("a", True), ("a", False), ("b", False), ("b", False)],
}


@pytest.mark.parametrize("nodes", CLUSTERS.values(), ids=CLUSTERS)
def test_replicas_are_on_different_nodes(plane, fleet, namespace, scheduler, nodes):
    """And in different zones, also after a rollout, which pods of the old template take part in."""
    zones = {}
    for zone, is_control in nodes:
        labels = {ZONE: zone} if zone else {}
        (name,) = fleet.add(1, labels=labels | ({CONTROL: ""} if is_control else {}))
        zones[name] = zone
    scheduler()
    space = f"--namespace={namespace.name}"
    objects = [o for o in kustomize(plane, ".") if o["kind"] in ("Deployment", "ServiceAccount")]
    for item in objects:
        item["metadata"]["namespace"] = namespace.name
    plane.kubectl("apply", "-f-", stdin=yaml.safe_dump_all(objects))
    for restarts in range(2):
        if restarts:
            plane.kubectl("rollout", "restart", "deployment", space)
        for name in ("plimsoll-controller", "plimsoll-extender"):
            plane.kubectl("rollout", "status", f"deployment/{name}", space, "--timeout=60s")
            app = f"--selector=app.kubernetes.io/name={name}"
            pods = json.loads(plane.kubectl("get", "pods", space, app, "--output=json"))["items"]
            live = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
            used = {pod["spec"]["nodeName"] for pod in live}
            assert len(live) == len(used) == 2, (restarts, name, used)
            assert len({zones[node] for node in used}) == min(2, len(set(zones.values())))


# -- what the controller may write on a Node -------------------------------------------------------


@pytest.fixture
def idle_rights(plane):
    """With deploy/idle, which leaves nothing behind."""

    def may_patch_status(answer):
        argv = ("auth", "can-i", "patch", "nodes", "--subresource=status", "--as", ACCOUNT)
        return plane.kubectl(*argv, check=False).stdout.startswith(answer)

    done = plane.kubectl("apply", "-k", str(DEPLOY / "idle"), check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    wait_until(lambda: may_patch_status("yes"), what="the rules")
    yield
    plane.kubectl("delete", "-k", str(DEPLOY / "idle"))
    wait_until(lambda: may_patch_status("no"), what="the rules to be gone")


FOREIGN = "kubeadm.alpha.kubernetes.io/cri-socket"


@pytest.fixture
def guarded_node(plane):
    body = {
        "metadata": {
            "name": "guarded",
            "labels": {"zone": "a"},
            "annotations": {
                FOREIGN: "unix:///run/containerd.sock",
                "owner": "alice",
                "cpu_usage_avg_5m": "0.34210,2026-07-23T11:25:54Z",
                "mem_usage_avg_5m": "rubbish",
                "gpu0_usage_p95_1d_peak": "rubbish",
                "gpu": "0.5,2026-07-23T11:25:54.123Z",
            },
        },
        "spec": {"taints": [{"key": "old", "effect": "NoSchedule"}]},
    }
    node = plane.api.create("/api/v1/nodes", body)
    yield node
    plane.api.delete("/api/v1/nodes/guarded")


def patches(of):
    """{what: patch} that are let through, and {what: (patch, message)} that are refused."""
    rows = [row[1:] for row in table("node-guard.tsv") if row[0] == of]
    refused = {what: (json.loads(patch), *said) for what, patch, *said in rows if said}
    return {what: json.loads(patch) for what, patch, *said in rows if not said}, refused


ALLOWED, REFUSED = patches("node")


def wait_in_force(api):
    def refused():
        path = "/api/v1/nodes/guarded?dryRun=All"
        status, text = api.request("PATCH", path, REFUSED["a taint"][0], MERGE_PATCH)
        assert status == 422, f"{status}: {text}"
        return True

    wait_until(refused, what="the ValidatingAdmissionPolicy to be in force")


def check_uid(api, path, node, body):
    """The controller sends the uid, so that another node of this name refuses the patch."""
    for uid, expected in ((node["metadata"]["uid"], 200), ("0-1", 422)):
        metadata = {**body.get("metadata", {}), "uid": uid}
        status, text = api.request("PATCH", path, {**body, "metadata": metadata}, MERGE_PATCH)
        assert status == expected, f"{uid}: {status}: {text}"
    assert "metadata.uid: Invalid value: " in json.loads(text)["message"]


def test_guard_lets_readings_through_and_nothing_else(plane, controller_api, guarded_node, figure):
    api = controller_api
    path = "/api/v1/nodes/guarded"
    wait_in_force(api)
    for what, (body, message) in REFUSED.items():
        for kind in (MERGE_PATCH, STRATEGIC_PATCH):
            status, text = api.request("PATCH", path, body, kind)
            said = json.loads(text)
            assert status == 422 and said["reason"] == "Invalid", f"{what}: {status}: {text}"
            assert message in said["message"], f"{what}: {said['message']}"
    same = plane.api.get(path)
    assert same["spec"] == guarded_node["spec"]
    for part in ("labels", "finalizers", "ownerReferences"):
        assert same["metadata"].get(part) == guarded_node["metadata"].get(part)
    for key, value in guarded_node["metadata"]["annotations"].items():
        assert same["metadata"]["annotations"][key] == value
    for what, body in ALLOWED.items():
        status, text = api.request("PATCH", path, body, MERGE_PATCH)
        assert status == 200, f"{what}: {status}: {text}"
    check_uid(api, path, guarded_node, {"metadata": {"annotations": {"gpu": None}}})
    left = plane.api.get(path)["metadata"]["annotations"]
    assert left[FOREIGN] and left["owner"] == "alice" and "cpu_usage_avg_5m" not in left
    # Others are not its business.
    plane.api.patch(path, REFUSED["a taint"][0])
    figure(f"{len(REFUSED)} kinds of changes refused, {len(ALLOWED)} let through")


# -- and in its status -----------------------------------------------------------------------------

IDLE = "plimsoll.io/idle-milli-cpu"
AMOUNTS = ("capacity", "allocatable")
STATUS = {
    "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    "allocatable": {"cpu": "3500m", "memory": "7Gi", "pods": "110"},
    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
}


def offer(milli, allocatable=...):
    """The same in both, unless it is said."""
    allocatable = milli if allocatable is ... else allocatable
    return {"status": {"capacity": {IDLE: milli}, "allocatable": {IDLE: allocatable}}}


OFFERS, NO_OFFERS = patches("status")


@pytest.fixture
def node_with_status(plane, guarded_node):
    return plane.api.patch("/api/v1/nodes/guarded/status", {"status": STATUS})


def without_offer(node):
    """What others have written of it."""
    metadata = {
        key: node["metadata"].get(key) for key in ("labels", "finalizers", "ownerReferences")
    }
    notes = {key: node["metadata"]["annotations"].get(key) for key in (FOREIGN, "owner", "gpu")}
    status = {
        key: {k: v for k, v in value.items() if k != IDLE} if key in AMOUNTS else value
        for key, value in node["status"].items()
    }
    return metadata, notes, node["spec"], status


def test_guard_lets_offers_through_and_nothing_else(
    plane, controller_api, idle_rights, node_with_status, figure
):
    api = controller_api
    node, path = "/api/v1/nodes/guarded", "/api/v1/nodes/guarded/status"
    before = without_offer(node_with_status)
    wait_in_force(api)
    for what, (body, message) in NO_OFFERS.items():
        status, text = api.request("PATCH", path, body, MERGE_PATCH)
        assert status == 422 and message in json.loads(text)["message"], f"{what}: {status}: {text}"
    # Without an error the API server takes none of this over: each resource has its part.
    for where, body in ((path, {"spec": {"unschedulable": True}}), (node, offer("1500"))):
        status, text = api.request("PATCH", where, body, MERGE_PATCH)
        assert status == 200, f"{status}: {text}"
    assert plane.api.get(node)["status"] == node_with_status["status"]
    for what, body in OFFERS.items():
        status, text = api.request("PATCH", path, body, MERGE_PATCH)
        assert status == 200, f"{what}: {status}: {text}"
        wanted = body["status"]["capacity"][IDLE]
        found = json.loads(text)["status"]
        for part in AMOUNTS:
            got = found[part].get(IDLE)
            assert got == (wanted and wanted.replace("000", "k")), f"{what}: {got}"
    check_uid(api, path, node_with_status, offer("1500"))
    assert without_offer(plane.api.get(node)) == before
    # One that is there does not hold up what is written next to it, no matter who has put it there.
    plane.api.patch(path, offer("9000", "1"))
    assert api.request("PATCH", node, ALLOWED["over rubbish"], MERGE_PATCH)[0] == 200
    assert api.request("PATCH", path, offer("1500"), MERGE_PATCH)[0] == 200
    figure(f"{len(NO_OFFERS)} kinds of changes refused, {len(OFFERS)} offers let through")


def test_no_offer_is_more_than_the_node_has(plane, controller_api, idle_rights, guarded_node):
    """A node that has not said how many CPUs it has is offered with nothing."""
    path = "/api/v1/nodes/guarded/status"
    wait_in_force(controller_api)
    status, text = controller_api.request("PATCH", path, offer("1"), MERGE_PATCH)
    assert status == 422 and "must be a whole number" in json.loads(text)["message"], text
    assert controller_api.request("PATCH", path, offer("0"), MERGE_PATCH)[0] == 200


def test_guard_holds_whatever_rbac_grants(plane, controller_api, guarded_node):
    """An account that somebody made an administrator still does nothing else to Nodes."""
    plane.kubectl(
        "create", "clusterrolebinding", "too-much", "--clusterrole=cluster-admin",
        "--serviceaccount=kube-system:plimsoll-controller",
    )  # fmt: skip
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    attempts = {
        ("PATCH", "/api/v1/nodes/guarded/status"): (
            status,
            "may not change status except for plimsoll.io/idle-milli-cpu",
        ),
        ("DELETE", "/api/v1/nodes/guarded"): (None, "may only update Nodes"),
        ("POST", "/api/v1/nodes"): ({"metadata": {"name": "another"}}, "may only update Nodes"),
    }

    def all_refused():
        for (method, path), (body, said) in attempts.items():
            kind = MERGE_PATCH if method == "PATCH" else "application/json"
            code, text = controller_api.request(method, f"{path}?dryRun=All", body, kind)
            # 403 until RBAC has heard of it.
            assert code == 422 and said in text, f"{method}: {code}: {text}"
        return True

    wait_until(all_refused, what="the guard to refuse what RBAC no longer does")
    plane.kubectl("delete", "clusterrolebinding", "too-much")


def test_guard_has_no_type_errors(plane):
    """The API server checks the expressions against the schema of Node, and says so in the status."""

    def checked():
        policy = json.loads(
            plane.kubectl("get", "validatingadmissionpolicy", "plimsoll-controller-nodes", "-ojson")
        )
        return policy.get("status", {}).get("typeChecking") is not None and [policy["status"]]

    (status,) = wait_until(checked, what="the type check")
    assert not status["typeChecking"].get("expressionWarnings")
