"""Modules that stand in for the real ones, and the hook that gives them to kellet and packager."""

from __future__ import annotations

import builtins
import mmap
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from . import names
from .paths import as_written, require_unused
from .processes import CONTEXTS, spawn_alone

OURS = ("kellet", "packager")
HOMES = tuple(  # where they are imported from: a checkout, or an environment
    str(pathlib.Path(place)) for name in OURS for place in find_spec(name).submodule_search_locations
)
O_BINARY = 1 << 28  # no flag of Linux; where it is left out, Windows changes line feeds


_STATES = ("stat", "lstat", "access")
"""What a run watches of `os`: the code of an archive has the real one."""
_below: dict[str, Any] = {}
"""What stood in the real module where one of these was set."""


class Seen(ModuleType):
    """A module as Windows has it: without some names, and with some functions in other form.

    What is set on it is set on the real module, as there is one `os` in a process.
    """

    def __init__(self, real: ModuleType, missing: Callable[[str], bool], instead: dict[str, Any]) -> None:
        super().__init__(real.__name__, real.__doc__)
        self.__dict__.update(_real=real, _missing=missing, **instead)

    def __getattr__(self, name: str) -> Any:
        if self.__dict__["_missing"](name):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} on Windows")
        return getattr(self.__dict__["_real"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        real = self.__dict__["_real"]
        if name in self.__dict__:
            self.__dict__[name] = value
        if name in _STATES:  # `value` may call what stood here, and that goes on to call the real one
            _below.setdefault(name, getattr(real, name))
        if name in _STATES or name not in self.__dict__:
            setattr(real, name, value)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._real) if not self._missing(name)]


def put_on() -> None:
    """Give every module of ours that is imported from here on the view, and everybody spawned processes."""
    if not any(isinstance(one, _Finder) for one in sys.meta_path):
        seen = {
            "os": _os(),
            "os.path": _path(),
            "mmap": _mmap(),
            "signal": _signal(),
            "_signal": _signal(),
            "subprocess": _subprocess(),
            "shutil": _shutil(),
            "zipfile": _zipfile(),
        }
        sys.meta_path.insert(0, _Finder(_Builtins(seen)))
        pathlib.PurePath.__fspath__ = lambda self: as_written(str(self))  # type: ignore[method-assign]  # the view


