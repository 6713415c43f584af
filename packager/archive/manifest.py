"""What an archive says about itself: the records of the manifest, and how they become bytes and back.

Everything here is a frozen dataclass. A record is stored as a row; the rows of one kind are stored
as columns, in the order of the record's fields, sorted by the fields named in its `_SECTIONS` line.
The format document is `docs/spec/archive-format.md`, section 5.

To add a kind of record: write its dataclass, add a field for it to `Manifest` and one line to
`_SECTIONS`, describe it in the document, and follow the docstring of `FORMAT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from packager.errors import ArchiveError

from . import columns as c
from .bounds import MAX_PACKED
from .entries import DIGESTS, EntryRecord, Listing
from .packed import pack, unpack

FORMAT: Final = 1
"""The version of the archive format that is written.

It changes when an archive that a released reader would misread or refuse becomes legal. Then: raise
the number; keep the old rules readable (a function per version in `_READERS`); add an archive of
the old version to `tests/golden` and never make it anew; describe the change in
`docs/spec/archive-format.md`, section 8. A new field always changes the version: readers refuse
fields that they do not know, so that nothing in an archive goes unchecked.
"""

_ACTIONS = ("deny", "extern", "intern", "mock")
_ROLES = ("call", "create", "value")


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
    `optional` says that the code goes on without it: every import of it stands in a `try`.
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
class CheckRecord:
    """A stored call and its result: the entry point, and the entries with inputs and outputs."""

    name: str
    entry_point: str
    inputs: str
    outputs: str


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
    content belongs to the room that makes fingerprints. A writer is given a manifest without
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
        sections = _map_with(
            unpack(self.facts, what="manifest, facts"), {*_SECTIONS, "environment"}, "manifest, facts"
        )
        environment = sections.pop("environment")
        if type(environment) is not dict:
            raise ArchiveError("manifest, environment: found something else than a map")
        rows = {
            name: _SECTIONS[name].load(columns, f"manifest, {name}") for name, columns in sections.items()
        }
        return Manifest(
            **rows, environment=environment, entries=tuple(self.entries), digests=self.digests, format=FORMAT
        )


def dump_manifest(manifest: Manifest) -> bytes:
    """Spell a manifest, whose entries are complete, as the bytes of `.data/manifest.msgpack`.

    Raises ArchiveError when two rows have the same key or a field has a value it cannot hold.
    """
    facts = {
        name: table.dump(getattr(manifest, name), f"manifest, {name}") for name, table in _SECTIONS.items()
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


_IMPORT_SITES = c.many(c.row(ImportSite, c.text, c.text, c.number))
_TYPES = c.many(c.row(TypeUse, c.text, c.choice(_ROLES)))
_NUMBERED_NAMES = c.many(c.row(lambda *pair: pair, c.text, c.number))
_NAME = c.optional(c.text)

# What each section of the manifest holds, besides the entries.
_SECTIONS: Final[Mapping[str, c.Table[Any]]] = {
    "modules": c.Table(
        ModuleRecord,
        ("name",),
        {
            "name": c.dotted,
            "action": c.choice(_ACTIONS),
            "rule": c.text,
            "because": c.text,
            "entry": _NAME,
            "is_package": c.flag,
            "importers": _IMPORT_SITES,
        },
    ),
    "externs": c.Table(
        ExternRecord,
        ("name",),
        {
            "name": c.dotted,
            "origin": c.text,
            "distribution": _NAME,
            "version": _NAME,
            "requirement": _NAME,
            "optional": c.flag,
        },
    ),
    "objects": c.Table(
        ObjectRecord,
        ("package", "resource"),
        {
            "package": c.text,
            "resource": c.text,
            "entry": c.text,
            "tensors": _NAME,
            "factory": _NAME,
            "types": _TYPES,
            "codecs": _NUMBERED_NAMES,
        },
    ),
    "state_dicts": c.Table(
        StateDictRecord,
        ("package", "resource"),
        {
            "package": c.text,
            "resource": c.text,
            "entry": c.text,
            "extras": _NAME,
            "versions": _NUMBERED_NAMES,
            "migrations": c.many(c.text),
        },
    ),
    "entry_points": c.Table(
        EntryPoint, ("name",), {"name": c.text, "package": c.text, "resource": c.text, "callable": _NAME}
    ),
    "checks": c.Table(
        CheckRecord, ("name",), {"name": c.text, "entry_point": c.text, "inputs": c.text, "outputs": c.text}
    ),
    "guards": c.Table(
        GuardRecord,
        ("file", "line", "test"),
        {"file": c.text, "line": c.number, "test": c.text, "value": c.optional(c.flag)},
    ),
}
