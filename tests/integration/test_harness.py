"""What the other tests lean on does not agree with everything."""

import pytest

from harness import Exporters, OwnMetrics, StandIn, fetch, wait_until
from prometheus_kit import PretendedPrometheus

PAGE = """# HELP scrapes_total Scrapes.
# TYPE scrapes_total counter
scrapes_total{result="ok",source="a"} 3
scrapes_total{result="ok",source="b"} 4
scrapes_total{result="late, \\"very\\"",source="b"} 1
# HELP age_seconds Age.
# TYPE age_seconds histogram
age_seconds_bucket{le="+Inf"} 2
age_seconds_count 2
# TYPE switches_total counter
"""


def test_metrics_that_are_there():
    metrics = OwnMetrics(PAGE)
    assert metrics["age_seconds_count"] == metrics.total("age_seconds_count") == 2
    assert metrics.total("scrapes_total") == 8
    assert metrics.total("scrapes_total", source="b", result="ok") == 4
    assert metrics.by_label("scrapes_total", "source") == {"a": 3, "b": 5}
    assert metrics.by_label("scrapes_total", "result") == {"ok": 7, r"late, \"very\"": 1}
    assert metrics.total("switches_total", default=0) == 0
    assert metrics.total("scrapes_total", default=0, source="c") == 0


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


def test_labels_that_are_not_there():
    for name, label in (("scrapes_total", "res"), ("scrape_total", "result")):
        with pytest.raises(AssertionError, match="no series"):
            OwnMetrics(PAGE).by_label(name, label)


def test_a_series_that_is_there_twice():
    with pytest.raises(AssertionError, match="twice.*age_seconds_count"):
        OwnMetrics(PAGE + "age_seconds_count 2\n")


# -- what was ordered must have been met ------------------------------------------------------


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
    assert not standin.process.is_running()


def test_trouble_that_no_scrape_ran_into(log_dir):
    exporters = Exporters(log_dir)
    exporters.trouble(["a"], "status")
    exporters.well()  # withdrawn
    exporters.trouble("all", "status", code=501)
    assert exporters.page("b").status == 501
    exporters.trouble(["c"], "status", code=502)
    exporters.trouble(["c"], "status", code=503)  # replaced before anybody came
    exporters.trouble(["d"], "status", code=504, may_miss=True)  # allowed
    assert exporters.page("c").status == 503
    with pytest.raises(AssertionError, match="nothing ran into it") as told:
        exporters.stop()
    assert "502" in str(told.value)
    assert not any(code in str(told.value) for code in ("500", "501", "503", "504"))
    assert not exporters.process.is_running()


def test_trouble_that_no_query_ran_into():
    pretended = PretendedPrometheus()

    def ask(name):
        query = f'{{__name__="{name}"}}'.replace("{", "%7B").replace('"', "%22")
        return fetch(f"{pretended.url}/api/v1/query?query={query}").status

    def only_b(handler, asked):
        return asked.name == "b" and not handler.send_error(500)

    def nobodys(_handler, _asked):
        return True

    try:
        pretended.trouble = nobodys
        pretended.trouble = None  # withdrawn
        pretended.trouble = only_b
        assert ask("a") == 200
        assert pretended.never_hit() == [only_b]
        assert ask("b") == 500
        wait_until(lambda: pretended.never_hit() == [], what="the hit to be recorded")
        pretended.trouble = nobodys
        pretended.trouble = only_b  # replaced before anybody came
        pretended.trouble = None
        assert pretended.never_hit() == [nobodys]
    finally:
        pretended.close()
