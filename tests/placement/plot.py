"""Plots for docs/placement.md, as plain SVG text that reads on a light and on a dark page.

What is plotted has a `value` and its standard `error`. The policy in question stands out: a large red
ring; what nobody can know is a small grey one.
"""

import math

STYLE = """<style>
text { font: 12px sans-serif; fill: #57606a; }
.grid { stroke: #8b949e; stroke-opacity: .35; }
.one { stroke: #8b949e; stroke-dasharray: 4 3; }
.head { font-weight: bold; }
.ideal { fill: none; stroke: #8b949e; stroke-width: 1.5; }
.ours { fill: none; stroke: #cf222e; stroke-width: 2.5; }
.c1 { fill: #bf8700; stroke: #bf8700; }
.c2 { fill: #8250df; stroke: #8250df; } .c3 { fill: #0969da; stroke: #0969da; }
.c4 { fill: #1f883d; stroke: #1f883d; } .c5 { fill: #bf3989; stroke: #bf3989; }
.c6 { fill: #1b9aaa; stroke: #1b9aaa; } .c7 { fill: #953800; stroke: #953800; }
.line { fill: none; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
text { fill: #adbac7; }
.c2 { fill: #b083f0; stroke: #b083f0; } .c3 { fill: #539bf5; stroke: #539bf5; }
.c4 { fill: #57ab5a; stroke: #57ab5a; } .c7 { fill: #d4895a; stroke: #d4895a; } .ours { stroke: #f47067; }
}
</style>"""
PANEL_WIDTH, PANEL_HEIGHT, PANEL_GAP = 400, 250, 30
LEFT, ROW, TOP, WIDTH, RIGHT = 190, 22, 56, 880, 20
TITLE_HEIGHT = 20
COLOURS = 7


class Plot:
    """Rows below each other, on one logarithmic scale; @title also stands below it."""

    def __init__(self, title, rows, low, high, ticks):
        self.low, self.high, self.count = low, high, 0
        self.height = TOP + ROW * rows + 30 + TITLE_HEIGHT
        self.out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'width="{WIDTH}" height="{self.height}" role="img">',
            f"<title>{title}</title>",
            STYLE,
        ]
        for tick in ticks:
            kind, x = "one" if tick == 1 else "grid", self.at(tick)
            foot = self.height - TITLE_HEIGHT
            self.out.append(f'<path class="{kind}" d="M{x:.1f} {TOP - 6}V{foot - 24}"/>')
            self.out.append(
                f'<text x="{x:.1f}" y="{foot - 8}" text-anchor="middle">{tick:g}</text>'
            )
        if ticks:
            self.title((LEFT + WIDTH - RIGHT) / 2, self.height - 8, title)

    def title(self, x, y, text, turned=""):
        self.out.append(f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle"{turned}>{text}</text>')

    def at(self, value):
        value = min(max(value, self.low), self.high)
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def begin_row(self, label):
        """Its middle."""
        y = TOP + ROW * self.count + ROW / 2
        self.count += 1
        self.out.append(f'<text x="{LEFT - 12}" y="{y + 4:.0f}" text-anchor="end">{label}</text>')
        return y

    def bar_of_error(self, kind, measured, y):
        ends = [self.at(measured.value + sign * measured.error) for sign in (-1, 1)]
        self.out.append(f'<path class="{kind}" d="M{ends[0]:.1f} {y:.0f}H{ends[1]:.1f}"/>')

    def dot(self, kind, radius, x, y):
        self.out.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.0f}" r="{radius}"/>')

    def text(self):
        return "\n".join([*self.out, "</svg>", ""])


def marks(names, ours, ideals):
    """{name: (class, radius)}"""
    others = [name for name in names if name != ours and name not in ideals]
    assert len(others) <= COLOURS, "two would look the same"
    kinds = {name: (f"c{number + 1}", 3.5) for number, name in enumerate(others)}
    return kinds | {name: ("ideal", 4) for name in ideals} | {ours: ("ours", 5)}


def legend(plot, kinds, names):
    wide = [30 + 7 * len(name) for name in names]
    x = min(LEFT, WIDTH - sum(wide))
    for name, width in zip(names, wide, strict=True):
        plot.dot(*kinds[name], x, 26)
        plot.out.append(f'<text x="{x + 9}" y="30">{name}</text>')
        x += width


