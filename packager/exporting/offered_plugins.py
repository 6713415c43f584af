"""Questions about entry points: which modules the plugins are that distributions here offer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import Distribution, PathDistribution, distributions
from pathlib import Path
from typing import Final

from packager import seen
from packager.environment import normalized_name
from packager.graph import Candidate, Question
from packager.quick_dataclasses import replace

_GROUP: Final = re.compile(r"""(?:group\s*=\s*|iter_entry_points\(\s*)["']([^"']+)["']""")
_NAMED_GROUP: Final = re.compile(r"(?:group\s*=\s*|iter_entry_points\(\s*)(?:\w+\.)*([A-Za-z_]\w*)\s*[,)]")
_DISTRIBUTION: Final = re.compile(r"""(?:distribution|from_name)\(\s*["']([^"']+)["']""")
_PROGRAMS: Final = ("console_scripts", "gui_scripts")


def with_plugins(
    questions: Iterable[Question], stored: Mapping[str, bytes], owners: Collection[str]
) -> Iterator[Question]:
    """Yield questions; those about entry points have the modules of plugins here as candidates.

    `stored` are the stored modules with their sources, `owners` the distributions that they are of: what
    these alone offer, and all of which is stored, is no question.
    """
    own = {normalized_name(name) for name in owners}
    for question in questions:
        if "entry_points" not in question.text:
            yield question
            continue
        text = _with_group(question.text, stored, question.importer)
        group = _GROUP.search(text)
        if group is not None and group[1] in _PROGRAMS:
            continue
        is_open = group or _DISTRIBUTION.search(text)
        offered = offered_by(text, None if is_open else own)
        missing = sorted({module for _, module in offered if module not in stored})
        if missing or not offered or not {name for name, _ in offered} <= own:
            yield replace(question, candidates=tuple(Candidate(module, 1, 0) for module in missing))


def _with_group(text: str, stored: Mapping[str, bytes], importer: str) -> str:
    """Return the code `text` with the group spelt out where a constant holds it.

    That is one of the importing module, or the only one of its name in the stored modules.
    """
    named = _NAMED_GROUP.search(text)
    if named is None:
        return text
    constant = rf"^{named[1]}\s*(?::[^=\n]+)?=\s*[\"']([^\"'\\\n]+)[\"']\s*(?:#.*)?$"
    values = re.compile(constant.encode(), re.MULTILINE).findall
    found = values(stored.get(importer, b"")) or [one for source in stored.values() for one in values(source)]
    if len(set(found)) != 1:
        return text
    begin, end = named.span(1)
    begin = text.rfind("=", 0, begin) + 1 if "=" in named[0] else text.rfind("(", 0, begin) + 1
    return f"{text[:begin]}{found[0].decode()!r}{text[end:]}"


def offered_by(text: str, owners: Collection[str] | None) -> set[tuple[str, str]]:
    """Return what the code `text` finds of the plugins of some distributions: their names, and the modules.

    `owners` are their names, None for all that are here. Where no group is named, that is all that they offer
    but for programs; where a distribution is named, what that one offers.
    """
    group, named = _GROUP.search(text), _DISTRIBUTION.search(text)
    names = None if owners is None else {normalized_name(name) for name in owners}
    only = normalized_name(named[1]) if named else ""
    found = set()
    for distribution in distributions():
        _note(distribution, "entry_points.txt")
        listed = distribution.read_text("entry_points.txt") or ""
        if (group is not None and group[1] not in listed) or not listed:
            continue  # as nearly all: reading its name is what takes the time
        points = [
            point
            for point in distribution.entry_points
            if (point.group not in _PROGRAMS if group is None else point.group == group[1])
        ]
        for file in ("METADATA", "PKG-INFO", "") if points else ():  # where its name may stand
            _note(distribution, file)
        name = normalized_name(distribution.name or "") if points else ""
        if name and (names is None or name in names) and only in ("", name):
            found |= {(name, point.value.partition(":")[0].strip()) for point in points}
    return found


def _note(distribution: Distribution, file: str) -> None:
    """Note that a file of the metadata is read; `importlib.metadata` opens it itself."""
    folder = getattr(distribution, "_path", None)
    if type(distribution) is not PathDistribution or not isinstance(folder, Path):
        seen.refuse("a distribution is no folder")
    else:
        with suppress(OSError):
            seen.read_file(str(folder / file))
