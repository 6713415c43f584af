"""Which distribution an import name belongs to, its version, and what kind of code it is.

One pass over the folders of `sys.path` lists their `*.dist-info` and `*.egg-info` folders; names
and versions come from the folder names alone. What else is asked (import names, compiled modules) is
read when it is first needed, and kept until an installer changes the folder: every save and every load
asks. `importlib.metadata.packages_distributions` takes 160 to 600 ms for the same map and knows neither
editable nor compiled.
"""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.machinery import PathFinder
from typing import Any

from packager import _disk as disk
from packager._file_access import folder_stamp
from packager._names import normalized_name
from packager._policy import Origin, OriginKind
from packager._quick_dataclasses import replace
from packager._version import OWN_NAME

from .installed import Installed
from .versions import Fingerprint

_SITE_FOLDERS = ("site-packages", "dist-packages")
_METADATA_ENDS = (".dist-info", ".egg-info")
_METADATA_FOLDER = re.compile(
    r"(?P<name>.+?)(?:-(?P<version>[^-]+)(?:-py[^-]+)?)?\.(?P<form>dist-info|egg-info)"
)


class Distributions:
    """What is installed along a search path, as it was when this object was made.

    >>> here = Distributions()
    >>> here.origin("json").kind
    'stdlib'
    >>> here.origin("msgpack").distribution
    'msgpack'
    >>> here.origin("no_such_module_anywhere").kind
    'unknown'

    `path` defaults to `sys.path`. Nothing is imported, and no file of a distribution's code is read.
    """

    def __init__(self, path: Sequence[str] | None = None) -> None:
        self._installed: dict[str, Installed] = {}
        self._sites: list[str] = []
        folders = map(os.path.abspath, disk.search_folders(sys.path if path is None else path))
        self._path = list(dict.fromkeys(folders))
        for folder in self._path:
            self._scan(folder)

    def version(self, distribution: str) -> str | None:
        """Return the installed version of a distribution by its name; None where it is absent."""
        found = self.find(distribution)
        return found.version if found else None

    def versions(self) -> Mapping[str, str]:
        """Return versions by normalised name, of everything installed, sorted by name."""
        return {name: self._installed[name].version for name in sorted(self._installed)}

    def place(self, distribution: str) -> str:
        """Return the folder, file or address that a distribution is from; "" where that was an index."""
        found = self.find(distribution)
        return found.place if found else ""

    def find(self, distribution: str) -> Installed | None:
        """Return an installed distribution by its name; None where it is absent."""
        return self._installed.get(normalized_name(distribution))

    def required(self, distribution: str) -> Sequence[str]:
        """Return the names of the distributions that one requires; those of its extras are left out."""
        one = self.find(distribution)
        return one.required if one else ()

    def origin(self, name: str, file: str | None = None) -> Origin:
        """Return where module `name` comes from.

        `file` is the path of its source, where the caller has found it: it settles which of two
        packages of one name is meant. Without it the first one along the path is.
        """
        top = name.partition(".")[0]
        if top in sys.builtin_module_names:
            return Origin("builtin")
        if top in sys.stdlib_module_names:
            return Origin("stdlib")
        owner = self.owner(name, file)
        if owner is not None:
            return Origin(_kind(owner), owner.name, owner.version, owner.place)
        return Origin("project" if self._is_at_hand(top, file) else "unknown")

    def owner(self, name: str, file: str | None = None) -> Installed | None:
        """Return the distribution that module `name` belongs to; None where no distribution claims it."""
        candidates = self._claims.get(name.partition(".")[0], ())
        if file is not None:
            whole = os.path.abspath(
                file
            )  # that of a module found by a relative entry of `sys.path` is relative
            candidates = [one for one in candidates if one.holds(whole)]
        else:
            place = self._place(name.partition(".")[0])
            candidates = [one for one in candidates if one.editable or place in (None, one.location)]
        if len(candidates) > 1:  # a namespace package: several distributions fill one folder
            depth = {one.name: one.claim_depth(name) for one in candidates}
            deepest = max(depth.values())
            candidates = [one for one in candidates if depth[one.name] == deepest]
        return min(candidates, key=lambda one: one.name) if candidates else None

    def __contains__(self, distribution: str) -> bool:
        return normalized_name(distribution) in self._installed

    def _place(self, top: str) -> str | None:
        """The folder that `import top` leads to, found as Python finds it."""
        spec = PathFinder.find_spec(top, self._path)
        if spec is None:
            return None
        place = next(iter(spec.submodule_search_locations or ()), spec.origin)
        return os.path.dirname(place) if place else None

    def _scan(self, folder: str) -> None:
        found = _found_in(folder, folder_stamp(folder))
        if os.path.basename(folder) in _SITE_FOLDERS or not all(one.is_egg for one in found):
            self._sites.append(os.path.join(folder, ""))
        for one in found:  # beside a source, or with one: that changes without an install
            self._add(replace(one) if one.is_egg or one.is_in_place else one)

    def _add(self, found: Installed) -> None:
        known = self._installed.get(found.name)
        # The first on the path wins, as at run time; but the .egg-info that a build left in a
        # project's folder says less than the .dist-info of its editable install.
        if known is None or (known.is_egg and not found.is_egg):
            self._installed[found.name] = found

    @cached_property
    def _claims(self) -> dict[str, list[Installed]]:
        claims: defaultdict[str, list[Installed]] = defaultdict(list)
        for found in self._installed.values():
            for top in found.import_names:
                claims[top].append(found)
        return claims

    def _is_at_hand(self, top: str, file: str | None) -> bool:
        """Whether a module that no distribution claims lies outside of folders of installed packages."""
        where = file if file is not None else self._place(top)
        if where is None:
            return False
        where = os.path.join(where, "")
        inside = any(f"{os.sep}{name}{os.sep}" in where for name in _SITE_FOLDERS)
        return not inside and not where.startswith(tuple(self._sites))