def dots(title, rows, ours, ideals):
    """A row of dots with error bars for each of {label: {name: measured}}."""
    names = list(next(iter(rows.values())))
    kinds = marks(names, ours, ideals)
    plot = Plot(title, len(rows), 0.01, 5, (0.01, 0.03, 0.1, 0.3, 1, 3))
    legend(plot, kinds, names)
    for label, values in rows.items():
        y = plot.begin_row(label)
        plot.out.append(f'<path class="grid" d="M{LEFT} {y:.0f}H{WIDTH - RIGHT}"/>')
        # What matters most is drawn last.
        for name in sorted(values, key=lambda name: (name == ours, name in ideals)):
            plot.bar_of_error(kinds[name][0], values[name], y)
            plot.dot(*kinds[name], plot.at(values[name].value), y)
    return plot.text()


class Panels(Plot):
    """Side by side, two in a row, each with the same linear axes."""

    def __init__(self, title, count, x_ticks, y_ticks):
        super().__init__(title, 0, 0.1, 1, ())
        self.x_ticks, self.y_ticks, self.corner = x_ticks, y_ticks, (0, 0)
        rows = (count + 1) // 2
        self.height = TOP + rows * (PANEL_HEIGHT + PANEL_GAP)
        self.out[0] = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'width="{WIDTH}" height="{self.height}" role="img">'
        )

    def place(self, x, y):
        shares = [
            (value - ticks[0]) / (ticks[-1] - ticks[0])
            for value, ticks in ((x, self.x_ticks), (y, self.y_ticks))
        ]
        shares[1] = min(max(shares[1], 0), 1)
        return (
            self.corner[0] + 50 + shares[0] * (PANEL_WIDTH - 70),
            self.corner[1] + 20 + (1 - shares[1]) * (PANEL_HEIGHT - 50),
        )

    def begin(self, number, label, titles, x_form):
        self.corner = (
            10 + (number % 2) * (PANEL_WIDTH + PANEL_GAP),
            TOP + number // 2 * (PANEL_HEIGHT + PANEL_GAP) - 10,
        )
        left, right = self.x_ticks[0], self.x_ticks[-1]
        low, high = self.y_ticks[0], self.y_ticks[-1]
        self.out.append(
            f'<text class="head" x="{self.corner[0] + 50}" y="{self.corner[1] + 10}">{label}</text>'
        )
        x, y = self.place((left + right) / 2, low)
        self.title(x, y + 34, titles[0])
        x, y = self.place(left, (low + high) / 2)[0] - 42, self.place(left, (low + high) / 2)[1]
        self.title(x, y, titles[1], f' transform="rotate(-90 {x:.0f} {y:.0f})"')
        for tick in self.x_ticks:
            x, y = self.place(tick, low)
            self.out.append(
                f'<path class="grid" d="M{x:.1f} {y:.1f}V{self.place(tick, high)[1]:.1f}"/>'
            )
            self.out.append(
                f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{x_form.format(tick)}</text>'
            )
        for tick in self.y_ticks:
            x, y = self.place(left, tick)
            kind = "one" if tick == 1 else "grid"
            self.out.append(
                f'<path class="{kind}" d="M{x:.1f} {y:.1f}H{self.place(right, tick)[0]:.1f}"/>'
            )
            self.out.append(
                f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>'
            )

    def curve(self, kind, radius, points):
        """[(x, measured)]"""
        places = [self.place(x, measured.value) for x, measured in points]
        steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        self.out.append(
            f'<g class="line"><path class="{kind}" style="fill: none" d="M{steps}"/></g>'
        )
        for (x, y), (at, measured) in zip(places, points, strict=True):
            ends = [self.place(at, measured.value + sign * measured.error)[1] for sign in (-1, 1)]
            self.out.append(f'<path class="{kind}" d="M{x:.1f} {ends[0]:.1f}V{ends[1]:.1f}"/>')
            self.dot(kind, radius, x, y)


def curves(title, panels, axes, ours, ideals):
    """A panel for each of {label: {name: [(x, measured)]}}; @axes: ticks of x and y, their titles, form of x"""
    names = list(dict.fromkeys(name for rows in panels.values() for name in rows))
    kinds = marks(names, ours, ideals)
    plot = Panels(title, len(panels), *axes[:2])
    if len(names) > 1:
        legend(plot, kinds, names)
    for number, (label, rows) in enumerate(panels.items()):
        plot.begin(number, label, *axes[2:])
        for name in sorted(rows, key=lambda name: (name == ours, name in ideals)):
            plot.curve(*kinds[name], rows[name])
    return plot.text()
