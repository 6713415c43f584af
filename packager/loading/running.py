"""Calls of what an archive holds: by arrays, and the golden calls that were stored with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from packager.archive import ArchiveReader, CheckRecord, EntryPoint, Manifest, TensorReader
from packager.calls import (
    Deviation,
    IsOwn,
    call_in_evaluation_mode,
    compare_answers,
    entry_method,
    require_entry_name,
)
from packager.errors import PackageError
from packager.objects import names_in, open_state_dict

from .objects import find_object, storages_of


class OpenArchive(Protocol):
    """What a call needs of a PackageImporter."""

    @property
    def archive(self) -> ArchiveReader: ...

    @property
    def manifest(self) -> Manifest: ...

    def load_object(self, package: str, resource: str) -> Any: ...


class EntryPointError(PackageError, LookupError):
    """The archive has no entry point of that name."""


@dataclass(frozen=True)
class CheckOutcome:
    """A golden call, run here: the deviation of every array of its answer."""

    name: str
    deviations: tuple[Deviation, ...]

    def within(self, tolerance: float) -> bool:
        """Whether every array is as near to the stored one as `tolerance` says."""
        return all(one.within(tolerance) for one in self.deviations)


def find_entry_point(points: tuple[EntryPoint, ...], name: str) -> EntryPoint:
    """The entry point of that name. Raises EntryPointError, naming those that there are."""
    for point in points:
        if point.name == name:
            return point
    there = ", ".join(point.name for point in points) or "none"
    raise EntryPointError(f"no entry point {name!r}; the archive has {there}")


def run_entry(importer: OpenArchive, name: str, inputs: Mapping[str, Any], is_own: IsOwn) -> dict[str, Any]:
    """Load what the entry point names, call it with arrays, and return the arrays of the answer.

    Modules are in evaluation mode for the call, as they were when golden calls were stored. `is_own`
    says what the archive's code defines in this process; see `entry_method`.

    Raises EntryPointError where there is no such entry point, EntryMethodError for one that must not be
    called, where that can be known before the object is built, CodeExitError where the code ends with
    `sys.exit()` or the like, and whatever else loading and calling raise.
    """
    point = find_entry_point(importer.manifest.entry_points, name)
    require_entry_name(point, lambda: _names_code(importer, point))
    thing = importer.load_object(point.package, point.resource)
    return call_in_evaluation_mode(thing, inputs, entry_method(point, thing, is_own))


def run_checks(importer: OpenArchive, is_own: IsOwn) -> tuple[CheckOutcome, ...]:
    """Run every golden call of the archive where it stands, and compare the answers."""
    return tuple(_run_check(importer, record, is_own) for record in importer.manifest.checks)


def _names_code(importer: OpenArchive, point: EntryPoint) -> bool:
    """Whether the records of an object, and not what stands beside them, name code of the archive."""
    code = importer.manifest.stored_modules
    record = find_object(importer.archive, point.package, point.resource)
    if record.factory is not None and record.factory.partition(":")[0] in code:
        return True
    tensors = None if record.tensors is None else TensorReader(importer.archive, record.tensors)
    what = f"object {record.package}/{record.resource}"
    names = names_in(importer.archive.read(record.entry), storages=storages_of(tensors), what=what)
    return any(name.module in code for name in names)


def _run_check(importer: OpenArchive, record: CheckRecord, is_own: IsOwn) -> CheckOutcome:
    expected = _arrays(importer, record.outputs)
    found = run_entry(importer, record.entry_point, _arrays(importer, record.inputs), is_own)
    return CheckOutcome(record.name, compare_answers(expected, found))


def _arrays(importer: OpenArchive, member: str) -> dict[str, Any]:
    stored = open_state_dict(TensorReader(importer.archive, member), None, what=f"check {member}")
    return {name: stored[name] for name in stored}
