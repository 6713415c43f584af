"""Where objects come from: an importer turns a module's name into the module, an object into its name."""

from __future__ import annotations

import importlib
import sys
from abc import ABC, abstractmethod
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from packager._texts import in_lines
from packager.errors import PackageError


class ObjNotFoundError(PackageError):
    """An object cannot be imported by its own name."""


class ObjMismatchError(PackageError):
    """An object's own name imports another object."""


class Importer(ABC):
    """An environment to import modules from.

    `get_name` returns a name that leads back to the same object, or raises:

    >>> from fractions import Fraction
    >>> sys_importer.get_name(Fraction.limit_denominator)
    ('fractions', 'Fraction.limit_denominator')

    Source: torch.package.Importer.
    """

    modules: dict[str, ModuleType]

    @abstractmethod
    def import_module(self, module_name: str) -> ModuleType:
        """Import a module of this environment; the contract of `importlib.import_module`."""

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """Return the (module, qualified name) by which this environment gives back `obj` itself.

        `name` stands in for the object's own, as a string returned by `__reduce__` does. Module
        names are stored names, also for objects that were loaded from an archive.

        Raises ObjNotFoundError where nothing has that name, ObjMismatchError where another object
        has it.
        """
        from packager._names import demangle  # an archive is opened without

        if name is None and type(obj) is MethodType and isinstance(obj.__self__, type):
            return self._name_of_class_method(obj)
        name = name or _reduced_to_name(obj) or getattr(obj, "__qualname__", None) or obj.__name__
        module_name = demangle(self.whichmodule(obj, name))
        try:
            found = _walk_attributes(self.import_module(module_name), name)
        except (ImportError, KeyError, AttributeError) as error:
            raise ObjNotFoundError(
                f"{obj!r} was not found as {module_name}.{name}: {error}; define it at the top level of an "
                "importable module"
            ) from None
        if found is not obj:
            raise ObjMismatchError(self._mismatch(obj, found, name))
        return module_name, name

    def _name_of_class_method(self, method: MethodType) -> tuple[str, str]:
        """Return the name below the class that the method is of, which may have inherited it."""
        module_name, of_class = self.get_name(method.__self__)
        name = f"{of_class}.{method.__func__.__name__}"
        found = _walk_attributes(self.import_module(module_name), name)
        if found != method:  # each look-up makes a new one
            raise ObjMismatchError(self._mismatch(method, found, name))
        return module_name, name

    def whichmodule(self, obj: object, name: str) -> str:
        """Return the name of the module that `obj` says it belongs to, else of the first that holds it."""
        own = getattr(obj, "__module__", None)
        if own is not None:
            return str(own)
        for module_name, module in self.modules.copy().items():
            if module_name in ("__main__", "__mp_main__") or module is None:
                continue
            try:
                if _walk_attributes(module, name) is obj:
                    return module_name
            except AttributeError:
                continue
        return "__main__"

    def _mismatch(self, obj: Any, found: Any, name: str) -> str:
        mine, where_mine = self._home(obj, name)
        other, where_other = self._home(found, name)
        if where_mine == where_other:
            what = f"The name {mine}:{name} leads to another object, {found!r}"
            runs = _cells_that_define(name) if mine == "__main__" else ()
            if len(runs) > 1:
                return (
                    f"{what}: {' and '.join(runs)} define it, and this object is of an earlier run. Make the "
                    "object again, or restart the notebook and run all cells."
                )
            if _is_written_there(obj, mine, name) and _is_written_there(found, mine, name):
                return (
                    f"{what}: {mine} was loaded again after this object was made (importlib.reload, "
                    f"%autoreload, two imports). Make the object again, with the {name} that {mine} has now."
                )
            if type(obj) is type(found) is FunctionType and obj.__code__ == found.__code__:
                return (
                    f"{what}: the same lines ran again, in a loop or because {mine} was loaded again. In a "
                    "loop, define the function inside another one, which returns it and takes the values "
                    "that differ. After a reload, make the object again."
                )
            return (
                f"{what}: this one was made by a function or a decorator, the name was bound again, or "
                f"{mine} was imported twice. Make the object again with the present {name}, or give each its "
                "own top-level name."
            )
        return (
            f"The object provided is from '{mine}', which is coming from {where_mine}. However, when we "
            f"import '{other}', it's coming from {where_other}. To fix this, make sure that the importers "
            f"of this PackageExporter list the importer for {where_mine} before the one for {where_other}."
        )

    def _home(self, obj: Any, name: str) -> tuple[str, str]:
        from packager._names import get_mangle_prefix, is_mangled

        module_name = self.whichmodule(obj, name)
        mangled = is_mangled(module_name)
        return module_name, get_mangle_prefix(module_name) if mangled else "the current Python environment"


