"""The clean environment: installed packages as they are, the project gone, stored packages hidden."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder

_STANDARD_LIBRARY = os.path.dirname(os.__file__)
_ZIPPED = f"python{sys.version_info[0]}{sys.version_info[1]}.zip"


class HiddenModules:
    """First on `sys.meta_path`: hides modules of some first parts, whoever else would find them."""

    def __init__(self, hidden: Collection[str]) -> None:
        self.hidden = {*hidden}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for a hidden name; find nothing else."""
        top = name.partition(".")[0]
        if top in self.hidden:
            raise ModuleNotFoundError(
                f"No module named {name!r}: {top!r} is stored in the archive, and nothing else brings it",
                name=name,
            )
        return None


class PlacedModules:
    """Last on `sys.meta_path`: finds a few first parts in folders of which nothing else is importable."""

    def __init__(self, places: Mapping[str, Sequence[str]]) -> None:
        self.places = dict(places)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Find a module in its place; None for one that has none."""
        folders = self.places.get(name)
        return None if folders is None else PathFinder.find_spec(name, list(folders))


def enter_clean_environment(
    path: Sequence[str], places: Mapping[str, Sequence[str]], hidden: Collection[str]
) -> None:
    """Leave Python itself, `path`, and what has a place, importable in this process, and nothing else.

    Python has run the `.pth` files of site-packages: folders and finders of editable installs are there, and
    go again. So do finders of an earlier call.
    """
    sys.path[:] = [*standard_folders(), *path]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not _is_replaced(finder)]
    sys.meta_path.insert(0, HiddenModules(hidden))
    sys.meta_path.append(PlacedModules(places))
    sys.path_importer_cache.clear()


def standard_folders() -> list[str]:
    """Return the entries of `sys.path` in which Python's own modules lie."""
    entries = map(str, sys.path)  # users put paths of `pathlib` there
    return [entry for entry in entries if _is_standard(entry)]


def add_place(name: str, folders: Sequence[str]) -> None:
    """Let a first part be found in folders in which nothing else is."""
    for finder in sys.meta_path:
        if isinstance(finder, PlacedModules):
            finder.places[name] = folders


def show(name: str) -> None:
    """Let the first part of a name be found again: a part of a stored package is that of the environment."""
    for finder in sys.meta_path:
        if isinstance(finder, HiddenModules):
            finder.hidden.discard(name.partition(".")[0])


def _is_standard(entry: str) -> bool:
    inside = entry == _STANDARD_LIBRARY or entry.startswith(_STANDARD_LIBRARY + os.sep)
    if inside:
        return os.path.basename(entry) not in ("site-packages", "dist-packages")
    return os.path.basename(entry) in (_ZIPPED, "DLLs", "lib-dynload")


def _is_replaced(finder: object) -> bool:
    return isinstance(finder, HiddenModules | PlacedModules) or _is_editable(finder)


def _is_editable(finder: object) -> bool:
    """Say whether a finder was put there by an editable install, as setuptools and others name theirs."""
    cls = finder if isinstance(finder, type) else type(finder)
    return cls.__module__.startswith(("__editable__", "_editable_impl", "_virtualenv_editable"))
