"""Which licences stand over what an export stores: by distribution, and for the project at hand.

They are recorded in the archive, since its target has not the distributions that its code came from.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packager._disk import names_in, read_whole
from packager._environment import Distributions
from packager._licenses import (
    License,
    RecordedLicenses,
    StoredPart,
    is_license_file,
    license_of_header,
    license_of_project,
    licenses_of,
    licenses_of_files,
)
from packager._quick_dataclasses import replace

from .module_sources import ArchiveSources
from .plan import LicenseCount, PlannedModule

_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_MOST_BYTES = 1 << 20  # of a file that is called a licence


def gather_licenses(
    stored: Sequence[PlannedModule],
    places: Mapping[str, str | None],
    left_to_target: Iterable[str],
    installed: Distributions,
    archives: Sequence[ArchiveSources] = (),
) -> RecordedLicenses:
    """Return what is to be recorded: the licences of distributions at the target, and those of stored code.

    `places` has the files of the modules by name. What was stored in one of `archives` keeps what was
    recorded there.
    """
    parts: dict[StoredPart, set[str]] = {}
    groups: dict[tuple[str, str], list[PlannedModule]] = {}
    for code in stored:
        kept = _recorded_part(code.name, archives)
        if kept is not None:
            parts.setdefault(kept, set()).add(code.name)
        else:
            top = code.name.partition(".")[0]
            owner = code.origin.distribution or ""
            groups.setdefault((owner, "" if owner else top), []).append(code)
    owners: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for group, codes in groups.items():
        for code in codes:
            owners[code.name.partition(".")[0]].add(group)
    found = [_kept(part, names) for part, names in parts.items()]
    found += [_part(codes, places, owners, installed) for codes in groups.values()]
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
    codes: Sequence[PlannedModule],
    places: Mapping[str, str | None],
    owners: Mapping[str, set[tuple[str, str]]],
    installed: Distributions,
) -> StoredPart:
    """Return the part of modules that came from one place; only a namespace is named module by module."""
    modules = set()
    for code in codes:
        top = code.name.partition(".")[0]
        modules.add(top if len(owners[top]) == 1 else code.name)
    owner, version = codes[0].origin.distribution or "", codes[0].origin.version or ""
    licenses = licenses_of(owner, installed) if owner else ()
    at_hand = [code for code in codes if code.origin.is_at_hand and places.get(code.name)]
    if not licenses and at_hand:
        licenses = _licenses_beside(at_hand[0], places[at_hand[0].name] or "")
    is_local = not owner or bool(installed.place(owner))
    return StoredPart(tuple(sorted(modules)), owner, version, is_local, licenses)


def _licenses_beside(code: PlannedModule, path: str) -> tuple[License, ...]:
    """Return what the project of a module says: in its pyproject.toml, or in a file called a licence."""
    if not os.path.isfile(path):
        return ()
    root = os.path.dirname(os.path.abspath(path))
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
