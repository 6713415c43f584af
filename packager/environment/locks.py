"""Lock files of an archive's environment: `requirements.txt`, and `pylock.toml` as of PEP 751.

They say what is known and no more: exact versions from the manifest; digests where the archive holds
wheels, or where an index was asked.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packager.atomic import temporary_folder
from packager.quick_dataclasses import dataclass
from packager.toml_text import toml_string

from .distributions import Distributions
from .errors import EnvironmentBuildError
from .gathering import direct_reference, gather_wheels, local_wheels, sha256_of
from .installers import Wanted, choose_installer, explained, logged, run_tool
from .interpreter import Interpreter
from .recorded import RecordedEnvironment
from .versions import exact_requirement
from .wheels import (
    Wheel,
    WheelArchive,
    extract_wheels,
    require_folders,
    vendored_wheels,
    wheel_digests,
)


@dataclass(frozen=True)
class LockedWheel:
    """A wheel in a lock file: its sha256, and a URL, or nothing for one that lies in a folder beside."""

    wheel: Wheel
    sha256: str
    url: str = ""


def requirements_lock(
    archive: WheelArchive,
    folder: Path,
    place: Path,
    *,
    every_wheel: bool = False,
    python: str | os.PathLike[str] | None = None,
    find_links: Sequence[str] = (),
) -> str:
    """Return the text of `requirements.txt`; write into `folder` the wheels of what no index has.

    These are named by file and digest, as they will lie in `place`; without a wheel, by the folder that they
    are installed from here. All others have exact versions, and digests where the archive holds wheels;
    with `every_wheel` these are written, too.

    Raises EnvironmentBuildError for a distribution that no index has, and that is not here,
    FileNotFoundError for a folder of `find_links` that is not there.
    """
    require_folders(find_links)
    recorded = RecordedEnvironment.of(archive.manifest)
    wheels, projects = _local(archive, recorded, python, folder, find_links)
    direct = {name: direct_reference(name, path, place / path.name) for name, path in wheels.items()}
    direct |= {name: f"{name} @ {path.as_uri()}" for name, path in projects.items()}
    return requirements_text(recorded, wheels_held(archive, folder if every_wheel else None), direct)


def wheels_held(archive: WheelArchive, folder: Path | None = None) -> tuple[LockedWheel, ...]:
    """Return the wheels in an archive with their digests; write them into `folder`, where one is given."""
    held = vendored_wheels(archive.manifest)
    if folder is None:
        digests = wheel_digests(archive, held)
    else:
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

    >>> from packager.environment import Fingerprint, RecordedExtern
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


def pylock(
    archive: WheelArchive,
    folder: Path,
    seen: str,
    *,
    python: str | os.PathLike[str] | None = None,
    find_links: Sequence[str] = (),
) -> str:
    """Return the text of `pylock.toml`, and write into `folder` the wheels that no index has.

    `seen` is that folder, seen from the file. Wheels are those of the archive; where it has none, those
    that the index has that pip is configured with. kellet's own is always among them.

    Raises the errors of `packager.environment.errors`, and FileNotFoundError for a folder of `find_links`
    that is not there.
    """
    require_folders(find_links)
    recorded = RecordedEnvironment.of(archive.manifest)
    held = wheels_held(archive, folder)
    wheels, projects = _local(archive, recorded, python, folder, find_links)
    if not held:
        resolved = resolve_wheels(archive, folder, python=python, find_links=find_links)
        return pylock_text(resolved, seen, Interpreter.ask(python)) + _pylock_projects(projects, recorded)
    files = {one.wheel.file for one in held}
    own = [
        LockedWheel(Wheel.parse(path.name), sha256_of(path))
        for path in wheels.values()
        if path.name not in files
    ]
    return pylock_text((*held, *own), seen) + _pylock_projects(projects, recorded)


def pylock_text(wheels: Sequence[LockedWheel], folder: str, python: Interpreter | None = None) -> str:
    """Return `pylock.toml`: every wheel with its digest; those without a URL lie in `folder`.

    That is the folder as it is seen from the file. With `python` the file is for its series and system
    alone, and on Linux for its machine.

    Source: PEP 751.
    """
    lines = ['lock-version = "1.0"']
    if python is not None:
        lines.append(f"environments = [{toml_string(_marker(python))}]")
    lines.append('created-by = "packager"')
    for (name, version), group in _by_version(wheels).items():
        lines += ["", "[[packages]]", *_fields(name=name, version=version), "wheels = ["]
        lines += [f"    {_pylock_wheel(one, folder)}," for one in group]
        lines.append("]")
    return "\n".join(lines) + "\n"


def resolve_wheels(
    archive: WheelArchive,
    folder: Path,
    *,
    python: str | os.PathLike[str] | None = None,
    find_links: Sequence[str] = (),
) -> tuple[LockedWheel, ...]:
    """Ask the index that pip is configured with for the wheels of the recorded versions.

    Nothing is installed or built. pip runs under the Python of `python`, which as it starts runs what is
    installed for it (.pth files, sitecustomize). Those that no index has (kellet's own, those of
    `find_links`) are written into `folder`.

    Raises the errors of `packager.environment.errors`.
    """
    interpreter = Interpreter.ask(python)
    choose_installer("pip")
    what = f"lock file for Python {interpreter.fingerprint.python_series}"
    with temporary_folder("lock") as work:
        links = Path(work, "wheels")
        links.mkdir()
        wanted = gather_wheels(archive, interpreter, links, what, find_links=find_links)
        report = Path(work, "report.json")
        code, output = run_tool(_dry_run(interpreter, wanted, report, work))
        if code:
            raise explained(output, what, interpreter, vendored_wheels(archive.manifest), log=logged(work))
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
        return tuple(_locked(row["download_info"], folder, what) for row in found)


def _local(
    archive: WheelArchive,
    recorded: RecordedEnvironment,
    python: str | os.PathLike[str] | None,
    folder: Path,
    find_links: Sequence[str],
) -> tuple[Mapping[str, Path], Mapping[str, Path]]:
    """Return what no index has, by name: wheels in `folder`, and folders of projects that have no wheel."""
    if not recorded.local_versions:
        return {}, {}
    wheels = dict(local_wheels(archive, Interpreter.ask(python), folder, "lock file", find_links))
    for name, path in wheels.items():
        if path.parent != folder:
            wheels[name] = Path(shutil.copy(path, folder))
    installed = Distributions()
    projects = {}
    for name, version in recorded.local_versions.items():
        source = installed.place(name) if installed.version(name) == version else ""
        place = Path(source or os.devnull)
        if name in wheels:
            continue
        if "://" in source or not place.is_dir():
            raise EnvironmentBuildError(
                f"lock file: {name} {version} was installed from {source or 'a folder or file'}, no index is "
                "asked for it, and there is no wheel of it; name a folder that has one with --find-links, or "
                "export again with --vendor-wheels"
            )
        projects[name] = place
    return wheels, projects


def _pylock_projects(projects: Mapping[str, Path], recorded: RecordedEnvironment) -> str:
    lines = []
    for name, path in projects.items():
        lines += ["", "[[packages]]", *_fields(name=name, version=recorded.all_versions[name])]
        lines.append(f"directory = {{ {_fields(path=str(path))[0]} }}")
    return "".join(f"{line}\n" for line in lines)


def _dry_run(python: Interpreter, wanted: Wanted, report: Path, work: str) -> list[str]:
    install = choose_installer("pip").install_command(python.executable, wanted, work)
    return [*install, "--dry-run", "--ignore-installed", "--report", str(report)]


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


def _pylock_wheel(one: LockedWheel, folder: str) -> str:
    place = {"url": one.url} if one.url else {"path": f"{folder}/{one.wheel.file}"}
    hashes = f"hashes = {{ {_fields(sha256=one.sha256)[0]} }}"
    return f"{{ {', '.join([*_fields(name=one.wheel.file, **place), hashes])} }}"


def _fields(**texts: str) -> list[str]:
    return [f"{name} = {toml_string(text)}" for name, text in texts.items()]


def _marker(python: Interpreter) -> str:
    parts = [f"python_version == '{python.fingerprint.python_series}'", f"sys_platform == '{python.system}'"]
    if python.system == "linux":
        parts.append(f"platform_machine == '{python.fingerprint.platform.removeprefix('linux-')}'")
    return " and ".join(parts)
