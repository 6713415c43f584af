"""From a file to something that can be asked: strict checks first, then policy, then the environment.

Nothing of the archive runs here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from packager.archive.manifest import ExternRecord, Manifest
from packager.errors import EnvironmentMismatchError, PackageError

if TYPE_CHECKING:
    from packager.environment import EnvironmentReport, RecordedExtern

__all__ = [
    "DisallowedModuleError",
    "EnvironmentWarning",
    "check_choice",
    "check_environment",
    "check_externs_allowed",
    "environment_report",
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


def environment_report(manifest: Manifest) -> EnvironmentReport:
    """How this environment differs from the recorded one; nothing is imported to find out."""
    from packager.environment import Fingerprint, compare_environment

    recorded = manifest.environment
    fingerprint = Fingerprint(**{name: str(recorded[name]) for name in Fingerprint.__dataclass_fields__})
    return compare_environment(fingerprint, _by_distribution(manifest.externs))


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
    warnings.warn(f"{what}: {report}", EnvironmentWarning, stacklevel=4)


def _by_distribution(externs: Iterable[ExternRecord]) -> list[RecordedExtern]:
    from packager.environment import RecordedExtern

    grouped: dict[str, list[ExternRecord]] = {}
    for record in externs:
        if record.origin not in ("stdlib", "builtin"):
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
