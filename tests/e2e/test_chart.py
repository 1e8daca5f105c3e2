"""deploy/chart by Helm: the same objects as kustomize makes of deploy/, and what a release leaves behind."""

import copy
import json
import os
import re
import subprocess

import pytest
import yaml
from cluster.nodes import Fleet
from cluster.pages import environment, follow, owners_overlay
from cluster.plimsoll import fast_policy
from harness import clean_environment, wait_until
from pages import TOP, block
from programs import complete
from test_install_and_leave import objects
from tools import build

DEPLOY = TOP / "deploy"
CHART = str(DEPLOY / "chart")
CLOUDS = "docs/managed-clouds.md"
CRD = "CustomResourceDefinition/<none>/dynamicschedulerpolicies.scheduler.policy.crane.io"
HELM_LABELS = {
    "app.kubernetes.io/managed-by": "Helm",
    "app.kubernetes.io/instance": "plimsoll",
    "helm.sh/chart": "plimsoll-0.2.0",
    "app.kubernetes.io/version": "0.2.0",
}
NOTES = (
    "helm.sh/resource-policy",
    "helm.sh/hook",
    "helm.sh/hook-delete-policy",
    "plimsoll/config",
)
# values: the kustomizations that have the same
SAME = {
    "deploy": ({}, ["."]),
    "extender-tls": ({"extender": {"tls": {"mode": "tls"}}}, ["extender-tls"]),
    "extender-mtls": ({"extender": {"tls": {"mode": "mtls"}}}, ["extender-mtls"]),
    "admission": ({"admission": {"enabled": True}}, ["admission"]),
    "second-scheduler": ({"secondScheduler": {"enabled": True}}, ["second-scheduler"]),
    "second-scheduler-by-namespace": (
        {"secondScheduler": {"enabled": True, "byNamespace": True}},
        ["second-scheduler-by-namespace"],
    ),
    "idle": ({"idle": {"enabled": True}}, [".", "idle"]),
    "idle-namespaces": ({"idle": {"byNamespace": True}}, [".", "idle-namespaces"]),
    "rebalance": ({"rebalance": {"enabled": True}}, [".", "rebalance"]),
    "monitoring": ({"monitoring": {"enabled": True}}, [".", "monitoring"]),
    "monitoring-of-second-scheduler": (
        {"secondScheduler": {"enabled": True}, "monitoring": {"enabled": True}},
        ["second-scheduler", "monitoring"],
    ),
}


@pytest.fixture
def render(tmp_path):
    """The objects of the chart with these values."""

    def run(values, *flags, namespace="kube-system"):
        path = tmp_path / "values.yaml"
        path.write_text(yaml.safe_dump(values), encoding="utf-8")
        argv = ("template", "plimsoll", CHART, "--namespace", namespace)
        argv += ("--kube-version", "1.37.0", "--values", path, *flags)
        return complete(build.program("helm"), *argv, status=None)

    def rendered(values, *flags, **more):
        done = run(values, *(flags or ["--skip-tests"]), **more)
        assert done.returncode == 0, done.stderr
        return [item for item in yaml.safe_load_all(done.stdout) if item]

    rendered.run = run
    return rendered


def test_sources(render, tmp_path):
    """They are the file of --sources, in place of the flag that the manifests set."""
    sources = [{"kind": "node-exporter", "tls_config": {"ca_file": "/etc/keys/ca.crt"}}]
    found = {
        (item["kind"], item["metadata"]["name"]): item
        for item in render({"controller": {"sources": sources}}, namespace="other")
    }
    config = found["ConfigMap", "plimsoll-sources"]
    assert config["metadata"]["namespace"] == "other"
    assert yaml.safe_load(config["data"]["sources.yaml"]) == {"sources": sources}
    template = found["Deployment", "plimsoll-controller"]["spec"]["template"]
    assert "checksum/sources" in template["metadata"]["annotations"]
    pod = template["spec"]
    (container,) = pod["containers"]
    assert container["args"][-1] == "--sources=/etc/plimsoll/sources.yaml"
    assert "PLIMSOLL_METRICS_SOURCE" not in {entry["name"] for entry in container["env"]}
    assert container["volumeMounts"] == [{"name": "sources", "mountPath": "/etc/plimsoll"}]
    assert pod["volumes"] == [{"name": "sources", "configMap": {"name": "plimsoll-sources"}}]
    path = tmp_path / "sources"
    path.write_text(config["data"]["sources.yaml"].replace("/etc/keys/ca.crt", "/nowhere"), "utf-8")
    said = complete("plimsoll-controller", "--check-config", f"--sources={path}", status=2).stderr
    assert "sources[0].tls_config.ca_file: /nowhere: cannot open" in said


