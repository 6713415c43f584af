"""`pickle` as packaged code sees it: what it reads names classes as their author wrote them.

A package that keeps pickles beside its code (`babel`, a project with its vocabulary) finds its own classes in
them: those of the archive, and not what this process may have under the same names.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

from .packaged_code import ImportRules, say_true_names


def pickle_names(rules: ImportRules) -> dict[str, Any]:
    """Return what stands in the place of names of `pickle` for reading; what writes is Python's own."""

    def found(find: Callable[[str, str], Any], module_name: str, global_name: str) -> Any:
        # Names of the process itself, which these pickles may have as well, are none of the archive's.
        owned = module_name.partition(".")[0] in rules.owned
        try:
            return find(rules.in_process(module_name) if owned else module_name, global_name)
        except ImportError as error:
            say_true_names(error)
            raise

    class Unpickler(pickle.Unpickler):
        def find_class(self, module_name: str, global_name: str) -> Any:
            return found(super().find_class, module_name, global_name)

    class _Unpickler(pickle._Unpickler):
        def find_class(self, module_name: str, global_name: str) -> Any:
            return found(super().find_class, module_name, global_name)

    def load(file: Any, **options: Any) -> Any:
        return Unpickler(file, **options).load()

    def loads(data: Any, /, **options: Any) -> Any:
        return Unpickler(io.BytesIO(data), **options).load()

    for cls in (Unpickler, _Unpickler):
        cls.__module__, cls.__qualname__ = "pickle", cls.__name__
    return {"Unpickler": Unpickler, "_Unpickler": _Unpickler, "load": load, "loads": loads}
