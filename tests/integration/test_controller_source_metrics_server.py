"""metrics-server as a source: what its list says stands on the nodes, and nothing that it does not
say; a list that fails, or half of it, is told once, with what to look at."""

import time

from controller_kit import wait_values, AGENT, all_readings, log_lines, patched, policy
from harness import wait_until
from policies import node_names

CPU, MEM = "cpu_usage_avg_5m", "mem_usage_avg_5m"
SHORT = "mem_usage_avg_10s"  # which is soon that of another source
RULES = policy({CPU: "1s", MEM: "1s"})
PATH = "/apis/metrics.k8s.io/v1beta1/nodes"
FLAGS = ("--metrics-source=metrics-server",)
NOBODY = 1  # a port of exporters, where only metrics-server is asked
NO_LIST, LISTED = "cannot list node metrics", "listing node metrics succeeds again"
FAILING = "node is failing"


def serve(standin, **what):
    standin.admin("nodemetrics", {"on": True, **what})


def lists(standin):
    """Lists of node metrics that the controller asked for."""
    return [row for row in standin.admin("requests", agent=AGENT) if row["target"] == PATH]


def test_usage_against_what_is_allocatable(start_standin, start_controller):
    standin = start_standin()
    # 8 CPUs and 32 GiB, and a small one.
    standin.add_nodes(4)
    standin.admin("nodes", {"names": ["small"], "cpus": 2, "memory_gib": 4})
    serve(
        standin,
        usage={
            "node-0000": {"cpu": "2", "memory": "8Gi"},
            "node-0001": {"cpu": "412345678n", "memory": "3293194Ki"},
            "node-0002": {"cpu": "12500m", "memory": "1e12"},  # above what there is
            "node-0003": {"cpu": "0", "memory": "8Gi"},  # a running node uses more than that
            "small": {"cpu": "1500000u", "memory": "1G"},
        },
        # Of a node that is not followed, and items that name nobody.
        extra=[{"metadata": {"name": "stranger"}}, {}, {"metadata": {"name": 7}}],
    )
    controller = start_controller(standin, NOBODY, *FLAGS, content=RULES)
    wait_values(
        standin,
        CPU,
        {
            "node-0000": 0.25,
            "node-0001": 0.412345678 / 8,
            "node-0002": 1,
            "small": 0.75,
        },
    )
    wait_values(
        standin,
        MEM,
        {
            "node-0000": 0.25,
            "node-0001": 3293194 / (32 << 20),
            "node-0002": 1,
            "node-0003": 0.25,
            "small": 1e9 / (4 << 30),
        },
    )
    controller.wait_ready()
    wait_until(
        lambda: controller.metric("plimsoll_nodes_served", source="metrics-server") == 5,
        what="the served nodes to be counted",
    )
    assert controller.metric("plimsoll_targets_failing", source="metrics-server") == 0
    assert controller.metric("plimsoll_metrics_server_listed") == 1
    asked = wait_until(lambda: len(rows := lists(standin)) >= 4 and rows, what="four lists")
    assert {row["code"] for row in asked} == {200}
    # One request at a time, and no more than one an interval.
    starts = [row["at_unix"] for row in asked]
    assert all(b - a > 0.9 for a, b in zip(starts, starts[1:]))
    counted = controller.labels("plimsoll_metrics_server_items_total", "result")
    assert counted["unknown_node"] >= 1 and counted["new"] >= 10
    assert log_lines(controller.process, NO_LIST) == []


def test_no_metrics_server_yet(start_standin, start_controller):
    standin = start_standin("--nodes", 2)
    controller = start_controller(standin, NOBODY, *FLAGS, content=RULES)
    wait_until(lambda: len(lists(standin)) >= 4, what="a few attempts")
    ready, text = controller.ready()
    assert not ready
    assert "not_found; see" in text and "kubectl get apiservice v1beta1.metrics.k8s.io" in text
    (line,) = log_lines(controller.process, NO_LIST)
    assert "reason=not_found" in line and "is metrics-server installed?" in line
    assert all_readings(standin, CPU) == {}

    # Installed, but not up yet: that is another trouble, told as such.
    serve(standin, available=False)
    wait_until(lambda: len(log_lines(controller.process, NO_LIST)) == 2, what="the next trouble")
    line = log_lines(controller.process, NO_LIST)[-1]
    assert "reason=unavailable" in line and "503 service unavailable" in line
    assert "does metrics-server run?" in line

    serve(standin, available=True, usage={"*": {"cpu": "2", "memory": "8Gi"}})
    wait_values(standin, CPU, dict.fromkeys(node_names(2), 0.25))
    assert len(log_lines(controller.process, LISTED)) == 1
    controller.wait_ready()


