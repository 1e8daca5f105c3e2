"""The controller as it runs: synthetic nodes in a stand-in API server, synthetic exporters on them,
and the real node_exporter once."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from harness import SANITIZER_ENV, OwnMetrics, fetch, wait_until
from standin import certs

# Short periods, so that a test sees several syncs.
QUICK_POLICY = """
apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy:
  - {name: cpu_usage_avg_5m, period: 2s}
  - {name: mem_usage_avg_5m, period: 2s}
  - {name: cpu_usage_max_avg_1h, period: 6s}
  hotValue:
  - {timeRange: 5m, count: 2}
"""

# Two scrapes a second apart: the kernel's counters have hundredths of a second.
CLOSE = 0.04

STAMP = re.compile(r"^\d\.\d{5},\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")


@pytest.fixture
def quick_policy(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(QUICK_POLICY)
    return path


@pytest.fixture
def controller(run, binary):
    """Start one against a stand-in and exporters; more arguments at will."""

    def start(standin, exporters, *arguments, name="controller", **more):
        return run(
            [
                binary("plimsoll-controller"),
                f"--kubeconfig={standin.kubeconfig}",
                f"--node-exporter-port={exporters.port}",
                "--scrape-interval=1s",
                "--bind-address=127.0.0.1",
                "--health-port=0",
                *arguments,
            ],
            name,
            **more,
        )

    return start


def ratio(standin, node, key):
    text = standin.annotations(node).get(key)
    return None if text is None else float(text.split(",")[0])


def metric(process, name):
    """The sum over a family's series."""
    return OwnMetrics(fetch(f"http://127.0.0.1:{process.wait_port()}/metrics").text).total(name)


def ready(process):
    return fetch(f"http://127.0.0.1:{process.wait_port()}/readyz?verbose")


def once(binary, *arguments):
    """Run to the end: status, stdout, stderr."""
    done = subprocess.run(
        [binary("plimsoll-controller"), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **SANITIZER_ENV},
        check=False,
    )
    assert "Sanitizer" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_annotations_say_what_the_exporters_measured(controller, start_standin, exporters):
    standin = start_standin("--nodes", 3)
    exporters.set(["127.1.0.1"], load={"cpu": 0.75, "mem": 0.5})
    exporters.set(["127.1.0.2"], load={"cpu": 0.10, "mem": 0.9})
    process = controller(standin, exporters)
    for node, cpu, mem in (("node-0000", 0.75, 0.5), ("node-0001", 0.10, 0.9)):
        wait_until(lambda n=node: ratio(standin, n, "cpu_usage_avg_5m"), what="the first window")
        annotations = standin.annotations(node)
        for key in ("avg_5m", "max_avg_1h", "max_avg_1d"):
            assert STAMP.match(annotations[f"cpu_usage_{key}"])
            assert ratio(standin, node, f"cpu_usage_{key}") == pytest.approx(cpu, abs=CLOSE)
            assert ratio(standin, node, f"mem_usage_{key}") == pytest.approx(mem, abs=CLOSE)
        assert annotations["node_hot_value"].startswith("0,")
    wait_until(lambda: ready(process).status == 200, what="readiness")
    # One patch carried all seven keys, and asked for only the collectors that are needed.
    assert len(standin.patches(name="node-0000")) == 1
    assert exporters.scrapes("127.1.0.1")[-1][2] == "cpu,meminfo"
    assert metric(process, "plimsoll_patch_keys_total") == 7 * metric(
        process, "plimsoll_patches_total"
    )


def test_node_selector_prefix_and_removal(controller, start_standin, exporters):
    standin = start_standin()
    standin.add_nodes(1, prefix="wanted-", labels={"load": "yes"})
    standin.add_nodes(1, prefix="other-", first_address="127.2.0.1")
    process = controller(
        standin, exporters, "--node-selector=load=yes", "--annotation-prefix=load.example.com"
    )
    name = standin.get("/api/v1/nodes?labelSelector=load%3Dyes")["items"][0]["metadata"]["name"]
    wait_until(
        lambda: "load.example.com/cpu_usage_avg_5m" in standin.annotations(name), what="windows"
    )
    assert "cpu_usage_avg_5m" not in standin.annotations(name)
    assert metric(process, "plimsoll_nodes") == 1
    standin.admin("delete", {"resource": "nodes", "names": [name]})
    wait_until(lambda: metric(process, "plimsoll_nodes") == 0, what="the node to be forgotten")


