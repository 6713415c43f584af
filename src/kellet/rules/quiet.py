"""NumPy's floating-point warnings kept down where tensors compute: log of 0 is -inf, and nothing is said.

Since NumPy 2 the error state belongs to the context (`contextvars`), so a function run in a context
that was prepared once is quiet, at a tenth of what `numpy.errstate` costs. A context cannot be
entered twice; a call within a call (a finaliser that computes, say) is quiet already.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

Runner = Callable[..., Any]


class _Quiet(threading.local):
    """What runs a function quietly in this thread."""

    def __init__(self) -> None:
        self.run: Runner = _in_errstate
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
            context = contextvars.copy_context()
            context.run(np.seterr, all="ignore")
            self.run = context.run


def _in_errstate(function: Runner, *args: Any, **kwargs: Any) -> Any:
    with np.errstate(all="ignore"):
        return function(*args, **kwargs)


thread = _Quiet()
"""`thread.run(function, *args)` is `quietly` without its care: it raises RuntimeError within itself."""


def was_refused(error: RuntimeError) -> bool:
    """Say whether `thread.run` raised this before the call, being in use, and not the function."""
    return str(error).startswith("cannot enter context")


def quietly(function: Runner, *args: Any, **kwargs: Any) -> Any:
    """Call the function without floating-point warnings."""
    try:
        return thread.run(function, *args, **kwargs)
    except RuntimeError:
        # Raised before the call when the context is in use, or by the function, which raises again.
        return function(*args, **kwargs)
