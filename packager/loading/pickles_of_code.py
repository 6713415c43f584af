"""`pickle` as packaged code sees it: what it reads names classes as their author wrote them.

A package that keeps pickles beside its code (`babel`, a project with its vocabulary) finds its own classes in
them: those of the archive, and not what this process may have under the same names. So it does where it reads
them by `joblib`, `cloudpickle` or `shelve`. What NumPy, PyTorch, pandas and `dill` unpickle is looked for in
the process: the plan refuses their files where they name stored modules.
"""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from .packaged_code import ImportRules, say_true_names


def pickle_names(rules: ImportRules) -> dict[str, Any]:
    """Return what stands in the place of names of `pickle` for reading; what writes is Python's own."""
    unpicklers = {
        name: _finding_in_archive(getattr(pickle, name), rules) for name in ("Unpickler", "_Unpickler")
    }
    unpickler = unpicklers["Unpickler"]

    def load(file: Any, **options: Any) -> Any:
        return unpickler(file, **options).load()

    def loads(data: Any, /, **options: Any) -> Any:
        return unpickler(io.BytesIO(data), **options).load()

    return {**unpicklers, "load": load, "loads": loads}


def cloudpickle_names(rules: ImportRules) -> dict[str, Any]:
    """Return what stands in the place of names of `cloudpickle`, which reads by functions of `pickle`."""
    names = pickle_names(rules)
    return {"load": names["load"], "loads": names["loads"]}


def joblib_names(rules: ImportRules) -> dict[str, Any]:
    """Return what stands in the place of names of `joblib.numpy_pickle` for reading.

    `joblib.load` makes an unpickler of its own module. Its functions are taken once more, each with the same
    code and with globals of which that class alone is another one.
    """
    module = importlib.import_module("joblib.numpy_pickle")
    unpickler = _finding_in_archive(module.NumpyUnpickler, rules)
    return {unpickler.__name__: unpickler, **_with_other_globals(module, {unpickler.__name__: unpickler})}


def shelve_names(builtins_of_code: ModuleType) -> dict[str, Any]:
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
    found.__module__ = "pickle" if vars(pickle).get(cls.__name__) is cls else cls.__module__
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