def test_killed_at_any_time_the_peaks_stay(controller, start_standin, exporters, quick_policy):
    standin = start_standin("--nodes", 2)
    exporters.set("all", load={"cpu": 0.2})
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 1200))
    standin.patch(
        "/api/v1/nodes/node-0000",
        {"metadata": {"annotations": {"cpu_usage_max_avg_1h": f"0.91000,{stamp}"}}},
    )
    # A percentage of another program, and nonsense: neither is a peak.
    standin.patch(
        "/api/v1/nodes/node-0001",
        {"metadata": {"annotations": {"cpu_usage_max_avg_1h": f"34.2,{stamp}"}}},
    )
    for round_number in range(3):
        process = controller(
            standin,
            exporters,
            f"--policy-config-path={quick_policy}",
            name=f"controller-{round_number}",
        )
        before = len(standin.patches(name="node-0000"))
        wait_until(lambda b=before: len(standin.patches(name="node-0000")) > b + 1, what="patches")
        assert ratio(standin, "node-0000", "cpu_usage_max_avg_1h") == pytest.approx(0.91, abs=1e-4)
        process.kill()
    assert ratio(standin, "node-0001", "cpu_usage_max_avg_1h") == pytest.approx(0.2, abs=CLOSE)


TROUBLES = [
    ("hang", {}),
    ("mute", {}),
    ("rst", {}),
    ("close", {}),
    ("drip", {}),
    ("cut", {"bytes": 700}),
    ("cut", {"bytes": 700, "reset": True}),
    ("garbage", {"mebibytes": 16}),
    ("garbage", {"mebibytes": 16, "form": "series"}),
    ("values", {"value": "NaN"}),
    ("values", {"value": "-1"}),
    ("values", {"value": "1e999"}),
    ("missing", {"family": "node_cpu_seconds_total"}),
    ("status", {"code": 500}),
    ("redirect", {}),
    ("gzip_bomb", {"mebibytes": 64}),
    ("html", {}),
    ("empty", {}),
    ("not_http", {}),
    ("headers", {}),
    ("stuck", {}),
]


def test_whatever_exporters_do_the_others_stay_fresh(controller, start_standin, exporters):
    standin = start_standin("--nodes", len(TROUBLES) + 3)
    exporters.set("all", load={"cpu": 0.3})
    for i, (kind, more) in enumerate(TROUBLES):
        exporters.trouble([f"127.1.0.{i + 1}"], kind, **more)
    process = controller(standin, exporters, "--scrape-timeout=800ms")
    well = [f"127.1.0.{len(TROUBLES) + 1 + i}" for i in range(3)]
    wait_until(lambda: all(len(exporters.scrapes(t)) >= 12 for t in well), what="scrapes")
    for target in well:
        times = [row[0] for row in exporters.scrapes(target)]
        # A scrape a second; the machine may be busy with other tests.
        assert max(b - a for a, b in zip(times, times[1:])) < 3
    for i in range(3):
        node = f"node-{len(TROUBLES) + i:04}"
        assert ratio(standin, node, "cpu_usage_avg_5m") == pytest.approx(0.3, abs=CLOSE)
    for i, (kind, _) in enumerate(TROUBLES):
        cpu = ratio(standin, f"node-{i:04}", "cpu_usage_avg_5m")
        assert cpu is None, f"{kind}: {cpu}"
    # Well again, all of them.
    exporters.well()
    wait_until(
        lambda: all(
            ratio(standin, f"node-{i:04}", "cpu_usage_avg_5m") is not None
            for i in range(len(TROUBLES))
        ),
        what="everybody's windows",
    )
    assert process.is_running()


