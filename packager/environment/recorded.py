"""What an archive's manifest says about the environment it was made in.

Names and versions end up in requirements, so nothing else may stand in their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from packager.archive import MAX_REQUIREMENT, ExternRecord, Manifest
from packager.errors import ArchiveError

from .comparing import RecordedExtern
from .fingerprint import Fingerprint
from .installed import normalized_name
from .versions import Requirement

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,199}")


@dataclass(frozen=True)
class RecordedEnvironment:
    """Python and platform, the externs by distribution, and the versions that were beside them.

    `versions` has the distributions that the externs require in turn, as they were installed; it is
    empty in archives that were made before packager recorded them.
    """

    fingerprint: Fingerprint
    externs: tuple[RecordedExtern, ...]
    versions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, manifest: Manifest) -> RecordedEnvironment:
        """Read it from a manifest. Raises ArchiveError where that cannot be understood."""
        return cls(
            recorded_fingerprint(manifest),
            tuple(_by_distribution(manifest.externs)),
            _versions(manifest.environment.get("distributions", {})),
        )

    @property
    def distributions(self) -> Mapping[str, str]:
        """The exact version of each distribution that the archive names as extern, sorted by name."""
        found = {normalized_name(one.distribution): one.version for one in self.externs if one.version}
        return {name: found[name] for name in sorted(found)}

    @property
    def homeless(self) -> tuple[str, ...]:
        """Modules that were left to the target, and that no distribution brings."""
        return tuple(name for one in self.externs if not one.distribution for name in one.modules)


def exact_requirement(name: str, version: str) -> str:
    """The requirement for exactly this version; of a local one (`2.4.0+cpu`), for its public part.

    >>> exact_requirement("torch", "2.4.0+cpu")
    'torch==2.4.0'

    Source: PEP 440, which lets `==2.4.0` match `2.4.0+cpu` too; indexes hold public versions alone.
    """
    return f"{name}=={version.partition('+')[0]}"


def recorded_fingerprint(manifest: Manifest) -> Fingerprint:
    """The Python and platform that an archive was made with. Raises ArchiveError where they are missing."""
    found = {name: manifest.environment.get(name) for name in Fingerprint.__dataclass_fields__}
    odd = [name for name, value in found.items() if type(value) is not str]
    if odd:
        found_instead = f"{', '.join(odd)} missing, or no text"
        raise _not_understood("environment", found_instead, "what describes a Python and its platform")
    return Fingerprint(**{name: str(value) for name, value in found.items()})


def _versions(recorded: object) -> Mapping[str, str]:
    if type(recorded) is not dict:
        raise _not_understood("environment, distributions", "no map", "versions by name")
    for name, version in recorded.items():
        _check(name, version, "environment, distributions")
    return recorded


def _by_distribution(externs: Iterable[ExternRecord]) -> list[RecordedExtern]:
    grouped: dict[str, list[ExternRecord]] = {}
    for record in externs:
        if record.origin not in ("stdlib", "builtin"):
            _check_extern(record)
            grouped.setdefault(record.distribution or f"\0{record.name}", []).append(record)
    return [
        RecordedExtern(
            tuple(record.name for record in records),
            records[0].distribution or "",
            records[0].version or "",
            records[0].requirement or "",
            all(record.optional for record in records),
        )
        for records in grouped.values()
    ]


def _check_extern(record: ExternRecord) -> None:
    where = f"extern {record.name!r}"
    if record.distribution is not None:
        _check(record.distribution, record.version or "0", where)
    if record.requirement is None:
        return
    try:
        if len(record.requirement) > MAX_REQUIREMENT:
            raise ValueError(f"{len(record.requirement)} characters")
        Requirement.parse(record.requirement)
    except ValueError as error:
        expected = "a name and versions, as numpy>=1.26,<2"
        raise _not_understood(where, f"as its requirement {error}", expected) from error


def _check(name: object, version: object, where: str) -> None:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise _not_understood(where, f"the distribution {name!r}"[:200], "a name as PyPI has them")
    if not isinstance(version, str) or _VERSION.fullmatch(version) is None:
        raise _not_understood(where, f"the version {version!r} of {name}"[:200], "one as 2.1.0")


def _not_understood(where: str, found: str, expected: str) -> ArchiveError:
    return ArchiveError(
        f"manifest, {where}: found {found}; expected {expected}. The archive was not written by a "
        "PackageExporter"
    )
