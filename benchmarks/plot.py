"""A picture of how saving, opening and loading grow, out of what `growth` has recorded: two plots in SVG.

Both axes are logarithms, so that what is linear is a straight line with the slope of the grid. Text has the
colour of what it stands in, lines two sets of colours, for light and dark; they differ in their dashes, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

WIDTH, PANEL, LEFT, RIGHT, TOP, BOTTOM = 360, 300, 58, 76, 34, 44
LINES: Final = (
    ("save, sha256", "save", "a", ""),
    ("load every tensor", "load", "b", "7 3"),
    ("open and read one tensor", "open", "c", "2 3"),
)
PANELS: Final = (("bytes", "in 16 tensors", "MB"), ("tensors", "of 64 bytes", "tensors"))
STYLE: Final = (
    "text{font:13px sans-serif;fill:currentColor}.g{stroke:currentColor;stroke-opacity:.2}"
    "polyline{fill:none;stroke-width:2.5}:root{color:#222}"
    ".a{stroke:#b3261e}.b{stroke:#1a5fb4}.c{stroke:#26734d}"
    "@media(prefers-color-scheme:dark){:root{color:#ddd}.a{stroke:#ff8a80}.b{stroke:#8ab4f8}.c{stroke:#7ddba5}}"
)


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis: values from `low` to `high` lie between two places of the picture."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Return where a value lies."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)


def drawn(recorded: Mapping[str, Any]) -> str:
    """Return the picture of recorded figures, as the text of an SVG file."""
    panels = [
        _panel(recorded["grown"][axis], f"{unit} {what}", number * PANEL)
        for number, (axis, what, unit) in enumerate(PANELS)
    ]
    size = f'viewBox="0 0 {WIDTH} {len(PANELS) * PANEL}" width="{WIDTH}" height="{len(PANELS) * PANEL}"'
    title = "Processor time of saving, loading and opening a state dict, against its size"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{title}</title>'
    return "\n".join([head, f"<style>{STYLE}</style>", *panels, "</svg>"]) + "\n"


def _panel(figures: Mapping[str, Any], what: str, down: int) -> str:
    sizes = figures["sizes"]
    every = [value for work, *_ in LINES for value in figures["ms"][work]]
    x = Scale(sizes[0], sizes[-1], LEFT, WIDTH - RIGHT)
    y = Scale(*_decades(every), down + PANEL - BOTTOM, down + TOP)
    lines = [_text(LEFT, down + 18, f"ms, against {what}")]
    for size in sizes:
        lines += [_rule(x.place(size), y.start, x.place(size), y.end)]
        lines += [_text(x.place(size), down + PANEL - BOTTOM + 20, f"{size:,}", "middle")]
    for tick in _ticks(y):
        lines += [_rule(x.start, y.place(tick), x.end, y.place(tick))]
        lines += [_text(LEFT - 8, y.place(tick) + 4, f"{tick:,g}", "end")]
    for work, name, colour, dashes in LINES:
        ms = figures["ms"][work]
        points = " ".join(f"{x.place(size)},{y.place(value)}" for size, value in zip(sizes, ms, strict=True))
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        lines += [f'<polyline class="{colour}"{dashed} points="{points}"/>']
        lines += [_text(x.end + 8, _apart(name, figures, y) + 4, name)]
    return "\n".join(lines)


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Return the powers of ten around all values.

    >>> _decades([2, 350]), _decades([10, 99])
    ((1, 1000), (10, 100))
    """
    return 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)))


def _ticks(scale: Scale) -> list[float]:
    count = round(math.log10(scale.high / scale.low))
    return [scale.low * 10**power for power in range(count + 1)]


def _apart(name: str, figures: Mapping[str, Any], y: Scale) -> float:
    """Return where the name of a line stands: at its end, below that of a line that ends just above it."""
    ends = {short: y.place(figures["ms"][work][-1]) for work, short, *_ in LINES}
    place = -math.inf
    for one, end in sorted(ends.items(), key=lambda item: item[1]):
        place = max(end, place + 15)
        if one == name:
            break
    return round(place, 1)


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="g" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{text}</text>'
