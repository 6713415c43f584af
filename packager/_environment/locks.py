"""Lock files of an archive's environment: `requirements.txt`, and `pylock.toml` as of PEP 751.

They say what is known and no more: exact versions from the manifest; digests where the archive holds
wheels, or where an index was asked; the index of local versions (`2.4.0+cpu`), which PyPI has not.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packager._atomic import temporary_folder
from packager._quick_dataclasses import dataclass, replace
from packager._texts import listed
from packager._toml_text import toml_string

from .distributions import Distributions
from .errors import EnvironmentBuildError
from .gathering import WheelsAtHand, direct_reference, sha256_of
from .installers import choose_installer, explained, logged, run_tool
from .interpreter import Interpreter
from .recorded import RecordedEnvironment
from .versions import exact_requirement, is_local_version
from .wheels import (
    Wheel,
    WheelArchive,
    extract_wheels,
    vendored_wheels,
)


@dataclass(frozen=True)
class LockedWheel:
    """A wheel in a lock file: its sha256, and a URL, or nothing for one that lies in a folder beside."""

    wheel: Wheel
    sha256: str
    url: str = ""


def requirements_lock(
    at_hand: WheelsAtHand,
    folder: Path,
    place: Path,
    *,
    every_wheel: bool = False,
    indexes: Sequence[str] = (),
) -> str:
    """Return the text of `requirements.txt`; write into `folder` the wheels of what no index has.

    These are named by file and digest, as they will lie in `place`; without a wheel, by the address or the
    folder that they are installed from here. All others have exact versions, and digests where the archive
    holds wheels; with `every_wheel` these are written, too. `indexes` are named beside PyPI; without them a
    comment says which local versions need one.

    Raises EnvironmentBuildError for a distribution that no index has, and that is not here.
    """
    recorded, local = at_hand.recorded, _local(at_hand, folder)
    direct = {name: direct_reference(name, path, place / path.name) for name, path in local.wheels.items()}
    direct |= {name: f"{name} @ {one.url}#sha256={one.sha256}" for name, one in local.fetched.items()}
    direct |= {name: f"{name} @ {path.as_uri()}" for name, path in local.projects.items()}
    held = wheels_held(at_hand.archive, folder if every_wheel else None)
    said = "".join(f"{line}\n" for line in _named_indexes(recorded, direct, indexes))
    return said + requirements_text(recorded, held, direct)


def wheels_held(archive: WheelArchive, folder: Path | None = None) -> tuple[LockedWheel, ...]:
    """Return the wheels in an archive with their digests; write them into `folder`, where one is given."""
    held = vendored_wheels(archive.manifest)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    digests = extract_wheels(archive, held, folder)
    return tuple(LockedWheel(wheel, digests[wheel.file]) for wheel in held)


def requirements_text(
    recorded: RecordedEnvironment,
    held: Sequence[LockedWheel] = (),
    direct: Mapping[str, str] | None = None,
) -> str:
    """Return `requirements.txt`: exact versions; with the digests of `held`, where there are wheels.

    `direct` has the lines of those that are taken from a place of their own, by name.

    >>> from packager._environment import Fingerprint, RecordedExtern
    >>> numpy = RecordedExtern(("numpy",), "numpy", "2.1.0", "numpy>=2.1.0,<3")
    >>> print(requirements_text(RecordedEnvironment(Fingerprint.here(), (numpy,))), end="")
    numpy==2.1.0
    """
    lines = dict(direct or {})
    if held:
        for (name, version), wheels in _by_version(held).items():
            hashes = " \\\n".join(f"    --hash=sha256:{one.sha256}" for one in wheels)
            lines.setdefault(name, f"{name}=={version} \\\n{hashes}")
    else:
        for name, version in recorded.all_versions.items():
            lines.setdefault(name, exact_requirement(name, version))
    return "".join(f"{lines[name]}\n" for name in sorted(lines))


def _named_indexes(
    recorded: RecordedEnvironment, direct: Mapping[str, str], indexes: Sequence[str]
) -> Iterator[str]:
    """Yield the lines that name indexes beside PyPI, or say for what one has to be named."""
    yield from (f"--extra-index-url {url}" for url in indexes)
    local = [
        exact_requirement(name, version)
        for name, version in recorded.all_versions.items()
        if is_local_version(version) and name not in direct
    ]
    if local and not indexes:
        yield f"# {listed(local)}: PyPI has no local versions; name the index of the builder, as PyTorch's:"
        yield "# --extra-index-url https://download.pytorch.org/whl/cpu"


def pylock(at_hand: WheelsAtHand, folder: Path, seen: str, *, indexes: Sequence[str] = ()) -> str:
    """Return the text of `pylock.toml`, and write into `folder` the wheels that no index has.

    `seen` is that folder, seen from the file. Wheels are those of the archive; where it has none, those
    that the index has that pip is configured with, and `indexes`. kellet's own is always among them.

    Raises the errors of `packager._environment.errors`.
    """
    recorded, held = at_hand.recorded, wheels_held(at_hand.archive, folder)
    local = _local(at_hand, folder)
    projects = {(name, recorded.all_versions[name]): path for name, path in local.projects.items()}
    if not held:
        found = resolve_wheels(at_hand.archive, folder, at_hand, indexes)
        locked = {one.wheel.file: one for one in (*local.fetched.values(), *found)}
        return pylock_text([*locked.values()], seen, at_hand.python, projects)
    own = (LockedWheel(Wheel.parse(path.name), sha256_of(path)) for path in local.wheels.values())
    locked = {one.wheel.file: one for one in (*local.fetched.values(), *own, *held)}
    return pylock_text([*locked.values()], seen, projects=projects)


def pylock_text(
    wheels: Sequence[LockedWheel],
    folder: str,
    python: Interpreter | None = None,
    projects: Mapping[tuple[str, str], Path] | None = None,
) -> str:
    """Return `pylock.toml`: every wheel with its digest; those without a URL lie in `folder`.

    That is the folder as it is seen from the file. With `python` the file is for its series and system
    alone, and on Linux for its machine. `projects` are the folders of those without a wheel, by name and
    version.

    Source: PEP 751.
    """
    environments = {} if python is None else {"environments": [_marker(python)]}
    head = {"lock-version": "1.0", **environments, "created-by": "packager"}
    packages: list[dict[str, Any]] = [
        {"name": name, "version": version, "wheels": [_pylock_wheel(one, folder) for one in group]}
        for (name, version), group in _by_version(wheels).items()
    ]
    packages += [
        {"name": name, "version": version, "directory": {"path": str(path)}}
        for (name, version), path in (projects or {}).items()
    ]
    lines = [f"{key} = {_toml(value)}" for key, value in head.items()]
    for package in packages:
        lines += ["", "[[packages]]", *(f"{key} = {_toml(value)}" for key, value in package.items())]
    return "\n".join(lines) + "\n"


def resolve_wheels(
    archive: WheelArchive,
    folder: Path,
    at_hand: WheelsAtHand | None = None,
    indexes: Sequence[str] = (),
) -> tuple[LockedWheel, ...]:
    """Ask the index that pip is configured with, and `indexes`, for the wheels of the recorded versions.

    Nothing is installed or built. pip runs under the Python of `at_hand`, by default the running one, which
    as it starts runs what is installed for it (.pth files, sitecustomize). Those that no index has (kellet's
    own, those of folders) are written into `folder`.

    Raises the errors of `packager._environment.errors`.
    """
    at_hand = at_hand or WheelsAtHand.of(archive)
    interpreter, pip = at_hand.python, choose_installer("pip")
    what = f"lock file for Python {interpreter.fingerprint.python_series}"
    with temporary_folder("lock") as work:
        links, report = Path(work, "wheels"), Path(work, "report.json")
        links.mkdir()
        wanted = at_hand.gather(links, what)
        command = pip.install_command(interpreter.executable, replace(wanted, indexes=tuple(indexes)), work)
        code, output = run_tool([*command, "--dry-run", "--ignore-installed", "--report", str(report)])
        if code:
            raise explained(output, what, interpreter, at_hand.held, log=logged(work))
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
        return tuple(_locked(row["download_info"], folder, what) for row in found)


@dataclass(frozen=True)
class _Local:
    """What no index has, by name: wheels in a folder, wheels at an address, folders of projects."""

    wheels: Mapping[str, Path]
    fetched: Mapping[str, LockedWheel]
    projects: Mapping[str, Path]


def _local(at_hand: WheelsAtHand, folder: Path) -> _Local:
    """Find what no index has; its wheels are laid into `folder`."""
    recorded = at_hand.recorded
    wheels = at_hand.local(recorded, folder, "lock file")
    for name, path in wheels.items():
        if path.parent != folder:
            wheels[name] = Path(shutil.copy(path, folder))
    installed = Distributions()
    fetched, projects = {}, {}
    for name, version in recorded.local_versions.items():
        one = installed.find(name)
        source = one.place if one is not None and one.version == version else ""
        if name in wheels:
            continue
        if one is not None and one.digest and source.endswith(".whl"):
            fetched[name] = LockedWheel(Wheel.parse(unquote(source.rpartition("/")[2])), one.digest, source)
        elif "://" not in source and os.path.isdir(source):
            projects[name] = Path(source)
        else:
            raise EnvironmentBuildError(
                f"lock file: {name} {version} was installed from {source or 'a folder or file'}, no index is "
                "asked for it, and there is no wheel of it; name a folder that has one with --find-links, or "
                "export again with --vendor-wheels"
            )
    return _Local(wheels, fetched, projects)


def _locked(found: Mapping[str, Any], folder: Path, what: str) -> LockedWheel:
    url = str(found["url"])
    parts = urlsplit(url)
    wheel = Wheel.parse(unquote(parts.path.rpartition("/")[2]))
    digest = found.get("archive_info", {}).get("hashes", {}).get("sha256", "")
    if parts.scheme == "file":
        path = unquote(parts.path)
        digest = sha256_of(Path(path))
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / wheel.file)
        url = ""
    if not digest:
        raise EnvironmentBuildError(f"{what}: the index gives no sha256 for {wheel.file}; lock from another")
    return LockedWheel(wheel, digest, url)


def _by_version(wheels: Sequence[LockedWheel]) -> Mapping[tuple[str, str], list[LockedWheel]]:
    groups: dict[tuple[str, str], list[LockedWheel]] = {}
    for one in sorted(wheels, key=lambda one: (one.wheel.name, one.wheel.version, one.wheel.file)):
        groups.setdefault((one.wheel.name, one.wheel.version), []).append(one)
    return groups


def _pylock_wheel(one: LockedWheel, folder: str) -> dict[str, Any]:
    place = {"url": one.url} if one.url else {"path": f"{folder}/{one.wheel.file}"}
    return {"name": one.wheel.file, **place, "hashes": {"sha256": one.sha256}}


def _toml(value: Any) -> str:
    """Return a text, a list or a table as a value of TOML."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(one)}' for key, one in value.items())} }}"
    if isinstance(value, list):
        return "[\n" + "".join(f"    {_toml(one)},\n" for one in value) + "]"
    return toml_string(value)


def _marker(python: Interpreter) -> str:
    parts = [f"python_version == '{python.fingerprint.python_series}'", f"sys_platform == '{python.system}'"]
    if python.system == "linux":
        parts.append(f"platform_machine == '{python.fingerprint.platform.removeprefix('linux-')}'")
    return " and ".join(parts)
