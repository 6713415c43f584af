"""Pythons and platforms that wheels are fetched for, as `cp311-manylinux_2_28_x86_64`."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping

from packager.quick_dataclasses import dataclass

from .errors import EnvironmentBuildError
from .interpreter import Interpreter
from .versions import Fingerprint

_TARGET = re.compile(r"(?P<implementation>cp|pp)3(?P<minor>[0-9]{1,2})-(?P<platform>[a-z0-9_]+)")
_GLIBC = re.compile(r"manylinux_2_([0-9]+)_(.+)")
_MUSL = re.compile(r"musllinux_1_([0-9]+)_(.+)")
_OLD_GLIBC = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}


@dataclass(frozen=True)
class Target:
    """One Python on one platform.

    >>> Target.parse("cp312-win_amd64").python
    '3.12'
    """

    implementation: str
    python: str
    platform: str

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read its text; `here` is the running Python. Raises EnvironmentBuildError for anything else."""
        if text == "here":
            return cls.here()
        match = _TARGET.fullmatch(text)
        if match is None or not match["platform"].startswith(_SYSTEMS):
            raise EnvironmentBuildError(
                f"--vendor-wheels {text!r}: expected a Python and a platform, as "
                "cp311-manylinux_2_28_x86_64, cp312-macosx_11_0_arm64 or cp313-win_amd64; or here"
            )
        return cls(match["implementation"], f"3.{match['minor']}", match["platform"])

    @classmethod
    def here(cls) -> Target:
        """Return the running Python, on Linux with the glibc that it has."""
        return cls.of(Interpreter.here())

    @classmethod
    def of(cls, python: Interpreter) -> Target:
        """Return a Python of this machine, on Linux with the glibc that there is."""
        tag = python.fingerprint.platform.replace("-", "_").replace(".", "_")
        libc, version = platform.libc_ver()
        if tag.startswith("linux_") and libc == "glibc":
            tag = f"manylinux_{'_'.join(version.split('.')[:2])}_{tag.removeprefix('linux_')}"
        return cls(python.tag[:2], python.fingerprint.python_series, tag)

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platform tags that run there, the best first, as far as pip does not know them by itself.

        >>> Target.parse("cp311-manylinux_2_6_x86_64").platforms
        ('manylinux_2_6_x86_64', 'manylinux_2_5_x86_64', 'manylinux1_x86_64', 'linux_x86_64')

        Source: PEP 600; pip takes a manylinux tag for nothing but itself.
        """
        if match := _GLIBC.fullmatch(self.platform):
            found = []
            for minor in range(int(match[1]), 4, -1):
                found.append(f"manylinux_2_{minor}_{match[2]}")
                found += [f"{_OLD_GLIBC[minor]}_{match[2]}"] if minor in _OLD_GLIBC else []
            return (*found, f"linux_{match[2]}")
        if match := _MUSL.fullmatch(self.platform):
            return tuple(f"musllinux_1_{minor}_{match[2]}" for minor in range(int(match[1]), 0, -1))
        return (self.platform,)

    @property
    def interpreter(self) -> Interpreter:
        """What an interpreter there would say of itself, as far as that is known."""
        system = _system_of(self.platform)
        name = {"cp": "cpython", "pp": "pypy"}[self.implementation]
        shown = f"{system}-{self._machine}" if system != "win" else self.platform.replace("_", "-")
        fingerprint = Fingerprint(self.python, name, shown, "little")
        return Interpreter("", fingerprint, (), self.markers["sys_platform"])

    @property
    def markers(self) -> Mapping[str, str]:
        """The variables of environment markers there.

        Source: PEP 508.
        """
        os_name, sys_platform, system = {
            "linux": ("posix", "linux", "Linux"),
            "macosx": ("posix", "darwin", "Darwin"),
            "win": ("nt", "win32", "Windows"),
        }[_system_of(self.platform)]
        machine = self._machine
        pypy = self.implementation == "pp"
        return {
            "implementation_name": "pypy" if pypy else "cpython",
            "implementation_version": f"{self.python}.0",
            "os_name": os_name,
            "platform_machine": machine.upper() if system == "Windows" else machine,
            "platform_python_implementation": "PyPy" if pypy else "CPython",
            "platform_release": "",
            "platform_system": system,
            "platform_version": "",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": sys_platform,
            "extra": "",
        }

    @property
    def _machine(self) -> str:
        for machine in ("x86_64", "aarch64", "arm64", "amd64", "i686", "ppc64le", "s390x", "armv7l"):
            if self.platform.endswith(f"_{machine}"):
                return machine
        return self.platform.rpartition("_")[2]

    def __str__(self) -> str:
        return f"{self.implementation}{self.python.replace('.', '')}-{self.platform}"


def parse_targets(texts: Iterable[str]) -> tuple[Target, ...]:
    """Read targets from lists with commas, each once.

    >>> [str(target) for target in parse_targets(["cp311-win_amd64,cp312-win_amd64", "cp311-win_amd64"])]
    ['cp311-win_amd64', 'cp312-win_amd64']
    """
    words = [word.strip() for text in texts for word in text.split(",")]
    return tuple(dict.fromkeys(Target.parse(word) for word in words if word))


_SYSTEMS = ("manylinux", "musllinux", "linux_", "macosx_", "win")


def _system_of(platform: str) -> str:
    if platform.startswith("macosx"):
        return "macosx"
    return "win" if platform.startswith("win") else "linux"
