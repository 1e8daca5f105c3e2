"""What the other tests lean on does not agree with everything."""

import pytest

from harness import OwnMetrics

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
