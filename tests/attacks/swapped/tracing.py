"""Which functions of libraries run while an archive is loaded."""

from __future__ import annotations

import re
import sys
from types import CodeType, FrameType, TracebackType
from typing import Any

_FOREIGN = re.compile(r"site-packages/(?!numpy/|msgpack/|_distutils_hack/)")
"""Where libraries lie; NumPy and msgpack are what our own checks are made of."""


class Tracer:
    """A context in which functions of libraries that others call are remembered, but for known ones."""

    def __init__(self, known: set[str]) -> None:
        self._known = known
        self._codes: dict[CodeType, None] = {}

    @property
    def new(self) -> list[str]:
        """What ran that was not known."""
        names = {
            f"{code.co_filename.rpartition('site-packages/')[2]}:{code.co_qualname}" for code in self._codes
        }
        return sorted(names - self._known)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or frame.f_code in self._codes or not _is_foreign(frame):
            return
        if frame.f_back is None or not _is_foreign(frame.f_back):
            self._codes[frame.f_code] = None

    def __enter__(self) -> Tracer:
        sys.setprofile(self._note)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        sys.setprofile(None)


def _is_foreign(frame: FrameType) -> bool:
    return _FOREIGN.search(frame.f_code.co_filename) is not None
