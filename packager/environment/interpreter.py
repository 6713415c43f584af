"""Another Python, asked what it is: a child process answers, nothing is installed into it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from .errors import EnvironmentBuildError, WrongPythonError
from .fingerprint import Fingerprint

__all__ = ["OLDEST_PYTHON", "Interpreter"]

OLDEST_PYTHON = (3, 11)
"""The oldest Python that packager runs on."""

# Runs on any Python from 2.7 on, so that an old one can be told apart from something else.
_QUESTION = """
import json, platform, sys, sysconfig
print(json.dumps({
    "python": platform.python_version(),
    "implementation": sys.implementation.name if hasattr(sys, "implementation") else "cpython",
    "platform": sysconfig.get_platform(),
    "byteorder": sys.byteorder,
    "path": sys.path,
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python: its executable, its fingerprint, and where it looks for modules."""

    executable: str
    fingerprint: Fingerprint
    path: tuple[str, ...]

    @classmethod
    def here(cls) -> Interpreter:
        """The running one."""
        return cls(sys.executable, Fingerprint.here(), tuple(sys.path))

    @classmethod
    def ask(cls, executable: str | os.PathLike[str] | None = None) -> Interpreter:
        """The Python at a path, or of a name on PATH; None is the running one.

        Raises WrongPythonError, and EnvironmentBuildError where there is no Python.

        >>> Interpreter.ask(sys.executable).fingerprint == Interpreter.here().fingerprint
        True
        """
        if executable is None:
            return cls.here()
        import json  # not needed where archives are loaded, and subprocess takes as long as all the rest
        import subprocess

        shown = os.fspath(executable)
        try:
            # Isolated, from the root: neither the current folder nor PYTHONPATH is part of it.
            done = subprocess.run(
                [shown, "-I", "-c", _QUESTION], capture_output=True, text=True, check=True, cwd=os.sep
            )
            answer = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise EnvironmentBuildError(
                f"{shown}: no Python answers there ({error}); name one, as --python /usr/bin/python3.12"
            ) from error
        path = tuple(answer.pop("path"))
        found = cls(shown, Fingerprint(**answer), path)
        found.require_new_enough()
        return found

    def require_new_enough(self) -> None:
        """Raise WrongPythonError for a Python that packager does not run on."""
        series = tuple(int(part) for part in self.fingerprint.python_series.split("."))
        if series < OLDEST_PYTHON:
            oldest = ".".join(map(str, OLDEST_PYTHON))
            raise WrongPythonError(
                f"{self.executable}: found Python {self.fingerprint.python}; expected {oldest} or later; "
                f"name a newer one, as --python python{oldest}"
            )

    @property
    def tag(self) -> str:
        """The tag of its wheels without platform: `cp311`."""
        prefix = {"cpython": "cp", "pypy": "pp"}.get(self.fingerprint.implementation, "py")
        return prefix + self.fingerprint.python_series.replace(".", "")
