"""The records of the manifest, and how those of one kind are stored: as columns, in the order of fields.

That saves a quarter of the time and bytes of one map per record, and a whole column of strings is checked
at once. `TABLES` says for each section what its records have in their fields.
"""

from __future__ import annotations

from itertools import chain, islice, pairwise

from packager._quick_dataclasses import dataclass, field_names, instances
from packager._texts import shortened
from packager.errors import ArchiveError

from .bounds import MAX_CHECKS, MAX_SCHEMA_VALUES, MAX_TYPE_TEXT

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Final


# --- modules ---


@dataclass(frozen=True, slots=True)
class ImportSite:
    """Who imports a module, and where: `file` is relative to the package's root."""

    module: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ModuleRecord:
    """A module that the walk met: what was decided, by which rule, why, and who imports it.

    `entry` names the archive's entry with the source; None for a module that is not inside.
    """

    name: str
    action: str
    rule: str
    because: str
    entry: str | None = None
    is_package: bool = False
    importers: tuple[ImportSite, ...] = ()


@dataclass(frozen=True, slots=True)
class ExternRecord:
    """A top-level import name left to the target: its distribution, version and requirement.

    `origin` says where it came from when the archive was made (`"stdlib"`, `"installed"`, ...).
    `optional` says that the code goes on without it: no imports that always run lead to it,
    and no run of the export missed it.
    """

    name: str
    origin: str
    distribution: str | None = None
    version: str | None = None
    requirement: str | None = None
    optional: bool = False


# --- objects and state dicts ---


@dataclass(frozen=True, slots=True)
class TypeUse:
    """A name (`"package.module:qualified.name"`) that a stored object needs, and in which role."""

    name: str
    role: str


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """A stored object graph: its entry, the member with its tensors, and the types it names.

    `codecs` gives name and version of every codec in use. `factory` is the name of the callable
    that makes the object, where it is not rebuilt from its stored layout.
    """

    package: str
    resource: str
    entry: str
    tensors: str | None = None
    factory: str | None = None
    types: tuple[TypeUse, ...] = ()
    codecs: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class StateDictRecord:
    """A stored state dict: its safetensors member, its extras, versions by module path, migrations.

    `migrations` names the migrations that ran before it was stored, in order.
    """

    package: str
    resource: str
    entry: str
    extras: str | None = None
    versions: tuple[tuple[str, int], ...] = ()
    migrations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportsRecord:
    """Stored modules that are imported before an object is loaded: what they do then, it needs."""

    package: str
    resource: str
    modules: tuple[str, ...]


# --- entry points and golden calls ---


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """How to run the archive: a name for an object, and which of its attributes is called.

    `callable` is None where the object itself is called.
    """

    name: str
    package: str
    resource: str
    callable: str | None = None


@dataclass(frozen=True, slots=True)
class TakenValue:
    """A value that an entry point takes: its name, its type as text, and whether it has to be given."""

    name: str
    type: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A part of what an entry point gives: its name, as in golden calls, and its type as text.

    In a name `*` stands for the numbers from 0 on.
    """

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class SchemaRecord:
    """What an entry point takes and gives, in the order of its parameters, and of its answer.

    `is_open` says that it takes other names, too. `origin` is
    "declared" where any of it was declared, else "calls".
    """

    entry_point: str
    takes: tuple[TakenValue, ...] = ()
    gives: tuple[GivenValue, ...] = ()
    is_open: bool = False
    origin: str = "declared"

    def __str__(self) -> str:
        """Return it as one line; what may be left out and has no type is only counted."""
        shown = [one for one in self.takes if one.required or one.type != "any"]
        takes = [f"{one.name}: {one.type}{'' if one.required else ' (optional)'}" for one in shown]
        if others := len(self.takes) - len(shown):
            takes.append(f"{others} optional")
        if self.is_open:
            takes.append("...")
        gives = ", ".join(f"{one.name}: {one.type}" for one in self.gives)
        return f"{self.entry_point}({', '.join(takes)}) -> {gives or '?'}"


NOT_REPEATABLE: Final = "not repeatable: its outputs differed from call to call, and nothing is compared"
"""What is said of a golden call without outputs."""


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """A stored call and its result: the entry point, and the entries with inputs and outputs.

    `outputs` is None where the call is not repeatable, so that there is nothing to compare.
    """

    name: str
    entry_point: str
    inputs: str
    outputs: str | None


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """What the submodules answered in a golden call: its name, and the entry that says it."""

    check: str
    entry: str


# --- how they are stored ---


class Mismatch(Exception):
    """A plain value, and what its field holds instead; the table says where."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One field: `load` makes a column of values of plain data, and raises Mismatch; `dump` undoes one."""

    load: Callable[[list[Any]], list[Any]]
    dump: Callable[[Any], Any] = lambda value: value


