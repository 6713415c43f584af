"""Files of code and other text: hunks, and files that moved."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from packager._archive import EntryRecord
from packager._texts import counted, size_text

from .changes import TextChange
from .members import same_content

_LONGEST: Final = 1 << 20  # bytes of a file that is compared line by line
# Pairs of lines that differ, on both sides, in one file and in all: difflib may look at each several times.
_MOST_PAIRS: Final = 4_000_000
_MOST_OF_ALL: Final = 20_000_000
_MOST_MOVED: Final = 40_000  # pairs of files that are looked at for one that moved and was edited
_LEAST_ALIKE: Final = 0.6

Names = Mapping[str, str]
"""The entries of files by what they are called."""


class Files(Protocol):
    """What is asked of an archive here: the records of its entries, with digests, and their bytes."""

    def entry(self, name: str) -> EntryRecord:
        """Return the record of an entry."""

    def read(self, name: str) -> bytes:
        """Return the bytes of an entry."""


class TextComparison:
    """Compares the files of two open archives; how much is compared by lines is bounded for all together."""

    def __init__(self, before: Files, after: Files) -> None:
        self._before = before
        self._after = after
        self._left = _MOST_OF_ALL

    def of(self, olds: Names, news: Names) -> Iterator[TextChange]:
        """Yield how files differ, by name.

        A file that is gone has moved where one with the same bytes is new, or one with most of its lines.
        """
        gone = {name: self._before.entry(entry) for name, entry in olds.items() if name not in news}
        new = {name: self._after.entry(entry) for name, entry in news.items() if name not in olds}
        moved = dict(self._moved(gone, new))
        left = set(gone) - set(moved.values())
        for name in sorted({*news, *left}):
            if name in moved:
                hunks, note = self._hunks(gone[moved[name]], new[name])
                yield TextChange("moved", name, moved[name], hunks, note)
            elif name in new:
                yield TextChange("added", name, note=_size(self._after, new[name]))
            elif name in left:
                yield TextChange("removed", name, note=_size(self._before, gone[name]))
            else:
                entries = self._before.entry(olds[name]), self._after.entry(news[name])
                if not same_content(*entries):
                    yield TextChange("changed", name, "", *self._hunks(*entries))

    def _moved(
        self, gone: Mapping[str, EntryRecord], new: Mapping[str, EntryRecord]
    ) -> Iterator[tuple[str, str]]:
        """Yield new and old names of files that moved: those with the same bytes first."""
        by_content: dict[object, list[str]] = {}
        for name in reversed(list(gone)):
            if gone[name].size:
                by_content.setdefault((gone[name].size, gone[name].sha256), []).append(name)
        left, rest = dict(gone), {}
        for name, entry in new.items():
            same = by_content.get((entry.size, entry.sha256))
            if same:
                yield name, same[-1]
                del left[same.pop()]
            else:
                rest[name] = entry
        if len(left) * len(rest) <= _MOST_MOVED:
            yield from self._edited(left, rest)

    def _edited(
        self, gone: Mapping[str, EntryRecord], new: Mapping[str, EntryRecord]
    ) -> Iterator[tuple[str, str]]:
        """Yield the same for files that have most lines in common, the most alike first."""
        olds = {name: Counter(_lines(self._before, entry)) for name, entry in gone.items()}
        news = {name: Counter(_lines(self._after, entry)) for name, entry in new.items()}
        likeness = [
            (-_alike(one, other), name, old) for old, one in olds.items() for name, other in news.items()
        ]
        for alike, name, old in sorted(likeness):
            if -alike >= _LEAST_ALIKE and name in news and old in olds:
                del news[name], olds[old]
                yield name, old

    def _hunks(self, old: EntryRecord, new: EntryRecord) -> tuple[tuple[str, ...], str]:
        """Return the hunks of two files; a note where they are no text, or too much differs."""
        one, other = _lines(self._before, old), _lines(self._after, new)
        if (not one and old.size) or (not other and new.size):
            sizes = f"{size_text(old.size)} -> {size_text(new.size)}"
            return (), "" if same_content(old, new) else f"not compared by lines; {sizes}"
        pairs = _differing(one, other)
        if pairs > min(_MOST_PAIRS, self._left):
            lines = f"{counted(len(one), 'line')} -> {counted(len(other), 'line')}"
            return (), f"too much differs to show; {lines}"
        self._left -= pairs
        return tuple(difflib.unified_diff(one, other, lineterm=""))[2:], ""


def _alike(one: Counter[str], other: Counter[str]) -> float:
    """Return which share of the lines of two files both have."""
    total = max(one.total(), other.total())
    return (one & other).total() / total if total else 0.0


def _differing(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many pairs of lines lie between what both begin and end with."""
    shortest = min(len(one), len(other))
    first = next((at for at in range(shortest) if one[at] != other[at]), shortest)
    last = next((at for at in range(shortest - first) if one[-1 - at] != other[-1 - at]), shortest - first)
    return (len(one) - first - last) * (len(other) - first - last)


def _lines(reader: Files, entry: EntryRecord) -> list[str]:
    """Return the lines of a file; none where it is no text, or longer than is compared."""
    if entry.size > _LONGEST:
        return []
    data = reader.read(entry.name)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        if entry.kind != "source":
            return []
        text = data.decode("latin-1")  # the encoding that a source declares does not matter for its lines
    return [] if "\0" in text else text.removesuffix("\n").split("\n") if text else []


def _size(reader: Files, entry: EntryRecord) -> str:
    lines = len(_lines(reader, entry))
    return counted(lines, "line") if lines else size_text(entry.size)
