"""Names of a room that are imported when they are first used: whoever needs one does not pay for all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(room: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of the package `room`: `homes` maps its modules to the names that live there.

    The `__init__` names them once more under `TYPE_CHECKING`, for readers and type checkers.

    >>> find = lazy_names("packager.graph", {"digraph": "DiGraph"})
    >>> find("DiGraph").__module__
    'packager.graph.digraph'
    >>> find("Digraph")
    Traceback (most recent call last):
    AttributeError: module 'packager.graph' has no attribute 'Digraph'
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(import_module(f"{room}.{home}"), name)
        setattr(sys.modules[room], name, value)
        return value

    return find
