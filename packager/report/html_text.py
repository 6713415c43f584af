"""A page as HTML: every text escaped, every table cut where it is too long, which it says.

The page stands alone. Its policy (CSP) allows its own stylesheet and script, by their digests, and nothing
else: no request, no image, no frame, no other script, wherever a text may have come from.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from itertools import islice
from typing import Final

from packager.texts import counted, one_line

from .drawings import histogram, treemap
from .module_html import modules_html
from .records import Block, Cell, Code, Facts, Histogram, Lines, Mark, Modules, Page, Section, Table, Treemap
from .script import SCRIPT
from .stylesheet import STYLESHEET

MOST_BYTES: Final = 1_000_000
"""A page is shorter, whatever it is of."""

_MOST_OF_BLOCKS: Final = 930_000
_LEAST_OF_BLOCK: Final = 8_000  # a title, and what a table has without rows
_LONGEST_TEXT: Final = 240
_LONGEST_LINE: Final = 400
_MOST_LINES: Final = 1_500
_MOST_OF_LINES: Final = 120_000


def text(value: str, longest: int = _LONGEST_TEXT) -> str:
    """Return a text escaped for HTML, with what is hidden spelled out; a long one is cut, and says so.

    >>> text("<b>\\u202e")
    '&lt;b&gt;\\\\u202e'
    >>> text("n" * 300, 10)
    'nnnnnnnnnn… (300 characters)'
    """
    line = one_line(value[: longest + 1])
    if len(value) <= longest and len(line) <= 2 * longest:
        return escape(line)
    return escape(f"{line[:longest]}… ({len(value):,} characters)")


def page_html(page: Page) -> Iterator[str]:
    """Yield a page, piece by piece; the same page is the same text. It has less than `MOST_BYTES` as UTF-8.

    >>> from .records import Section
    >>> html = "".join(page_html(Page("net", "", (Section("one", "One", (Mark("<fine>", "good"),)),))))
    >>> "&lt;fine&gt;" in html, "<fine>" in html, len(html) < MOST_BYTES
    (True, False, True)
    """
    left = _MOST_OF_BLOCKS
    yield _head(page)
    for section in page.sections:
        yield _section_head(section)
        for block in section.blocks:
            for piece in _block(block, left):
                left -= len(piece.encode())
                yield piece
        yield "</section>\n"
    yield f"</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _head(page: Page) -> str:
    policy = (
        f"default-src 'none'; style-src {_digest(STYLESHEET)}; script-src {_digest(SCRIPT)}; "
        "base-uri 'none'; form-action 'none'"
    )
    links = "".join(
        f'<li><a href="#{section.name}">{text(section.title)}'
        f"{f' <small>{text(section.count)}</small>' if section.count else ''}</a></li>"
        for section in page.sections
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{text(page.title)}</title>
<style>{STYLESHEET}</style>
</head>
<body>
<header>
<h1>{text(page.title)}</h1>
<p class="subtitle">{text(page.subtitle)}</p>
<div class="tools" hidden>
<label>Search <input type="search" id="search" autocomplete="off" spellcheck="false"></label>
<button type="button" id="unfold">Unfold all</button>
<button type="button" id="fold">Fold all</button>
<output id="found" for="search"></output>
</div>
<nav aria-label="Sections"><ul>{links}</ul></nav>
</header>
<main>
"""


def _section_head(section: Section) -> str:
    count = f' <small class="count">{text(section.count)}</small>' if section.count else ""
    note = f'<p class="note">{text(section.note, 1000)}</p>\n' if section.note else ""
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-title">\n'
        f'<h2 id="{section.name}-title">{text(section.title)}{count}</h2>\n{note}'
    )