def test_many_that_hang_do_not_delay_the_rest(controller, start_standin, exporters):
    """More of them than there are places for scrapes: only the first round may be felt."""
    standin = start_standin("--nodes", 620)
    exporters.trouble({"first": "127.1.0.1", "count": 600}, "hang")
    controller(standin, exporters, "--scrape-timeout=1s")
    last = [row["metadata"]["name"] for row in standin.get("/api/v1/nodes")["items"]][-20:]
    addresses = [
        next(
            a["address"]
            for a in standin.get(f"/api/v1/nodes/{name}")["status"]["addresses"]
            if a["type"] == "InternalIP"
        )
        for name in last
    ]
    wait_until(lambda: all(len(exporters.scrapes(a)) >= 15 for a in addresses), what="scrapes")
    for address in addresses:
        times = [row[0] for row in exporters.scrapes(address)][5:]
        assert max(b - a for a, b in zip(times, times[1:])) < 3


def test_an_exporter_with_a_collector_switched_off(controller, start_standin, exporters):
    standin = start_standin("--nodes", 1)
    exporters.set(["127.1.0.1"], disabled=["meminfo"], load={"cpu": 0.4})
    process = controller(standin, exporters)
    wait_until(lambda: ratio(standin, "node-0000", "cpu_usage_avg_5m"), what="the cpu window")
    statuses = [row[1] for row in exporters.scrapes("127.1.0.1")]
    assert statuses[0] == 400 and set(statuses[1:]) == {200}  # asked once, and remembered
    assert ratio(standin, "node-0000", "mem_usage_avg_5m") is None
    assert metric(process, "plimsoll_scrape_fallbacks_total") == 1


def test_hot_values_ride_along(controller, start_standin, exporters, quick_policy):
    standin = start_standin("--nodes", 2)
    controller(standin, exporters, f"--policy-config-path={quick_policy}")
    wait_until(lambda: ratio(standin, "node-0001", "node_hot_value") == 0, what="a first patch")
    standin.admin("pods", {"count": 5, "nodes": ["node-0001"], "phase": "Pending"})
    wait_until(lambda: ratio(standin, "node-0001", "node_hot_value") == 2, what="the hot value")
    assert ratio(standin, "node-0000", "node_hot_value") == 0


def test_reload(controller, start_standin, exporters, quick_policy):
    standin = start_standin("--nodes", 1)
    process = controller(standin, exporters, f"--policy-config-path={quick_policy}")
    wait_until(lambda: ratio(standin, "node-0000", "cpu_usage_avg_5m"), what="windows")
    quick_policy.write_text(QUICK_POLICY.replace("period: 2s", "period: soon"))
    process.wait_log(r"policy is not usable.*line \d+")
    assert metric(process, "plimsoll_policy_generation") == 1
    assert metric(process, "plimsoll_policy_failed") == 1
    assert ready(process).status == 200 and "not usable" in ready(process).text
    # Another file in its place, as the kubelet does it.
    other = quick_policy.with_suffix(".new")
    other.write_text(QUICK_POLICY.replace("cpu_usage_max_avg_1h", "load_usage_avg_5m"))
    other.rename(quick_policy)
    wait_until(lambda: ratio(standin, "node-0000", "load_usage_avg_5m"), what="the new metric")
    assert metric(process, "plimsoll_policy_generation") == 2
    assert metric(process, "plimsoll_policy_failed") == 0
    process.popen.send_signal(signal.SIGHUP)
    wait_until(lambda: metric(process, "plimsoll_policy_generation") == 3, what="SIGHUP")


def test_patches_that_fail_are_tried_again(controller, start_standin, exporters, quick_policy):
    standin = start_standin("--nodes", 2)
    standin.fault("status", verb="patch", status=403, count=-1, name="node-0000")
    process = controller(standin, exporters, f"--policy-config-path={quick_policy}")
    process.wait_log(r"node begins to fail.*what=patch.*node=node-0000.*reason=forbidden")
    wait_until(lambda: ratio(standin, "node-0001", "cpu_usage_avg_5m"), what="the other's windows")
    standin.clear_faults()
    wait_until(lambda: ratio(standin, "node-0000", "cpu_usage_avg_5m"), what="windows")
    process.wait_log(r"node has recovered.*what=patch")


