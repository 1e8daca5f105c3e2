"""A table of nodes: bars and colours in a terminal, plain text in a pipe (and with NO_COLOR)."""

import dataclasses
import os

BAR_CELLS = 6


@dataclasses.dataclass
class Row:
    node: str
    score: int | None  # None: rejected
    cpu: float | None
    mem: float | None
    pods: int  # of the burst
    counted: str  # what the policy counts them by
    verdict: str


class Style:
    def __init__(self, out):
        self.is_terminal = out.isatty()
        self.has_colour = self.is_terminal and not os.environ.get("NO_COLOR")

    def paint(self, text, code):
        return f"\x1b[{code}m{text}\x1b[0m" if self.has_colour else text

    def usage(self, ratio, limit_ratio):
        """A bar and a percentage, always equally wide."""
        number = "   -" if ratio is None else f"{round(ratio * 100):3}%"
        if not self.is_terminal:
            return f"  {number}"
        filled = 0 if ratio is None else min(BAR_CELLS, round(ratio * BAR_CELLS))
        bar = "█" * filled + "░" * (BAR_CELLS - filled)
        colour = "2" if ratio is None else "31" if ratio > limit_ratio else "32"
        return f"{self.paint(bar, colour)} {number}"


def render(rows, counted, limit_ratio, style):
    """Lines without a final newline; `counted`: the title of that column."""
    wide = max(4, *(len(row.node) for row in rows))
    usage = BAR_CELLS + 5 if style.is_terminal else 6
    head = (
        f"{'NODE':<{wide}}  SCORE  {'CPU 5m':>{usage}}  {'MEM 5m':>{usage}}  "
        f"PODS  {counted}  VERDICT"
    )
    lines = [style.paint(head, "1")]
    for row in rows:
        score = "-" if row.score is None else row.score
        lines.append(
            f"{row.node:<{wide}}  {score:>5}  {style.usage(row.cpu, limit_ratio)}  "
            f"{style.usage(row.mem, limit_ratio)}  {row.pods:>4}  {row.counted:>{len(counted)}}  "
            f"{style.paint(row.verdict, '32' if row.verdict == 'ok' else '31')}"
        )
    return "\n".join(lines)
