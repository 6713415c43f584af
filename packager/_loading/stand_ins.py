"""Stand-ins, seen by packaged code only, for the few library functions that take module names.

`importlib.import_module("pkg.x")` inside an archive means the archive's `pkg.x`, whatever else the
process holds under that name; the same goes for `importlib.util`, `importlib.resources`,
`importlib.metadata`, `logging.config`, `pkgutil`, `pydoc.locate`, `sys.modules` and what `pickle` reads, or
`joblib`, `cloudpickle` and `shelve` do. A stand-in answers everything else as the real module does, and what
is set on it is set on the real one.

What packaged code unpickles names classes as their author wrote them: those of the archive, and not what this
process may have under the same names. What NumPy, PyTorch, pandas and `dill` unpickle is looked for in the
process: the plan refuses their files where they name stored modules.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, MutableMapping
from functools import reduce
from types import FunctionType, ModuleType
from typing import Any

from packager.errors import UndeclaredImportError

from .packaged_code import PROBED, ImportRules, PackagedCode, named_in, say_true_names


class StandIns:
    """The stand-ins of one archive by the real module's name, each made when first asked for."""

    def __init__(self, rules: ImportRules, code: PackagedCode, builtins_of_code: ModuleType) -> None:
        self._makers: dict[str, Callable[[], dict[str, Any]]] = {
            "builtins": lambda: vars(builtins_of_code),
            "sys": lambda: {"modules": ModulesView(rules, self)},
            "importlib": lambda: {
                "import_module": _import_module(rules, self),
                "__import__": vars(builtins_of_code)["__import__"],
                **_where_it_has(importlib, "find_loader", rules),
            },
            "importlib.util": lambda: _util(rules, builtins_of_code),
            "importlib.resources": lambda: _resources(rules),
            "importlib.metadata": lambda: _metadata(code, rules, self),
            "logging": dict,  # as itself, but for what is below
            "logging.config": lambda: _logging_config(vars(builtins_of_code)["__import__"]),
            "pickle": lambda: _pickle_names(rules),
            "joblib": lambda: {"load": _joblib_names(rules)["load"]},
            "joblib.numpy_pickle": lambda: _joblib_names(rules),
            "cloudpickle": lambda: _cloudpickle_names(rules),
            "cloudpickle.cloudpickle": lambda: _cloudpickle_names(rules),
            "shelve": lambda: _shelve_names(builtins_of_code),
            "pkgutil": lambda: _pkgutil(rules, _import_module(rules, self)),
            "pydoc": lambda: _pydoc(rules),
            "runpy": lambda: _runpy(rules, builtins_of_code),
        }
        self._made: dict[str, ModuleType] = {}

    def get(self, name: str, default: object = None) -> Any:
        """Return the stand-in for the real module `name`, or `default` where it needs none."""
        if name not in self._makers:
            return default
        if name not in self._made:
            real = importlib.import_module(name)
            make = BuiltinsProxy if name == "builtins" else ModuleProxy
            self._made[name] = make(real, self._makers[name](), self)
        return self._made[name]


class ModuleProxy(ModuleType):
    """A module with some names replaced; everything else is read from, and set on, the real one."""

    def __init__(self, real: ModuleType, replaced: dict[str, Any], stand_ins: StandIns) -> None:
        super().__init__(real.__name__, real.__doc__)
        own = self.__dict__
        for name in ("__spec__", "__loader__", "__package__", "__file__", "__path__"):
            if hasattr(real, name):
                own[name] = getattr(real, name)
        own.update(replaced)
        own["_kellet_real"], own["_kellet_stand_ins"] = real, stand_ins

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__dict__["_kellet_real"], name)
        if isinstance(value, ModuleType):
            return self.__dict__["_kellet_stand_ins"].get(value.__name__, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_kellet_real"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["_kellet_real"], name)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_kellet_real"])


