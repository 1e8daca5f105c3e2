"""plimsoll-controller asks a Prometheus: one that answers well, one that errs, lies, hangs and dies."""

import json

import pytest

from controller_kit import log_lines, patched, policy, read_annotation, reading
from harness import wait_until
from prometheus_kit import basic, send
from tls_kit import Authority

CPU, MEM = "cpu_usage_avg_5m", "mem_usage_avg_5m"
PEAK = "cpu_usage_max_avg_1d"


@pytest.fixture
def start_asking(start_controller, start_standin):
    """A controller that asks `prometheus` every second about three nodes: (it, the stand-in)."""

    def start(prometheus, nodes=3, content=None, **more):
        standin = start_standin("--nodes", nodes)
        source = {"kind": "prometheus", "url": prometheus.url, **more}
        controller = start_controller(standin, 1, sources=[source], content=content)
        return controller, standin

    return start


def expect(standin, node, key, value, timeout_s=30):
    def look():
        found = reading(standin, node, key)
        return found is not None and abs(found.value - value) < 1e-5

    try:
        wait_until(look, timeout_s, f"{key} of {node} to be {value}")
    except AssertionError as error:
        raise AssertionError(f"{error}: {standin.annotations(node)}") from None


def node(number):
    return f"node-{number:04d}"


def test_what_is_asked(pretended, start_asking):
    """Recorded in percent, computed as ratios; by POST, one query per metric for all nodes."""
    pretended.recorded[CPU] = [({"instance": f"127.1.0.{i}:9100"}, 10.0 * i) for i in (1, 2)]
    pretended.computed[CPU] = [
        ({"instance": "127.1.0.2:9100"}, 0.9),  # is recorded, in other words
        ({"instance": "127.1.0.3:9100"}, 0.7),
    ]
    pretended.computed[MEM] = [({"instance": f"127.1.0.{i}:9100"}, 0.1 * i) for i in (1, 2, 3)]
    controller, standin = start_asking(pretended)
    for i, cpu in ((1, 0.1), (2, 0.2), (3, 0.7)):
        expect(standin, node(i - 1), CPU, cpu)
        expect(standin, node(i - 1), MEM, 0.1 * i)
    controller.wait_ready()
    asked = pretended.asked[0]
    assert asked.method == "POST" and asked.path == "/api/v1/query"
    assert asked.headers["Content-Type"] == "application/x-www-form-urlencoded"
    # Of 0.9 s, the longest that the interval allows: Prometheus gives up first, and says why.
    assert asked.params["timeout"] == "0.810"
    rounds = pretended.count()
    wait_until(lambda: pretended.count() >= rounds + 4, what="two rounds")
    assert {a.name for a in pretended.asked} == {CPU, MEM}
    assert abs(sum(a.name == CPU for a in pretended.asked) - pretended.count() / 2) <= 1
    assert controller.labels("plimsoll_prometheus_queries_total", "result").keys() == {"ok"}
    fates = controller.labels("plimsoll_prometheus_series", "fate")
    assert fates == {"used": 6, "duplicate": 1, "contradicting": 0, "unmatched": 0, "unusable": 0}
    assert controller.metric("plimsoll_targets_failing", source="prometheus") == 0


def test_hint_at_the_unit(pretended, start_asking):
    """Ratios taken for percentages would make every node look idle: said once."""
    pretended.recorded[CPU] = [({"instance": f"127.1.0.{i}"}, 0.3 * i) for i in (1, 2, 3)]
    controller, standin = start_asking(pretended)
    expect(standin, node(0), CPU, 0.003)
    controller.process.wait_log("set unit: ratio for the source")
    rounds = pretended.count()
    wait_until(lambda: pretended.count() >= rounds + 4, what="two rounds")
    assert controller.process.text().count("set unit: ratio") == 1


def test_series_that_contradict(pretended, start_asking):
    """Another cluster with the same addresses: no value instead of a wrong one, logged once."""
    pretended.computed[CPU] = [
        ({"instance": "127.1.0.1:9100", "cluster": "ours"}, 0.2),
        ({"instance": "127.1.0.1:9100", "cluster": "theirs"}, 0.9),
        ({"instance": "127.1.0.2:9100", "cluster": "ours"}, 0.3),
    ]
    controller, standin = start_asking(pretended, nodes=2, content=policy({CPU: "2s"}))
    expect(standin, node(1), CPU, 0.3)
    rounds = pretended.count()
    wait_until(lambda: pretended.count() >= rounds + 3, what="more rounds")
    assert reading(standin, node(0), CPU) is None
    said = "Prometheus has contradicting series for one node; set match for the source"
    (line,) = log_lines(controller.process, said)
    assert f"metric={CPU} node={node(0)} " in line and "least=0.2" in line and "most=0.9" in line
    (line,) = log_lines(controller.process, "node is failing")
    assert f"node={node(0)} " in line and "reason=contradiction" in line
    assert controller.labels("plimsoll_prometheus_series", "fate")["contradicting"] == 1
    pretended.computed[CPU] = pretended.computed[CPU][::2]
    expect(standin, node(0), CPU, 0.2)


