"""One archive's modules in this process: their names, their `__builtins__`, and how they go away.

A module of the archive stands in `sys.modules` under a name of its own (`packager.names`), found by
the shared finder (`finder.py`), so that everything in Python which goes through `sys.modules`, specs
and import locks works as it does for any package.
"""

from __future__ import annotations

import linecache
import os
import sys
import weakref
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType

from packager.archive import ModuleRecord
from packager.names import demangle

from .bytecode import BytecodeCache
from .code import PackagedCode
from .code_builtins import CodeBuiltins
from .importing import ImportRules, PackagedImport
from .loaders import ArchiveLoader, ExternAliasLoader, MockLoader, found_beside
from .path_entries import PackageFolderFinder
from .proxies import Proxies
from .unpacking import Unpacker


class World:
    """The modules of one archive, by names that end the first part with `suffix`.

    An empty `suffix` is the installed form: true names, no stand-ins.
    """

    def __init__(
        self, code: PackagedCode, identity: str, suffix: str, *, undeclared: str, bytecode: BytecodeCache
    ) -> None:
        self.code = code
        self.identity = identity
        self.suffix = suffix
        self.rules = ImportRules(code.owned, code.declared, suffix, undeclared)
        self.bytecode = bytecode
        self.unpacker = Unpacker(code, identity)
        self.imported: Callable[[str, ModuleType], None] | None = None  # told of every module from source
        self._import = PackagedImport(self.rules)
        self.builtins = CodeBuiltins(self._import)
        if suffix:
            self._import.proxies = Proxies(self.rules, code, self.builtins)

    def give_importer(self, importer: object) -> None:
        """What `import torch_package_importer` gives to packaged code; held weakly."""
        self._import.importer = weakref.ref(importer)

    @property
    def tops(self) -> list[str]:
        """The first parts, as they stand in `sys.modules`, of everything that this world owns."""
        return sorted(top + self.suffix for top in self.code.owned)

    def true_name(self, fullname: str) -> str:
        """The stored name of one of this world's modules."""
        top, dot, rest = fullname.partition(".")
        return f"{top.removesuffix(self.suffix)}{dot}{rest}"

    def defines(self, cls: type, value: object) -> bool:
        """Whether stored code defines `cls`, or where the class bears another's name, its `value`.

        A class's module says so, and the first part of its name here that it is not one of the target
        with the same name. Code may give a class another module's name; a function tells its own world.
        """
        module = cls.__module__
        if demangle(module) not in self.code.stored:
            return False
        if module.partition(".")[0] in self.tops:
            return True
        function = getattr(value, "__func__", value)  # of a static or class method
        return isinstance(function, FunctionType) and (
            function.__globals__.get("__builtins__") is self.builtins
        )

    def find_spec(self, fullname: str, path: Sequence[str] | None = None) -> ModuleSpec | None:
        """The spec of the module that stands, or will stand, as `fullname`; None if there is none.

        `path` is the `__path__` of its package, to which packaged code may have added folders.
        """
        name = self.true_name(fullname)
        record = self.code.modules.get(name) or self.code.resource_folder(name)
        if record is None:
            return found_beside(fullname, path, self.builtins)
        if record.action == "extern":
            return ModuleSpec(fullname, ExternAliasLoader(name))
        if record.action == "mock":
            is_package = bool(self.code.children(name))
            return ModuleSpec(fullname, MockLoader(name), origin="mocked", is_package=is_package)
        return self._stored_spec(fullname, record)

    def close(self) -> None:
        """Take every module of this world out of the process."""
        tops = set(self.tops)
        for fullname in [name for name in list(sys.modules) if name.partition(".")[0] in tops]:
            sys.modules.pop(fullname, None)
        root = str(self.unpacker.root) + os.sep
        for path in [path for path in list(sys.path_importer_cache) if str(path).startswith(root)]:
            sys.path_importer_cache.pop(path, None)
        for path in [path for path in list(linecache.cache) if path.startswith(root)]:
            linecache.cache.pop(path, None)
        self._import.proxies, self._import.importer = {}, lambda: None
        self.code.close()
        self.unpacker.close()

    def _stored_spec(self, fullname: str, record: ModuleRecord) -> ModuleSpec:
        loader = ArchiveLoader(self, record)
        spec = ModuleSpec(fullname, loader, origin=loader.path, is_package=record.is_package)
        spec.has_location = record.entry is not None
        if record.is_package:
            folder = self.unpacker.path_of(record.name.replace(".", "/"))
            spec.submodule_search_locations = [folder]
            # `pkgutil.iter_modules(__path__)` asks here, whether the folder is on disk or not.
            sys.path_importer_cache[folder] = PackageFolderFinder(self.code, record.name)
        return spec
