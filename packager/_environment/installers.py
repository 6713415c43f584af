"""pip and uv as child processes: what they are told, and what their failures mean."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from typing import Any, Final
from urllib.parse import quote

from packager._atomic import temporary_folder
from packager._names import normalized_name
from packager._quick_dataclasses import dataclass
from packager._texts import listed

from .errors import (
    EnvironmentBuildError,
    NoSuchVersionError,
    SourceOnlyError,
    ToolMissingError,
    WrongPlatformError,
    WrongPythonError,
    disk_full,
)
from .interpreter import Interpreter
from .targets import Target
from .versions import Requirement, exact_requirement, is_local_version
from .wheels import Wheel


@dataclass(frozen=True)
class Wanted:
    """What is to be installed: requirements, versions to keep to, folders with wheels, indexes besides.

    `offline` leaves out every index. `versions` are the requirements without the places of files.
    """

    requirements: Sequence[str]
    constraints: Sequence[str] = ()
    folders: Sequence[str] = ()
    offline: bool = False
    versions: Sequence[str] = ()
    indexes: Sequence[str] = ()


@dataclass(frozen=True)
class Installer:
    """pip of the running Python, or uv; both install into another environment from outside.

    Wheels alone are installed: an sdist is built by running its code. Nothing that is installed is run.
    """

    name: str

    def venv_command(self, python: Interpreter, folder: str) -> list[str]:
        """Make an empty virtual environment."""
        if self.name == "uv":
            return ["uv", "venv", "--quiet", "--no-project", "--python", python.executable, folder]
        # Neither the current folder's modules nor what is installed for that Python.
        return [python.executable, "-I", "-S", "-m", "venv", "--without-pip", folder]

    def install_command(self, python: str, wanted: Wanted, files: str) -> list[str]:
        """Install into the environment of `python`; `files` is a folder for lists, and for a log."""
        lists = ["-r", _written(files, "requirements.txt", wanted.requirements)]
        if wanted.constraints:
            lists += ["-c", _written(files, "constraints.txt", wanted.constraints)]
        links = [part for folder in wanted.folders for part in ("--find-links", folder)]
        links += [part for url in wanted.indexes for part in ("--extra-index-url", url)]
        offline = ["--no-index"] if wanted.offline else []
        if self.name == "uv":
            # To compile, uv would start the environment's own Python after it has been filled.
            how = ["--quiet", "--no-compile-bytecode", *_WHEELS_ALONE]
            return ["uv", "pip", "install", *how, "--python", python, *offline, *links, *lists]
        # Offline means the archive alone: neither indexes nor folders that pip is configured with.
        alone = ["--isolated"] if wanted.offline else []
        pip = [*pip_command(files), *alone, "--python", python, "install"]
        quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-warn-script-location"]
        return [*pip, *quiet, *_WHEELS_ALONE, *offline, *links, *lists]


def pip_command(files: str | os.PathLike[str]) -> list[str]:
    """Return the command of the running Python's pip, which logs into the folder `files`."""
    return [sys.executable, "-P", "-m", "pip", "--log", os.path.join(files, _LOG)]


def logged(files: str | os.PathLike[str]) -> str:
    """Read what pip has logged in the folder `files`; nothing where no pip has run."""
    try:
        with open(os.path.join(files, _LOG), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def choose_installer(choice: str = "auto") -> Installer:
    """Return the installer of that name; `auto` takes uv where it is on PATH, else pip.

    Raises ToolMissingError where it is not there.
    """
    # Where setuptools is imported, a finder of its own warns of distutils as soon as pip is looked for.
    there = {"uv": shutil.which("uv") is not None, "pip": PathFinder.find_spec("pip") is not None}
    for name in ("uv", "pip"):
        if choice in ("auto", name) and there[name]:
            return Installer(name)
    if choice == "uv":
        raise ToolMissingError(
            "uv was not found on PATH. Put it there, or use pip: --installer pip (installer='pip')"
        )
    raise ToolMissingError(
        f"pip is not installed for {sys.executable}. Install it: {sys.executable} -m ensurepip"
    )


def run_tool(command: Sequence[str]) -> tuple[int, str]:
    """Run a tool to its end; its exit code, and all that it said. Raises OSError where it cannot start.

    What is raised meanwhile ends it, and all that it has started; its temporary files go in any case.
    """
    with temporary_folder("tool") as folder:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={name: value for name, value in os.environ.items() if name not in _CONTRADICTING}
            | dict.fromkeys(("TMPDIR", "TMP", "TEMP"), folder),
            **_OWN_GROUP,
        )
        try:
            output, _ = child.communicate()
        except BaseException:
            _end(child)
            raise
    return child.returncode, output


def _end(child: subprocess.Popen[str]) -> None:
    """End a process and all that it has started, and wait until none of them can write any more."""
    if _OWN_GROUP:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.communicate()  # the last of them closes the pipe


