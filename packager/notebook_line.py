"""What a notebook shows while an export is proved: one line, which is empty again at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from packager.texts import STEPS

_INTERVAL: Final = 0.2

__all__ = ["shown_in_notebook"]


@contextmanager
def shown_in_notebook() -> Iterator[Callable[[str, int, int], None] | None]:
    """Give a function of (step, done, total) that shows them in the notebook whose kernel this is; else None.

    >>> with shown_in_notebook() as shown:
    ...     print(shown)
    None
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:  # a terminal, or no IPython
        yield None
        return
    line = _Line()
    try:
        yield line
    finally:
        line.end()


class _Line:
    """An output of the cell that runs: it is there from the first step of the proof on."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown = 0.0

    def __call__(self, step: str, done: int, total: int) -> None:
        if self._handle is None and step not in STEPS:
            return  # a small export is over before anybody reads
        if time.monotonic() - self._shown >= _INTERVAL:
            self._shown = time.monotonic()
            amount = f" ({done} of {total})" if total else ""
            self._show(f"{STEPS.get(step, step)}{amount}")

    def end(self) -> None:
        """Leave an empty output."""
        if self._handle is not None:
            self._show("")

    def _show(self, text: str) -> None:
        content = {"text/plain": text}
        if self._handle is None:
            display = sys.modules["IPython"].display.display
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
