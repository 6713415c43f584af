"""What an export says of its steps by itself: one line in a notebook, empty at the end; and to `logging`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from packager._texts import STEPS, one_line

_INTERVAL: Final = 0.2


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


def log(file: str, said: str) -> None:
    """Tell the logger "packager", at the level INFO, what is done with a file, where logging is in use.

    >>> log("net.kellet", "writing")
    """
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger("packager").info("%s: %s", one_line(file), one_line(STEPS.get(said, said)))


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
