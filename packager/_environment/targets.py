"""Pythons and platforms that wheels are for, as `cp311-manylinux_2_28_x86_64`; `packaging` has their tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from packager._quick_dataclasses import dataclass

from .errors import EnvironmentBuildError, ToolMissingError
from .interpreter import Interpreter
from .versions import Fingerprint

if TYPE_CHECKING:
    from packaging.tags import Tag

_TARGET = re.compile(r"cp3(?P<minor>[0-9]{1,2})-(?P<platform>[a-z0-9_]+)")
_LIBC = re.compile(r"(manylinux_2|musllinux_1)_([0-9]+)_(.+)")
_MACOS = re.compile(r"macosx_([0-9]+)_([0-9]+)_(.+)")
_OLD_GLIBC = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
_SYSTEMS = ("manylinux", "musllinux", "linux_", "macosx_", "win")


@dataclass(frozen=True)
class Target:
    """One CPython on one platform.

    >>> Target.parse("cp312-win_amd64").python
    '3.12'
    """

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
        return cls(f"3.{match['minor']}", match["platform"])

    @classmethod
    def here(cls) -> Target:
        """Return the running Python. Raises ToolMissingError without packaging."""
        return cls.of(Interpreter.here())

    @classmethod
    def of(cls, python: Interpreter) -> Target:
        """Return a Python of this machine, on Linux with the libc that there is.

        Raises ToolMissingError without packaging.
        """
        require_packaging()
        from packaging.tags import platform_tags

        there = python.fingerprint.platform
        here = platform_tags() if there == Fingerprint.here().platform else ()
        own = there.replace("-", "_").replace(".", "_")
        # `linux_x86_64` says nothing of a libc.
        tag = next((one for one in here if not one.startswith("linux_")), own)
        return cls(python.fingerprint.python_series, tag)

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platform tags that run there, the best first.

        >>> Target.parse("cp311-manylinux_2_6_x86_64").platforms
        ('manylinux_2_6_x86_64', 'manylinux_2_5_x86_64', 'manylinux1_x86_64', 'linux_x86_64')

        Source: PEP 600; pip takes a manylinux tag for nothing but itself, and `packaging` knows those of the
        running system alone.
        """
        if match := _MACOS.fullmatch(self.platform):
            require_packaging()
            from packaging.tags import mac_platforms

            return tuple(mac_platforms((int(match[1]), int(match[2])), match[3]))
        match = _LIBC.fullmatch(self.platform)
        if match is None:
            return (self.platform,)
        found = []
        for minor in range(int(match[2]), 4 if match[1] == "manylinux_2" else 0, -1):
            found.append(f"{match[1]}_{minor}_{match[3]}")
            if match[1] == "manylinux_2" and minor in _OLD_GLIBC:
                found.append(f"{_OLD_GLIBC[minor]}_{match[3]}")
        return (*found, f"linux_{match[3]}")

    @property
    def tags(self) -> frozenset[Tag]:
        """The tags of wheels that run there. Raises ToolMissingError without packaging."""
        return _tags(self)

    @property
    def interpreter(self) -> Interpreter:
        """What an interpreter there would say of itself, as far as that is known."""
        markers = self.markers
        shown = self.platform.replace("_", "-")
        if not self.platform.startswith("win"):
            system = "macosx" if markers["sys_platform"] == "darwin" else "linux"
            shown = f"{system}-{markers['platform_machine']}"
        fingerprint = Fingerprint(self.python, "cpython", shown, "little")
        return Interpreter("", fingerprint, (), markers["sys_platform"])

    @property
    def markers(self) -> Mapping[str, str]:
        """The variables of environment markers there.

        Source: PEP 508.
        """
        windows, mac = self.platform.startswith("win"), self.platform.startswith("macosx")
        machine = "x86_64" if self.platform.endswith("_x86_64") else self.platform.rpartition("_")[2]
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "os_name": "nt" if windows else "posix",
            "platform_machine": machine.upper() if windows else machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Windows" if windows else "Darwin" if mac else "Linux",
            "platform_version": "",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": "win32" if windows else "darwin" if mac else "linux",
            "extra": "",
        }

    def __str__(self) -> str:
        return f"cp{self.python.replace('.', '')}-{self.platform}"


def parse_targets(texts: Iterable[str]) -> tuple[Target, ...]:
    """Read targets from lists with commas, each once.

    >>> [str(target) for target in parse_targets(["cp311-win_amd64,cp312-win_amd64", "cp311-win_amd64"])]
    ['cp311-win_amd64', 'cp312-win_amd64']
    """
    words = [word.strip() for text in texts for word in text.split(",")]
    return tuple(dict.fromkeys(Target.parse(word) for word in words if word))


def require_packaging() -> None:
    """Raise ToolMissingError where packaging is absent, which knows the tags and requirements of wheels."""
    try:
        import packaging.requirements  # noqa: F401  # asked whether it is there
    except ImportError as error:
        raise ToolMissingError(
            "wheels need the library packaging. Install it: python -m pip install 'kellet[env]'"
        ) from error


@lru_cache(maxsize=64)
def _tags(target: Target) -> frozenset[Tag]:
    require_packaging()
    from packaging.tags import compatible_tags, cpython_tags

    minor = int(target.python.partition(".")[2])
    name, platforms = f"cp3{minor}", target.platforms
    tags = cpython_tags((3, minor), [name], platforms)
    return frozenset(tags) | frozenset(compatible_tags((3, minor), name, platforms))
