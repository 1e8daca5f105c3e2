"""The examples for kube-scheduler, in a real kube-scheduler: what stands in deploy/ is what runs.

Only addresses and paths of the examples are replaced, by those of this machine.
"""

import os
import re
import ssl

import pytest
import yaml
from cluster import extender_pod
from cluster.pages import follow, owners_overlay
from cluster.plimsoll import bound_by_account, fast_policy, refused, total, wait_ready
from harness import wait_until
from pages import TOP, block

DEPLOY = TOP / "deploy"
FILES = [*(DEPLOY / "scheduler").glob("config-*.yaml"), DEPLOY / "second-scheduler" / "config.yaml"]
EXAMPLES = {path.stem: path.read_text("utf-8") for path in sorted(FILES)}
EXAMPLES["README"] = block("README.md", "scheduler")
SECURE_PORT = 26390

# As kubeadm 1.37 writes it, except for what is of no concern here.
STATIC_POD = """
apiVersion: v1
kind: Pod
metadata:
  labels: {component: kube-scheduler, tier: control-plane}
  name: kube-scheduler
  namespace: kube-system
spec:
  containers:
  - command:
    - kube-scheduler
    - --authentication-kubeconfig=/etc/kubernetes/scheduler.conf
    - --authorization-kubeconfig=/etc/kubernetes/scheduler.conf
    - --bind-address=127.0.0.1
    - --kubeconfig=/etc/kubernetes/scheduler.conf
    - --leader-elect=true
    image: registry.k8s.io/kube-scheduler:v1.37.2
    name: kube-scheduler
    resources: {requests: {cpu: 100m}}
    volumeMounts:
    - {mountPath: /etc/kubernetes/scheduler.conf, name: kubeconfig, readOnly: true}
  hostNetwork: true
  priorityClassName: system-node-critical
  volumes:
  - hostPath: {path: /etc/kubernetes/scheduler.conf, type: FileOrCreate}
    name: kubeconfig
"""


@pytest.fixture
def nodes(fleet):
    return fleet.add(3)


