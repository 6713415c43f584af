"""The wheels that are at hand before any index is asked: the archive's, kellet's own, and those of folders.

What no index has is taken by its file and digest alone. To ask an index for its name would bring whatever
another has put there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from packager._quick_dataclasses import dataclass
from packager._texts import listed
from packager._version import OWN_NAME, installed_version

from .distributions import Distributions
from .errors import EnvironmentBuildError
from .installers import Wanted, wrong_platform
from .interpreter import Interpreter
from .own import own_wheel
from .recorded import RecordedEnvironment
from .targets import Target
from .versions import exact_requirement
from .wheel_contents import VendoredContents, contents_of, require_all_there, require_names_alone
from .wheels import (
    Wheel,
    WheelArchive,
    chosen,
    extract_wheels,
    require_folders,
    vendored_wheels,
    wheels_in,
)


@dataclass(frozen=True)
class WheelsAtHand:
    """The wheels of an archive and of folders, for one Python, and what the archive recorded."""

    archive: WheelArchive
    recorded: RecordedEnvironment
    python: Interpreter
    folders: tuple[Path, ...] = ()

    @classmethod
    def of(
        cls,
        archive: WheelArchive,
        python: str | os.PathLike[str] | None = None,
        find_links: Sequence[str] = (),
    ) -> WheelsAtHand:
        """Look at an archive and a Python. Raises FileNotFoundError for a folder that is not there."""
        require_folders(find_links)
        recorded = RecordedEnvironment.of(archive.manifest)
        return cls(archive, recorded, Interpreter.ask(python), tuple(map(Path, find_links)))

    @cached_property
    def target(self) -> Target:
        """What wheels have to run on. Raises ToolMissingError without packaging."""
        return Target.of(self.python)

    @cached_property
    def held(self) -> tuple[Wheel, ...]:
        """The wheels of the archive, for whichever Pythons and platforms."""
        return vendored_wheels(self.archive.manifest)

    @cached_property
    def usable(self) -> tuple[Wheel, ...]:
        """Those of them that run on the target."""
        return tuple(wheel for wheel in self.held if wheel.fits(self.target))

    def what_packager_lacks(self) -> tuple[str, ...]:
        """Return what has no wheel here, of our own distribution and what it requires."""
        there = {wheel.name for wheel in (*self.usable, *wheels_in(self.folders, self.target))}
        needed = {OWN_NAME, *Distributions().required(OWN_NAME)}
        return tuple(sorted(needed - there - ({OWN_NAME} if installed_version() else set())))

    def local(self, recorded: RecordedEnvironment, folder: Path, what: str) -> dict[str, Path]:
        """Return the wheels, by name, of what was recorded and no index has, as far as there are any.

        Those of the archive are laid into `folder`. kellet's own is made there from the running packager,
        where that has the recorded version and the archive has none.

        Raises EnvironmentBuildError where kellet has no wheel.
        """
        wanted = recorded.local_versions
        usable = [wheel for wheel in self.usable if wheel.name in wanted] if wanted else []
        extract_wheels(self.archive, usable, folder)
        here = installed_version()
        if all(wheel.name != OWN_NAME for wheel in usable) and wanted.get(OWN_NAME, "") == here:
            name, data = own_wheel()
            (folder / name).write_bytes(data)
        found = chosen(wheels_in([folder, *self.folders], self.target), wanted) if wanted else {}
        if OWN_NAME in wanted and OWN_NAME not in found:
            raise EnvironmentBuildError(
                f"{what}: there is no wheel of kellet {wanted[OWN_NAME]}: the archive has none, it is "
                f"taken from no index, and this is kellet {here}; run the command of that version, or name a "
                "folder that has its wheel with --find-links"
            )
        return found

    def gather(self, folder: Path, what: str, *, offline: bool = False, packager: bool = False) -> Wanted:
        """Lay the archive's wheels that run on the target into `folder`, and say what is to be installed.

        With `packager` that is our own distribution, too, which opens the archive there.

        Raises EnvironmentBuildError where kellet has no wheel, and where a wheel of the archive is none, or
        requires what lies at an address; with `offline` WrongPlatformError for an extern whose wheels are
        for others, and EnvironmentBuildError, for all of them together, for what has no wheel.
        """
        recorded = self.recorded
        carried = [wheel.version for wheel in self.usable if wheel.name == OWN_NAME]
        version = carried[0] if carried else installed_version()
        if packager and version is not None:
            recorded = recorded.with_packager(version)
        if offline:
            self._require_externs(recorded, what)
        vendored = VendoredContents(self.archive)
        contents = {wheel: vendored.of(wheel).requires for wheel in self.usable}
        for wheel, requires in contents.items():
            require_names_alone(wheel.file, requires)
        others = [wheel for wheel in self.usable if wheel.name not in recorded.local]
        extract_wheels(self.archive, others, folder)
        local = self.local(recorded, folder, what)
        if offline:
            beside = contents_of([*wheels_in([folder, *self.folders], self.target).values()])
            there = contents | {wheel: found.requires for wheel, found in beside.items()}
            require_all_there(there, (*local, *recorded.distributions), self.target, what)
        exact = _but(recorded.distributions, recorded.local)
        return Wanted(
            [direct_reference(name, path) for name, path in local.items()] + _exactly(exact),
            # A name in both lists would be told as a conflict between them, not as a version that is missing.
            _exactly(_but(recorded.versions, {*exact, *recorded.local})),
            [str(folder), *map(str, self.folders)],
            offline,
            _exactly({name: recorded.all_versions[name] for name in (*local, *exact)}),
        )

    def _require_externs(self, recorded: RecordedEnvironment, what: str) -> None:
        there, missing = {wheel.name for wheel in self.usable}, []
        for name, version in recorded.distributions.items():
            if name in there or (name == OWN_NAME and version == installed_version()):
                continue
            if others := [wheel for wheel in self.held if wheel.name == name]:
                raise wrong_platform(what, others, self.python)
            missing.append(name)
        if missing:
            raise EnvironmentBuildError(
                f"{what}: the archive has no wheel of {listed(missing)}; leave out --offline to ask an "
                "index, or export again with --vendor-wheels"
            ).holding(missing)


def _but(versions: Mapping[str, str], names: set[str] | frozenset[str]) -> dict[str, str]:
    return {name: version for name, version in versions.items() if name not in names}


def _exactly(versions: Mapping[str, str]) -> list[str]:
    return [exact_requirement(name, version) for name, version in versions.items()]


def direct_reference(name: str, wheel: Path, place: Path | None = None) -> str:
    """Return the requirement for one wheel by its digest; `place` is where it will lie.

    Source: PEP 508, and the binary direct references of PEP 610; pip takes the fragment for a hash.
    """
    return f"{name} @ {(place or wheel).absolute().as_uri()}#sha256={sha256_of(wheel)}"


def sha256_of(wheel: Path) -> str:
    """Return the sha256 of a file, as indexes and lock files give it."""
    with open(wheel, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
