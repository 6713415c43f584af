"""What wheels hold, read from their ZIPs: what they require, and what in them acts without being imported.

Nothing is unpacked and nothing is run. A wheel may be hostile, so that each part that is read has a bound,
and only the two ways of storing that wheels have are understood. Reading is left to zipfile, which pip has,
too: both see the same files. Markers are evaluated for a target: an installer evaluates them for the Python
that it runs on.

Source: the binary distribution format and the core metadata of packaging.python.org; `site` of Python for
what runs as it starts.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.message import Message
from email.parser import BytesParser
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from packager._archive import (
    MAX_REQUIREMENT,
    MAX_WHEEL_DIRECTORY,
    MAX_WHEEL_MARKERS,
    MAX_WHEEL_METADATA,
    MAX_WHEEL_REQUIREMENTS,
    most_wheel_text,
)
from packager._byte_ranges import Allowance, ByteRanges
from packager._names import normalized_name
from packager._quick_dataclasses import dataclass
from packager._texts import listed
from packager.errors import PackageError

from .errors import EnvironmentBuildError
from .targets import Target, require_packaging
from .versions import version_key
from .wheels import WHEELS, Wheel, WheelArchive, wheel_sizes, wheels_of_archive

ActingKind = Literal["startup", "replaces", "script"]

_STARTUP_MODULES: Final = ("sitecustomize", "usercustomize")
# What a virtual environment brings itself, and what everything in it is started by.
_OWN_PROGRAM: Final = re.compile(
    r"(?:python|pypy|pip|uv|activate|deactivate)(?:[0-9.]*|_this|w)(?:\.\w+)?", re.IGNORECASE
)
_LIBRARY: Final = re.compile(r"(?:lib(?:64|32)?/(?:python|pypy)[0-9.]+|Lib)/(?P<below>.+)", re.IGNORECASE)
_SITE: Final = re.compile(r"(?:site|dist)-packages/", re.IGNORECASE)
_DIRECT: Final = re.compile(r"\s*[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\])?\s*@")
_STORED_OR_DEFLATED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True)
class ActingFile:
    """A file of a wheel that acts without being imported by its name.

    `kind` is startup (Python runs it as it starts), replaces (it takes the place of what the environment
    is made of) or script (a program beside Python).
    """

    path: str
    kind: ActingKind
    why: str


@dataclass(frozen=True)
class WheelContents:
    """A wheel's requirements, as its METADATA spells them, and the files in it that act by themselves."""

    requires: tuple[str, ...]
    acting: tuple[ActingFile, ...]


class VendoredContents:
    """What the wheels of an archive hold; what is read of all of them together has a bound, too.

    One object reads each wheel once; a second one may read as much again.
    """

    def __init__(self, archive: WheelArchive) -> None:
        self._archive = archive
        self._sizes = wheel_sizes(archive.manifest)
        self._shared = _Shared(sum(self._sizes.values()))

    def of(self, wheel: Wheel) -> WheelContents:
        """Return what a wheel holds; the parts that are read are checked by their sha256.

        Raises EnvironmentBuildError for what is no wheel, or that of another distribution than its name
        says, and where all wheels together have more than is read; IntegrityError for other bytes.
        """
        entry = WHEELS + wheel.file
        return _contents(wheel, partial(self._archive.read, entry), self._sizes[entry], self._shared)


def contents_of(paths: Sequence[Path]) -> dict[Wheel, WheelContents]:
    """Return what wheels in folders hold, read as `VendoredContents` reads those of one archive.

    Raises EnvironmentBuildError for what it would refuse, alone or with the others.
    """
    sizes = [path.stat().st_size for path in paths]
    shared = _Shared(sum(sizes))
    wheels = wheels_of_archive([path.name for path in paths])
    return {
        wheel: _contents(wheel, partial(_read_at, path), size, shared)
        for wheel, path, size in zip(wheels, paths, sizes, strict=True)
    }


def _read_at(path: Path, start: int, stop: int) -> bytes:
    with open(path, "rb") as file:
        file.seek(start)
        return file.read(stop - start)


