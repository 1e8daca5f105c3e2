"""kubectl plimsoll doctor, of an installation as deploy/ makes it; tests/unit/cli/doctor/test_doctor_faults.c has the
faults."""

import json
import re
import time

import pytest

from pages import TOP, block, run_commands
from paper_cluster import (
    DEPLOYMENTS,
    EXTENDERS,
    POLICY_PATH,
    SYSTEM,
    PaperCluster,
    scheduler_config,
)
from policies import ago
from programs import complete

REFUSED = ('resource="nodes"} 0', 'resource="nodes"} 1')


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
        """With a sound configuration of the scheduler, unless there is another one."""
        if not any("--scheduler-config" in flag for flag in flags):
            flags, more = ("--scheduler-config=-", *flags), {"input": scheduler_config(), **more}
        done = plimsoll("doctor", *flags, status=None, **more)
        assert status in (None, done.returncode), done.stdout + done.stderr
        return done

    return call


def findings(done):
    """{id: (state, what)} of what is not ok."""
    rows = json.loads(done.stdout)["checks"]
    return {row["id"]: (row["state"], row["what"]) for row in rows if row["state"] != "ok"}


def one_replica(cluster):
    cluster.objects[f"{DEPLOYMENTS}/plimsoll-extender"]["spec"]["replicas"] = 1
    cluster.objects[f"{DEPLOYMENTS}/plimsoll-extender"]["status"]["readyReplicas"] = 1


def test_a_healthy_cluster(doctor):
    done = doctor("-o", "json", status=0)
    assert findings(done) == {}
    checks = json.loads(done.stdout)["checks"]
    assert len(checks) >= 25
    assert len({row["id"] for row in checks}) == len(checks)
    table = doctor(status=0).stdout
    assert table == f"{len(checks)} checks: {len(checks)} ok, 0 unknown, 0 warnings, 0 errors\n"
    assert len(doctor("-o", "wide", status=0).stdout.splitlines()) == len(checks) + 1


def test_a_cluster_without_plimsoll(cluster, doctor):
    cluster.objects = cluster.server.objects = {"/version": {"minor": "36"}}
    found = findings(doctor("-o", "json", status=2))
    assert set(found) == {"controller-replicas", "extender-replicas"}
    said = doctor("--plimsoll-namespace=elsewhere", status=2).stdout
    assert "no Deployment plimsoll-extender in the namespace elsewhere" in said


@pytest.mark.parametrize("status", [403, 500])
def test_what_cannot_be_known_is_no_fault(cluster, doctor, status):
    """An account that may see nothing but the version."""
    for path in cluster.objects:
        if path != "/version":
            cluster.objects[path] = status
    rows = json.loads(doctor("-o", "json", "--request-timeout=5s", status=0).stdout)["checks"]
    assert {row["state"] for row in rows} == {"ok", "unknown"}
    assert any(f"GET {POLICY_PATH}: {status}" in row["what"] for row in rows)


def test_a_program_that_hangs(cluster, doctor):
    """It is not unknown, also if the other replica answers."""

    def hang(_):
        time.sleep(20)
        return 503

    cluster.objects[f"{SYSTEM}/pods/{EXTENDERS[0]}:8010/proxy/metrics"] = hang
    found = findings(doctor("-o", "json", "--request-timeout=1s", status=1))
    assert set(found) == {"metrics-pages"}
    assert f"{EXTENDERS[0]} does not answer: " in found["metrics-pages"][1]


def test_table(cluster, doctor):
    cluster.page(*REFUSED)
    table = doctor(status=2, env={"NO_COLOR": "1"}).stdout
    lines = table.splitlines()
    assert lines[0] == "error    controller-permissions   the API server refuses PATCH nodes"
    assert lines[1].startswith("         why:  ") and lines[2].startswith("         fix:  kubectl ")
    assert lines[-1].endswith("0 unknown, 0 warnings, 2 errors")
    doctor("--fail-on=error", status=2)


def test_waiting(cluster, doctor, run, binary):
    """It looks again until nothing is wrong any more, and not forever."""
    cluster.page(*REFUSED, names=["plimsoll-controller-1"])
    done = doctor("--wait=1s", status=2)
    assert done.stderr == "waiting for another 0 s: " + done.stdout.splitlines()[-1] + "\n"
    bad = doctor("--wait=1h", "--scheduler-config=/none", status=2)
    assert bad.stderr.startswith("kubectl plimsoll doctor: /none: ")
    version = cluster.objects.pop("/version")
    argv = [binary("kubectl-plimsoll"), "doctor", "--wait=1h", f"--server={cluster.url}"]
    process = run(argv, "doctor", {"HOME": "/proc/none", "KUBECONFIG": ""})
    process.wait_log(r"^waiting for another 3\d\d\d s: GET /version: 404")
    cluster.objects["/version"] = version
    cluster.page(*reversed(REFUSED))
    assert process.wait_exit() == 0


