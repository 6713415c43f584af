"""Calls of what an archive holds: by arrays, and the golden calls that were stored with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from packager.archive import ArchiveReader, CheckRecord, EntryPoint, Manifest, TensorReader
from packager.errors import PackageError
from packager.exporting.answers import Deviation, compare_answers
from packager.exporting.evaluation import call_in_evaluation_mode
from packager.objects.state_view import open_state_dict

__all__ = [
    "CheckOutcome",
    "EntryPointError",
    "OpenArchive",
    "find_entry_point",
    "run_checks",
    "run_entry",
]


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


def run_entry(importer: OpenArchive, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Load what the entry point names, call it with arrays, and return the arrays of the answer.

    Modules are in evaluation mode for the call, as they were when golden calls were stored.

    Raises EntryPointError where there is no such entry point, CodeExitError where the code ends with
    `sys.exit()` or the like, and whatever else loading and calling raise.
    """
    point = find_entry_point(importer.manifest.entry_points, name)
    thing = importer.load_object(point.package, point.resource)
    return call_in_evaluation_mode(thing, inputs, point.callable)


def run_checks(importer: OpenArchive) -> tuple[CheckOutcome, ...]:
    """Run every golden call of the archive where it stands, and compare the answers."""
    return tuple(_run_check(importer, record) for record in importer.manifest.checks)


def _run_check(importer: OpenArchive, record: CheckRecord) -> CheckOutcome:
    expected = _arrays(importer, record.outputs)
    found = run_entry(importer, record.entry_point, _arrays(importer, record.inputs))
    return CheckOutcome(record.name, compare_answers(expected, found))


def _arrays(importer: OpenArchive, member: str) -> dict[str, Any]:
    stored = open_state_dict(TensorReader(importer.archive, member), None, what=f"check {member}")
    return {name: stored[name] for name in stored}