def not_there(
    wheels: Mapping[Wheel, Sequence[str]],
    wanted: Iterable[str],
    target: Target,
    what: str,
    *,
    mend: str = "leave this target out",
) -> dict[str, tuple[Any, Wheel]]:
    """Return what `wanted` distributions require in turn and has no wheel, by name, with the wheel that asks.

    `wheels` are those at hand, with their requirements.

    Raises EnvironmentBuildError for a requirement that gives an address, or is none, and where there is more
    to look at than is looked at, and says `mend` then; ToolMissingError without packaging.
    """
    there = {wheel.name: wheel for wheel in wheels}
    looked_at = Allowance(MAX_WHEEL_MARKERS, "requirements of wheels and their extras to look at")
    parsed: dict[Wheel, list[Any]] = {}
    missing: dict[str, tuple[Any, Wheel]] = {}
    waiting = [(name, "") for name in map(normalized_name, wanted) if name in there]
    asked = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        wheel = there[name]
        try:
            if wheel not in parsed:
                parsed[wheel] = _parsed(wheel, wheels[wheel])
            looked_at.spend(1 + len(parsed[wheel]))
        except ValueError as error:
            raise EnvironmentBuildError(
                f"{what}: {error}; {mend}, or remove {wheel.file} where it comes from"
            ) from error
        environment = {**target.markers, "extra": extra}
        for required in parsed[wheel]:
            name = normalized_name(required.name)
            if required.marker is not None and not required.marker.evaluate(environment):
                continue
            if name not in there:
                missing.setdefault(name, (required, wheel))
                continue
            new = [one for one in ((name, ""), *((name, e) for e in required.extras)) if one not in asked]
            asked.update(new)
            waiting += new
    return missing


def require_all_there(
    wheels: Mapping[Wheel, Sequence[str]], wanted: Iterable[str], target: Target, what: str
) -> None:
    """Raise EnvironmentBuildError where what `wanted` distributions require has no wheel, for all together.

    It is raised too where `not_there` raises it.
    """
    resolve = "leave out --offline, so that the installer resolves them"
    missing = not_there(wheels, wanted, target, what, mend=resolve)
    if missing:
        lacking = [
            f"{name}{required.specifier}, which {wheel.name} {wheel.version} requires"
            for name, (required, wheel) in sorted(missing.items())
        ]
        raise EnvironmentBuildError(
            f"{what}: there is no wheel of {listed(lacking, apart='; of ')}; leave out --offline to ask an "
            "index, name a folder that has it with --find-links, or export again with --vendor-wheels "
            f"{target}"
        ).holding(lacking)


def require_names_alone(wheel: str, requires: Iterable[str]) -> None:
    """Raise EnvironmentBuildError where requirements give an address, for all of them together.

    An installer fetches what lies there, without an index too, and builds it where it is sources.
    """
    direct = [line for line in requires if _DIRECT.match(line)]
    if direct:
        raise EnvironmentBuildError(
            f"{wheel}: it requires {listed([*map(repr, direct)])}; expected names and versions: what lies at "
            "an address would be fetched past every index, and built by running it; take a wheel whose "
            "METADATA names its requirements"
        ).holding(direct)


def acting_files(paths: Iterable[str]) -> Iterator[ActingFile]:
    """Yield those of a wheel's files that act without being imported.

    >>> [one.path for one in acting_files(["tiny.py", "tiny.pth", "tiny-1.data/data/pyvenv.cfg"])]
    ['tiny.pth', 'tiny-1.data/data/pyvenv.cfg']
    """
    for path in paths:
        top, _, rest = path.partition("/")
        scheme, _, below = rest.partition("/") if top.endswith(".data") else ("purelib", "", path)
        found = _acting(scheme, below)
        if found is not None:
            yield ActingFile(path, *found)


def acting_programs(entry_points: str) -> Iterator[ActingFile]:
    """Yield the programs of an `entry_points.txt` that take the place of the environment's own."""
    for line in entry_points.splitlines():
        name = line.partition("=")[0].strip()
        if "=" in line and (found := _acting("scripts", name)) is not None and found[0] == "replaces":
            yield ActingFile(f"entry point {name}", *found)


def _acting(scheme: str, path: str) -> tuple[ActingKind, str] | None:
    """Say what a file does by itself, from where an installer puts it; None where it does nothing."""
    if scheme in ("purelib", "platlib"):
        return _at_startup(path)
    if scheme == "scripts":
        return _as_program(path)
    if scheme != "data":
        return None
    folder, _, below = path.partition("/")
    library = _LIBRARY.fullmatch(path)
    if folder.lower() in ("bin", "scripts") and below:
        return _as_program(below)
    if library is not None:
        inside = _SITE.match(library["below"])
        if inside is not None:
            return _at_startup(library["below"][inside.end() :])
        return "replaces", "it takes the place of a module of Python itself"
    if path.lower() == "pyvenv.cfg":
        return "replaces", "it says where the environment's Python is"
    return None


