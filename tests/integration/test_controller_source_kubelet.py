"""Kubelets as a source: what their pages say, whom they are asked about, and what may be sent to
whom."""

import pathlib
import urllib.parse

import pytest

from controller_kit import log_lines, offered_milli, policy, reading
from controller_kit import wait_values as wait_exact_values
from harness import wait_until
from kubelet_kit import CADVISOR, CPUS, RESOURCE, Kubelet, add_node, add_pod
from local_server import Handler, LocalServer
from tls_kit import Authority

CPU, MEM, SWAP, PSI = (f"{name}_usage_avg_5m" for name in ("cpu", "mem", "swap", "psi_cpu"))
RULES = policy({CPU: "1s", MEM: "1s", SWAP: "1s"})
NOBODY = 1  # a port of exporters
EXPORTER = {"kind": "node-exporter"}
TOKEN = "s3cret"
WINDOWS_PAGE = pathlib.Path(__file__).resolve().parents[1] / "data" / "windows-exporter.txt"
APART = 0.03
IDLE = {"plimsoll.io/idle-milli-cpu": "2k", "memory": "1Gi"}
WITH_IDLE = policy({CPU: "1s", "cpu_usage_max_avg_1h": "1s"}, idle={"line": 0.65})


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"), "cluster")


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return path


@pytest.fixture
def start_kubelet(authority):
    started = []

    def start(name, ca=authority, **more):
        pair = ca.server("kubelet", names=f"DNS:{name}")
        started.append(Kubelet(pair, **more))
        return started[-1]

    yield start
    for kubelet in started:
        kubelet.stop()


@pytest.fixture
def source(authority, token_file):
    return {
        "kind": "kubelet",
        "tls_config": {"ca_file": str(authority.cert)},
        "authorization": {"credentials_file": str(token_file)},
    }


@pytest.fixture
def windows_exporter():
    """It knows other collectors than node_exporter, and no other name."""

    class Windows(Handler):
        def do_GET(self):
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            if set(query.get("collect[]", ())) - {"cpu", "memory", "net", "os", "system"}:
                self.reply(400, "unavailable collector")
            else:
                self.reply(200, WINDOWS_PAGE.read_bytes(), Content_Type="text/plain")

    server = LocalServer(Windows)
    yield server
    server.close()


def wait_values(standin, key, expected):
    wait_exact_values(standin, key, expected, APART)


def asked_of(kubelet, count=1):
    """Wait until it has been asked so often; what."""
    wait_until(lambda: len(kubelet.asked) >= count, 30, f"{count} requests to a kubelet")
    return set(kubelet.asked)


def test_what_the_pages_say(start_standin, start_controller, start_kubelet, source):
    standin = start_standin()
    loads = {"busy": (0.75, 0.5, 0.25), "idle": (0.01, 0.125, 0), "own-path": (0.25, 0.75, 0.5)}
    kubelets = {name: start_kubelet(name) for name in loads}
    for name, kubelet in kubelets.items():
        kubelet.load = loads[name]
        add_node(standin, name, kubelet, path="/nodes/x" if name == "own-path" else None)
    controller = start_controller(standin, NOBODY, sources=[source], content=RULES)
    for number, key in enumerate((CPU, MEM, SWAP)):
        wait_values(standin, key, {name: load[number] for name, load in loads.items()})
    controller.wait_ready()
    for name, kubelet in kubelets.items():
        path = "/nodes/x" if name == "own-path" else RESOURCE
        assert asked_of(kubelet) == {(path, TOKEN, "")}
    assert controller.metric("plimsoll_targets_failing", source="kubelet") == 0
    assert log_lines(controller.process, "node is failing") == []


