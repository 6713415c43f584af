"""The `__builtins__` of packaged modules: a module of its own for each archive, with its own `__import__`.

C code that imports for itself while packaged code calls it (`PyImport_Import`: `time.strptime`, NumPy,
pybind11) takes `__import__` from there too, calls it as `__import__(name, globals(), globals(), [], 0)`,
and then looks in `sys.modules` under that very name. Packaged code may make the same call, and means a
module of the archive. The two are told apart by how they come to the function: Python finds names in
the dictionary of `__builtins__`, C code asks a `__builtins__` that is no dict for the attribute. So does
`getattr(__builtins__, "__import__")`, whose call is the package's unless it is spelt just as that of C code.
"""

from __future__ import annotations

import builtins
import opcode
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from .importing import PackagedImport

_ATTRIBUTE_READS = frozenset(
    opcode.opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in opcode.opmap
)


class CodeBuiltins(ModuleType):
    """A copy of `builtins` with the `__import__` of one archive.

    It can be used as the dict that `__builtins__` is in most modules, too.
    """

    def __init__(self, packaged_import: PackagedImport) -> None:
        super().__init__(builtins.__name__, builtins.__doc__)
        self.__dict__.update(vars(builtins))
        self.__dict__["__import__"] = packaged_import

    @property
    def __import__(self) -> Callable[..., Any]:
        """What C code imports with; the name as packaged code reads it is in the dictionary."""
        found: Callable[..., Any] = self.__dict__["__import__"]
        frame = sys._getframe(1)
        if frame.f_code.co_code[frame.f_lasti] in _ATTRIBUTE_READS:  # `__builtins__.__import__` in Python
            return found
        return found.from_c if isinstance(found, PackagedImport) else found

    @__import__.setter
    def __import__(self, function: Callable[..., Any]) -> None:
        self.__dict__["__import__"] = function

    def __getattr__(self, name: str) -> Any:
        """`get`, `items`, `update`: what a dict has."""
        if name.startswith("__"):
            raise AttributeError(f"module 'builtins' has no attribute {name!r}")
        return getattr(self.__dict__, name)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def __delitem__(self, name: str) -> None:
        del self.__dict__[name]

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __len__(self) -> int:
        return len(self.__dict__)

    def __copy__(self) -> CodeBuiltins:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CodeBuiltins:
        """Itself: the globals of packaged modules can be copied, as those of others."""
        return self

    def __reduce__(self) -> Any:
        return __import__, ("builtins",)
