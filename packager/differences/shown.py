"""All differences of two files, and their text: short facts first, hunks last, one line for each change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from packager.quick_dataclasses import dataclass
from packager.texts import counted, listed, one_line, wrapped

from .records import CallChange, Change, KeyChange, TensorChange, TextChange

MOST_LINES = 200
"""How many lines a section has where not all are asked for."""

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "moved": ">", "renamed": ">"}


@dataclass(frozen=True)
class Differences:
    """Everything that differs between two files; false, and printed as such, where nothing does.

    `before` and `after` are their names. `calls_run` counts the golden calls that were run on both.

    >>> bool(Differences("a", "b")), str(Differences("a", "b"))
    (False, 'a and b are equal')
    """

    before: str
    after: str
    code: tuple[TextChange, ...] = ()
    changes: tuple[Change, ...] = ()
    files: tuple[TextChange, ...] = ()
    keys: tuple[KeyChange, ...] = ()
    tensors: tuple[TensorChange, ...] = ()
    calls: tuple[CallChange, ...] = ()
    calls_run: int = 0

    def __bool__(self) -> bool:
        return any((self.code, self.changes, self.files, self.keys, self.tensors, self.calls))

    def __str__(self) -> str:
        """Return all of it as text; see `lines`."""
        return "\n".join(self.lines())

    @property
    def summary(self) -> str:
        """Two sentences: how much differs, and what of it matters most; one where nothing differs.

        >>> Differences("a", "b", keys=(KeyChange("", "added", "w"),)).summary
        'Of all that was compared, 1 key differs. What the target must have is the same.'
        """
        if not self:
            ran = f"; so are {counted(self.calls_run, 'golden call')}, run on both" if self.calls_run else ""
            return f"{self.before} and {self.after} are equal{ran}"
        counts = (
            *((len(self.code), "module"), (len(self.files), "other file"), (len(self.changes), "record")),
            *((len(self.keys), "key"), (len(self.tensors), "tensor"), (len(self.calls), "golden call")),
        )
        *found, last = [counted(count, what) for count, what in counts if count]
        all_of_it = f"{', '.join(found)} and {last}" if found else last
        differ = "differs" if sum(count for count, _ in counts) == 1 else "differ"
        return f"Of all that was compared, {all_of_it} {differ}. {self._what_matters()}"

    def _what_matters(self) -> str:
        if self.calls:
            return f"The answers of {listed([one.name for one in self.calls], 3)} are others."
        if self.tensors:
            most = max(self.tensors, key=lambda one: one.relative if one.size else math.inf)
            return f"The tensor that changed most is {most.key}."
        sections = sorted({one.section for one in self.changes} & {"environment", "decisions", "wheels"})
        if sections:
            return f"The target must have something else: see {' and '.join(sections)}."
        return "What the target must have is the same."

    def lines(self, *, whole: bool = True) -> Iterator[str]:
        """Yield lines of text, safe for a terminal; without `whole` long sections are cut, which they say.

        The summary stands first. Each change begins with a sign: + added, - removed, ~ changed, > moved or
        renamed. Lines of hunks begin as those of a unified diff.
        """
        yield from wrapped(self.summary)
        if not self:
            return
        yield ""
        yield from wrapped(f"--- {self.before}")
        yield from wrapped(f"+++ {self.after}")
        for title, lines in _sections(self):
            yield ""
            yield f"{title}:"
            yield from lines if whole else _cut(lines)


def _sections(found: Differences) -> Iterator[tuple[str, Sequence[str]]]:
    by_section = sorted(found.changes, key=lambda change: _ORDER.index(change.section))
    for section, changes in groupby(by_section, key=lambda change: change.section):
        yield section, [line for one in changes for line in _item(one.kind, str(one))]
    keys = groupby(found.keys, key=lambda change: change.state)
    for state, renamed in keys:
        yield _of("keys", state), [line for one in renamed for line in _item(one.kind, str(one))]
    for state, tensors in groupby(found.tensors, key=lambda change: change.state):
        yield _of("tensors", state), [line for one in tensors for line in _item("changed", str(one))]
    if found.calls:
        yield "answers of golden calls", [line for one in found.calls for line in _item("changed", str(one))]
    for title, texts in (("files", found.files), ("code", found.code)):
        if texts:
            yield title, [line for one in texts for line in _text(one)]


_ORDER = (
    *("archive", "environment", "licences", "decisions", "entry points", "schemas", "objects", "imports"),
    *("state dicts", "golden calls", "migrations", "wheels", "loader"),
)


def _of(what: str, state: str) -> str:
    return one_line(f"{what} of {state}") if state else what


def _item(kind: str, text: str) -> list[str]:
    return wrapped(f"{_SIGNS[kind]} {text}", indent="  ")


def _text(change: TextChange) -> Iterator[str]:
    name = f"{change.old_name} -> {change.name}" if change.old_name else change.name
    note = f": {change.note}" if change.note else ""
    yield from _item(change.kind, f"{name}{note}")
    yield from map(one_line, change.hunks)


def _cut(lines: Sequence[str]) -> Iterable[str]:
    if len(lines) <= MOST_LINES:
        return lines
    more = counted(len(lines) - MOST_LINES, "more line")
    return [*lines[:MOST_LINES], f"  ... and {more}; --all shows them"]
