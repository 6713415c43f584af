"""Where state of an object may lie outside of it, for an object that its copy does not answer like."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from packager.texts import counted

_CACHE: Final = type(functools.lru_cache(lambda: None))
_WEAK: Final = (WeakKeyDictionary, WeakValueDictionary, WeakSet)
_COPYING: Final = ("__getstate__", "__deepcopy__", "__copy__", "__reduce__", "__reduce_ex__")


def suspects_outside(obj: Any) -> Iterator[str]:
    """Yield what the modules of an object's package keep that a copy does not get: nothing of it is called.

    These are methods that say what a copy holds, caches, weak containers, and dicts by the object's id.

    >>> list(suspects_outside([3]))
    []
    """
    top = type(obj).__module__.partition(".")[0]
    own = [base for base in type(obj).__mro__ if base.__module__.partition(".")[0] == top != "builtins"]
    for base in own:
        for name in _COPYING:
            if name in vars(base):
                yield f"{base.__module__}.{base.__qualname__}.{name} says what a copy holds"
    seen = {id(obj)}
    for home, module in sorted(sys.modules.items()) if own else ():
        if type(module) is ModuleType and home.partition(".")[0] == top:
            for name, value in list(vars(module).items()):
                if id(value) not in seen:  # of those that import it, the outermost is told
                    seen.add(id(value))
                    yield from _in(f"{home}.{name}", value, obj, top)


def _in(place: str, value: Any, obj: Any, top: str, depth: int = 2) -> Iterator[str]:
    cls = type(value)
    if cls is _CACHE:
        if count := value.cache_info().currsize:
            yield f"{place} is a cache of {counted(count, 'entry', 'entries')}"
    elif cls in _WEAK:
        if value.data:
            yield f"{place} is a {cls.__name__} of {len(value.data)}"
    elif cls is dict:
        if id(obj) in value:
            yield f"{place} has the id of the object among its keys"
    elif depth and (issubclass(cls, type) or cls.__module__.partition(".")[0] == top) and value is not obj:
        for name, one in list(getattr(value, "__dict__", {}).items()):
            yield from _in(f"{place}.{name}", one, obj, top, depth - 1)
