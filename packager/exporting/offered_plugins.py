"""Questions about entry points: which modules the plugins are that distributions here offer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from importlib.metadata import distributions
from typing import Final

from packager.environment import normalized_name
from packager.graph import Candidate, Question

_GROUP: Final = re.compile(r"""(?:group\s*=\s*|iter_entry_points\(\s*)["']([^"']+)["']""")
_DISTRIBUTION: Final = re.compile(r"""(?:distribution|from_name)\(\s*["']([^"']+)["']""")
_PROGRAMS: Final = ("console_scripts", "gui_scripts")


def with_plugins(
    questions: Iterable[Question], stored: Collection[str], owners: Collection[str]
) -> Iterator[Question]:
    """Yield questions; those about entry points have the modules of plugins here as candidates.

    `stored` are the names of stored modules, `owners` the distributions that they are of: what these alone
    offer, and all of which is stored, is no question. Where no group is named, that is all that the owners
    offer but for programs; where a distribution is named, what that one offers.
    """
    own = {normalized_name(name) for name in owners}
    for question in questions:
        if "entry_points" not in question.text:
            yield question
            continue
        group, named = _GROUP.search(question.text), _DISTRIBUTION.search(question.text)
        names = {normalized_name(named[1])} if named else None if group else own
        offered = {
            (normalized_name(distribution.name or ""), point.value.partition(":")[0].strip())
            for distribution in distributions()
            if names is None or normalized_name(distribution.name or "") in names
            for point in distribution.entry_points
            if (point.group not in _PROGRAMS if group is None else point.group == group[1])
        }
        missing = sorted(module for _, module in offered if module not in stored)
        if missing or not offered or not {name for name, _ in offered} <= own:
            yield replace(question, candidates=tuple(Candidate(module, 1, 0) for module in missing))
