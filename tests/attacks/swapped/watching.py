"""What a child watches of itself while an archive is loaded and used: events, memory, files, processes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

from .values import MARK

_READS = frozenset("open os.listdir os.scandir glob.glob glob.glob/2 import exec compile".split())
_IGNORED = re.compile(
    r"^(object\.__(get|set|del)attr__|sys\._getframe.*|marshal\..*|code\.__new__|builtins\.id|gc\..*|cpython\..*|"
    r"sys\.(settrace|setprofile|unraisablehook|excepthook|_current_frames)|array\.__new__|mmap\.__new__|pathlib\.Path\.glob|"
    r"time\.sleep|signal\..*|function\.__new__|_thread\.start_.*|ctypes\.(cdata|addressof|string_at|cast|wstring_at|"
    r"call_function|create_.*|dlsym.*|seh.*|get_errno|set_errno)(/.*)?|numpy\..*|weakref.*|sqlite3.*|re\..*|syslog.*)$"
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """Remembers what a phase did that an archive must not do."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._children: set[str] = set()
        self.seen: dict[str, None] = {}
        self.phase = ""
        self.given = os.path.join(folder, "given")
        self._is_quiet = True
        sys.addaudithook(self._hook)

    def begin(self, phase: str) -> None:
        """Watch from here on; `phase` is "load", "use" or "pickle"."""
        self.phase, self._is_quiet = phase, False

    def end(self) -> list[str]:
        """Stop, and return what was seen."""
        self._is_quiet = True
        found, self.seen = list(self.seen), {}
        return found

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._is_quiet or _IGNORED.match(event):
            return
        self._is_quiet = True
        try:
            said = self._said(event, arguments)
            if said:
                self.seen[said] = None
        finally:
            self._is_quiet = False

    def _said(self, event: str, arguments: tuple[Any, ...]) -> str:
        """Return an event in words; "" for one that is nobody's business."""
        if event == "open":
            return self._opened(*arguments)
        if event == "import":
            name = str(arguments[0])  # of others, a listed name may lead to any
            return f"import of a name of the archive: {name}" if MARK in name else ""
        if event in ("exec", "compile"):
            return self._code(event, arguments)
        if event == "pickle.find_class":
            return "" if self.phase == "pickle" else f"pickle.find_class {'.'.join(map(str, arguments))}"
        if any(str(value).startswith(self.given) for value in arguments):
            return ""
        if event in _READS:
            text = repr(arguments)
            return f"{event} {text:.80}" if MARK in text else ""
        return f"{event} {_plain(arguments)}"

    def _opened(self, path: Any, mode: Any, flags: Any) -> str:
        text = str(path)
        is_written = bool(isinstance(flags, int) and flags & _WRITING)
        if is_written and not text.startswith((self.given, "/dev/null")):
            return f"write {_place(text)}"
        if MARK in text and self.phase == "load":
            return f"read of a place in the archive: {_place(text)}"
        return ""

    def _code(self, event: str, arguments: tuple[Any, ...]) -> str:
        if event == "exec" and isinstance(arguments[0], CodeType):
            return (
                f"code of the archive: {event}" if any(MARK in word for word in _words(arguments[0])) else ""
            )
        text = arguments[0]
        if isinstance(text, bytes):
            text = text.decode(errors="replace")
        return f"code of the archive: {event} {text:.80}" if isinstance(text, str) and MARK in text else ""

    def left(self) -> list[str]:
        """Return what lies in the watched folder now, and whether processes run; remove the files."""
        found = []
        for name in os.listdir(self._folder):
            path = os.path.join(self._folder, name)
            if name == "given":
                continue
            found.append(f"written: {name}")
            _remove(path)
        with open("/proc/thread-self/children") as file:
            children = set(file.read().split())
        if children - self._children:  # those of an archive before may live on
            found.append("a process was started")
        self._children |= children
        return found


def _words(code: CodeType, depth: int = 3) -> Iterator[str]:
    yield from map(str, code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType) and depth:
            yield from _words(constant, depth - 1)


def _place(text: str) -> str:
    return re.sub(r"[0-9a-f]{6,}|\d+|tmp\w+", "#", text)[:90]


def _plain(arguments: tuple[Any, ...]) -> str:
    return _place(", ".join(repr(value)[:60] for value in arguments if isinstance(value, str | int | bytes)))


def _remove(path: str) -> None:
    import shutil

    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)


def peak_begins() -> int:
    """Begin to measure the memory of a phase anew; return how much is in use, in bytes."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return _memory()[0]


def peak() -> int:
    """Return the most memory that was in use since."""
    return _memory()[1]


def _memory() -> tuple[int, int]:
    with open("/proc/self/status") as file:
        text = file.read()
    found = dict(re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB", text, re.MULTILINE))
    return int(found["VmRSS"]) * 1024, int(found["VmHWM"]) * 1024