def test_a_node_that_claims_the_addresses_of_others(pretended, start_asking):
    """A kubelet writes its own addresses. The series stay with those who had them first."""
    pretended.computed[CPU] = [({"instance": f"127.1.0.{i}:9100"}, 0.1 * i) for i in (1, 2, 3)]
    controller, standin = start_asking(pretended)
    expect(standin, node(2), CPU, 0.3)
    others = [{"type": "InternalIP", "address": f"127.1.0.{i}"} for i in (2, 3)]
    standin.patch(f"/api/v1/nodes/{node(0)}/status", {"status": {"addresses": others}})
    said = "a node claims the address of another node, whose series it does not get"
    (line,) = controller.process.wait_log(said) and log_lines(controller.process, said)
    assert f"node={node(0)} of={node(2)}" in line
    pretended.computed[CPU] = [(labels, value + 0.5) for labels, value in pretended.computed[CPU]]
    for i in (1, 2):
        expect(standin, node(i), CPU, 0.1 * (i + 1) + 0.5)
    (line,) = log_lines(controller.process, "node is failing")
    assert f"node={node(0)} " in line and "reason=no_data" in line
    assert len(log_lines(controller.process, said)) == 1


def test_values_that_are_none(pretended, start_asking):
    """They are no usage, and not 0 either: the node has no value, and that is said."""
    bad = ["NaN", "+Inf", "-Inf", "-5", "1e300", "", "0x10", "x"]
    pretended.recorded[CPU] = [
        ({"instance": f"127.1.0.{i + 1}"}, value) for i, value in enumerate(bad)
    ] + [({"instance": "127.1.0.9"}, 140)]
    controller, standin = start_asking(pretended, nodes=9, content=policy({CPU: "2s"}))
    expect(standin, node(8), CPU, 1.4)  # a rule of somebody's, used as it stands
    for i in range(8):
        assert reading(standin, node(i), CPU) is None, bad[i]
    fates = controller.labels("plimsoll_prometheus_series", "fate")
    assert fates["unusable"] == 8 and fates["used"] == 1
    wait_until(
        lambda: controller.metric("plimsoll_targets_failing", source="prometheus") == 8,
        what="the count",
    )
    lines = log_lines(controller.process, "node is failing")
    assert len(lines) == 8 and all("reason=no_data" in line for line in lines)
    # Computed ones may be a rounding error below 0, or extrapolated above 1.
    pretended.recorded[CPU] = []
    pretended.computed[CPU] = [
        ({"instance": "127.1.0.1"}, "-1e-9"),
        ({"instance": "127.1.0.2"}, "1.004"),
        ({"instance": "127.1.0.9"}, "-0.2"),
    ]
    expect(standin, node(0), CPU, 0)
    expect(standin, node(1), CPU, 1)
    wait_until(
        lambda: controller.labels("plimsoll_prometheus_series", "fate")["unusable"] == 1,
        what="a negative share to be none",
    )


def test_warnings(pretended, start_asking):
    """Thanos without one of its stores: what is there counts, and it is said that more may be."""
    pretended.warnings = ["store 10.0.0.1:10901 is gone\nlevel=error forged"]
    pretended.computed[CPU] = [({"instance": "127.1.0.1"}, 0.5)]
    controller, standin = start_asking(pretended, nodes=1)
    expect(standin, node(0), CPU, 0.5)
    assert controller.metric("plimsoll_prometheus_warnings_total") >= 1
    assert controller.process.text().count("warning=") == 1


def answers(status, body, **headers):
    return lambda handler, asked: send(handler, status, body, **headers) or True


def error(kind, text):
    return json.dumps({"status": "error", "errorType": kind, "error": text})


def cut(handler, asked):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"status":"success","data":{"resultType":"vector","result":[')
    handler.close_connection = True
    return True


def flood(handler, asked):
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 30))
    handler.end_headers()
    for _ in range(1 << 10):
        handler.wfile.write(b"[" * (1 << 20))
    return True


def hang(handler, asked):
    handler.connection.recv(1)  # until the client has had enough
    handler.close_connection = True
    return True


TROUBLES = {
    "status error": (answers(200, error("timeout", "too slow")), "query"),
    "execution": (answers(422, error("execution", "too many samples")), "query"),
    "gateway": (answers(502, "<html>bad gateway</html>"), "status_5xx"),
    "gateway timeout": (answers(504, "<html>timeout</html>"), "status_5xx"),
    "forbidden": (answers(403, "no"), "unauthorized"),
    "not found": (answers(404, "404 page not found"), "not_found"),
    "redirect": (answers(302, "", Location="http://127.0.0.1:1/"), "status_other"),
    "login page": (answers(200, "<html>Sign in</html>"), "bad_reply"),
    "cut": (cut, "reset"),
    "flood": (flood, "too_large"),
    "hang": (hang, "timeout"),
}


# They go on for a while, and are told once nevertheless: one of a query, one of all of them.
LASTING = ("execution", "gateway")


