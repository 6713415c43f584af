"""Templates on all keys at once: a column for each hole in place of a record for each key.

What one pass over columns cannot do, and what may be wrong at one key, is told by None; then each key is
matched, and filled, for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Final

from packager.archive import MAX_MIGRATED_KEY
from packager.quick_dataclasses import dataclass

from .template_holes import DIGITS, Hole, Linear, Part

_AS_IT_IS: Final = Linear()


@dataclass(frozen=True, slots=True)
class Columns:
    """The keys that a template fits, and by the name of a hole what stands there in each of them.

    `numbers` names the holes that stand for numbers; their texts are as these are written.
    """

    keys: Sequence[str]
    texts: Mapping[str, Sequence[str]]
    numbers: frozenset[str]

    def values(self, name: str) -> Sequence[str | int]:
        """Return what a hole stands for, key by key."""
        texts = self.texts[name]
        return list(map(int, texts)) if name in self.numbers else texts

    def rows(self) -> Iterator[tuple[str, dict[str, str | int]]]:
        """Yield each key with what the holes stand for in it."""
        names = tuple(self.texts)
        for key, found in zip(self.keys, zip(*map(self.values, names), strict=True), strict=True):
            yield key, dict(zip(names, found, strict=True))

    def only(self, chosen: Sequence[bool]) -> Columns:
        """Return the rows that are chosen."""
        texts = {name: list(compress(column, chosen)) for name, column in self.texts.items()}
        return Columns(list(compress(self.keys, chosen)), texts, self.numbers)


def matched(parts: Sequence[Part], regex: re.Pattern[str], keys: Iterable[str]) -> Columns:
    """Return the keys that fit, in their order, with what the holes stand for.

    No hole stands twice in `parts`, and `regex` matches them, a group for each hole.

    >>> parts = (Hole("p", "any"), ".gamma")
    >>> matched(parts, re.compile(r"(.*?)\\.gamma", re.DOTALL), ["norm.gamma", "norm.beta"])
    Columns(keys=['norm.gamma'], texts={'p': ['norm']}, numbers=frozenset())
    """
    near = near_keys(parts, keys)
    holes = [part for part in parts if isinstance(part, Hole)]
    if len(holes) == 1 and holes[0].kind == "any":
        start, stop = (len(part) if isinstance(part, str) else 0 for part in (parts[0], parts[-1]))
        near = [key for key in near if len(key) >= start + stop]
        texts = [key[start:-stop] for key in near] if stop else [key[start:] for key in near]
        return Columns(near, {holes[0].name: texts}, frozenset())
    found = [match for match in map(regex.fullmatch, near) if match is not None]
    groups = [match.groups() for match in found]
    columns = {hole.name: [group[at] for group in groups] for at, hole in enumerate(holes)}
    numbers = frozenset(hole.name for hole in holes if hole.kind == "int")
    rows = Columns([match.string for match in found], columns, numbers)
    for hole in holes:
        if hole.kind == "int":
            rows = _counted(rows, hole)
    return rows


def near_keys(parts: Sequence[Part], keys: Iterable[str]) -> list[str]:
    """Return the keys that begin and end as a template does."""
    head, tail = (part if isinstance(part, str) else "" for part in (*parts[:1], *parts[-1:]))
    if not head:
        return [key for key in keys if key.endswith(tail)]
    if not tail:
        return [key for key in keys if key.startswith(head)]
    return [key for key in keys if key.startswith(head) and key.endswith(tail)]


def _counted(rows: Columns, hole: Hole) -> Columns:
    """Return the rows in which a hole of numbers has one that it can stand for."""
    texts = rows.texts[hole.name]
    if max(map(len, texts), default=0) > DIGITS:
        rows = rows.only([len(text) <= DIGITS for text in texts])
        texts = rows.texts[hole.name]
    if hole.linear == _AS_IT_IS:
        return rows
    values = [hole.linear.undo(int(text)) for text in texts]
    chosen = [value is not None and value >= 0 for value in values]
    rows = rows.only(chosen)
    written = [str(value) for value, is_one in zip(values, chosen, strict=True) if is_one]
    return Columns(rows.keys, {**rows.texts, hole.name: written}, rows.numbers)


def filled(parts: Sequence[Part], columns: Columns) -> list[str] | None:
    """Return the key that a template stands for, row by row.

    None where one of them is an error: a number below zero, arithmetic on text, a key longer than any.

    >>> rows = Columns(["a.1", "a.2"], {"n": ["1", "2"]}, frozenset("n"))
    >>> filled(("b.", Hole("n", "int", Linear(1, 1))), rows)
    ['b.2', 'b.3']
    """
    texts = [_written(part, columns) for part in parts if isinstance(part, Hole)]
    known = [column for column in texts if column is not None]
    if len(known) < len(texts):
        return None
    if len(known) == 1:
        before, after = _around(parts)
        keys = [before + text + after for text in known[0]] if after else [before + text for text in known[0]]
    else:
        form = "".join(part.replace("%", "%%") if isinstance(part, str) else "%s" for part in parts)
        keys = list(map(form.__mod__, zip(*known, strict=True))) if known else [form % ()] * len(columns.keys)
    return keys if max(map(len, keys), default=0) <= MAX_MIGRATED_KEY else None


def _around(parts: Sequence[Part]) -> tuple[str, str]:
    """Return the texts before and after the only hole."""
    before, after = (part if isinstance(part, str) else "" for part in (parts[0], parts[-1]))
    return before, after


def _written(hole: Hole, columns: Columns) -> Sequence[str] | None:
    """Return what is written for a hole, row by row; None where one would be an error."""
    texts = columns.texts[hole.name]
    if hole.linear == _AS_IT_IS:
        return texts
    if hole.name not in columns.numbers:
        return None
    factor, offset = hole.linear.factor, hole.linear.offset
    numbers = [factor * int(text) + offset for text in texts]
    return None if min(numbers, default=0) < 0 else list(map(str, numbers))
