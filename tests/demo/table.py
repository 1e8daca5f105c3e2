"""A table of nodes: bars and colours in a terminal, plain text in a pipe (and with NO_COLOR)."""

import dataclasses
import os

BAR_CELLS = 6
HOT_RATIO = 0.65
WARM_RATIO = 0.50


@dataclasses.dataclass
class Row:
    node: str
    score: int
    score100: int
    cpu: float | None
    cpu_1h: float | None
    mem: float | None
    mem_1h: float | None
    hot: float | None
    verdict: str


class Style:
    def __init__(self, out):
        self.is_terminal = out.isatty()
        self.has_colour = self.is_terminal and not os.environ.get("NO_COLOR")

    def paint(self, text, code):
        return f"\x1b[{code}m{text}\x1b[0m" if self.has_colour else text

    def usage(self, ratio, with_bar):
        """A bar and a percentage, always equally wide."""
        number = "   -" if ratio is None else f"{round(ratio * 100):3}%"
        if not (with_bar and self.is_terminal):
            return number
        filled = 0 if ratio is None else min(BAR_CELLS, round(ratio * BAR_CELLS))
        bar = "█" * filled + "░" * (BAR_CELLS - filled)
        if ratio is None:
            colour = "2"
        else:
            colour = "31" if ratio > HOT_RATIO else "33" if ratio > WARM_RATIO else "32"
        return f"{self.paint(bar, colour)} {number}"


def render(rows, style):
    """Lines without a final newline."""
    wide = max(4, *(len(row.node) for row in rows))
    usage = BAR_CELLS + 5 if style.is_terminal else 6
    head = (
        f"{'NODE':<{wide}}  SCORE  /100  {'CPU 5m':>{usage}}  {'1h max':>6}  "
        f"{'MEM 5m':>{usage}}  {'1h max':>6}  RECENT  VERDICT"
    )
    lines = [style.paint(head, "1")]
    for row in rows:
        pad = "" if style.is_terminal else "  "
        hot = "-" if row.hot is None else f"{row.hot:.0f}"
        lines.append(
            f"{row.node:<{wide}}  {row.score:>5}  {row.score100:>4}  "
            f"{pad}{style.usage(row.cpu, True)}  {style.usage(row.cpu_1h, False):>6}  "
            f"{pad}{style.usage(row.mem, True)}  {style.usage(row.mem_1h, False):>6}  "
            f"{hot:>6}  {style.paint(row.verdict, '32' if row.verdict == 'ok' else '31')}"
        )
    return "\n".join(lines)
