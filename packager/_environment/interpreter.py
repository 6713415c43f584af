"""Another Python, asked what it is: a child process answers, and runs nothing that is installed there."""

from __future__ import annotations

import os
import sys

from packager._quick_dataclasses import dataclass

from .errors import EnvironmentBuildError, WrongPythonError
from .versions import Fingerprint

OLDEST_PYTHON = (3, 11)
"""The oldest Python that packager runs on."""

# Python's `site` would run lines of .pth files, sitecustomize and usercustomize: it is not started. What it
# would put on the path is found as it does: the settings of a virtual environment, then plain lines of .pth.
_QUESTION = """
import json, os, platform, site, sys, sysconfig

def lines_of(*path):
    with open(os.path.join(*path), encoding="utf-8", errors="replace") as opened:
        return opened.read().splitlines()

folder = os.path.dirname(os.path.abspath(sys.executable))
prefixes = [sys.base_prefix, sys.base_exec_prefix]
for home in (folder, os.path.dirname(folder)):
    if os.path.isfile(os.path.join(home, "pyvenv.cfg")):
        pairs = [line.partition("=") for line in lines_of(home, "pyvenv.cfg")]
        settings = {key.strip().lower(): value.strip().lower() for key, _, value in pairs}
        shared = settings.get("include-system-site-packages", "true") == "true"
        sys.prefix = sys.exec_prefix = os.path.dirname(folder)
        prefixes = [sys.prefix] + (prefixes if shared else [])
        break
for folder in site.getsitepackages(prefixes):
    if folder in sys.path or not os.path.isdir(folder):
        continue
    sys.path.append(folder)
    for name in sorted(os.listdir(folder)):
        for line in lines_of(folder, name) if name.endswith(".pth") and name[0] != "." else ():
            place = os.path.abspath(os.path.join(folder, line.strip()))
            code = line.startswith(("#", "import ", "import\\t"))
            if line.strip() and not code and place not in sys.path and os.path.exists(place):
                sys.path.append(place)
print(json.dumps({
    "python": platform.python_version(),
    "implementation": sys.implementation.name,
    "platform": sysconfig.get_platform(),
    "byteorder": sys.byteorder,
    "path": sys.path,
    "system": sys.platform,
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python: its executable, its fingerprint, where it looks for modules, and its `sys.platform`."""

    executable: str
    fingerprint: Fingerprint
    path: tuple[str, ...]
    system: str

    @classmethod
    def here(cls) -> Interpreter:
        """Return the running one."""
        return cls(sys.executable, Fingerprint.here(), tuple(sys.path), sys.platform)

    @classmethod
    def ask(cls, executable: str | os.PathLike[str] | None = None) -> Interpreter:
        """Ask the Python at a path, or of a name on PATH, what it is; None is the running one.

        A path is seen from the current folder, and the answer's `executable` is absolute then. That Python
        is run (`-I -S`), but no code of what is installed for it: no .pth, no sitecustomize.

        Raises WrongPythonError, and EnvironmentBuildError where there is no Python.

        >>> Interpreter.ask(sys.executable).fingerprint == Interpreter.here().fingerprint
        True
        """
        if executable is None:
            return cls.here()
        import json  # not needed where archives are loaded, and subprocess takes as long as all the rest
        import subprocess

        shown = os.fspath(executable)
        if os.path.dirname(shown):  # links stay: what a virtual environment is, its own link says
            shown = os.path.abspath(shown)
        try:
            # Isolated, from the root: neither the current folder nor PYTHONPATH is part of it. Without
            # site: nothing that is installed there runs.
            done = subprocess.run(
                [shown, "-I", "-S", "-c", _QUESTION], capture_output=True, text=True, check=True, cwd=os.sep
            )
            answer = json.loads(done.stdout)
            path, system = tuple(answer.pop("path")), str(answer.pop("system"))
            found = cls(shown, Fingerprint(**answer), path, system)
        except (OSError, ValueError, TypeError, LookupError, subprocess.CalledProcessError) as error:
            raise EnvironmentBuildError(
                f"{shown}: no Python answers there ({_told(error)}); name one, as "
                f"--python {_python_of(shown) or sys.executable}"
            ) from error
        if tuple(map(int, found.fingerprint.python_series.split("."))) < OLDEST_PYTHON:
            oldest = ".".join(map(str, OLDEST_PYTHON))
            raise WrongPythonError(
                f"{shown}: found Python {found.fingerprint.python}; expected {oldest} or later; name a newer "
                f"one, as --python python{oldest}"
            )
        return found


def _python_of(folder: str) -> str:
    """Return the Python of a virtual environment where its folder was named in its place."""
    places = (os.path.join(folder, *parts) for parts in (("bin", "python"), ("Scripts", "python.exe")))
    return next((place for place in places if os.path.isfile(place)), "")


def _told(error: Exception) -> str:
    """Say in one line what kept another Python from answering: what it said itself, where it said something.

    A shim of pyenv that leads to no Python says so, and ends with 127.
    """
    from subprocess import CalledProcessError

    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if not isinstance(error, CalledProcessError):
        return "its answer is not that of a Python"
    said = " ".join(str(error.stderr or "").split())
    ended = f"exit code {error.returncode}" if error.returncode > 0 else f"signal {-error.returncode}"
    return f"{ended}: {said[:200]}" if said else ended