class BuiltinsProxy(ModuleProxy):
    """`builtins` as packaged code sees it: what is set on it can be used as a name there, too."""

    def __init__(self, real: ModuleType, replaced: dict[str, Any], stand_ins: StandIns) -> None:
        super().__init__(real, replaced, stand_ins)
        self.__dict__["_kellet_names"] = replaced

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = self.__dict__["_kellet_names"][name] = value
        if name != "__import__":  # a package's own way to import is no matter of the whole process
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        del self.__dict__[name]
        self.__dict__["_kellet_names"].pop(name, None)
        if name != "__import__":
            super().__delattr__(name)


class ModulesView(MutableMapping[str, Any]):
    """`sys.modules` as packaged code sees it: an owned name leads to the archive's module.

    Listed, the archive's modules stand under both of their names: code looks for the one it knows as
    well as for its `__name__`.
    """

    def __init__(self, rules: ImportRules, stand_ins: StandIns) -> None:
        self._rules = rules
        self._stand_ins = stand_ins

    def _key(self, name: str) -> str:
        top, dot, rest = name.partition(".")
        return f"{top}{self._rules.suffix}{dot}{rest}" if top in self._rules.owned else name

    def __getitem__(self, name: str) -> Any:
        try:
            module = sys.modules[self._key(name)]
        except KeyError:
            raise KeyError(name) from None
        return self._stand_ins.get(name, module)

    def __setitem__(self, name: str, module: Any) -> None:
        sys.modules[self._key(name)] = module

    def __delitem__(self, name: str) -> None:
        try:
            del sys.modules[self._key(name)]
        except KeyError:
            raise KeyError(name) from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._key(name) in sys.modules

    def __iter__(self) -> Iterator[str]:
        for name in list(sys.modules):
            top, dot, rest = name.partition(".")
            true_top = top.removesuffix(self._rules.suffix)
            if true_top != top and true_top in self._rules.owned:
                yield f"{true_top}{dot}{rest}"
            if top not in self._rules.owned:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def copy(self) -> dict[str, Any]:
        """Return a plain dict of what is loaded, as `sys.modules.copy()` does."""
        return dict(self)


def _import_module(rules: ImportRules, stand_ins: StandIns) -> Callable[..., Any]:
    def import_module(name: str, package: str | None = None) -> Any:
        try:
            found = importlib.import_module(*_absolute(rules, name, package))
        except ImportError as error:
            say_true_names(error)
            raise
        return stand_ins.get(name, found)

    return import_module


def _absolute(
    rules: ImportRules, name: str, package: str | None, *, probes: bool = False
) -> tuple[str, str | None]:
    """Return a name, and the package that it may be relative to, as they are called in this process."""
    if not name.startswith("."):
        return rules.in_process(name, probes=probes), package
    return name, package and rules.in_process(package)


def _util(rules: ImportRules, builtins_of_code: ModuleType) -> dict[str, Any]:
    from importlib import util

    def find_spec(name: str, package: str | None = None) -> Any:
        # What was not declared does not exist for packaged code: `find_spec(...) is None`, as at export.
        sys.audit(PROBED, "module", name)
        try:
            return util.find_spec(*_absolute(rules, name, package, probes=True))
        except ModuleNotFoundError as error:
            if named_in(error) == name:
                return None
            say_true_names(error)
            raise

    def spec_from_file_location(name: str, *args: Any, **kwargs: Any) -> Any:
        owned = name.partition(".")[0] in rules.owned
        return util.spec_from_file_location(rules.in_process(name) if owned else name, *args, **kwargs)

    def module_from_spec(spec: Any) -> ModuleType:
        # A file that packaged code loads by path is packaged code: it gets the same `__import__`.
        module = util.module_from_spec(spec)
        module.__dict__["__builtins__"] = builtins_of_code
        return module

    return {
        "find_spec": find_spec,
        "spec_from_file_location": spec_from_file_location,
        "module_from_spec": module_from_spec,
    }


def _resources(rules: ImportRules) -> dict[str, Any]:
    from importlib import resources

    replaced: dict[str, Any] = {}
    names = ("read_text", "read_binary", "open_text", "open_binary", "path", "contents", "is_resource")
    for name in names:
        if hasattr(resources, name):  # 3.13 took some of them back, 3.11 has them all
            replaced[name] = _with_name_in_process(getattr(resources, name), rules)

    def files(anchor: Any = None, **package: Any) -> Any:
        anchor = package.get("package", anchor)
        if anchor is None:  # the caller's own package, from Python 3.12 on
            anchor = sys._getframe(1).f_globals["__package__"]
        return _with_name_in_process(resources.files, rules)(anchor)

    return {**replaced, "files": files}


