"""What an archive records of licences: those of what is left to the target, and of what is stored.

The map `licenses` of its environment; `docs/spec/archive-format.md`, section 12.4. What files say of
themselves, in a header of theirs, is not recorded: they are there.
"""

from __future__ import annotations

from functools import cached_property

from packager.archive import MAX_LICENSE_TEXT, Manifest
from packager.errors import ArchiveError
from packager.quick_dataclasses import dataclass, field

from .licenses import SOURCES, License

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

LICENSES: Final = "licenses"
"""The key in an archive's environment."""


@dataclass(frozen=True)
class StoredPart:
    """Stored modules that came from one distribution, or from a project that is none.

    `modules` name each all that is below it. `distribution` and `version` are empty for a project that is
    not installed; `is_local` says that no index has the distribution.
    """

    modules: tuple[str, ...]
    distribution: str = ""
    version: str = ""
    is_local: bool = False
    licenses: tuple[License, ...] = ()


@dataclass(frozen=True)
class RecordedLicenses:
    """The licences of distributions at the target, by normalised name, and of what is stored.

    A distribution with an empty tuple was looked at, and says nothing.
    """

    distributions: Mapping[str, tuple[License, ...]] = field(default_factory=dict)
    stored: tuple[StoredPart, ...] = ()

    @classmethod
    def of(cls, manifest: Manifest) -> RecordedLicenses:
        """Read them from a manifest; empty where none are recorded. Raises ArchiveError for what is wrong."""
        return cls.load(manifest.environment.get(LICENSES, {"distributions": {}, "stored": []}))

    @classmethod
    def load(cls, recorded: object) -> RecordedLicenses:
        """Read what `dump` gives. Raises ArchiveError for anything else."""
        if type(recorded) is not dict or recorded.keys() != {"distributions", "stored"}:
            raise _not_understood("something else", "distributions and stored")
        distributions, stored = recorded["distributions"], recorded["stored"]
        if type(distributions) is not dict or type(stored) is not list:
            raise _not_understood("no map, or no list", "licences by name, and parts")
        if not distributions:
            return cls({}, tuple(map(_part, stored)))
        from packager.names import check_distribution, normalized_name  # many archives have none

        for name in distributions:
            check_distribution(name, "0", f"environment, {LICENSES}")
        return cls(
            {normalized_name(name): _licenses(found) for name, found in distributions.items()},
            tuple(map(_part, stored)),
        )

    def dump(self) -> dict[str, Any]:
        """Return them as plain data, in their one order."""
        parts = sorted(self.stored, key=lambda one: (one.distribution, one.modules))
        return {
            "distributions": {
                name: [[one.source, one.text] for one in self.distributions[name]]
                for name in sorted(self.distributions)
            },
            "stored": [
                [
                    one.distribution,
                    one.version,
                    one.is_local,
                    sorted(one.modules),
                    [[each.source, each.text] for each in one.licenses],
                ]
                for one in parts
            ],
        }

    def part_of(self, module: str) -> StoredPart | None:
        """Return the part that a stored module belongs to: that with the longest name above it."""
        name = module
        while name:
            if name in self._by_module:
                return self._by_module[name]
            name = name.rpartition(".")[0]
        return None

    @cached_property
    def _by_module(self) -> Mapping[str, StoredPart]:
        return {name: part for part in self.stored for name in part.modules}


def _part(recorded: object) -> StoredPart:
    if type(recorded) is not list or len(recorded) != 5:
        raise _not_understood("a part that is no list of five", "name, version, local, modules, licences")
    name, version, is_local, modules, licenses = recorded
    if type(is_local) is not bool or type(modules) is not list or not modules:
        raise _not_understood("a part without modules, or without a word on its place", "both")
    if any(type(module) is not str or not module for module in modules):
        raise _not_understood("a module that is no name", "its name")
    if name == "" and version == "":
        return StoredPart(tuple(modules), "", "", is_local, _licenses(licenses))
    from packager.names import check_distribution, normalized_name

    check_distribution(name, version, f"environment, {LICENSES}")
    return StoredPart(tuple(modules), normalized_name(name), version, is_local, _licenses(licenses))


def _licenses(recorded: object) -> tuple[License, ...]:
    if type(recorded) is not list:
        raise _not_understood("no list of licences", "pairs of a source and a text")
    found = []
    for one in recorded:
        if type(one) is not list or len(one) != 2 or one[0] not in SOURCES or type(one[1]) is not str:
            raise _not_understood("something else than a source and a text", f"one of {', '.join(SOURCES)}")
        if not 0 < len(one[1]) <= MAX_LICENSE_TEXT or not one[1].isprintable():
            raise _not_understood(
                f"a licence of {len(one[1])} characters, or with hidden ones",
                f"1 to {MAX_LICENSE_TEXT} visible ones",
            )
        found.append(License(one[1], one[0]))
    return tuple(found)


def _not_understood(found: str, expected: str) -> ArchiveError:
    return ArchiveError(
        f"manifest, environment, {LICENSES}: found {found}; expected {expected}. The archive was not written "
        "by a PackageExporter"
    )