def plain(expected: str, *kinds: type, legal: Callable[[Any], Any] | None = None) -> Cell:
    """Make a field whose values are their own plain data: of these types, and legal where that is asked."""

    def load(column: list[Any]) -> list[Any]:
        if not set(map(type, column)) <= set(kinds) or (legal and not all(map(legal, column))):
            wrong = next(v for v in column if type(v) not in kinds or (legal and not legal(v)))
            raise Mismatch(wrong, expected)
        return column

    return Cell(load)


def choice(*options: str) -> Cell:
    """Make a field that holds one of a few strings."""
    return plain(f"one of {', '.join(options)}", str, legal=frozenset(options).__contains__)


def many(cell: Cell) -> Cell:
    """Make a field that holds a tuple of values, each stored in `cell`."""

    def load(column: list[Any]) -> list[Any]:
        lists = _LISTS.load(column)
        values = iter(cell.load(list(chain.from_iterable(lists))))
        return [tuple(islice(values, len(value))) for value in lists]

    return Cell(load, lambda values: [cell.dump(value) for value in values])


def row(make: Callable[..., Any], *cells: Cell) -> Cell:
    """Make a field that holds a small record, stored as a list; `make` is a dataclass, or builds a tuple."""

    def load(column: list[Any]) -> list[Any]:
        if not set(map(type, column)) <= {list} or not set(map(len, column)) <= {len(cells)}:
            wrong = next(v for v in column if type(v) is not list or len(v) != len(cells))
            raise Mismatch(wrong, f"a list of {len(cells)}")
        parts = zip(*column, strict=True)
        loaded = [cell.load(list(part)) for cell, part in zip(cells, parts, strict=False)]
        return _made(make, loaded) if column else []

    def dump(value: Any) -> list[Any]:
        parts = value if isinstance(value, tuple) else [getattr(value, name) for name in field_names(value)]
        if len(parts) != len(cells):
            return list(parts)  # `load` says what is wrong with it
        return [cell.dump(part) for cell, part in zip(cells, parts, strict=True)]

    return Cell(load, dump)


@dataclass(frozen=True, slots=True)
class Table:
    """How records of one kind are stored: the fields that sort them, and a cell for each field in order.

    `most` is how many there may be, where something is done for each.
    """

    make: type[Any]
    key: tuple[str, ...]
    cells: tuple[Cell, ...]
    most: int | None = None

    def dump(self, rows: Sequence[Any], where: str) -> list[list[Any]]:
        """Return rows as columns, sorted by key.

        Raises ArchiveError when two rows have the same key or a field has a value it cannot hold.
        """
        ordered = sorted(rows, key=self._key_of)
        columns = [
            [cell.dump(getattr(row, name)) for row in ordered]
            for name, cell in zip(field_names(self.make), self.cells, strict=True)
        ]
        self.load(columns, where)  # what the reader would refuse is never written
        return columns

    def load(self, columns: object, where: str) -> tuple[Any, ...]:
        """Read columns back.

        Raises ArchiveError for missing or ragged columns, too many rows, wrong types, and rows that are
        not in strictly rising order of their key.
        """
        if type(columns) is not list or len(columns) != len(self.cells):
            raise _unexpected(where, columns, f"a list of {len(self.cells)} columns")
        if any(type(column) is not list or len(column) != len(columns[0]) for column in columns):
            raise _unexpected(where, columns, "columns of one length")
        if self.most is not None and len(columns[0]) > self.most:
            raise ArchiveError(f"{where}: {len(columns[0]):,} rows; at most {self.most:,} are read")
        loaded = [
            _load_column(cell, column, f"{where}, {name}")
            for name, cell, column in zip(field_names(self.make), self.cells, columns, strict=True)
        ]
        rows = tuple(_made(self.make, loaded))
        places = map(field_names(self.make).index, self.key)
        for i, (before, after) in enumerate(pairwise(zip(*[loaded[place] for place in places], strict=True))):
            if before >= after:
                raise ArchiveError(
                    f"{where}: row {i + 1} has the key {after!r} after {before!r}; expected rising keys, "
                    "none twice"
                )
        return rows

    def _key_of(self, row: Any) -> tuple[Any, ...]:
        # Strings compare by code point, which is the order of their UTF-8 bytes.
        return tuple([getattr(row, name) for name in self.key])


