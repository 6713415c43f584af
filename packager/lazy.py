"""Lazy `__init__` files: a name of a package is imported when it is first used, and no other with it.

What an archive is opened with has a `TYPE_CHECKING` of its own, False, which type checkers take for True:
`typing` is for them alone, and imports as much as all of these modules (`docs/design/first-use.md`).
"""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False  # `typing` takes longer to import than this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["lazy_names"]


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` of `package`; `homes` maps its modules to names in them.

    The `__init__` imports the same modules with a star under `TYPE_CHECKING`, for readers and type
    checkers. `__getattr__` raises AttributeError for a name that no module is listed with.

    >>> find, names = lazy_names("packager.graph", {"digraph": "DiGraph", "walk": "Walk"})
    >>> names
    ['DiGraph', 'Walk']
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
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # What an import makes stays. A collection meanwhile visits all that is there, and finds nothing.
        enabled = gc.isenabled()
        gc.disable()
        try:
            module = f"{package}.{home}"
            __import__(module)  # `importlib` is a module of its own, and imports `warnings`
            value = getattr(sys.modules[module], name)
        finally:
            if enabled:
                gc.enable()
        setattr(sys.modules[package], name, value)
        return value

    return find, sorted(home_of)