def test_trouble(pretended, start_asking):
    """One after the other: counted by its reason, told, no value from it; and the way back."""
    addresses = [{"instance": f"127.1.0.{i}"} for i in (1, 2, 3)]
    pretended.computed[CPU] = [(labels, 0.5) for labels in addresses]
    controller, standin = start_asking(pretended, content=policy({CPU: "1s"}))
    expect(standin, node(0), CPU, 0.5)

    def results():
        return controller.labels("plimsoll_prometheus_queries_total", "result")

    def failing():
        return controller.metric("plimsoll_targets_failing", source="prometheus")

    for trouble, (fault, reason) in TROUBLES.items():
        is_of_query = trouble == "gateway timeout" or reason in ("query", "too_large", "timeout")
        said = "Prometheus query failed" if is_of_query else "cannot query Prometheus"
        over = (
            "Prometheus query succeeds again" if is_of_query else "Prometheus queries succeed again"
        )
        before, told = results().get(reason, 0), len(log_lines(controller.process, said))
        ended = len(log_lines(controller.process, over))
        pretended.trouble = fault
        count = 3 if trouble in LASTING else 1
        wait_until(lambda: results().get(reason, 0) >= before + count, what=f"failures: {trouble}")
        wait_until(lambda: failing() == 3, what=f"no node to have a value: {trouble}")
        lines = log_lines(controller.process, said)[told:]
        assert len([line for line in lines if f"reason={reason} " in line]) == 1, (trouble, lines)
        pretended.trouble = None
        wait_until(lambda: failing() == 0, what=f"every node to have a value after {trouble}")
        wait_until(
            lambda: len(log_lines(controller.process, over)) == ended + 1,  # pylint: disable=W0640
            what=f"the end of {trouble} to be logged",
        )
    assert not log_lines(controller.process, "node is failing"), "it is not the nodes"
    written = [read_annotation(patched(row)[CPU]).value for row in standin.patches()]
    assert set(written) == {0.5}
    pretended.computed[CPU] = [(labels, 0.6) for labels in addresses]
    expect(standin, node(0), CPU, 0.6)
    assert results().keys() == {"ok", *(reason for _, reason in TROUBLES.values())}


def test_behind_a_path_with_tls_and_credentials(start_pretended, start_asking, tmp_path):
    authority = Authority(str(tmp_path / "ca"), "ca")
    pretended = start_pretended(tls=authority.server("prometheus"), prefix="/prefix")
    pretended.url += "/"
    pretended.computed[CPU] = [({"instance": "127.1.0.1"}, 0.5)]
    secret = tmp_path / "secret"

    secret.write_text("sesame\n")
    pretended.authorization = "Bearer sesame"
    trusts = {"tls_config": {"ca_file": str(authority.cert)}}
    token = {"authorization": {"credentials_file": str(secret)}}
    controller, standin = start_asking(pretended, nodes=1, **trusts, **token)
    expect(standin, node(0), CPU, 0.5)
    assert "sesame" not in controller.process.text()

    pretended.authorization = basic("me", "sesame")
    user = {"basic_auth": {"username": "me", "password_file": str(secret)}}
    _, standin = start_asking(pretended, nodes=1, **trusts, **user)
    expect(standin, node(0), CPU, 0.5)

    controller, _ = start_asking(pretended, nodes=1)
    results = "plimsoll_prometheus_queries_total"
    wait_until(lambda: controller.metric(results, result="tls") > 0, what="its certificate refused")
    assert controller.metric(results, result="ok") == 0


def test_one_of_several_clusters(pretended, start_asking):
    """The selector is in each query, and the tenant's header in each request."""
    pretended.computed[CPU] = [({"instance": "127.1.0.1"}, 0.5)]
    selector = 'cluster="prod-eu"'
    _, standin = start_asking(
        pretended,
        match=selector,
        http_headers={"X-Scope-OrgID": {"values": ["us"]}},
        nodes=1,
        content=policy({CPU: "2s"}),
    )
    expect(standin, node(0), CPU, 0.5)
    assert {asked.headers["X-Scope-OrgID"] for asked in pretended.asked} == {"us"}
    for asked in pretended.asked:
        assert asked.params["query"].startswith(f"({{{selector},__name__=")
        assert asked.params["query"].endswith(f"up{{{selector}}} == 1)")


def test_a_peak_that_outlives_its_node(pretended, start_asking):
    """A recorded maximum over a day is there for a day; without a mean next to it, it is the past."""
    pretended.recorded[CPU] = [({"instance": "127.1.0.1"}, 50)]
    pretended.recorded[PEAK] = [({"instance": f"127.1.0.{i}"}, 90) for i in (1, 2)]
    _, standin = start_asking(pretended, nodes=2, content=policy({PEAK: "2s"}))
    expect(standin, node(0), PEAK, 0.9)
    rounds = pretended.count()
    wait_until(lambda: pretended.count() >= rounds + 4, what="two rounds")
    assert reading(standin, node(1), PEAK) is None
    assert {asked.name for asked in pretended.asked} == {CPU, PEAK}, "the mean is asked for, too"
