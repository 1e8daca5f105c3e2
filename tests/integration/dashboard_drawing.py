"""A Grafana dashboard drawn by its JSON and a Prometheus, as one page: panels where gridPos puts them, with title,
unit, thresholds, legend. No more than ours use: stat, timeseries and table."""

import html
import re
import time

import metrics_sample
from monitoring_kit import dashboard

WIDTH, ROW_PX, GAP_PX = 1440, 30, 8  # as Grafana lays out 24 columns
PALETTE = "#73BF69 #F2CC0C #8AB8FF #FF780A #F2495C #5794F2 #B877D9 #705DA0 #37872D #FADE2A".split()
COLOURS = {"green": "#73BF69", "orange": "#FF9830", "red": "#F2495C", "transparent": "none"}
STYLE = """
body { margin: 0; background: #111217; color: #ccccdc; font: 12px sans-serif; position: relative; width: 1440px }
.panel { position: absolute; background: #181b1f; border: 1px solid #2d2f34; box-sizing: border-box; overflow: hidden }
.row { background: none; border: 0 } h2 { font-size: 13px; margin: 6px 8px; height: 16px; white-space: nowrap }
.row h2 { font-size: 15px; height: 20px } .big { font-size: 34px; text-align: center; margin-top: 6px }
h2 i { border: 1px solid; border-radius: 8px; padding: 0 5px; font-size: 9px; color: #8e8e99 }
.legend { margin: 0 8px; max-height: 48px; overflow: hidden }
.legend[style] { position: absolute; top: 30px; right: 0; bottom: 6px; max-height: none } .legend[style] span { display: block }
.legend span { margin-right: 12px; white-space: nowrap }
table { border-collapse: collapse; margin: 0 8px } td, th { padding: 3px 10px; text-align: left; white-space: nowrap }
svg text { fill: #8e8e99; font-size: 11px } .none { text-align: center; color: #8e8e99 }
"""


