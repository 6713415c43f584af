"""Lazy `__init__` files: a name of a package is imported when it is first used, and no other with it.

What an archive is opened with has a `TYPE_CHECKING` of its own, False, which type checkers take for True:
`typing` is for them alone, and imports as much as all of these modules (`docs/design/first-use.md`).
"""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False  # `typing` takes longer to import than this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` of `package`; `homes` maps its modules to names in them.

    The `__init__` imports the same modules with a star under `TYPE_CHECKING`, for readers and type
    checkers. `__getattr__` raises AttributeError for a name that no module is listed with.

    >>> find, names = lazy_names("packager._graph", {"digraph": "DiGraph", "walk": "Walk"})
    >>> names
    ['DiGraph', 'Walk']
    >>> find("DiGraph").__module__
    'packager._graph.digraph'
    >>> find("Digraph")
    Traceback (most recent call last):
    AttributeError: module 'packager._graph' has no attribute 'Digraph'; did you mean 'DiGraph'?
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise unknown_name(package, name, home_of)
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


def unknown_name(module: str, name: str, names: Iterable[str]) -> AttributeError | ImportError:
    """Return the error for `name`, which `module` lacks, with the nearest of its `names`.

    It is an ImportError where `from module import name` asks: Python replaces the text of any
    other, and until 3.12 looks for no near names.
    """
    asking = sys._getframe(1)
    while asking.f_back and asking.f_globals["__name__"] in (__name__, module):
        asking = asking.f_back
    text = f"module {module!r} has no attribute {name!r}"
    if asking.f_code.co_name == "_handle_fromlist" or name.startswith("_"):  # a submodule may have the name
        return AttributeError(text)
    from difflib import get_close_matches
    from opcode import opname

    near = get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    if opname[asking.f_code.co_code[asking.f_lasti]] == "IMPORT_FROM":
        return ImportError(f"cannot import name {name!r} from {module!r}{hint}", name=module)
    return AttributeError(f"{text}{hint}", name=name, obj=None)  # with `obj` Python would add the hint again
