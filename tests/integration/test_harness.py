"""What is not there, or not run into, fails a test."""

import pytest

from harness import OwnMetrics, StandIn

PAGE = """# TYPE scrapes_total counter
scrapes_total{result="ok",source="a"} 3
# TYPE switches_total counter
"""


@pytest.mark.parametrize(
    "name, more",
    [
        ("scrapes", {}),
        ("scrapes_total", {"source": "c"}),
        ("scrapes_total", {"ource": "a"}),
        ("scrapes_totals", {"default": 0}),
        ("switches_total", {}),
    ],
)
def test_metrics_that_are_not_there_are_not_0(name, more):
    with pytest.raises(AssertionError, match=f"no series {name} "):
        OwnMetrics(PAGE).total(name, **more)


def test_a_fault_that_nothing_ran_into(log_dir):
    standin = StandIn(log_dir, "--nodes", 1)
    standin.fault("status", verb="delete")
    standin.clear_faults()  # withdrawn
    standin.fault("status", verb="list", status=500, count=2)
    assert standin.call("GET", "/api/v1/nodes").status == 500
    standin.fault("status", verb="patch", may_miss=True)  # allowed
    standin.fault("status", verb="update", status=501)
    with pytest.raises(AssertionError, match="nothing ran into it.*'status': 501") as told:
        standin.stop()
    assert "list" not in str(told.value) and "patch" not in str(told.value)