def test_what_rbac_lacks_is_named(start_standin, start_controller, tmp_path):
    standin = start_standin("--nodes", 2)
    serve(standin, usage={"*": {"cpu": "2", "memory": "8Gi"}})
    allowed = {
        "apiGroups": [""],
        "resources": ["nodes", "pods"],
        "verbs": ["list", "watch", "patch"],
    }
    missing = {"apiGroups": ["metrics.k8s.io"], "resources": ["nodes"], "verbs": ["list"]}

    def may(*rules):
        row = {"token": "t", "user": "plimsoll", "groups": [], "rules": list(rules)}
        standin.admin("auth", {"tokens": [row]})

    may(allowed)
    path = standin.edit_kubeconfig(tmp_path / "kubeconfig", user={"token": "t"})
    controller = start_controller(path, NOBODY, *FLAGS, content=RULES)
    wait_until(lambda: log_lines(controller.process, NO_LIST), what="the trouble to be told")
    (line,) = log_lines(controller.process, NO_LIST)
    assert "reason=forbidden" in line
    for part in ("apiGroups [metrics.k8s.io]", "resources [nodes]", "verbs [list]", "ClusterRole"):
        assert part in line
    assert 'cannot list resource \\"nodes\\" in API group \\"metrics.k8s.io\\"' in line

    def told():
        text = controller.ready()[1]
        return "forbidden; see the rule for nodes.metrics.k8s.io (list) in the ClusterRole" in text

    wait_until(told, what="/readyz to name the rule")

    may(allowed, missing)
    wait_values(standin, CPU, dict.fromkeys(node_names(2), 0.25))
    controller.wait_ready()


WAYS = [
    {"action": "status", "status": 503, "plain": True, "message": "error trying to reach service"},
    {"action": "status", "status": 429, "retry_after": 1},
    {"action": "reset"},
    {"action": "garbage"},
    {"action": "truncate", "bytes": 400},
    {"action": "hang"},
]


def test_lists_that_fail(start_standin, start_controller):
    """Each failure costs its own round and nothing else; nothing of half a list is believed."""
    standin = start_standin("--nodes", 3)
    serve(standin, usage={"*": {"cpu": "2", "memory": "8Gi"}})
    controller = start_controller(standin, NOBODY, *FLAGS, content=RULES)
    names = node_names(3)
    wait_values(standin, CPU, dict.fromkeys(names, 0.25))
    for number, way in enumerate(WAYS, 1):
        standin.fault(path="^" + PATH, count=-1, **way)
        wait_until(
            lambda: len(log_lines(controller.process, NO_LIST)) == number, what=f"{way} to be told"
        )
        assert controller.metric("plimsoll_metrics_server_listed") == 0
        standin.clear_faults()
        wait_until(
            lambda: len(log_lines(controller.process, LISTED)) == number, what=f"{way} to be over"
        )
        assert controller.metric("plimsoll_metrics_server_listed") == 1
    since = time.time()
    wait_until(
        lambda: all(r.at_unix > since for r in all_readings(standin, CPU).values()),
        what="annotations afterwards",
    )
    written = {
        text.partition(",")[0] for row in standin.patches() for text in patched(row).values()
    }
    assert written == {"0.25000"}
    assert log_lines(controller.process, FAILING) == []
    assert len(log_lines(controller.process, NO_LIST)) == len(WAYS)


def test_the_next_source_takes_over_and_gives_back(
    start_standin, start_exporters, start_controller
):
    standin, exporters = start_standin("--nodes", 2), start_exporters("--speed", "20")
    exporters.set("all", load={"cpu": 0.6, "mem": 0.6})
    serve(standin, usage={"*": {"cpu": "2", "memory": "8Gi"}})
    controller = start_controller(
        standin,
        exporters,
        "--metrics-source=metrics-server,node-exporter",
        *FLAGS[1:],
        content=policy({SHORT: "1s"}),
    )
    names = node_names(2)
    wait_values(standin, SHORT, dict.fromkeys(names, 0.25))
    serve(standin, available=False)
    wait_values(standin, SHORT, dict.fromkeys(names, 0.6))
    wait_until(
        lambda: controller.metric("plimsoll_nodes_served", source="node-exporter") == 2,
        what="both to be served by their exporters",
    )
    assert controller.ready()[0]
    serve(standin, available=True)
    wait_values(standin, SHORT, dict.fromkeys(names, 0.25))
    # Only one node.
    serve(standin, change={"node-0001": None})
    wait_values(standin, SHORT, {"node-0000": 0.25, "node-0001": 0.6})
    # No instant was written twice with different values.
    said = {}
    for row in standin.patches():
        for key, text in row["body"]["metadata"]["annotations"].items():
            value, _, at = text.partition(",")
            assert said.setdefault((row["name"], key, at), value) == value


def test_a_standby_lists_less_often(start_standin, start_controller):
    """Also while metrics-server has nothing about one of the nodes."""
    standin = start_standin("--nodes", 3)
    serve(standin, change={"node-0002": None})
    lease = ("--leader-elect=true", "--leader-elect-resource-namespace=default")

    def start():
        return start_controller(standin, NOBODY, *FLAGS, *lease, content=RULES)

    def count(controller):
        return sum(controller.labels("plimsoll_metrics_server_items_total", "result").values())

    writer = start()
    wait_until(lambda: len(all_readings(standin, CPU)) == 2, what="values")
    standby = start()
    wait_until(lambda: count(standby) >= 4, what="the standby to know the nodes")
    began = {controller: count(controller) for controller in (writer, standby)}
    wait_until(lambda: count(standby) >= began[standby] + 8, what="four more lists")
    assert count(writer) >= began[writer] + 2 * 6
    standby.wait_ready()