@pytest.fixture
def kube_scheduler(plane):
    """Start a kube-scheduler with a configuration file and wait until it schedules."""
    started = []

    def start(config, kubeconfig):
        started.append(
            plane.run(
                "kube-scheduler",
                f"--config={config}",
                f"--bind-address={plane.address}",
                f"--secure-port={SECURE_PORT}",
                f"--cert-dir={plane.path('pki')}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                "-v=4",
                name=f"kube-scheduler-{os.urandom(2).hex()}",
            )
        )
        return started[-1]

    yield start
    for process in started:
        assert process.is_running(), process.text()[-4000:]
        process.kill()
    # As if it had given them away: the next one need not wait until they have run out.
    for lease in ("kube-scheduler", "plimsoll-scheduler"):
        plane.api.delete(f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{lease}")


def localized(text, target, url, kubeconfig=None, keys=None):
    """An example with this machine's addresses and paths in it, in a file."""
    text = re.sub(r"(urlPrefix: )https?://[^/]*", rf"\1{url}", text)
    assert text.count(f"urlPrefix: {url}/v1") == len(yaml.safe_load(text)["extenders"])
    if kubeconfig:
        text = text.replace("/etc/kubernetes/scheduler.conf", kubeconfig)
    if keys:
        text = text.replace("/etc/kubernetes/plimsoll/", f"{keys}/")
    target.write_text(text)
    return target


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_extender_can_never_stop_the_scheduler(name):
    """Ignorable, a timeout well under a second, and names instead of nodes, wherever we show it."""
    (extender,) = yaml.safe_load(EXAMPLES[name])["extenders"]
    assert extender["ignorable"] is True
    assert extender["httpTimeout"] == "200ms"
    assert extender["nodeCacheCapable"] is True
    if extender["urlPrefix"].startswith("https"):
        assert extender["tlsConfig"]["caFile"] and extender["tlsConfig"]["serverName"]
    # The reasons stand above them, on the page behind them.
    for key in ("ignorable", "httpTimeout", "nodeCacheCapable"):
        reason = rf"^ *#.*\n *{key}:|^ *{key}: \S+ +# "
        assert re.search(reason, EXAMPLES[name], re.M), f"{key} without a reason"


def test_static_pod_patch(plane, tmp_path):
    """kubeadm merges the patch as kubectl does; the result has our lines and loses none."""
    (patch,) = (DEPLOY / "scheduler" / "kubeadm-patches").iterdir()
    assert patch.name == "kube-scheduler0+strategic.yaml", "kubeadm goes by the file's name"
    pod = tmp_path / "kube-scheduler.yaml"
    pod.write_text(STATIC_POD)
    merged = yaml.safe_load(
        plane.kubectl("patch", "--local", "-f", str(pod), "--patch-file", str(patch), "-oyaml")
    )
    (before,) = yaml.safe_load(STATIC_POD)["spec"]["containers"]
    (after,) = merged["spec"]["containers"]
    config = "/etc/kubernetes/plimsoll/scheduler.yaml"
    assert set(after["command"]) - set(before["command"]) == {f"--config={config}"}
    assert set(before["command"]) <= set(after["command"])
    assert after["image"] == before["image"] and after["resources"] == before["resources"]
    mounts = {mount["name"]: mount["mountPath"] for mount in after["volumeMounts"]}
    assert mounts == {
        "kubeconfig": "/etc/kubernetes/scheduler.conf",
        "plimsoll": os.path.dirname(config),
    }
    assert {volume["name"] for volume in merged["spec"]["volumes"]} == set(mounts)


def filtered(extender):
    return total(extender, "plimsoll_extender_requests_total", 0, verb="filter", code="200")


def expect_placed_by_us(namespace, extender, process, scheduler=None):
    """A pod gets a node, and the extender was asked for it."""
    before = filtered(extender)
    namespace.create_pod("web-0", **({"scheduler": scheduler} if scheduler else {}))
    namespace.wait_bound(1)
    assert filtered(extender) > before, re.findall(r".*[Ee]xtender.*", process.text())


@pytest.fixture
def start_extender(plane, plimsoll, tmp_path):
    """The one that an example asks: over TLS with the certificates of docs/tls.md."""

    def start(example, *flags, policy=None):
        policy = plimsoll.write_policy(policy or fast_policy())
        if "enableHTTPS" not in example:
            return plimsoll.extender(policy, *flags)
        follow(plane, block("docs/tls.md", "certificates"), tmp_path)
        flags += (
            f"--tls-cert-file={tmp_path}/tls.crt",
            f"--tls-private-key-file={tmp_path}/tls.key",
        )
        context = ssl.create_default_context(cafile=tmp_path / "ca.crt")
        context.check_hostname = False
        if "certFile" in example:
            flags += (f"--client-ca-file={tmp_path}/ca.crt",)
            context.load_cert_chain(tmp_path / "scheduler.crt", tmp_path / "scheduler.key")
        return plimsoll.extender(policy, *flags, scheme="https", context=context)

    yield start
    plane.kubectl(
        "-n", "kube-system", "delete", "secret", "plimsoll-extender-tls", "--ignore-not-found"
    )


@pytest.fixture
def as_user(plane, verb):
    """Runs the plugin as somebody who has the roles for its users, and no others."""
    follow(plane, block("docs/kubectl-plugin.md", "plugin-users"))
    yield lambda *words: verb(*words, "--as=somebody", "--as-group=GROUP")
    plane.kubectl("delete", "clusterrolebinding", "plimsoll-users")
    plane.kubectl("-nkube-system", "delete", "rolebinding", "plimsoll-users")
    plane.kubectl("delete", "-k", str(DEPLOY / "plugin-users"))


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"config"}))
def test_kube_scheduler_asks_us(
    plane, start_extender, nodes, namespace, kube_scheduler, name, tmp_path
):
    """The extender with the certificates of the page, kube-scheduler with the example."""
    extender = start_extender(EXAMPLES[name])
    kubeconfig = plane.component_kubeconfig("kube-scheduler")
    path = tmp_path / "config.yaml"
    config = localized(EXAMPLES[name], path, extender.url, kubeconfig, tmp_path)
    expect_placed_by_us(namespace, extender, kube_scheduler(config, kubeconfig))


def test_pages_of_mutual_tls(
    plane, plimsoll, start_extender, fleet, nodes, namespace, as_user, verb
):
    """The plugin reads them with the roles for its users, and Prometheus without a certificate; the port answers
    no call of a scheduler."""
    policy = fast_policy()
    policy["spec"]["extender"] = {"scoring": "estimate"}
    plane.kubectl("apply", "-f", plimsoll.write_policy(policy))
    # No kube-scheduler runs.
    plane.kubectl("run", "web", "--image=x", f"--namespace={namespace.name}")
    start_extender(EXAMPLES["config-mtls"], "--bind-address=0.0.0.0", policy=policy)
    container = yaml.safe_load((DEPLOY / "extender-mtls" / "extender.yaml").read_text("utf-8"))
    (container,) = container["spec"]["template"]["spec"]["containers"]
    container = {key: container[key] for key in ("ports", "readinessProbe")}
    container["readinessProbe"]["httpGet"]["path"] = "/readyz"
    with extender_pod.published(plane, fleet, container):
        for words in ("top", f"explain node {nodes[0]}", f"explain pod {namespace.name}/web"):
            assert nodes[0] in as_user(*words.split()), words
        assert "of 4 nodes change" in as_user("simulate", "-f", str(TOP / "policy/policy.yaml"))
        assert "No node is hot" in verb("rebalance")
        proxy = f"{extender_pod.PODS}/{extender_pod.NAME}:8011/proxy"
        assert "plimsoll_extender_table_nodes 4" in plane.kubectl(
            "get", "--raw", f"{proxy}/metrics"
        )
        status, _ = plane.api.request("POST", f"{proxy}/v1/filter", {"NodeNames": nodes})
        assert status == 404
    plane.kubectl("delete", "dsp", "--all")