def _at_startup(path: str) -> tuple[ActingKind, str] | None:
    top, slash, _ = path.partition("/")
    if not slash and top.lower().endswith(".pth"):
        return "startup", "Python reads it as it starts, and runs its lines that begin with import"
    if top.partition(".")[0].lower() in _STARTUP_MODULES:
        return "startup", "Python imports it as it starts"
    return None


def _as_program(name: str) -> tuple[ActingKind, str]:
    if _OWN_PROGRAM.fullmatch(name):
        return "replaces", f"it takes the place of the environment's own {name}"
    return "script", "a program beside the environment's Python"


class _Shared:
    """What wheels that have so many bytes together may make us read, and keep."""

    def __init__(self, nbytes: int) -> None:
        self.text = Allowance(
            most_wheel_text(nbytes), "bytes of lists and texts with those of the wheels before it"
        )
        self.requirements = Allowance(
            MAX_WHEEL_REQUIREMENTS, "requirements with those of the wheels before it"
        )


def _contents(wheel: Wheel, read: Callable[[int, int], bytes], size: int, shared: _Shared) -> WheelContents:
    # zipfile reads the list of files at once
    file = ByteRanges(read, size, most=MAX_WHEEL_DIRECTORY, allowance=shared.text)
    with _readable(wheel.file), zipfile.ZipFile(file) as opened:
        names = opened.namelist()
        (metadata,) = (name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        head = _head(_part(opened, metadata, shared))
        points = metadata.replace("METADATA", "entry_points.txt")
        programs = _part(opened, points, shared).decode() if points in names else ""
        _require_named(wheel, head)
        requires = tuple(_requirements(head, shared))
        return WheelContents(requires, (*acting_files(names), *acting_programs(programs)))


def _requirements(head: Message, shared: _Shared) -> Iterator[str]:
    """Yield what METADATA requires. Raises ValueError for too many, and for one that is too long."""
    found = head.get_all("Requires-Dist", ())
    shared.requirements.spend(len(found))
    for one in found:
        line = " ".join(str(one).split())
        if len(line) > MAX_REQUIREMENT:
            raise ValueError(f"a requirement of {len(line)} characters; the limit is {MAX_REQUIREMENT}")
        yield line


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Raise EnvironmentBuildError for whatever zipfile and email make of a file that is no wheel."""
    try:
        yield
    except (PackageError, OSError, MemoryError):
        raise
    except Exception as error:  # zipfile raises many kinds for a damaged file
        raise EnvironmentBuildError(f"{name}: not a wheel ({error}); build or download it again") from error


def _part(wheel: zipfile.ZipFile, name: str, shared: _Shared) -> bytes:
    info = wheel.getinfo(name)
    if info.compress_type not in _STORED_OR_DEFLATED:
        raise ValueError(f"{name} is compressed in another way than wheels are")
    with wheel.open(info) as file:
        data = file.read(MAX_WHEEL_METADATA + 1)
    if len(data) > MAX_WHEEL_METADATA:
        raise ValueError(f"{name} has {len(data)} bytes and more; the limit is {MAX_WHEEL_METADATA}")
    shared.text.spend(len(data))
    return data


def _head(data: bytes) -> Message:
    """Return the headers, as pip reads them."""
    return BytesParser().parsebytes(data, headersonly=True)


def _require_named(wheel: Wheel, head: Message) -> None:
    name, version = str(head.get("Name", "")), str(head.get("Version", ""))
    same = version == wheel.version or version_key(version) == version_key(wheel.version) is not None
    if normalized_name(name) != wheel.name or not same:
        raise ValueError(
            f"its METADATA is that of {name[:100]!r} {version[:100]!r}; expected {wheel.name} {wheel.version}"
        )


def _parsed(wheel: Wheel, requires: Sequence[str]) -> list[Any]:
    require_packaging()
    from packaging.requirements import InvalidRequirement, Requirement

    require_names_alone(wheel.file, requires)
    try:
        return [Requirement(line) for line in requires]
    except InvalidRequirement as error:
        raise EnvironmentBuildError(
            f"{wheel.file}: its METADATA has a requirement that is none: {str(error)[:200]}; remove the "
            "wheel where it comes from"
        ) from error