def test_warnings_that_fail_nothing(cluster, doctor):
    one_replica(cluster)
    doctor(status=1)
    assert "1 warning," in doctor("--fail-on=error", status=0).stdout


def test_the_configuration_of_the_scheduler(doctor, plimsoll, tmp_path):
    found = findings(plimsoll("doctor", "-ojson", status=None))
    why = "name kube-scheduler's configuration with --scheduler-config=FILE"
    assert found == {"scheduler-registered": ("unknown", why)}
    path = tmp_path / "scheduler.yaml"
    path.write_text((TOP / "deploy" / "scheduler" / "config-http.yaml").read_text("utf-8"))
    found = findings(doctor("-ojson", f"--scheduler-config={path}", status=2))
    why = "urlPrefix has the placeholder CLUSTER_IP instead of the Service's address"
    assert found == {"scheduler-registered": ("error", why)}


def test_a_start(cluster, doctor):
    """What is usual in the first minutes of a controller is no status that scripts take for success."""
    for pod in cluster.objects[f"{SYSTEM}/pods"]:
        if "controller" in pod["metadata"]["name"]:
            pod["metadata"]["creationTimestamp"] = ago(25)
    cluster.objects[f"{DEPLOYMENTS}/plimsoll-controller"]["status"]["readyReplicas"] = 0
    said = doctor(status=2).stdout
    assert said.startswith(block("docs/kubectl/doctor.md", "doctor-start"))
    assert said.endswith(" 0 warnings, 0 errors, 1 wait\n")
    assert "waiting for another" in doctor("--fail-on=error", "--wait=5s", status=2).stderr


def test_flags_are_the_programs():
    """The flags and metrics that doctor looks at are those of the programs."""
    sources = [path.read_text("utf-8") for path in (TOP / "cli" / "doctor").glob("*.c")]
    found = re.findall(r'doctor_flag\w*\(\s*&?[\w>-]+,\s+"([a-z-]+)"', "".join(sources))
    programs = ("plimsoll-controller", "plimsoll-extender")
    text = "".join(complete(name, "--check-config").stdout for name in programs)
    assert len(set(found)) >= 3
    assert not {name for name in found if f"\n{name}=" not in text}
    metrics = set(re.findall(r'"(plimsoll_[a-z_]+)"', "".join(sources)))
    pages = (TOP / folder / "README.md" for folder in ("controller", "extender"))
    page = "".join(path.read_text("utf-8") for path in pages)
    assert len(metrics) >= 12
    without_tls = {name for name in metrics if not name.startswith("plimsoll_tls_")}
    assert not {name for name in without_tls if f"`{name.removesuffix('_bucket')}`" not in page}


def test_the_page(cluster, doctor):
    """docs/kubectl/doctor.md has a row for every check."""
    cluster.spec()["idle"] = {}
    cluster.objects["/apis/plimsoll.io/v1alpha1"] = {}
    cluster.objects["/api/v1/namespaces"] = []
    page_text = (TOP / "docs/kubectl/doctor.md").read_text("utf-8")
    ids = {row["id"] for row in json.loads(doctor("-o", "json").stdout)["checks"]}
    rows = page_text.partition("<!-- checks -->")[2].partition("\n\n## ")[0].splitlines()
    cells = [row.split(" | ")[0] for row in rows if row.startswith("| `")]
    named = [name for cell in cells for name in re.findall(r"`([a-z-]+)`", cell)]
    assert sorted(named) == sorted(ids)


def test_the_commands(cluster):
    env = {"PLIMSOLL_SERVER": cluster.url}
    run_commands(block("docs/kubectl/doctor.md", "doctor"), env=env)


def test_the_picture(cluster, doctor):
    cluster.page(*REFUSED, names=["plimsoll-controller-1"])
    one_replica(cluster)
    shown = doctor(status=2).stdout
    assert sorted(shown.splitlines()) == sorted(
        block("docs/kubectl/doctor.md", "doctor-picture").splitlines()
    )
