"""What code of an archive does outside of it (files, processes, variables), and which lines of it ran."""

from __future__ import annotations

import contextlib
import errno
import linecache
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from types import CodeType, FrameType, TracebackType
from typing import Any, Final

from packager._names import demangle_text, is_mangled

from .proof import Effect, EffectKind, ProofFrame, ProofProbe

_MOST_EFFECTS: Final = 100
_MOST_TEXT: Final = 200
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LOOKING: Final = frozenset({"open", "os.listdir", "os.scandir", "sqlite3.connect", "ctypes.dlopen"})
_STARTS: Final = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork"}
)
_IMPORTING: Final = ("<frozen importlib", os.path.join("importlib", "__init__.py"))
_NOT_OF_CODE: Final = (_IMPORTING[0], os.path.join(os.path.dirname(os.path.abspath(__file__)), ""))
_OWN: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
# What reads variables for its caller: of the library, and of others whose work it is.
_READ_FOR_OTHERS: Final = frozenset(
    "os collections posixpath ntpath genericpath pydantic pydantic_settings pydantic_core decouple environs "
    "environ dynaconf dotenv starlette omegaconf hydra click typer".split()
)
EVERY_NAME: Final = "*"
"""What stands for all variables, where code goes through them."""
AskedLine = tuple[str, int, str]
"""An entry, a line of it, and the function that it is in; "" for none."""
_Trace = Callable[[FrameType, str, Any], Any]


class CodePlaces:
    """Which lines belong to the archive: its modules' files lie below one folder, written or not.

    `root` is the folder that holds one folder for each identity.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.join(root, "")

    def entry_of(self, file: str) -> str | None:
        """Return the entry of the archive that a file name stands for; None for one of another place."""
        if not file.startswith(self.root):
            return None
        return file[len(self.root) :].partition(os.sep)[2].replace(os.sep, "/")

    def frame(self, code: CodeType, line: int, text: str = "") -> ProofFrame:
        """Return the record of a line that is running."""
        entry = self.entry_of(code.co_filename)
        file = code.co_filename if entry is None else entry
        return ProofFrame(file, line, code.co_qualname, text.strip(), entry is not None)

    def frames_of(self, trace: TracebackType | None) -> tuple[ProofFrame, ...]:
        """Return the lines of a traceback, from the first one of the archive on.

        Those of our own files, and of Python's import system, are left out.
        """
        found = []
        while trace is not None:
            code, line = trace.tb_frame.f_code, trace.tb_lineno
            if not _is_between(code.co_filename):
                linecache.lazycache(code.co_filename, trace.tb_frame.f_globals)
                found.append(self.frame(code, line, linecache.getline(code.co_filename, line)))
            trace = trace.tb_next
        first = next((number for number, frame in enumerate(found) if frame.stored), len(found))
        return tuple(found[first:])

    def running(self, frame: FrameType | None) -> ProofFrame | None:
        """Return the innermost line of the archive's code.

        None where it waits for an import, or for this process to ask for what it lacks.
        """
        while frame is not None:
            code = frame.f_code
            if self.entry_of(code.co_filename) is not None:
                return self.frame(code, frame.f_lineno)
            if code.co_filename.startswith(_NOT_OF_CODE) or code.co_filename.endswith(_IMPORTING[1]):
                return None
            frame = frame.f_back
        return None

    def asking(self, frame: FrameType | None) -> ProofFrame | None:
        """Return the innermost line of the archive's code, whatever it waits for."""
        while frame is not None and self.entry_of(frame.f_code.co_filename) is None:
            frame = frame.f_back
        return None if frame is None else self.frame(frame.f_code, frame.f_lineno)


