"""What is called while records are built, as `sys.setprofile` sees it: see inert_calls.py for what may be."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Final

from packager._codecs import Codec
from packager._objects.kinds import ROWS
from packager._objects.records import KIND_NAMES
from tests.attacks.call_names import is_of_view, name_of_code, name_of_function
from tests.attacks.inert_calls import is_listed


@dataclass
class Calls:
    """What was called: (the kind or codec that was being built, name of the function).

    `trusted` says whether the caller vouched for a name of the object.
    """

    seen: set[tuple[str, str]] = field(default_factory=set)
    trusted: bool = False

    def outside_the_list(self) -> list[tuple[str, str]]:
        """What was called that the row of the place does not list."""
        return sorted(
            (where, name) for where, name in self.seen if not is_listed(name, where, trusted=self.trusted)
        )


@contextmanager
def watched_building() -> Iterator[Calls]:
    """Note every function that is called by a step of building, or by what that calls."""
    calls = Calls()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            name, caller = name_of_code(frame.f_code), frame.f_back
        elif event == "c_call":
            name, caller = name_of_function(argument), frame
        else:
            return
        if is_of_view(frame.f_code) or (caller is not None and is_of_view(caller.f_code)):
            return
        where = _place(caller)
        if where is not None:
            calls.seen.add((where, name))

    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(previous)


_STEPS: Final[dict[CodeType, str]] = {
    row.make.__code__: KIND_NAMES[kind]  # type: ignore[attr-defined]  # they are functions
    for kind, row in ROWS.items()
}
_PHASES: Final = frozenset({"decode", "finish", "make", "fill", "set_state", "check_made"})


def _place(frame: FrameType | None) -> str | None:
    """Return the codec, or the kind of record, whose building this frame belongs to."""
    codec: str | None = None
    while frame is not None:
        me = frame.f_locals.get("self") if frame.f_code.co_argcount else None
        if codec is None and frame.f_code.co_name in _PHASES and issubclass(type(me), Codec):
            codec = me.name  # type: ignore[union-attr]  # a codec
        if frame.f_code in _STEPS:
            return codec or _STEPS[frame.f_code]
        frame = frame.f_back
    return None
