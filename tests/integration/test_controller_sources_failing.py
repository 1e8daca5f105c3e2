"""A source's failures are counted as often as they happen, for as long as they last."""

from controller_kit import log_lines, policy, reading
from harness import wait_until

CPU, PEAK = "cpu_usage_avg_5m", "cpu_usage_max_avg_1d"


def test_an_outage_of_metrics_server_shows(start_standin, start_controller):
    """While there is no list, every node fails."""
    standin = start_standin("--nodes", 3)
    standin.admin("nodemetrics", {"on": True})
    flags = ("--metrics-source=metrics-server", "--metrics-server-interval=1s")
    controller = start_controller(standin, 1, *flags, content=policy({CPU: "2s"}))

    def failing():
        return controller.metric("plimsoll_targets_failing", source="metrics-server")

    wait_until(lambda: reading(standin, "node-0002", CPU), what="the first values")
    assert failing() == 0
    standin.fault("status", path="/apis/metrics.k8s.io/", status=503, count=-1)
    wait_until(lambda: failing() == 3, what="all three to fail")
    standin.clear_faults()
    wait_until(lambda: failing() == 0, what="the end of the outage")


def test_one_round_fails_a_node_once(start_standin, start_controller, start_exporters, pretended):
    """Of a node that Prometheus does not know, the end of reading history is no second failure."""
    standin, exporters = start_standin("--nodes", 2), start_exporters()
    pretended.computed[CPU] = [({"instance": "127.1.0.1"}, 0.2)]
    pretended.past = [{"instance": "127.1.0.1"}]
    pretended.history[CPU] = lambda at: 0.4
    controller = start_controller(
        standin,
        exporters,
        *("--metrics-source=prometheus,node-exporter", f"--prometheus-address={pretended.url}"),
        "--prometheus-interval=300s",
        content=policy({CPU: "2s", PEAK: "2s"}),
    )
    wait_until(lambda: reading(standin, "node-0000", PEAK), what="a maximum with history")
    assert pretended.count() == 2, "one round: a query per metric"
    assert log_lines(controller.process, "node switched to another source") == []
