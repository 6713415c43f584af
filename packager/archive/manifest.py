"""What an archive says about itself: the records of the manifest, and how they become bytes and back.

Every record is a frozen dataclass. Those of one kind are stored as columns, in the order of the record's
fields, sorted by its key: that saves a quarter of the time and bytes of one map per record, and a whole
column of strings is checked at once. The format document is `docs/spec/archive-format.md`, section 5.

To add a kind of record: write its dataclass, add a field for it to `Manifest` and one line to
`_SECTIONS`, describe it in the document, and follow the docstring of `FORMAT`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise

from packager.collector import gc_paused
from packager.errors import ArchiveError
from packager.names import is_dotted_name
from packager.quick_dataclasses import dataclass, field, field_names

from .bounds import MAX_CHECKS, MAX_PACKED, MAX_SCHEMA_VALUES
from .entries import DIGESTS, EntryRecord, Listing
from .packed import pack, unpack

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final


FORMAT: Final = 1
"""The version of the archive format that is written.

It changes when an archive that a released reader would misread or refuse becomes legal. Then: raise
the number; keep the old rules readable (a function per version in `_READERS`); add an archive of
the old version to `tests/golden` and never make it anew; describe the change in
`docs/spec/archive-format.md`, section 8. A new field always changes the version: readers refuse
fields that they do not know, so that nothing in an archive goes unchecked.
"""


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
    `optional` says that the code goes on without it: every import of it stands in a `try`,
    or only looks for it.
    """

    name: str
    origin: str
    distribution: str | None = None
    version: str | None = None
    requirement: str | None = None
    optional: bool = False


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


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """A stored call and its result: the entry point, and the entries with inputs and outputs."""

    name: str
    entry_point: str
    inputs: str
    outputs: str


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """What the submodules answered in a golden call: its name, and the entry that says it."""

    check: str
    entry: str


@dataclass(frozen=True, slots=True)
class GuardRecord:
    """A test that decided which imports were followed: `value` is None where it is not known."""

    file: str
    line: int
    test: str
    value: bool | None = None


