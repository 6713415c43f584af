"""The wheels that are at hand before any index is asked: the archive's, kellet's own, and those of folders.

What no index has is taken by its file and digest alone. To ask an index for its name would bring whatever
another has put there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from packager.texts import listed
from packager.version import OWN_NAME

from .errors import EnvironmentBuildError
from .installers import Wanted, wrong_platform
from .interpreter import Interpreter
from .own import own_requirements, own_version, own_wheel
from .recorded import RecordedEnvironment
from .versions import exact_requirement
from .wheel_contents import VendoredContents, contents_of, require_names_alone
from .wheel_platforms import Target
from .wheel_requirements import require_all_there
from .wheels import Wheel, WheelArchive, extract_wheels, fitting, vendored_wheels, wheels_in


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
    """Lay the archive's wheels that may fit `python` into `folder`, and say what is to be installed.

    With `packager` that is our own distribution, too, which opens the archive there.

    Raises EnvironmentBuildError where kellet has no wheel, and where a wheel of the archive is none, or
    requires what lies at an address; with `offline` WrongPlatformError for an extern whose wheels are for
    others, and EnvironmentBuildError, for all of them together, for what has no wheel.
    """
    held = vendored_wheels(archive.manifest)
    usable = fitting(held, python)
    recorded = _recorded(archive, usable, packager=packager)
    if offline:
        _require_all(recorded, held, {wheel.name for wheel in usable}, python, what)
    vendored = VendoredContents(archive)
    contents = {wheel: vendored.of(wheel).requires for wheel in usable}
    for wheel, requires in contents.items():
        require_names_alone(wheel.file, requires)
    extract_wheels(archive, [wheel for wheel in usable if wheel.name not in recorded.local], folder)
    local = local_wheels(archive, python, folder, what, find_links, packager=packager)
    if offline:
        beside_archive = _wheels_beside([folder, *map(Path, find_links)], python)
        there = {**contents, **{wheel: contents_of(path).requires for wheel, path in beside_archive.items()}}
        require_all_there(there, (*local, *recorded.distributions), Target.of(python), what)
    exact, beside = (
        {name: version for name, version in versions.items() if name not in recorded.local}
        for versions in (recorded.distributions, recorded.versions)
    )
    return Wanted(
        [direct_reference(name, path) for name, path in local.items()]
        + [exact_requirement(name, version) for name, version in exact.items()],
        # A name in both lists would be told as a conflict between them, not as a version that is missing.
        [exact_requirement(name, version) for name, version in beside.items() if name not in exact],
        [str(folder), *find_links],
        offline,
        [exact_requirement(name, recorded.all_versions[name]) for name in (*local, *exact)],
    )


def _wheels_beside(folders: Sequence[Path], python: Interpreter) -> Mapping[Wheel, Path]:
    """Return the wheels in folders that may fit."""
    files = [path for folder in folders for path in sorted(folder.glob("*.whl"))]
    found = {Wheel.parse(path.name): path for path in files}
    return {wheel: path for wheel, path in found.items() if wheel.may_fit(python)}


def local_wheels(
    archive: WheelArchive,
    python: Interpreter,
    folder: Path,
    what: str,
    find_links: Sequence[str] = (),
    *,
    packager: bool = False,
) -> Mapping[str, Path]:
    """Return the wheels, by name, of the recorded distributions that no index has, as far as there are any.

    Those of the archive are laid into `folder`. kellet's own is made there from the running packager, where
    that has the recorded version and the archive has none. Others lie in folders of `find_links`.

    Raises EnvironmentBuildError where kellet has no wheel.
    """
    usable = fitting(vendored_wheels(archive.manifest), python)
    wanted = _recorded(archive, usable, packager=packager).local_versions
    usable = tuple(wheel for wheel in usable if wheel.name in wanted)
    extract_wheels(archive, usable, folder)
    if all(wheel.name != OWN_NAME for wheel in usable) and wanted.get(OWN_NAME, "") == own_version():
        name, data = own_wheel()
        (folder / name).write_bytes(data)
    found = wheels_in([folder, *map(Path, find_links)], wanted, python)
    if OWN_NAME in wanted and OWN_NAME not in found:
        raise EnvironmentBuildError(
            f"{what}: there is no wheel of kellet {wanted[OWN_NAME]}: the archive has none, no index has it, "
            f"and this is kellet {own_version()}; run the command of that version, or name a folder that has "
            "its wheel with --find-links"
        )
    return found


def what_packager_lacks(
    archive: WheelArchive, python: Interpreter, find_links: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return what has no wheel here, in the archive or in folders, of our own distribution and its needs."""
    usable = fitting(vendored_wheels(archive.manifest), python)
    there = {wheel.name for wheel in (*usable, *_wheels_beside([*map(Path, find_links)], python))}
    needed = {OWN_NAME, *own_requirements()} - ({OWN_NAME} if own_version() else set())
    return tuple(sorted(needed - there))


def _recorded(
    archive: WheelArchive, usable: Sequence[Wheel], *, packager: bool = False
) -> RecordedEnvironment:
    """What an archive recorded; with `packager` the archive's wheel of it, or else the running one, too."""
    recorded = RecordedEnvironment.of(archive.manifest)
    if not packager:
        return recorded
    carried = [wheel.version for wheel in usable if wheel.name == OWN_NAME]
    version = carried[0] if carried else own_version()
    return recorded.with_packager(version) if version is not None else recorded


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
    recorded: RecordedEnvironment, held: Sequence[Wheel], there: set[str], python: Interpreter, what: str
) -> None:
    missing = []
    for name, version in recorded.distributions.items():
        others = [wheel for wheel in held if wheel.name == name]
        if name in there or (name == OWN_NAME and version == own_version()):
            continue
        if others:
            raise wrong_platform(what, others, python)
        missing.append(name)
    if missing:
        raise EnvironmentBuildError(
            f"{what}: the archive has no wheel of {listed(missing)}; leave out --offline to ask an index, "
            "or export again with --vendor-wheels"
        ).holding(missing)
