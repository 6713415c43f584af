"""Messages that fit on a screen, and lists in them of ten items and the number of the others."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["first_of", "on_screen"]


def first_of(items: Sequence[str], most: int = 10) -> list[str]:
    """Return the first items of a list in a message, and how many more there are.

    >>> first_of(["a", "b", "c"], 2)
    ['a', 'b', 'and 1 more']
    """
    rest = len(items) - most
    return [*map(_short, items[:most]), *([f"and {rest:,} more"] if rest > 0 else [])]


def on_screen(text: str, most: int) -> str:
    """Return text in at most so many lines of a screen: of more the first and the last, each whole.

    >>> on_screen("a\\nb\\nc\\nd\\ne\\nf", 5)
    'a\\nb\\nc\\n... 2 more lines, which are in `args` of the error ...\\nf'
    """
    lines = text.split("\n")
    if sum(map(_height, lines)) <= most:
        return text
    head = _fitting(lines, most - 1 - most // 5)
    tail = _fitting(lines[: len(head) - 1 : -1], most // 5)[::-1]
    rest = len(lines) - len(head) - len(tail)
    left_out = [f"... {rest:,} more lines, which are in `args` of the error ..."] if rest else []
    return "\n".join([*head, *left_out, *tail])


def _fitting(lines: Sequence[str], most: int) -> list[str]:
    found = []
    for line in map(_short, lines):
        most -= _height(line)
        if most < 0:
            break
        found.append(line)
    return found


def _height(line: str) -> int:
    return -(-len(line) // 80) or 1


def _short(line: str) -> str:
    return line if len(line) <= 400 else f"{line[:160]}... ({len(line):,} characters) ...{line[-160:]}"
