"""What an archive records of licences, for what is stored and what is left to the target; those of its files.

The map `licenses` of its environment; `docs/spec/archive-format.md`, section 12.4. What files say of
themselves, in a header of theirs, is not recorded: they are there.
"""

from __future__ import annotations

from functools import cached_property

from packager._archive import MAX_LICENSE_TEXT, ArchiveReader, EntryRecord, Manifest
from packager._names import check_distribution, normalized_name, not_understood
from packager._quick_dataclasses import dataclass, field

from .reading import SOURCES, License, is_license_file, license_of_header, licenses_of_files

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from packager.errors import ArchiveError

LICENSES: Final = "licenses"
"""The key in an archive's environment."""

_TOP_BYTES: Final = 8192
_LONGEST_TEXT: Final = 1 << 20
_STATED_IN: Final = ("source", "resource")


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
        """Read them from a manifest; empty if none are recorded. Raises ArchiveError for a damaged one."""
        return cls.load(manifest.environment.get(LICENSES, {"distributions": {}, "stored": []}))

    @classmethod
    def load(cls, recorded: object) -> RecordedLicenses:
        """Read what `dump` gives. Raises ArchiveError for anything else."""
        if type(recorded) is not dict or recorded.keys() != {"distributions", "stored"}:
            raise _not_understood("something else", "distributions and stored")
        distributions, stored = recorded["distributions"], recorded["stored"]
        if type(distributions) is not dict or type(stored) is not list:
            raise _not_understood("another form", "a map of licences by name, and a list of parts")
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
            "distributions": {name: _dumped(self.distributions[name]) for name in sorted(self.distributions)},
            "stored": [
                [one.distribution, one.version, one.is_local, sorted(one.modules), _dumped(one.licenses)]
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


class FileLicenses:
    """The licences of the entries of an open archive, by what is recorded and what files say.

    What a file states of itself (`SPDX-License-Identifier`) comes first; then what is recorded of the
    distribution or project that its module came from; then the nearest file called a licence, in its
    folder or above. Objects, tensors and what belongs to the archive itself have none. Nothing is run.

    >>> import io
    >>> from packager import PackageExporter
    >>> file = io.BytesIO()
    >>> with PackageExporter(file, policy="auto") as exporter:
    ...     exporter.save_source_string("net", "# SPDX-License-Identifier: MIT")
    >>> with ArchiveReader(file) as reader:
    ...     FileLicenses(reader).of("net.py")
    (License(text='MIT', source='header'),)
    """

    def __init__(self, reader: ArchiveReader) -> None:
        """Read what is recorded. Raises ArchiveError where that is not understood."""
        self.recorded = RecordedLicenses.of(reader.manifest)
        self._reader = reader
        self._modules = {
            module.entry: module.name for module in reader.manifest.modules if module.entry is not None
        }
        self._metadata = {
            f"{part.distribution.replace('-', '_')}-{part.version}.dist-info": part
            for part in self.recorded.stored
            if part.distribution
        }

    def of(self, entry: str) -> tuple[License, ...]:
        """Return the licences over an entry; empty where none is found. Raises what reading it does."""
        record = self._reader.entry(entry)
        if record.kind not in _STATED_IN or (entry.startswith(".data/") and entry not in self._modules):
            return ()
        header = license_of_header(bytes(self._reader.view(entry, 0, min(record.size, _TOP_BYTES))))
        if header is not None:
            return (header,)
        part = self.part_of(entry)
        if part is not None and part.licenses:
            return part.licenses
        folder = entry
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in self._texts:
                return self._texts[folder]
        return ()

    def part_of(self, entry: str) -> StoredPart | None:
        """Return the distribution, or project, that an entry came with; None where that is not recorded."""
        top = entry.partition("/")[0]
        if top in self._metadata:
            return self._metadata[top]
        module = self._modules.get(entry)
        if module is None:
            if self._reader.entry(entry).kind != "resource" or entry.startswith(".data/"):
                return None
            module = entry.rpartition("/")[0].replace("/", ".")
        return self.recorded.part_of(module)

    @cached_property
    def _texts(self) -> Mapping[str, tuple[License, ...]]:
        """What files say that are called licences, by their folders."""
        found: dict[str, list[tuple[str, bytes]]] = {}
        for entry in self._reader.manifest.entries:
            if _is_text(entry):
                folder, _, name = entry.name.rpartition("/")
                found.setdefault(folder, []).append((name, self._reader.read(entry.name)))
        return {folder: licenses_of_files(files) for folder, files in found.items()}


def _dumped(licenses: tuple[License, ...]) -> list[list[str]]:
    return [[one.source, one.text] for one in licenses]


def _part(recorded: object) -> StoredPart:
    if type(recorded) is not list or len(recorded) != 5:
        raise _not_understood("a part of another form", "name, version, local, modules, licences")
    name, version, is_local, modules, licenses = recorded
    if type(is_local) is not bool or type(modules) is not list or not modules:
        raise _not_understood("a part without modules or `local`", "both")
    if any(type(module) is not str or not module for module in modules):
        raise _not_understood("a module of another form", "its name")
    if (name, version) != ("", ""):
        check_distribution(name, version, f"environment, {LICENSES}")
    return StoredPart(tuple(modules), normalized_name(name), version, is_local, _licenses(licenses))


def _licenses(recorded: object) -> tuple[License, ...]:
    if type(recorded) is not list:
        raise _not_understood("licences that are not a list", "pairs of a source and a text")
    found = []
    for one in recorded:
        if type(one) is not list or len(one) != 2 or one[0] not in SOURCES or type(one[1]) is not str:
            raise _not_understood("a licence of another form", f"one of {', '.join(SOURCES)}, and a text")
        if not 0 < len(one[1]) <= MAX_LICENSE_TEXT or not one[1].isprintable():
            raise _not_understood(
                f"a licence of {len(one[1])} characters, or with hidden ones",
                f"1 to {MAX_LICENSE_TEXT} visible ones",
            )
        found.append(License(one[1], one[0]))
    return tuple(found)


def _not_understood(found: str, expected: str) -> ArchiveError:
    return not_understood(f"environment, {LICENSES}", found, expected)


def _is_text(entry: EntryRecord) -> bool:
    """Say whether an entry is a file called a licence, of a length that such texts have."""
    return (
        entry.kind == "resource"
        and entry.size <= _LONGEST_TEXT
        and not entry.name.startswith(".data/")
        and is_license_file(entry.name)
    )
