"""Both dashboards drawn with three hours of a cluster's metrics, for eyes and for a look at the layout: every panel
has data, and its title and legend fit. PLIMSOLL_LOG_DIR keeps the pictures."""

import time

import metrics_sample
import pytest
from dashboard_drawing import WIDTH, Drawing
from harness import NIGHTLY
from monitoring_kit import DASHBOARDS
from prometheus_kit import RealPrometheus

NODES = 200 if NIGHTLY else 20
FLAWS = """
[...document.querySelectorAll(".panel")].flatMap((panel) => {
  const name = panel.dataset.title, flaws = [];
  for (const part of panel.querySelectorAll("h2, .legend, .big"))
    if (part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1)
      flaws.push(`${name}: "${part.textContent.slice(0, 40)}" does not fit`);
  if (panel.querySelector(".none")) flaws.push(`${name}: no data`);
  return flaws;
})
"""


@pytest.fixture(scope="module")
def end_unix():
    return int(time.time()) // 60 * 60


@pytest.fixture
def prometheus(run, log_dir, end_unix):
    return RealPrometheus(run, log_dir, {}, blocks=metrics_sample.text(NODES, end_unix))


def test_layout(prometheus, browser, log_dir, tmp_path, end_unix):
    found = []
    for name in DASHBOARDS:
        drawing = Drawing(name, prometheus, end_unix)
        path = tmp_path / f"{name}.html"
        path.write_text(drawing.page(), encoding="utf-8")
        browser.show(path.as_uri(), WIDTH, drawing.height, "dark")
        browser.wait("document.readyState === 'complete'", "the page")
        browser.picture(f"{log_dir}/{name}.png")
        found += browser.evaluate(FLAWS)
        dashed = browser.evaluate("document.querySelectorAll('[stroke-dasharray]').length")
        assert dashed == (name == "load"), "the limit"
    assert found == []