# pip installs into another environment by starting itself again: the first process alone is not all of it.
_OWN_GROUP: Final[dict[str, Any]] = {"process_group": 0} if hasattr(os, "killpg") else {}
_CONTRADICTING = ("UV_COMPILE_BYTECODE",)  # uv takes no flag against a variable
_WHEELS_ALONE = ("--only-binary", ":all:")
_LOG = "pip.log"
_NO_ROOM = re.compile(r"No space left on device|\[Errno 28\]|os error 28|Disk quota exceeded")
_NOT_FOUND = re.compile(
    r"(?:satisfies the requirement|there (?:is|are) no versions? of|Because(?! there)) "
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:==(?P<version>[^\s,;(]+))?"
)
_VERSIONS_THERE = re.compile(r"\(from versions: ([^)]*)\)")
_SOURCES_ONLY = re.compile(r"Because (?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==\S+ has no usable wheels")  # uv
_OTHER_PYTHON = re.compile(r"([^;\s]+) Requires-Python ([^;\s]+)")
# Where nothing offers a version that is only kept to, or that a constraint of the user's would allow, pip
# calls that a conflict, and says of what in its log.
_KEPT_TO = re.compile(
    r"depends on (?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?P<range>[^\s;]*).*\n"
    r".*The user requested \(constraint\) (?P=name)==(?P<version>\S+)"
)
_ALLOWED = re.compile(
    r"The user requested (?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>\S+)\n"
    r".*The user requested \(constraint\) (?P=name)(?P<range>[^\s;]*)"
)
_REQUIRES_PYTHON = re.compile(
    r"Package '(?P<pip>[^']+)' requires a different Python: \S+ not in '(?P<pip_wants>[^']+)'"
    r"|does not satisfy Python(?P<uv_wants>\S+) and (?P<uv>[A-Za-z0-9._-]+)"
)


def explained(
    output: str,
    what: str,
    python: Interpreter,
    wheels: Sequence[Wheel] = (),
    *,
    log: str = "",
    mend: str = "give a folder that has its wheel with --find-links, or export again with --vendor-wheels",
) -> EnvironmentBuildError:
    """Return the error that an installer's output means; the end of the output goes along as a note.

    `wheels` are those that an archive holds, for whichever Pythons and platforms; `log` is what pip has
    logged besides; `mend` is what to do where no index offers the version.
    """
    error = _error(output, what, python, wheels, log, mend)
    for line in output.strip().splitlines()[-8:]:
        error.add_note(line[:400])
    return error


def _error(
    output: str, what: str, python: Interpreter, wheels: Sequence[Wheel], log: str, mend: str
) -> EnvironmentBuildError:
    if _NO_ROOM.search(output):
        return disk_full(what)
    refused = _REQUIRES_PYTHON.search(output)
    if refused is not None:
        wants = refused["pip_wants"] or refused["uv_wants"]
        return _wrong_python(what, refused["pip"] or refused["uv"], wants, python)
    match = _NOT_FOUND.search(output) or _not_there(log)
    if match is None:
        return EnvironmentBuildError(f"{what}: the installer failed; what it said last is below")
    name, version = normalized_name(match["name"]), match["version"] or ""
    subject = f"{name} {version}".strip()
    held = [wheel for wheel in wheels if wheel.name == name]
    if held:
        return wrong_platform(what, held, python)
    for offered_version, wants in _OTHER_PYTHON.findall(output):
        if offered_version == version:
            return _wrong_python(what, subject, wants, python)
    if _SOURCES_ONLY.search(output) or _names_sources(log, name, version):
        return SourceOnlyError(
            f"{what}: {subject} is offered as sources alone, and to build a wheel of them would run their "
            f"code; build one yourself (pip wheel {exact_requirement(name, version)}), then {mend}"
        )
    there = _VERSIONS_THERE.search(output)
    others = [one.strip() for one in there[1].split(",")] if there else []
    if is_local_version(version):
        mend = f"name the index of its builder, which PyPI is not (PIP_EXTRA_INDEX_URL, UV_INDEX), {mend}"
    known = f"; the last there are: {', '.join(others[-3:])}" if others and others != ["none"] else ""
    return NoSuchVersionError(
        f"{what}: no {subject} for Python {python.fingerprint.python_series} on "
        f"{python.fingerprint.platform} was found{known}; {mend}"
    )


def _not_there(log: str) -> re.Match[str] | None:
    """Find in pip's log the version that is asked for and that would do, so that it can only be missing."""
    for match in (*_KEPT_TO.finditer(log), *_ALLOWED.finditer(log)):
        try:
            if Requirement.parse(match["name"] + match["range"]).allows(match["version"]):
                return match
        except ValueError:  # extras, or a range by an operator that we do not read
            continue
    return None


def _names_sources(log: str, name: str, version: str) -> bool:
    """Whether pip has passed over an sdist of this very version."""
    spelled = re.escape(name).replace(r"\-", "[-_.]+")
    file = rf"/{spelled}-{re.escape(quote(version))}\.(?:tar|tgz|zip)"
    return re.search(rf"No sources permitted for .*{file}", log, re.IGNORECASE) is not None


def _wrong_python(what: str, subject: str, wants: str, python: Interpreter) -> WrongPythonError:
    return WrongPythonError(
        f"{what}: {subject} needs Python {wants}; found {python.fingerprint.python}; name another Python, "
        "as --python python3.12"
    )


def wrong_platform(what: str, held: Sequence[Wheel], python: Interpreter) -> WrongPlatformError:
    """Return the error for wheels that are there, for other Pythons or platforms alone."""
    targets, here = [wheel.target for wheel in held], Target.of(python)
    return WrongPlatformError(
        f"{what}: the archive has {held[0].name} for {listed(targets)}; this is {here}; name another Python "
        f"with --python, or export again with --vendor-wheels {here}"
    ).holding(targets)


def _written(folder: str, name: str, lines: Sequence[str]) -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path
