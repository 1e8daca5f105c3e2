"""`workloads`: what is measured of workloads, what they should request, and why nothing is known."""

import json

import pytest
import yaml

from pages import block, run_commands
from paper_cluster import SYSTEM
from policies import ago
from terminal import on_terminal

MAPS = f"{SYSTEM}/configmaps/plimsoll-workloads"
AUTOSCALERS = "/apis/autoscaling/v2/horizontalpodautoscalers"
MIB = 2**20


def line(name, pods, cpu, mem, since="2026-07-20T07:00:00Z", guaranteed=0):
    """@cpu, @mem: request, mean, 95% quantile and maximum; in cores and MiB."""
    keys = ("request", "mean", "p95", "max")
    loads = [f"{key}={c}/{m * MIB:.0f}" for key, c, m in zip(keys, cpu, mem, strict=True)]
    times = f"since={since} seen={since} weight=9 cpu=1:9 mem=1:9 later=1"
    return f"{name} pods={pods} guaranteed={guaranteed} {' '.join(loads)} {times}"


WEB = line("shop/ReplicaSet/web", 12, (0.5, 0.11, 0.17, 0.31), (512, 192, 205, 219))
DB = line("shop/StatefulSet/db", 3, (2, 1.62, 1.9, 2.4), (4096, 3000, 3100, 3200), guaranteed=1)
IMPORT = line("etl/Job/import", 0, (0, 0.8, 0.9, 1), (0, 64, 90, 100))
REPORT = line("batch/Job/report", 40, (0.1, 0.35, 0.4, 0.5), (256, 20, 30, 40))
NAMES = ["web", "db", "import", "report"]


def maps(*lines, shards="1", number=0):
    suffix = f"-{number}" if number else ""
    return {MAPS + suffix: {"data": {"shards": shards, "workloads": "\n".join(lines) + "\n"}}}


def autoscaler(kind, name, namespace="shop"):
    target = {"kind": kind, "name": name}
    return {"metadata": {"namespace": namespace, "name": name}, "spec": {"scaleTargetRef": target}}


@pytest.fixture
def workloads(cluster, plimsoll):
    cluster.objects |= maps(IMPORT, WEB, REPORT, DB)
    cluster.objects[AUTOSCALERS] = [autoscaler("Deployment", "web")]

    def call(*flags):
        return json.loads(plimsoll("workloads", "-ojson", *flags))

    return call


def names(shown):
    return [row["workload"].split("/")[-1] for row in shown["workloads"]]


def test_workloads(workloads, plimsoll):
    shown = workloads()
    assert yaml.safe_load(plimsoll("workloads", "-oyaml")) == shown
    assert shown["summary"] == {"workloads": 4, "malformed": 0}
    assert shown["whyNoAutoscalers"] is None
    first = shown["workloads"][0]
    cpu, mem = first.pop("cpuCores"), first.pop("memoryBytes")
    assert cpu == {"request": 0.5, "mean": 0.11, "p95": 0.17, "max": 0.31, "wanted": 0.17}
    assert (mem["request"], mem["wanted"]) == (512 * MIB, pytest.approx(219 * MIB * 1.15))
    assert first == {
        "workload": "shop/ReplicaSet/web",
        "pods": 12,
        "guaranteed": False,
        "autoscaled": True,
        "since": "2026-07-20T07:00:00Z",
        "seen": "2026-07-20T07:00:00Z",
    }
    assert [row["guaranteed"] for row in shown["workloads"]] == [False, True, False, False]


def test_order(workloads, plimsoll):
    """First what requests most that is not needed, by all of its pods."""
    orders = {
        "cpu": NAMES,
        "mem": ["report", "web", "db", "import"],
        "name": ["report", "import", "web", "db"],
        "pods": ["report", "web", "db", "import"],
        "since": ["report", "import", "web", "db"],
    }
    for key, wanted in orders.items():
        assert names(workloads(f"--sort-by={key}")) == wanted, key
    some = workloads("--limit=2")
    assert names(some) == NAMES[:2] and some["summary"]["workloads"] == 4
    assert "--sort-by: 'size': expected " in plimsoll("workloads", "--sort-by=size", status=2)
    assert "'web': expected nothing but flags" in plimsoll("workloads", "web", status=2)


def test_a_namespace(cluster, workloads, plimsoll):
    """Its autoscalers are enough."""
    del cluster.objects[AUTOSCALERS]
    cluster.objects["/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"] = [
        autoscaler("Deployment", "web")
    ]
    shown = workloads("-n", "shop")
    assert names(shown) == ["web", "db"] and shown["workloads"][0]["autoscaled"]
    assert workloads("-n", "sho")["workloads"] == []
    none = plimsoll("workloads", "-n", "none", status=None)
    assert "namespace none is measured; leave out -n for all\n" in none.stderr
    assert none.returncode == 0


