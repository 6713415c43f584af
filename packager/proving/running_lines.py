"""Which lines of an archive's code run in the clean process, where that is asked."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from types import FrameType
from typing import Any

from .watching import CodePlaces

Line = tuple[str, int, str]
"""An entry, a line of it, and the function that it is in; "" for none."""

_Trace = Callable[[FrameType, str, Any], Any]


class Runs:
    """Which of some lines of the archive's code have run, by Python's tracing; none are traced unasked.

    Only code of the files in which they stand is traced line by line.
    """

    def __init__(self, places: CodePlaces, asked: Iterable[Line]) -> None:
        self.found: set[Line] = set()
        self._places = places
        self._asked: dict[str, dict[int, set[str]]] = {}
        for file, line, function in asked:
            self._asked.setdefault(file, {}).setdefault(line, set()).add(function)
        self._known: dict[str, _Trace | None] = {}

    def watch(self) -> None:
        """Begin to trace; it ends with the process."""
        if self._asked:
            threading.settrace(self._enter)
            sys.settrace(self._enter)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> _Trace | None:
        file = frame.f_code.co_filename
        try:
            return self._known[file]
        except KeyError:
            entry = self._places.entry_of(file) or ""
            lines = self._asked.get(entry)
            trace = None if lines is None else self._tracing(entry, lines)
            return self._known.setdefault(file, trace)

    def _tracing(self, entry: str, lines: Mapping[int, Collection[str]]) -> _Trace:
        def trace(frame: FrameType, event: str, argument: Any) -> _Trace:
            for function in lines.get(frame.f_lineno, ()):
                if _is_inside(frame, function):
                    self.found.add((entry, frame.f_lineno, function))
            return trace

        return trace


def _is_inside(frame: FrameType, function: str) -> bool:
    """Say whether a frame runs a function, or what is inside of it, and not the line that defines it."""
    running = frame.f_code.co_qualname.replace("<locals>.", "")
    return not function or f"{running}.".startswith(f"{function}.")
