"""What `pkgutil.iter_modules(package.__path__)` finds: the modules that the archive holds."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType

from .code import PackagedCode


class PackageFolderFinder:
    """The path-entry finder of one packaged package: it lists, and leaves finding to the shared finder."""

    def __init__(self, code: PackagedCode, package: str) -> None:
        self._code = code
        self._package = package

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        return None

    def invalidate_caches(self) -> None:
        """An archive does not change: there is nothing to forget."""

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        for record in self._code.children(self._package):
            if record.action != "deny":
                yield prefix + record.name.rpartition(".")[2], record.is_package