def kustomize(path):
    return list(yaml.safe_load_all(complete(build.program("kubectl"), "kustomize", path).stdout))


def pod_template(item):
    return item["spec"]["template"] if item["kind"] in ("Deployment", "Job") else None


def comparable(item):
    """An object without what the chart's README.md names as different."""
    item = copy.deepcopy(item)
    for meta in (item["metadata"], (pod_template(item) or {}).get("metadata", {})):
        for label in HELM_LABELS:
            meta.get("labels", {}).pop(label, None)
        for note in NOTES:
            meta.get("annotations", {}).pop(note, None)
        if not meta.get("annotations", True):
            del meta["annotations"]
    text = re.sub(
        r"plimsoll-scheduler-config-\w{10}", "plimsoll-scheduler-config", json.dumps(item)
    )
    item = json.loads(text)
    for container in (pod_template(item) or {"spec": {"containers": []}})["spec"]["containers"]:
        # No variable refers to another.
        container.get("env", []).sort(key=lambda entry: entry["name"])
    return item


def by_name(items):
    found = {
        (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]): item
        for item in map(comparable, items)
    }
    assert len(found) == len(items)
    return found


def assert_same(ours, theirs):
    ours, theirs = by_name(ours), by_name(theirs)
    assert ours.keys() == theirs.keys()
    for name, item in ours.items():
        assert item == theirs[name], name


@pytest.mark.parametrize("what", SAME)
def test_it_is_what_kustomize_makes(render, what):
    values, folders = SAME[what]
    rendered = render(values)
    assert_same(rendered, [item for folder in folders for item in kustomize(DEPLOY / folder)])
    for item in rendered:
        assert HELM_LABELS.items() <= item["metadata"]["labels"].items(), item["metadata"]


def test_binding_is_what_the_component_makes(render, tmp_path):
    values = {"extender": {"tls": {"mode": "mtls"}, "bind": True}}
    assert_same(render(values), kustomize(owners_overlay(tmp_path / "overlay")))


def test_cleaning_up_is_what_kustomize_makes(render):
    found = by_name(render({"cleanup": {"enabled": True}}))
    (job,) = kustomize(DEPLOY / "cleanup")
    expected = by_name([job] + kustomize(DEPLOY))
    for kind in ("Deployment", "PodDisruptionBudget"):
        del expected[kind, "kube-system", "plimsoll-controller"]
    assert found == expected


def test_the_test_is_what_kustomize_makes(render):
    rendered = render({}, "--show-only=templates/tests/doctor.yaml")
    assert_same(rendered, kustomize(DEPLOY / "doctor"))
    assert {item["metadata"]["annotations"]["helm.sh/hook"] for item in rendered} == {"test"}


