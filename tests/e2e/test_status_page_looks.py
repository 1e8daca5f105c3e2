"""The status page in a real browser, with clusters of several sizes: nothing overlaps, overflows or is cut, the
keyboard works, and what nodes are called cannot run as a script. PLIMSOLL_LOG_DIR keeps the pictures."""

import json
import re

import pytest

from status_sample import HOSTILE, sample
from status_site import Site

DESKTOP, TABLET, PHONE = (1280, 800), (768, 1024), (360, 780)
ROWS_MAX = 120

# What is wrong with the layout of everything within `root` that is in sight.
FLAWS = """
((root, isTop) => {
  const flaws = [], pieces = [], seen = (box) => box.width > 0 && box.height > 0 && box.top < innerHeight && box.bottom > 0;
  if (document.documentElement.scrollWidth > innerWidth) flaws.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  const name = (element) => `${element.tagName} "${element.textContent.trim().slice(0, 40)}"`;
  for (const element of root.querySelectorAll("*")) {
    const own = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const style = getComputedStyle(element);
    if (!own.length || !element.checkVisibility({ visibilityProperty: true }) || element.closest(".skip, noscript, option, title, [aria-hidden=true] .row")) continue;
    const range = document.createRange();
    for (const node of own) {
      range.selectNodeContents(node);
      for (let box of range.getClientRects()) {
        if (!seen(box)) continue;
        for (let up = element; up && up !== root; up = up.parentElement)
          if (getComputedStyle(up).overflowX !== "visible") {
            const around = up.getBoundingClientRect();
            box = new DOMRect(Math.max(box.left, around.left), box.top, Math.min(box.right, around.right) - Math.max(box.left, around.left), box.height);
          }
        if (box.width <= 0) continue;
        if (box.left < -1 || box.right > innerWidth + 1) flaws.push(`${name(element)} leaves the screen`);
        const sheet = element.closest("section");
        if (sheet && box.right > sheet.getBoundingClientRect().right) flaws.push(`${name(element)} leaves its section`);
        pieces.push({ element, box });
      }
    }
    if (element.scrollWidth > element.clientWidth + 1 && style.overflowX === "hidden" && !element.closest("[title]")) flaws.push(`${name(element)} is cut`);
  }
  const head = isTop ? 0 : document.querySelector("thead").getBoundingClientRect().bottom;
  pieces.forEach((a, i) => pieces.slice(i + 1).forEach((b) => {
    if (a.element === b.element) return;
    if (!isTop && Math.min(a.box.top, b.box.top) < head) return; /* rows pass under the titles */
    const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
    const high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
    if (wide > 1 && high > 3) flaws.push(`${name(a.element)} and ${name(b.element)} overlap by ${wide.toFixed()} x ${high.toFixed()}`);
  }));
  const blocks = [...document.querySelectorAll("header, #notices:not([hidden]), #tiles, main > section, .columns > section, footer")].map((block) => block.getBoundingClientRect());
  blocks.forEach((a, i) => blocks.slice(i + 1).forEach((b) => {
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) flaws.push("two blocks overlap");
  }));
  return [...new Set(flaws)].slice(0, 10);
})(%s, %s)
"""


@pytest.fixture
def site():
    served = Site()
    yield served
    served.close()


def show(browser, site, status, size, scheme="light"):
    site.status = json.dumps(status).encode()
    browser.show(site.url, *size, scheme, is_phone=size == PHONE)
    browser.wait("document.querySelectorAll('tr.row').length > 0", "the rows")


def flaws(browser, root="document.body", is_top=True):
    return browser.evaluate(FLAWS % (root, str(is_top).lower()))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, TABLET, PHONE], ids=["desktop", "tablet", "phone"])
@pytest.mark.parametrize("count", [3, 200, 5000])
def test_layout(browser, site, log_dir, count, size, scheme):
    show(browser, site, sample(count), size, scheme)
    browser.picture(f"{log_dir}/top.png")
    assert flaws(browser) == []
    # In the middle of the table, at the end of the page, and a node in full.
    for place in ("innerHeight", "document.body.scrollHeight"):
        browser.evaluate(f"scrollTo(0, {place})")
        browser.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
        assert flaws(browser, is_top=False) == []
    browser.picture(f"{log_dir}/end.png")
    assert browser.evaluate("document.querySelectorAll('tr').length") < ROWS_MAX
    browser.evaluate("document.querySelector('tr.row').click()")
    browser.picture(f"{log_dir}/node.png")
    assert flaws(browser, "document.querySelector('dialog')") == []
    assert browser.complaints() == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_hostile_names(browser, site, log_dir, size):
    show(browser, site, sample(4, hostile=True), size)
    browser.picture(f"{log_dir}/top.png")
    assert flaws(browser) == []
    name = json.dumps(HOSTILE)
    browser.evaluate(
        f"[...document.querySelectorAll('tr.row')].find((row) => row.textContent.includes({name})).click()"
    )
    browser.picture(f"{log_dir}/node.png")
    assert HOSTILE in browser.evaluate("document.querySelector('dialog').textContent")
    assert flaws(browser, "document.querySelector('dialog')") == []
    assert browser.evaluate("document.querySelectorAll('img, iframe').length") == 0
    assert browser.complaints() == []


