"""Wheels by their names: which distribution, for which Pythons and platforms; those of folders and archives.

Source: the binary distribution format of packaging.python.org, for the parts of a wheel's name. `packaging`
reads such names too, and makes every combination of their tags: a million for a name of 1,000 bytes.
"""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

from packager._archive import CHUNK, MAX_WHEELS, Manifest
from packager._names import normalized_name
from packager._quick_dataclasses import dataclass

from .errors import EnvironmentBuildError
from .targets import Target
from .versions import Requirement

WHEELS = ".data/wheels/"
"""Where an archive keeps wheels; section 12 of the format."""

_NAME = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._]*)-(?P<version>[A-Za-z0-9][A-Za-z0-9._!+]*)(?:-\d[A-Za-z0-9._]*)?"
    r"-(?P<pythons>[A-Za-z0-9._]+)-(?P<abis>[A-Za-z0-9._]+)-(?P<platforms>[A-Za-z0-9._]+)\.whl"
)


class WheelArchive(Protocol):
    """What is needed of an open archive."""

    @property
    def manifest(self) -> Manifest: ...

    def read(self, name: str, start: int = 0, stop: int | None = None) -> bytes: ...


@dataclass(frozen=True)
class Wheel:
    """What a wheel's name says.

    >>> wheel = Wheel.parse("NumPy-2.1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl")
    >>> wheel.name, wheel.version, wheel.target
    ('numpy', '2.1.0', 'cp311-manylinux_2_17_x86_64.manylinux2014_x86_64')
    """

    file: str
    name: str
    version: str
    pythons: frozenset[str]
    abis: frozenset[str]
    platforms: frozenset[str]

    @classmethod
    def parse(cls, file: str) -> Wheel:
        """Read the name of a file. Raises EnvironmentBuildError for what is no name of a wheel."""
        match = _NAME.fullmatch(file)
        if match is None:
            raise EnvironmentBuildError(
                f"{file!r} is no name of a wheel; expected name-version-python-abi-platform.whl"
            )
        tags = (frozenset(match[part].split(".")) for part in ("pythons", "abis", "platforms"))
        return cls(file, normalized_name(match["name"]), match["version"], *tags)

    @property
    def target(self) -> str:
        """Pythons and platforms in short."""
        pythons, _, platforms = self.file.removesuffix(".whl").rsplit("-", 3)[1:]
        return f"{pythons}-{platforms}"

    def fits(self, target: Target) -> bool:
        """Check whether it runs on a target. Raises ToolMissingError without packaging.

        >>> target = Target.parse("cp311-win32")
        >>> [Wheel.parse(f"pure-1-py3{n}-none-any.whl").fits(target) for n in ("7", "99")]
        [True, False]
        """
        return any(
            tag.interpreter in self.pythons and tag.abi in self.abis and tag.platform in self.platforms
            for tag in target.tags
        )


def vendored_wheels(manifest: Manifest) -> tuple[Wheel, ...]:
    """Return the wheels that an archive holds, sorted by name.

    Raises EnvironmentBuildError for one whose name is none, and where there are too many.
    """
    return wheels_of_archive([name.removeprefix(WHEELS) for name in wheel_sizes(manifest)])


def wheels_of_archive(files: Sequence[str]) -> tuple[Wheel, ...]:
    """Return the wheels of these file names, which one archive holds or is to hold.

    Raises EnvironmentBuildError for one that is no name of a wheel, and where there are too many.
    """
    if len(files) > MAX_WHEELS:
        raise EnvironmentBuildError(
            f"{len(files):,} wheels in the archive; at most {MAX_WHEELS:,} are read; export again for fewer "
            "targets"
        )
    return tuple(map(Wheel.parse, files))


def wheels_in(folders: Iterable[Path], target: Target) -> dict[Wheel, Path]:
    """Return the wheels in folders that run on a target; of one name the first counts.

    Raises EnvironmentBuildError for a name that is none.
    """
    found: dict[Wheel, Path] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*.whl"))):
        found.setdefault(Wheel.parse(path.name), path)
    return {wheel: path for wheel, path in found.items() if wheel.fits(target)}


def chosen(wheels: Mapping[Wheel, Path], wanted: Mapping[str, str | None]) -> dict[str, Path]:
    """Return a wheel of each wanted distribution, by name; with a version, one of that.

    Where there is none of a public version, it is a local one of it (`2.4.0+cpu` for `2.4.0`).
    """
    found: dict[str, Path] = {}
    for wheel in sorted(wheels, key=lambda one: "+" in one.version):
        version = wanted.get(wheel.name)
        exact = Requirement(wheel.name, (("==", version),) if version else ())
        if wheel.name in wanted and exact.allows(wheel.version):
            found.setdefault(wheel.name, wheels[wheel])
    return found


def require_folders(find_links: Iterable[str]) -> None:
    """Raise FileNotFoundError for a folder of wheels that is not there, which would seem to hold none."""
    for folder in find_links:
        if not Path(folder).is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder of wheels", folder)


def extract_wheels(
    archive: WheelArchive, wheels: Sequence[Wheel], folder: Path | None = None
) -> dict[str, str]:
    """Return the sha256 of wheels of an archive, by file name; write them into `folder`, if one is given.

    Bytes are checked by their sha256 before they are written. Raises OSError where they cannot be,
    IntegrityError where they are others.
    """
    sizes, digests = wheel_sizes(archive.manifest), {}
    for wheel in wheels:
        name, digest = WHEELS + wheel.file, hashlib.sha256()
        with open(folder / wheel.file, "wb") if folder is not None else nullcontext() as file:
            for start in range(0, sizes[name], 16 * CHUNK):
                chunk = archive.read(name, start, min(start + 16 * CHUNK, sizes[name]))
                digest.update(chunk)
                if file is not None:
                    file.write(chunk)
        digests[wheel.file] = digest.hexdigest()
    return digests


def wheel_sizes(manifest: Manifest) -> dict[str, int]:
    """Return the sizes of the wheels in an archive, by their entries."""
    return {entry.name: entry.size for entry in manifest.entries if entry.name.startswith(WHEELS)}