class Watcher:
    """An audit hook that notes effects; `ignored` are folders whose files may be read.

    In the folders that are `gone` code of the archive finds nothing, though they are here; what is hidden in
    them (caches, environments) counts as elsewhere.
    """

    def __init__(self, places: CodePlaces, ignored: Iterable[str], gone: Iterable[str] = ()) -> None:
        self.effects: dict[tuple[str, str], Effect] = {}
        self._written: set[str] = set()
        self._places = places
        self._ignored = tuple(os.path.join(os.path.realpath(folder), "") for folder in ignored)
        self._gone = tuple(os.path.join(os.path.realpath(folder), "") for folder in gone)
        self._personal = (*self._gone, os.path.join(os.path.expanduser("~"), ""))
        self._is_noting = False

    def watch(self) -> None:
        """Add the hook; an audit hook stays for as long as the process lives."""
        add_hook(_LOOKING | _STARTS, self._note)

    def look(self, path: Any, frame: FrameType | None) -> None:
        """Note that the archive's code asks whether a file is there that may be here and nowhere else.

        So is one by a relative path, and one of the project or of the home folder that is here.
        """
        with self._noting(frame) as place:
            name = os.fsdecode(path) if place is not None else ""
            if place is None or not name:
                return
            what = name
            if not os.path.isabs(name):
                what = _relative(name)
            elif not (
                name.startswith(self._personal)
                and not os.path.join(os.path.realpath(name), "").startswith(self._ignored)
                and os.access(name, os.F_OK)
            ):
                return
            if ("opened", what) not in self.effects and name not in self._written:
                self._add("looked for", what, place)

    @contextlib.contextmanager
    def _noting(self, frame: FrameType | None) -> Iterator[ProofFrame | None]:
        """Give the line of the archive's code that is running, None for none.

        What is looked at meanwhile raises events of its own, and what goes wrong is no concern of the code.
        """
        if self._is_noting:
            yield None
            return
        self._is_noting = True
        try:
            with contextlib.suppress(Exception):
                yield self._places.running(frame)
        finally:
            self._is_noting = False

    def _note(self, event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        missing = None
        with self._noting(frame) as place:
            if place is None:
                return
            missing = self._missing(event, arguments)
            if event in _STARTS:
                what = str(arguments[0]) if arguments else "a copy of the process"
                self._add("started", demangle_text(what)[:_MOST_TEXT], place)
            elif event == "open":
                self._opened(place, *arguments)
        if missing is not None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), missing)

    def _add(self, kind: EffectKind, what: str, place: ProofFrame) -> None:
        if len(self.effects) < _MOST_EFFECTS:
            self.effects.setdefault((kind, what), Effect(kind, what, place))
            if kind != "looked for":
                self.effects.pop(("looked for", what), None)

    def _missing(self, event: str, arguments: tuple[Any, ...]) -> str | None:
        """Return the path of what code of the archive looks for in a folder that is gone; None for others."""
        if event not in _LOOKING or not isinstance(arguments[0], str | bytes | os.PathLike):
            return None
        name = os.fsdecode(arguments[0])
        path = os.path.join(os.path.realpath(name), "")
        home = next((folder for folder in self._gone if path.startswith(folder)), None)
        if home is None or path.startswith(self._ignored) or f"{os.sep}." in path[len(home) - 1 :]:
            return None
        return name

    def _opened(self, place: ProofFrame, path: Any, mode: Any, flags: Any) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return  # a descriptor
        name = os.fsdecode(path)
        if set(mode) & set("wax+") if isinstance(mode, str) else flags & _WRITING:
            self._written.add(name)
        elif not os.path.isabs(name):
            self._add("opened", _relative(name), place)
        elif self._places.entry_of(name) is None and not os.path.realpath(name).startswith(self._ignored):
            self._add("opened", name, place)


