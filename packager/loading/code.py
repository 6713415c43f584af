"""The packaged code of one archive: which modules it holds, their sources, and the files beside them.

Nothing here imports or compiles: it answers by name, from the manifest and the archive's bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from packager.archive import EntryRecord, Manifest, ModuleRecord
from packager.errors import ArchiveError

Folder = dict[str, "Folder | str"]
"""A folder of the archive: a name leads to a folder or to the name of an entry."""


class ArchiveBytes(Protocol):
    """What the loader needs of an open archive."""

    @property
    def manifest(self) -> Manifest: ...

    def read(self, name: str) -> bytes: ...

    def entry(self, name: str) -> EntryRecord: ...


class PackagedCode:
    """The modules of an archive by their true names, and its resources by package.

    A package without a record of its own (the folder above stored modules) counts as a namespace
    package, as it would on disk.

    `owned` holds the first dotted part of every module that is stored or mocked: an import of such a
    name is answered from the archive. `declared` holds those that were recorded as extern, `stored` the
    modules whose source is there.
    """

    def __init__(self, archive: ArchiveBytes) -> None:
        self._archive: ArchiveBytes | None = archive
        manifest = archive.manifest
        self.modules: Mapping[str, ModuleRecord] = _with_parents(manifest.modules)
        self.owned = frozenset(_top(m.name) for m in self.modules.values() if m.action in ("intern", "mock"))
        externs = {record.name for record in manifest.externs}
        externs.update(m.name for m in self.modules.values() if m.action == "extern")
        self.declared = frozenset(_top(name) for name in externs) - self.owned
        self.stored = manifest.stored_modules
        self._children: dict[str, list[ModuleRecord]] | None = None
        self._tree: Folder | None = None
        self._names = [entry.name for entry in manifest.entries]

    def source_digest(self, name: str) -> str | None:
        """The sha256 that the manifest gives for the source of module `name`, if there is one."""
        entry = self.modules[name].entry
        return None if entry is None else self._opened().entry(entry).sha256

    def read(self, entry: str) -> bytes:
        """The bytes of a stored file."""
        return self._opened().read(entry)

    def close(self) -> None:
        """Let go of the archive. Functions of packaged code that live on keep this object, and so little."""
        self._archive = None
        self.modules = {}
        self._children, self._tree, self._names = {}, {}, []

    def children(self, package: str) -> list[ModuleRecord]:
        """The modules directly inside `package`, sorted by name."""
        if self._children is None:
            by_parent: dict[str, list[ModuleRecord]] = {}
            for name in sorted(self.modules):
                by_parent.setdefault(name.rpartition(".")[0], []).append(self.modules[name])
            self._children = by_parent
        return self._children.get(package, [])

    def resource_folder(self, name: str) -> ModuleRecord | None:
        """The namespace package that a folder of resources alone is inside a stored package, as on disk."""
        parent = name
        while parent and parent not in self.modules:
            parent = parent.rpartition(".")[0]
        stored = bool(parent) and self.modules[parent].action == "intern"
        if not stored or self.folder(name.replace(".", "/")) is None:
            return None
        return ModuleRecord(name, "intern", "namespace package", "it is a folder of resources", None, True)

    def folder(self, path: str) -> Folder | None:
        """The folder `path` ("pkg/data") of the archive, without what belongs to the format itself."""
        found: Folder | str | None = self._root()
        for part in path.split("/") if path else ():
            found = found.get(part) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else None

    def entry_at(self, path: str) -> str | None:
        """The name of the entry that lies at `path`, if there is one."""
        parent, _, name = path.rpartition("/")
        folder = self.folder(parent)
        found = folder.get(name) if folder is not None else None
        return found if isinstance(found, str) else None

    def metadata_folders(self) -> list[str]:
        """The folders that describe interned distributions: "name-version.dist-info"."""
        return [name for name, below in self._root().items() if name.endswith(".dist-info") and below]

    def _opened(self) -> ArchiveBytes:
        if self._archive is None:
            raise ArchiveError("the archive is closed; open it again to read more")
        return self._archive

    def _root(self) -> Folder:
        if self._tree is None:
            self._tree = _tree(name for name in self._names if not name.startswith(".data/"))
        return self._tree


def _with_parents(records: Iterable[ModuleRecord]) -> dict[str, ModuleRecord]:
    """The records by name, with a namespace package for every parent that has none."""
    modules = {record.name: record for record in records}
    for record in list(modules.values()):
        parent = record.name.rpartition(".")[0]
        while parent and parent not in modules and record.action in ("intern", "mock"):
            because = f"it is the folder of {record.name}"
            modules[parent] = ModuleRecord(parent, "intern", "namespace package", because, None, True)
            parent = parent.rpartition(".")[0]
    return modules


def _tree(names: Iterable[str]) -> Folder:
    root: Folder = {}
    for name in names:
        folder = root
        *parents, last = name.split("/")
        for part in parents:
            below = folder.setdefault(part, {})
            if isinstance(below, str):  # the reader refuses a name that is both file and folder
                raise AssertionError(f"{below!r} is a file and a folder")
            folder = below
        folder[last] = name
    return root


def _top(name: str) -> str:
    return name.partition(".")[0]
