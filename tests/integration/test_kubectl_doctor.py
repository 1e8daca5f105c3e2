"""kubectl plimsoll doctor, of an installation as deploy/ makes it; tests/unit/cli/doctor/test_doctor_faults.c has the
faults."""

import json
import re

import pytest

from pages import TOP, block, run_commands
from paper_cluster import (
    CLUSTER_IP,
    CONTROLLERS,
    DEPLOYMENTS,
    POLICY_PATH,
    REVIEWS_PATH,
    SYSTEM,
    PaperCluster,
)
from policies import IDLE, ago
from programs import complete


@pytest.fixture(scope="module")
def version():
    return complete("kubectl-plimsoll", "--version").stdout.split()[-1]


@pytest.fixture
def cluster(version):
    paper = PaperCluster(version)
    yield paper
    paper.close()


@pytest.fixture
def doctor(plimsoll):
    def call(*flags, status=None, **more):
        done = plimsoll("doctor", *flags, status=None, **more)
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


def configuration(old, new=""):
    return lambda cluster: cluster.configuration(old, new)


def bare(cluster):
    cluster.nodes()[1]["metadata"].pop("annotations")


def idle(cluster):
    """All that is about idle CPU, with a node that is not read, and a pod that requests both."""
    cluster.spec()["idle"] = {}
    offer = {IDLE: "4k"}
    for item in cluster.nodes()[2:]:
        item["status"].update(capacity=offer, allocatable=offer)
    cluster.nodes()[3]["status"].update(allocatable={IDLE: "0"})
    resources = {"requests": {IDLE: "2k", "cpu": "1"}}
    cluster.objects["/api/v1/pods"] = [
        {
            "metadata": {"name": "batch-0", "namespace": "shop"},
            "spec": {"containers": [{"resources": resources}]},
        }
    ]


def test_nodes_that_the_controller_does_not_follow(cluster, doctor):
    """They need no annotations, and offer nothing; those that it follows do."""
    cluster.flag("node-selector", '"pool in (a,b)"')
    some = "/api/v1/nodes?labelSelector=pool%20in%20%28a%2Cb%29&limit=500"
    nodes = cluster.nodes()
    unreadable = {"metadata": {"name": "node-0"}, "odd": 10**400}
    cluster.objects[some] = [unreadable, {"metadata": {}}, *nodes[2:]]
    for item in nodes[:2]:
        item["metadata"]["annotations"] = {}
    assert findings(doctor("-o", "json", status=0)) == {}
    idle(cluster)
    nodes[3]["status"].update(allocatable={IDLE: "4k"})
    assert set(findings(doctor("-o", "json", status=1))) == {"idle-pods", "idle-source"}
    cluster.spec().pop("idle")
    for item in nodes[2:]:
        item["status"].pop("capacity")
        item["status"].pop("allocatable")
    cluster.objects[some] = nodes[1:]
    found = findings(doctor("-o", "json", status=1))
    assert set(found) == {"annotations"} and found["annotations"][1].endswith("policy: node-1")
    for item in nodes:
        item["metadata"]["annotations"] = {}
    found = findings(doctor("-o", "json", status=2))
    assert set(found) == {"annotations"} and "3 of 3 nodes" in found["annotations"][1]
    cluster.objects[some] = 403
    assert findings(doctor("-o", "json", status=0))["annotations"][0] == "unknown"


def test_a_cluster_without_plimsoll(cluster, doctor):
    cluster.objects = cluster.server.objects = {"/version": {"minor": "36"}, "/api/v1/nodes": []}
    found = findings(doctor("-o", "json", status=2))
    assert {key for key, (state, _) in found.items() if state == "error"} == {
        "controller",
        "extender",
    }
    assert found["policy-definition"][0] == "warning"
    assert found["extender-called"] == ("unknown", "no pod of the program runs in the namespace")


def test_a_fact_that_is_no_fault(cluster, doctor):
    fact = "scheduler-batching       an extender disables opportunistic batching\n"
    assert fact in doctor("-owide", status=0).stdout
    put("/version", "minor", to="34")(cluster)
    assert fact not in doctor("-owide", status=0).stdout


@pytest.mark.parametrize("status", [403, 500])
def test_what_cannot_be_known_is_no_fault(cluster, doctor, status):
    """An account that may see nothing but the version; a server that fails, also when it is asked
    again."""
    for path in cluster.objects:
        if path != "/version" and (status == 403 or f"{CONTROLLERS[0]}:" in path):
            cluster.objects[path] = status
    cluster.objects[REVIEWS_PATH] = status
    found = findings(doctor("-o", "json", "--request-timeout=5s", status=0))
    assert {state for state, _ in found.values()} == {"unknown"}
    for check in ["metrics-pages"] if status == 500 else ["annotations", "scheduler-registered"]:
        assert str(status) in found[check][1]
    assert f"POST {REVIEWS_PATH}: {status}" in found["controller-permissions"][1]


def test_table(cluster, doctor):
    configuration("ignorable: true")(cluster)
    deny("plimsoll-controller", "patch", "nodes")(cluster)
    cluster.nodes()[0]["metadata"]["name"] = "\x1b[2J"
    bare(cluster)
    table = doctor(status=2, env={"NO_COLOR": "1"}).stdout
    assert "\x1b" not in table and "@NS" not in table
    lines = table.splitlines()
    assert lines[0] == "error    controller-permissions   it may not patch nodes"
    assert lines[1].startswith("         why:  ") and lines[2].startswith("         fix:  kubectl ")
    assert "kubectl -n kube-system logs deploy/plimsoll-controller" in table
    assert lines[-1].endswith("0 unknown, 1 warning, 2 errors")
    doctor("--fail-on=error", status=2)


