"""Curves in panels, two in a row, as plain SVG text that reads on a light and on a dark page."""

STYLE = """<style>
text { font: 12px sans-serif; fill: #57606a; }
.grid { stroke: #8b949e; stroke-opacity: .35; }
@media (prefers-color-scheme: dark) { text { fill: #adbac7; } }
.line { fill: none; stroke-width: 2; } .first { stroke: #1f883d; } .second { stroke: #bc4c00; }
text.first { fill: #1f883d; stroke: none; } text.second { fill: #bc4c00; stroke: none; }
.title { font-weight: bold; } .mark { stroke-width: 6; stroke-linecap: round; }
</style>"""
PANEL_WIDTH, PANEL_HEIGHT, ROW = 300, 150, 230


def round_up(value):
    """To four equal steps of 1, 2 or 5 times a power of ten."""
    steps = sorted(step * 10.0**power for step in (1, 2, 5) for power in range(-3, 6))
    return 4 * next(step for step in steps if step * 4 >= value)


def _panel(out, left, top, title, curves, most, ticks, marks):
    high = round_up(max(value for _, points in curves for _, value in points))

    def x(at):
        return left + PANEL_WIDTH * at / most

    def y(value):
        return top + PANEL_HEIGHT - PANEL_HEIGHT * value / high

    out.append(f'<text class="title" x="{left}" y="{top - 10}">{title}</text>')
    for part in range(5):
        at = high * part / 4
        out.append(f'<path class="grid" d="M{left} {y(at):.1f}h{PANEL_WIDTH}"/>')
        out.append(f'<text x="{left - 6}" y="{y(at) + 4:.1f}" text-anchor="end">{at:g}</text>')
    for at, label in ticks:
        out.append(
            f'<text x="{x(at):.1f}" y="{top + PANEL_HEIGHT + 16}" text-anchor="middle">'
            f"{label}</text>"
        )
    for kind, (name, points) in zip(("first", "second"), curves):
        points = [(x(at), y(value)) for at, value in points]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        out.append(f'<polyline class="line {kind}" points="{path}"/>')
        for px, py in points if marks else ():
            out.append(f'<path class="line mark {kind}" d="M{px:.1f} {py:.1f}h0"/>')
        out.append(
            f'<text class="{kind}" x="{points[-1][0] + 8:.1f}" y="{points[-1][1] + 4:.1f}">{name}</text>'
        )


def panels(title, drawn, most, ticks, marks=False):
    """[(title, [(name, [(x, y)])])], at most two curves in each; x from 0 to `most`, with a label for
    each of `ticks`, (x, text); with `marks` each point is shown."""
    width, height = 920, ROW * -(-len(drawn) // 2)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        f"<title>{title}</title>",
        STYLE,
    ]
    for index, (name, curves) in enumerate(drawn):
        left, top = 50 + 450 * (index % 2), 36 + ROW * (index // 2)
        _panel(out, left, top, name, curves, most, ticks, marks)
    return "\n".join([*out, "</svg>\n"])
