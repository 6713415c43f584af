"""Wheels by their names: which distribution, for which Pythons and platforms; and those in an archive.

Source: the binary distribution format of packaging.python.org, for the parts of a wheel's name.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from packager.archive import CHUNK, MAX_WHEELS, Manifest
from packager.names import normalized_name
from packager.quick_dataclasses import dataclass

from .errors import EnvironmentBuildError
from .interpreter import Interpreter
from .versions import version_key

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
    pythons: tuple[str, ...]
    abis: tuple[str, ...]
    platforms: tuple[str, ...]

    @classmethod
    def parse(cls, file: str) -> Wheel:
        """Read the name of a file. Raises EnvironmentBuildError for what is no name of a wheel."""
        match = _NAME.fullmatch(file)
        if match is None:
            raise EnvironmentBuildError(
                f"{file!r} is no name of a wheel; expected name-version-python-abi-platform.whl"
            )
        tags = (tuple(match[part].split(".")) for part in ("pythons", "abis", "platforms"))
        return cls(file, normalized_name(match["name"]), match["version"], *tags)

    @property
    def target(self) -> str:
        """Pythons and platforms in short."""
        return f"{'.'.join(self.pythons)}-{'.'.join(self.platforms)}"

    def may_fit(self, python: Interpreter) -> bool:
        """Check that Python, system and machine are right; how old the system may be is left to installers.

        >>> Wheel.parse("pure-1-py3-none-any.whl").may_fit(Interpreter.here())
        True
        >>> Wheel.parse("fast-1-cp27-cp27m-win32.whl").may_fit(Interpreter.here())
        False
        >>> [Wheel.parse(f"pure-1-py3{n}-none-any.whl").may_fit(Interpreter.here()) for n in ("7", "99")]
        [True, False]
        """
        return self._python_fits(python.tag) and any(
            _platform_fits(platform, python.fingerprint.platform) for platform in self.platforms
        )

    def _python_fits(self, tag: str) -> bool:
        if "abi3" in self.abis:
            return any(one[:2] == tag[:2] and _number(one) <= _number(tag) for one in self.pythons)
        return tag in self.pythons or any(
            one[:3] == "py3" and _number(one) <= _number(tag) for one in self.pythons
        )


def vendored_wheels(manifest: Manifest) -> tuple[Wheel, ...]:
    """Return the wheels that an archive holds, sorted by name.

    Raises EnvironmentBuildError for one whose name is none, and where there are too many.
    """
    entries = (entry.name for entry in manifest.entries if entry.name.startswith(WHEELS))
    return wheels_of_archive([name.removeprefix(WHEELS) for name in entries])


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


def fitting(wheels: Iterable[Wheel], python: Interpreter) -> tuple[Wheel, ...]:
    """Pick those that may fit a Python."""
    return tuple(wheel for wheel in wheels if wheel.may_fit(python))


def wheels_in(
    folders: Iterable[Path], wanted: Mapping[str, str | None], python: Interpreter
) -> dict[str, Path]:
    """Return the first wheel in `folders` of each name that may fit; with a version, the first of that.

    Where there is none of a public version, the first of a local one of it (`2.4.0+cpu` for `2.4.0`).
    """
    found: dict[str, Path] = {}
    similar: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.whl")):
            wheel = Wheel.parse(path.name)
            if wheel.name in wanted and wheel.may_fit(python):
                version = wanted[wheel.name]
                if version is None or _is_same_version(wheel.version, version):
                    found.setdefault(wheel.name, path)
                elif _is_same_version(wheel.version.partition("+")[0], version):
                    similar.setdefault(wheel.name, path)
    return {**similar, **found}


def require_folders(find_links: Iterable[str]) -> None:
    """Raise FileNotFoundError for a folder of wheels that is not there, which would seem to hold none."""
    for folder in find_links:
        if not Path(folder).is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder of wheels", folder)


def extract_wheels(archive: WheelArchive, wheels: Sequence[Wheel], folder: Path) -> dict[str, str]:
    """Write wheels of an archive into `folder`; give their sha256 by file name.

    Bytes are checked by their sha256 before they are written. Raises OSError where they cannot be,
    IntegrityError where they are others.
    """
    sizes, digests = _sizes(archive), {}
    for wheel in wheels:
        with open(os.path.join(folder, wheel.file), "wb") as file:
            digests[wheel.file] = _copy(archive, wheel, sizes[wheel.file], file.write)
    return digests


def wheel_digests(archive: WheelArchive, wheels: Sequence[Wheel]) -> dict[str, str]:
    """Return the sha256 of whole wheels, as indexes and lock files give them, by file name."""
    sizes = _sizes(archive)
    return {wheel.file: _copy(archive, wheel, sizes[wheel.file], lambda chunk: None) for wheel in wheels}


def _is_same_version(one: str, other: str) -> bool:
    return one == other or version_key(one) == version_key(other) is not None


def _sizes(archive: WheelArchive) -> dict[str, int]:
    """Return the sizes of all wheels, by file name: an archive may have very many entries."""
    entries = (entry for entry in archive.manifest.entries if entry.name.startswith(WHEELS))
    return {entry.name.removeprefix(WHEELS): entry.size for entry in entries}


def _copy(archive: WheelArchive, wheel: Wheel, size: int, take: object) -> str:
    digest = hashlib.sha256()
    for start in range(0, size, 16 * CHUNK):
        chunk = archive.read(WHEELS + wheel.file, start, min(start + 16 * CHUNK, size))
        digest.update(chunk)
        take(chunk)  # type: ignore[operator]  # file.write, or nothing
    return digest.hexdigest()


def _platform_fits(wheel: str, here: str) -> bool:
    """Whether a platform tag and `sysconfig.get_platform()` mean the same system and machine."""
    system, _, machine = here.replace(".", "-").partition("-")
    if wheel == "any":
        return True
    if system == "macosx":
        return wheel.startswith("macosx_") and wheel.endswith((machine.rpartition("-")[2], "universal2"))
    if system == "linux":
        return wheel.startswith(("manylinux", "linux_", "musllinux")) and wheel.endswith(f"_{machine}")
    return wheel == here.replace("-", "_").replace(".", "_")


def _number(tag: str) -> int:
    digits = tag[3:]
    return int(digits) if digits.isdigit() else 0
