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
from packager.names import OWN_IMPORTER, demangle_text


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
        if not name:  # the import that follows raises Python's own ValueError
            return name
        if top in self.declared or top in sys.stdlib_module_names or self._is_ours(top):
            return name
        if self.undeclared == "allow" or top == "__main__":
            return name
        raise self._undeclared(name, top)

    def package_in_process(self, package: str) -> str:
        """What `package`, which relative names start from, is called in `sys.modules`.

        Modules that code made by hand say their true name; a name from elsewhere stays as it is.
        """
        return self.in_process(package) if package.partition(".")[0] in self.owned else package

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
        if not isinstance(name, str):
            return self._original(name, globals, locals, fromlist, level)  # Python's own TypeError
        try:
            if level:
                return self._original(name, self._in_process(globals), locals, fromlist, level)
            if name == OWN_IMPORTER:
                return self._own_importer()
            found = self._original(self._rules.in_process(name), globals, locals, fromlist, 0)
        except ImportError as error:
            say_true_names(error)
            raise
        return self.proxies.get(found.__name__, found) if self._is_proxied(name) else found

    def from_c(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """Import for C code that packaged code calls, whose imports are not the package's.

        They come with an empty list, no level, and the same dict for globals and locals; every other call
        is one of Python, of code that had the function by `getattr`.
        """
        if level == 0 and type(fromlist) is list and not fromlist and globals is locals is not None:
            return self._original(name, globals, locals, fromlist, 0)
        return self(name, globals, locals, fromlist, level)

    def _in_process(self, globals: Mapping[str, object] | None) -> Mapping[str, object] | None:
        """The globals that a relative import starts from, with the package as it is called here."""
        package = _package_of(globals) if isinstance(globals, dict) else None
        if not isinstance(package, str):
            return globals  # Python's own errors
        called = self._rules.package_in_process(package)
        return globals if called == package else {"__package__": called}

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
        return name.partition(".")[0] in ("builtins", "importlib", "pkgutil", "runpy", "sys")


def say_true_names(error: ImportError) -> None:
    """Put the names that its reader knows in the place of mangled ones in `error`, which stays itself.

    A class may make `name` or `args` something that cannot be set (PackageNotFoundError of
    importlib.metadata), or more than plain text. So only the fields of ImportError itself are
    read and written, past whatever a class defines.
    """
    for field in _TEXTS:
        text = field.__get__(error)
        if type(text) is str and (shown := demangle_text(text)) != text:
            field.__set__(error, shown)
    args = _ARGUMENTS.__get__(error)
    shown_args = tuple(demangle_text(arg) if type(arg) is str else arg for arg in args)
    if shown_args != args:
        _ARGUMENTS.__set__(error, shown_args)


def named_in(error: ImportError) -> object:
    """The `name` that an import error carries, whatever its class makes of that attribute."""
    return vars(ImportError)["name"].__get__(error)


# `name_from` is new in Python 3.12.
_TEXTS: tuple[Any, ...] = tuple(
    vars(ImportError)[field] for field in ("msg", "name", "name_from") if field in vars(ImportError)
)
_ARGUMENTS: Any = vars(BaseException)["args"]


def _package_of(globals: Mapping[str, object]) -> object:
    """What `__import__` takes relative names to start from: the rule of Python's reference."""
    package, spec = globals.get("__package__"), globals.get("__spec__")
    if package is not None:
        return package
    if spec is not None:
        return getattr(spec, "parent", None)
    name = globals.get("__name__")
    return name.rpartition(".")[0] if isinstance(name, str) and "__path__" not in globals else name
