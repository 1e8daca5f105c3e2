"""A source's failures are counted as often as they happen, for as long as they last."""

from controller_kit import policy, reading
from harness import wait_until

CPU = "cpu_usage_avg_5m"


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