@pytest.mark.parametrize(
    "found, marked",
    [
        (autoscaler("Rollout", "web"), {"web"}),
        (autoscaler("StatefulSet", "db"), {"db"}),
        (autoscaler("StatefulSet", "web"), set()),
        (autoscaler("Deployment", "web", namespace="other"), set()),
        ({"metadata": 3, "spec": {"scaleTargetRef": 3}}, set()),
        (autoscaler(None, "web"), set()),
        (autoscaler("Deployment", None), set()),
        (autoscaler("Deployment", "\ud800"), set()),
    ],
)
def test_autoscalers(cluster, workloads, found, marked):
    cluster.objects[AUTOSCALERS] = [found]
    rows = workloads()["workloads"]
    assert {row["workload"].split("/")[-1] for row in rows if row["autoscaled"]} == marked


def test_autoscalers_that_cannot_be_read(cluster, workloads, plimsoll):
    cluster.objects[AUTOSCALERS] = 403
    assert "HPAs are not marked: GET /apis/autoscaling/v2/" in plimsoll("workloads")
    assert "403" in workloads()["whyNoAutoscalers"]


def test_a_narrow_terminal(cluster, workloads, binary):
    argv = [binary("kubectl-plimsoll"), "workloads", "-s", cluster.url]
    shown = on_terminal(argv, env={"KUBECONFIG": "", "HOME": "/proc/none"})
    assert "\r\n4 more columns with -o wide\r\n" in shown and "SINCE" not in shown


def test_notes(cluster, workloads, plimsoll):
    rows = {row.split()[0]: row for row in plimsoll("workloads").splitlines() if "/" in row}
    assert rows["shop/ReplicaSet/web"].endswith("2026-07-20T07:00Z  HPA")
    assert rows["shop/StatefulSet/db"].endswith("  Guaranteed")
    cluster.objects |= maps(line("a/b/new", 1, [1] * 4, [1] * 4, since=ago(3600)))
    shown = plimsoll("workloads")
    assert shown.splitlines()[1].endswith("  new")
    assert "Guaranteed: " not in shown and "HPA: " not in shown


def test_several_config_maps(cluster, workloads):
    """As many as the first one says; one that is not there yet is no error."""
    cluster.objects |= maps(WEB, shards="3") | maps(DB, number=2) | maps(REPORT, number=3)
    assert names(workloads()) == ["web", "db"]
    for shards in ("0", "x", "-1", 3):
        cluster.objects |= maps(WEB, shards=shards)
        assert names(workloads()) == ["web"]
    cluster.objects |= maps(WEB, shards="99999999999999999999")
    cluster.objects |= maps(WEB, shards="99")
    assert names(workloads()) == ["web", "db", "report"]


def test_hostile_config_maps(cluster, workloads, plimsoll):
    bad = ["", "\x1b[2J/x/y mean=1/1", "a/b/c", "a/b/c pods=-1 mean=1/1", "a/b/c mean=1e300/1"]
    cluster.objects |= maps(*bad, WEB, "x" * 5000)
    assert names(workloads()) == ["web"]
    shown = plimsoll("workloads")
    assert "1 of 1 measured workload, and 6 lines that cannot be read; by" in shown
    assert "\x1b" not in shown
    many = [line(f"a/b/{'c' * 99}{n:03}", 1, [1] * 4, [1] * 4) for n in range(200)]
    cluster.objects |= maps(*many)
    assert len(workloads()["workloads"]) == 200
    assert "c" * 99 not in plimsoll("workloads")
    assert plimsoll("workloads", "-owide").count("c" * 99) == 200
    cluster.objects[MAPS] = "["
    assert MAPS in plimsoll("workloads", status=2)


@pytest.mark.parametrize("found", [{}, {MAPS: {}}, maps(), maps("bad")])
def test_nothing_is_measured(cluster, plimsoll, found):
    cluster.objects |= found
    said = plimsoll("workloads", status=2)
    assert "nothing is measured: the policy must have scoring: estimate" in said


def test_config_maps_that_cannot_be_read(cluster, plimsoll):
    cluster.objects[MAPS] = 403
    said = plimsoll("workloads", status=2)
    assert f"GET {MAPS}: 403" in said and "nothing is measured" not in said


def test_the_page(cluster, workloads):
    """Its commands run, and its picture is what they print."""
    picture = block("docs/kubectl/workloads.md", "workloads-picture")
    shown = run_commands(block("docs/kubectl/workloads.md", "workloads"), f"-s {cluster.url}")
    assert shown.startswith(picture)