def test_waiting(cluster, doctor, run, binary):
    """It looks again until nothing is wrong any more, and not forever."""
    deny("plimsoll-controller", "patch", "nodes")(cluster)
    done = doctor("--wait=1s", status=2)
    assert done.stderr == "waiting for another 0 s: controller-permissions\n"
    assert "it may not patch nodes" in done.stdout
    template = (TOP / "deploy" / "scheduler" / "config-http.yaml").read_text("utf-8")
    config = template.replace("CLUSTER_IP", CLUSTER_IP)
    done = doctor("-ojson", "--wait=1s", "--scheduler-config=-", input=config, status=2)
    assert findings(done).keys() == {"controller-permissions"}
    bad = doctor("--wait=1h", "--scheduler-config=/none", status=2)
    assert bad.stderr.startswith("kubectl plimsoll doctor: /none: ")
    version = cluster.objects.pop("/version")
    argv = [binary("kubectl-plimsoll"), "doctor", "--wait=1h", f"--server={cluster.url}"]
    process = run(argv, "doctor", {"HOME": "/proc/none", "KUBECONFIG": ""})
    process.wait_log(r"^waiting for another 3\d\d\d s: GET /version: 404")
    cluster.objects["/version"] = version
    cluster.denied.clear()
    assert process.wait_exit() == 0


def test_warnings_that_fail_nothing(cluster, doctor):
    bare(cluster)
    doctor(status=1)
    assert "1 warning," in doctor("--fail-on=error", status=0).stdout


def test_flags(cluster, doctor, tmp_path):
    assert (
        "no Deployment plimsoll-extender in elsewhere"
        in doctor("--plimsoll-namespace=elsewhere").stdout
    )
    template = (TOP / "deploy" / "scheduler" / "config-http.yaml").read_text("utf-8")
    path = tmp_path / "scheduler.yaml"
    path.write_text(template.replace("CLUSTER_IP", CLUSTER_IP))
    cluster.objects[f"{SYSTEM}/configmaps"] = []
    found = findings(doctor("-ojson", status=0))
    assert {key for key, row in found.items() if row[0] == "unknown"} == {
        f"scheduler-{what}"
        for what in (
            "registered url ignorable timeout weight names verbs fields resources bind sampling batching"
        ).split()
    }
    assert findings(doctor("-ojson", f"--scheduler-config={path}", status=0)) == {}
    path.write_text(template)
    why = f"{path}: urlPrefix has the placeholder CLUSTER_IP instead of the Service's address"
    found = findings(doctor("-ojson", f"--scheduler-config={path}", status=2))
    assert found == {"scheduler-url": ("error", why)}


def test_a_start(cluster, doctor):
    """What is usual in the first minutes of a controller is one row, and no status that scripts take for success."""
    for pod in cluster.objects[f"{SYSTEM}/pods"]:
        if "controller" in pod["metadata"]["name"]:
            pod["metadata"]["creationTimestamp"] = ago(25)
    put(f"{DEPLOYMENTS}/plimsoll-controller", "status", "readyReplicas", to=0)(cluster)
    put(POLICY_PATH, "status", to={})(cluster)
    cluster.page("plimsoll_leader 1", "plimsoll_leader 0")
    for node in cluster.nodes():
        node["metadata"].pop("annotations")
    said = re.sub(r"\d+ s ago", "25 s ago", doctor(status=2).stdout)
    count = len(json.loads(doctor("-o", "json").stdout)["checks"])
    last = f"{count} checks: {count - 4} ok, 0 unknown, 0 warnings, 0 errors, 4 wait\n"
    assert said == block("docs/kubectl/doctor.md", "doctor-start") + last
    assert "waiting for another" in doctor("--fail-on=error", "--wait=5s", status=2).stderr


def test_flags_are_the_programs():
    """The flags that doctor looks at are on the programs' pages."""
    sources = [path.read_text("utf-8") for path in (TOP / "cli" / "doctor").glob("*.c")]
    found = re.findall(r'doctor_flag\w*\(\s*&?[\w>-]+,\s+"([a-z-]+)"', "".join(sources))
    programs = ("plimsoll-controller", "plimsoll-extender")
    text = "".join(complete(name, "--check-config").stdout for name in programs)
    assert len(set(found)) >= 12
    assert not {name for name in found if f"\n{name}=" not in text}


def test_the_page(cluster, doctor):
    """docs/kubectl/doctor.md has a row for every check, and its commands run."""
    page_text = (TOP / "docs/kubectl/doctor.md").read_text("utf-8")
    ids = {row["id"] for row in json.loads(doctor("-o", "json").stdout)["checks"]}
    rows = page_text.partition("<!-- checks -->")[2].partition("\n\n## ")[0].splitlines()
    named = [name for row in rows for name in re.findall(r"`([a-z-]+)`", row.split(" | ")[0])]
    assert sorted(named) == sorted(ids)
    env = {"PLIMSOLL_SERVER": cluster.url}
    run_commands(block("docs/kubectl/doctor.md", "doctor"), env=env)
    deny("plimsoll-controller", "patch", "nodes")(cluster)
    bare(cluster)
    assert doctor(status=2).stdout == block("docs/kubectl/doctor.md", "doctor-picture")
