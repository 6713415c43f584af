"""What `importlib.metadata` finds about distributions whose code is in an archive.

That is their METADATA, and their entry points where the archive has them: plugins are loaded as its code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, reduce
from importlib import metadata
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path
from typing import Any

from packager.names import demangle, normalized_name

from .packaged_code import PackagedCode


class StoredDistribution(Distribution):
    """A distribution of which an archive holds the code, and `folder`, which describes it.

    Its entry points are loaded by `import_module`, as the archive's code imports.
    """

    def __init__(self, code: PackagedCode, folder: str, import_module: Callable[[str], Any]) -> None:
        self._code = code
        self._folder = folder
        self._import_module = import_module

    @property
    def entry_points(self) -> Any:
        """The entry points of the distribution, as far as the archive has them."""
        plain = super().entry_points
        found = (StoredEntryPoint(one.name, one.value, one.group) for one in plain)
        return type(plain)(one.of(self, self._import_module) for one in found)

    def read_text(self, filename: str | os.PathLike[str]) -> str | None:
        entry = self._code.entry_at(f"{self._folder}/{os.fspath(filename)}")
        return None if entry is None else self._code.read(entry).decode()

    def locate_file(self, path: str | os.PathLike[str]) -> Any:
        return Path(path)  # relative to the archive: there is no list of files to locate


def stored_distributions(
    code: PackagedCode, import_module: Callable[[str], Any], name: str | None = None
) -> Iterator[Distribution]:
    """Yield the distributions in the archive: all, or the one of that name in whichever spelling."""
    for folder in code.metadata_folders():
        stored = folder.removesuffix(".dist-info").partition("-")[0]
        if name is None or normalized_name(stored) == normalized_name(name):
            yield StoredDistribution(code, folder, import_module)


def distribution_for(
    code: PackagedCode, import_module: Callable[[str], Any], name: str, absent: frozenset[str] = frozenset()
) -> Distribution:
    """Return the distribution of that name in the archive, or else in this environment.

    A module of the archive may name its own by what it is called here: `version(__package__)`.
    Nothing `absent` is looked for.

    Raises PackageNotFoundError where neither has it.
    """
    spelt = demangle(name) if name else name
    if absent and spelt and normalized_name(spelt) in absent:
        raise metadata.PackageNotFoundError(spelt)
    return next(stored_distributions(code, import_module, spelt), None) or Distribution.from_name(spelt)


def distributions_for(
    code: PackagedCode,
    import_module: Callable[[str], Any],
    absent: frozenset[str] = frozenset(),
    **params: Any,
) -> Iterator[Distribution]:
    """Yield the distributions of the archive, and those of this environment that it has not.

    None of these is `absent`. `name` leaves those of a name. Of folders (`path`) only the environment knows.
    """
    asked = {**vars(params["context"])} if params.keys() == {"context"} else params
    own = set()
    name = asked.get("name")
    spelt = demangle(name) if name else None
    for distribution in stored_distributions(code, import_module, spelt) if asked.keys() <= {"name"} else ():
        own.add(_name_of(distribution))
        yield distribution
    own |= absent
    for distribution in metadata.distributions(**params):
        if _name_of(distribution) not in own:
            yield distribution


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


class StoredEntryPoint(EntryPoint):
    """An entry point of a distribution in an archive; `load` imports as the archive's code does."""

    def of(self, distribution: Distribution | None, import_module: Callable[[str], Any]) -> StoredEntryPoint:
        """Return the entry point, as one of a distribution."""
        vars(self).update(dist=distribution, _import_module=import_module)  # it refuses to be set
        return self

    def load(self) -> Any:
        """Import the module, and return what the entry point names in it."""
        module, _, names = self.value.partition("[")[0].partition(":")
        found = vars(self)["_import_module"](module.strip())
        return reduce(getattr, filter(None, names.strip().split(".")), found)


def packages_distributions_for(
    code: PackagedCode, import_module: Callable[[str], Any], suffix: str
) -> dict[str, list[str]]:
    """Return the distributions that bring each top-level name, as `importlib.metadata` has it.

    Names of the archive stand there as they are called in this process, too.
    """
    found = {name: list(owners) for name, owners in metadata.packages_distributions().items()}
    own: dict[str, list[str]] = {}
    for distribution in stored_distributions(code, import_module):
        for name in (distribution.read_text("top_level.txt") or "").split():
            own.setdefault(name, []).append(distribution.metadata["Name"])
    return {**found, **own, **{f"{name}{suffix}": list(owners) for name, owners in own.items()}}


def entry_points_for(code: PackagedCode, import_module: Callable[[str], Any], **params: Any) -> Any:
    """Return entry points as `importlib.metadata.entry_points` does: the archive's before the environment's.

    Those of a distribution that is both in the archive and here are the archive's. Where it is served,
    others are loaded as its code is, so that they are asked for.
    """
    points: list[EntryPoint] = []
    seen = set()
    for distribution in distributions_for(code, import_module):
        if (name := _name_of(distribution)) not in seen:
            seen.add(name)  # the first of a name is the one that is imported
            found: Iterable[EntryPoint] = distribution.entry_points
            if code.provider is not None and not isinstance(distribution, StoredDistribution):
                found = [
                    StoredEntryPoint(one.name, one.value, one.group).of(distribution, import_module)
                    for one in found
                ]
            points += found
    by_group = getattr(metadata, "SelectableGroups", None)  # Python 3.11 gives them by group
    all_points = metadata.EntryPoints(points) if by_group is None else by_group.load(points)
    return all_points.select(**params)
