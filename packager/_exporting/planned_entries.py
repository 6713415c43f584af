"""The entries of a plan but for tensors: sources, what was saved, and files that go along with the code."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from packager._archive import MIGRATIONS
from packager._graph import DataFile, is_library, reason_to_leave_out, too_large
from packager._quick_dataclasses import replace

from .module_sources import archives_in
from .plan import PlannedEntry, PlannedModule
from .request import ResourceRequest, resource_entry
from .surveying import Survey

_DISTRIBUTION_FILES = tuple(
    f".dist-info/{name}" for name in ("METADATA", "entry_points.txt", "top_level.txt")
)


class PlannedEntries:
    """The entries of the plan of one survey.

    `modules` are those of the plan, `texts` the sources of those that are interned.
    """

    def __init__(
        self,
        survey: Survey,
        modules: Sequence[PlannedModule],
        texts: Mapping[str, bytes],
    ) -> None:
        self._survey = survey
        self._walk = survey.walk
        self._decisions = survey.decisions
        self._request = survey.decisions.request
        self._modules = modules
        self._texts = texts
        self._served = survey.served.files

    def all(self) -> Iterator[PlannedEntry]:
        """Yield every entry but tensors. What was saved by name comes before a data file of the same name."""
        excluded = self._decisions.policy.exclude_data
        taken = set()
        for entry in (*self._sources(), *self._resources(), *self._saved(), *self._metadata()):
            taken.add(entry.name)
            yield entry
        for entry in (*self.data_files[0], *self._archived_files()):
            if entry.name not in taken and not excluded.matches(entry.name):
                taken.add(entry.name)
                yield entry

    def _sources(self) -> Iterator[PlannedEntry]:
        for module in self._modules:
            if module.entry is not None:
                yield planned_entry(module.entry, "source", self._texts[module.name])

    def _resources(self) -> Iterator[PlannedEntry]:
        for item in self._request.of(ResourceRequest):
            yield planned_entry(resource_entry(item.package, item.resource), item.kind, item.data)

    def _saved(self) -> Iterator[PlannedEntry]:
        """Yield what holds objects, state dicts and migrations, but for tensors."""
        for stored in self._survey.objects:
            yield planned_entry(stored.entry, "object", stored.encoded.records)
        for state in self._survey.states:
            if state.encoded.extras:
                yield planned_entry(state.extras_entry, "extras", state.encoded.extras)
        if self._survey.migrations.data:
            yield planned_entry(MIGRATIONS, "migration", self._survey.migrations.data)

    @cached_property
    def _packages(self) -> frozenset[str]:
        """The interned packages, beside whose code data files lie."""
        return frozenset(one.name for one in self._modules if one.action == "intern" and one.is_package)

    @cached_property
    def data_files(self) -> tuple[tuple[PlannedEntry, ...], tuple[PlannedEntry, ...]]:
        """The data files that go along with the code, and those that are left out, each with the reason.

        Beside interned packages that are all, as an installed package has them, but for secrets and
        what is hidden, and what a run has opened. Of each top-level package the smallest go along, to 16 MiB
        together; what a run has opened does in any case.
        """
        files = list(self._served.values())
        for top in sorted({name.partition(".")[0] for name in self._packages}):
            whole = self._decisions.origin(top).is_at_hand
            inside = self._walk.data_files(top, whole=whole)
            files += self._told_large([file for file in inside if file.package in self._packages])
        stored: list[PlannedEntry] = []
        left_out: list[PlannedEntry] = []
        for file in files:
            reason = reason_to_leave_out(file)
            because = reason or file.because or f"beside the code of {file.package}"
            name = resource_entry(file.package, file.resource)
            kind = file.kind if reason and file.kind == "hidden" else "resource"
            entry = PlannedEntry(name, kind, file.bytes, because, file.read, file.path)
            (left_out if reason else stored).append(entry)
        return tuple(stored), tuple(left_out)

    def _told_large(self, files: Sequence[DataFile]) -> Iterator[DataFile]:
        """Yield files, those as large that are too much with the smaller ones that go along."""
        excluded = self._decisions.policy.exclude_data
        large = too_large(
            {
                file.path: file.bytes
                for file in files
                if not reason_to_leave_out(file)
                and not excluded.matches(resource_entry(file.package, file.resource))
            }
        )
        for file in files:
            yield replace(file, kind="large") if file.path in large else file

    def left_out(self, entries: Iterable[PlannedEntry]) -> Iterator[PlannedEntry]:
        """Yield the data files that are left out, unless the user saved or excluded them."""
        taken = {entry.name for entry in entries}
        for entry in self.data_files[1]:
            if entry.name not in taken and not self._decisions.policy.exclude_data.matches(entry.name):
                taken.add(entry.name)
                yield entry

    def _archived_files(self) -> Iterator[PlannedEntry]:
        """Yield what lies beside packages that are packed again, in the archive that they come from.

        The metadata of distributions too: an archive does not say which of its modules each one brought.
        """
        interned = [module.name for module in self._modules if module.action == "intern"]
        asking = [name for name in interned if b"__file__" in self._texts.get(name, b"")]
        for archive in archives_in(self._decisions.sources):
            is_used = any(archive.find(name).kind != "missing" for name in interned)
            for name, size, read in archive.resources():
                package = _package_of(name, self._packages)
                if package is not None and archive.find(package).kind != "missing":
                    yield PlannedEntry(name, "resource", size, f"beside the code of {package}", read)
                elif is_used and name.endswith(_DISTRIBUTION_FILES):
                    yield PlannedEntry(name, "resource", size, "", read)
                elif package is None and archive.find(name.partition("/")[0]).kind == "missing":
                    names = (one for one in asking if archive.find(one).kind != "missing")
                    if beside := next(names, ""):
                        yield PlannedEntry(name, "resource", size, f"beside the code of {beside}", read)

    def _metadata(self) -> Iterator[PlannedEntry]:
        """Yield the head of the METADATA of interned distributions, for `importlib.metadata.version`.

        Where stored code asks for entry points those of the distributions go along, too; where it asks which
        distribution brings a package, the packages.
        """
        installed = self._decisions.installed
        asks, asks_back = (
            any(name in text for text in self._texts.values())
            for name in (b"entry_points", b"packages_distributions")
        )
        for name, packages in self._owners.items():
            one = installed.find(name)
            if one is None or not one.metadata_head:
                continue
            folder = f"{name.replace('-', '_')}-{one.version}.dist-info"
            yield planned_entry(f"{folder}/METADATA", "resource", one.metadata_head)
            if asks and (points := one.metadata_file("entry_points.txt")):
                yield planned_entry(f"{folder}/entry_points.txt", "resource", points)
            if asks_back:
                text = "".join(f"{package}\n" for package in sorted(packages))
                yield planned_entry(f"{folder}/top_level.txt", "resource", text.encode())

    @cached_property
    def _owners(self) -> Mapping[str, set[str]]:
        """The distributions of interned modules, sorted, each with the first parts of their names."""
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for module in self._modules:
            if module.action == "intern" and module.origin.distribution is not None:
                owners[module.origin.distribution].add(module.name.partition(".")[0])
        return dict(sorted(owners.items()))


def planned_entry(name: str, kind: str, data: bytes) -> PlannedEntry:
    """Return an entry whose bytes are at hand."""
    return PlannedEntry(name, kind, len(data), "", partial(bytes, data))


def machine_code_warnings(entries: Iterable[PlannedEntry]) -> Iterator[str]:
    """Warn of libraries that go along beside the code: they are for one system and processor."""
    for entry in entries:
        if entry.kind == "resource" and entry.because and is_library(entry.name):
            here = f"{platform.system()} {platform.machine()}"
            yield (
                f"{entry.name} is machine code ({entry.because}), and runs only on {here}. For other "
                "platforms, require the package at the target, with a wheel for each"
            )


def _package_of(name: str, packages: Collection[str]) -> str | None:
    """Return the innermost of `packages` in whose folder an entry lies."""
    folder = name.rpartition("/")[0]
    while folder:
        if (package := folder.replace("/", ".")) in packages:
            return package
        folder = folder.rpartition("/")[0]
    return None
