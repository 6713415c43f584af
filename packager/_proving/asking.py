"""What a run asks the exporter for while stored code runs: modules, files, listings that the archive lacks.

What comes is taken as if the archive had held it, and written where its code is unpacked, if that was
unpacked: an audit hook cannot redirect a call that opens a file, but it runs before it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, Final

from packager._loading import PROBED, LoadedArchive, PackagedCode, loaded_archives, register

from .clean_environment import HiddenModules, PlacedModules
from .line import Line
from .proof import ProofProbe, Question, QuestionKind, Served
from .watching import CodePlaces, Watcher, add_hook

_OPENING: Final = frozenset({"open", "sqlite3.connect", "ctypes.dlopen"})
_LISTING: Final = frozenset({"os.listdir", "os.scandir"})
_STATES: Final = ("stat", "lstat", "access")
_STATES_IN_C: Final = ("exists", "lexists", "isfile", "isdir")
"""Functions of `os.path` that are such calls themselves, and are written in C on Windows."""
_LOADERS: Final = tuple(
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *part.split("/"))
    for part in "_proving/ _archive/ _loading/unpacking.py _loading/bytecode.py _atomic.py _caches.py".split()
)
"""Our own code that looks at files below the folder of the archive: it asks for nothing."""


class Asking:
    """What a run asks through a line, what it looked for, and which modules of the environment it used.

    `finders` are those of the environment that the run is in; `watcher` is told of paths elsewhere of which
    code asks whether they are there.
    """

    def __init__(
        self, line: Line, places: CodePlaces, watcher: Watcher, finders: tuple[HiddenModules, PlacedModules]
    ) -> None:
        self.probes: dict[tuple[str, str], ProofProbe] = {}
        self.used: dict[str, Question] = {}
        self._line = line
        self._places = places
        self._watcher = watcher
        self._finders = finders
        self._known: set[tuple[str, str]] = set()
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

    # --- what packaged code lacks ---

    def missing(self, code: PackagedCode, name: str, path: Sequence[str] | None, *, probes: bool) -> None:
        """Ask for a module, and let the archive take what comes; see `Provider`."""
        self._ask(code, "probe" if probes else "import", name, sys._getframe(1))

    def missing_file(self, code: PackagedCode, path: str, *, lists: bool) -> None:
        """Ask for a file or a listing; see `Provider`."""
        self._ask(code, "listing" if lists else "file", path, sys._getframe(1))

    def uses(self, name: str) -> None:
        """Note which line first imports a module of the environment; see `Provider`."""
        top = name.partition(".")[0]
        if top not in self.used:
            self.used[top] = Question("import", top, self._places.asking(sys._getframe(1)))

    def _ask(self, code: PackagedCode, kind: QuestionKind, name: str, frame: FrameType) -> None:
        """Ask, but for what is absent or was listed before, or another archive lacks; take what comes."""
        question = Question(kind, name, self._places.asking(frame))
        loaded = _loaded()
        if loaded is None or loaded.code is not code or question.key in self._known:
            return
        served: Served = self._line.ask(question) or Served()
        hiding, placing = self._finders
        placing.places |= served.places
        stay = [one for one in served.modules if one.action != "deny"]
        if kind == "listing" or not (stay or served.files):
            self._known.add(question.key)
        if stay or served.files:
            owned = len(code.owned)
            code.take(stay, served.files)
            if len(code.owned) > owned:
                register(loaded)
            # A C module of a package that is stored is that of the environment.
            hiding.hidden -= {one.name.partition(".")[0] for one in stay if one.action == "extern"}
            for entry, data in served.files.items():
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
                self.probes.setdefault((kind, name), ProofProbe(kind, name, place))
        elif not _creates(event, arguments):
            path = _without_scheme(arguments[0]) if event == "sqlite3.connect" else arguments[0]
            self._look(path, frame, lists=event in _LISTING, opens=event in _OPENING)

    def _look(self, path: Any, frame: FrameType, *, lists: bool, opens: bool = False) -> None:
        """Ask for what lies at a path below the folder of the archive's code, where nothing does yet."""
        if not isinstance(path, str | bytes | os.PathLike | None):
            return
        name = os.fsdecode(path or os.curdir)
        entry = None
        if not os.path.isabs(name) or name.startswith(self._places.root):
            entry = self._places.entry_of(os.path.abspath(name))
        if entry is None:
            if path and not (lists or opens):  # else an event tells of it
                self._watcher.look(name, frame)
            return
        is_there = not lists and self._exists(name)
        if is_there or "__pycache__" in entry or self._is_ours(frame):
            return
        loaded, entry = _loaded(), entry.rstrip("/")
        if loaded is not None and (lists or loaded.code.entry_at(entry) is None):
            # What is there and was not unpacked is not there.
            self._ask(loaded.code, "listing" if lists else "file", entry, frame)

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
    return bool(set(mode) & set("wx") if isinstance(mode, str) else flags & (os.O_TRUNC | os.O_EXCL))
