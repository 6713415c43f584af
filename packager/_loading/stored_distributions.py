"""`importlib.metadata` of an archive's code: the archive's distributions first, then those of the target.

Of a distribution whose code is in an archive there are its METADATA and its entry points, where the archive
has them: plugins are loaded as its code. Classes stand in for classes: what their class methods look for, and
what an entry point loads, is the archive's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, reduce
from importlib import metadata
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path
from typing import Any

from packager._names import demangle, normalized_name

from .packaged_code import PROBED, ImportRules, PackagedCode

ImportModule = Callable[[str], Any]
"""Imports a module as the archive's code does."""


class StoredDistribution(Distribution):
    """A distribution of which an archive holds the code, and `folder`, which describes it."""

    def __init__(self, code: PackagedCode, folder: str, import_module: ImportModule) -> None:
        self._code = code
        self._folder = folder
        self._import_module = import_module

    @property
    def entry_points(self) -> Any:
        """The entry points of the distribution, as far as the archive has them."""
        plain = super().entry_points
        return type(plain)(StoredEntryPoint.like(one, self, self._import_module) for one in plain)

    def read_text(self, filename: str | os.PathLike[str]) -> str | None:
        entry = self._code.entry_at(f"{self._folder}/{os.fspath(filename)}")
        return None if entry is None else self._code.read(entry).decode()

    def locate_file(self, path: str | os.PathLike[str]) -> Any:
        return Path(path)  # relative to the archive: there is no list of files to locate


class StoredEntryPoint(EntryPoint):
    """An entry point whose `load` imports as the archive's code does."""

    @classmethod
    def like(cls, point: EntryPoint, distribution: Distribution, import_module: ImportModule) -> EntryPoint:
        """Return an entry point of a distribution once more."""
        made = cls(point.name, point.value, point.group)
        vars(made).update(dist=distribution, _import_module=import_module)  # it refuses to be set
        return made

    def load(self) -> Any:
        """Import the module, and return what the entry point names in it."""
        module, _, names = self.value.partition("[")[0].partition(":")
        found = vars(self)["_import_module"](module.strip())
        return reduce(getattr, filter(None, names.strip().split(".")), found)


def stored_distributions(
    code: PackagedCode, import_module: ImportModule, name: str | None = None
) -> Iterator[Distribution]:
    """Yield the distributions in the archive: all, or the one of that name in whichever spelling."""
    for folder in code.metadata_folders():
        stored = folder.removesuffix(".dist-info").partition("-")[0]
        if name is None or normalized_name(stored) == normalized_name(name):
            yield StoredDistribution(code, folder, import_module)


def metadata_names(code: PackagedCode, rules: ImportRules, import_module: ImportModule) -> dict[str, Any]:
    """Return what stands in the place of names of `importlib.metadata`; `import_module` is the archive's.

    What the code looked for when the archive was made, and did not find, stays absent, as undeclared
    modules do.
    """
    found = _Metadata(code, rules, import_module)

    def of_distribution(name: str) -> Callable[[str], Any]:
        return lambda distribution_name: getattr(found.distribution(distribution_name), name)

    def make(self: Any, name: str, value: str, group: str) -> None:
        StoredEntryPoint.__init__(self, name, value, group)
        vars(self).update(dist=None, _import_module=import_module)

    found_by = {
        "from_name": classmethod(lambda cls, name: found.distribution(name)),
        "discover": classmethod(lambda cls, **params: found.distributions(**params)),
    }
    return {
        "distribution": found.distribution,
        "distributions": found.distributions,
        **{name: of_distribution(name) for name in ("metadata", "version", "requires", "files")},
        "entry_points": found.entry_points,
        "packages_distributions": found.packages_distributions,
        "Distribution": _standing_for(Distribution, Distribution, found_by),
        "EntryPoint": _standing_for(EntryPoint, StoredEntryPoint, {"__init__": make}),
    }