@pytest.mark.parametrize("size", [DESKTOP, TABLET, PHONE], ids=["desktop", "tablet", "phone"])
def test_the_limits_make_one_line(browser, site, size):
    """Whatever number stands next to a bar, bold or not."""
    status = sample(20)
    for share, row in zip((12.5, 1.21, 1, 0.98, 0.05), status["nodes"]):
        row["limitShare"] = share
    show(browser, site, status, size)
    marks = "[...document.querySelectorAll('td.load .gauge b')].map((one) => one.getBoundingClientRect().left)"
    found = browser.evaluate(marks)
    assert len(found) > 5 and len(set(found)) == 1


@pytest.mark.parametrize(
    "steps, name", [(30, "last hour"), (2, "last 4\u00a0min"), (1, "last 2\u00a0min")]
)
def test_charts_say_how_far_they_reach(browser, site, steps, name):
    """The controllers of a cluster that has just been set up do not know an hour."""
    status = sample(3)
    for row in status["nodes"]:
        row["history"] = [[*[None] * (30 - steps), *past[30 - steps :]] for past in row["history"]]
    show(browser, site, status, DESKTOP)
    titles = browser.evaluate("document.querySelector('thead').textContent")
    assert titles.count(name) == 2 and titles.count("last ") == 2
    assert flaws(browser) == []
    cut = "[...document.querySelectorAll('th button')].filter((one) => one.scrollWidth > one.clientWidth).length"
    assert browser.evaluate(cut) == 0
    # A chart is as wide as what is known.
    drawn = "[...document.querySelectorAll('td .spark path:last-child')].map((path) => path.getBBox().width)"
    assert set(browser.evaluate(drawn)) == {100}
    browser.evaluate("document.querySelector('tr.row button').click()")
    detail = browser.evaluate("document.getElementById('detail').textContent")
    assert f"cpu, {name}, 0 to 100%" in detail


def test_no_chart_of_nothing(browser, site):
    """Of one node that has just come, and of all in a cluster's first minutes."""
    status = sample(3)
    status["nodes"][0]["history"] = [[None] * 30, []]
    show(browser, site, status, DESKTOP)
    name = json.dumps(status["nodes"][0]["name"])
    row = (
        f"[...document.querySelectorAll('tr.row')].find((one) => one.textContent.includes({name}))"
    )
    assert (
        browser.evaluate(f"{row}.querySelectorAll('.spark path:last-child:not([d=\\'\\'])').length")
        == 0
    )
    browser.evaluate(f"{row}.click()")
    assert browser.evaluate("document.querySelectorAll('dialog .spark').length") == 0
    for node in status["nodes"]:
        node["history"] = [[None] * 30, []]
    show(browser, site, status, DESKTOP)
    assert "last" not in browser.evaluate("document.querySelector('thead').textContent")


def test_limits_of_a_pool(browser, site):
    """The marks of a node stand at the limits of its pool, which the policy's part of the page has."""
    status = sample(3)
    for name, row in zip("abc", status["nodes"]):
        row.update(name=name, usage=[0.3] * 5, limitShare=0.3 / 0.8)
    limits = [0.2, None, None, None, None]
    status["nodes"][0] |= {"pool": 1, "limits": limits, "limitShare": 1.5}
    status["policy"]["pools"] = [{"nodeSelector": {"pool": "batch", "zone": "b"}, "limits": limits}]
    show(browser, site, status, DESKTOP)
    cells = (
        "[...document.querySelectorAll('tr.row')].map((line) => [...line.querySelectorAll('td.metric')]"
        ".map((cell) => cell.querySelector('b')?.style.left || ''))"
    )
    assert browser.evaluate(cells) == [["20%", *4 * [""]], *2 * [["80%", "", "", "80%", ""]]]
    over = "[...document.querySelectorAll('td.metric.over')].length"
    assert browser.evaluate(over) == 1
    browser.evaluate("document.querySelector('tr.row button').click()")
    browser.wait("document.getElementById('detail').open", "the node in full")
    detail = browser.evaluate("document.getElementById('detail').textContent")
    assert " · pool 1" in detail and "20%" in detail and "80%" not in detail
    told = browser.evaluate("document.getElementById('policy-body').textContent")
    assert "1pool=batch, zone=bcpu avg 5m 20%" in told