def test_pressure_is_on_the_other_page(start_standin, start_controller, start_kubelet, source):
    standin = start_standin()
    kubelet = start_kubelet("a")
    add_node(standin, "a", kubelet)
    start_controller(
        standin, NOBODY, sources=[source], content=policy({CPU: "1s", MEM: "1s", PSI: "1s"})
    )
    for key, expected in ((CPU, 0.5), (MEM, 0.25), (PSI, kubelet.pressure)):
        wait_values(standin, key, {"a": expected})
    assert asked_of(kubelet) == {(CADVISOR, TOKEN, "")}


def test_what_batch_pods_use_is_left_out(start_standin, start_controller, start_kubelet, source):
    """Of 80% of the node's CPUs, a batch pod uses 50 points, twice what it requests; a service's use is
    the node's."""
    standin, kubelet = start_standin(), start_kubelet("a")
    kubelet.load = (0.8, 0.25, 0)
    kubelet.pods = {("jobs", "resize"): 0.5 * CPUS, ("web", "resize"): 0.2 * CPUS}
    add_pod(standin, "jobs", "resize", "a", **IDLE)
    add_pod(standin, "web", "resize", "a", cpu="2", memory="1Gi")
    controller = start_controller(standin, NOBODY, sources=[source], content=WITH_IDLE)
    wait_until(lambda: "1 pod on idle CPU" in controller.ready()[1], 30, "the list of pods")
    add_node(standin, "a", kubelet)
    wait_values(standin, CPU, {"a": 0.3})

    # 65% of the CPUs, less the 30% of the service: with the batch pod's there would be no offer.
    def is_shown():
        assert 1 < controller.metric("plimsoll_idle_offered_cores") <= (0.35 + APART) * CPUS
        assert controller.metric("plimsoll_idle_taken_cores") == 2
        assert abs(controller.metric("plimsoll_idle_used_cores") - 4) < 0.5
        (row,) = controller.page("/status.json").json()["nodes"]
        assert row["idle"]["takenCores"] == 2 and row["idle"]["offeredCores"] > 1
        assert abs(row["idle"]["usedCores"] - 4) < 0.5
        return True

    wait_until(is_shown, 30, "the offer, and what is taken and used of it")

    # A pod that is no batch pod any more counts.
    standin.admin("delete", {"resource": "pods", "namespace": "jobs", "names": ["resize"]})
    wait_until(lambda: reading(standin, "a", CPU).value > 0.4, 60, "the use to count")
    wait_until(
        lambda: controller.metric("plimsoll_idle_taken_cores") == 0, what="nothing to be taken"
    )
    controller.wait_ready()


@pytest.mark.parametrize("is_new", [True, False])
def test_offers_stand_while_another_source_is_tried(
    start_standin, start_controller, start_kubelet, start_exporters, source, is_new
):
    """The kubelet is asked when the exporter has failed twice: of a controller that has just been started,
    or because it goes away."""
    standin, kubelet = start_standin(), start_kubelet("a")
    exporters = start_exporters("--speed", "20")
    exporters.set("all", load={"cpu": 0.2, "mem": 0.25})
    kubelet.load, kubelet.resolution_s = (0.2, 0.25, 0), 3
    add_node(standin, "a", kubelet)
    sources = [one | {"interval": "2s"} for one in (EXPORTER, source)]

    def offers():
        return [offered_milli(row) for row in standin.patches() if "status" in row["body"]]

    controller = start_controller(standin, exporters, sources=sources, content=WITH_IDLE)
    wait_until(lambda: any((offer or 0) > 3000 for offer in offers()), 60, "most of the offer")
    before = len(offers())
    exporters.trouble("all", "status")
    if is_new:
        controller.process.kill()
        controller = start_controller(standin, exporters, sources=sources, content=WITH_IDLE)
    wait_until(lambda: controller.metric("plimsoll_nodes_served", source="kubelet") == 1, 60, "it")
    wait_until(lambda: controller.metric("plimsoll_windows") > 0, 60, "a second sample")
    assert None not in offers()[before:]


