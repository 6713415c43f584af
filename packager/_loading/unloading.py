"""Modules that leave the process with the last thing that needs them: those of `packager.load`.

Each of them holds the importer of its archive, in its spec, and so does every function of it, by its globals;
the importer holds the modules. What would keep them for good is `sys.modules`. So each has a stand-in there
while the collector looks through everything: it holds its module weakly, and passes on what other threads ask
of it. What nothing else holds is collected then, and its importer closes the archive. The others get their
places back.
"""

from __future__ import annotations

import gc
import os
import sys
import weakref
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .open_archives import LoadedArchive

_FULL = 2  # the generation of a collection that looks through everything

_holders: list[tuple[weakref.ref[Any], weakref.ref[LoadedArchive]]] = []
_aside: list[tuple[str, _StandIn]] = []


class _StandIn(ModuleType):
    """Has a module's place in `sys.modules`, and its attributes, and does not keep it alive."""

    __slots__ = ("_module",)

    def __init__(self, module: Any) -> None:
        _set(self, weakref.ref(module))

    def __getattribute__(self, name: str) -> Any:
        return getattr(_get(self)(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_get(self)(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_get(self)(), name)


_get: Any = vars(_StandIn)["_module"].__get__
_set: Any = vars(_StandIn)["_module"].__set__


def unload_with(importer: weakref.ref[Any], loaded: LoadedArchive) -> None:
    """Let the modules of an archive be collected, with the importer that they hold."""
    _holders.append((importer, weakref.ref(loaded)))
    if _at_collection not in gc.callbacks:
        gc.callbacks.append(_at_collection)


def _at_collection(phase: str, info: dict[str, int]) -> None:
    if info["generation"] < _FULL:
        return
    if phase == "start":
        _step_aside()
        return
    _come_back()


def _come_back() -> None:
    """Give what was not collected its place back."""
    while _aside:
        name, stand_in = _aside.pop()
        module = _get(stand_in)()
        if module is not None and sys.modules.get(name) is stand_in:
            sys.modules[name] = module


def _step_aside() -> None:
    """Put stand-ins in the places of all modules that their importers may leave with."""
    owners: dict[str, Any] = {}
    for holder in tuple(_holders):
        importer, loaded = holder[0](), holder[1]()
        if importer is None or loaded is None:
            _holders.remove(holder)
        else:
            importer.held_modules = []
            owners.update(dict.fromkeys(loaded.top_level_names, importer))
    for name, module in sys.modules.copy().items():
        importer = owners.get(name.partition(".")[0])
        if importer is None or type(module) is _StandIn:
            continue
        try:
            stand_in = _StandIn(module)
        except TypeError:  # code has put something there that nothing can hold weakly: it stays
            continue
        importer.held_modules.append(module)
        _aside.append((name, stand_in))
        sys.modules[name] = stand_in


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_come_back)  # another thread may have been collecting