def test_every_value_changes_something(render):
    """One installation with all of them, in another namespace."""
    pod = {
        "replicas": 5,
        "resources": {"requests": {"cpu": "1"}},
        "nodeSelector": {"disk": "fast"},
        "tolerations": [],
        "affinity": {},
        "topologySpreadConstraints": [],
        "podSecurityContext": {"runAsUser": 7},
        "securityContext": {"privileged": False},
        "podLabels": {"team": "a"},
        "podAnnotations": {"note": "b"},
        "serviceAccountAnnotations": {"role": "c"},
    }
    env = {"PLIMSOLL_STRICT": True, "PLIMSOLL_PATCH_QPS": 50, "PLIMSOLL_NETWORK_SPEED": 25000000000}
    part = pod | {"extraArgs": ["--log-format=json"], "env": env}
    values = {
        "images": {
            "registry": "registry.example.com/tools",
            "pullPolicy": "Always",
            "pullSecrets": [{"name": "key"}],
        },
        "annotationPrefix": "load.example.com",
        "priorityClassName": "high",
        "controller": part | {"image": {"repository": "mine", "tag": "7"}},
        "extender": part | {"clusterIP": "10.0.0.9", "tls": {"mode": "tls", "secretName": "keys"}},
        "admission": {"enabled": True},
        "crds": {"keep": False},
        "idle": {"enabled": True, "byNamespace": True},
        "rebalance": {"enabled": True, "extraArgs": ["--max-evictions-per-hour=3"]},
        "networkPolicies": {
            "extraEgressPorts": [9090, {"port": 8080}, {"port": 1053, "protocol": "UDP"}]
        },
        "monitoring": {
            "enabled": True,
            "labels": {"release": "prom"},
            "extenderTLSConfig": {"serverName": "plimsoll-extender.other.svc"},
        },
    }
    found = {
        (item["kind"], item["metadata"]["name"]): item for item in render(values, namespace="other")
    }
    spaces = {item["metadata"].get("namespace") for item in found.values()}
    assert spaces == {"other", None}
    for name in ("plimsoll-controller", "plimsoll-controller-idle"):
        binding = found["ClusterRoleBinding", name]
        assert binding["subjects"][0]["namespace"] == "other"
    assert ("MutatingAdmissionPolicyBinding", "plimsoll-idle") in found
    assert found["RoleBinding", "plimsoll-admission"]["subjects"][0]["namespace"] == "other"
    for name, image in (("controller", "mine:7"), ("extender", "plimsoll-extender:0.2.0")):
        deployment = found["Deployment", f"plimsoll-{name}"]["spec"]
        meta, spec = deployment["template"]["metadata"], deployment["template"]["spec"]
        (container,) = spec["containers"]
        assert deployment["replicas"] == 5 and meta["labels"]["team"] == "a"
        assert meta["annotations"]["note"] == "b"
        assert spec["priorityClassName"] == "high" and spec["imagePullSecrets"] == [{"name": "key"}]
        assert spec["nodeSelector"] == {"disk": "fast"}
        assert spec["tolerations"] == [] and spec["affinity"] == {}
        assert spec["topologySpreadConstraints"] == []
        # What a map does not name stays.
        assert spec["securityContext"]["runAsUser"] == 7
        assert spec["securityContext"]["runAsGroup"] == 65532
        assert container["securityContext"]["privileged"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        account = found["ServiceAccount", f"plimsoll-{name}"]
        assert account["metadata"]["annotations"] == {"role": "c"}
        assert container["image"] == f"registry.example.com/tools/{image}"
        assert container["imagePullPolicy"] == "Always"
        assert container["args"][-1] == "--log-format=json"
        assert container["resources"] == {"requests": {"cpu": "1"}}
        env = {entry["name"]: entry.get("value") for entry in container["env"]}
        assert env["PLIMSOLL_STRICT"] == "true" and env["PLIMSOLL_PATCH_QPS"] == "50"
        assert env["PLIMSOLL_NETWORK_SPEED"] == "25000000000"
        assert env["PLIMSOLL_ANNOTATION_PREFIX"] == "load.example.com"
    assert env["PLIMSOLL_ADMISSION"] == "true"
    assert spec["volumes"][0]["secret"]["secretName"] == "keys"
    assert found["Service", "plimsoll-extender"]["spec"]["clusterIP"] == "10.0.0.9"
    assert "annotations" not in found[CRD.split("/")[0], CRD.split("/")[2]]["metadata"]
    guard = found["ValidatingAdmissionPolicy", "plimsoll-controller-nodes"]["spec"]["variables"]
    assert guard[0] == {"name": "prefix", "expression": "'load.example.com/'"}
    (container,) = pods(found.values())["plimsoll-rebalance"]["containers"]
    assert container["args"] == ["rebalance", "--apply", "--watch", "--max-evictions-per-hour=3"]
    assert container["image"] == "registry.example.com/tools/mine:7"
    assert container["env"][-1]["value"] == "load.example.com"
    for name in ("plimsoll-controller", "plimsoll-extender", "plimsoll-rebalance"):
        egress = found["NetworkPolicy", name]["spec"]["egress"]
        added = {(row["protocol"], row["port"]) for row in egress[0]["ports"][-3:]}
        assert added == {("TCP", 9090), ("TCP", 8080), ("UDP", 1053)}
    monitor = found["ServiceMonitor", "plimsoll-extender"]
    assert monitor["metadata"]["labels"]["release"] == "prom"
    assert monitor["spec"]["endpoints"][0]["scheme"] == "https"
    assert monitor["spec"]["endpoints"][0]["tlsConfig"] == values["monitoring"]["extenderTLSConfig"]


def pods(items):
    """{name: spec of its pod} of Deployments, Jobs and Pods."""
    return {
        item["metadata"]["name"]: (pod_template(item) or item)["spec"]
        for item in items
        if item["kind"] in ("Deployment", "Job", "Pod")
    }


@pytest.mark.parametrize("what", ["deploy", "extender-mtls", "second-scheduler"])
def test_files_that_flags_name(render, what):
    """A Secret next to those of the manifests, in our containers and in no other."""
    volume = {"name": "files", "secret": {"secretName": "tokens"}}
    mount = {"name": "files", "mountPath": "/etc/files", "readOnly": True}
    source = {"secretRef": {"name": "flags"}}
    files = {"extraVolumes": [volume], "extraVolumeMounts": [mount], "envFrom": [source]}
    values = copy.deepcopy(SAME[what][0])
    before = pods(render(values))
    for part in ("controller", "extender"):
        values[part] = values.get(part, {}) | files
    after = pods(render(values))
    assert after.keys() == before.keys()
    for name, expected in before.items():
        after[name].get("volumes", []).sort(key=lambda row: row["name"] == "files")
        after[name]["containers"][0].get("volumeMounts", []).sort(key=lambda row: row == mount)
        expected["volumes"] = [*expected.get("volumes", []), volume]
        for container in expected["containers"]:
            if container["name"] != "kube-scheduler":
                container["volumeMounts"] = [*container.get("volumeMounts", []), mount]
                container["envFrom"] = [source]
        assert after[name] == expected


@pytest.mark.parametrize(
    "values", [{}, {"secondScheduler": {"enabled": True}}, {"cleanup": {"enabled": True}}], ids=str
)
def test_openshift(render, tmp_path, values):
    """With the page's values no pod names the user that its namespace does not have; else all is as it was."""
    path = tmp_path / "openshift.yaml"
    path.write_text(block("deploy/chart/README.md", "openshift"), encoding="utf-8")
    values = values | {"extender": {"tls": {"mode": "tls"}}}
    before = pods(render(values, "--values=/dev/null"))
    after = pods(render(values, f"--values={path}"))
    assert len(after) == 3
    for name, expected in before.items():
        for key in ("runAsUser", "runAsGroup", "fsGroup"):
            expected["securityContext"].pop(key, None)
        assert expected["securityContext"]["runAsNonRoot"] is True
        assert after[name] == expected


def test_a_variable_of_the_manifests_is_replaced(render):
    (env,) = (
        item["spec"]["template"]["spec"]["containers"][0]["env"]
        for item in render({"controller": {"env": {"PLIMSOLL_METRICS_SOURCE": "prometheus"}}})
        if (item["kind"], item["metadata"]["name"]) == ("Deployment", "plimsoll-controller")
    )
    assert [row["value"] for row in env if row["name"] == "PLIMSOLL_METRICS_SOURCE"] == [
        "prometheus"
    ]


@pytest.mark.parametrize(
    "values, is_there",
    [
        (SAME["second-scheduler"][0] | {"extender": {"replicas": 0}}, True),
        ({"extender": {"replicas": 0}}, False),
        ({"extender": {"replicas": None}}, True),
    ],
)
def test_without_an_extender(render, values, is_there):
    """No alert says that it is absent."""
    items = render(values | SAME["monitoring"][0])
    found = {(item["kind"], item["metadata"]["name"]): item for item in items}
    names = [group["name"] for group in found["PrometheusRule", "plimsoll"]["spec"]["groups"]]
    assert names == ["plimsoll-controller", *["plimsoll-extender"] * is_there, "plimsoll"]


def test_the_api_server_takes_every_value(plane, render):
    volume = {"name": "files", "emptyDir": {}}
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    pod = {
        "topologySpreadConstraints": [constraint],
        "podSecurityContext": {"supplementalGroups": [7]},
        "securityContext": {"privileged": False},
        "serviceAccountAnnotations": {"role": "c"},
    }
    part = pod | {
        "extraVolumes": [volume],
        "extraVolumeMounts": [{"name": "files", "mountPath": "/etc/files"}],
        "envFrom": [{"configMapRef": {"name": "flags", "optional": True}}],
    }
    for is_second in (False, True):
        values = {"controller": part, "extender": part, "secondScheduler": pod}
        values["secondScheduler"]["enabled"] = is_second
        values["networkPolicies"] = {"extraEgressPorts": [9090, {"port": 53, "protocol": "SCTP"}]}
        text = yaml.safe_dump_all(render(values))
        plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f-", stdin=text)


@pytest.mark.parametrize(
    "values",
    [
        {"replicas": 3},  # a name that there is not, at the top or below
        {"controller": {"replica": 3}},
        {"controller": {"replicas": "3"}},
        {"controller": {"extraArgs": ["scrape-interval=30s"]}},
        {"extender": {"tls": {"mode": "on"}}},
        {"extender": {"bind": True}},  # anybody who is answered could bind pods
        {"admission": {"enabled": True}, "secondScheduler": {"enabled": True}},  # one or the other
        {"annotationPrefix": "load.example.com/"},
        {"controller": {"extraVolumes": {"name": "files"}}},
        {"monitoring": {"rules": "no"}},
        {"networkPolicies": {"extraEgressPorts": [0]}},
        {"networkPolicies": {"extraEgressPorts": [{"port": 1053, "protocol": "udp"}]}},
    ],
    ids=str,
)
def test_the_schema_refuses(render, values):
    done = render.run(values)
    assert done.returncode != 0 and "values don't meet the specifications" in done.stderr


@pytest.mark.parametrize(
    "values, version, said",
    [
        ({}, "1.30.0", ""),
        ({}, "1.29.9", "nodeGuard.enabled needs Kubernetes 1.30"),
        ({"nodeGuard": {"enabled": False}}, "1.29.0", ""),
        ({"nodeGuard": {"enabled": False}}, "v1.29.15-eks-1234567", ""),
        ({"nodeGuard": {"enabled": False}}, "1.28.9", "incompatible with Kubernetes v1.28.9"),
    ],
)
def test_the_kubernetes_that_it_needs(render, values, version, said):
    done = render.run(values, "--kube-version", version)
    assert (done.returncode != 0) == bool(said) and said in done.stderr, done.stderr


# -- a release -------------------------------------------------------------------------------------


def entry_of(notes):
    """The scheduler's configuration that the notes show."""
    lines = notes[notes.index("     apiVersion: kubescheduler") :].splitlines()
    end = next(i for i, line in enumerate(lines) if not line.startswith("     "))
    return yaml.safe_load("\n".join(line[5:] for line in lines[:end]))


def test_notes_for_a_binder(tmp_path):
    """Binding has an entry of its own, since it takes longer than a pod may wait for the other calls."""
    path = tmp_path / "values.yaml"
    path.write_text("extender: {tls: {mode: mtls}, bind: true}", encoding="utf-8")
    argv = ("install", "plimsoll", CHART, "--dry-run=client", "--values", path)
    shown = entry_of(complete(build.program("helm"), *argv).stdout)["extenders"]
    (ours,) = yaml.safe_load((DEPLOY / "scheduler/config-mtls.yaml").read_text("utf-8"))[
        "extenders"
    ]
    (binder,) = yaml.safe_load(block("deploy/coming-from/hand-written-extender.md", "binder"))
    for entry in (*shown, ours):
        entry["tlsConfig"].pop("serverName")
    assert shown == [ours, binder | {"tlsConfig": ours["tlsConfig"]}]


def test_install_upgrade_rollback_uninstall(bare, exporters, figure):
    Fleet(bare, exporters).add(2)
    before = objects(bare)

    def helm(*argv):
        argv = ("helm", *argv, "--namespace=kube-system")
        return complete(*argv, env=environment(bare), timeout=600).stdout

    def replicas(name="plimsoll-controller"):
        path = f"/apis/apps/v1/namespaces/kube-system/deployments/{name}"
        return bare.api.get(path)["spec"]["replicas"]

    follow(bare, block("docs/install.md", "helm"))
    made = {
        "/".join((kind, namespace or "<none>", name))
        for kind, namespace, name in by_name(kustomize(DEPLOY))
    }
    assert made <= objects(bare)
    assert "default" in follow(bare, block("docs/install.md", "helm-policy")).splitlines()[-1]
    follow(bare, block("docs/install.md", "helm-upgrade"))
    history = json.loads(helm("history", "plimsoll", "--output=json"))
    assert [row["status"] for row in history] == ["superseded", "superseded", "deployed"]
    assert replicas() == 2 and made <= objects(bare)
    shown = entry_of(helm("get", "notes", "plimsoll"))
    ours = yaml.safe_load((DEPLOY / "scheduler" / "config-http.yaml").read_text("utf-8"))
    assert shown["extenders"] == ours["extenders"]
    assert shown["clientConnection"].keys() == ours["clientConnection"].keys()
    follow(bare, block("docs/uninstall.md", "helm-leaving"))

    def as_before():
        left = objects(bare) - before
        # What controllers make of Deployments and Services goes away by itself.
        assert not {name for name in left if not name.startswith("Event")}, left
        return True

    wait_until(as_before, 60, "nothing to be left")
    assert before <= objects(bare)
    figure(f"{len(made)} objects installed, upgraded, rolled back and uninstalled: none is left")


@pytest.mark.parametrize("registry", ["", "REGISTRY/"])
def test_short_installations(bare, registry):
    """That of the README, and that of the quick start, whose Service has the address that kind's scheduler calls."""
    Fleet(bare, None).add(2)
    commands = (
        block("README.md", "helm") if registry else block("docs/quick-start.md", "kind-install")
    )
    # This cluster has other addresses for Services than kind.
    follow(bare, commands.replace("=10.96.0.80", "=10.0.0.80"))
    made = {
        "/".join((kind, namespace or "<none>", name))
        for kind, namespace, name in by_name(kustomize(DEPLOY))
    }
    assert made <= objects(bare)
    path = "/namespaces/kube-system/{}/plimsoll-{}"
    for program in ("controller", "extender"):
        pod = bare.api.get("/apis/apps/v1" + path.format("deployments", program))["spec"][
            "template"
        ]
        (container,) = pod["spec"]["containers"]
        assert container["image"] == f"{registry}plimsoll-{program}:0.2.0"
        assert container["imagePullPolicy"] == "IfNotPresent", "kind's nodes have the image already"
        named = {row["name"] for row in container["env"]}
        is_for_kind = not registry and program == "controller"
        assert ("PLIMSOLL_KUBELET_INSECURE_SKIP_VERIFY" in named) == is_for_kind
    service = bare.api.get("/api/v1" + path.format("services", "extender"))
    assert registry or service["spec"]["clusterIP"] == "10.0.0.80"


def test_the_package_is_quiet(bare):
    """The page's commands print nothing about the chart's links, as helm does of the folder."""

    def said(commands):
        done = complete("bash", "-euc", commands, env=environment(bare), cwd=TOP)
        return done.stdout + done.stderr

    package, install = block("docs/install.md", "helm").splitlines()
    dry = install + " --dry-run=client"
    assert "symbolic link" not in said(package) + said(dry)
    assert "symbolic link" in said(dry.replace("plimsoll-0.2.0.tgz", "deploy/chart"))


def test_managed_cloud(bare, figure):
    """The page for clouds, with a scheduler next to the cluster in the place of the pod's."""
    Fleet(bare, None).add(2)
    follow(bare, block(CLOUDS, "install").replace("=VERSION", "=v1.37.2"))
    pods = bare.api.items("/api/v1/namespaces/kube-system/pods")
    images = {row["image"] for pod in pods for row in pod["spec"]["containers"]}
    assert images == {
        "REGISTRY/plimsoll-controller:0.2.0",
        "REGISTRY/plimsoll-extender:0.2.0",
        "registry.k8s.io/kube-scheduler:v1.37.2",
    }
    bare.start_scheduler("plimsoll-scheduler")
    said = follow(bare, block(CLOUDS, "pod"))
    assert "pod/probe condition met" in said and "node-000" in said
    figure(f"{len(images)} images, and a pod that the second scheduler placed")


def play_kubelet(plane, binary, name, *flags):
    """Run the command of a pod with its account, next to the cluster, and say how it ended.

    kwok's pods run nothing. What is not as in a cluster: the account's token comes by a kubeconfig,
    no image is needed, and there may be more `flags`.
    """
    path = f"/api/v1/namespaces/kube-system/pods/{name}"
    wait_until(
        lambda: plane.api.get(path)["status"].get("phase") == "Running", 60, f"{name} to run"
    )
    pod = plane.api.get(path)
    (container,) = pod["spec"]["containers"]
    account = pod["spec"]["serviceAccountName"]
    token = plane.path(f"{account}.token")
    with open(token, "w", encoding="utf-8") as file:
        file.write(plane.kubectl("create", "token", account, "--namespace=kube-system"))
    env = {row["name"]: row.get("value", "kube-system") for row in container["env"]}
    (command,) = container["command"]
    done = subprocess.run(
        [binary(command.rpartition("/")[2]), *container["args"], *flags],
        env={**clean_environment(env), "KUBECONFIG": plane.write_kubeconfig(account, token_file=token)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    phase = "Failed" if done.returncode else "Succeeded"
    patch = json.dumps({"status": {"phase": phase}})
    plane.kubectl(
        "-nkube-system", "patch", f"pod/{name}", "--subresource=status", f"--patch={patch}"
    )
    return done.stdout


def test_helm_test(bare, make_plimsoll, exporters, binary, figure):
    """`helm test` passes in a healthy cluster, warnings or not, and fails with an error."""
    fleet = Fleet(bare, exporters)
    (node,) = fleet.add(1, load={"cpu": 0.2, "mem": 0.1})
    before = objects(bare)
    follow(bare, block("docs/install.md", "helm"))
    installed = objects(bare) - before
    plimsoll = make_plimsoll(bare)
    bare.kubectl("wait", "--for=condition=Established", f"crd/{CRD.rpartition('/')[2]}")
    bare.kubectl("apply", "-f", plimsoll.write_policy(fast_policy()))
    plimsoll.controller(None, exporters, "--leader-elect-resource-namespace=kube-system")
    wait_until(lambda: "cpu_usage_avg_5s" in fleet.annotations(node), 60, "annotations")
    bare.kubectl(
        "-nkube-system", "rollout", "status", "deployment", "-lapp.kubernetes.io/part-of=plimsoll"
    )

    def helm_test(*flags):
        with subprocess.Popen(
            ["bash", "-euc", block("docs/install.md", "helm-test")], cwd=TOP, env=environment(bare),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as helm:  # fmt: skip
            said = play_kubelet(bare, binary, "plimsoll-doctor", *flags)
            shown, _ = helm.communicate(timeout=60)
        return helm.returncode, said, shown

    bare.kubectl("-nkube-system", "scale", "deployment/plimsoll-extender", "--replicas=1")
    status, said, shown = helm_test()
    assert status == 0, said + shown
    assert "warning  extender-replicas" in said and " 0 errors" in said
    # What it may not see would be unknown.
    assert "403" not in said
    assert not {name for name in objects(bare) - before - installed if "doctor" in name}
    bare.kubectl("-nkube-system", "delete", "service", "plimsoll-extender")
    status, said, shown = helm_test("--wait=0s")
    assert status != 0 and "error    extender-service" in said, said + shown
    upgrade = "helm upgrade plimsoll deploy/chart -n kube-system --reset-then-reuse-values\n"
    assert f"fix:  {upgrade}" in said, "Helm's own annotation names the release"
    # Somebody has scaled the extender, and Helm does not take that back unasked.
    follow(bare, f"{upgrade.strip()} --force-conflicts")
    bare.kubectl("-nkube-system", "get", "service", "plimsoll-extender")
    figure("passes with a warning, fails with an error; its permissions are gone after it")


@pytest.mark.nightly
def test_uninstall_keeps_policies(bare):
    """Without the last step of the page they stay, and the next release takes them over."""
    follow(bare, block("docs/install.md", "helm"))
    bare.kubectl("wait", "--for=condition=Established", f"crd/{CRD.rpartition('/')[2]}")
    bare.kubectl("apply", "-f", str(TOP / "policy" / "policy.yaml"))
    follow(bare, "helm uninstall plimsoll --namespace kube-system")
    assert "default" in bare.kubectl("get", "dsp")
    follow(bare, block("docs/install.md", "helm"))
    assert "default" in bare.kubectl("get", "dsp")
