"""A page as HTML: every text escaped, every table cut where it is too long, which it says.

The page stands alone. Its policy (CSP) allows its own stylesheet and script, by their digests, and nothing
else: no request, no image, no frame, no other script, wherever a text may have come from.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Final

from packager._texts import ACTIONS, counted, one_line, size_text

from .drawings import histogram, treemap
from .page_assets import SCRIPT, STYLESHEET
from .page_parts import (
    Block,
    Cell,
    Code,
    Facts,
    Histogram,
    Lines,
    Mark,
    ModuleFacts,
    Modules,
    Page,
    Section,
    Site,
    Table,
    Treemap,
)

MOST_BYTES: Final = 1_000_000
"""A page is shorter, whatever it is of."""

_MOST_OF_BLOCKS: Final = 930_000
_LEAST_OF_BLOCK: Final = 8_000  # a title, and what a table has without rows
_LONGEST_TEXT: Final = 240
_LONGEST_LINE: Final = 400
_MOST_LINES: Final = 1_500
_MOST_OF_LINES: Final = 120_000
_STANDARD: Final = "standard library"
_MOST_BELOW: Final = 64  # importers of a package that is only brought in by what is below it
_MOST_OF_MODULES: Final = 320_000
_MOST_PACKAGES: Final = 300
_BYTES_OF_MODULE: Final = 1_000  # about, with some to spare
_MOST_SITES: Final = 6
_LONGEST_CHAIN: Final = 12
_ACTIONS: Final = ("intern", "mock", "deny", "extern")


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

    >>> from .page_parts import Section
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
            yield from _modules(block.modules, left)
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


# --- modules: each package, and why each of its modules is in ---


def _modules(modules: Sequence[ModuleFacts], left: int) -> Iterator[str]:
    """Yield packages with their modules, in no more than about `left` bytes; what is cut is counted."""
    packages: dict[str, list[ModuleFacts]] = defaultdict(list)
    for module in sorted(modules, key=lambda module: module.name):
        packages[_STANDARD if module.is_standard else module.name.partition(".")[0]].append(module)
    ordered = sorted(packages.items(), key=lambda item: (_rank(item[1]), item[0]))
    listed = _Listed(chains(modules))
    rooms = _rooms([len(inside) for _, inside in ordered[:_MOST_PACKAGES]], min(_MOST_OF_MODULES, left))
    for (name, inside), room in zip(ordered, rooms, strict=False):
        yield from listed.package(name, inside, room)
    if rest := sum(len(inside) for _, inside in ordered[_MOST_PACKAGES:]):
        packages_left = counted(len(ordered) - _MOST_PACKAGES, "more package")
        yield f'<p class="cut">{packages_left}, with {counted(rest, "module")}.</p>\n'


def _rooms(counts: Sequence[int], most: int) -> list[int]:
    """Share bytes out among packages with so many modules: small ones get what they need, others the same.

    >>> _rooms([1, 100, 100], 11_000)
    [1000, 5000, 5000]
    """
    rooms = [0] * len(counts)
    for done, at in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
        rooms[at] = min(counts[at] * _BYTES_OF_MODULE, most // (len(counts) - done))
        most -= rooms[at]
    return rooms


def _rank(modules: Sequence[ModuleFacts]) -> int:
    """Return where a package stands: what is stored comes first."""
    actions = {module.action for module in modules}
    return min(_ACTIONS.index(action) if action in _ACTIONS else len(_ACTIONS) for action in actions)


class _Listed:
    """Lists packages with their modules, as far as there is room on the page for each.

    What one package does not need of its room, those after it may have.
    """

    def __init__(self, came: Mapping[str, tuple[Site, ...]]) -> None:
        self._came = came
        self._left = 0

    def package(self, name: str, modules: Sequence[ModuleFacts], room: int) -> Iterator[str]:
        """Yield a package that folds, with as many of its modules as have room; `room` is in bytes."""
        self._left += room
        actions = Counter(module.action for module in modules)
        said = ", ".join(
            f"{count:,} {ACTIONS.get(action, action)}" for action, count in sorted(actions.items())
        )
        size = sum(module.size for module in modules)
        head = (
            f'<details class="package"><summary><code>{text(name)}</code> '
            f"<small>{said}{f', {size_text(size)}' if size else ''}</small></summary>\n<div>\n"
        )
        self._left -= len(head.encode())
        yield head
        shown = 0
        for module in modules:
            html = self._module(module)
            if len(html.encode()) > self._left:
                break
            self._left -= len(html.encode())
            yield html
            shown += 1
        if shown < len(modules):
            more = counted(len(modules) - shown, "more module")
            yield f'<p class="cut">{more}; the page shows {shown:,} of {len(modules):,}.</p>\n'
        yield "</div></details>\n"

    def _module(self, module: ModuleFacts) -> str:
        size = f" <small>{size_text(module.size)}</small>" if module.size else ""
        tone, action = _TONES.get(module.action, ""), ACTIONS.get(module.action, module.action)
        return (
            f'<details class="module"><summary><code>{text(module.name)}</code> '
            f'<span class="mark {tone}">{text(action)}</span>{size}</summary>\n'
            f"<div><p>{text(module.rule)}: {text(module.because)}</p>\n"
            f"{_chain(module, self._came[module.name])}{_importers(module)}</div></details>\n"
        )


_TONES: Final = {"intern": "good", "mock": "warning", "deny": "bad"}


def _chain(module: ModuleFacts, chain: Sequence[Site]) -> str:
    """Return the way from what was asked for: each module, and the line in it that imports the next."""
    if not chain:
        return ""
    shown = chain if len(chain) <= _LONGEST_CHAIN else [*chain[:6], *chain[-6:]]
    steps = [f"<li><code>{text(site.module)}</code> <small>{text(site.place)}</small></li>" for site in shown]
    if len(shown) < len(chain):
        steps.insert(6, f"<li>{counted(len(chain) - len(shown), 'more step')}</li>")
    return f'<ol class="chain">{"".join(steps)}<li><code>{text(module.name)}</code></li></ol>\n'


def _importers(module: ModuleFacts) -> str:
    """Return who imports a module, where there are more than the one that the chain has shown."""
    if len(module.sites) < 2:
        return ""
    shown = [f"<code>{text(site.place)}</code>" for site in module.sites[:_MOST_SITES]]
    if more := len(module.sites) - len(shown):
        shown.append(f"{more:,} more")
    return f"<p>imported at {', '.join(shown)}</p>\n"


def chains(modules: Sequence[ModuleFacts]) -> dict[str, tuple[Site, ...]]:
    """Return for each module the shortest chain of imports that leads to it, from what was asked for.

    A site of the chain is a statement: the module that holds it, and its place. What was asked for has an
    empty one, and so has a package that only its submodules brought in and nobody imports.

    >>> sites = (Site("a", "a.py:3"),)
    >>> chains([ModuleFacts("b", "intern", "", "", 0, sites), ModuleFacts("a", "intern", "", "")])["b"]
    (Site(module='a', place='a.py:3'),)
    """
    known = {module.name: module for module in modules}
    sites = _sites(modules)
    imports: dict[str, list[tuple[str, Site]]] = defaultdict(list)
    for name in sorted(known):
        for site in sites[name]:
            imports[site.module].append((name, site))
    came_by: dict[str, tuple[Site | None, str]] = {
        name: (None, "") for name in sorted(known) if not any(site.module in known for site in sites[name])
    }
    waiting = deque(came_by)
    while waiting:
        importer = waiting.popleft()
        for name, site in imports[importer]:
            if name not in came_by:
                came_by[name] = (site, importer)
                waiting.append(name)
    return {name: _way_back(name, came_by) for name in known}


def _sites(modules: Sequence[ModuleFacts]) -> dict[str, tuple[Site, ...]]:
    """Return who imports each module; for a package without importers, who imports what is below it."""
    found = {module.name: module.sites for module in modules}
    below: dict[str, list[Site]] = defaultdict(list)
    for module in modules:
        package = module.name.rpartition(".")[0]
        while package and found.get(package) == ():
            outside = [one for one in module.sites if not f"{one.module}.".startswith(f"{package}.")]
            below[package] += outside[: _MOST_BELOW - len(below[package])]
            package = package.rpartition(".")[0]
    return {name: sites or tuple(below[name]) for name, sites in found.items()}


def _way_back(name: str, came_by: Mapping[str, tuple[Site | None, str]]) -> tuple[Site, ...]:
    """Return the way back from a module. What is only in a circle of imports has none."""
    found: list[Site] = []
    while name in came_by:
        site, name = came_by[name]
        if site is None:
            break
        found.append(site)
    return tuple(reversed(found))