def _is_written_there(obj: Any, module: str, name: str) -> bool:
    """Say whether a class has methods that the text of a module defines under that very name."""
    file = getattr(sys.modules.get(module), "__file__", None)
    parts = list(vars(obj).values()) if isinstance(obj, type) and module != "__main__" else []
    codes = [part.__code__ for part in parts if isinstance(part, FunctionType)]
    return any(code.co_filename == file and code.co_qualname.startswith(f"{name}.") for code in codes)


class _SysImporter(Importer):
    """The running Python itself."""

    @property
    def modules(self) -> dict[str, ModuleType]:  # type: ignore[override]  # sys.modules can be replaced
        return sys.modules

    def import_module(self, module_name: str) -> ModuleType:
        return importlib.import_module(module_name)


sys_importer: Importer = _SysImporter()


class OrderedImporter(Importer):
    """Several importers, asked in order; the first that has the module is used.

    Raises TypeError for an argument that is not an Importer.

    >>> OrderedImporter(sys_importer).import_module("math").__name__
    'math'
    >>> OrderedImporter("math")
    Traceback (most recent call last):
        ...
    TypeError: 'math' is not a Importer...

    Source: torch.package.OrderedImporter; there a wrong argument is found when it is first used.
    """

    def __init__(self, *importers: Importer) -> None:
        for importer in importers:
            if not isinstance(importer, Importer):
                raise TypeError(
                    f"{importer!r} is not a Importer. All importers in OrderedImporter must inherit from "
                    "Importer; pass sys_importer or a PackageImporter"
                )
        self._importers = importers

    @property
    def importers(self) -> tuple[Importer, ...]:
        """The importers, in order."""
        return self._importers

    def get_name(self, obj: object, name: str | None = None) -> tuple[str, str]:
        """Return the name in the first importer that has the module.

        Raises ObjMismatchError where that one has another object under the name: its source would
        be stored, and be that of the wrong object. torch.package warns, and goes on to the next.
        Raises ObjNotFoundError, with the reason of each, where none has it.
        """
        missing = []
        for importer in self._importers:
            try:
                return importer.get_name(obj, name)
            except ObjNotFoundError as error:
                missing.append(error)
        what = f"Could not find obj {obj!r} and name {name} in any of the importers {list(self._importers)}:"
        raise ObjNotFoundError(in_lines(what, *(f"    {error}" for error in missing)))

    def import_module(self, module_name: str) -> ModuleType:
        """Import a module from the first importer that has it. Raises ModuleNotFoundError if none has it.

        A namespace package gives way to a regular package of a later importer.
        """
        missing = ModuleNotFoundError(f"No module named {module_name!r}", name=module_name)
        for importer in self._importers:
            try:
                module = importer.import_module(module_name)
            except ModuleNotFoundError as error:
                missing = error
                continue
            if not _is_empty_package(module):
                return module
        raise missing

    def whichmodule(self, obj: object, name: str) -> str:
        for importer in self._importers:
            module_name = importer.whichmodule(obj, name)
            if module_name != "__main__":
                return module_name
        return "__main__"


def _reduced_to_name(obj: Any) -> str | None:
    """Return the global name that a singleton's `__reduce__` gives; None for everything else.

    Looked up on the type: an object may answer any attribute, and classes and functions have
    names of their own.
    """
    if isinstance(obj, (type, FunctionType, BuiltinFunctionType)):
        return None
    reduce = getattr(type(obj), "__reduce__", None)
    if reduce is None or reduce is object.__reduce__:
        return None
    try:
        value = reduce(obj)
    except Exception:  # whatever a foreign __reduce__ raises, the object then has no such name
        return None
    return value if isinstance(value, str) else None


def _cells_that_define(name: str) -> tuple[str, ...]:
    from .main_source import definitions_in_cells

    return definitions_in_cells(name.partition(".")[0])


def _walk_attributes(module: ModuleType, name: str) -> Any:
    """Return what a qualified name of `module` leads to. Raises AttributeError where that is nothing."""
    found: Any = module
    for part in name.split("."):
        if part == "<locals>":
            raise AttributeError(f"{name!r} is local to a function")
        found = getattr(found, part)
    return found


def _is_empty_package(module: ModuleType) -> bool:
    """Say whether an archive holds only modules below this one: another importer may have it whole."""
    from packager._names import is_mangled

    return (
        is_mangled(module.__name__)
        and hasattr(module, "__path__")
        and getattr(module, "__file__", None) is None
    )