def _pkgutil(rules: ImportRules, import_module: Callable[[str], Any]) -> dict[str, Any]:
    import pkgutil

    def resolve_name(name: str) -> Any:
        module, colon, names = name.partition(":")
        found = pkgutil.resolve_name(rules.in_process(module) + colon + names)
        first, *rest = [*module.split("."), *filter(None, names.split("."))]
        # Of the library what stands in for it, which the real function knows nothing of.
        return found if first in rules.owned else reduce(getattr, rest, import_module(first))

    def walk_packages(path: Any = None, prefix: str = "", onerror: Any = None) -> Iterator[Any]:
        # It imports what it walks through, by the names that it gives.
        here = rules.package_in_process(prefix)

        def said(name: str) -> str:
            return prefix + name.removeprefix(here)

        told = None if onerror is None else lambda name: onerror(said(name))
        for info in pkgutil.walk_packages(path, here, told):
            yield info._replace(name=said(info.name))

    return {
        "get_data": _with_name_in_process(pkgutil.get_data, rules),
        "resolve_name": resolve_name,
        "walk_packages": walk_packages,
        "iter_importers": _with_name_in_process(pkgutil.iter_importers, rules),
        **_where_it_has(pkgutil, "find_loader", rules),
        **_where_it_has(pkgutil, "get_loader", rules),
    }


def _where_it_has(module: ModuleType, name: str, rules: ImportRules) -> dict[str, Any]:
    """Return a function that looks for a module, and that later Pythons have not."""
    if not hasattr(module, name):
        return {}

    def finds(found: Any, *args: Any, **kwargs: Any) -> Any:
        sys.audit(PROBED, "module", found)
        try:
            named = rules.in_process(found, probes=True) if isinstance(found, str) else found
        except UndeclaredImportError:
            return None  # what was not declared does not exist for packaged code
        return getattr(module, name)(named, *args, **kwargs)

    finds.__name__ = finds.__qualname__ = name
    return {name: finds}


def _pydoc(rules: ImportRules) -> dict[str, Any]:
    import builtins
    import pydoc

    def locate(path: str, forceload: bool = False) -> Any:
        top = path.partition(".")[0]
        is_builtin = hasattr(builtins, top) and top not in rules.owned
        try:
            return pydoc.locate(path if is_builtin else rules.in_process(path), forceload)
        except UndeclaredImportError:
            return None  # as for a module that is not there

    return {"locate": locate}


def _runpy(rules: ImportRules, builtins_of_code: ModuleType) -> dict[str, Any]:
    import runpy

    # What packaged code runs by name or by path is packaged code: it gets the same `__import__`.
    def run_module(mod_name: str, init_globals: Any = None, *args: Any, **kwargs: Any) -> Any:
        given = {"__builtins__": builtins_of_code, **(init_globals or {})}
        return runpy.run_module(rules.in_process(mod_name), given, *args, **kwargs)

    def run_path(path_name: str, init_globals: Any = None, *args: Any, **kwargs: Any) -> Any:
        given = {"__builtins__": builtins_of_code, **(init_globals or {})}
        return runpy.run_path(path_name, given, *args, **kwargs)

    return {"run_module": run_module, "run_path": run_path}


def _metadata(code: PackagedCode, rules: ImportRules, stand_ins: StandIns) -> dict[str, Any]:
    from .stored_distributions import metadata_names  # most code asks for none

    return metadata_names(code, rules, _import_module(rules, stand_ins))


def _logging_config(import_of_code: Callable[..., Any]) -> dict[str, Any]:
    import logging.config

    # What a configuration names ("()": "shop.filters.Upper") is what packaged code means by it.
    class DictConfigurator(logging.config.DictConfigurator):
        importer = staticmethod(import_of_code)

    def dictConfig(config: dict[str, Any]) -> None:  # the library's own name
        DictConfigurator(config).configure()

    return {
        "DictConfigurator": DictConfigurator,
        "dictConfigClass": DictConfigurator,
        "dictConfig": dictConfig,
    }


