"""How a packaged module comes to life: from stored source, as a mock, as an extern's alias, from a folder.

They are loaders by what they can do; `importlib.abc.Loader` itself would only cost its import.
"""

from __future__ import annotations

import importlib
import linecache
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import decode_source
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from packager.archive import ModuleRecord
from packager.errors import ArchiveError
from packager.names import demangle

from .bytecode import Compiled
from .code_builtins import CodeBuiltins
from .importing import say_true_names
from .mocking import fill_mock

if TYPE_CHECKING:
    from importlib.abc import Loader

    from .world import World
else:
    Loader = object


class ArchiveLoader(Loader):
    """Runs a stored source, and answers what `inspect`, `linecache` and `importlib.resources` ask."""

    def __init__(self, world: World, record: ModuleRecord) -> None:
        self._world = world
        self._record = record
        below = record.entry or record.name.replace(".", "/")
        self.path = world.unpacker.path_of(below)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self._world.builtins
        module.__dict__["__torch_package__"] = True  # what code written for torch.package looks for
        compiled = self._compiled()
        if compiled is None:
            return
        if compiled.names_its_file:
            self._world.unpacker.unpack(self._record.name.partition(".")[0])
        linecache.lazycache(self.path, module.__dict__)
        try:
            exec(compiled.code, module.__dict__)
        except ImportError as error:
            say_true_names(error)
            raise
        if self._world.imported is not None:
            self._world.imported(self._record.name, module)

    def is_package(self, fullname: str) -> bool:
        return self._record.is_package

    def get_source(self, fullname: str) -> str | None:
        """The source as text. An ImportError where it cannot be read: tracebacks are printed without it."""
        if self._record.entry is None:
            return None
        try:
            return decode_source(self._world.code.read(self._record.entry))
        except ArchiveError as error:
            raise ImportError(f"the source of {demangle(fullname)!r} cannot be read: {error}") from error

    def get_code(self, fullname: str) -> CodeType | None:
        compiled = self._compiled()
        return None if compiled is None else compiled.code

    def get_filename(self, fullname: str) -> str:
        return self.path

    def get_data(self, path: str) -> bytes:
        """The file at `path`, which must lie in the archive's own tree."""
        root = self._world.unpacker.path_of("")
        inside = path.removeprefix(root).replace("\\", "/").lstrip("/") if path.startswith(root) else None
        entry = None if inside is None else self._world.code.entry_at(inside)
        if entry is None:
            raise FileNotFoundError(f"no file {path!r} in the archive")
        return self._world.code.read(entry)

    def get_resource_reader(self, fullname: str) -> Any:
        from .resources import PackageResources

        if not self._record.is_package:
            return None
        return PackageResources(self._world.code, self._world.unpacker, self._record.name)

    def _compiled(self) -> Compiled | None:
        """The code of the module, its source checked; None for a namespace package."""
        entry, code = self._record.entry, self._world.code
        if entry is None:
            return None
        digest = code.source_digest(self._record.name)
        return self._world.bytecode.compiled(digest, self.path, code.read(entry))


class MockLoader(Loader):
    """Makes a module of which every attribute is a mock."""

    def __init__(self, true_name: str) -> None:
        self._true_name = true_name

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        fill_mock(module, self._true_name)


class ExternAliasLoader(Loader):
    """Puts the target's own module where packaged code looks for an extern part of a stored package."""

    def __init__(self, true_name: str) -> None:
        self._true_name = true_name

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # Returned from create_module, the real module would lose its own `__spec__`.
        sys.modules[module.__name__] = importlib.import_module(self._true_name)


class FolderLoader(SourceFileLoader):
    """Runs a file from a folder that packaged code put on its own `__path__`: it is packaged code, too."""

    def __init__(self, loader: SourceFileLoader, builtins_of_code: CodeBuiltins) -> None:
        super().__init__(loader.name, loader.path)
        self._builtins = builtins_of_code

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self._builtins
        super().exec_module(module)


def found_beside(
    fullname: str, path: Sequence[str] | None, builtins_of_code: CodeBuiltins
) -> ModuleSpec | None:
    """The spec of a module that lies outside of the archive, in a folder of its package's `__path__`."""
    spec = None if path is None else PathFinder.find_spec(fullname, path)
    if spec is not None and type(spec.loader) is SourceFileLoader:
        spec.loader = FolderLoader(spec.loader, builtins_of_code)
    return spec