def show(value, unit, decimals=None):
    """As Grafana formats a value."""
    if unit == "percentunit":
        return f"{100 * value:.{1 if decimals is None else decimals}f} %"
    steps = {"s": [(1, "s"), (1e-3, "ms"), (1e-6, "µs")],
             "bytes": [(2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")],
             "short": [(1e9, "Bil"), (1e6, "Mil"), (1e3, "K"), (1, "")]}[unit]  # fmt: skip
    scale, name = next((step for step in steps if abs(value) >= step[0]), steps[-1])
    return f"{value / scale:.3g} {name}".strip()


def coloured(value, defaults):
    """The colour of the last threshold that the value has reached."""
    steps = defaults.get("thresholds", {}).get("steps", [])
    reached = [step["color"] for step in steps if step["value"] is None or value >= step["value"]]
    return COLOURS[reached[-1]] if reached else PALETTE[0]


VARIABLES = {
    "metric": "cpu_usage_avg_5m",
    "node": ".*",
    "__rate_interval": f"{4 * metrics_sample.STEP_S}s",
}


class Drawing:
    """The hours of metrics_sample.py before `end_unix`, of a RealPrometheus that has them."""

    def __init__(self, name, prometheus, end_unix):
        self.board = dashboard(name)
        self.ask, self.ask_range = prometheus.query, prometheus.query_range
        self.end, span_s = end_unix, metrics_sample.SPAN_S
        self.start, self.step = self.end - span_s, span_s / 360

    def fill(self, text):
        return re.sub(r"\$(\w+)", lambda match: VARIABLES[match[1]], text)

    def lines(self, panel):
        """[(legend, [(unix, value)], has_override)]"""
        found = []
        matchers = [one["matcher"] for one in panel["fieldConfig"]["overrides"]]
        assert all(matcher["id"] == "byRegexp" for matcher in matchers), matchers
        for target in panel["targets"]:
            rows = self.ask_range(self.fill(target["expr"]), self.start, self.end, self.step)
            for labels, points in rows:
                legend = target["legendFormat"]
                legend = re.sub(r"{{(\w+)}}", lambda m, own=labels: own.get(m[1], ""), legend)
                is_matched = [re.search(one["options"].strip("/"), legend) for one in matchers]
                found.append((legend, points, any(is_matched)))
        return found

    def stat(self, panel, _height):
        defaults = panel["fieldConfig"]["defaults"]
        lines = self.lines(panel)
        if not lines:
            return '<p class="none">No data</p>'
        value = lines[0][1][-1][1]
        text = show(value, defaults["unit"], defaults.get("decimals"))
        return f'<div class="big" style="color: {coloured(value, defaults)}">{text}</div>'

    def timeseries(self, panel, height):
        defaults = panel["fieldConfig"]["defaults"]
        lines = self.lines(panel)
        if not lines:
            return '<p class="none">No data</p>'
        if defaults["custom"].get("stacking", {}).get("mode") == "normal":
            below = {}
            for _, points, _ in lines:
                for i, (at, value) in enumerate(points):
                    below[at] = below.get(at, 0) + value
                    points[i] = (at, below[at])
        width = panel["gridPos"]["w"] * WIDTH / 24 - GAP_PX - 16
        beside = panel["options"]["legend"].get("width", 0)
        style = f' style="width: {beside}px"' if beside else ""
        width, height = (width - beside, height - 40) if beside else (width, height - 84)
        values = [value for _, points, _ in lines for _, value in points if value == value]
        low, high = defaults.get("min", min(values, default=0)), max(values, default=1)
        high = high if high > low else low + 1

        def x_of(at):
            return 62 + (at - self.start) / (self.end - self.start) * (width - 70)

        def y_of(value):
            return 6 + (high - value) / (high - low) * (height - 22)

        parts = []
        for i in range(4):
            value = low + (high - low) * i / 3
            label = show(value, defaults["unit"])
            parts.append(f'<text x="58" y="{y_of(value) + 4:.0f}" text-anchor="end">{label}</text>'
                         f'<path d="M62 {y_of(value):.0f}H{width:.0f}" stroke="#2d2f34"/>')  # fmt: skip
            at = self.start + (self.end - self.start) * (i + 0.5) / 4
            clock = time.strftime("%H:%M", time.gmtime(at))
            parts.append(f'<text x="{x_of(at):.0f}" y="{height - 2:.0f}">{clock}</text>')
        legend = []
        for number, (name, points, has_override) in enumerate(lines):
            colour = COLOURS["red"] if has_override else PALETTE[number % len(PALETTE)]
            path, last = "", None
            for at, value in points:
                if value == value:
                    joins = last is not None and at - last < 2 * self.step
                    path += f"{'L' if joins else 'M'}{x_of(at):.1f} {y_of(value):.1f}"
                    last = at
            dashes = ' stroke-dasharray="8 8"' if has_override else ""
            parts.append(f'<path d="{path}" fill="none" stroke="{colour}"{dashes}/>')
            legend.append(f'<span><b style="color: {colour}">▬</b> {html.escape(name)}</span> ')
        return (f'<svg width="{width:.0f}" height="{height:.0f}">{"".join(parts)}</svg>'
                f'<div class="legend"{style}>{"".join(legend)}</div>')  # fmt: skip

    def table(self, panel, height):
        defaults = panel["fieldConfig"]["defaults"]
        asked = [self.ask(self.fill(target["expr"])) for target in panel["targets"]]
        first, *rest = panel["transformations"]
        cells, columns = {}, []
        for target, rows in zip(panel["targets"], asked):
            for labels, value in rows:
                if first["id"] == "groupingToMatrix":
                    column = labels[first["options"]["columnField"]]
                else:
                    (organize,) = rest
                    column = organize["options"]["renameByName"][f"Value #{target['refId']}"]
                if column not in columns:
                    columns.append(column)
                cells.setdefault(labels["node"], {})[column] = value
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ["node", *columns])
        body = []
        for node, row in list(cells.items())[: int(height / 22) - 2]:
            texts = [f"<td>{html.escape(node)}</td>"]
            for column in columns:
                if column not in row:
                    texts.append("<td></td>")
                    continue
                is_filled = defaults.get("custom", {}).get("cellOptions")
                colour = coloured(row[column], defaults) if is_filled else "none"
                ink = "#111217" if colour.startswith("#") else "inherit"
                text = show(row[column], defaults["unit"], defaults.get("decimals"))
                texts.append(f'<td style="background: {colour}; color: {ink}">{text}</td>')
            body.append(f"<tr>{''.join(texts)}</tr>")
        return f"<table><tr>{head}</tr>{''.join(body)}</table>"

    def page(self):
        parts, bottom = [], 0
        for panel in self.board["panels"]:
            at = panel["gridPos"]
            height = at["h"] * (ROW_PX + GAP_PX) - GAP_PX
            top = at["y"] * (ROW_PX + GAP_PX)
            bottom = max(bottom, top + height)
            draw = getattr(self, panel["type"], lambda *_: "")
            title = html.escape(self.fill(panel["title"]))
            told = " <i>i</i>" if panel.get("description") else ""
            parts.append(f'<div class="panel {panel["type"]}" data-title="{title}" style="left: {at["x"] * WIDTH / 24}px; top: {top}px; '
                         f'width: {at["w"] * WIDTH / 24 - GAP_PX}px; height: {height}px"><h2>{title}{told}</h2>{draw(panel, height)}</div>')  # fmt: skip
        self.height = bottom + GAP_PX
        return (f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style>'
                f'<body style="height: {self.height}px">{"".join(parts)}')  # fmt: skip
