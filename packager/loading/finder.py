"""The one finder, first on `sys.meta_path`, that knows every open archive's modules."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from packager.errors import PackageError

from .world import World

if TYPE_CHECKING:
    from importlib.metadata import Distribution


_worlds: dict[str, World] = {}
_lock = threading.Lock()

adopter: list[Callable[[str], World | None]] = []
"""What is asked for a mangled name that no open archive has: see `processes.py`."""


class _ArchiveFinder:
    """Finds modules by the first part of their name; for every other name it costs one look-up."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top = fullname.partition(".")[0]
        world = _worlds.get(top)
        if world is None and "__w" in top:
            world = next((found for adopt in adopter if (found := adopt(top)) is not None), None)
        return None if world is None else world.find_spec(fullname, path)

    def find_distributions(self, context: Any) -> Iterator[Distribution]:
        """What `importlib.metadata` asks: the distributions of archives under their own names."""
        from .stored_distributions import stored_distributions

        for world in {id(world): world for world in _worlds.values() if not world.suffix}.values():
            yield from stored_distributions(world.code, context.name)

    def invalidate_caches(self) -> None:
        """An archive does not change: there is nothing to forget."""


_finder = _ArchiveFinder()


def register(world: World) -> None:
    """Make the modules of `world` importable."""
    with _lock:
        _worlds.update(dict.fromkeys(world.tops, world))
        install_finder()


def unregister(world: World) -> None:
    """Forget `world`; nothing happens when it is forgotten already."""
    with _lock:
        for top in world.tops:
            if _worlds.get(top) is world:
                del _worlds[top]


def is_open(top: str) -> bool:
    """Say whether an open archive owns `top`, as it stands in `sys.modules`."""
    return top in _worlds


def world_of(top: str) -> World | None:
    """The open archive's world that owns `top`, as it stands in `sys.modules`."""
    return _worlds.get(top)


def install_finder() -> None:
    """Put the finder first on `sys.meta_path`, once."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


class NameTakenError(PackageError, ImportError):
    """An archive cannot be installed: this process has, or can import, packages of the same names."""


def require_free(tops: frozenset[str], what: str) -> None:
    """Raise NameTakenError, for all of them together, when a name of `tops` leads somewhere already."""
    taken = [top for top in sorted(tops) if top in sys.modules or find_spec(top) is not None]
    if taken:
        raise NameTakenError(
            f"{what} cannot be installed: {', '.join(taken)} can be imported here already; uninstall that, "
            "or import from the archive without install()"
        )