class _Builtins(dict[str, Any]):
    """The builtins of our modules: `import` and `open` as on Windows, the rest as it is at the moment."""

    def __init__(self, seen: dict[str, ModuleType]) -> None:
        super().__init__(vars(builtins), __import__=self._import, open=self._open)
        self._seen = seen

    def __missing__(self, name: str) -> Any:
        try:
            return getattr(builtins, name)
        except AttributeError:
            raise KeyError(name) from None

    def _import(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        if level == 0 and name in names.MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        made = builtins.__import__(name, globals, locals, fromlist, level)
        if level:
            return made
        return self._seen.get(name if fromlist else name.partition(".")[0], made)

    @staticmethod
    def _open(file: Any, *args: Any, **options: Any) -> Any:
        return builtins.open(as_written(file), *args, **options)


class _Finder:
    """Finds what the others find; a module of ours gets builtins of its own before it is run.

    The contexts of `multiprocessing` are changed when they are first imported: most processes need none.
    """

    def __init__(self, seen_builtins: dict[str, Any]) -> None:
        self._builtins = seen_builtins

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        if name.partition(".")[0] not in OURS and name != CONTEXTS:
            return None
        for finder in sys.meta_path:
            found = None if finder is self else finder.find_spec(name, path, target)
            if found is not None:
                break
        else:
            return None
        run = getattr(found.loader, "exec_module", None)
        if run is not None and name == CONTEXTS:

            def exec_contexts(module: ModuleType) -> None:
                run(module)
                spawn_alone(module)

            found.loader.exec_module = exec_contexts
        elif run is not None and (found.origin or "").startswith(HOMES):

            def exec_module(module: ModuleType) -> None:
                module.__dict__["__builtins__"] = self._builtins
                run(module)

            found.loader.exec_module = exec_module
        return found


def _os() -> Seen:
    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            raise NotImplementedError("dir_fd unavailable on this platform")
        if not flags & O_BINARY:
            raise AssertionError(f"os.open({path!r}) without O_BINARY: Windows would change line feeds")
        if os.path.isdir(as_written(path)):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return os.open(as_written(path), flags & ~O_BINARY, mode)

    def renamed(source: Any, target: Any, *, src_dir_fd: None = None, dst_dir_fd: None = None) -> None:
        if os.path.lexists(as_written(target)) and not _same(source, target):
            raise FileExistsError(17, "Cannot create a file when that file already exists", os.fspath(target))
        require_unused(as_written(source))
        os.rename(as_written(source), target)

    def replaced(source: Any, target: Any, *, src_dir_fd: None = None, dst_dir_fd: None = None) -> None:
        there = as_written(target)
        if os.path.isdir(there) and not _same(source, target):
            raise PermissionError(13, "Access is denied", os.fspath(target))
        require_unused(as_written(source))
        require_unused(there)
        os.replace(as_written(source), there)

    def removed(path: Any, *, dir_fd: None = None) -> None:
        require_unused(as_written(path))
        os.unlink(as_written(path))

    def at_written(name: str) -> Callable[..., Any]:
        def call(path: Any = ".", *args: Any, **options: Any) -> Any:
            if isinstance(path, int) and name in ("listdir", "scandir"):
                raise TypeError(f"{name}: path should be string, bytes, os.PathLike or None, not int")
            if options.get("dir_fd") is not None:
                raise NotImplementedError("dir_fd unavailable on this platform")
            return _below.get(name, getattr(os, name))(as_written(path), *args, **options)

        return call

    def missing(name: str) -> bool:
        return name in names.OS_MISSING or (name.startswith(names.OS_FLAGS) and name not in names.OS_KEPT)

    followed = (
        "access",
        "chmod",
        "listdir",
        "lstat",
        "mkdir",
        "makedirs",
        "readlink",
        "rmdir",
        "scandir",
        "stat",
        "truncate",
        "utime",
        "walk",
    )
    return Seen(
        os,
        missing,
        {
            "open": opened,
            "rename": renamed,
            "replace": replaced,
            "unlink": removed,
            "remove": removed,
            "O_BINARY": O_BINARY,
            "O_NOINHERIT": os.O_CLOEXEC,
            "path": _path(),
            "supports_dir_fd": set(),
            "supports_fd": {os.stat, os.truncate},
            "supports_follow_symlinks": {os.stat},
            **{name: at_written(name) for name in followed},
        },
    )


def _same(source: Any, target: Any) -> bool:
    try:
        return os.path.samefile(as_written(source), as_written(target))
    except OSError:
        return False


def _path() -> Seen:
    def at_written(name: str) -> Callable[..., Any]:
        return lambda path, *args, **options: getattr(os.path, name)(as_written(path), *args, **options)

    def samefile(one: Any, other: Any) -> bool:
        return os.path.samefile(as_written(one), as_written(other))

    followed = ("exists", "lexists", "isfile", "isdir", "islink", "realpath", "getsize", "getmtime")
    instead: dict[str, Any] = {name: at_written(name) for name in followed}
    return Seen(os.path, lambda name: False, {**instead, "samefile": samefile})


def _mmap() -> Seen:
    def mapped(fileno: int, length: int, tagname: str | None = None, **options: Any) -> mmap.mmap:
        if unknown := sorted(options.keys() - {"access", "offset"}):
            raise TypeError(f"mmap() got unexpected keyword arguments {unknown} on Windows")
        return mmap.mmap(fileno, length, **options)

    return Seen(
        mmap,
        lambda name: name.isidentifier() and name[0] != "_" and name not in names.MMAP_KEPT,
        {"mmap": mapped},
    )


def _signal() -> Seen:
    def missing(name: str) -> bool:
        return name in names.SIGNAL_MISSING or (name.startswith("SIG") and name not in names.SIGNALS_KEPT)

    return Seen(signal, missing, {})


def _shutil() -> Seen:
    def at_both(name: str) -> Callable[..., Any]:
        def call(source: Any, target: Any, *args: Any, **options: Any) -> Any:
            return getattr(shutil, name)(as_written(source), as_written(target), *args, **options)

        return call

    def rmtree(path: Any, *args: Any, **options: Any) -> None:
        shutil.rmtree(as_written(path), *args, **options)

    called = ("copy", "copy2", "copyfile", "copytree", "move")
    instead: dict[str, Any] = {name: at_both(name) for name in called}
    return Seen(shutil, lambda name: False, {**instead, "rmtree": rmtree})


def _zipfile() -> Seen:
    class ZipFile(zipfile.ZipFile):
        def __init__(self, file: Any, *args: Any, **options: Any) -> None:
            super().__init__(as_written(file), *args, **options)

    return Seen(zipfile, lambda name: False, {"ZipFile": ZipFile})


def _subprocess() -> Seen:
    def refusing(name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if refused := sorted(names.PROCESS_REFUSED & options.keys()):
                raise ValueError(f"{refused} are not supported on Windows")
            return getattr(subprocess, name)(*args, **options)

        return call

    called = ("run", "call", "check_call", "check_output")
    instead: dict[str, Any] = {name: refusing(name) for name in called}

    class Popen(subprocess.Popen[Any]):
        def __init__(self, *args: Any, **options: Any) -> None:
            if refused := sorted(names.PROCESS_REFUSED & options.keys()):
                raise ValueError(f"{refused} are not supported on Windows")
            super().__init__(*args, **options)

    return Seen(subprocess, lambda name: False, {**instead, "Popen": Popen})


# Whose code raised something is told by this name: what stands in for the library here is none of a model's.
__name__ = "packager.windows_view"
