"""A plan as text for people: what each step does, below the step, in lines of 80 characters."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from packager.texts import WIDTH, counted, in_lines, wrapped

from .plan_rows import Row
from .transforms import Header

_Cells = tuple[str, str]  # a key, or one and what becomes of it; its shape


def plan_text(rows: Sequence[Row], keys: int) -> str:
    """Return a plan step by step, and a last line that counts; `keys` is how many there are afterwards.

    A key that is too long for a line has one of its own.

    >>> shape = (Header((2,), "int8"),)
    >>> print(plan_text([Row("rename a -> b", ("a",), ("b",), shape, shape)], 1))
    rename a -> b
        a -> b  int8[2]
    1 change, 0 skipped, 1 key afterwards
    """
    lines: list[str] = []
    for step, group in itertools.groupby(rows, lambda row: row.step):
        lines += wrapped(step)
        lines += _columns([cells for row in group for cells in _cells(row)])
    changed = sum(not row.skipped for row in rows)
    count = f"{counted(changed, 'change')}, {len(rows) - changed} skipped, {counted(keys, 'key')} afterwards"
    return in_lines(*lines, count)


def _cells(row: Row) -> Iterator[_Cells]:
    """Yield the lines of a row: one for a key that goes on under one name, else one for each name."""
    if row.skipped:
        keys = f"{', '.join(row.old)}: " if row.old else ""
        for line in wrapped(f"{keys}skipped: {row.skipped}", "    "):
            yield line, ""
        return
    before, after = [list(map(_shape, headers)) for headers in (row.before, row.after)]
    if len(row.old) == len(row.new) == 1:
        old, new = row.old[0], row.new[0]
        shape = before[0] if before == after else f"{before[0]} -> {after[0]}"
        text = f"    {old}" if old == new else f"    {old} -> {new}"
        if _fits(text, shape):
            yield text, shape
            return
    for old, shape in zip(row.old, before, strict=True):
        yield f"    {old}", shape
    for new, shape in zip(row.new, after, strict=True):
        yield f"      -> {new}", shape


def _columns(cells: Sequence[_Cells]) -> Iterator[str]:
    """Yield lines in which shapes stand below each other, as far as they fit."""
    widest = max((len(shape) for text, shape in cells if _fits(text, shape)), default=0)
    column = max((len(text) for text, shape in cells if shape and len(text) + 2 + widest <= WIDTH), default=0)
    for text, shape in cells:
        if not shape:
            yield text
        elif _fits(text, shape):
            yield f"{text.ljust(min(column, WIDTH - 2 - len(shape)))}  {shape}"
        else:
            yield text
            yield f"          {shape}"


def _fits(text: str, shape: str) -> bool:
    return len(text) + 2 + len(shape) <= WIDTH


def _shape(header: Header | None) -> str:
    return "-" if header is None else str(header)


def reasons_text(title: str, reasons: Iterable[str]) -> list[str]:
    """Return reasons below a title, each in lines of their own; nothing where there are none.

    >>> reasons_text("does not go back:", ["drop a: it has no inverse"])
    ['does not go back:', '    drop a: it has no inverse']
    """
    lines = [line for reason in reasons for line in wrapped(reason, "    ")]
    return [title, *lines] if lines else []
