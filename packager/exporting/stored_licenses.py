"""Which licences stand over what an export stores: by distribution, and for the project at hand.

They are recorded in the archive, since its target has not the distributions that its code came from.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packager.disk import names_in, read_whole
from packager.environment import (
    Distributions,
    License,
    RecordedLicenses,
    StoredPart,
    is_license_file,
    license_of_header,
    license_of_project,
    licenses_of,
    licenses_of_files,
)
from packager.quick_dataclasses import dataclass, replace
from packager.texts import counted

from .module_sources import ArchiveSources

_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_MOST_BYTES = 1 << 20  # of a file that is called a licence


@dataclass(frozen=True)
class StoredCode:
    """A module that is stored with a source: where it comes from, and the file of it, if it is one at hand.

    `distribution` is empty where none is known.
    """

    name: str
    is_package: bool
    distribution: str
    version: str
    is_at_hand: bool
    path: str | None


@dataclass(frozen=True)
class LicenseCount:
    """The licences over one stored part, and how many of its files have none, or a copyleft one.

    What a file says of itself in a header, `SPDX-License-Identifier`, comes before what is said of the part.
    """

    part: StoredPart
    files: int
    without: int
    copyleft: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield what somebody should look at before the archive is given on; nothing where all is clear."""
        version = f" {self.part.version}" if self.part.version else ""
        if self.part.distribution:
            name = f"{self.part.distribution}{version}"
        else:
            name = f"the project ({', '.join(self.part.modules)})"
        if self.without:
            of_all = f" of {self.files:,}" if self.without < self.files else ""
            yield f"{name}: no licence found for {counted(self.without, 'stored file')}{of_all}"
        if self.copyleft:
            yield f"{name}: {', '.join(self.copyleft)}, copyleft; {counted(self.files, 'stored file')}"


def gather_licenses(
    stored: Sequence[StoredCode],
    left_to_target: Iterable[str],
    installed: Distributions,
    archives: Sequence[ArchiveSources] = (),
) -> RecordedLicenses:
    """Return what is to be recorded: the licences of distributions at the target, and those of stored code.

    What was stored in one of `archives` keeps what was recorded there.
    """
    parts: dict[StoredPart, set[str]] = {}
    groups: dict[tuple[str, str], list[StoredCode]] = {}
    for code in stored:
        kept = _recorded_part(code.name, archives)
        if kept is not None:
            parts.setdefault(kept, set()).add(code.name)
        else:
            top = code.name.partition(".")[0]
            groups.setdefault((code.distribution, "" if code.distribution else top), []).append(code)
    owners: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for group, codes in groups.items():
        for code in codes:
            owners[code.name.partition(".")[0]].add(group)
    found = [_kept(part, names) for part, names in parts.items()]
    found += [_part(codes, owners, installed) for codes in groups.values()]
    return RecordedLicenses(
        {name: licenses_of(name, installed) for name in sorted(left_to_target)}, tuple(found)
    )


def count_licenses(
    recorded: RecordedLicenses, files: Iterable[tuple[str, bytes | None]]
) -> tuple[LicenseCount, ...]:
    """Count stored files by the part that they belong to; each is a module's name, and its source, if any.

    Projects that are not installed are one: whoever exports knows that they are theirs.
    """
    known: dict[StoredPart, list[tuple[License, ...]]] = {}
    for module, source in files:
        part = recorded.part_of(module)
        if part is None:
            continue
        header = license_of_header(source) if source is not None else None
        known.setdefault(part, []).append((header,) if header else part.licenses)
    counts = [_count(part, found) for part, found in known.items()]
    own = [one for one in counts if not one.part.distribution]
    others = sorted((one for one in counts if one.part.distribution), key=lambda one: one.part.distribution)
    return (*_as_one(own), *others)


def _count(part: StoredPart, found: Sequence[tuple[License, ...]]) -> LicenseCount:
    copyleft = dict.fromkeys(one.text for licenses in found for one in licenses if one.is_copyleft)
    return LicenseCount(part, len(found), sum(not licenses for licenses in found), tuple(copyleft))


def _as_one(counts: Sequence[LicenseCount]) -> tuple[LicenseCount, ...]:
    if len(counts) < 2:
        return tuple(counts)
    modules = tuple(sorted(name for one in counts for name in one.part.modules))
    licenses = dict.fromkeys(each for one in counts for each in one.part.licenses)
    part = replace(counts[0].part, modules=modules, licenses=tuple(licenses))
    files, without = (sum(getattr(one, name) for one in counts) for name in ("files", "without"))
    copyleft = dict.fromkeys(text for one in counts for text in one.copyleft)
    return (LicenseCount(part, files, without, tuple(copyleft)),)


def _recorded_part(name: str, archives: Sequence[ArchiveSources]) -> StoredPart | None:
    """Return the part that a module belonged to in the archive that it is taken from."""
    for archive in archives:
        if archive.holds(name):
            return archive.licenses.part_of(name)
    return None


def _kept(part: StoredPart, stored: Collection[str]) -> StoredPart:
    """Return a part of another archive with the modules that go along."""
    modules = [
        name for name in part.modules if any(one == name or one.startswith(f"{name}.") for one in stored)
    ]
    return replace(part, modules=tuple(modules))


def _part(
    codes: Sequence[StoredCode], owners: Mapping[str, set[tuple[str, str]]], installed: Distributions
) -> StoredPart:
    """Return the part of modules that came from one place; only a namespace is named module by module."""
    modules = set()
    for code in codes:
        top = code.name.partition(".")[0]
        modules.add(top if len(owners[top]) == 1 else code.name)
    first = codes[0]
    licenses = licenses_of(first.distribution, installed) if first.distribution else ()
    is_at_hand = any(code.is_at_hand for code in codes)
    if not licenses and is_at_hand:
        licenses = _licenses_beside(codes)
    is_local = not first.distribution or bool(installed.place(first.distribution))
    return StoredPart(tuple(sorted(modules)), first.distribution, first.version, is_local, licenses)


def _licenses_beside(codes: Sequence[StoredCode]) -> tuple[License, ...]:
    """Return what the project of some modules says: in its pyproject.toml, or in a file called a licence."""
    code = next((one for one in codes if one.is_at_hand and one.path is not None), None)
    if code is None or code.path is None or not os.path.isfile(code.path):
        return ()
    root = os.path.dirname(os.path.abspath(code.path))
    for _ in range(code.name.count(".") + code.is_package):
        root = os.path.dirname(root)
    above = os.path.dirname(root)  # of a project whose packages lie in a folder of their own, as src/
    folders = [os.path.join(root, code.name.partition(".")[0]), root]
    if any(os.path.exists(os.path.join(above, name)) for name in _PROJECT_FILES):
        folders.append(above)
    for folder in folders:
        stated = license_of_project(_bytes_of(os.path.join(folder, "pyproject.toml")))
        found = stated or licenses_of_files(_license_files(folder))
        if found:
            return found
    return ()


def _license_files(folder: str) -> Iterator[tuple[str, bytes]]:
    try:
        names = sorted(names_in(folder))
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if is_license_file(name) and os.path.isfile(path):
            yield name, _bytes_of(path)


def _bytes_of(path: str) -> bytes:
    try:
        return read_whole(path)[:_MOST_BYTES]
    except OSError:
        return b""
