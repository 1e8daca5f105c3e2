"""kubectl plimsoll doctor: each seeded fault is found by its own check, and none where there is none."""

import json
import os
import re
import subprocess

import pytest

from pages import TOP, block
from paper_cluster import (
    CONTROLLERS,
    CRD_PATH,
    DEPLOYMENTS,
    EXTENDERS,
    METRICS,
    POLICY_PATH,
    REQUESTS_PATH,
    REVIEWS_PATH,
    SYSTEM,
    PaperCluster,
    node,
    request,
    stamp,
)

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-controller"
NETWORK = "/apis/networking.k8s.io/v1/namespaces/kube-system/networkpolicies/plimsoll-controller"
GUARD = (
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/plimsoll-controller-nodes"
)
AUTOSCALER = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"


@pytest.fixture(scope="module")
def version(binary):
    said = subprocess.run(
        [binary("kubectl-plimsoll"), "--version"], capture_output=True, text=True, check=True
    )
    return said.stdout.split()[-1]


@pytest.fixture
def cluster(version):
    paper = PaperCluster(version)
    yield paper
    paper.close()


@pytest.fixture
def doctor(binary, cluster):
    def call(*flags, status=None, env=None):
        done = subprocess.run(
            [binary("kubectl-plimsoll"), "doctor", f"--server={cluster.url}", *flags],
            env={**os.environ, "KUBECONFIG": "", "HOME": "/none", **(env or {})},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert status in (None, done.returncode), done.stdout + done.stderr
        return done

    return call


def findings(done):
    """{id: (state, what)} of what is not ok."""
    rows = json.loads(done.stdout)["checks"]
    return {row["id"]: (row["state"], row["what"]) for row in rows if row["state"] != "ok"}


def test_a_healthy_cluster(doctor):
    done = doctor("-o", "json", status=0)
    assert findings(done) == {}
    checks = json.loads(done.stdout)["checks"]
    assert len(checks) >= 25
    assert len({row["id"] for row in checks}) == len(checks)
    table = doctor(status=0).stdout
    assert table == f"{len(checks)} checks: {len(checks)} ok, 0 unknown, 0 warnings, 0 errors\n"
    assert len(doctor("-o", "wide", status=0).stdout.splitlines()) == len(checks) + 1


def remove(path):
    return lambda cluster: cluster.objects.pop(path)


def replicas(name, wanted, ready):
    def seed(cluster):
        deployment = cluster.objects[f"{DEPLOYMENTS}/{name}"]
        deployment["spec"]["replicas"] = wanted
        deployment["status"]["readyReplicas"] = ready

    return seed


def put(path, *keys, to):
    """Change a field of an object."""

    def seed(cluster):
        place = cluster.objects[path]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return seed


def deny(*what):
    return lambda cluster: cluster.denied.add(what)


def annotate(metric, value, nodes=slice(None)):
    return lambda cluster: cluster.annotate(metric, value() if callable(value) else value, nodes)


def page(old, new, names=CONTROLLERS + EXTENDERS):
    return lambda cluster: cluster.page(old, new, names)


def configuration(old, new=""):
    return lambda cluster: cluster.configuration(old, new)


def reading(value, seconds_ago):
    return lambda: f"{value:.5f},{stamp(seconds_ago)}"


def all_metrics(value, nodes=slice(None)):
    def seed(cluster):
        for metric in METRICS:
            cluster.annotate(metric, value(), nodes)

    return seed


def bare(cluster):
    cluster.nodes()[1]["metadata"].pop("annotations")


def two_writers(cluster):
    cluster.nodes()[2]["metadata"]["managedFields"][1]["fieldsV1"]["f:metadata"]["f:annotations"][
        f"f:{METRICS[0]}"
    ] = {}


def other_prefix(cluster):
    for item in cluster.nodes():
        annotations = item["metadata"]["annotations"]
        for metric in METRICS:
            annotations[f"load.example.com/{metric}"] = annotations.pop(metric)


def metric_of_nobody(cluster):
    cluster.spec()["syncPolicy"].append({"name": "net_usage_avg_5m", "period": "3m"})
    cluster.spec()["priority"].append({"name": "net_usage_avg_5m", "weight": 1})


def all_over(cluster):
    cluster.spec()["extender"]["whenAllOver"] = "reject"
    all_metrics(reading(0.95, 30))(cluster)


def autoscaler(path):
    def seed(cluster):
        cluster.spec()["extender"]["whenAllOver"] = "reject"
        cluster.objects[path] = {}

    return seed


def no_weights(cluster):
    spec = cluster.spec()
    del spec["priority"], spec["extender"]


def many_nodes(cluster):
    cluster.objects["/api/v1/nodes"] = [node(f"node-{i}") for i in range(150)]
    cluster.page("table_nodes 4", "table_nodes 150", EXTENDERS)


def waiting_patches(cluster):
    cluster.objects["/api/v1/nodes"] = [node(f"node-{i}") for i in range(20)]
    cluster.page("table_nodes 4", "table_nodes 20", EXTENDERS)
    cluster.page("patches_waiting 0", "patches_waiting 15", CONTROLLERS[:1])


def cordoned(cluster):
    for item in cluster.nodes()[:3]:
        item["spec"]["unschedulable"] = True


def kubelets_wait(cluster):
    cluster.objects[REQUESTS_PATH] = [
        request("node-0", "Approved", seconds_ago=3600),
        request("node-1", "Denied", seconds_ago=3600),
        request("node-2", seconds_ago=3600),
    ]


def not_ready(cluster):
    cluster.nodes()[0]["status"]["conditions"][0]["status"] = "Unknown"


def closed(port):
    def seed(cluster):
        (egress,) = cluster.objects[NETWORK]["spec"]["egress"]
        egress["ports"] = [row for row in egress["ports"] if row["port"] != port]

    return seed


def unverified_kubelets(cluster):
    spec = cluster.objects[f"{DEPLOYMENTS}/plimsoll-controller"]["spec"]["template"]["spec"]
    spec["containers"][0]["args"].append("--kubelet-insecure-skip-verify")


def restarted(cluster):
    status = cluster.objects[f"{SYSTEM}/pods"][0]["status"]["containerStatuses"][0]
    status["restartCount"] = 12
    status["lastState"] = {"terminated": {"reason": "OOMKilled"}}


def failing_exporters(cluster):
    cluster.page('targets_failing{source="node-exporter"} 0', "targets_failing 3", CONTROLLERS[:1])
    cluster.page('{result="timeout",source="node-exporter"} 0', '{result="timeout"} 7')


def certificate(seconds):
    def seed(cluster):
        name = "plimsoll_tls_certificate_expiry_timestamp_seconds"
        for path, content in cluster.objects.items():
            if isinstance(content, str):
                found = re.search(rf"{name} (\d+)", content)
                if found:
                    then = int(found[1]) - 90 * 86400 + seconds
                    cluster.objects[path] = content.replace(found[1], str(then))

    return seed


# (the check that must find it, how grave it is, what it says, how it is seeded)
SEEDED = [
    ("kubernetes", "warning", "1.24", put("/version", "minor", to="24")),
    ("controller", "error", "no Deployment", remove(f"{DEPLOYMENTS}/plimsoll-controller")),
    ("controller-replicas", "warning", "1 of 2", replicas("plimsoll-controller", 2, 1)),
    ("controller-replicas", "error", "none of 2", replicas("plimsoll-controller", 2, 0)),
    ("controller-replicas", "warning", "one replica", replicas("plimsoll-controller", 1, 1)),
    ("extender", "error", "no Deployment", remove(f"{DEPLOYMENTS}/plimsoll-extender")),
    ("extender-replicas", "error", "none", replicas("plimsoll-extender", 2, 0)),
    ("extender-service", "error", "no Service", remove(f"{SYSTEM}/services/plimsoll-extender")),
    (
        "extender-service",
        "error",
        "does not select",
        put(f"{SYSTEM}/services/plimsoll-extender", "spec", "selector", to={"app": "x"}),
    ),
    ("restarts", "warning", "12 times (OOMKilled)", restarted),
    ("versions", "warning", "1 of 4", page('version="', 'version="0.0.', EXTENDERS[:1])),
    ("leader", "error", "nobody has ever", remove(LEASE)),
    ("leader", "error", "nobody holds", put(LEASE, "spec", "holderIdentity", to="")),
    ("leader", "error", "renewed it last", put(LEASE, "spec", "renewTime", to=stamp(300))),
    (
        "controller-permissions",
        "error",
        "patch nodes",
        deny("plimsoll-controller", "patch", "nodes"),
    ),
    (
        "controller-permissions",
        "error",
        "create events",
        deny("plimsoll-controller", "create", "events"),
    ),
    (
        "controller-permissions",
        "error",
        "get nodes/metrics",
        deny("plimsoll-controller", "get", "nodes"),
    ),
    ("extender-permissions", "error", "watch pods", deny("plimsoll-extender", "watch", "pods")),
    ("network-policy", "error", "port 9100", closed(9100)),
    ("network-policy", "error", "port 10250", closed(10250)),
    ("kubelet-tls", "warning", "not verified", unverified_kubelets),
    ("node-guard", "warning", "plimsoll-controller-nodes", remove(GUARD)),
    (
        "policy-established",
        "error",
        "not established",
        put(CRD_PATH, "status", "conditions", 0, "status", to="False"),
    ),
    ("policy-object", "warning", "built-in policy", remove(POLICY_PATH)),
    ("policy-valid", "error", "refused", put(POLICY_PATH, "spec", "priority", 0, "weight", to=-1)),
    ("policy-warnings", "warning", "predicat", put(POLICY_PATH, "spec", "predicat", to=[])),
    (
        "policy-in-force",
        "error",
        "does not confirm",
        put(POLICY_PATH, "status", "conditions", 0, "status", to="False"),
    ),
    (
        "policy-in-force",
        "warning",
        "latest change",
        put(POLICY_PATH, "metadata", "generation", to=4),
    ),
    ("policy-limits", "error", "every node is above", all_over),
    ("policy-weights", "warning", "no priority", no_weights),
    ("annotations", "warning", "1 of 4 nodes have no annotation", bare),
    (
        "annotations-fresh",
        "warning",
        "1 of 4 nodes have no usable",
        all_metrics(reading(0.2, 3000), slice(1)),
    ),
    ("annotations-fresh", "error", "4 of 4", all_metrics(reading(0.2, 3000))),
    ("annotations-format", "warning", METRICS[0], annotate(METRICS[0], "much", slice(1))),
    ("annotations-unit", "error", "percent", annotate(METRICS[1], reading(38, 30), slice(1))),
    ("annotations-clock", "warning", "future", annotate(METRICS[0], reading(0.2, -300))),
    ("annotations-timezone", "error", "whole hours", all_metrics(reading(0.2, 30 - 8 * 3600))),
    ("annotations-prefix", "error", "load.example.com", other_prefix),
    (
        "annotations-left",
        "warning",
        "cpu_usage_max",
        annotate("cpu_usage_max_avg_1d", reading(0, 9)),
    ),
    ("annotations-writers", "error", "kubelet", two_writers),
    ("metrics-written", "error", "no node has net_usage_avg_5m", metric_of_nobody),
    ("nodes-ready", "warning", "1 of 4", not_ready),
    ("kubelet-certificates", "warning", "1 requests of kubelets", kubelets_wait),
    ("nodes-cordoned", "warning", "3 of 4", cordoned),
    ("exporters", "warning", "3 exporters fail, over all replicas", failing_exporters),
    ("samples", "warning", "2 nodes have no", page("stale 0", "stale 2", CONTROLLERS[:1])),
    (
        "policy-loaded",
        "error",
        "an extender",
        page("policy_failed 0", "policy_failed 1", EXTENDERS[:1]),
    ),
    ("patches", "warning", "15 of 20", waiting_patches),
    ("one-leader", "error", "2 controllers", page("plimsoll_leader 0", "plimsoll_leader 1")),
    ("one-leader", "error", "no controller", page("plimsoll_leader 1", "plimsoll_leader 0")),
    ("extender-called", "warning", "ever called", page('code="200"} 500', 'code="200"} 0')),
    (
        "extender-answers",
        "warning",
        "500 of 1000",
        page('code="200"}', 'code="400"}', EXTENDERS[:1]),
    ),
    ("extender-speed", "warning", "100 ms", page('le="0.1"} 500', 'le="0.1"} 300')),
    ("extender-table", "error", "know 4 nodes", page("nodes 4", "nodes 2")),
    ("certificate", "warning", "7 days", certificate(7 * 86400)),
    ("certificate", "error", "expired", certificate(-60)),
    ("scheduler-registered", "error", "port 8010", configuration(":8010")),
    ("scheduler-ignorable", "error", "ignorable", configuration("ignorable: true")),
    ("scheduler-timeout", "warning", "5s", configuration("httpTimeout: 200ms")),
    ("scheduler-timeout", "warning", "30s", configuration("200ms", "30s")),
    ("scheduler-weight", "error", "not set", configuration("weight: 3")),
    ("scheduler-weight", "warning", "weight is 1", configuration("weight: 3", "weight: 1")),
    ("scheduler-names", "warning", "nodeCacheCapable", configuration("nodeCacheCapable: true")),
    ("scheduler-verbs", "error", "filterVerb", configuration("filterVerb: filter")),
    ("scheduler-sampling", "warning", "adaptive of 150", many_nodes),
    (
        "scheduler-batching",
        "warning",
        "off in all 2 profiles",
        configuration("profiles:\n", "profiles:\n- schedulerName: other\n"),
    ),
    ("cluster-autoscaler", "warning", "autoscaler runs", autoscaler(AUTOSCALER)),
    ("karpenter", "warning", "Karpenter runs", autoscaler("/apis/karpenter.sh")),
]


@pytest.mark.parametrize(
    "check, state, what, seed", SEEDED, ids=[f"{i}-{row[0]}" for i, row in enumerate(SEEDED)]
)
def test_a_seeded_fault(cluster, doctor, check, state, what, seed):
    seed(cluster)
    done = doctor("-o", "json", status={"warning": 1, "error": 2}[state])
    found = findings(done)
    assert set(found) == {check}, found
    assert found[check][0] == state and what in found[check][1], found[check]
    assert "@NS" not in done.stdout


def test_every_check_has_a_fault(cluster, doctor):
    """But for those of which there is nothing but that they cannot be made."""
    ids = {row["id"] for row in json.loads(doctor("-o", "json").stdout)["checks"]}
    assert ids - {row[0] for row in SEEDED} == {"policy-definition", "metrics-pages"}


def test_nodes_without_an_exporter_that_kubelets_serve(cluster, doctor):
    names = CONTROLLERS[:1]
    served = 'targets_failing{source="node-exporter"} 4\nplimsoll_nodes_served{source="kubelet"} 4'
    cluster.page('targets_failing{source="node-exporter"} 0', served, names)
    assert findings(doctor("-o", "json", status=0)) == {}


def test_an_autoscaler_beside_limits_that_reject_nothing(cluster, doctor):
    autoscaler(AUTOSCALER)(cluster)
    for row in cluster.spec()["predicate"]:
        row["overLimit"] = "last"
    assert findings(doctor("-o", "json", status=0)) == {}


def test_a_cluster_without_plimsoll(cluster, doctor):
    cluster.objects = cluster.server.objects = {"/version": {"minor": "36"}, "/api/v1/nodes": []}
    found = findings(doctor("-o", "json", status=2))
    assert {key for key, (state, _) in found.items() if state == "error"} == {
        "controller",
        "extender",
    }
    assert found["policy-definition"][0] == "warning"
    assert found["extender-called"] == ("unknown", "no pod of it runs in the namespace")


def test_a_fact_that_is_no_fault(cluster, doctor):
    fact = "scheduler-batching       an extender switches opportunistic batching off\n"
    assert fact in doctor("-owide", status=0).stdout
    put("/version", "minor", to="34")(cluster)
    assert fact not in doctor("-owide", status=0).stdout


@pytest.mark.parametrize("status", [403, 500])
def test_what_cannot_be_known_is_no_fault(cluster, doctor, status):
    """An account that may see nothing but the version, and a server that fails."""
    for path in cluster.objects:
        if path != "/version" and (status == 403 or "proxy" in path):
            cluster.objects[path] = status
    cluster.objects |= {REVIEWS_PATH: status, AUTOSCALER: status, "/apis/karpenter.sh": status}
    found = findings(doctor("-o", "json", "--request-timeout=5s", status=0))
    assert {state for state, _ in found.values()} == {"unknown"}
    assert str(status) in found["metrics-pages" if status == 500 else "annotations"][1]
    assert f"POST {REVIEWS_PATH}: {status}" in found["controller-permissions"][1]


ODD = [7, "text", [1, "a", None, {}], {"a": 1}, None, "\x1b[31m" * 100]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_objects_of_another_form(cluster, doctor, odd):
    """Whatever the objects hold, the checks end, and say nothing that a terminal would obey."""
    fields = ("metadata", "spec", "status", "data", "minor", "items")
    for path, content in cluster.objects.items():
        if isinstance(content, list):
            cluster.objects[path] = [
                {"metadata": {"name": "a", "annotations": odd}},
                {**content[0]},
            ]
            cluster.objects[path][1] |= {"spec": odd, "status": odd, "data": odd}
        elif isinstance(content, dict):
            cluster.objects[path] = {field: odd for field in fields}
        else:
            cluster.objects[path] = f'plimsoll_leader {odd}\nplimsoll_build_info{{version="{odd}" 1'
    done = doctor("-o", "wide")
    assert done.returncode in (1, 2) and "checks: " in done.stdout, done.stderr
    assert "\x1b" not in done.stdout


def test_table(cluster, doctor):
    configuration("ignorable: true")(cluster)
    deny("plimsoll-controller", "patch", "nodes")(cluster)
    cluster.nodes()[0]["metadata"]["name"] = "\x1b[2J"
    bare(cluster)
    table = doctor(status=2, env={"NO_COLOR": "1"}).stdout
    assert "\x1b" not in table
    lines = table.splitlines()
    assert lines[0] == "error    controller-permissions   it may not patch nodes"
    assert lines[1].startswith("         why:  ") and lines[2].startswith("         mend: kubectl ")
    assert "kubectl -n kube-system logs deploy/plimsoll-controller" in table
    assert lines[-1].endswith("0 unknown, 1 warnings, 2 errors")
    doctor("--fail-on=error", status=2)


def test_warnings_that_fail_nothing(cluster, doctor):
    bare(cluster)
    doctor(status=1)
    assert "1 warnings" in doctor("--fail-on=error", status=0).stdout


def test_flags(cluster, doctor, tmp_path):
    assert "no Deployment plimsoll-extender in elsewhere" in doctor("-n", "elsewhere").stdout
    path = TOP / "deploy" / "scheduler" / "config-http.yaml"
    cluster.objects[f"{SYSTEM}/configmaps"] = []
    found = findings(doctor("-ojson", status=0))
    assert {key for key, row in found.items() if row[0] == "unknown"} == {
        f"scheduler-{what}"
        for what in "registered ignorable timeout weight names verbs sampling batching".split()
    }
    assert findings(doctor("-ojson", f"--scheduler-config={path}", status=0)) == {}
    bad = tmp_path / "bad.yaml"
    bad.write_text("kind: Pod\n")
    done = doctor(f"--scheduler-config={bad}", status=2)
    assert "bad.yaml: no KubeSchedulerConfiguration" in done.stderr
    cluster.objects.pop("/version")
    assert doctor(status=2).stderr.startswith("kubectl plimsoll doctor: GET /version: 404")


def test_the_page(cluster, doctor, binary):
    """docs/kubectl-plugin.md has a row for every check, and its commands run."""
    page_text = (TOP / "docs" / "kubectl-plugin.md").read_text("utf-8")
    ids = {row["id"] for row in json.loads(doctor("-o", "json").stdout)["checks"]}
    rows = page_text.partition("<!-- checks -->")[2].partition("\n\n## ")[0].splitlines()
    named = [name for row in rows for name in re.findall(r"`([a-z-]+)`", row.split(" | ")[0])]
    assert sorted(named) == sorted(ids)
    program = binary("kubectl-plimsoll")
    commands = f'kubectl() {{ shift; {program} "$@"; }}\n' + block(
        "docs/kubectl-plugin.md", "doctor"
    )
    env = {**os.environ, "PLIMSOLL_SERVER": cluster.url}
    subprocess.run(["bash", "-euc", commands], env=env, stdout=subprocess.DEVNULL, check=True)
    deny("plimsoll-controller", "patch", "nodes")(cluster)
    bare(cluster)
    assert doctor(status=2).stdout == block("docs/kubectl-plugin.md", "doctor-picture")
