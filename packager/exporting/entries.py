"""The entries of a plan: sources, resources, objects, data files, and what is known of distributions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from packager.archive import MIGRATIONS
from packager.environment import Distributions
from packager.graph import SourceFinder
from packager.policy import GlobGroup

from .contents import StoredState
from .plan import PlannedEntry, PlannedModule
from .request import Request, ResourceRequest, resource_entry
from .sources import archives_in
from .surveying import Survey


def planned_entries(
    survey: Survey,
    request: Request,
    modules: Sequence[PlannedModule],
    sources: Mapping[str, bytes],
    installed: Distributions,
    exclude_data: Sequence[GlobGroup],
    finder: SourceFinder,
) -> tuple[PlannedEntry, ...]:
    """Every entry but tensors. What was saved by name comes before a data file of the same name."""
    entries = [
        *_sources(modules, sources),
        *_resources(request),
        *_objects(survey),
        *_migrations(survey),
        *_metadata(modules, installed),
    ]
    taken = {entry.name for entry in entries}
    for entry in (*_data_files(survey, modules), *_archived_files(modules, finder)):
        if entry.name not in taken and not any(group.matches(entry.name) for group in exclude_data):
            taken.add(entry.name)
            entries.append(entry)
    return tuple(entries)


def extras_entry(state: StoredState) -> str:
    """The entry with what safetensors cannot hold of a state dict."""
    return f".data/extras/{state.entry}"


def _sources(modules: Sequence[PlannedModule], sources: Mapping[str, bytes]) -> Iterator[PlannedEntry]:
    for module in modules:
        if module.entry is not None:
            yield PlannedEntry(module.entry, "source", module.size, "", partial(bytes, sources[module.name]))


def _resources(request: Request) -> Iterator[PlannedEntry]:
    for item in request.of(ResourceRequest):
        name = resource_entry(item.package, item.resource)
        yield PlannedEntry(name, item.kind, len(item.data), "", partial(bytes, item.data))


def _objects(survey: Survey) -> Iterator[PlannedEntry]:
    for stored in survey.objects:
        records = stored.encoded.records
        yield PlannedEntry(stored.entry, "object", len(records), "", partial(bytes, records))
    for state in survey.states:
        extras = state.encoded.extras
        if extras:
            yield PlannedEntry(extras_entry(state), "extras", len(extras), "", partial(bytes, extras))


def _migrations(survey: Survey) -> Iterator[PlannedEntry]:
    stored = survey.migrations.data
    if stored:
        yield PlannedEntry(MIGRATIONS, "migration", len(stored), "", partial(bytes, stored))


def _data_files(survey: Survey, modules: Sequence[PlannedModule]) -> Iterator[PlannedEntry]:
    """The files beside interned packages: all of them, as an installed package has all of them."""
    packages = {module.name for module in modules if module.action == "intern" and module.is_package}
    for top in sorted({name.partition(".")[0] for name in packages}):
        for file in survey.walk.data_files(top):
            if file.package in packages:
                because = file.because or f"beside the code of {file.package}"
                name = resource_entry(file.package, file.resource)
                yield PlannedEntry(name, "resource", file.bytes, because, file.read)


def _archived_files(modules: Sequence[PlannedModule], finder: SourceFinder) -> Iterator[PlannedEntry]:
    """What lies beside packages that are packed again, from the archive that they were loaded from.

    The metadata of distributions too: an archive does not say which of its modules each one brought.
    """
    interned = [module for module in modules if module.action == "intern"]
    packages = {module.name for module in interned if module.is_package}
    for archive in archives_in(finder):
        is_used = any(archive.find(module.name).kind != "missing" for module in interned)
        for name, size, read in archive.resources():
            package = _package_of(name, packages)
            if package is not None and archive.find(package).kind != "missing":
                yield PlannedEntry(name, "resource", size, f"beside the code of {package}", read)
            elif is_used and name.endswith(".dist-info/METADATA"):
                yield PlannedEntry(name, "resource", size, "", read)


def _package_of(name: str, packages: Collection[str]) -> str | None:
    """The innermost of `packages` in whose folder an entry lies."""
    folder = name.rpartition("/")[0]
    while folder:
        if (package := folder.replace("/", ".")) in packages:
            return package
        folder = folder.rpartition("/")[0]
    return None


def _metadata(modules: Sequence[PlannedModule], installed: Distributions) -> Iterator[PlannedEntry]:
    """The head of the METADATA of interned distributions: `importlib.metadata.version` goes on working."""
    owners = {module.origin.distribution for module in modules if module.action == "intern"}
    for name in sorted(owner for owner in owners if owner is not None):
        head, version = installed.metadata(name), installed.version(name)
        if head:
            folder = f"{name.replace('-', '_')}-{version}.dist-info"
            yield PlannedEntry(f"{folder}/METADATA", "resource", len(head), "", partial(bytes, head))
