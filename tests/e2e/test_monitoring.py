"""deploy/monitoring with the real API server, and its queries with a real Prometheus that scrapes both programs."""

import json
import re

import pytest
import yaml
from cluster.pages import follow
from cluster.nodes import CALM, HOT
from cluster.plimsoll import TOP, fast_policy
from harness import fetch, wait_until
from monitoring_kit import DASHBOARDS, dashboard, queries, rules
from pages import block
from programs import complete
from prometheus_kit import RealPrometheus
from tools import build

KINDS = ("podmonitors", "servicemonitors", "prometheusrules")
# The extender of this test serves HTTP, and its controller has no file of sources.
WITHOUT_DATA = {"plimsoll_tls_certificate_expiry_timestamp_seconds"}
METRIC = "cpu_usage_avg_5s"


@pytest.fixture
def operator_kinds(plane):
    """The operator's own definitions: by them the API server refuses unknown fields and bad values."""
    files = [build.shared("prometheus-operator", f"example/*/*_{kind}.yaml")[0] for kind in KINDS]
    options = [f"--filename={path}" for path in files]
    plane.kubectl("create", *options)
    plane.kubectl("wait", "--for=condition=Established", *options)
    yield
    plane.kubectl("delete", *options)


def test_without_the_operator(plane):
    """The page says what happens, and its first command shows it before anything is created. The first test, since
    kubectl remembers kinds that were there."""
    page = (TOP / "docs/install.md").read_text("utf-8")
    check, apply = block("docs/install.md", "monitoring").splitlines()
    missing = plane.kubectl(*check.split()[1:], check=False)
    assert missing.returncode and all(f'"{kind}.' in missing.stderr for kind in KINDS)
    done = plane.kubectl("apply", "-k", str(TOP / apply.split()[-1]), check=False)
    assert done.returncode and "no matches for kind" in done.stderr
    assert "`no matches for kind`" in page
    assert done.stdout == "configmap/plimsoll-dashboards created\n"
    plane.kubectl("delete", "--namespace=kube-system", "configmap", "plimsoll-dashboards")
    argv = ["install", "monitored", "deploy/chart", "--namespace=kube-system"]
    helm = complete(
        build.program("helm"), *argv, "--set=monitoring.enabled=true", "--set=crds.enabled=false",
        status=None, cwd=TOP, env={"KUBECONFIG": plane.kubeconfig},
    )  # fmt: skip
    assert helm.returncode and "ensure CRDs are installed first" in helm.stderr
    done = plane.kubectl(
        "get", "--namespace=kube-system", "configmap", "plimsoll-dashboards", check=False
    )
    assert "NotFound" in done.stderr, "Helm fails before it creates anything"


def test_it_applies_and_finds_our_objects(plane, operator_kinds):
    without = str(TOP / "deploy" / "monitoring-without-extender")
    plane.kubectl("apply", "--dry-run=server", "-k", without)
    follow(plane, block("docs/install.md", "monitoring"))
    namespace = "--namespace=kube-system"

    def spec(kind, name):
        return json.loads(plane.kubectl("get", namespace, kind, name, "--output=json"))["spec"]

    def objects(kind, labels):
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        text = plane.kubectl("get", namespace, kind, "--selector", selector, "--output=json")
        return json.loads(text)["items"]

    pods = spec("podmonitor", "plimsoll-controller")
    (controller,) = objects("deployments", pods["selector"]["matchLabels"])
    ports = controller["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert [end["port"] for end in pods["podMetricsEndpoints"]] == [port["name"] for port in ports]
    services = spec("servicemonitor", "plimsoll-extender")
    (service,) = objects("services", services["selector"]["matchLabels"])
    ports = service["spec"]["ports"]
    assert [end["port"] for end in services["endpoints"]] == [port["name"] for port in ports]
    (end,) = spec("podmonitor", "plimsoll-scheduler")["podMetricsEndpoints"]
    second = plane.kubectl("kustomize", str(TOP / "deploy" / "second-scheduler"))
    assert f"name: {end['port']}\n" in second and f"port: {end['port']}\n" in second
    boards = plane.kubectl(
        "get", namespace, "configmap", "--selector=grafana_dashboard=1", "-ojson"
    )
    (held,) = json.loads(boards)["items"]
    assert {key: json.loads(text) for key, text in held["data"].items()} == {
        f"{name}.json": dashboard(name) for name in DASHBOARDS
    }
    plane.kubectl("delete", "-k", str(TOP / "deploy" / "monitoring"))


def test_queries_return_data(stack, fleet, namespace, run, log_dir, figure):
    names = fleet.add(2, load=HOT) + fleet.add(3, load=CALM)
    rules_of_nodes = fast_policy()
    rules_of_nodes["spec"]["extender"] = {"scoring": "estimate"}
    controller, extender = stack(rules_of_nodes)
    targets = {process.url.removeprefix("http://"): {} for process in (controller, extender)}
    groups = [group | {"interval": "1s"} for group in rules()["groups"]]
    prometheus = RealPrometheus(run, log_dir, targets, rules=yaml.safe_dump({"groups": groups}))
    fleet.wait_reading(METRIC, names, lambda ratio: ratio > 0.1, "readings")
    # Calls that Prometheus sees to have become more.
    namespace.create_pods("web", 3)
    calls = 'plimsoll_extender_requests_total{code="200", verb="filter"} > 0'
    wait_until(lambda: prometheus.query(calls), 60, "a first call to be counted")
    namespace.create_pods("app", 3)
    namespace.wait_bound(6)

    asked = {
        re.sub(r"\$\w+", lambda m: {"$metric": METRIC, "$node": ".*"}.get(m[0], "10s"), query)
        for name in DASHBOARDS
        for query in queries(dashboard(name))
    }
    metrics = {m for group in groups for r in group["rules"]
               for m in re.findall(r"\bplimsoll_\w+|\bprocess_\w+", r["expr"])}  # fmt: skip
    asked |= {f"count({metric})" for metric in metrics - WITHOUT_DATA}
    for query in sorted(asked):
        wait_until(lambda q=query: prometheus.query(q), 60, f"data for {query}")

    for name in DASHBOARDS:
        for variable in dashboard(name)["templating"]["list"]:
            if variable["type"] == "query":
                series, label = re.fullmatch(
                    r"label_values\((\w+), (\w+)\)", variable["definition"]
                ).groups()
                found = {row[0][label] for row in prometheus.query(series)}
                assert found >= ({METRIC} if label == "metric" else set(names)), variable["name"]

    def evaluated():
        answer = fetch(f"{prometheus.url}/api/v1/rules").json()["data"]["groups"]
        found = {rule["name"]: rule for group in answer for rule in group["rules"]}
        assert len(found) == sum(len(group["rules"]) for group in groups)
        assert all(rule["health"] == "ok" for rule in found.values()), found
        return found

    found = wait_until(evaluated, 60, "every rule to be evaluated")

    def only_hot_nodes_alert():
        """Two nodes are above the limit, and nothing else is amiss."""
        rows = prometheus.query("ALERTS")
        alerts = {(labels["alertname"], labels.get("node")) for labels, _ in rows}
        assert alerts == {("PlimsollNodeOverLimit", node) for node in names[:2]}
        return True

    # The first reading of a short window may be far off.
    wait_until(only_hot_nodes_alert, 60, "alerts about the hot nodes alone")
    figure(f"{len(asked)} queries returned data, {len(found)} rules were evaluated")
