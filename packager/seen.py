"""What is read, listed and asked of the disk, noted while somebody wants to remember what comes of it.

Whatever decides what a plan says asks here. Without a `noting` block these are plain calls.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from packager.atomic import PART_ENDING

__all__ = [
    "Name",
    "Seen",
    "exists",
    "is_compiled",
    "is_file",
    "is_folder",
    "is_there",
    "list_folder",
    "names_in",
    "note_answer",
    "note_variables",
    "noting",
    "read_file",
    "refuse",
    "size_of",
]

_Stamp = tuple[int, ...]
_FRESH: Final = 2_000_000_000
"""Nanoseconds for which a stamp is not believed: what is written again so soon may have the same."""


class Name(NamedTuple):
    """A name in a folder; `is_folder` follows links."""

    name: str
    is_folder: bool
    is_link: bool


class Seen:
    """What was asked, and the answers. `unfit` says why they are not all of it, "" where they are.

    A file is noted by its digest, a folder by its names, everything else by what was asked of it. `stamps`
    are what the system said of files and folders before they were read: size, times and so on.
    """

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.folders: dict[str, str] = {}
        self.states: dict[str, str] = {}
        self.variables: dict[str, list[str]] = {}
        self.stamps: dict[str, _Stamp | None] = {}
        self.unfit = ""

    def refuse(self, why: str) -> None:
        """Say that something was asked which cannot be noted."""
        self.unfit = self.unfit or why

    def note(self, kind: dict[str, str], path: str, answer: str, stamp: _Stamp | None = None) -> None:
        """Note an answer. One that differs from the last to the same question makes all of it unfit."""
        if kind.setdefault(path, answer) != answer:
            self.refuse(f"{path} was changed meanwhile")
        if kind is not self.states:
            self.stamps.setdefault(path, stamp)

    def dump(self) -> dict[str, Any]:
        """Return what was noted as plain data."""
        return {
            "files": self.files,
            "folders": self.folders,
            "states": self.states,
            "variables": self.variables,
            "stamps": {path: None if one is None else list(one) for path, one in self.stamps.items()},
        }

    @classmethod
    def load(cls, noted: Any) -> Seen:
        """Undo `dump`. Raises ValueError, TypeError or KeyError for what is none."""
        seen = cls()
        for name in ("files", "folders", "states"):
            kept = noted[name]
            if type(kept) is not dict or {*map(type, kept), *map(type, kept.values())} - {str}:
                raise ValueError(f"{name}: expected texts by path")
            setattr(seen, name, kept)
        seen.variables = {
            str(pattern): [str(one) for one in names] for pattern, names in noted["variables"].items()
        }
        for path, stamp in noted["stamps"].items():
            seen.stamps[path] = None if stamp is None else tuple(map(int, stamp))
        return seen

    def changed(self, others: Mapping[str, Callable[[str], str]] = MappingProxyType({})) -> str:
        """Return the first question whose answer is another one now; "" where all are the same.

        A file or folder that has the stamp it had is not read again. `others` answer the kinds of questions
        that were given to `note_answer`. Raises KeyError for a kind that there is none of.
        """
        for asked, state in self.states.items():
            kind, _, place = asked.partition(":")
            if (others.get(kind) or _STATES[kind])(place) != state:
                return place
        for noted, answer_of in ((self.folders, _folder_digest), (self.files, _file_digest)):
            for path, answer in noted.items():
                stamp = self.stamps.get(path)
                if (stamp is None or _stamp(path) != stamp) and answer_of(path) != answer:
                    return path
        for pattern, names in self.variables.items():
            if _variables(pattern) != names:
                return pattern
        return ""


_noting: ContextVar[Seen | None] = ContextVar("_noting", default=None)


@contextlib.contextmanager
def noting() -> Iterator[Seen]:
    """Note in a Seen what is asked in the block."""
    seen = Seen()
    token = _noting.set(seen)
    try:
        yield seen
    finally:
        _noting.reset(token)


def refuse(why: str) -> None:
    """Say that something was asked that cannot be noted, so that what comes of it is not remembered."""
    if (seen := _noting.get()) is not None:
        seen.refuse(why)


def read_file(path: str) -> bytes:
    """Return the bytes of a file. Raises OSError."""
    seen = _noting.get()
    if seen is None:
        with open(path, "rb", buffering=0) as file:  # all of it is read at once
            return file.read()
    try:
        with open(path, "rb", buffering=0) as file:
            stamp = _settled(os.fstat(file.fileno()))
            data = file.read()
    except OSError as error:
        seen.note(seen.files, path, f"!{error.errno}")
        raise
    seen.note(seen.files, path, _digest(data), stamp)
    return data


def list_folder(folder: str) -> list[Name]:
    """Return the names in a folder, in no order. Raises OSError."""
    seen = _noting.get()
    if seen is None:
        return _listed(folder)
    try:
        stamp = _stamp(folder)
        names = _listed(folder)
    except OSError as error:
        seen.note(seen.folders, folder, f"!{error.errno}")
        raise
    # What a link leads to may change while its folder does not.
    seen.note(seen.folders, folder, _digest_of(names), None if any(one.is_link for one in names) else stamp)
    return names


def names_in(folder: str) -> list[str]:
    """Return the names in a folder alone, in no order. Raises OSError."""
    if _noting.get() is None:
        return [name for name in os.listdir(folder) if not name.endswith(PART_ENDING)]
    return [one.name for one in list_folder(folder)]


def is_file(path: str) -> bool:
    """Say whether there is a file, as `os.path.isfile`."""
    return os.path.isfile(path) if (seen := _noting.get()) is None else _state(seen, "kind", path) == "file"


def is_compiled(path: str, size: int) -> bool:
    """Say whether Python has compiled a source file of this size as it is: by the head of its bytecode.

    Not noted: the answer saves time, and nothing that comes of it differs. Python itself runs that bytecode
    where the numbers agree.

    Source: PEP 552, the pyc format.
    """
    from importlib.util import MAGIC_NUMBER, cache_from_source

    try:
        with open(cache_from_source(path), "rb", buffering=0) as file:
            head = file.read(16)
        changed = int(os.stat(path).st_mtime)
    except (OSError, ValueError, NotImplementedError):
        return False
    return head == MAGIC_NUMBER + b"".join(
        (one & 0xFFFFFFFF).to_bytes(4, "little") for one in (0, changed, size)
    )


def is_folder(path: str) -> bool:
    """Say whether there is a folder, as `os.path.isdir`."""
    return os.path.isdir(path) if (seen := _noting.get()) is None else _state(seen, "kind", path) == "folder"


def exists(path: str) -> bool:
    """Say whether there is something, as `os.path.exists`."""
    return os.path.exists(path) if (seen := _noting.get()) is None else _state(seen, "kind", path) != ""


def is_there(path: str) -> bool:
    """Say whether there is something, also a link to nothing, as `os.path.lexists`."""
    return os.path.lexists(path) if (seen := _noting.get()) is None else _state(seen, "there", path) != ""


def size_of(path: str) -> int:
    """Return the size of a file in bytes. Raises OSError, and ValueError for what is no path."""
    seen = _noting.get()
    if seen is None:
        return os.stat(path).st_size
    size = _state(seen, "size", path)
    if size == "":
        return os.stat(path).st_size  # raises
    return int(size)


def note_answer(kind: str, place: str, answer: str) -> None:
    """Note what the running process answered; see `Seen.changed` for who is asked again."""
    if (seen := _noting.get()) is not None:
        seen.note(seen.states, f"{kind}:{place}", answer)


def note_variables(pattern: str) -> list[str]:
    """Return the names of the variables of the environment that match a pattern, sorted."""
    names = _variables(pattern)
    if (seen := _noting.get()) is not None:
        seen.variables[pattern] = names
    return names


def _state(seen: Seen, kind: str, path: str) -> str:
    answer = _STATES[kind](path)
    seen.note(seen.states, f"{kind}:{path}", answer)
    return answer


def _kind_of(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def _size_of(path: str) -> str:
    try:
        return str(os.stat(path).st_size)
    except (OSError, ValueError):
        return ""


_STATES: Final[Mapping[str, Callable[[str], str]]] = {
    "kind": _kind_of,
    "size": _size_of,
    "there": lambda path: "there" if os.path.lexists(path) else "",
}


def _variables(pattern: str) -> list[str]:
    from fnmatch import fnmatchcase

    return sorted(name for name in os.environ if fnmatchcase(name, pattern))


def _file_digest(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as file:
            return _digest(file.read())
    except OSError as error:
        return f"!{error.errno}"


def _folder_digest(folder: str) -> str:
    try:
        return _digest_of(_listed(folder))
    except OSError as error:
        return f"!{error.errno}"


def _listed(folder: str) -> list[Name]:
    """Return the names in a folder but for what is being written there: the export itself is, most often."""
    with os.scandir(folder) as entries:
        return [
            Name(entry.name, entry.is_dir(), entry.is_symlink())
            for entry in entries
            if not entry.name.endswith(PART_ENDING)
        ]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest_of(names: list[Name]) -> str:
    lines = sorted(f"{one.is_folder:d}{one.is_link:d}{one.name}" for one in names)
    return _digest("\0".join(lines).encode("utf-8", "surrogateescape"))


def _stamp(path: str) -> _Stamp | None:
    try:
        return _settled(os.stat(path))
    except (OSError, ValueError):
        return None


def _settled(status: os.stat_result) -> _Stamp | None:
    """Return what changes with every change of a file or folder; None where it was changed just now."""
    last = max(status.st_mtime_ns, status.st_ctime_ns)
    if abs(time.time_ns() - last) < _FRESH:
        return None
    return (
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        status.st_dev,
    )
