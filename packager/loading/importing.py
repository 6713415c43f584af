"""The `__import__` that packaged code has: the archive first, then what was declared, then the library.

It stands in the `__builtins__` of every packaged module, so text run by `exec` inherits it. It hands
over to the original `__import__` under the right name, so that Python's own import locks hold.

It is reachable as long as one packaged function lives, and so keeps names only: not the archive.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from packager.errors import UndeclaredImportError
from packager.names import OWN_IMPORTER, demangle

__all__ = ["ImportRules", "PackagedImport", "say_true_names"]


class ImportRules:
    """Which names packaged code may import, and what they are called in this process.

    `suffix` marks the first part of owned names; it is empty where an archive is installed under
    its own names. `undeclared` is "error" or "allow".
    """

    __slots__ = ("declared", "owned", "suffix", "undeclared")

    def __init__(self, owned: frozenset[str], declared: frozenset[str], suffix: str, undeclared: str) -> None:
        self.owned = owned
        self.declared = declared
        self.suffix = suffix
        self.undeclared = undeclared

    def in_process(self, name: str) -> str:
        """What the absolute name `name` is called in `sys.modules`.

        Raises UndeclaredImportError for a name that is neither in the archive, nor declared, nor
        of the standard library.
        """
        top, dot, rest = name.partition(".")
        if top in self.owned:
            return f"{top}{self.suffix}{dot}{rest}"
        if top in self.declared or top in sys.stdlib_module_names or self._is_ours(top):
            return name
        if self.undeclared == "allow" or top == "__main__":
            return name
        raise self._undeclared(name, top)

    def _is_ours(self, top: str) -> bool:
        return bool(self.suffix) and top.endswith(self.suffix)

    def _undeclared(self, name: str, top: str) -> UndeclaredImportError:
        return UndeclaredImportError(
            f"packaged code imports {name!r}, but {top!r} is not in the archive and was not declared extern "
            f"when it was made (No module named {top!r} for this code); export again with "
            f'intern("{top}.**") or extern("{top}.**"), or load with undeclared="allow"',
            name=top,
        )


class ModuleTable(Protocol):
    """What gives the stand-in for a module's name."""

    def get(self, name: str, default: Any = None, /) -> Any: ...


class PackagedImport:
    """The callable that stands as `__import__`."""

    __slots__ = ("_original", "_rules", "importer", "proxies")

    def __init__(self, rules: ImportRules) -> None:
        self._rules = rules
        self._original = builtins.__import__
        self.proxies: ModuleTable = {}
        self.importer: Callable[[], Any] = lambda: None  # a weak reference: see above

    def __call__(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        try:
            # C code that imports for itself while packaged code calls it (PyImport_Import) comes by
            # here too; it alone passes an empty list. Its imports are not the package's.
            if level or (type(fromlist) is list and not fromlist):
                return self._original(name, globals, locals, fromlist, level)
            if name == OWN_IMPORTER:
                return self._own_importer()
            target = self._rules.in_process(name)
            found = self._original(target, globals, locals, fromlist, 0)
        except ImportError as error:
            raise say_true_names(error) from error.__cause__
        return self.proxies.get(found.__name__, found) if self._is_proxied(name) else found

    def _own_importer(self) -> Any:
        importer = self.importer()
        if importer is None:
            raise ModuleNotFoundError(
                f"{OWN_IMPORTER}: no PackageImporter is open for this code: it was closed, or belongs to the "
                "process that started this one",
                name=OWN_IMPORTER,
            )
        return importer

    def _is_proxied(self, name: str) -> bool:
        return name.partition(".")[0] in ("importlib", "pkgutil", "runpy", "sys")


def say_true_names(error: ImportError) -> ImportError:
    """`error` itself, with the names that its reader knows in place of mangled ones."""
    if isinstance(error.msg, str):
        words = error.msg.split("'")
        error.msg = "'".join(demangle(word) for word in words)
        error.args = (error.msg, *error.args[1:])
    if error.name:
        error.name = demangle(error.name)
    return error
