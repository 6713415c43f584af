"""Records every function of Python and C that is called while graphs are loaded, and what the process does.

The profiler in C that `cProfile` stands on shows each frame of Python that begins, wherever it was called
from, and each function in C that Python calls. It does not show C that calls C, nor calls of classes built
in C: for these there are sentinels (world.py); what a class written in Python does shows as frames.

A batch of graphs is watched at once. Where a call was seen that the statement does not have, each graph is
loaded again under `sys.setprofile`, which shows who called.
"""

from __future__ import annotations

import _lsprof
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from tests.attacks.call_names import is_of_view, name_of_code, name_of_shown, shown_by_profiler

from .world import CALLED

# What an audit hook is told of that changes nothing: maps of open files, ids, views on functions and frames.
_QUIET = tuple(
    "builtins.id array.__new__ mmap. object. sys._getframe sys.setprofile sys.monitoring gc.".split()
)


class Tracer:
    """Watches loads, and judges each name once by `is_allowed`.

    Names are those of the list of what may run: see call_names.py. `seen` has all that were called, and
    `explained` those that are allowed to the function that called them alone.
    """

    def __init__(self, is_allowed: Callable[[str], bool]) -> None:
        self.seen: set[str] = set()
        self.explained: set[str] = set()
        self._is_allowed = is_allowed
        self._judged: dict[Any, str | None] = {}
        self._events: list[str] = []
        self._watching = False
        sys.addaudithook(self._audit)

    @contextmanager
    def watch(self) -> Iterator[list[str]]:
        """Note what is called and done; the list that this gives has, afterwards, what is not allowed."""
        found: list[str] = []
        profiler = _lsprof.Profiler(subcalls=False, builtins=True)
        with self._recorded(found):
            profiler.enable()
            try:
                yield found
            finally:
                profiler.disable()
        found += sorted({name for entry in profiler.getstats() for name in self._wrong(entry.code)})

    @contextmanager
    def locate(self) -> Iterator[list[str]]:
        """Do the same, several times slower, and say who called."""
        found: list[str] = []

        def profile(frame: FrameType, event: str, argument: Any) -> None:
            if event == "call":
                wrong, caller = self._wrong(frame.f_code), frame.f_back
            elif event == "c_call":
                wrong, caller = self._wrong(shown_by_profiler(argument)), frame
            else:
                return
            by = "" if caller is None else name_of_code(caller.f_code)
            for name in wrong:
                if name in _BY_ITS_CALLER.get(by, ()):
                    self.explained.add(name)
                else:
                    found.append(f"{name}, called by {by}")

        with self._recorded(found):
            sys.setprofile(profile)
            try:
                yield found
            finally:
                sys.setprofile(None)

    @contextmanager
    def _recorded(self, found: list[str]) -> Iterator[None]:
        CALLED.clear()
        self._events.clear()
        before, sys.breakpointhook = sys.breakpointhook, _note_sentinel
        # What others left for the collector, and what they do when it runs, is none of what is watched.
        gc.collect()
        callbacks, enabled = gc.callbacks[:], gc.isenabled()
        gc.callbacks.clear()
        gc.disable()
        self._watching = True
        try:
            yield
        finally:
            self._watching = False
            sys.breakpointhook = before
            gc.callbacks[:] = callbacks
            if enabled:
                gc.enable()
            called = [name for name in CALLED if not (name.startswith("outside.") and self._is_allowed(name))]
            found += [*self._events, *(f"the sentinel {name} was called" for name in called)]

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._watching and not event.startswith(_QUIET) and not self._is_allowed(f"event {event}"):
            self._events.append(f"event {event} {_shown(arguments)}")

    def _wrong(self, called: CodeType | str) -> list[str]:
        """Return the name of something that was called, if it is not allowed."""
        if called not in self._judged:
            name = name_of_code(called) if isinstance(called, CodeType) else name_of_shown(called)
            self.seen.add(name)
            self._judged[called] = (
                None if self._is_allowed(name) or name in _OWN or _is_of_view(called, name) else name
            )
        wrong = self._judged[called]
        return [] if wrong is None else [wrong]


def _is_of_view(called: CodeType | str, name: str) -> bool:
    """Say whether the view of Windows calls it, in the place of the import statements of our modules."""
    if isinstance(called, CodeType):
        return is_of_view(called)
    return name == "builtins:__import__" and os.environ.get("KELLET_VIEW") == "windows"


# What PyTorch says of a state that does not fit is a text of its own, and not one of the archive.
_LOADING = "torch.nn.modules.module:Module"
# A hook of states is called with the state, also where it is an object. In data alone there are none: what is
# called there is found by its name.
_HOOK = {"tests.attacks.grammar.world:_sentinel.<locals>.method"}
_BY_ITS_CALLER = {
    f"{_LOADING}.load_state_dict.<locals>.load": _HOOK,
    "torch.nn.modules.module:_WrappedHook.__call__": _HOOK,
    "kellet.nn.load_state_dict:_Load.run_pre_hook": _HOOK,
    "kellet.nn.load_state_dict:_run_post_hook": _HOOK,
    f"{_LOADING}.load_state_dict": {"builtins:str.format"},
    f"{_LOADING}._load_from_state_dict": {"builtins:str.format", "torch._C:TensorBase.size"},
}
_OWN = frozenset({"_lsprof:Profiler.disable", "sys:setprofile"})


def _note_sentinel(*arguments: Any, **options: Any) -> None:
    CALLED.append("in C")


def _shown(arguments: tuple[Any, ...]) -> str:
    """Return arguments of an event as text, without a call of a method of theirs."""
    plain = (str, bytes, int, float, type(None))
    return ", ".join(repr(one)[:80] if type(one) in plain else type(one).__name__ for one in arguments)