class _Metadata:
    """The functions of `importlib.metadata` for the code of one archive."""

    def __init__(self, code: PackagedCode, rules: ImportRules, import_module: ImportModule) -> None:
        self._code = code
        self._suffix = rules.suffix
        self._import_module = import_module
        self._absent = frozenset[str]() if rules.undeclared == "allow" else code.absent_distributions

    def distribution(self, distribution_name: str) -> Distribution:
        """Return the distribution of that name in the archive, or else in this environment.

        A module of the archive may name its own by what it is called here: `version(__package__)`.
        """
        sys.audit(PROBED, "distribution", distribution_name)
        spelt = demangle(distribution_name) if distribution_name else distribution_name
        if self._absent and spelt and normalized_name(spelt) in self._absent:
            raise metadata.PackageNotFoundError(spelt)
        return next(self._stored(spelt), None) or Distribution.from_name(spelt)

    def distributions(self, **params: Any) -> Iterator[Distribution]:
        """Yield the distributions of the archive, and those of this environment that it has not.

        `name` leaves those of a name. Of folders (`path`) only the environment knows.
        """
        sys.audit(PROBED, "distributions", params.get("name") or "*")
        return self._all(self._absent, params)

    def entry_points(self, **params: Any) -> Any:
        """Return entry points: the archive's before the environment's.

        Those of a distribution that is both in the archive and here are the archive's. Where it is served,
        others are loaded as its code is, so that they are asked for.
        """
        sys.audit(PROBED, "entry points", params.get("group") or "*")
        points: list[EntryPoint] = []
        seen = set()
        for one in self._all(frozenset(), {}):
            if (name := _name_of(one)) in seen:
                continue
            seen.add(name)  # the first of a name is the one that is imported
            found: Iterable[EntryPoint] = one.entry_points
            if self._code.provider is not None and not isinstance(one, StoredDistribution):
                found = [StoredEntryPoint.like(point, one, self._import_module) for point in found]
            points += found
        by_group = getattr(metadata, "SelectableGroups", None)  # Python 3.11 gives them by group
        all_points = metadata.EntryPoints(points) if by_group is None else by_group.load(points)
        return all_points.select(**params)

    def packages_distributions(self) -> dict[str, list[str]]:
        """Return the distributions of each top-level name; the archive's as it is called here, too."""
        found = {name: list(owners) for name, owners in metadata.packages_distributions().items()}
        own: dict[str, list[str]] = {}
        for distribution in self._stored():
            for name in (distribution.read_text("top_level.txt") or "").split():
                own.setdefault(name, []).append(distribution.metadata["Name"])
        return {**found, **own, **{f"{name}{self._suffix}": list(owners) for name, owners in own.items()}}

    def _stored(self, name: str | None = None) -> Iterator[Distribution]:
        return stored_distributions(self._code, self._import_module, name)

    def _all(self, absent: frozenset[str], params: dict[str, Any]) -> Iterator[Distribution]:
        asked = {**vars(params["context"])} if params.keys() == {"context"} else params
        own = set(absent)
        name = asked.get("name")
        for one in self._stored(demangle(name) if name else None) if asked.keys() <= {"name"} else ():
            own.add(_name_of(one))
            yield one
        for one in metadata.distributions(**params):
            if _name_of(one) not in own:
                yield one


def _name_of(distribution: Distribution) -> str:
    """Return its normalised name; "" where its metadata says none, which later Pythons warn of.

    One that lies in a folder has it in the folder's name, as Python's own `entry_points` takes it: to read
    and parse the metadata of all that is installed would take longer than the imports of most packages.
    """
    if name := _name_in(str(getattr(distribution, "_path", ""))):
        return name
    return normalized_name(distribution.metadata.get("Name") or "")  # type: ignore[attr-defined]  # a Message


@lru_cache(maxsize=2048)
def _name_in(path: str) -> str:
    """Return the name that a folder of metadata has; "" where it is none. Asked anew at every question."""
    stem, ending = os.path.splitext(os.path.basename(path))
    return normalized_name(stem.partition("-")[0]) if ending in (".dist-info", ".egg-info") else ""


def _standing_for(real: type, base: type, names: dict[str, Any]) -> type:
    """Return a class with other functions, which is `real` where `isinstance` and `issubclass` ask."""

    class StandsFor(type(real)):  # type: ignore[misc]  # a class that is known when it is run
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, real) if cls is made else super().__instancecheck__(instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, real) if cls is made else super().__subclasscheck__(subclass)

    made: type = StandsFor(real.__name__, (base,), {"__module__": real.__module__, **names})
    return made