def test_batch_pods_have_to_be_known(start_standin, start_controller, start_kubelet, source):
    """Their watch belongs to readiness, as long as the policy has spec.idle."""
    standin, kubelet = start_standin(), start_kubelet("a")
    add_node(standin, "a", kubelet)
    standin.fault("status", resource="pods", status=403, count=-1)
    controller = start_controller(standin, NOBODY, sources=[source], content=WITH_IDLE)
    wait_values(standin, CPU, {"a": 0.5})
    ready, text = controller.ready()
    assert not ready and "[-] pods: no complete list yet: list: 403" in text, text
    standin.clear_faults()
    wait_until(lambda: "[+] pods: 0 pods on idle CPU" in controller.ready()[1], 30, "pods")
    controller.wait_ready()


def test_each_trouble_is_named(start_standin, start_controller, start_kubelet, source, tmp_path):
    standin = start_standin()
    late = "node_memory_working_set_bytes 1 soon\nnode_cpu_usage_seconds_total 1 -1\n"
    answers = {
        "unauthorized": (401, {}, "Unauthorized"),
        "forbidden": (403, {}, "Forbidden"),
        "moved": (302, {"Location": "https://127.0.0.1:1/"}, ""),
        "in-trouble": (200, {}, "resource_scrape_error 1\n"),
        "empty": (200, {}, ""),
        "odd-times": (200, {}, late),
    }
    reasons = dict.fromkeys(answers, "no_metrics") | {
        "unauthorized": "unauthorized",
        "forbidden": "unauthorized",
        "moved": "status_other",
        "in-trouble": "scrape_error",
    }
    kubelets = {name: start_kubelet(name) for name in answers}
    for name, kubelet in kubelets.items():
        kubelet.answer = answers[name]
        add_node(standin, name, kubelet)
    # Certificates of another node, and of another authority: nothing is said to these.
    impostors = [
        start_kubelet("another"),
        start_kubelet("stranger", Authority(tmp_path / "x", "x")),
    ]
    add_node(standin, "misnamed", impostors[0])
    add_node(standin, "stranger", impostors[1])
    bare = start_kubelet("bare")
    add_node(standin, "bare", bare, capacity={"pods": "110"}, nodeInfo={})
    gone = start_kubelet("gone")
    gone.stop()
    add_node(standin, "gone", gone)
    reasons |= {"misnamed": "tls", "stranger": "tls", "bare": "no_capacity", "gone": "connect"}
    controller = start_controller(standin, NOBODY, sources=[source], content=RULES)
    wait_until(
        lambda: controller.metric("plimsoll_targets_failing", source="kubelet") == len(reasons),
        30,
        "all to fail",
    )
    told = log_lines(controller.process, "node is failing")
    for name, reason in reasons.items():
        assert (
            sum(f"node={name} " in line and f"reason={reason} " in line for line in told) == 1
        ), f"{name}: {told}"
    lacking = [line for line in told if "nodes/metrics (get) in the ClusterRole (403)" in line]
    assert len(lacking) == 2 and all("reason=unauthorized " in line for line in lacking)
    ready, text = controller.ready()
    assert not ready and "nodes/metrics (get)" in text
    assert [kubelet.asked for kubelet in impostors] == [[], []]
    assert TOKEN not in controller.process.stderr()

    for kubelet in kubelets.values():
        kubelet.answer = None
    wait_values(standin, CPU, dict.fromkeys(kubelets, 0.5))


def test_a_windows_node(start_standin, start_controller, start_kubelet, windows_exporter, source):
    """What its exporter says is not taken for another trouble; its kubelet's page is like any other."""
    standin = start_standin()
    add_node(standin, "windows", start_kubelet("windows"), address="127.0.0.1")
    controller = start_controller(
        standin,
        windows_exporter.port,
        sources=[EXPORTER, source],
        content=policy({CPU: "1s", MEM: "1s"}),
    )
    wait_values(standin, CPU, {"windows": 0.5})
    wait_values(standin, MEM, {"windows": 0.25})
    (line,) = [
        line for line in log_lines(controller.process, "node is failing") if "/metrics " in line
    ]
    assert "reason=windows_exporter " in line and "has no node_cpu_seconds_total" in line
    assert controller.metric("plimsoll_scrapes_total", result="windows_exporter") >= 1


