"""A new virtual environment with exactly what an archive recorded, or nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .distributions import Distributions
from .errors import EnvironmentBuildError, ToolMissingError
from .gathering import gather_wheels
from .installers import Installer, Wanted, choose_installer, disk_full, explained, is_full, logged, run_tool
from .interpreter import Interpreter
from .recorded import EnvironmentReport, RecordedEnvironment, compare_environment
from .wheels import WheelArchive, vendored_wheels


@dataclass(frozen=True)
class CreatedEnvironment:
    """A new environment: its Python, the installer that filled it, and how it differs from the recorded one.

    `report` names what no installer can bring: modules of no distribution, another Python series.
    """

    python: str
    installer: str
    installed: tuple[str, ...]
    report: EnvironmentReport


def create_environment(
    archive: WheelArchive,
    folder: str | os.PathLike[str],
    *,
    python: str | os.PathLike[str] | None = None,
    installer: str = "auto",
    offline: bool = False,
    find_links: Sequence[str] = (),
) -> CreatedEnvironment:
    """Make a virtual environment in `folder`, which must not be there or be empty.

    Every distribution that the archive names as extern is installed in the recorded version, what
    these require in the versions that stood beside them. kellet itself comes from the running
    packager where that has the recorded version. Wheels in the archive are taken before any index;
    with `offline` nothing else is. `python` is the interpreter, by default the running one;
    `installer` "pip", "uv" or "auto"; `find_links` are further folders with wheels. Wheels are unpacked
    and nothing in them is run; sources are never built. Whoever starts Python in the new environment runs
    what it finds there, .pth files and sitecustomize among it.

    Raises the errors of `packager.environment.errors`; nothing is left behind then.
    """
    recorded = RecordedEnvironment.of(archive.manifest)
    interpreter = Interpreter.ask(python)
    tool = choose_installer(installer)
    target = os.path.abspath(folder)
    what = f"environment {target}"
    with _whole_or_nothing(target, what), tempfile.TemporaryDirectory(prefix="kellet-env-") as work:
        gather_wheels(archive, interpreter, Path(work), what, offline=offline)
        wanted = Wanted.of(recorded, [work, *find_links], offline=offline)
        _make_venv(tool, interpreter, target, what)
        environment_python = _python_in(target)
        # Asked while nothing is installed, and never run again: a wheel may bring another `bin/python`.
        made = Interpreter.ask(environment_python)
        if wanted.requirements:
            code, output = run_tool(tool.install_command(environment_python, wanted, work))
            if code:
                held = vendored_wheels(archive.manifest)
                raise explained(output, what, interpreter, held, log=logged(work))
    report = compare_environment(
        recorded.fingerprint, recorded.externs, made.fingerprint, Distributions(made.path)
    )
    return CreatedEnvironment(environment_python, tool.name, tuple(wanted.requirements), report)


@contextmanager
def _whole_or_nothing(target: str, what: str) -> Iterator[None]:
    """Remove the folder again when anything goes wrong; one that holds something is not touched at all."""
    if os.path.lexists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise EnvironmentBuildError(f"{what}: something is there already; remove it, or name another folder")
    was_there = os.path.isdir(target)
    try:
        yield
    except BaseException as error:
        shutil.rmtree(target, ignore_errors=True)
        if was_there:
            os.mkdir(target)
        if is_full(error):
            raise disk_full(what) from error
        if isinstance(error, OSError) and not isinstance(error, EnvironmentBuildError):
            raise EnvironmentBuildError(
                f"{what}: {error.strerror or error}; nothing was left behind; name a folder that can be "
                "written to"
            ) from error
        raise


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
