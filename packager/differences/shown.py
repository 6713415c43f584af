"""All differences of two files, and their text: short facts first, hunks last, one line for each change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from packager.quick_dataclasses import dataclass
from packager.texts import counted, one_line, wrapped

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

    def lines(self, *, whole: bool = True) -> Iterator[str]:
        """Yield lines of text, safe for a terminal; without `whole` long sections are cut, which they say.

        Each change begins with a sign: + added, - removed, ~ changed, > moved or renamed. Lines of hunks
        begin as those of a unified diff.
        """
        if not self:
            ran = f"; so are {counted(self.calls_run, 'golden call')}, run on both" if self.calls_run else ""
            yield from wrapped(f"{self.before} and {self.after} are equal{ran}")
            return
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
