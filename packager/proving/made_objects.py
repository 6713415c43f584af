"""What an object holds that a factory makes anew: here, where it was saved, and there, where it was made.

A factory is told its configuration, and what it makes takes up the state dict. What was set besides, as a
mode, an attribute or a buffer that no state dict has, is not in the archive: the object comes back without.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Any, Final

from packager.names import demangle, demangle_text
from packager.texts import few_of

from .held_numbers import TABLES_OF_MODULES, is_of_modules
from .held_values import Held, difference_of, held
from .module_globals import NOT_LOOKED_AT, attributes_of

_MAPPINGS: Final = frozenset([dict, OrderedDict, defaultdict])
_SEQUENCES: Final = frozenset([list, tuple, deque])
_MODE: Final = ".training"
_MOST_HELD: Final = 20_000
_MOST_TOLD: Final = 4


def held_in(obj: Any) -> dict[str, Held]:
    """Return what an object holds, by path: its plain values, its containers, and numbers that no state has.

    Networks are looked into, and objects of the root's own package; nothing of theirs is run.

    >>> from types import SimpleNamespace
    >>> sorted(held_in(SimpleNamespace(width=3, sizes=[1, 2])))
    ['.sizes', '.sizes[0]', '.sizes[1]', '.width']
    """
    top = _package_of(obj)
    found: dict[str, Held] = {}
    seen = {id(obj)}
    waiting = [("", obj)]
    while waiting and len(found) < _MOST_HELD:
        path, value = waiting.pop()
        for step, one in _parts_of(value, top):
            found[f"{path}{step}"] = held(one, demangle_text)
            if id(one) not in seen:
                seen.add(id(one))
                waiting.append((f"{path}{step}", one))
    return found


def what_is_lost(here: Mapping[str, Held], obj: Any) -> str:
    """Say what an object holds that was made there and not what was held here; "" where nothing is."""
    there = held_in(obj)
    told: list[str] = []
    is_moded = False
    for path, one in here.items():
        within = path.rpartition(".")[0] if "." in path[1:] else ""
        if within and within not in there:
            continue  # what it is a part of is told
        if path not in there and path.endswith("]"):
            continue  # its container is told by its size
        if path.endswith(_MODE) and is_moded:
            continue  # the whole network is in another mode
        if what := difference_of(one, there.get(path)):
            is_moded = is_moded or path == _MODE
            told.append(f"{path} {what}")
    return "; ".join(few_of(told, _MOST_TOLD))


def _parts_of(value: Any, top: str) -> Iterator[tuple[str, Any]]:
    if type(value) in _MAPPINGS:
        yield from ((f"[{key!r}]", one) for key, one in list(value.items()) if type(key) in (str, int))
    elif type(value) in _SEQUENCES:
        yield from ((f"[{at}]", one) for at, one in enumerate(list(value)))
    elif is_of_modules(value):
        yield from _parts_of_network(value)
    elif _package_of(value) == top:
        for name, one in attributes_of(value):
            if not NOT_LOOKED_AT.search(name):
                yield f".{name}", one


def _parts_of_network(network: Any) -> Iterator[tuple[str, Any]]:
    """Yield the networks in it, its buffers that no state dict has, its mode, and what else it was given."""
    own = vars(network)
    buffers, unsaved = own.get("_buffers") or {}, own.get("_non_persistent_buffers_set") or ()
    yield from ((f".{name}", one) for name, one in list(buffers.items()) if name in unsaved)
    yield from ((f".{name}", one) for name, one in list((own.get("_modules") or {}).items()))
    for name, one in list(own.items()):
        if name in TABLES_OF_MODULES or name.startswith("__") or NOT_LOOKED_AT.search(name):
            continue
        if not _is_of_every_network(name):
            yield f".{name}", one


def _is_of_every_network(name: str) -> bool:
    return name.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called", "_pre_hooks")) or name in (
        "_non_persistent_buffers_set",
        "_is_full_backward_hook",
        "_compiled_call_impl",
    )


def _package_of(value: Any) -> str:
    """Return the first part of the name of the module that a value's class is of."""
    return demangle(str(type.__getattribute__(type(value), "__module__"))).partition(".")[0]