@lru_cache(maxsize=64)
def _found_in(folder: str, stamp: object) -> list[Installed]:
    """Return what a folder describes; the stamp tells when an installer has been at work."""
    names = sorted(name for name in _names_in(folder) if name.endswith(_METADATA_ENDS))
    matches = map(_METADATA_FOLDER.fullmatch, names)
    return [Installed.of(folder, one[0], one["name"], one["version"]) for one in matches if one]


def _names_in(folder: str) -> list[str]:
    try:
        return disk.names_in(folder)
    except NotADirectoryError:  # a ZIP file, or a folder inside of one
        return [name for name, _ in disk.names_anywhere(folder)]
    except OSError:
        return []


def environment_facts(distributions: Iterable[str], installed: Distributions) -> Mapping[str, Any]:
    """Return what an archive records of this environment, as plain data.

    That is the fingerprint; the versions of `distributions` and of everything installed that they require,
    sorted by name; and `local`, where there are any, those of them that came from no index.
    """
    versions = _closure(distributions, installed)
    local = [name for name in versions if name != OWN_NAME and installed.place(name)]
    facts = {**vars(Fingerprint.here()), "distributions": versions}
    return {**facts, "local": local} if local else facts


def _closure(distributions: Iterable[str], installed: Distributions) -> dict[str, str]:
    """Return the versions of `distributions` and of what they require."""
    found: dict[str, str] = {}
    waiting = [normalized_name(name) for name in distributions]
    while waiting:
        name = waiting.pop()
        version = installed.version(name)
        if version is not None and name not in found:
            found[name] = version
            waiting += installed.required(name)
    return {name: found[name] for name in sorted(found)}


def _kind(owner: Installed) -> OriginKind:
    if owner.is_compiled:
        return "compiled"
    if owner.editable:
        return "editable"
    return "local" if owner.is_local else "installed"
