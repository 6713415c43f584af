"""Where the walk finds source: in the environment, or in other archives that importers have open."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, partial
from types import ModuleType
from typing import Any

from packager._environment import RecordedEnvironment, RecordedProbes
from packager._graph import (
    COMPILED,
    ChainedSources,
    Found,
    Importer,
    OrderedImporter,
    SourceFinder,
    Sources,
    found_by_loader,
    names_bound_in,
    source_of_main,
    sys_importer,
)
from packager._licenses import RecordedLicenses
from packager._names import source_path
from packager._texts import listed
from packager.errors import ArgumentError

from .request import Request


def as_importer(importer: Importer | Sequence[Importer]) -> Importer:
    """Return one importer for one or several, asked in order. Raises ArgumentError for anything else."""
    if isinstance(importer, Importer):
        return importer
    given: Any = importer
    several = given if isinstance(given, Sequence) else ()
    if not several or not all(isinstance(one, Importer) for one in several):
        raise ArgumentError(
            "importer arg should be an Importer or a sequence of Importers, "
            f"got {type(importer).__name__} instead."
        )
    return OrderedImporter(*importer)


def sources_of(importer: Importer) -> SourceFinder:
    """Return what finds sources for `importer`.

    The running Python is searched by path, nothing is imported. An open archive is asked for its
    stored sources. Any other importer is asked for the module itself, as torch.package does.
    """
    if isinstance(importer, OrderedImporter):
        return ChainedSources(*(sources_of(one) for one in importer.importers))
    if importer is sys_importer:
        return Sources()
    if hasattr(importer, "get_source") and hasattr(importer, "manifest"):
        return ArchiveSources(importer)
    return ImportedSources(importer)


def mocked_in(importer: Importer) -> frozenset[str]:
    """Return the modules that are mocks in the archives that `importer` has open."""
    if isinstance(importer, OrderedImporter):
        return frozenset().union(*(mocked_in(one) for one in importer.importers))
    manifest = getattr(importer, "manifest", None)
    return frozenset(record.name for record in manifest.mocks) if manifest is not None else frozenset()


class SourcesOfRequest:
    """Sources as an export sees them: packages that hold resources alone, and `__main__`, are there too.

    `main_names` are the names of `__main__` that stored objects need, `main_problems` what stands
    against taking them, and `main_notes` what should be known of it, as found when it was last looked for.
    """

    def __init__(self, finder: SourceFinder, request: Request) -> None:
        self.finder = finder
        self.main_names: frozenset[str] = frozenset()
        self.main_problems: tuple[str, ...] = ()
        self.main_notes: tuple[str, ...] = ()
        self._request = request

    def find(self, name: str) -> Found:
        """Find the module `name`; a folder of resources where there is no module of that name."""
        if name == "__main__":
            return self._main()
        found = self.finder.find(name)
        if found.kind == "missing" and name in self._request.resource_packages:
            return Found(name, "resources", True, name.replace(".", "/"))
        return found

    def _main(self) -> Found:
        stored, theirs = self._main_of_archive()
        mine = {name for name in self.main_names - theirs if name.isidentifier()}
        if stored is not None and not mine:
            self.main_problems = self.main_notes = ()
            return Found("__main__", "main", file="__main__.py", read=stored.read)
        source = source_of_main(self.main_names - theirs)
        self.main_problems, self.main_notes = source.problems, source.notes
        if stored is not None:
            self.main_problems += (_two_mains(theirs, mine),)
        if source.text is None:
            return Found("__main__", "unknown", problem=source.problem)
        text, package = source.text, source.package
        return Found("__main__", "main", False, "__main__.py", source.path, (), lambda: text, "", package)

    def _main_of_archive(self) -> tuple[Found | None, frozenset[str]]:
        """Return the `__main__` of an open archive with the needed names that come from there."""
        finders = self.finder.finders if isinstance(self.finder, ChainedSources) else [self.finder]
        running: frozenset[str] = frozenset()
        for finder in finders:
            if isinstance(finder, ArchiveSources):
                found = finder.find("__main__")
                theirs = names_bound_in(found.read()) - running if found.read else frozenset()
                # Before anything has told its names, what matters is that there is a source.
                if theirs & self.main_names or (theirs and not self.main_names):
                    return found, theirs & self.main_names
            elif isinstance(finder, Sources):
                running = frozenset(vars(sys.modules["__main__"]))
        return None, frozenset()

    def submodules(self, name: str) -> Sequence[str]:
        """Return the modules directly inside package `name`."""
        return self.finder.submodules(name)

    def refresh(self) -> None:
        """Forget what may have changed since it was looked up."""
        self.finder.refresh()


class ArchiveSources:
    """The modules stored in an archive that a PackageImporter has open; nothing of it is imported."""

    def __init__(self, importer: Any) -> None:
        self._archive = importer
        self._stored = {one.name: one for one in importer.manifest.modules if one.action == "intern"}

    def find(self, name: str) -> Found:
        """Find the module `name`."""
        record = self._stored.get(name)
        if record is None:
            return Found(name, "missing", problem=f"{self._archive!r} does not hold it")
        if record.entry is None:
            return Found(name, "namespace", True, name.replace(".", "/"))
        read = partial(self._archive.load_binary, "", record.entry)
        return Found(name, "loader", record.is_package, source_path(name, record.is_package), read=read)

    def submodules(self, name: str) -> Sequence[str]:
        """Return the modules directly inside package `name`."""
        return sorted(one for one in self._stored if one.rpartition(".")[0] == name)

    def refresh(self) -> None:
        """Forget nothing: an archive stays as it is."""

    def holds(self, name: str) -> bool:
        """Say whether a module is stored in the archive."""
        return name in self._stored

    @cached_property
    def looked_for(self) -> RecordedProbes:
        """What its code looked for where it was written. Raises ArchiveError where that is not understood."""
        return RecordedEnvironment.of(self._archive.manifest).probes

    @cached_property
    def licenses(self) -> RecordedLicenses:
        """What was recorded of its licences. Raises ArchiveError where that is not understood."""
        return RecordedLicenses.of(self._archive.manifest)

    def resources(self) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        """Yield the data files in the archive: name, size, and what reads them."""
        for entry in self._archive.manifest.entries:
            # Below `.data/` lies what belongs to an archive, not to its packages: a loader, wheels.
            if entry.kind == "resource" and not entry.name.startswith(".data/"):
                yield entry.name, entry.size, partial(self._archive.load_binary, "", entry.name)


def _two_mains(theirs: Collection[str], mine: Collection[str]) -> str:
    loaded, own = listed(sorted(theirs)), listed(sorted(mine))
    return (
        f"{loaded} of an archive's __main__, and {own} of this program would be one module. Move one of "
        "them into a module with a name, or save the loaded object in an archive of its own"
    )


def archives_in(finder: SourceFinder) -> tuple[ArchiveSources, ...]:
    """Return the open archives among the places where a finder looks."""
    if isinstance(finder, SourcesOfRequest):
        return archives_in(finder.finder)
    if isinstance(finder, ChainedSources):
        return tuple(found for part in finder.finders for found in archives_in(part))
    return (finder,) if isinstance(finder, ArchiveSources) else ()


class ImportedSources:
    """The modules of an importer that can only import: source comes from the module's own loader."""

    def __init__(self, importer: Importer) -> None:
        self._importer = importer
        self._found: dict[str, Found] = {}

    def find(self, name: str) -> Found:
        """Find the module `name`, imported to see what it is."""
        if name not in self._found:
            try:
                self._found[name] = _found(name, self._importer.import_module(name))
            except (ImportError, KeyError) as error:
                self._found[name] = Found(
                    name, "missing", problem=f"{self._importer!r} does not hold it: {error}"
                )
        return self._found[name]

    def submodules(self, name: str) -> Sequence[str]:
        """Return none: an importer cannot be asked what it holds."""
        return ()

    def refresh(self) -> None:
        """Forget the modules that were asked for."""
        self._found.clear()


def _found(name: str, module: ModuleType) -> Found:
    is_package = hasattr(module, "__path__")
    file = getattr(module, "__file__", None)
    if file is not None and file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
        return Found(name, "extension", is_package, path=file, problem=COMPILED)
    return found_by_loader(name, getattr(module, "__loader__", None), is_package, file)
