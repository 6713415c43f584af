"""What stands for modules that a worker process cannot import: every use of it raises.

A worker reads a task before it carries it out, and `multiprocessing.Pool` forgets a task that cannot be read:
whoever waits for its answer would wait without end. So a task is always read. What it names in an
archive that is gone, or in a stored module that fails there, becomes a stand-in, and its first use, the call
of a function mostly, raises the error that the import gave, which goes back to whoever waits.

The initializer of a `Pool` is read and called before there is a task. A worker that ends with it is started
again, without end; so one whose initializer is a stand-in answers every task with the error.
"""

from __future__ import annotations

import contextlib
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType, TracebackType
from typing import Any, Final, NoReturn

from packager._names import demangle
from packager.errors import PackageError

_READERS: Final = (  # of what a process is to do, of tasks, and of answers
    "multiprocessing.spawn",
    "multiprocessing.queues",
    "multiprocessing.connection",
)
_POOL: Final = "multiprocessing.pool"
_IMPORTING: Final = ("importlib", "importlib._bootstrap", "importlib._bootstrap_external")
_OURS: Final = (__name__, "packager._loading.open_archives", "packager._loading.module_loaders")
_STARTS_A_PROCESS: Final = "_bootstrap"  # what is called of a Process, once it is read


class WorkerImportError(PackageError, ImportError):
    """A worker process cannot import a stored module that its task names: the module itself fails there."""


def is_read_for_a_worker(fullname: str) -> bool:
    """Return whether an import of `fullname` is for a task, or its answer, that `multiprocessing` reads."""
    own = (*_IMPORTING, *_OURS, fullname)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in own:
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") in _READERS


def failed_module(fullname: str, error: BaseException) -> GoneModule | None:
    """Return a stand-in for a stored module that raised `error`, where a task names it; None elsewhere."""
    if not is_read_for_a_worker(fullname):
        return None
    place = _place(error.__traceback__)
    told = WorkerImportError(
        f"{demangle(fullname)}: a worker process cannot import it: {type(error).__name__}: {error}{place}; "
        "what is sent to workers, or comes back from them, needs its module to be importable there"
    )
    return GoneModule(fullname, told)


def _place(trace: TracebackType | None) -> str:
    """Return where the last line of stored code stands in a traceback."""
    found = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "__torch_package__" in trace.tb_frame.f_globals and not file.startswith("<"):
            found = f", at {file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


class GoneModule(ModuleType):
    """A module that could not be imported, whatever is in it: names lead to stand-ins."""

    def __init__(self, fullname: str, error: Exception) -> None:
        super().__init__(fullname)
        self._error = error
        self.__path__: list[str] = []  # it may have been a package
        if _finder not in sys.meta_path:
            sys.meta_path.append(_finder)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in(self.__name__, name, self._error)


class _FindsBelow:
    """Finds what may have been below a module that could not be imported, where nobody else finds it."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        parent = sys.modules.get(fullname.rpartition(".")[0])
        return gone_spec(fullname, parent._error) if isinstance(parent, GoneModule) else None


_finder: Final = _FindsBelow()


def _stand_in(module: str, qualname: str, error: Exception) -> type:
    return _GoneType(qualname, (_Gone,), {"__module__": module, "_error": error})


def _raise_unless_read(error: Exception) -> None:
    """Raise the error of an import, but while a task is read."""
    if not is_read_for_a_worker(__name__):
        raise _again(error)


def _again(error: Exception) -> Exception:
    return type(error)(str(error))


def _has_no_task_yet(frame: FrameType) -> bool:
    """Say whether a frame is that of a pool's worker which calls its initializer."""
    is_worker = frame.f_globals.get("__name__") == _POOL and frame.f_code.co_name == "worker"
    return is_worker and "task" not in frame.f_locals


def _answer_all_tasks(worker: FrameType, error: Exception) -> NoReturn:
    """Be the worker of a pool, in the place of its initializer, and answer each task with `error`."""
    tasks, answers = worker.f_locals["inqueue"], worker.f_locals["outqueue"]
    with contextlib.suppress(EOFError, OSError):  # the pool is gone
        while (task := tasks.get()) is not None:
            job, number, *_ = task
            answers.put((job, number, (False, _again(error))))
    raise SystemExit


def _used(gone: Any, *arguments: Any, **more: Any) -> NoReturn:
    raise _again(gone._error)


class _RaisesWhenUsed:
    """What an operator or a statement asks of an object, which it asks of the object's type."""

    __getitem__ = __delitem__ = __contains__ = __len__ = __iter__ = __next__ = __enter__ = __exit__ = _used
    __await__ = __aiter__ = __anext__ = __aenter__ = __aexit__ = __int__ = __float__ = __index__ = _used
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __matmul__ = __pow__ = _used
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _used


class _GoneType(_RaisesWhenUsed, type):
    """A class or function that could not be imported; pickles may make instances of it, and nobody else."""

    _error: Exception

    def __call__(cls, *arguments: Any, **more: Any) -> Any:
        if _has_no_task_yet(caller := sys._getframe(1)):
            _answer_all_tasks(caller, cls._error)
        _raise_unless_read(cls._error)
        return _Gone.__new__(cls)  # type: ignore[arg-type]  # all classes of this type inherit it

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _raise_unless_read(cls._error)
        return _stand_in(cls.__module__, f"{cls.__qualname__}.{name}", cls._error)


class _Gone(_RaisesWhenUsed):
    """An object of a class that could not be imported. A pickle gives it what it likes, which is not kept."""

    _error: Exception

    def __new__(cls, *arguments: Any, **more: Any) -> _Gone:
        return object.__new__(cls)

    def __call__(self, *arguments: Any, **more: Any) -> NoReturn:
        raise _again(self._error)

    def __setstate__(self, state: Any) -> None:
        _raise_unless_read(self._error)

    def __setitem__(self, key: Any, value: Any) -> None:
        _raise_unless_read(self._error)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == _STARTS_A_PROCESS:  # called by the module that has read it
            raise _again(self._error)
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
