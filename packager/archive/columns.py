"""Rows as columns: how tuples of frozen dataclasses become plain data, and are checked on the way back.

A `Cell` knows how one field is written and which plain values it takes; a dataclass with one cell
per field makes a `Table`. Columns instead of one map per row save a quarter of the time and bytes,
and a whole column of strings is checked at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, islice, pairwise
from typing import Any, Final, Generic, TypeVar

from packager.errors import ArchiveError

Row = TypeVar("Row")


class Mismatch(Exception):
    """A plain value is not what its field holds; the table says where."""

    def __init__(self, value: Any, expected: str) -> None:
        super().__init__(value, expected)
        self.value = value
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Cell:
    """One field: `load` checks plain data and gives the field's value, `dump` gives plain data.

    Values of the `plain` types are their own plain data, so that a column of them needs one look.
    `together` loads a column field by field where its values have the right form, and answers None
    where they do not.
    """

    load: Callable[[Any], Any]
    dump: Callable[[Any], Any] = lambda value: value
    plain: frozenset[type] = frozenset()
    together: Callable[[list[Any]], list[Any] | None] | None = None

    def load_all(self, column: list[Any]) -> list[Any]:
        """The values of a whole column."""
        if self.plain and set(map(type, column)) <= self.plain:
            return column
        loaded = None if self.together is None else self.together(column)
        return [self.load(value) for value in column] if loaded is None else loaded


def _plain(kind: type, name: str) -> Cell:
    def load(value: Any) -> Any:
        if type(value) is not kind:
            raise Mismatch(value, name)
        return value

    return Cell(load, plain=frozenset({kind}))


text = _plain(str, "a string")
blob = _plain(bytes, "bytes")
flag = _plain(bool, "true or false")


def _load_number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise Mismatch(value, "a number that is not negative")
    return value


number = Cell(_load_number)


def _load_dotted(value: Any) -> str:
    if type(value) is not str or _DOTTED.fullmatch(value) is None:
        raise Mismatch(value, "a string, the dotted name of a module")
    return value


# Such names become names of files when archives are unpacked, so no part may lead elsewhere.
_DOTTED: Final = re.compile(r"[^./\\:\x00-\x20\x7f-\x9f]+(?:\.[^./\\:\x00-\x20\x7f-\x9f]+)*")

dotted = Cell(_load_dotted)


def optional(cell: Cell) -> Cell:
    """A field that may be None."""
    return Cell(
        lambda value: None if value is None else cell.load(value),
        lambda value: None if value is None else cell.dump(value),
        cell.plain | {type(None)} if cell.plain else frozenset(),
    )


def choice(options: Collection[str]) -> Cell:
    """A field that holds one of a few strings."""

    def load(value: Any) -> str:
        if type(value) is not str or value not in options:
            raise Mismatch(value, f"one of {', '.join(sorted(options))}")
        return value

    def together(column: list[Any]) -> list[Any] | None:
        return column if set(map(type, column)) <= {str} and set(column) <= known else None

    known = frozenset(options)
    return Cell(load, together=together)


def many(cell: Cell) -> Cell:
    """A field that holds a tuple of values, each written with `cell`."""

    def load(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise Mismatch(value, "a list")
        return tuple(cell.load_all(value))

    def together(column: list[Any]) -> list[Any] | None:
        if not set(map(type, column)) <= {list}:
            return None
        values = iter(cell.load_all(list(chain.from_iterable(column))))
        return [tuple(islice(values, len(value))) for value in column]

    return Cell(load, lambda values: [cell.dump(value) for value in values], together=together)


def row(make: Callable[..., Any], *cells: Cell) -> Cell:
    """A field that holds a small record, written as a list; `make` is a dataclass, or builds a tuple."""

    def load(value: Any) -> Any:
        if type(value) is not list or len(value) != len(cells):
            raise Mismatch(value, f"a list of {len(cells)}")
        return make(*[cell.load(item) for cell, item in zip(cells, value, strict=True)])

    def together(column: list[Any]) -> list[Any] | None:
        if not set(map(type, column)) <= {list} or set(map(len, column)) != {len(cells)}:
            return None
        parts = [
            cell.load_all(list(part)) for cell, part in zip(cells, zip(*column, strict=True), strict=True)
        ]
        return list(map(make, *parts))

    def dump(value: Any) -> list[Any]:
        parts = value if isinstance(value, tuple) else [getattr(value, f.name) for f in fields(value)]
        return [cell.dump(part) for cell, part in zip(cells, parts, strict=True)]

    return Cell(load, dump, together=together)


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """Rows of one dataclass: its cells in the order of its fields, and the fields that sort them."""

    make: Callable[..., Row]
    key: tuple[str, ...]
    cells: Mapping[str, Cell]

    def dump(self, rows: Sequence[Row], where: str) -> list[list[Any]]:
        """Write rows as columns, sorted by key.

        Raises ArchiveError when two rows have the same key or a field has a value it cannot hold.
        """
        ordered = sorted(rows, key=self._key_of)
        columns = [[cell.dump(getattr(item, name)) for item in ordered] for name, cell in self.cells.items()]
        self.load(columns, where)  # what the reader would refuse is never written
        return columns

    def load(self, columns: Any, where: str) -> tuple[Row, ...]:
        """Read columns back.

        Raises ArchiveError for missing or ragged columns, wrong types, and rows that are not in
        strictly rising order of their key.
        """
        if type(columns) is not list or len(columns) != len(self.cells):
            raise _unexpected(where, columns, f"a list of {len(self.cells)} columns")
        if any(type(column) is not list or len(column) != len(columns[0]) for column in columns):
            raise _unexpected(where, columns, "columns of one length")
        named = zip(self.cells.items(), columns, strict=True)
        loaded = [self._load_column(cell, column, f"{where}, {name}") for (name, cell), column in named]
        rows = tuple([self.make(*values) for values in zip(*loaded, strict=True)])
        for i, (before, after) in enumerate(pairwise(map(self._key_of, rows))):
            if before >= after:
                raise ArchiveError(
                    f"{where}: row {i + 1} has the key {after!r} after {before!r}; expected rising keys, "
                    "none twice"
                )
        return rows

    @staticmethod
    def _load_column(cell: Cell, column: list[Any], where: str) -> list[Any]:
        try:
            return cell.load_all(column)
        except Mismatch:
            found = ((place, _mismatch(cell, value)) for place, value in enumerate(column))
            place, first = next((place, wrong) for place, wrong in found if wrong is not None)
            raise _unexpected(f"{where} of row {place}", first.value, first.expected) from None

    def _key_of(self, item: Row) -> tuple[Any, ...]:
        # Strings compare by code point, which is the order of their UTF-8 bytes.
        return tuple([getattr(item, name) for name in self.key])


def _mismatch(cell: Cell, value: Any) -> Mismatch | None:
    try:
        cell.load(value)
    except Mismatch as mismatch:
        return mismatch
    return None


def _unexpected(where: str, value: Any, expected: str) -> ArchiveError:
    shown = repr(value)
    found = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return ArchiveError(f"{where}: found {found}; expected {expected}")
