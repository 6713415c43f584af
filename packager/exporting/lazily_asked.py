"""Code that asks a lazy package for attributes by names which are computed: `getattr(shop, self.kind)`.

The package then imports what its table names. What the walk has not come to by other names is not stored.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from packager import seen
from packager.graph import Module, dotted, imported_names, nodes_in_functions
from packager.quick_dataclasses import dataclass
from packager.version import OWN_PACKAGES

_GETS_LAZILY: Final = re.compile(rb"^(async )?def __getattr__\(|^__getattr__\b.*=", re.MULTILINE)


@dataclass(frozen=True)
class LazilyAsked:
    """A lazy package of the project, the place that asks it, and modules of its table that are not stored."""

    package: str
    place: str
    modules: tuple[str, ...]

    @property
    def id(self) -> str:
        """What it is answered by, where none of these is needed."""
        return f"{self.package}:__getattr__"


def lazily_asked(
    own: Sequence[Module], stored: Collection[str], is_live: Callable[[str, int], bool]
) -> Iterator[LazilyAsked]:
    """Yield each place in the `own` modules that asks a lazy one of them by a name that nothing is known of.

    Only modules count that are loaded here, not `stored`, and spelled in the package's text.
    """
    lazy = {one.name: one.source for one in own if one.source and _GETS_LAZILY.search(one.source)}
    missing = {name: tuple(_in_table(name, text, stored)) for name, text in lazy.items()}
    if not any(missing.values()):
        return
    for module in own:
        package = module.name if module.is_package else module.name.rpartition(".")[0]
        for name, line, begins in _asked(module.source or b"", package):
            if missing.get(name) and (not begins or is_live(module.name, begins)):
                yield LazilyAsked(name, f"{module.file}:{line}", missing[name])


def _in_table(package: str, text: bytes, stored: Collection[str]) -> Iterator[str]:
    """Yield the loaded modules below a package that its text spells, and that are not stored."""
    loaded = loaded_below(package)
    if package.partition(".")[0] in OWN_PACKAGES:  # of others the key of a plan has all that are loaded
        seen.note_answer("loaded below", package, loaded)
    for name in loaded.splitlines():
        if name not in stored:
            spelt = re.escape(name.removeprefix(f"{package}."))
            if re.search(rf"[\"'.]{spelt}[\"':]".encode(), text):
                yield name


def loaded_below(package: str) -> str:
    """Return the modules below a package that are loaded here, one a line, sorted.

    >>> "importlib.machinery" in loaded_below("importlib").splitlines()
    True
    """
    return "\n".join(sorted(name for name in [*sys.modules] if name.startswith(f"{package}.")))


def is_loaded(name: str) -> str:
    """Return "yes" where a module is loaded here, "" where it is not."""
    return "yes" if name in sys.modules else ""


def _asked(source: bytes, package: str) -> Iterator[tuple[str, int, int]]:
    """Yield what `getattr` with a computed name is asked of: its name, the line, the function's line."""
    if b"getattr(" not in source:
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    imported = imported_names(list(ast.walk(tree)), package)
    for node, begins in nodes_in_functions(tree):
        match node:
            # A name that is drawn from a literal, or put together with one, is followed by the walk.
            case ast.Call(
                func=ast.Name(id="getattr"), args=[owner, ast.Name() | ast.Attribute() | ast.Call(), *_]
            ):
                first, _, rest = dotted(owner).partition(".")
                if first in imported:
                    yield ".".join(filter(None, (imported[first], rest))), node.lineno, begins
