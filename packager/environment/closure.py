"""Which distributions stand behind others: what they require, what that requires, as installed here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .distributions import Distributions
from .installed import normalized_name

_REQUIRES = re.compile(rb"^Requires-Dist:[ \t]*([A-Za-z0-9][A-Za-z0-9._-]*)([^\r\n]*)", re.MULTILINE)
_OF_AN_EXTRA = re.compile(rb"\bextra\b")


def installed_closure(distributions: Iterable[str], installed: Distributions) -> Mapping[str, str]:
    """The versions of `distributions` and of everything installed that they require, sorted by name.

    Requirements of extras are left out. Other markers are not evaluated: what is installed although
    it is for another platform does no harm in a list of versions to keep to.
    """
    found: dict[str, str] = {}
    waiting = [normalized_name(name) for name in distributions]
    while waiting:
        name = waiting.pop()
        version = installed.version(name)
        if version is None or name in found:
            continue
        found[name] = version
        for required, rest in _REQUIRES.findall(installed.metadata(name)):
            if not _OF_AN_EXTRA.search(rest.partition(b";")[2]):
                waiting.append(normalized_name(required.decode()))
    return {name: found[name] for name in sorted(found)}
