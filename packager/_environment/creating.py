"""A new virtual environment with exactly what an archive recorded, or nothing."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from importlib_metadata import distributions

from packager._atomic import new_folder, temporary_folder
from packager._names import normalized_name
from packager._quick_dataclasses import dataclass, field

from .distributions import Distributions
from .errors import ToolMissingError, typed_errors
from .gathering import WheelsAtHand
from .installers import Installer, choose_installer, explained, logged, run_tool
from .interpreter import Interpreter
from .recorded import EnvironmentReport, compare_environment
from .wheel_contents import ActingFile, acting_files
from .wheels import WheelArchive


@dataclass(frozen=True)
class CreatedEnvironment:
    """A new environment: its Python, the installer that filled it, and how it differs from the recorded one.

    `report` names what no installer can bring: modules of no distribution, another Python series. `acting`
    has, by distribution, the files that act without being imported: they run from the first start of
    the new Python on. `lacking` names what packager needs and has no wheel: it is left out then, and opens
    nothing there.
    """

    python: str
    installer: str
    installed: tuple[str, ...]
    report: EnvironmentReport
    acting: Mapping[str, tuple[ActingFile, ...]] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()


def create_environment(
    archive: WheelArchive,
    folder: str | os.PathLike[str],
    *,
    python: str | os.PathLike[str] | None = None,
    installer: str = "auto",
    offline: bool = False,
    find_links: Sequence[str] = (),
    packager: bool | None = None,
) -> CreatedEnvironment:
    """Make a virtual environment in `folder`, which must not be there or be empty.

    Every distribution that the archive names as extern is installed in the recorded version, what
    these require in the versions that stood beside them. Wheels in the archive are taken before any index;
    with `offline` nothing else is. What came from a folder, file or address is never asked of an index:
    kellet's wheel is the archive's, or one of the running packager where that has that version; another that
    has no wheel, in the archive or in a folder of `find_links`, is left out, and the report names it. Each of
    these is installed by its digest.

    `packager` says whether our own distribution is to be there, which opens the archive: by default it is,
    but for an `offline` environment where something that it needs has no wheel. What it needs and the archive
    did not record comes in a version that the installer chooses.

    `python` is the interpreter, by default the running one; `installer` "pip", "uv" or "auto". Wheels are
    unpacked and nothing in them is run; sources are never built. To start Python in the new environment runs
    what it finds there, .pth files and sitecustomize among it: the answer lists these. A wheel of the archive
    that requires what lies at an address is refused, since that would be built; an index that offers
    such wheels, which PyPI does not, is trusted as it is configured.

    Raises the errors of `packager._environment.errors`, and FileNotFoundError for a folder of `find_links`
    that is not there; nothing is left behind then.
    """
    at_hand = WheelsAtHand.of(archive, python, find_links)
    interpreter, recorded = at_hand.python, at_hand.recorded
    tool = choose_installer(installer)
    target = os.path.abspath(folder)
    what = f"environment {target}"
    lacking = at_hand.what_packager_lacks() if packager is None and offline else ()
    with (
        typed_errors(what),
        new_folder(target),
        temporary_folder("env") as work,
    ):
        with_packager = packager is not False and not lacking
        wanted = at_hand.gather(Path(work), what, offline=offline, packager=with_packager)
        os.makedirs(target, exist_ok=True)  # what keeps it from being made is told in our words
        _make_venv(tool, interpreter, target, what)
        environment_python = _python_in(target)
        # Asked while nothing is installed, and never run again: a wheel may bring another `bin/python`.
        made = Interpreter.ask(environment_python)
        if wanted.requirements:
            code, output = run_tool(tool.install_command(environment_python, wanted, work))
            if code:
                raise explained(output, what, interpreter, at_hand.held, log=logged(work))
    installed = Distributions(made.path)
    report = compare_environment(recorded.fingerprint, recorded.externs, made.fingerprint, installed)
    acting = _acting(made.path)
    done = tuple(wanted.versions)
    return CreatedEnvironment(environment_python, tool.name, done, report, acting, lacking)


def _acting(path: Iterable[str]) -> dict[str, tuple[ActingFile, ...]]:
    """Return the files of what is installed that act by themselves, but for programs of its own, by name."""
    site = "Lib/site-packages" if os.name == "nt" else "lib/python0/site-packages"
    acting: dict[str, tuple[ActingFile, ...]] = {}
    for distribution in distributions(path=list(path)):
        found = [
            ActingFile(file, one.kind, one.why)
            for file in map(str, distribution.files or ())
            # Seen from the environment's own folder, as the data of a wheel is.
            for one in acting_files([f"x.data/data/{posixpath.normpath(f'{site}/{file}')}"])
            if one.kind != "script" and "__pycache__" not in file
        ]
        if found:
            acting[normalized_name(distribution.name)] = tuple(found)
    return {name: acting[name] for name in sorted(acting)}


def _make_venv(tool: Installer, python: Interpreter, target: str, what: str) -> None:
    code, output = run_tool(tool.venv_command(python, target))
    if code:
        error = explained(output, what, python)
        if "ensurepip" in output or "No module named venv" in output:
            error = ToolMissingError(
                f"{what}: {python.executable} has no module venv; on Debian: apt-get install python3-venv"
            )
        raise error


def _python_in(folder: str) -> str:
    parts = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return os.path.join(folder, *parts)
