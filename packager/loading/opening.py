"""From a file to something that can be asked: strict checks first, then policy, then the environment.

Nothing of the archive runs here.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from packager.archive import Manifest
from packager.errors import EnvironmentMismatchError, PackageError

if TYPE_CHECKING:
    from packager.environment import Distributions, EnvironmentReport


class DisallowedModuleError(PackageError, ImportError):
    """The archive needs modules from outside that the caller's `module_allowed` refuses."""


class EnvironmentWarning(UserWarning):
    """The environment is not the one that the archive was recorded in."""


def check_externs_allowed(manifest: Manifest, allowed: Callable[[str], bool], what: str) -> None:
    """Raise DisallowedModuleError, for all of them together, when `allowed` refuses externs.

    So it is asked also about modules that the code may import, and that nobody asks of the target
    because they were not there when the archive was made.

    Source: PackageImporter of torch.package, which stops at the first.
    """
    names = [record.name for record in manifest.externs]
    asked = {name.partition(".")[0] for name in names}
    optional = {one.name.partition(".")[0] for one in manifest.modules if one.action == "extern"} - asked
    refused = [name for name in (*names, *sorted(optional)) if not allowed(name)]
    if refused:
        raise DisallowedModuleError(
            f"package {what!r} needs the external module{'s' if len(refused) > 1 else ''} "
            f"{', '.join(map(repr, refused))}, but module_allowed refuses that (disallowed); allow them, or "
            "export again with intern or mock for them"
        )


def require_admitted(modules: Iterable[str], allowed: Callable[[str], bool], what: str) -> None:
    """Raise DisallowedModuleError, for all of them together, for code that `allowed` does not admit."""
    refused = [name for name in modules if not allowed(name)]
    if refused:
        raise DisallowedModuleError(
            f"{what} brings code of the module{'s' if len(refused) > 1 else ''} "
            f"{', '.join(map(repr, refused))}, but module_allowed refuses that (disallowed); allow them, "
            "or load a state dict, which is data alone"
        )


def environment_report(manifest: Manifest, installed: Distributions | None = None) -> EnvironmentReport:
    """How this environment differs from the recorded one; nothing is imported to find out.

    `installed` is what is installed, by default along `sys.path`.

    Raises ArchiveError where what was recorded cannot be understood.
    """
    from packager.environment import RecordedEnvironment, compare_environment

    recorded = RecordedEnvironment.of(manifest)
    return compare_environment(recorded.fingerprint, recorded.externs, installed=installed)


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
