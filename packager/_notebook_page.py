"""What a notebook shows of an object at the end of a cell: a title, and tables that fold; no script.

Colours are those of the notebook, light or dark: text has the cell's own, and lines let it shine through.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import islice
from typing import Final, Literal

from packager._texts import counted, one_line, shortened

Tone = Literal["", "good", "bad"]
Row = str | Sequence[str]

_MOST_ROWS: Final = 50
_MOST_OPEN: Final = 12
_LONGEST: Final = 240
# `:is(#kellet,...)` counts as an id, so that Jupyter's rules for tables, of several classes, give way.
_STYLE: Final = """<style>
.kellet-page{max-width:60rem;line-height:1.4;overflow-wrap:anywhere}
@ p{margin:.3rem 0;padding:.1rem .6rem;border-left:.25rem solid #8888}
@ p.good{border-color:#2a9d55}@ p.bad{border-color:#d6404a}
@ details{margin:.2rem 0}
@ summary{cursor:pointer}
@ summary small{opacity:.7}
@ div{overflow-x:auto}
@ table{font:inherit;color:inherit;table-layout:auto;border-collapse:collapse;margin:.2rem 0 .5rem 1rem}
@ tr{padding:0;background:none;border-bottom:1px solid #8884}
@ td{text-align:left;vertical-align:top;padding:.15rem 1rem .15rem 0;max-width:32rem;white-space:pre-wrap;
unicode-bidi:isolate}
@ td:first-child{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.9em}
@ td.number{text-align:right;white-space:nowrap}
@media (min-width:40rem){@ td:first-child:not(:last-child){overflow-wrap:break-word}}
@media (max-width:40rem){
@ table{display:block;margin-left:0}@ tbody{display:block}
@ tr{display:flex;flex-wrap:wrap}@ td.number{margin-left:auto}
}
</style>""".replace("@ ", ":is(#kellet,.kellet-page) ")
_NUMBER: Final = re.compile(r"[\d,.]+( ([KMGT]i)?B| %)?")


def notebook_page(
    title: str, said: str, sections: Iterable[tuple[str, Iterable[Row]]], tone: Tone = ""
) -> str:
    """Return HTML for a cell; every text is escaped, and a long table is cut, which it says.

    A row is its cells, or a line of text whose cells have two spaces between them; one that is indented goes
    on with the line before.

    >>> html = notebook_page("net", "1 <b>", [("stored", ["net  8 B", ("x", "y")]), ("mocked", [])])
    >>> "<td>x</td><td>y</td>" in html, "&lt;b&gt;" in html, "mocked" in html
    (True, True, False)
    """
    parts = "".join(_section(heading, [*_joined(rows)]) for heading, rows in sections)
    head = f"<strong>{_text(title)}</strong>\n" + (f'<p class="{tone}">{_text(said)}</p>\n' if said else "")
    return f'<div class="kellet-page">{_STYLE}\n{head}{parts}</div>'


def _joined(rows: Iterable[Row]) -> Iterator[list[str]]:
    """Yield rows as cells, each line that goes on with the one before put behind it."""
    held: list[str] = []
    for row in rows:
        if isinstance(row, str) and row.startswith(" ") and held:
            held[-1] += f" {row.strip()}"
            continue
        if held:
            yield held
        held = re.split("  +", row.strip()) if isinstance(row, str) else [*row]
    if held:
        yield held


def _section(heading: str, rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    width = max(map(len, rows))
    shown = "".join(_row(row, width) for row in islice(rows, _MOST_ROWS))
    rest = len(rows) - _MOST_ROWS
    cut = f"<small>and {counted(rest, 'more row')}</small>\n" if rest > 0 else ""
    opened = " open" if len(rows) <= _MOST_OPEN else ""
    return (
        f"<details{opened}><summary>{_text(heading)} <small>{len(rows):,}</small></summary>\n"
        f"<div><table>{shown}</table></div>\n{cut}</details>\n"
    )


def _row(row: Sequence[str], width: int) -> str:
    *first, last = map(_text, row)
    wide = f' colspan="{width - len(first)}"' if len(row) < width else ""
    kind = ' class="number"' if first and _NUMBER.fullmatch(last) else ""
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in first)}<td{wide}{kind}>{last}</td></tr>\n"


def _text(text: str) -> str:
    return escape(one_line(shortened(text, _LONGEST)))
