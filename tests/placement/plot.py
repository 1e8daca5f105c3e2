"""Plots for docs/placement.md, as plain SVG text that reads on a light and on a dark page."""

import math

STYLE = """<style>
text { font: 12px sans-serif; fill: #57606a; }
.grid { stroke: #8b949e; stroke-opacity: .35; }
.one { stroke: #8b949e; stroke-dasharray: 4 3; }
.c0 { fill: #8b949e; stroke: #8b949e; } .c1 { fill: #bf8700; stroke: #bf8700; }
.c2 { fill: #8250df; stroke: #8250df; } .c3 { fill: #1f883d; stroke: #1f883d; }
.c4 { fill: none; stroke: #cf222e; }
@media (prefers-color-scheme: dark) {
text { fill: #adbac7; }
.c2 { fill: #b083f0; stroke: #b083f0; } .c3 { fill: #57ab5a; stroke: #57ab5a; }
.c4 { stroke: #f47067; }
}
</style>"""
LEFT, ROW, TOP, WIDTH, RIGHT = 150, 22, 56, 760, 20


def _frame(title, rows, low, high, ticks):
    height = TOP + ROW * rows + 30

    def at(value):
        value = min(max(value, low), high)
        share = math.log(value / low) / math.log(high / low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">',
        f"<title>{title}</title>",
        STYLE,
    ]
    for tick in ticks:
        kind = "one" if tick == 1 else "grid"
        x = at(tick)
        out.append(f'<path class="{kind}" d="M{x:.1f} {TOP - 6}V{height - 24}"/>')
        out.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{tick:g}</text>')
    return out, at


def _legend(out, names):
    x = LEFT
    for number, name in enumerate(names):
        out.append(f'<circle class="c{number}" cx="{x}" cy="26" r="4"/>')
        out.append(f'<text x="{x + 9}" y="30">{name}</text>')
        x += 30 + 7 * len(name)


def dots(title, names, rows):
    """A row of dots with error bars for each of {label: {name: (value, error)}}, on a log scale."""
    low, high = 0.01, 5
    out, at = _frame(title, len(rows), low, high, (0.01, 0.03, 0.1, 0.3, 1, 3))
    _legend(out, names)
    for index, (label, values) in enumerate(rows.items()):
        y = TOP + ROW * index + ROW / 2
        out.append(f'<text x="{LEFT - 12}" y="{y + 4:.0f}" text-anchor="end">{label}</text>')
        out.append(f'<path class="grid" d="M{LEFT} {y:.0f}H{WIDTH - RIGHT}"/>')
        for number, name in enumerate(names):
            if name not in values:
                continue
            value, error = values[name]
            ends = (at(value - error), at(value + error))
            out.append(f'<path class="c{number}" d="M{ends[0]:.1f} {y:.0f}H{ends[1]:.1f}"/>')
            out.append(f'<circle class="c{number}" cx="{at(value):.1f}" cy="{y:.0f}" r="4"/>')
    return "\n".join([*out, "</svg>", ""])


def bars(title, rows):
    """A bar from 1 to the value for each of {label: value}, on a log scale."""
    high = max(2.0, *rows.values()) * 1.2
    low = min(0.9, *rows.values()) / 1.1
    ticks = [tick for tick in (0.5, 1, 1.5, 2, 3, 5, 10) if low <= tick <= high]
    out, at = _frame(title, len(rows), low, high, ticks)
    for index, (label, value) in enumerate(rows.items()):
        y = TOP + ROW * index
        begin, end = sorted((at(1), at(value)))
        out.append(f'<text x="{LEFT - 12}" y="{y + 15}" text-anchor="end">{label}</text>')
        out.append(
            f'<rect class="c3" x="{begin:.1f}" y="{y + 4}" width="{max(end - begin, 1):.1f}" '
            f'height="{ROW - 8}"/>'
        )
        out.append(f'<text x="{max(end, at(1)) + 6:.1f}" y="{y + 15}">{value:.2f}</text>')
    return "\n".join([*out, "</svg>", ""])
