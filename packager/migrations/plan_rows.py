"""What steps did to keys: rows of a plan, made when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat

from packager.quick_dataclasses import dataclass, records, replace

from .transforms import Header


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a plan: what a step does to some keys, or why it leaves them alone.

    `literal` marks a step that matched nothing though it names its key letter by letter, `optional` one that
    need not match anything.
    """

    step: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    before: tuple[Header | None, ...] = ()
    after: tuple[Header | None, ...] = ()
    skipped: str = ""
    literal: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What a step does to one key at a time, in columns: old keys, new ones, headers of the values.

    `new` is None where the keys are left out. `skipped` are the keys that gates left alone, and why.

    >>> [(row.old, row.new) for row in Changes("rename a -> b", ["a"], ["b"], [None]).rows()]
    [(('a',), ('b',))]
    """

    step: str
    old: Sequence[str]
    new: Sequence[str] | None
    headers: Sequence[Header | None]
    skipped: Sequence[tuple[str, str]] = ()
    optional: bool = False

    def rows(self) -> list[Row]:
        """Return a row for each change, then one for each key that was left alone."""
        before = list(zip(self.headers))
        made, after = (repeat(()), repeat(())) if self.new is None else (zip(self.new), before)
        always = repeat(""), repeat(False), repeat(self.optional)
        found = records(Row, len(self.old), repeat(self.step), zip(self.old), made, before, after, *always)
        for key, why in self.skipped:
            found.append(Row(self.step, (key,), (), (), (), why, False, self.optional))
        return found

    def keys(self) -> Iterator[str]:
        """Yield every key that a row names."""
        yield from self.old
        yield from self.new or ()
        for key, _ in self.skipped:
            yield key


Rows = Sequence[Row] | Changes
"""The rows of one step, or of several."""


def listed(rows: Rows) -> Sequence[Row]:
    """Return the rows themselves."""
    return rows.rows() if isinstance(rows, Changes) else rows


def changed(rows: Rows, *, optional: bool) -> Rows:
    """Return the same rows, none of them literal, and all of them optional where that is said."""
    if isinstance(rows, Changes):  # none of which is literal
        return replace(rows, optional=True) if optional else rows
    return [replace(row, literal=False, optional=optional or row.optional) for row in rows]


def all_keys(rows: Rows) -> set[str]:
    """Return every key that a row names, old or new."""
    if isinstance(rows, Changes):
        return set(rows.keys())
    return {key for row in rows for key in (*row.old, *row.new)}