@dataclass(frozen=True)
class Manifest:
    """Everything an archive says about itself.

    `environment` is plain data (str, int, float, bool, None, lists and maps with str keys); its
    content is that of a fingerprint. A writer is given a manifest without
    `entries` and `digests`, and fills both in. Rows may be given in any order; they are stored
    sorted, and two rows with the same key are refused.

    >>> Manifest(entry_points=(EntryPoint("model", "model", "model"),)).entry_points[0].callable is None
    True
    """

    modules: tuple[ModuleRecord, ...] = ()
    externs: tuple[ExternRecord, ...] = ()
    objects: tuple[ObjectRecord, ...] = ()
    state_dicts: tuple[StateDictRecord, ...] = ()
    entry_points: tuple[EntryPoint, ...] = ()
    checks: tuple[CheckRecord, ...] = ()
    guards: tuple[GuardRecord, ...] = ()
    schemas: tuple[SchemaRecord, ...] = ()
    traces: tuple[TraceRecord, ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    entries: tuple[EntryRecord, ...] = ()
    digests: str = "sha256"
    format: int = FORMAT

    @cached_property
    def stored_modules(self) -> frozenset[str]:
        """The modules whose source lies in the archive: they alone count as its own code.

        A mock, a namespace package and a parent that has no record bring no code, whatever they are called.
        """
        sources = {entry.name for entry in self.entries if entry.kind == "source"}
        return frozenset(
            module.name for module in self.modules if module.action == "intern" and module.entry in sources
        )

    @property
    def mocks(self) -> tuple[ModuleRecord, ...]:
        """The modules that were replaced by mocks."""
        return tuple(module for module in self.modules if module.action == "mock")


@dataclass(frozen=True)
class SealedManifest:
    """A manifest as it lies in the file: what opening needs is read, the rest waits in `facts`."""

    digests: str
    entries: Listing
    facts: bytes

    def open(self) -> Manifest:
        """Read the rest.

        Raises ArchiveError for anything that the format does not say.
        """
        facts = unpack(self.facts, what="manifest, facts")
        there = {name for name in _OPTIONAL if type(facts) is dict and name in facts}
        sections = _map_with(facts, {*_SECTIONS, "environment"} - (_OPTIONAL - there), "manifest, facts")
        environment = sections.pop("environment")
        if type(environment) is not dict:
            raise ArchiveError("manifest, environment: found something else than a map")
        rows = {
            name: _SECTIONS[name].load(columns, f"manifest, {name}") for name, columns in sections.items()
        }
        for name in there:
            if not rows[name]:
                raise ArchiveError(f"manifest, {name}: found no rows; expected some, or no such key")
        return Manifest(
            **rows, environment=environment, entries=tuple(self.entries), digests=self.digests, format=FORMAT
        )


def dump_manifest(manifest: Manifest) -> bytes:
    """Spell a manifest, whose entries are complete, as the bytes of `.data/manifest.msgpack`.

    Raises ArchiveError when two rows have the same key or a field has a value it cannot hold.
    """
    with gc_paused():  # rows are made and dropped, beside the many objects of a plan
        facts = {
            name: table.dump(getattr(manifest, name), f"manifest, {name}")
            for name, table in _SECTIONS.items()
            if name not in _OPTIONAL or getattr(manifest, name)
        }
        return pack(
            {
                "digests": manifest.digests,
                "entries": Listing.of(manifest.entries).dump(),
                "facts": pack({**facts, "environment": dict(manifest.environment)}),
                "format": FORMAT,
            }
        )


def load_manifest(data: bytes) -> SealedManifest:
    """Read the bytes of `.data/manifest.msgpack`, whose digest has been checked.

    Raises ArchiveError for an unknown version, and for anything that the format does not say.
    """
    if len(data) > MAX_PACKED:
        raise ArchiveError(f"manifest: {len(data)} bytes; at most {MAX_PACKED} are read; split the archive")
    top = unpack(data, what="manifest")
    version = top.get("format") if type(top) is dict else None
    if type(version) is not int or version not in _READERS:
        raise ArchiveError(
            f"manifest: the archive has format {version!r}, this packager reads "
            f"{', '.join(map(str, _READERS))}; install a newer packager, or find out who made the file"
        )
    return _READERS[version](top)


def _load_1(top: dict[str, Any]) -> SealedManifest:
    top = _map_with(top, {"digests", "entries", "facts", "format"}, "manifest")
    digests, facts = top["digests"], top["facts"]
    if digests not in DIGESTS or type(facts) is not bytes:
        raise ArchiveError(
            f"manifest: found digests {digests!r}; expected one of {', '.join(DIGESTS)}, and facts as bytes"
        )
    return SealedManifest(digests, Listing.load(top["entries"], digests), facts)


_READERS: Final = {1: _load_1}


def _map_with(value: Any, keys: set[str], where: str) -> dict[str, Any]:
    found = set(value) if type(value) is dict else None
    if found != keys:
        shown = "something else than a map" if found is None else ", ".join(sorted(found ^ keys))
        raise ArchiveError(f"{where}: unknown or missing keys: {shown}; expected {', '.join(sorted(keys))}")
    return dict(value)


class _Mismatch(Exception):
    """A plain value, and what its field holds instead; the table says where."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """One field: `load` makes a column of values of plain data, and raises _Mismatch; `dump` undoes one."""

    load: Callable[[list[Any]], list[Any]]
    dump: Callable[[Any], Any] = lambda value: value


def _plain(expected: str, *kinds: type, legal: Callable[[Any], Any] | None = None) -> _Cell:
    """Make a field whose values are their own plain data: of these types, and legal where that is asked."""

    def load(column: list[Any]) -> list[Any]:
        if not set(map(type, column)) <= set(kinds) or (legal and not all(map(legal, column))):
            wrong = next(v for v in column if type(v) not in kinds or (legal and not legal(v)))
            raise _Mismatch(wrong, expected)
        return column

    return _Cell(load)


def _choice(*options: str) -> _Cell:
    """Make a field that holds one of a few strings."""
    return _plain(f"one of {', '.join(options)}", str, legal=frozenset(options).__contains__)


def _many(cell: _Cell) -> _Cell:
    """Make a field that holds a tuple of values, each stored in `cell`."""

    def load(column: list[Any]) -> list[Any]:
        lists = _LISTS.load(column)
        values = iter(cell.load(list(chain.from_iterable(lists))))
        return [tuple(islice(values, len(value))) for value in lists]

    return _Cell(load, lambda values: [cell.dump(value) for value in values])


def _row(make: Callable[..., Any], *cells: _Cell) -> _Cell:
    """Make a field that holds a small record, stored as a list; `make` is a dataclass, or builds a tuple."""

    def load(column: list[Any]) -> list[Any]:
        if not set(map(type, column)) <= {list} or not set(map(len, column)) <= {len(cells)}:
            wrong = next(v for v in column if type(v) is not list or len(v) != len(cells))
            raise _Mismatch(wrong, f"a list of {len(cells)}")
        parts = zip(*column, strict=True)
        loaded = [cell.load(list(part)) for cell, part in zip(cells, parts, strict=False)]
        return list(map(make, *loaded)) if column else []

    def dump(value: Any) -> list[Any]:
        parts = value if isinstance(value, tuple) else [getattr(value, name) for name in field_names(value)]
        if len(parts) != len(cells):
            return list(parts)  # `load` says what is wrong with it
        return [cell.dump(part) for cell, part in zip(cells, parts, strict=True)]

    return _Cell(load, dump)


@dataclass(frozen=True, slots=True)
class _Table:
    """How records of one kind are stored: the fields that sort them, and a cell for each field in order.

    `most` is how many there may be, where something is done for each.
    """

    make: type[Any]
    key: tuple[str, ...]
    cells: tuple[_Cell, ...]
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

    def load(self, columns: Any, where: str) -> tuple[Any, ...]:
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
        rows = tuple([self.make(*values) for values in zip(*loaded, strict=True)])
        for i, (before, after) in enumerate(pairwise(map(self._key_of, rows))):
            if before >= after:
                raise ArchiveError(
                    f"{where}: row {i + 1} has the key {after!r} after {before!r}; expected rising keys, "
                    "none twice"
                )
        return rows

    def _key_of(self, row: Any) -> tuple[Any, ...]:
        # Strings compare by code point, which is the order of their UTF-8 bytes.
        return tuple([getattr(row, name) for name in self.key])


def _named(cell: _Cell) -> _Cell:
    """Make a field that holds a tuple of records with names of their own, not too many."""

    def load(column: list[Any]) -> list[Any]:
        loaded = cell.load(column)
        for values, plain in zip(loaded, column, strict=True):
            if len(values) > MAX_SCHEMA_VALUES:
                raise _Mismatch(f"{len(values)} values", f"at most {MAX_SCHEMA_VALUES}")
            if len({value.name for value in values}) != len(values):
                raise _Mismatch(plain, "values with names of their own")
        return loaded

    return _Cell(load, cell.dump)


def _load_column(cell: _Cell, column: list[Any], where: str) -> list[Any]:
    try:
        return cell.load(column)
    except _Mismatch:
        for place, value in enumerate(column):
            try:
                cell.load([value])
            except _Mismatch as wrong:
                raise _unexpected(f"{where} of row {place}", *wrong.args) from None
        raise


def _unexpected(where: str, value: Any, expected: str) -> ArchiveError:
    shown = repr(value)
    found = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return ArchiveError(f"{where}: found {found}; expected {expected}")


_LISTS: Final = _plain("a list", list)
_TEXT: Final = _plain("a string", str)
_NAME: Final = _plain("a string", str, type(None))
_FLAG: Final = _plain("true or false", bool)
_NUMBER: Final = _plain("a number that is not negative", int, legal=(0).__le__)
_DOTTED: Final = _plain("a string, the dotted name of a module", str, legal=is_dotted_name)
_ACTION: Final = _choice("deny", "extern", "intern", "mock")
_NUMBERED_NAMES: Final = _many(_row(lambda *pair: pair, _TEXT, _NUMBER))
_IMPORT_SITES: Final = _many(_row(ImportSite, _TEXT, _TEXT, _NUMBER))


def _is_value_type(text: str) -> bool:
    from .value_types import is_value_type  # most archives name no types of values

    return is_value_type(text)


_VALUE_TYPE: Final = _plain("the type of a value, as section 5.6 spells it", str, legal=_is_value_type)
_TAKEN: Final = _named(_many(_row(TakenValue, _TEXT, _VALUE_TYPE, _FLAG)))
_GIVEN: Final = _named(_many(_row(GivenValue, _TEXT, _VALUE_TYPE)))
_TYPES: Final = _many(_row(TypeUse, _TEXT, _choice("call", "create", "value")))

# What each section of the manifest holds: the record, its key, and a cell for each field.
_SECTIONS: Final[Mapping[str, _Table]] = {
    "modules": _Table(ModuleRecord, ("name",), (_DOTTED, _ACTION, _TEXT, _TEXT, _NAME, _FLAG, _IMPORT_SITES)),
    "externs": _Table(ExternRecord, ("name",), (_DOTTED, _TEXT, _NAME, _NAME, _NAME, _FLAG)),
    "objects": _Table(
        ObjectRecord,
        ("package", "resource"),
        (_TEXT, _TEXT, _TEXT, _NAME, _NAME, _TYPES, _NUMBERED_NAMES),
    ),
    "state_dicts": _Table(
        StateDictRecord,
        ("package", "resource"),
        (_TEXT, _TEXT, _TEXT, _NAME, _NUMBERED_NAMES, _many(_TEXT)),
    ),
    "entry_points": _Table(EntryPoint, ("name",), (_TEXT, _TEXT, _TEXT, _NAME)),
    "checks": _Table(CheckRecord, ("name",), (_TEXT, _TEXT, _TEXT, _TEXT), MAX_CHECKS),
    "guards": _Table(
        GuardRecord,
        ("file", "line", "test"),
        (_TEXT, _NUMBER, _TEXT, _plain("true or false", bool, type(None))),
    ),
    "schemas": _Table(
        SchemaRecord,
        ("entry_point",),
        (_TEXT, _TAKEN, _GIVEN, _FLAG, _choice("calls", "declared")),
        MAX_CHECKS,
    ),
    "traces": _Table(TraceRecord, ("check",), (_TEXT, _TEXT), MAX_CHECKS),
}

_OPTIONAL: Final = frozenset({"schemas", "traces"})
"""Sections that are there only where they have rows, so that archives without any keep their bytes."""
