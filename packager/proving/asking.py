"""What a run asks the exporter for while stored code runs: modules, files, listings that the archive lacks.

What comes is taken as if the archive had held it, and written where its code is unpacked, if that was
unpacked: an audit hook cannot redirect a call that opens a file, but it runs before it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from types import FrameType
from typing import Any, Final

from packager.archive import ModuleRecord
from packager.loading import PROBED, LoadedArchive, PackagedCode, loaded_archives, register

from .clean_environment import add_place, show
from .line import Line
from .proof import plain_of
from .questions import Probe, ProbeKind, Question, modules_of_plain, plain_question
from .watched_environment import WatchedEnvironment
from .watching import CodePlaces, add_hook

_OPENING: Final = frozenset({"open", "sqlite3.connect", "ctypes.dlopen"})
_LISTING: Final = frozenset({"os.listdir", "os.scandir"})
_STATES: Final = ("stat", "lstat", "access")
_STATES_IN_C: Final = ("exists", "lexists", "isfile", "isdir")
"""Functions of `os.path` that are such calls themselves, and are written in C on Windows."""
_LOADERS: Final = tuple(
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *part.split("/"))
    for part in "proving/ archive/ loading/unpacking.py loading/bytecode.py atomic.py caches.py".split()
)
"""Our own code that looks at files below the folder of the archive: it asks for nothing."""


class Asking:
    """What a run asks through a line, what it looked for, and which files it opened.

    `look` is told of paths elsewhere of which code asks whether they are there.
    """

    def __init__(self, line: Line, places: CodePlaces, look: Callable[[Any, FrameType], None]) -> None:
        self._line = line
        self._places = places
        self._look_elsewhere = look
        self._known: set[tuple[str, str]] = set()
        self._probes: dict[tuple[ProbeKind, str], Probe] = {}
        self._opened: dict[str, Question] = {}
        self._used: dict[str, Question] = {}
        self._lstat = os.lstat

    def begin(self) -> None:
        """Begin to ask for what archives lack that are loaded in this process."""
        PackagedCode.provider = self
        for name in _STATES:
            self._watch(os, name)
        for name in _STATES_IN_C:
            if type(getattr(os.path, name)) is type(len):
                self._watch(os.path, name)
        add_hook(_OPENING | _LISTING | {PROBED}, self._note)

    def seen(self, environment: WatchedEnvironment) -> dict[str, Any]:
        """Return what was looked for, opened and set, as plain data."""
        variables = [Probe("variable", name, place) for name, place in environment.read.items()]
        return {
            "probes": [plain_of(one) for one in (*self._probes.values(), *variables)],
            "externs": [plain_question(one) for one in self._used.values()],
            "opened": [plain_question(one) for one in self._opened.values()],
            "sets": [plain_of(Probe("variable", name, place)) for name, place in environment.set.items()],
        }

    # --- what packaged code lacks ---

    def missing(self, code: PackagedCode, name: str, path: Sequence[str] | None, *, probes: bool) -> None:
        """Ask for a module, and let the archive take what comes; see `Provider`."""
        loaded = _loaded()
        if loaded is not None and loaded.code is code:
            place = self._places.asking(sys._getframe(1))
            search = tuple(self._true_path(folder) for folder in path or ())
            self._ask(loaded, Question("probe" if probes else "import", name, place, search))

    def missing_file(self, code: PackagedCode, path: str, *, lists: bool) -> None:
        """Ask for a file or a listing; see `Provider`."""
        loaded = _loaded()
        if loaded is not None and loaded.code is code:
            place = self._places.asking(sys._getframe(1))
            self._ask(loaded, Question("listing" if lists else "file", path, place))

    def uses(self, name: str) -> None:
        """Note which line first imports a module of the environment; see `Provider`."""
        top = name.partition(".")[0]
        if top not in self._used:
            self._used[top] = Question("import", top, self._places.asking(sys._getframe(1)))

    def _ask(self, loaded: LoadedArchive, question: Question) -> None:
        """Ask, but for what is absent and was listed before, and take what comes."""
        if question.key in self._known:
            return
        modules, files, places = self._line.ask(plain_question(question)) or ([], {}, {})
        for name, folders in places.items():
            add_place(name, folders)
        stay = [one for one in modules_of_plain(modules) if one.action != "deny"]
        if question.kind == "listing" or not (stay or files):
            self._known.add(question.key)
        if stay or files:
            self._take(loaded, stay, files)

    def _take(
        self, loaded: LoadedArchive, modules: Collection[ModuleRecord], files: Mapping[str, bytes]
    ) -> None:
        code = loaded.code
        owned = len(code.owned)
        code.take(modules, files)
        if len(code.owned) > owned:
            register(loaded)
        for module in modules:
            if module.action == "extern":
                show(module.name)  # a C module of a package that is stored
        for entry, data in files.items():
            self._write(loaded, entry, data)

    def _write(self, loaded: LoadedArchive, entry: str, data: bytes) -> None:
        """Write a file where the archive's code is unpacked, if its package was; else it comes with that."""
        place, root = loaded.unpacker.path_of(entry), str(loaded.unpacker.root)
        top = entry.partition("/")[0]
        comes_alone = top in loaded.code.owned and not loaded.code.is_namespace(top)
        waits = comes_alone and not self._exists(loaded.unpacker.path_of(top))
        if self._exists(root) and not waits and not self._exists(place):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(data)

    def _true_path(self, folder: str) -> str:
        entry = self._places.entry_of(folder)
        return folder if entry is None else entry

    # --- files below the folder of the archive's code ---

    def _watch(self, home: Any, name: str) -> None:
        """Put in the place of a call that asks for the state of a path one that asks for the file before."""
        plain = getattr(home, name)

        def asking(path: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("dir_fd") is None:
                self._look(path, sys._getframe(1), lists=False)
            return plain(path, *args, **kwargs)

        asking.__name__ = asking.__qualname__ = name
        asking.__module__, asking.__doc__ = plain.__module__, plain.__doc__
        setattr(home, name, asking)
        for what in ("dir_fd", "effective_ids", "fd", "follow_symlinks"):
            if plain in (supported := getattr(os, f"supports_{what}")):
                supported.add(asking)

    def _note(self, event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        if event == PROBED:
            kind, name = arguments
            place = self._places.running(frame)
            if place is not None and isinstance(name, str):
                self._probes.setdefault((kind, name), Probe(kind, name, place))
        elif not _creates(event, arguments):
            path = _without_scheme(arguments[0]) if event == "sqlite3.connect" else arguments[0]
            self._look(path, frame, lists=event in _LISTING, opens=event in _OPENING)

    def _look(self, path: Any, frame: FrameType, *, lists: bool, opens: bool = False) -> None:
        """Ask for what lies at a path below the folder of the archive's code, where nothing does yet."""
        entry = self._entry(path)
        if entry is None:
            if not (lists or opens):  # else an event tells of it
                self._look_elsewhere(path, frame)
            return
        if not lists and self._exists(path):
            if opens and entry not in self._opened and not self._is_ours(frame):
                self._opened[entry] = Question("file", entry, self._places.asking(frame))
            return
        if "__pycache__" in entry or self._is_ours(frame):
            return
        loaded = _loaded()
        if loaded is None or (not lists and loaded.code.entry_at(entry) is not None):
            return  # what is there and was not unpacked is not there
        place = self._places.asking(frame)
        self._ask(loaded, Question("listing" if lists else "file", entry, place))
        if opens and entry not in self._opened and self._exists(path):
            self._opened[entry] = Question("file", entry, place)

    def _entry(self, path: Any) -> str | None:
        """Return the path in the archive of a path below the folder of its code; None for others."""
        if path is None:
            path = os.curdir
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        elif not isinstance(path, str):
            if not hasattr(type(path), "__fspath__"):
                return None
            path = os.fspath(path)
        if os.path.isabs(path) and not path.startswith(self._places.root):
            return None
        entry = self._places.entry_of(os.path.abspath(path))
        return None if entry is None else entry.rstrip("/")

    def _exists(self, path: Any) -> bool:
        try:
            self._lstat(path)
        except (OSError, ValueError):
            return False
        return True

    def _is_ours(self, frame: FrameType | None) -> bool:
        """Say whether our own loader looks at a file, and no stored code inside of it."""
        while frame is not None:
            file = frame.f_code.co_filename
            if self._places.entry_of(file) is not None:
                return False
            if file.startswith(_LOADERS):
                return True
            frame = frame.f_back
        return False


def _loaded() -> LoadedArchive | None:
    """Return the archive of the run, once it is loaded: the first one, as its code may open others."""
    return next(iter(loaded_archives()), None)


def _without_scheme(path: Any) -> Any:
    """Return the path that a database is named by: "/a b" of "file:/a%20b?mode=ro"."""
    if not isinstance(path, str) or not path.startswith("file:"):
        return path
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(path).path)


def _creates(event: str, arguments: Sequence[Any]) -> bool:
    """Say whether a file is opened to be written anew."""
    if event != "open":
        return False
    _, mode, flags = arguments
    if isinstance(mode, str):
        return bool(set(mode) & set("wx"))
    return bool(flags & (os.O_TRUNC | os.O_EXCL))
