"""What stands for the modules of an archive that a worker process cannot open: every use of it raises.

A worker reads a task before it carries it out, and `multiprocessing.Pool` forgets a task that cannot be read:
whoever waits for its answer would wait without end. So a task is always read. What it names in an
archive that is gone becomes a stand-in, and its first use, the call of a function mostly, raises the error
that opening the archive gave, which goes back to whoever waits.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any, Final

_READERS: Final = ("multiprocessing.queues", "multiprocessing.connection")  # of tasks, and of answers
_IMPORTING: Final = ("importlib", "importlib._bootstrap", "importlib._bootstrap_external")


def is_read_for_a_worker(fullname: str) -> bool:
    """Return whether an import of `fullname` is for a task, or its answer, that `multiprocessing` reads."""
    own = (*_IMPORTING, __name__, "packager.loading.loaded_archive", fullname)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in own:
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") in _READERS


class GoneModule(ModuleType):
    """A module that could not be imported, whatever is in it: names lead to stand-ins."""

    def __init__(self, fullname: str, error: Exception) -> None:
        super().__init__(fullname)
        self._error = error
        self.__path__: list[str] = []  # it may have been a package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in(self.__name__, name, self._error)


def _stand_in(module: str, qualname: str, error: Exception) -> type:
    return _GoneType(qualname, (_Gone,), {"__module__": module, "_error": error})


def _raise_unless_read(error: Exception) -> None:
    """Raise the error of an archive, but while a task is read."""
    if not is_read_for_a_worker(__name__):
        raise type(error)(str(error))


class _GoneType(type):
    """A class or function that could not be imported; pickles may make instances of it, and nobody else."""

    _error: Exception

    def __call__(cls, *arguments: Any, **more: Any) -> Any:
        _raise_unless_read(cls._error)
        return _Gone.__new__(cls)  # type: ignore[arg-type]  # all classes of this type inherit it

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _raise_unless_read(cls._error)
        return _stand_in(cls.__module__, f"{cls.__qualname__}.{name}", cls._error)


class _Gone:
    """An object of a class that could not be imported. A pickle gives it what it likes, which is not kept."""

    _error: Exception

    def __new__(cls, *arguments: Any, **more: Any) -> _Gone:
        return object.__new__(cls)

    def __setstate__(self, state: Any) -> None:
        _raise_unless_read(self._error)

    def __setitem__(self, key: Any, value: Any) -> None:
        _raise_unless_read(self._error)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _raise_unless_read(self._error)
        return _stand_in(type(self).__module__, f"{type(self).__qualname__}.{name}", self._error)


def gone_module(fullname: str, error: Exception) -> GoneModule:
    """Return a stand-in for a module, where a task or its answer is read; raise the error elsewhere."""
    if not is_read_for_a_worker(fullname):
        raise error
    return GoneModule(fullname, error)


def gone_spec(fullname: str, error: Exception) -> ModuleSpec:
    """Return the spec of a module that cannot be imported: the import gives a stand-in, or raises."""
    return ModuleSpec(fullname, _GoneLoader(error), is_package=True)


class _GoneLoader(Loader):
    """Makes stand-ins."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def create_module(self, spec: ModuleSpec) -> GoneModule:
        return gone_module(spec.name, self._error)

    def get_data(self, path: str) -> bytes:
        """Raise the error: `pkgutil.get_data` would answer None for a loader without this."""
        raise self._error

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: there is no code."""
