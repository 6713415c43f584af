"""The packaged code of one archive: its modules and files, what it may import, and where it lies on disk.

Nothing here imports or compiles code of the archive: it answers by name, from the manifest and the
archive's bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import ModuleType

from packager._archive import ArchiveReader, ModuleRecord, closed, sha256
from packager._names import demangle_text
from packager.errors import PackageError, UndeclaredImportError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any, ClassVar, Protocol

    class Provider(Protocol):
        """Gives what an archive lacks, by `PackagedCode.take`, in the clean process."""

        def missing(self, code: PackagedCode, name: str, path: Sequence[str] | None, *, probes: bool) -> None:
            """Give the module `name`, or nothing; `path` is the `__path__` of its package."""

        def missing_file(self, code: PackagedCode, path: str, *, lists: bool) -> None:
            """Give the file or folder at `path` of the archive, or what a listing of it has; or nothing."""

        def uses(self, name: str) -> None:
            """Note that code imports a declared module."""


Folder = dict[str, "Folder | str"]
"""A folder of the archive: a name leads to a folder or to the name of an entry."""

PROBED = "packager.probed"
"""The auditing event that code of an archive looks for something: its kind, and its name."""


class DisallowedModuleError(PackageError, ImportError):
    """The archive needs modules from outside that the caller's `module_allowed` refuses."""


