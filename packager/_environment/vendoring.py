"""Wheels for an archive: those of its externs and of all that these require, for chosen targets.

pip fetches them, for other Pythons and platforms too. Which requirements hold there is decided here,
target by target: pip evaluates markers for the Python that it runs on.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from packager._atomic import temporary_folder
from packager._version import OWN_NAME, installed_version

from .distributions import Distributions
from .errors import EnvironmentBuildError, typed_errors
from .installers import choose_installer, explained, logged, pip_command, run_tool
from .own import own_wheel
from .targets import Target
from .versions import exact_requirement
from .wheel_contents import contents_of, not_there
from .wheels import Wheel, chosen, require_folders, wheels_in


def fetch_wheels(
    externs: Mapping[str, str],
    versions: Mapping[str, str],
    targets: Sequence[Target],
    folder: Path,
    *,
    local: Collection[str] = (),
    find_links: Sequence[str] = (),
) -> tuple[Wheel, ...]:
    """Bring the wheels of `externs` (exact versions by name) into `folder`, for every target.

    What they require in turn comes in the version that `versions` names, where it names one. No index is
    asked for `local` ones, nor for kellet: their wheels are those in folders of `find_links`; kellet's is
    made from the running packager where that is the version asked for.

    Raises EnvironmentBuildError for a local one without a wheel, and where all wheels together are more than
    is read of an archive, NoSuchVersionError where there is no wheel for a target, SourceOnlyError where
    there are sources alone, which are never built, ToolMissingError without pip or packaging, DiskFullError,
    FileNotFoundError for a folder of `find_links` that is not there.
    """
    require_folders(find_links)
    choose_installer("pip")
    fetched: dict[str, Path] = {}
    with temporary_folder("wheels") as work, typed_errors(f"wheels in {folder}"):
        for target in targets:
            place = Path(work, str(target))
            place.mkdir()
            _fetch_for(target, externs, versions, place, {OWN_NAME, *local}, find_links)
            fetched |= {path.name: path for path in place.iterdir()}
        # All together they are no more than is read of an archive.
        contents_of([fetched[name] for name in sorted(fetched)])
        for path in fetched.values():
            shutil.move(path, folder / path.name)
    return tuple(Wheel.parse(name) for name in sorted(fetched))


def _fetch_for(
    target: Target,
    externs: Mapping[str, str],
    versions: Mapping[str, str],
    place: Path,
    local: Collection[str],
    find_links: Sequence[str],
) -> None:
    """Fetch round by round: the wheels that are wanted, then those that these require."""
    wanted = {name: exact_requirement(name, version) for name, version in externs.items()}
    asked: set[str] = set()
    while wanted:
        asked.update(wanted)
        for name in sorted(set(wanted) & set(local)):
            del wanted[name]
            _fetch_local(target, name, externs.get(name) or versions.get(name), place, find_links)
        if wanted:
            _download(target, list(wanted.values()), place, find_links)
        there = contents_of(sorted(place.iterdir()))
        requires = {wheel: held.requires for wheel, held in there.items()}
        missing = not_there(requires, externs, target, f"wheels for {target}")
        wanted = {}
        for name in sorted(missing.keys() - asked):
            version = versions.get(name, externs.get(name))
            specifier = missing[name][0].specifier
            wanted[name] = exact_requirement(name, version) if version else f"{name}{specifier}"


def _fetch_local(
    target: Target, name: str, version: str | None, place: Path, find_links: Sequence[str]
) -> None:
    """Bring the wheel of what no index has. Raises EnvironmentBuildError where there is none here."""
    if name == OWN_NAME and version in (None, installed_version()):
        file, data = own_wheel()
        (place / file).write_bytes(data)
        return
    found = chosen(wheels_in(map(Path, find_links), target), {name: version})
    if name not in found:
        source = Distributions().place(name) or "its project's folder"
        raise EnvironmentBuildError(
            f"wheels for {target}: {name} {version or ''} is installed from {source}, and no index is asked "
            f"for it; build its wheel (python -m pip wheel --no-deps {shlex.quote(source)} --wheel-dir "
            "wheels), and name that folder with --find-links"
        )
    shutil.copy(found[name], place)


def _download(target: Target, requirements: Sequence[str], place: Path, find_links: Sequence[str]) -> None:
    files = place.parent / f"{place.name}.log"
    files.mkdir(exist_ok=True)
    command = [*pip_command(files), "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(place)]
    command += ["--implementation", "cp", "--python-version", target.python]
    command += [part for one in target.platforms for part in ("--platform", one)]
    command += [part for one in find_links for part in ("--find-links", one)]
    code, output = run_tool([*command, *requirements])
    if code:
        mend = "give a folder that has its wheel with --find-links, or leave this target out"
        log = logged(files)
        raise explained(output, f"wheels for {target}", target.interpreter, log=log, mend=mend)