def test_asked_only_where_no_exporter_serves(
    start_standin, start_controller, start_kubelet, start_exporters, source
):
    standin = start_standin()
    exporters = start_exporters("--speed", "20")
    kubelet = start_kubelet("node-0000")
    add_node(standin, "node-0000", kubelet, address="127.0.0.1")
    controller = start_controller(
        standin,
        exporters,
        sources=[EXPORTER, source],
        content=policy({CPU: "1s"}),
    )

    def served_by(source):
        return lambda: controller.metric("plimsoll_nodes_served", source=source) == 1

    def scraped(count):
        return (
            controller.metric("plimsoll_scrapes_total", source="node-exporter", result="ok")
            >= count
        )

    wait_until(lambda: scraped(4), 30, "some scrapes")
    assert kubelet.asked == []
    exporters.trouble("all", "status")
    wait_until(served_by("kubelet"), 30, "the kubelet to serve")
    line = log_lines(controller.process, "this source measures differently from node_exporter")
    assert len(line) == 1 and "source=kubelet" in line[0]
    asked_of(kubelet, 3)
    exporters.well()
    wait_until(served_by("node-exporter"), 30, "the exporter to serve again")
    before, answers = len(kubelet.asked), controller.metric(
        "plimsoll_scrapes_total", source="node-exporter", result="ok"
    )
    wait_until(lambda: scraped(answers + 4), 30, "some scrapes more")
    assert len(kubelet.asked) <= before + 1


def test_a_client_certificate_and_no_token(
    start_standin, start_controller, start_kubelet, authority
):
    standin = start_standin()
    # Self-signed, as a kubelet does without serverTLSBootstrap.
    kubelet = start_kubelet("elsewhere", client_ca=authority.cert)
    add_node(standin, "a", kubelet)
    cert, key = map(str, authority.client("plimsoll-controller"))
    tls = {"insecure_skip_verify": True, "cert_file": cert, "key_file": key}
    start_controller(
        standin,
        NOBODY,
        sources=[{"kind": "kubelet", "tls_config": tls}],
        content=RULES,
    )
    wait_values(standin, CPU, {"a": 0.5})
    assert asked_of(kubelet) == {(RESOURCE, "", "plimsoll-controller")}


def test_a_standby_asks_less_often(
    start_standin, start_controller, start_kubelet, source, tmp_path
):
    standin = start_standin()
    kubelet = start_kubelet("a")
    add_node(standin, "a", kubelet)
    lease = ("--leader-elect=true", "--leader-elect-resource-namespace=default")

    def start(token):
        (tmp_path / token).write_text(token)
        mine = source | {"authorization": {"credentials_file": str(tmp_path / token)}}
        return start_controller(standin, NOBODY, *lease, sources=[mine], content=RULES)

    def count(token):
        return sum(asked.token == token for asked in kubelet.asked)

    start("writer")
    wait_values(standin, CPU, {"a": 0.5})
    standby = start("standby")
    wait_until(lambda: count("standby") >= 3, 30, "the standby to know the node")

    def asked_by_writer_until(more):
        began = {token: count(token) for token in ("writer", "standby")}
        wait_until(lambda: count("standby") >= began["standby"] + more, 60, "the standby to ask")
        return count("writer") - began["writer"]

    assert asked_by_writer_until(4) >= 6
    standby.wait_ready()
    # But what has failed is asked again at once: two questions that fail would be too late.
    kubelet.answer = (500, {}, b"")
    asked_by_writer_until(1)
    assert asked_by_writer_until(6) <= 8
    kubelet.answer = None
