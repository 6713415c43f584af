"""The wheels that are at hand before any index is asked: the archive's, kellet's own, and those of folders.

What no index has is taken by its file and digest alone. To ask an index for its name would bring whatever
another has put there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from packager.texts import listed
from packager.version import OWN_NAME, installed_version

from .distributions import Distributions
from .errors import EnvironmentBuildError
from .installers import Wanted, wrong_platform
from .interpreter import Interpreter
from .own import own_wheel
from .recorded import RecordedEnvironment
from .targets import Target
from .versions import exact_requirement
from .wheel_contents import VendoredContents, contents_of, require_names_alone
from .wheel_requirements import require_all_there
from .wheels import Wheel, WheelArchive, chosen, extract_wheels, vendored_wheels, wheels_in


def gather_wheels(
    archive: WheelArchive,
    python: Interpreter,
    folder: Path,
    what: str,
    *,
    find_links: Sequence[str] = (),
    offline: bool = False,
    packager: bool = False,
) -> Wanted:
    """Lay the archive's wheels that run under `python` into `folder`, and say what is to be installed.

    With `packager` that is our own distribution, too, which opens the archive there.

    Raises EnvironmentBuildError where kellet has no wheel, and where a wheel of the archive is none, or
    requires what lies at an address; with `offline` WrongPlatformError for an extern whose wheels are for
    others, and EnvironmentBuildError, for all of them together, for what has no wheel; ToolMissingError
    without packaging.
    """
    target = Target.of(python)
    usable = usable_wheels(archive, target)
    recorded = RecordedEnvironment.of(archive.manifest)
    if packager:
        carried = [wheel.version for wheel in usable if wheel.name == OWN_NAME]
        version = carried[0] if carried else installed_version()
        recorded = recorded if version is None else recorded.with_packager(version)
    if offline:
        _require_all(recorded, vendored_wheels(archive.manifest), usable, python, what)
    vendored = VendoredContents(archive)
    contents = {wheel: vendored.of(wheel).requires for wheel in usable}
    for wheel, requires in contents.items():
        require_names_alone(wheel.file, requires)
    extract_wheels(archive, [wheel for wheel in usable if wheel.name not in recorded.local], folder)
    local = local_wheels(archive, recorded, target, folder, what, find_links)
    if offline:
        beside = wheels_in([folder, *map(Path, find_links)], target)
        there = contents | {wheel: held.requires for wheel, held in contents_of([*beside.values()]).items()}
        require_all_there(there, (*local, *recorded.distributions), target, what)
    exact = {name: one for name, one in recorded.distributions.items() if name not in recorded.local}
    # A name in both lists would be told as a conflict between them, not as a version that is missing.
    kept_to = {name: one for name, one in recorded.versions.items() if name not in {*exact, *recorded.local}}
    return Wanted(
        [direct_reference(name, path) for name, path in local.items()]
        + [exact_requirement(name, version) for name, version in exact.items()],
        [exact_requirement(name, version) for name, version in kept_to.items()],
        [str(folder), *find_links],
        offline,
        [exact_requirement(name, recorded.all_versions[name]) for name in (*local, *exact)],
    )


def usable_wheels(archive: WheelArchive, target: Target) -> tuple[Wheel, ...]:
    """Return the wheels of an archive that run on a target."""
    return tuple(wheel for wheel in vendored_wheels(archive.manifest) if wheel.fits(target))


def local_wheels(
    archive: WheelArchive,
    recorded: RecordedEnvironment,
    target: Target,
    folder: Path,
    what: str,
    find_links: Sequence[str] = (),
) -> dict[str, Path]:
    """Return the wheels, by name, of the recorded distributions that no index has, as far as there are any.

    Those of the archive are laid into `folder`. kellet's own is made there from the running packager, where
    that has the recorded version and the archive has none. Others lie in folders of `find_links`.

    Raises EnvironmentBuildError where kellet has no wheel.
    """
    wanted = recorded.local_versions
    usable = [wheel for wheel in usable_wheels(archive, target) if wheel.name in wanted]
    extract_wheels(archive, usable, folder)
    if all(wheel.name != OWN_NAME for wheel in usable) and wanted.get(OWN_NAME, "") == installed_version():
        name, data = own_wheel()
        (folder / name).write_bytes(data)
    found = chosen(wheels_in([folder, *map(Path, find_links)], target), wanted)
    if OWN_NAME in wanted and OWN_NAME not in found:
        raise EnvironmentBuildError(
            f"{what}: there is no wheel of kellet {wanted[OWN_NAME]}: the archive has none, no index has it, "
            f"and this is kellet {installed_version()}; run the command of that version, or name a folder "
            "that has its wheel with --find-links"
        )
    return found


def what_packager_lacks(
    archive: WheelArchive, python: Interpreter, find_links: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return what has no wheel here, in the archive or in folders, of our own distribution and its needs."""
    target = Target.of(python)
    there = {*usable_wheels(archive, target), *wheels_in(map(Path, find_links), target)}
    needed = {OWN_NAME, *Distributions().required(OWN_NAME)} - ({OWN_NAME} if installed_version() else set())
    return tuple(sorted(needed - {wheel.name for wheel in there}))


def direct_reference(name: str, wheel: Path, place: Path | None = None) -> str:
    """Return the requirement for one wheel by its digest; `place` is where it will lie.

    Source: PEP 508, and the binary direct references of PEP 610; pip takes the fragment for a hash.
    """
    return f"{name} @ {(place or wheel).absolute().as_uri()}#sha256={sha256_of(wheel)}"


def sha256_of(wheel: Path) -> str:
    """Return the sha256 of a file, as indexes and lock files give it."""
    with open(wheel, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _require_all(
    recorded: RecordedEnvironment,
    held: Sequence[Wheel],
    usable: Sequence[Wheel],
    python: Interpreter,
    what: str,
) -> None:
    there, missing = {wheel.name for wheel in usable}, []
    for name, version in recorded.distributions.items():
        if name in there or (name == OWN_NAME and version == installed_version()):
            continue
        if others := [wheel for wheel in held if wheel.name == name]:
            raise wrong_platform(what, others, python)
        missing.append(name)
    if missing:
        raise EnvironmentBuildError(
            f"{what}: the archive has no wheel of {listed(missing)}; leave out --offline to ask an index, "
            "or export again with --vendor-wheels"
        ).holding(missing)
