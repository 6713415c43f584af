"""The cyclic garbage collector, which waits while much is made."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["gc_paused", "gc_running"]

_paused = 0  # blocks that have paused it


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector, and let it run again on the way out if it did before.

    Collecting while much is made finds nothing, and takes half of the time or more. What was made
    stays young: made old at once (`gc.freeze`, `gc.unfreeze`), it would spare the next collection a
    tenth of the time of a walk, but no collection would come to look at it once it is garbage, and
    a program that exports or loads in a loop would keep every round.
    """
    global _paused
    enabled = gc.isenabled()
    gc.disable()
    _paused += enabled
    try:
        yield
    finally:
        _paused -= enabled
        if enabled:
            gc.enable()


@contextlib.contextmanager
def gc_running() -> Iterator[None]:
    """Let the collector run inside of a pause, where code of a user may make garbage of any size.

    Where no `gc_paused` has stopped it, it stays as it is.
    """
    waits = _paused > 0 and not gc.isenabled()
    if waits:
        gc.enable()
    try:
        yield
    finally:
        if waits:
            gc.disable()