class PackagedCode:
    """The modules of an archive by their true names, and its resources by package.

    A package without a record of its own (the folder above stored modules) counts as a namespace
    package, as it would on disk.

    `owned` holds the first dotted part of every module that is stored or mocked: an import of such a
    name is answered from the archive. `declared` holds those that were recorded as extern, `stored` the
    modules whose source is there.
    """

    provider: ClassVar[Provider | None] = None
    """What is asked for what an archive lacks; None, but for the clean process of an export."""

    withheld: ClassVar[Collection[str]] = ()
    """Declared names that code does not find, as where they are not installed; there, too."""

    def __init__(self, archive: ArchiveReader) -> None:
        self._archive: ArchiveReader | None = archive
        self._name = archive.name
        manifest = archive.manifest
        self.modules: Mapping[str, ModuleRecord] = _with_parents(manifest.modules)
        self.owned = {_top(m.name) for m in self.modules.values() if m.action in ("intern", "mock")}
        externs = {record.name for record in manifest.externs}
        externs.update(m.name for m in self.modules.values() if m.action == "extern")
        self.declared = {_top(name) for name in externs}.difference(self.owned, self.withheld)
        self.stored = manifest.stored_modules
        self._again: Callable[[], PackagedCode] | None = None
        self._environment = manifest.environment
        self._children: dict[str, list[ModuleRecord]] | None = None
        self._tree: Folder | None = None
        self._taken: dict[str, bytes] = {}
        self._names = [entry.name for entry in manifest.entries]
        self._entries = manifest.entries
        self._sources = {entry.name: entry for entry in manifest.entries if entry.kind == "source"}

    def take(self, modules: Iterable[ModuleRecord], files: Mapping[str, bytes]) -> None:
        """Add modules and files, the sources of modules among them, as if the archive held them."""
        found = [*modules]
        added = {record.name for record in found}
        whole = _with_parents(found).items()
        new = {name: record for name, record in whole if name in added or name not in self.modules}
        self.modules = {**self.modules, **new}  # in one step, for other threads
        self.owned.update(_top(one.name) for one in found if one.action in ("intern", "mock"))
        self.declared.update(_top(one.name) for one in found if one.action == "extern")
        self.declared.difference_update(self.owned)
        self._taken.update(files)
        stored = {one.name for one in found if one.action == "intern" and one.entry in self._taken}
        self.stored = self.stored | stored
        self._names = [*dict.fromkeys([*self._names, *files])]
        self._children = self._tree = None

    def has_module(self, name: str, path: Sequence[str] | None = None, *, probes: bool = False) -> bool:
        """Say whether a module has a record, once the provider was asked for one that has none.

        `path` is the `__path__` of its package; `probes` says that it is looked for, and not imported.
        """
        if name not in self.modules and self.provider is not None:
            self.provider.missing(self, name, path, probes=probes)
        return name in self.modules

    def ask_for_file(self, path: str, *, lists: bool = False) -> None:
        """Let the provider give a file or folder that the archive lacks, or what a listing of it has."""
        if self.provider is not None:
            self.provider.missing_file(self, path, lists=lists)

    def source_digest(self, name: str) -> str | None:
        """Return the sha256 of the source of module `name`, as the manifest gives it, if there is one."""
        entry = self.modules[name].entry or ""
        if entry in self._taken:
            return sha256(self._taken[entry]).hexdigest()
        found = self._sources.get(entry)
        return None if found is None else found.sha256

    def read(self, entry: str) -> bytes:
        """Return the bytes of a stored file. Raises ArchiveClosedError after `close()`."""
        taken = self._taken.get(entry)
        return self._opened().read(entry) if taken is None else taken

    def read_file(self, entry: str) -> bytes:
        """Return the bytes of a file for its reader, not to be run: tensors are checked as the archive's are.

        Raises ArchiveClosedError after `close()`.
        """
        if entry in self._taken:
            return self._taken[entry]
        archive = self._opened()
        return bytes(archive.view(entry)) if archive.entry(entry).kind == "tensors" else archive.read(entry)

    def release(self, again: Callable[[], PackagedCode]) -> None:
        """Let the archive go, and know its names still; what is read later comes from `again`."""
        self._archive, self._again = None, again

    def close(self) -> None:
        """Release the archive: functions of packaged code that live on keep this object, and so little."""
        self._archive = self._again = None
        self.modules = {}
        self._children, self._tree, self._names, self._entries, self._sources = {}, {}, [], (), {}
        self._taken = {}

    def children(self, package: str) -> list[ModuleRecord]:
        """List the modules directly inside `package`, sorted by name."""
        if self._children is None:
            by_parent: dict[str, list[ModuleRecord]] = {}
            for name in sorted(self.modules):
                by_parent.setdefault(name.rpartition(".")[0], []).append(self.modules[name])
            self._children = by_parent
        return self._children.get(package, [])

    def resource_folder(self, name: str) -> ModuleRecord | None:
        """Return the namespace package that a folder of resources is inside a stored package, as on disk."""
        parent = name
        while parent and parent not in self.modules:
            parent = parent.rpartition(".")[0]
        stored = bool(parent) and self.modules[parent].action == "intern"
        if not stored or self.folder(name.replace(".", "/")) is None:
            return None
        return ModuleRecord(name, "intern", "namespace package", "it is a folder of resources", None, True)

    def package_of_resources(self, name: str) -> ModuleRecord | None:
        """Return a package that holds no code, but files that were saved under its name."""
        if not name or "/" in name or self.folder(name.replace(".", "/")) is None:
            return None
        return ModuleRecord(name, "intern", "resources", "files were saved under its name", None, True)

    def folder(self, path: str) -> Folder | None:
        """Return the folder `path` ("pkg/data") of the archive, without the format's own files."""
        found: Folder | str | None = self._root()
        for part in path.split("/") if path else ():
            found = found.get(part) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else None

    def entry_at(self, path: str) -> str | None:
        """Return the name of the entry at `path`, if there is one."""
        parent, _, name = path.rpartition("/")
        folder = self.folder(parent)
        found = folder.get(name) if folder is not None else None
        return found if isinstance(found, str) else None

    def metadata_folders(self) -> list[str]:
        """List the folders that describe interned distributions: "name-version.dist-info"."""
        return [name for name, below in self._root().items() if name.endswith(".dist-info") and below]

    @cached_property
    def absent_distributions(self) -> frozenset[str]:
        """What the code looked for when the archive was made, and did not find: normalised names."""
        if "probes" not in self._environment:
            return frozenset()
        from packager._environment import RecordedProbes

        return RecordedProbes.of(self._environment["probes"]).absent

    def files_of_no_package(self) -> list[str]:
        """List the files beside the top-level modules, which code reaches from its own place.

        They are data, and all that lies in a folder that is a namespace package: that has no `__init__`
        whose code would be the first to ask for it.
        """
        packages = {_top(name) for name, record in self.modules.items() if record.is_package}
        plain = {name for name in packages if self.is_namespace(name)}
        beside = (
            (one, one.name.partition("/")[0]) for one in self._entries if one.kind in ("resource", "source")
        )
        return [
            one.name
            for one, top in beside
            if top in plain or (one.kind == "resource" and top not in packages and not _is_of_format(top))
        ]

    def is_namespace(self, name: str) -> bool:
        """Say whether a name is that of a stored package without an `__init__`."""
        record = self.modules.get(name)
        return record is not None and record.is_package and record.action == "intern" and not record.entry

    def _opened(self) -> ArchiveReader:
        if self._archive is not None:
            return self._archive
        if self._again is None:
            raise closed(self._name)
        return self._again()._opened()

    def _root(self) -> Folder:
        if self._tree is None:
            self._tree = _tree(name for name in self._names if not name.startswith(".data/"))
        return self._tree