def test_owner_of_an_extender(
    plane, plimsoll, start_extender, nodes, namespace, kube_scheduler, tmp_path, figure
):
    """The page for them: mutual TLS, the component that may bind, and one entry more."""
    config = yaml.safe_load(EXAMPLES["config-mtls"])
    (entry,) = yaml.safe_load(block("deploy/coming-from/hand-written-extender.md", "binder"))
    (first,) = config["extenders"]
    assert entry["tlsConfig"].keys() == first["tlsConfig"].keys()
    # "as above"
    entry["tlsConfig"] = first["tlsConfig"]
    config["extenders"].append(entry)
    example = yaml.safe_dump(config)

    plimsoll.install(plane, owners_overlay(tmp_path / "overlay"))
    try:
        before = len(plane.audit("plimsoll-extender"))
        extender = start_extender(example, "--bind")
        kubeconfig = plane.component_kubeconfig("kube-scheduler")
        path = tmp_path / "config.yaml"
        path = localized(example, path, extender.url, kubeconfig, tmp_path)
        expect_placed_by_us(namespace, extender, kube_scheduler(path, kubeconfig))
        assert bound_by_account(plane, namespace) == {"web-0"}
        assert not refused(plane, "plimsoll-extender", before)
    finally:
        plane.kubectl("delete", "-f", str(DEPLOY / "extender-bind" / "rbac.yaml"))
        plimsoll.install(plane)
    figure("a pod was filtered, ranked and bound over mutual TLS")


def follow_in(plane, namespace, commands):
    commands = commands.replace("NAMESPACE", namespace.name)
    # deploy/ is applied without pods here.
    commands = re.sub(r"^kubectl apply .*\n", "", commands)
    return follow(plane, commands)


def expect_namespace_is_ours(plane, namespace, extender):
    """With the label, and nowhere else; and back."""

    def scheduler_of_new(where, *flags):
        return plane.kubectl(
            "run", "probe", "--image=x", "--dry-run=server", f"--namespace={where}",
            "--output=jsonpath={.spec.schedulerName}", *flags,
        )  # fmt: skip

    def wait_for(wanted):
        what = f"new pods to be for {wanted}"
        wait_until(lambda: scheduler_of_new(namespace.name) == wanted, what=what)

    follow_in(plane, namespace, block("docs/managed-clouds.md", "by-namespace"))
    wait_for("plimsoll-scheduler")
    assert scheduler_of_new("default") == "default-scheduler"
    other = '--overrides={"spec": {"schedulerName": "mine"}}'
    assert scheduler_of_new(namespace.name, other) == "mine"
    ours = "--labels=app.kubernetes.io/part-of=plimsoll"
    assert scheduler_of_new(namespace.name, ours) == "default-scheduler"
    before = filtered(extender)
    namespace.create_pod("web-1")
    namespace.wait_bound(2)
    assert filtered(extender) > before
    follow_in(plane, namespace, block("docs/managed-clouds.md", "by-namespace-back"))
    wait_for("default-scheduler")


def test_second_scheduler(plane, plimsoll, nodes, namespace, kube_scheduler, tmp_path, figure):
    """Scheduler and sidecar with the account, the RBAC and the ConfigMap of the overlay."""
    objects = list(yaml.safe_load_all(plane.kubectl("kustomize", str(DEPLOY / "second-scheduler"))))
    (config,) = (o for o in objects if o["kind"] == "ConfigMap")
    (deployment,) = (
        o for o in objects
        if o["kind"] == "Deployment" and o["metadata"]["name"] == "plimsoll-scheduler"
    )  # fmt: skip
    volume = deployment["spec"]["template"]["spec"]["volumes"][0]
    assert volume["configMap"]["name"] == config["metadata"]["name"]
    plimsoll.install(plane, "second-scheduler-by-namespace")

    account = "plimsoll-scheduler"
    kubeconfig = plimsoll.kubeconfig(account)
    extender = plimsoll.run(
        [plimsoll.binary("plimsoll-extender"), f"--kubeconfig={kubeconfig}", "--port=0"],
        "sidecar",
    )
    extender.url = f"http://127.0.0.1:{extender.wait_port()}"
    wait_ready(extender)
    path = localized(config["data"]["config.yaml"], tmp_path / "config.yaml", extender.url)
    # In a pod it finds the API server by its ServiceAccount; here it has to be told.
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"clientConnection: {{kubeconfig: {kubeconfig}}}\n")
    process = kube_scheduler(path, kubeconfig)

    expect_placed_by_us(namespace, extender, process, scheduler="plimsoll-scheduler")
    lease = plane.api.get(
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-scheduler"
    )
    assert lease["spec"]["holderIdentity"]
    for text in (process.text(), extender.text()):
        assert not re.search(r"is forbidden|cannot (list|get|watch)", text), text
    expect_namespace_is_ours(plane, namespace, extender)
    figure("pods were placed by the second scheduler; it was refused nothing")
