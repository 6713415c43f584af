"""Draws the rooms of both packages and the imports between them, for `docs/design/architecture.md`.

    python docs/draw_rooms.py            write docs/design/rooms.svg
    python docs/draw_rooms.py --check    exit 1 where the drawing is not what the imports say today

One row and one column a room, the ground floor last: a mark says that the room of the row imports the room
of the column. The order is that of `tests/architecture/rooms.py`, so every mark lies right of the diagonal;
one left of it would be an import that goes up.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.architecture.rooms import Import, heights, read_imports, room_of  # noqa: E402 - found only now

DRAWING = ROOT / "docs" / "design" / "rooms.svg"
CELL, LABEL, TOP, GAP = 22, 150, 140, 40
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.title{font-weight:600}"
    ".grid{fill:none;stroke:#8886}.own{fill:#8884}.mark{fill:#2f6f9f}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.mark{fill:#7db7e0}}"
)


def main(arguments: Sequence[str]) -> int:
    drawing = drawn(read_imports())
    if "--check" in arguments:
        current = DRAWING.read_text(encoding="utf-8") if DRAWING.exists() else ""
        if current != drawing:
            print(f"{DRAWING.relative_to(ROOT)} is not what the imports say; run: python docs/draw_rooms.py")
            return 1
        return 0
    DRAWING.write_text(drawing, encoding="utf-8")
    print(f"Written to {DRAWING.relative_to(ROOT)}")
    return 0


def drawn(imports: Mapping[str, Sequence[Import]]) -> str:
    """Return the drawing as SVG text; the same imports give the same text."""
    tables, height, width = [], 0, 0
    for package in ("packager", "kellet"):
        rooms = [room for room in reversed(heights(package)) if not room.startswith("__")]
        tables.append(_table(package, rooms, links(package, imports), height + TOP))
        height += TOP + CELL * len(rooms) + GAP
        width = max(width, LABEL + CELL * len(rooms) + TOP // 2)
    body = "\n".join(tables)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Which room imports which">\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def links(package: str, imports: Mapping[str, Sequence[Import]]) -> set[tuple[str, str]]:
    """Return the pairs of rooms of which the first imports the second, wherever the import stands."""
    return {
        (room_of(module), room_of(each.target))
        for module, found in imports.items()
        for each in found
        if module.split(".")[0] == each.target.split(".")[0] == package
    }


def _table(package: str, rooms: Sequence[str], pairs: set[tuple[str, str]], top: int) -> str:
    lines = [f'<text class="title" x="0" y="{top - 8}">{escape(package)}</text>']
    for row, room in enumerate(rooms):
        y, along = top + CELL * row, LABEL + CELL * row + 14
        lines.append(f'<text transform="translate({along} {top - 8}) rotate(-60)">{escape(room)}</text>')
        lines.append(f'<text x="{LABEL - 8}" y="{y + 16}" text-anchor="end">{escape(room)}</text>')
        for column, other in enumerate(rooms):
            x = LABEL + CELL * column
            kind = "own grid" if room == other else "grid"
            lines.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{CELL}" height="{CELL}"/>')
            if room != other and (room, other) in pairs:
                lines.append(
                    f'<circle class="mark" cx="{x + CELL // 2}" cy="{y + CELL // 2}" r="5">'
                    f"<title>{escape(room)} imports {escape(other)}</title></circle>"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
