"""Lock files of an archive's environment: `requirements.txt`, and `pylock.toml` as of PEP 751.

They say what is known and no more: exact versions from the manifest; digests where the archive holds
wheels, or where an index was asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from .errors import EnvironmentBuildError
from .gathering import gather_wheels
from .installers import Wanted, choose_installer, explained, logged, run_tool
from .interpreter import Interpreter
from .recorded import RecordedEnvironment
from .versions import exact_requirement
from .wheels import Wheel, WheelArchive, extract_wheels, vendored_wheels, wheel_digest


@dataclass(frozen=True)
class LockedWheel:
    """A wheel in a lock file: its sha256, and a URL, or nothing for one that lies in a folder beside."""

    wheel: Wheel
    sha256: str
    url: str = ""


def wheels_held(archive: WheelArchive, folder: Path | None = None) -> tuple[LockedWheel, ...]:
    """The wheels in an archive with their digests; also written into `folder`, where one is given."""
    held = vendored_wheels(archive.manifest)
    if folder is None:
        digests = {wheel.file: wheel_digest(archive, wheel) for wheel in held}
    else:
        folder.mkdir(parents=True, exist_ok=True)
        digests = extract_wheels(archive, held, folder)
    return tuple(LockedWheel(wheel, digests[wheel.file]) for wheel in held)


def requirements_text(recorded: RecordedEnvironment, held: Sequence[LockedWheel] = ()) -> str:
    """`requirements.txt`: exact versions; with the digests of `held`, where there are wheels.

    >>> from packager.environment import Fingerprint, RecordedExtern
    >>> numpy = RecordedExtern(("numpy",), "numpy", "2.1.0", "numpy>=2.1.0,<3")
    >>> print(requirements_text(RecordedEnvironment(Fingerprint.here(), (numpy,))), end="")
    numpy==2.1.0
    """
    if held:
        return "".join(
            f"{name}=={version} \\\n"
            + " \\\n".join(f"    --hash=sha256:{one.sha256}" for one in wheels)
            + "\n"
            for (name, version), wheels in _by_version(held).items()
        )
    versions = {**recorded.versions, **recorded.distributions}
    return "".join(f"{exact_requirement(name, versions[name])}\n" for name in sorted(versions))


def pylock_text(wheels: Sequence[LockedWheel], folder: str, python: Interpreter | None = None) -> str:
    """`pylock.toml`: every wheel with its digest; those without a URL lie in `folder`, seen from the file.

    With `python` the file is for its series, system and machine alone.

    Source: PEP 751.
    """
    lines = ['lock-version = "1.0"']
    if python is not None:
        lines.append(f"environments = [{_toml(_marker(python))}]")
    lines.append('created-by = "packager"')
    for (name, version), group in _by_version(wheels).items():
        lines += ["", "[[packages]]", f"name = {_toml(name)}", f"version = {_toml(version)}", "wheels = ["]
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
    recorded = RecordedEnvironment.of(archive.manifest)
    interpreter = Interpreter.ask(python)
    choose_installer("pip")
    what = f"lock file for Python {interpreter.fingerprint.python_series}"
    with tempfile.TemporaryDirectory(prefix="kellet-lock-") as work:
        links = Path(work, "wheels")
        links.mkdir()
        gather_wheels(archive, interpreter, links, what)
        report = Path(work, "report.json")
        code, output = run_tool(
            _dry_run(interpreter, Wanted.of(recorded, [str(links), *find_links]), report, work)
        )
        if code:
            raise explained(output, what, interpreter, vendored_wheels(archive.manifest), log=logged(work))
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
        return tuple(_locked(row["download_info"], folder, what) for row in found)


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
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
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
    place = f"url = {_toml(one.url)}" if one.url else f"path = {_toml(f'{folder}/{one.wheel.file}')}"
    return f"{{ name = {_toml(one.wheel.file)}, {place}, hashes = {{ sha256 = {_toml(one.sha256)} }} }}"


def _marker(python: Interpreter) -> str:
    system, _, machine = python.fingerprint.platform.partition("-")
    platform = {"macosx": "darwin"}.get(system, system)
    parts = [f"python_version == '{python.fingerprint.python_series}'", f"sys_platform == '{platform}'"]
    if system == "linux":
        parts.append(f"platform_machine == '{machine}'")
    return " and ".join(parts)


def _toml(text: str) -> str:
    """A TOML string; JSON's are."""
    return json.dumps(text)