def test_a_node_that_comes_last(browser, site):
    """It passes, and is above a limit."""
    status = sample(3)
    for name, row in zip("abc", status["nodes"]):
        row.pop("reason", None)
        row.update(name=name, verdict="passes", usage=[0.3] * 5, limitShare=0.3 / 0.8)
    status["nodes"][0] |= {"reason": "cpu_usage_avg_5m above 0.2", "limitShare": 1.5}
    status["verdicts"] = {"passes": 3, "rejected": 0, "closed": 0, "unknown": 0}
    show(browser, site, status, DESKTOP)
    told = "[...document.querySelectorAll('td.verdict')].map((cell) => cell.textContent)"
    assert browser.evaluate(told) == ["last; above: cpu avg 5m", "passes", "passes"]
    assert not flaws(browser)
    tiles = browser.evaluate("document.getElementById('tiles').textContent")
    assert "3pass0rejected" in tiles
    for row in status["nodes"]:
        row.update(reason="cpu_usage_avg_5m above 0.2", limitShare=1.5)
    show(browser, site, status | {"isAllOver": True}, DESKTOP)
    assert browser.evaluate(told) == ["passes, since all are above: cpu avg 5m"] * 3
    assert not flaws(browser)


def test_the_policy_is_enforced(browser, site):
    """Were something to slip through, the browser would not run it."""
    show(browser, site, sample(3), DESKTOP)
    assert not browser.evaluate(
        "(() => { const s = document.createElement('p'); try { s.innerHTML = '<b>x</b>'; } catch {} return s.children.length; })()"
    )
    assert not browser.evaluate(
        "fetch('http://127.0.0.2:9/').then(() => 'asked', (error) => error.name === 'TypeError' ? '' : error.name)"
    )
    assert any("Content Security Policy" in text for text in browser.complaints())


def test_keyboard(browser, site):
    show(browser, site, sample(200), DESKTOP)
    counted = "document.getElementById('count').textContent"
    browser.press("/", "/")
    assert browser.evaluate("document.activeElement.id") == "filter"
    for letter in "zone=zone-b pool=web":
        browser.press(letter, letter)
    rows = sample(200)["nodes"]
    zone = "topology.kubernetes.io/zone"
    wanted = [row["name"] for row in rows if row["labels"] == {zone: "zone-b", "pool": "web"}]
    assert browser.evaluate(counted).startswith(f"{len(wanted)} of 200 ")
    assert browser.evaluate("location.hash") == "#q=zone%3Dzone-b+pool%3Dweb"
    names = "[...document.querySelectorAll('tr.row .name button')].map((one) => one.textContent)"
    assert sorted(browser.evaluate(names)) == sorted(wanted)
    # By load at first: what is not known stands at the end.
    loads = {row["name"]: row.get("limitShare", -1) for row in rows}
    assert browser.evaluate(names) == sorted(wanted, key=lambda name: -loads[name])

    browser.evaluate("document.querySelector('tr.row button').focus()")
    browser.press("ArrowDown")
    browser.press("ArrowDown")
    assert browser.evaluate("document.activeElement.textContent") == browser.evaluate(names)[2]
    browser.press("Enter", "\r")
    browser.wait("document.getElementById('detail').open", "the node in full")
    detail = browser.evaluate("document.getElementById('detail').textContent")
    assert " · taint level " in detail
    assert re.search(r" · idle CPU: [\d.]+ offered, [\d.]+ taken, [\d.]+ used · ", detail)
    browser.press("Escape")
    browser.wait("!document.getElementById('detail').open", "the end of it")
    browser.evaluate("document.getElementById('map').focus()")
    browser.press("ArrowRight")
    assert browser.evaluate("document.getElementById('under').textContent").startswith(
        browser.evaluate(names)[0]
    )
    # A title sorts; again, the other way round.
    for _ in range(2):
        browser.evaluate("document.querySelector('th button[data-key=name]').click()")
    assert browser.evaluate(names) == sorted(wanted, reverse=True)


def test_trouble_is_told(browser, site):
    show(browser, site, sample(3), DESKTOP)
    asked = site.asked
    browser.evaluate("document.getElementById('pause').click()")
    site.status = b""
    browser.evaluate("document.getElementById('pause').click()")
    browser.wait("!document.getElementById('trouble').hidden", "the notice")
    assert site.asked == asked + 1
    said = browser.evaluate("document.getElementById('trouble').textContent")
    assert said == "Cannot read status.json: HTTP 503. The page shows older data."
    assert browser.evaluate("document.querySelectorAll('tr.row').length") == 3
    assert flaws(browser) == []