def distinct(cell: Cell, of: Callable[[Any], Any] = lambda row: row) -> Cell:
    """Make a field that holds a tuple of rows, which differ, or differ in what `of` takes of them."""

    def load(column: list[Any]) -> list[Any]:
        for loaded, plain in zip(rows := cell.load(column), column, strict=True):
            if len({of(row) for row in loaded}) != len(loaded):
                raise Mismatch(plain, "none twice")
        return rows

    return Cell(load, cell.dump)


def named(cell: Cell) -> Cell:
    """Make a field that holds a tuple of records with names of their own, not too many."""

    def load(column: list[Any]) -> list[Any]:
        loaded = cell.load(column)
        for values, plain in zip(loaded, column, strict=True):
            if len(values) > MAX_SCHEMA_VALUES:
                raise Mismatch(f"{len(values)} values", f"at most {MAX_SCHEMA_VALUES}")
            if len({value.name for value in values}) != len(values):
                raise Mismatch(plain, "values with names of their own")
        return loaded

    return Cell(load, cell.dump)


def _made(make: Callable[..., Any], columns: list[list[Any]]) -> list[Any]:
    """Return what `make` makes of each row; records with a column for each field are made all at once."""
    if isinstance(make, type) and len(field_names(make)) == len(columns):
        return instances(make, len(columns[0]), *columns)
    return list(map(make, *columns))


def _load_column(cell: Cell, column: list[Any], where: str) -> list[Any]:
    try:
        return cell.load(column)
    except Mismatch:
        for place, value in enumerate(column):
            try:
                cell.load([value])
            except Mismatch as wrong:
                raise _unexpected(f"{where} of row {place}", *wrong.args) from None
        raise


def _unexpected(where: str, value: Any, expected: str) -> ArchiveError:
    return ArchiveError(f"{where}: found {shortened(repr(value), 80)}; expected {expected}")


_LISTS: Final = plain("a list", list)
TEXT: Final = plain("a string", str)
NAME: Final = plain("a string", str, type(None))
FLAG: Final = plain("true or false", bool)
NUMBER: Final = plain("a number that is not negative", int, legal=(0).__le__)


def _is_dotted_name(text: str) -> bool:
    from packager._names import is_dotted_name  # a state dict alone has none

    return is_dotted_name(text)


_DOTTED: Final = plain("a string, the dotted name of a module", str, legal=_is_dotted_name)
_ACTION: Final = choice("deny", "extern", "intern", "mock")
_IMPORT_SITES: Final = many(row(ImportSite, TEXT, TEXT, NUMBER))
_NUMBERED_NAMES: Final = distinct(many(row(lambda *pair: pair, TEXT, NUMBER)), lambda pair: pair[0])
_TYPES: Final = distinct(many(row(TypeUse, TEXT, choice("call", "create", "value"))))


# What calls an entry point reads the type, and refuses another spelling (`packager._calls`).
_VALUE_TYPE: Final = plain(
    f"the type of a value in at most {MAX_TYPE_TEXT} characters",
    str,
    legal=lambda text: len(text) <= MAX_TYPE_TEXT,
)
_TAKEN: Final = named(many(row(TakenValue, TEXT, _VALUE_TYPE, FLAG)))
_GIVEN: Final = named(many(row(GivenValue, TEXT, _VALUE_TYPE)))

TABLES: Final[Mapping[str, Table]] = {
    "modules": Table(ModuleRecord, ("name",), (_DOTTED, _ACTION, TEXT, TEXT, NAME, FLAG, _IMPORT_SITES)),
    "externs": Table(ExternRecord, ("name",), (_DOTTED, TEXT, NAME, NAME, NAME, FLAG)),
    "objects": Table(
        ObjectRecord,
        ("package", "resource"),
        (TEXT, TEXT, TEXT, NAME, NAME, _TYPES, _NUMBERED_NAMES),
    ),
    "state_dicts": Table(
        StateDictRecord,
        ("package", "resource"),
        (TEXT, TEXT, TEXT, NAME, _NUMBERED_NAMES, many(TEXT)),
    ),
    "imports": Table(ImportsRecord, ("package", "resource"), (TEXT, TEXT, many(_DOTTED))),
    "entry_points": Table(EntryPoint, ("name",), (TEXT, TEXT, TEXT, NAME)),
    "checks": Table(CheckRecord, ("name",), (TEXT, TEXT, TEXT, NAME), MAX_CHECKS),
    "schemas": Table(
        SchemaRecord,
        ("entry_point",),
        (TEXT, _TAKEN, _GIVEN, FLAG, choice("calls", "declared")),
        MAX_CHECKS,
    ),
    "traces": Table(TraceRecord, ("check",), (TEXT, TEXT), MAX_CHECKS),
}
"""How the records of each section are stored."""
