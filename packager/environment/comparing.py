"""A recorded environment against the one at hand: every difference, in one report."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from packager.version import OWN_NAME

from .distributions import Distributions
from .fingerprint import Fingerprint
from .installed import normalized_name
from .versions import Requirement

DifferenceKind = Literal["missing", "optional", "version", "python", "platform"]


@dataclass(frozen=True)
class RecordedExtern:
    """What an archive asks of the environment: modules, and the distribution that brings them.

    `distribution`, `version` and `requirement` are empty where modules were externed by a rule
    although no distribution is known for them. The code goes on without what is `optional`.
    """

    modules: tuple[str, ...]
    distribution: str = ""
    version: str = ""
    requirement: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Difference:
    """One thing that is not as recorded.

    `kind` is missing, optional (missing too, but the code goes on without), version, python or platform.
    """

    kind: DifferenceKind
    subject: str
    recorded: str
    found: str

    def __str__(self) -> str:
        return f"{self.subject}: recorded {self.recorded}, found {self.found}"


@dataclass(frozen=True)
class EnvironmentReport:
    """All differences between a recorded environment and this one; false where there are none."""

    differences: tuple[Difference, ...]
    requirements: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """What is not there at all: distributions, and modules of no distribution."""
        return tuple(one.subject for one in self.differences if one.kind == "missing")

    @property
    def install_command(self) -> str:
        """The command that brings what is missing or too old or too new; empty where nothing can.

        This distribution itself is never in it: no index has it, and whatever has its name there is another.
        """
        if not self.requirements:
            return ""
        return "python -m pip install " + " ".join(shlex.quote(one) for one in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.differences)

    def __str__(self) -> str:
        if not self.differences:
            return "the environment is as recorded"
        lines = ["the environment is not as recorded:", *(f"    {one}" for one in self.differences)]
        if any(one.subject == OWN_NAME for one in self.differences):
            lines.append(f"{OWN_NAME} is on no index: install its wheel, or its checkout")
        if self.install_command:
            lines.append(f"to bring it there: {self.install_command}")
        return "\n".join(lines)


def compare_environment(
    recorded: Fingerprint,
    externs: Iterable[RecordedExtern],
    here: Fingerprint | None = None,
    installed: Distributions | None = None,
) -> EnvironmentReport:
    """Compare what an archive recorded with the environment at hand, importing nothing.

    Python differs where its series or implementation does (3.11.4 and 3.11.7 do not). `here` and
    `installed` default to the running interpreter and its `sys.path`.

    >>> nope = RecordedExtern(("nope",), "nope", "1.2", "nope>=1.2,<2")
    >>> report = compare_environment(Fingerprint.here(), [nope])
    >>> report.missing, report.install_command
    (('nope',), "python -m pip install 'nope>=1.2,<2'")
    """
    here = here or Fingerprint.here()
    installed = installed or Distributions()
    differences = _interpreter(recorded, here)
    wanted = []
    for extern in externs:
        difference = _extern(extern, installed)
        if difference is not None:
            differences.append(difference)
            if extern.requirement and normalized_name(extern.distribution) != OWN_NAME:
                wanted.append(extern.requirement)
    return EnvironmentReport(tuple(differences), tuple(dict.fromkeys(wanted)))


def _interpreter(recorded: Fingerprint, here: Fingerprint) -> list[Difference]:
    found = []
    before, now = (f"{one.implementation} {one.python_series}" for one in (recorded, here))
    if before != now:
        found.append(Difference("python", "Python", before, now))
    if recorded.platform != here.platform:
        found.append(Difference("platform", "platform", recorded.platform, here.platform))
    if recorded.byteorder != here.byteorder:
        found.append(Difference("platform", "byte order", recorded.byteorder, here.byteorder))
    return found


def _extern(extern: RecordedExtern, installed: Distributions) -> Difference | None:
    if not extern.distribution:
        absent = [name for name in extern.modules if installed.origin(name).kind == "unknown"]
        return _absent(extern, ", ".join(absent), "a module of no distribution") if absent else None
    version = installed.version(extern.distribution)
    recorded = f"{extern.version} ({extern.requirement})" if extern.requirement else extern.version
    if version is None:
        return _absent(extern, extern.distribution, recorded)
    if extern.requirement and not Requirement.parse(extern.requirement).allows(version):
        return Difference("version", extern.distribution, recorded, version)
    return None


def _absent(extern: RecordedExtern, subject: str, recorded: str) -> Difference:
    if extern.optional:
        return Difference("optional", subject, f"{recorded}, optional", "nothing")
    return Difference("missing", subject, recorded, "nothing")
