"""What code of an archive does outside of it, noted by an audit hook, and which lines of it were running."""

from __future__ import annotations

import contextlib
import errno
import linecache
import os
import sys
from collections.abc import Callable, Collection, Iterable
from types import CodeType, FrameType, TracebackType
from typing import Any, Final

from packager.names import demangle_text

from .proof import Effect, EffectKind, MissedImport, ProofFrame

_MOST_EFFECTS: Final = 100
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES: Final = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
_CHANGES_LATER: Final = {"shutil.copyfile", "shutil.rmtree", "shutil.move"}
_STARTS: Final = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork"}
_LOOKING: Final = {"open", "os.listdir", "os.scandir", "sqlite3.connect", "ctypes.dlopen"}
_CONNECTIONS: Final = {"socket.connect", "socket.bind", "socket.sendto"}
_FAILED_IMPORT: Final = "packager.import_failed"
_NOTED: Final = frozenset({_FAILED_IMPORT, *_LOOKING, *_CHANGES, *_CHANGES_LATER, *_STARTS, *_CONNECTIONS})
_IMPORTING: Final = ("<frozen importlib", os.path.join("importlib", "__init__.py"))
_NOT_OF_CODE: Final = (_IMPORTING[0], os.path.join(os.path.dirname(os.path.abspath(__file__)), ""))
_OWN: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


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
        self.missed: dict[str, MissedImport] = {}
        self._places = places
        self._ignored = tuple(os.path.join(os.path.realpath(folder), "") for folder in ignored)
        self._gone = tuple(os.path.join(os.path.realpath(folder), "") for folder in gone)
        self._personal = (*self._gone, os.path.join(os.path.expanduser("~"), ""))
        self._is_noting = False

    def watch(self) -> None:
        """Add the hook; an audit hook stays for as long as the process lives."""
        add_hook(_NOTED, self._note)

    def _note(self, event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        if self._is_noting:
            return
        missing = None
        self._is_noting = True  # what this looks at raises events of its own
        try:
            with contextlib.suppress(Exception):  # what goes wrong here is no concern of the code that runs
                if event == _FAILED_IMPORT:
                    self._miss(arguments[0], frame)
                # Asked first: what else imports and opens files is most of it, and paths take long to follow.
                elif (place := self._places.running(frame)) is not None:
                    missing = self._missing(event, arguments)
                    found = self._effect(event, arguments)
                    if found is not None and len(self.effects) < _MOST_EFFECTS:
                        self.effects.setdefault(found, Effect(*found, place))
                        self.effects.pop(("looked for", found[1]), None)
        finally:
            self._is_noting = False
        if missing is not None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), missing)

    def look(self, path: Any, frame: FrameType | None) -> None:
        """Note that the archive's code asks whether a file is there that may be here and nowhere else.

        So is one by a relative path, and one of the project or of the home folder that is here.
        """
        if self._is_noting or not isinstance(path, str | bytes | os.PathLike):
            return
        self._is_noting = True
        try:
            place = self._places.running(frame)
            name = os.fsdecode(path) if place is not None else ""
            if place is None or not name:
                return
            if not os.path.isabs(name):
                what = f"{name!r}, relative to the working directory"
            elif (
                name.startswith(self._personal)
                and not os.path.join(os.path.realpath(name), "").startswith(self._ignored)
                and os.access(name, os.F_OK)
            ):
                what = name
            else:
                return
            is_known = ("opened", what) in self.effects or ("written", name) in self.effects
            if len(self.effects) < _MOST_EFFECTS and not is_known:
                self.effects.setdefault(("looked for", what), Effect("looked for", what, place))
        finally:
            self._is_noting = False

    def _missing(self, event: str, arguments: tuple[Any, ...]) -> str | None:
        """Return the path of what code of the archive looks for in a folder that is gone; None for others."""
        if event not in _LOOKING or not self._gone or not isinstance(arguments[0], str | bytes | os.PathLike):
            return None
        name = os.fsdecode(arguments[0])
        path = os.path.join(os.path.realpath(name), "")
        home = next((folder for folder in self._gone if path.startswith(folder)), None)
        if home is None or path.startswith(self._ignored) or f"{os.sep}." in path[len(home) - 1 :]:
            return None
        return name

    def _miss(self, module: str, frame: FrameType | None) -> None:
        """Note an import in vain, where code of the archive asked for it and not another package."""
        while frame is not None and _is_between(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None and self._places.entry_of(frame.f_code.co_filename) is not None:
            place = self._places.frame(frame.f_code, frame.f_lineno)
            self.missed.setdefault(module, MissedImport(module, place))

    def _effect(self, event: str, arguments: tuple[Any, ...]) -> tuple[EffectKind, str] | None:
        if event == "open":
            return self._opened(*arguments)
        if event in _CHANGES or event in _CHANGES_LATER:
            return "written", _text(arguments[0])
        if event in _CONNECTIONS:
            return "connected", _text(arguments[1])
        if event in _STARTS:
            return "started", _text(arguments[0]) if arguments else "a copy of the process"
        return None

    def _opened(self, path: Any, mode: Any, flags: Any) -> tuple[EffectKind, str] | None:
        if not isinstance(path, str | bytes | os.PathLike):
            return None  # a descriptor
        name = os.fsdecode(path)
        writes = bool(set(mode) & set("wax+")) if isinstance(mode, str) else bool(flags & _WRITING)
        if writes:
            return "written", name
        if not os.path.isabs(name):
            return "opened", f"{name!r}, relative to the working directory"
        if self._places.entry_of(name) is not None or os.path.realpath(name).startswith(self._ignored):
            return None
        return "opened", name


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


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        value = os.fsdecode(value)
    return demangle_text(str(value))[:200]
