"""What a comparison finds, and its text: one record for each thing that is not the same on both sides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal

from packager._calls import Deviation
from packager._quick_dataclasses import dataclass
from packager._texts import counted, listed, one_line, wrapped

ChangeKind = Literal["added", "removed", "changed", "moved", "renamed"]


@dataclass(frozen=True)
class Change:
    """Something that both sides say of themselves, and not the same.

    `section` is where it belongs ("decisions", "environment", "objects", ...), `before` and `after` are what
    stands there, each empty where there is nothing.
    """

    section: str
    kind: ChangeKind
    name: str
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        if self.kind == "changed":
            return f"{self.name}: {self.before} -> {self.after}" if self.before or self.after else self.name
        return f"{self.name}{': ' if self.before or self.after else ''}{self.before or self.after}"


@dataclass(frozen=True)
class TextChange:
    """A file of code, or another text, that differs.

    `old_name` is where it was, for one that is "moved"; `hunks` are lines of a unified diff, without those
    that name the files. `note` stands in their place where they would be of no use.
    """

    kind: ChangeKind
    name: str
    old_name: str = ""
    hunks: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class KeyChange:
    """A key of a state dict that is on one side alone, or has another name on the other.

    `state` is the state dict or object, empty for a file that is one. `old_keys` are the names that a
    renamed value had: several where it was made of more than one, as `because` says. `layout` is its dtype
    and shape, where it is an array.
    """

    state: str
    kind: ChangeKind
    key: str
    old_keys: tuple[str, ...] = ()
    layout: str = ""
    because: str = ""

    def __str__(self) -> str:
        if self.kind == "renamed":
            return f"{' + '.join(self.old_keys)} -> {self.key}  ({self.because})"
        return f"{self.key}  {self.layout}".rstrip()


_MOST_ULPS = 10_000


@dataclass(frozen=True)
class TensorChange:
    """A tensor that has other values, or another dtype or shape.

    `norm` is the Euclidean norm of the difference, `relative` that norm over the norm of what was there,
    `largest` the greatest absolute difference: an int between integers, endless where a NaN or an infinity
    stands against a number. `ulps` counts the floats that lie between two values, at most, both of one dtype;
    None for what is no float, or where a NaN is met. `differing` of `size` elements are not equal. Without
    numbers (`size` is 0) `note` says why there are none.
    """

    state: str
    key: str
    before: str
    after: str
    norm: float = 0.0
    relative: float = 0.0
    largest: float | int = 0
    ulps: int | None = None
    differing: int = 0
    size: int = 0
    note: str = ""
    old_key: str = ""

    @property
    def near(self) -> int | None:
        """The ulps, as far as they are few enough to mean rounding; else None."""
        return self.ulps if self.ulps is not None and self.ulps < _MOST_ULPS else None

    def __str__(self) -> str:
        name = f"{self.old_key} -> {self.key}" if self.old_key else self.key
        layout = self.before if self.before == self.after else f"{self.before} -> {self.after}"
        parts = [f"{name}  {layout}"]
        if self.size:
            share = "all zeros before" if self.relative == math.inf else f"{self.relative:.2g} of it"
            ulps = "" if self.near is None else f", {self.near:,} ulps"
            parts.append(
                f"norm {self.norm:.3g} ({share}), largest {self.largest:.3g}{ulps}, "
                f"{self.differing:,} of {self.size:,} elements"
            )
        return "; ".join([*parts, *([self.note] if self.note else [])])


@dataclass(frozen=True)
class CallChange:
    """A golden call with other answers on each side, both run here; `source` says whose call it is."""

    name: str
    source: Literal["before", "after", "both"]
    deviations: tuple[Deviation, ...] = ()
    failed_before: str = ""
    failed_after: str = ""

    def __str__(self) -> str:
        if self.failed_before or self.failed_after:
            sides = (("before", self.failed_before), ("after", self.failed_after))
            return f"{self.name}: " + "; ".join(f"{side} it failed: {why}" for side, why in sides if why)
        parts = (one for one in self.deviations if not one.same_bits)
        return f"{self.name}: " + "; ".join(f"{one.name} {one}" for one in parts)


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
        'Of all that was compared, 1 key differs. Required packages are the same.'
        """
        if not self:
            ran = f"; so are {counted(self.calls_run, 'example')}, repeated on both" if self.calls_run else ""
            return f"{self.before} and {self.after} are equal{ran}"
        counts = (
            *((len(self.code), "module"), (len(self.files), "other file"), (len(self.changes), "record")),
            *((len(self.keys), "key"), (len(self.tensors), "tensor"), (len(self.calls), "example")),
        )
        *found, last = [counted(count, what) for count, what in counts if count]
        all_of_it = f"{', '.join(found)} and {last}" if found else last
        differ = "differs" if sum(count for count, _ in counts) == 1 else "differ"
        return f"Of all that was compared, {all_of_it} {differ}. {self._what_matters()}"

    def _what_matters(self) -> str:
        if self.calls:
            return f"The outputs of {listed([one.name for one in self.calls], 3)} differ."
        if self.tensors:
            most = max(self.tensors, key=lambda one: one.relative if one.size else math.inf)
            return f"The tensor that changed most is {most.key}."
        sections = sorted({one.section for one in self.changes} & {"environment", "decisions", "wheels"})
        if sections:
            return f"Required packages differ: see {' and '.join(sections)}."
        return "Required packages are the same."

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

    def _repr_html_(self) -> str:
        """Return the page that a notebook shows: the changes by section."""
        from packager._notebook_page import notebook_page

        sections = []
        for title, lines in _sections(self):
            is_text = title in ("files", "code")
            sections.append((title, [[line] if is_text else line[2:] for line in lines]))
        return notebook_page(f"{self.before} → {self.after}", self.summary, sections)


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
        yield "outputs of examples", [line for one in found.calls for line in _item("changed", str(one))]
    for title, texts in (("files", found.files), ("code", found.code)):
        if texts:
            yield title, [line for one in texts for line in _text(one)]


_ORDER = (
    *("archive", "environment", "licences", "decisions", "entry points", "schemas", "objects", "imports"),
    *("state dicts", "examples", "migrations", "wheels", "loader"),
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
