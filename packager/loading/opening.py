"""From a file to something that can be asked: strict checks first, then policy, then the environment.

Nothing of the archive runs here.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from packager.archive.manifest import ExternRecord, Manifest
from packager.errors import ArchiveError, EnvironmentMismatchError, PackageError

if TYPE_CHECKING:
    from packager.environment import Distributions, EnvironmentReport, Fingerprint, RecordedExtern

__all__ = [
    "DisallowedModuleError",
    "EnvironmentWarning",
    "check_choice",
    "check_environment",
    "check_externs_allowed",
    "environment_report",
    "recorded_fingerprint",
]


class DisallowedModuleError(PackageError, ImportError):
    """The archive needs modules from outside that the caller's `module_allowed` refuses."""


class EnvironmentWarning(UserWarning):
    """The environment is not the one that the archive was recorded in."""


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise ValueError unless the argument `name` is one of `choices`."""
    if value not in (known := tuple(choices)):
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, known))}")


def check_externs_allowed(manifest: Manifest, allowed: Callable[[str], bool], what: str) -> None:
    """Raise DisallowedModuleError, for all of them together, when `allowed` refuses externs.

    Source: PackageImporter of torch.package, which stops at the first.
    """
    refused = [record.name for record in manifest.externs if not allowed(record.name)]
    if refused:
        raise DisallowedModuleError(
            f"package {what!r} needs the external module{'s' if len(refused) > 1 else ''} "
            f"{', '.join(map(repr, refused))}, but module_allowed refuses that (disallowed); allow them, or "
            "export again with intern or mock for them"
        )


def environment_report(manifest: Manifest, installed: Distributions | None = None) -> EnvironmentReport:
    """How this environment differs from the recorded one; nothing is imported to find out.

    `installed` is what is installed, by default along `sys.path`.

    Raises ArchiveError where what was recorded cannot be understood.
    """
    from packager.environment import compare_environment

    externs = _by_distribution(manifest.externs)
    return compare_environment(recorded_fingerprint(manifest), externs, installed=installed)


def recorded_fingerprint(manifest: Manifest) -> Fingerprint:
    """The Python and platform that an archive was made with. Raises ArchiveError where they are missing."""
    from packager.environment import Fingerprint

    found = {name: manifest.environment.get(name) for name in Fingerprint.__dataclass_fields__}
    odd = [name for name, value in found.items() if type(value) is not str]
    if odd:
        raise ArchiveError(
            f"manifest, environment: {', '.join(odd)} missing, or no text; expected what describes a Python "
            "and its platform. The archive was not written by a PackageExporter"
        )
    return Fingerprint(**{name: str(value) for name, value in found.items()})


def check_environment(manifest: Manifest, choice: str, what: str) -> None:
    """Compare, and act as the caller chose.

    "error" raises on any difference. "warn" warns of them, and raises when something is missing
    altogether: code that needs it cannot run. "ignore" does nothing.

    Raises EnvironmentMismatchError with the whole report and the command that mends it.
    """
    if choice == "ignore":
        return
    report = environment_report(manifest)
    if not report:
        return
    if choice == "error" or report.missing:
        raise EnvironmentMismatchError(
            f'{what}: {report}\nor load with environment="ignore" to try all the same'
        )
    warnings.warn(f"{what}: {report}", EnvironmentWarning, stacklevel=_callers_level())


def _callers_level() -> int:
    """The `stacklevel` that points at the line outside of this package that asked, however it did."""
    own = __name__.partition(".")[0]
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == own:
        level, frame = level + 1, frame.f_back
    return level


_LONGEST_REQUIREMENT: Final = 1000  # characters; numbers beyond it would take Python itself long


def _check_requirement(record: ExternRecord) -> None:
    """Requirements end up in a command to paste, so nothing else may stand in their place."""
    from packager.environment import Requirement

    try:
        if len(record.requirement or "") > _LONGEST_REQUIREMENT:
            raise ValueError(f"{len(record.requirement or '')} characters")
        Requirement.parse(record.requirement or "")
    except ValueError as error:
        raise ArchiveError(
            f"manifest, extern {record.name!r}: found as its requirement {error}; expected a name and "
            "versions, as numpy>=1.26,<2. The archive was not written by a PackageExporter"
        ) from error


def _by_distribution(externs: Iterable[ExternRecord]) -> list[RecordedExtern]:
    from packager.environment import RecordedExtern

    grouped: dict[str, list[ExternRecord]] = {}
    for record in externs:
        if record.origin not in ("stdlib", "builtin"):
            if record.requirement is not None:
                _check_requirement(record)
            grouped.setdefault(record.distribution or f"\0{record.name}", []).append(record)
    return [
        RecordedExtern(
            tuple(record.name for record in records),
            records[0].distribution or "",
            records[0].version or "",
            records[0].requirement or "",
        )
        for records in grouped.values()
    ]
