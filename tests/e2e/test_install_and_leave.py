"""Installing and uninstalling with the commands of docs/install.md and docs/uninstall.md, as they stand there.

kwok lets the pods of our Deployments and of the Job "run" at once; what they would do is done by
processes with the same accounts.
"""

import re
from collections import Counter

import yaml
from cluster.nodes import Fleet
from cluster.pages import follow
from cluster.plimsoll import Plimsoll, fast_policy, refused
from harness import wait_until
from pages import TOP, block
from programs import complete

PAGE = "docs/install.md"
# Of Kubernetes itself, and never at rest.
RESTLESS = re.compile(r"^(Event|Pod|Lease/kube-node-lease)/")


def objects(plane):
    """Every object of the cluster that somebody made, as kind/namespace/name."""
    kinds = plane.kubectl("api-resources", "--verbs=list", "--output=name").split()
    lines = plane.kubectl(
        "get", ",".join(kinds), "--all-namespaces", "--ignore-not-found", "--no-headers",
        "--output=custom-columns=KIND:.kind,NS:.metadata.namespace,NAME:.metadata.name",
    ).splitlines()  # fmt: skip
    found = {"/".join(line.split()) for line in lines}
    assert {"Namespace/<none>/kube-system", "Node/<none>/node-0000"} <= found
    return {name for name in found if not RESTLESS.match(name)}


def nodes_as_they_are(plane):
    """What of the nodes is not the kubelet's reporting."""
    return {
        node["metadata"]["name"]: {
            "spec": node["spec"],
            **{
                part: node["metadata"].get(part)
                for part in ("labels", "annotations", "finalizers", "ownerReferences")
            },
            "managers": {
                entry["manager"]
                for entry in node["metadata"].get("managedFields", [])
                if "plimsoll" in entry["manager"]
            },
        }
        for node in plane.api.items("/api/v1/nodes")
    }


def replicas(plane):
    """{program: pods of it}"""
    pods = plane.api.items("/api/v1/namespaces/kube-system/pods")
    return Counter(pod["metadata"]["labels"]["app.kubernetes.io/name"] for pod in pods)


def check_kubeadm(plane, directory):
    """The configuration that the page has made on a control-plane node, except for where it is put."""
    commands = block(PAGE, "kubeadm").replace("/etc/kubernetes/plimsoll", str(directory))
    follow(plane, commands)
    (entry,) = yaml.safe_load((directory / "scheduler.yaml").read_text("utf-8"))["extenders"]
    service = plane.api.get("/api/v1/namespaces/kube-system/services/plimsoll-extender")
    assert entry["urlPrefix"] == f"http://{service['spec']['clusterIP']}:8010/v1"


def check_k3s(plane, directory):
    """And on a server of k3s, which has the scheduler's account elsewhere."""
    commands = block(PAGE, "k3s").replace("/etc/rancher/k3s", str(directory))
    follow(plane, commands)
    config = yaml.safe_load((directory / "scheduler.yaml").read_text("utf-8"))
    service = plane.api.get("/api/v1/namespaces/kube-system/services/plimsoll-extender")
    assert config["extenders"][0]["urlPrefix"] == f"http://{service['spec']['clusterIP']}:8010/v1"
    kubeconfig = "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig"
    assert config["clientConnection"]["kubeconfig"] == kubeconfig


def test_the_cluster_is_as_before(bare, exporters, log_dir, run, binary, tmp_path, figure):
    fleet = Fleet(bare, exporters)
    names = fleet.add(4, load={"cpu": 0.4})
    names += fleet.add(1, load={"cpu": 0.9})
    wait_until(lambda: bare.api.get(f"/api/v1/nodes/{names[-1]}"), what="nodes")
    before, nodes_before = objects(bare), nodes_as_they_are(bare)

    said = follow(bare, block(PAGE, "installing"))
    assert "default" in said.splitlines()[-1], said
    # Nothing is defaulted or normalised into something else, so GitOps tools stay quiet.
    done = bare.kubectl("diff", "-k", str(TOP / "deploy"), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert replicas(bare) == {"plimsoll-controller": 2, "plimsoll-extender": 2}
    check_kubeadm(bare, tmp_path / "plimsoll")
    check_k3s(bare, tmp_path / "plimsoll")
    follow(bare, block("docs/managed-clouds.md", "second-scheduler"))
    bare.kubectl("-n", "kube-system", "rollout", "status", "deployment/plimsoll-scheduler")
    added = objects(bare) - before

    # The policy of that page wants minutes; this one, applied over it, seconds.
    plimsoll = Plimsoll(bare, log_dir, run, binary)
    policy = fast_policy()
    policy["spec"]["taints"] = {"levels": [0.8]}
    path = plimsoll.write_policy(policy)
    bare.kubectl("apply", "-f", path)
    kubeconfig = f"--kubeconfig={plimsoll.kubeconfig('plimsoll-controller')}"
    controller = run(
        [
            binary("plimsoll-controller"), kubeconfig, "--bind-address=127.0.0.1",
            "--health-port=0", f"--target-url-template=http://{{address}}:{exporters.port}/metrics", "--scrape-interval=1s",
            "--leader-elect-resource-namespace=kube-system",
        ],
        "controller",
    )  # fmt: skip
    wait_until(
        lambda: all("cpu_usage_avg_5s" in fleet.annotations(name) for name in names),
        60, "annotations on every node",
    )  # fmt: skip
    taints = "jsonpath={.spec.taints[*].key}"
    wait_until(
        lambda: bare.kubectl("get", "node", names[-1], "-o", taints) == "load.plimsoll.io/1",
        what="the taint of the hot node",
    )
    assert "True" in bare.kubectl("get", "dsp"), "in force"
    shown = follow(bare, block(PAGE, "annotations").replace("avg_5m", "avg_5s")).splitlines()[1:]
    assert [line.split()[0] for line in shown] == names and "<none>" not in "".join(shown), shown
    assert nodes_as_they_are(bare) != nodes_before

    leaving = block("docs/uninstall.md", "leaving")
    first, rest = leaving.split("kubectl -n kube-system wait", 1)
    controller.stop()
    follow(bare, first)
    complete("kubectl-plimsoll", kubeconfig, "cleanup", "--apply")
    assert not refused(bare, "plimsoll-controller")
    follow(bare, "kubectl -n kube-system wait" + rest)
    # As the page says below them.
    bare.kubectl("delete", "-k", str(TOP / "deploy/second-scheduler"), "--ignore-not-found")

    def as_before():
        assert objects(bare) == before
        assert nodes_as_they_are(bare) == nodes_before
        return True

    wait_until(as_before, 60, "the cluster to be as before", poll_s=0.5)
    figure(
        f"{len(added)} objects and the annotations and taints of {len(names)} nodes came and went"
    )