def test_shutdown_waits_for_the_patch_under_way(controller, start_standin, exporters):
    standin = start_standin("--nodes", 1)
    standin.fault("delay", verb="patch", seconds=1.5)
    process = controller(standin, exporters)
    port = process.wait_port()
    wait_until(lambda: next(iter(standin.faults().values()))["hits"], what="the patch")
    process.popen.send_signal(signal.SIGTERM)
    assert fetch(f"http://127.0.0.1:{port}/readyz").status == 503
    assert process.wait_exit() == 0
    assert ratio(standin, "node-0000", "cpu_usage_avg_5m") is not None


def test_shutdown_does_not_wait_for_ever(controller, start_standin, exporters):
    standin = start_standin("--nodes", 1)
    standin.fault("hang", verb="patch", count=-1)
    process = controller(standin, exporters)
    wait_until(lambda: next(iter(standin.faults().values()))["hits"], what="the patch")
    began = time.monotonic()
    assert process.stop() == 0
    assert time.monotonic() - began < 15


def test_basic_auth_bearer_and_template(run, binary, start_exporters, tmp_path):
    (tmp_path / "password").write_text("s3cret\n")
    (tmp_path / "token").write_text("t0ken\n")
    basic = start_exporters("--basic-auth", "scraper:s3cret")
    bearer = start_exporters("--bearer-token", "t0ken")
    for exporters, arguments in (
        (
            basic,
            [
                "--node-exporter-username=scraper",
                f"--node-exporter-password-file={tmp_path}/password",
            ],
        ),
        (bearer, [f"--node-exporter-bearer-token-file={tmp_path}/token"]),
    ):
        target = f"--target=a=http://127.0.0.1:{exporters.port}/metrics"
        common = ["--dry-run", "--once", "--scrape-interval=1s", target]
        status, out, err = once(binary, *common, *arguments)
        assert status == 0, err
        status, out, err = once(binary, *common)
        assert status == 1 and "reason=unauthorized" in err
        assert "s3cret" not in out + err and "t0ken" not in out + err


def test_tls(binary, start_exporters, tmp_path):
    directory = str(tmp_path)
    certs.make(directory)
    exporters = start_exporters(
        "--tls-cert", f"{directory}/server.crt", "--tls-key", f"{directory}/server.key"
    )
    target = f"--target=a={exporters.url}/metrics"
    common = ["--dry-run", "--once", "--scrape-interval=1s", target]
    ca = f"--node-exporter-ca-file={directory}/ca.crt"
    assert once(binary, *common, ca)[0] == 0
    assert once(binary, *common, ca, "--node-exporter-server-name=kubernetes")[0] == 0
    assert once(binary, *common, "--node-exporter-insecure-skip-verify")[0] == 0
    for arguments in ([], [ca, "--node-exporter-server-name=elsewhere"]):
        status, _, err = once(binary, *common, *arguments)
        assert status == 1 and "reason=tls" in err


def test_floods_share_one_budget(controller, start_standin, exporters):
    standin = start_standin("--nodes", 44)
    exporters.trouble({"first": "127.1.0.1", "count": 40}, "garbage", mebibytes=16)
    process = controller(standin, exporters, "--scrape-interval=2s", "--scrape-timeout=2s")
    wait_until(lambda: metric(process, "plimsoll_scrapes_total") > 100, what="scrapes")
    wait_until(lambda: ratio(standin, "node-0043", "cpu_usage_avg_5m") is not None, 90, "windows")
    # 40 pages of 16 MiB would be 640; the budget is 32, and a sanitizer keeps what was freed.
    assert process.rss_kib() < 400 * 1024


def test_template(controller, start_standin, exporters):
    standin = start_standin("--nodes", 2)
    exporters.set(["node-0001"], load={"cpu": 0.6})
    controller(
        standin,
        exporters,
        "--target-url-template=http://127.0.0.1:{port}/node/{node}/metrics",
    )
    wait_until(lambda: ratio(standin, "node-0001", "cpu_usage_avg_5m"), what="windows")
    assert ratio(standin, "node-0001", "cpu_usage_avg_5m") == pytest.approx(0.6, abs=CLOSE)


