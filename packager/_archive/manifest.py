"""What an archive says about itself: the records of the manifest, and how they become bytes and back.

Every record is a frozen dataclass. Those of one kind are stored as columns, sorted by their key: see
`manifest_records`. The format document is `docs/spec/archive-format.md`, section 5.

To add a kind of record: write its dataclass and one line of `TABLES` in `manifest_records`, add a field for
it to `Manifest`, describe it in the document, and follow the docstring of `FORMAT`.
"""

from __future__ import annotations

from functools import cached_property

from packager._process import gc_paused
from packager._quick_dataclasses import dataclass, field
from packager._texts import listed
from packager.errors import ArchiveError

from .archive_errors import DAMAGED
from .bounds import MAX_PACKED
from .entries import DIGESTS, EntryRecord, Listing
from .manifest_records import TABLES
from .packed import pack, unpack

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from .manifest_records import (
        CheckRecord,
        EntryPoint,
        ExternRecord,
        ImportsRecord,
        ModuleRecord,
        ObjectRecord,
        SchemaRecord,
        StateDictRecord,
        TraceRecord,
    )


FORMAT: Final = 1
"""The version of the archive format that is written.

It changes when an archive that a released reader would misread or refuse becomes legal. Then: raise
the number; keep the old rules readable (a function per version in `_READERS`); add an archive of
the old version to `tests/golden` and never make it anew; describe the change in
`docs/spec/archive-format.md`, section 8. A new field always changes the version: readers refuse
fields that they do not know, so that nothing in an archive goes unchecked.
"""


@dataclass(frozen=True)
class Manifest:
    """Everything an archive says about itself.

    `environment` is plain data (str, int, float, bool, None, lists and maps with str keys); its
    content is that of a fingerprint. A writer is given a manifest without
    `entries` and `digests`, and fills both in. Rows may be given in any order; they are stored
    sorted, and two rows with the same key are refused.

    >>> from packager._archive import EntryPoint
    >>> Manifest(entry_points=(EntryPoint("model", "model", "model"),)).entry_points[0].callable is None
    True
    """

    modules: tuple[ModuleRecord, ...] = ()
    externs: tuple[ExternRecord, ...] = ()
    objects: tuple[ObjectRecord, ...] = ()
    imports: tuple[ImportsRecord, ...] = ()
    state_dicts: tuple[StateDictRecord, ...] = ()
    entry_points: tuple[EntryPoint, ...] = ()
    checks: tuple[CheckRecord, ...] = ()
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

    def imports_of(self, package: str, resource: str) -> tuple[str, ...]:
        """Return the stored modules that are imported before an object is loaded."""
        found = (one.modules for one in self.imports if (one.package, one.resource) == (package, resource))
        return next(found, ())

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
        sections = _map_with(facts, {*TABLES, "environment"} - (_OPTIONAL - there), "manifest, facts")
        environment = sections.pop("environment")
        if type(environment) is not dict:
            raise ArchiveError(f"manifest, environment: found no map. The archive is {DAMAGED}")
        rows = {name: TABLES[name].load(columns, f"manifest, {name}") for name, columns in sections.items()}
        for name in there:
            if not rows[name]:
                raise ArchiveError(
                    f"manifest, {name}: the section is empty; expected rows, or no such section. "
                    f"The archive is {DAMAGED}"
                )
        manifest = Manifest(
            **rows, environment=environment, entries=tuple(self.entries), digests=self.digests, format=FORMAT
        )
        _require_imports(manifest)
        return manifest


def dump_manifest(manifest: Manifest) -> bytes:
    """Spell a manifest, whose entries are complete, as the bytes of `.data/manifest.msgpack`.

    Raises ArchiveError when two rows have the same key or a field has a value it cannot hold.
    """
    with gc_paused():  # rows are made and dropped, beside the many objects of a plan
        facts = {
            name: table.dump(getattr(manifest, name), f"manifest, {name}")
            for name, table in TABLES.items()
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
            f"{', '.join(map(str, _READERS))}; install a newer packager, or ask for a copy in one of "
            "these formats"
        )
    return _READERS[version](top)


def _load_1(top: dict[str, Any]) -> SealedManifest:
    top = _map_with(top, {"digests", "entries", "facts", "format"}, "manifest")
    digests, facts = top["digests"], top["facts"]
    if digests not in DIGESTS or type(facts) is not bytes:
        raise ArchiveError(
            f"manifest: found digests {digests!r}; expected one of {', '.join(DIGESTS)}, and facts as bytes. "
            f"The archive is {DAMAGED}"
        )
    return SealedManifest(digests, Listing.load(top["entries"], digests), facts)


_READERS: Final = {1: _load_1}


def _map_with(value: Any, keys: set[str], where: str) -> dict[str, Any]:
    found = set(value) if type(value) is dict else None
    if found != keys:
        odd = [] if found is None else sorted(found ^ keys)
        said = f"{where}: unknown or missing keys: {listed(odd) or 'found no map'}; expected "
        raise ArchiveError(f"{said}{', '.join(sorted(keys))}. The archive is {DAMAGED}").holding(odd)
    return dict(value)


_OPTIONAL: Final = frozenset({"imports", "schemas", "traces"})
"""Sections that are there only where they have rows, so that archives without any keep their bytes."""


def _require_imports(manifest: Manifest) -> None:
    """Raise ArchiveError unless what is imported for an object is stored, and its code is, too."""
    objects = {(one.package, one.resource): one for one in manifest.objects} if manifest.imports else {}
    for one in manifest.imports:
        label = f"manifest, imports: object {one.package}/{one.resource}"
        if (one.package, one.resource) not in objects:
            raise ArchiveError(f"{label} is not in the archive, which is {DAMAGED}")
        if odd := [name for name in one.modules if name not in manifest.stored_modules]:
            said = f"{label} imports {listed(odd)}; expected stored modules"
            raise ArchiveError(f"{said}. The archive is {DAMAGED}").holding(odd)
        if not one.modules or len({*one.modules}) < len(one.modules):
            raise ArchiveError(
                f"{label} imports {listed(one.modules) or 'nothing'}; expected modules, each once. "
                f"The archive is {DAMAGED}"
            )
        record = objects[one.package, one.resource]
        homes = [
            name.partition(":")[0] for name in (*(use.name for use in record.types), record.factory or "")
        ]
        if not any(f"{home}.".startswith(f"{name}.") for home in homes for name in manifest.stored_modules):
            raise ArchiveError(
                f"{label} is data alone, but imports {listed(one.modules)}. The archive is {DAMAGED}"
            )