def _with_name_in_process(function: Callable[..., Any], rules: ImportRules) -> Callable[..., Any]:
    def translated(package: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(_named_in_process(package, rules), *args, **kwargs)
        except ImportError as error:
            say_true_names(error)
            raise

    translated.__name__ = translated.__qualname__ = function.__name__
    return translated


def _named_in_process(anchor: Any, rules: ImportRules) -> Any:
    return rules.in_process(anchor) if isinstance(anchor, str) else anchor


def _pickle_names(rules: ImportRules) -> dict[str, Any]:
    """Return what stands in the place of names of `pickle` for reading; what writes is Python's own."""
    import io
    import pickle

    unpicklers = {
        name: _finding_in_archive(getattr(pickle, name), rules) for name in ("Unpickler", "_Unpickler")
    }
    unpickler = unpicklers["Unpickler"]

    def load(file: Any, **options: Any) -> Any:
        return unpickler(file, **options).load()

    def loads(data: Any, /, **options: Any) -> Any:
        return unpickler(io.BytesIO(data), **options).load()

    return {**unpicklers, "load": load, "loads": loads}


def _cloudpickle_names(rules: ImportRules) -> dict[str, Any]:
    """Return what stands in the place of names of `cloudpickle`, which reads by functions of `pickle`."""
    names = _pickle_names(rules)
    return {"load": names["load"], "loads": names["loads"]}


def _joblib_names(rules: ImportRules) -> dict[str, Any]:
    """Return what stands in the place of names of `joblib.numpy_pickle` for reading.

    `joblib.load` makes an unpickler of its own module. Its functions are taken once more, each with the same
    code and with globals of which that class alone is another one.
    """
    module = importlib.import_module("joblib.numpy_pickle")
    unpickler = _finding_in_archive(module.NumpyUnpickler, rules)
    return {unpickler.__name__: unpickler, **_with_other_globals(module, {unpickler.__name__: unpickler})}


def _shelve_names(builtins_of_code: ModuleType) -> dict[str, Any]:
    """Return `shelve` executed once more, as code of the archive: its `pickle` is the one that code sees."""
    from importlib.util import find_spec, module_from_spec

    spec = find_spec("shelve")
    assert spec is not None
    assert spec.loader is not None  # a file of the standard library
    module = module_from_spec(spec)
    module.__dict__["__builtins__"] = builtins_of_code
    spec.loader.exec_module(module)
    return {name: vars(module)[name] for name in module.__all__}


def _finding_in_archive(cls: Any, rules: ImportRules) -> Any:
    """Return a subclass of an unpickler that finds the archive's modules by their true names."""

    found: Any = None

    def find_class(self: Any, module_name: str, global_name: str) -> Any:
        # Names of the process itself, which these pickles may have as well, are none of the archive's.
        owned = module_name.partition(".")[0] in rules.owned
        try:
            return super(found, self).find_class(
                rules.in_process(module_name) if owned else module_name, global_name
            )
        except ImportError as error:
            say_true_names(error)
            raise

    found = type(cls.__name__, (cls,), {"find_class": find_class, "__doc__": cls.__doc__})
    found.__module__ = "pickle" if cls.__module__ in ("_pickle", "pickle") else cls.__module__
    return found


def _with_other_globals(module: ModuleType, replaced: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the functions of a module that name what is replaced, or each other, made anew with it."""
    functions = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__globals__ is vars(module)
    }
    reaching = set(replaced)
    while more := {
        name
        for name, function in functions.items()
        if name not in reaching and not reaching.isdisjoint(function.__code__.co_names)
    }:
        reaching |= more
    own = {**vars(module), **replaced}
    for name in reaching & functions.keys():
        function = functions[name]
        again = FunctionType(
            function.__code__, own, function.__name__, function.__defaults__, function.__closure__
        )
        again.__kwdefaults__, again.__doc__ = function.__kwdefaults__, function.__doc__
        own[name] = again
    return {name: own[name] for name in reaching & functions.keys()}