class ImportRules:
    """Which names packaged code may import, and what they are called in this process: names alone.

    `suffix` marks the first part of owned names; it is empty where an archive is installed under
    its own names. `undeclared` is "error" or "allow".
    """

    def __init__(self, code: PackagedCode, suffix: str, undeclared: str) -> None:
        self.owned = code.owned
        self.declared = code.declared
        self._code = code
        self.suffix = suffix
        self.undeclared = undeclared
        self.called: Mapping[str, str] = _Called(self)
        """What modules are called in this process, by the name that a definition says."""

    def in_process(self, name: str, *, probes: bool = False) -> str:
        """Return what the absolute name `name` is called in `sys.modules`.

        `probes` says that it is looked for, and not imported.

        Raises UndeclaredImportError for a name that is neither in the archive, nor declared, nor
        of the standard library.
        """
        top, dot, rest = name.partition(".")
        if top in self.owned:
            return f"{top}{self.suffix}{dot}{rest}"
        if not name:  # the import that follows raises Python's own ValueError
            return name
        if top in self.declared:
            if self._code.provider is not None and not probes:
                self._code.provider.uses(name)
            return name
        if top in sys.stdlib_module_names or self._is_ours(top):
            return name
        if self.undeclared == "allow" or top == "__main__":
            return name
        self._code.has_module(name, probes=probes)
        if top in self.owned or top in self.declared:  # by now
            return self.in_process(name, probes=probes)
        raise self._undeclared(name, top)

    def import_module(self, name: str) -> ModuleType:
        """Import a module by its stored name. Raises UndeclaredImportError as `in_process` does."""
        from importlib import import_module

        return import_module(self.in_process(name))

    def package_in_process(self, package: str) -> str:
        """Return what `package`, which relative names start from, is called in `sys.modules`.

        Modules that code made by hand say their true name; a name from elsewhere stays as it is.
        """
        return self.in_process(package) if package.partition(".")[0] in self.owned else package

    def _is_ours(self, top: str) -> bool:
        return bool(self.suffix) and top.endswith(self.suffix)

    def knows(self, top: str) -> bool:
        """Say whether a first part is answered for: the archive's, declared, or of the standard library."""
        return top in self.owned or top in self.declared or top in sys.stdlib_module_names

    def _undeclared(self, name: str, top: str) -> UndeclaredImportError:
        error = UndeclaredImportError(
            f"packaged code imports {name!r}, but {top!r} is not in the archive and was not declared extern "
            f"when it was made (No module named {top!r} for this code); export again with "
            f'intern("{top}.**") or extern("{top}.**"), or load with undeclared="allow"',
            name=top,
        )
        error.module = name
        return error


class _Called(dict[str, str]):
    """Names of modules in this process, each found out once, by true names and by those that it has here."""

    def __init__(self, rules: ImportRules) -> None:
        super().__init__()
        self._rules = rules

    def __missing__(self, named: str) -> str:
        called = self[named] = self._rules.package_in_process(named)
        return called


def say_true_names(error: ImportError) -> None:
    """Put the names that its reader knows in the place of mangled ones in `error`, which stays itself.

    A class may make `name` or `args` something that cannot be set (PackageNotFoundError of
    importlib.metadata), or more than plain text. So only the fields of ImportError itself are
    read and written, past whatever a class defines.
    """
    for field in _TEXTS:
        text = field.__get__(error)
        if type(text) is str and (shown := demangle_text(text)) != text:
            field.__set__(error, shown)
    args = _ARGUMENTS.__get__(error)
    shown_args = tuple(demangle_text(arg) if type(arg) is str else arg for arg in args)
    if shown_args != args:
        _ARGUMENTS.__set__(error, shown_args)


def named_in(error: ImportError) -> object:
    """Return the `name` that an import error carries, whatever its class makes of that attribute."""
    return vars(ImportError)["name"].__get__(error)


# `name_from` is new in Python 3.12.
_TEXTS: tuple[Any, ...] = tuple(
    vars(ImportError)[field] for field in ("msg", "name", "name_from") if field in vars(ImportError)
)
_ARGUMENTS: Any = vars(BaseException)["args"]


def _with_parents(records: Iterable[ModuleRecord]) -> dict[str, ModuleRecord]:
    """Return the records by name, with a namespace package for every parent that has none."""
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
            assert not isinstance(below, str)  # the reader refuses a name that is both file and folder
            folder = below
        folder[last] = name
    return root


def _is_of_format(folder: str) -> bool:
    return folder == ".data" or folder.endswith(".dist-info")


def _top(name: str) -> str:
    return name.partition(".")[0]