def _block(block: Block, left: int) -> Iterator[str]:
    """Yield a block in no more than about `left` bytes; in its place a line where there is no room."""
    if left < _LEAST_OF_BLOCK:
        yield '<p class="cut">Left out: the page has no room for it.</p>\n'
        return
    match block:
        case Facts():
            yield _facts(block)
        case Table():
            yield from _table(block, min(block.most_bytes, left))
        case Treemap():
            yield f'<div class="scroll" tabindex="0" role="region" aria-label="{text(block.label)}">'
            yield f"{treemap(block, text)}</div>\n"
        case Modules():
            yield from modules_html(block.modules, text, left)
        case Lines():
            yield from _lines(block, min(_MOST_OF_LINES, left))
        case Mark():
            yield f'<p class="said {block.tone}">{text(block.text, 1000)}</p>\n'


def _facts(facts: Facts) -> str:
    rows = "".join(
        f"<div><dt>{text(label)}</dt><dd>{cell_html(value)}</dd></div>" for label, value in facts.rows
    )
    return f'<dl class="facts">{rows}</dl>\n'


def cell_html(cell: Cell) -> str:
    """Return what stands in a cell."""
    match cell:
        case None:
            return ""
        case int():
            return f"{cell:,}"
        case str():
            return text(cell)
        case Mark():
            return f'<span class="mark {cell.tone}">{text(cell.text)}</span>'
        case Code():
            return f"<code>{text(cell.text)}</code>"
        case Histogram():
            return histogram(cell)


def _table(table: Table, most_bytes: int) -> Iterator[str]:
    """Yield a table that folds, with as many rows as it may have, and how many those are."""
    if not table.total:
        return
    searched = ' class="searched"' if table.searched else ""
    columns = "".join(f'<th scope="col">{text(column)}</th>' for column in table.columns)
    rows, shown, length = [], 0, 0
    for row in islice(table.rows, table.most):
        html = _row(row)
        length += len(html.encode())
        if length > most_bytes:
            break
        rows.append(html)
        shown += 1
    cut = shown < table.total
    said = f"{shown:,} of {table.total:,}" if cut else f"{table.total:,}"
    yield f'<details class="table"{" open" if table.is_open else ""}>'
    yield f"<summary>{text(table.title)} <small>{said}</small></summary>\n"
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{text(table.title)}">'
    yield f"<table{searched}><thead><tr>{columns}</tr></thead><tbody>\n"
    yield from rows
    yield "</tbody></table></div>\n"
    if cut:
        yield f'<p class="cut">{table.total - shown:,} more; the page shows {shown:,}.</p>\n'
    yield "</details>\n"


def _row(row: Sequence[Cell]) -> str:
    cells = []
    for at, cell in enumerate(row):
        kind = ' class="number"' if isinstance(cell, int) else ""
        cells.append(
            f'<th scope="row">{cell_html(cell)}</th>' if not at else f"<td{kind}>{cell_html(cell)}</td>"
        )
    return f"<tr>{''.join(cells)}</tr>\n"


def _lines(block: Lines, most_bytes: int) -> Iterator[str]:
    """Yield lines that keep their places; of a diff, each in the colour of its sign."""
    count = counted(len(block.lines), "line")
    yield f'<details class="lines"><summary>{text(block.title)} <small>{count}</small></summary>\n'
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{text(block.title)}"><pre>'
    shown, length = 0, 0
    for line in block.lines[:_MOST_LINES]:
        html = f"{_line(line, block.is_diff)}\n"
        length += len(html.encode())
        if length > most_bytes:
            break
        yield html
        shown += 1
    yield "</pre></div>\n"
    if shown < len(block.lines):
        yield f'<p class="cut">{counted(len(block.lines) - shown, "more line")}.</p>\n'
    yield "</details>\n"


_SIGNS: Final = {"+": "ins", "-": "del"}


def _line(line: str, is_diff: bool) -> str:
    tag = _SIGNS.get(line[:1]) if is_diff else None
    shown = text(line, _LONGEST_LINE)
    return f"<{tag}>{shown}</{tag}>" if tag else shown