class WatchedEnvironment:
    """Hides variables from stored code, and notes which it reads and sets, also through libraries."""

    def __init__(self, places: CodePlaces, hidden: Collection[str]) -> None:
        self.read: dict[str, ProofProbe] = {}
        self.set: dict[str, ProofProbe] = {}
        self._places = places
        self._hidden = {*hidden}

    def watch(self) -> None:
        """Put a class of this object in the place of that of `os.environ`, which stays the same object."""
        watched = self
        plain: Any = type(os.environ)

        class Environ(plain):  # type: ignore[misc]  # a private class of the library
            def __getitem__(self, key: Any) -> Any:
                if key in watched._hidden and watched._is_asked(key, watched.read):
                    raise KeyError(key)
                try:
                    return super().__getitem__(key)
                except KeyError:
                    watched._is_asked(key, watched.read)
                    raise

            def __setitem__(self, key: Any, value: Any) -> None:
                super().__setitem__(key, value)
                if key in watched._hidden:  # where code sets it by itself, as it did here
                    watched._hidden.discard(key)
                    watched.read.pop(key, None)
                watched._is_asked(key, watched.set)

            def __delitem__(self, key: Any) -> None:
                super().__delitem__(key)
                watched._is_asked(key, watched.set)

            def __iter__(self) -> Iterator[Any]:
                names: Iterator[Any] = super().__iter__()
                if not watched._hidden or not watched._is_asked(EVERY_NAME, watched.read):
                    return names
                return (name for name in names if name not in watched._hidden)

        Environ.__name__, Environ.__qualname__, Environ.__module__ = plain.__name__, plain.__qualname__, "os"
        os.environ.__class__ = Environ

    def _is_asked(self, name: str, noted: dict[str, ProofProbe]) -> bool:
        """Say whether stored code asks, also by what reads for it; note the line if it does."""
        frame: FrameType | None = sys._getframe(2)
        asking = frame
        while asking is not None and _top(asking) in _READ_FOR_OTHERS:
            asking = asking.f_back
        module = "" if asking is None else asking.f_globals.get("__name__")
        if not isinstance(module, str) or not is_mangled(module):
            return False
        place = self._places.running(frame)
        if place is not None and name not in noted:
            noted[name] = ProofProbe("variable", name, place)
        return True


class Runs:
    """Which of some lines of the archive's code have run, by Python's tracing; none are traced unasked.

    Only code of the files in which they stand is traced line by line.
    """

    def __init__(self, places: CodePlaces, asked: Iterable[AskedLine]) -> None:
        self.found: set[AskedLine] = set()
        self._places = places
        self._asked: dict[str, list[AskedLine]] = {}
        for line in asked:
            self._asked.setdefault(line[0], []).append(line)
        self._known: dict[str, _Trace | None] = {}

    def watch(self) -> None:
        """Begin to trace; it ends with the process."""
        if self._asked:
            threading.settrace(self._enter)
            sys.settrace(self._enter)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> _Trace | None:
        file = frame.f_code.co_filename
        if file not in self._known:
            lines = self._asked.get(self._places.entry_of(file) or "")
            self._known[file] = None if lines is None else partial(self._trace, lines)
        return self._known[file]

    def _trace(self, lines: list[AskedLine], frame: FrameType, event: str, argument: Any) -> _Trace | None:
        """Note a line that runs, if it is in its function, and not the one that defines it."""
        running = f"{frame.f_code.co_qualname.replace('<locals>.', '')}."
        self.found.update(
            one
            for one in lines
            if one[1] == frame.f_lineno and (not one[2] or running.startswith(f"{one[2]}."))
        )
        return self._known[frame.f_code.co_filename]


def add_hook(events: Collection[str], note: Callable[[str, tuple[Any, ...], FrameType], None]) -> None:
    """Add an audit hook that is told of some events alone, each with the frame that it is raised in.

    An import of a framework raises thousands of others. Python asks a method for an attribute at each, which
    takes three times as long as the call of a function.
    """

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in events:
            note(event, arguments, sys._getframe(1))

    sys.addaudithook(hook)


def _is_between(file: str) -> bool:
    return file.startswith((_IMPORTING[0], _OWN)) or file.endswith(_IMPORTING[1])


def _relative(name: str) -> str:
    return f"{name!r}, relative to the working directory"


def _top(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if isinstance(name, str) else ""