def test_once_writes_and_ends(binary, start_standin, exporters):
    standin = start_standin("--nodes", 3)
    arguments = [
        f"--kubeconfig={standin.kubeconfig}",
        f"--node-exporter-port={exporters.port}",
        "--scrape-interval=1s",
        "--once",
    ]
    status, _, err = once(binary, *arguments, "--dry-run")
    assert status == 0, err
    assert standin.patches() == []
    status, _, err = once(binary, *arguments)
    assert status == 0, err
    assert all(ratio(standin, f"node-{i:04}", "cpu_usage_avg_5m") is not None for i in range(3))
    exporters.trouble(["127.1.0.2"], "close")
    assert once(binary, *arguments)[0] == 1
    exporters.well()
    standin.fault("status", verb="patch", status=403, count=1)
    assert once(binary, *arguments)[0] == 1


def test_dry_run_of_the_real_node_exporter(run, binary, real_node_exporter):
    status, out, err = once(
        binary,
        "--dry-run",
        "--once",
        "--scrape-interval=1s",
        "--output=json",
        f"--target=web-1={real_node_exporter}/metrics",
        "--target=gone=http://127.0.0.1:1/metrics",
    )
    assert status == 1 and "reason=connect" in err
    gone, web = [json.loads(line) for line in out.splitlines()]
    assert gone["node"] == "gone" and gone["annotations"] == {} and gone["failure"] == "connect"
    assert web["node"] == "web-1" and web["unusable"] == {}
    with open("/proc/meminfo", encoding="ascii") as file:
        memory = dict(re.findall(r"^(\w+):\s+(\d+)", file.read(), re.MULTILINE))
    used = 1 - int(memory["MemAvailable"]) / int(memory["MemTotal"])
    assert float(web["annotations"]["mem_usage_avg_5m"].split(",")[0]) == pytest.approx(
        used, abs=0.02
    )

    process = run(
        [
            binary("plimsoll-controller"),
            "--dry-run",
            "--scrape-interval=1s",
            f"--target=web-1={real_node_exporter}/metrics",
        ],
        "dry-run",
    )
    process.wait_log(r"^web-1 .*only one scrape so far")
    process.wait_log(r"^web-1 +\d+\.\d%.* ok$")


USAGE_ERRORS = [
    (["--no-such-option"], "no-such-option"),
    (["--scrape-interval=fast"], "scrape-interval"),
    (["--scrape-interval=1ms"], "scrape-interval"),
    (["--node-exporter-port=0"], "node-exporter-port"),
    (["--node-exporter-path=metrics"], "path"),
    (["--node-address-types=Internal"], "node-address-types"),
    (["--target-url-template=http://proxy/metrics"], "same page"),
    (["--target=a=http://127.0.0.1/"], "--dry-run"),
    (["--dry-run", "--target=nonsense"], "NAME=URL"),
    (["--dry-run", "--target=a=http://h/", "--target=a=http://h/"], "already"),
    (["--annotation-prefix=Not a name"], "annotation-prefix"),
    (["--annotation-timezone=Mars/Olympus"], "annotation-timezone"),
    (["--policy-config-path=/nowhere/policy.yaml"], "/nowhere/policy.yaml"),
    (["--kubeconfig=/nowhere/config"], "/nowhere/config"),
    (["--node-exporter-username=a"], "password-file"),
    (["--node-exporter-cert-file=a"], "key-file"),
    (["surplus"], "surplus"),
]


@pytest.mark.parametrize("arguments, said", USAGE_ERRORS, ids=[a[0][0] for a in USAGE_ERRORS])
def test_usage_errors(binary, arguments, said):
    status, out, err = once(binary, *arguments)
    assert status == 2 and said in err and out == ""


def test_check_config(binary, quick_policy):
    status, out, err = once(binary, "--check-config", f"--policy-config-path={quick_policy}")
    assert status == 0, err
    assert "cpu_usage_max_avg_1h" in out and "scrape-interval" in out
    quick_policy.write_text(QUICK_POLICY.replace("period: 6s", "perod: 6s"))
    assert once(binary, "--check-config", f"--policy-config-path={quick_policy}")[0] in (0, 2)
    strict = ["--check-config", "--strict", f"--policy-config-path={quick_policy}"]
    status, _, err = once(binary, *strict)
    assert status == 2 and "perod" in err
