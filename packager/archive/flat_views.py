"""The bytes of a buffer, whatever its elements and axes are."""

from __future__ import annotations

from pickle import PickleBuffer
from typing import Any


def flat_view(buffer: Any) -> memoryview:
    """Return the bytes of a C-contiguous buffer of any format, without a copy.

    Raises ValueError for a buffer that is not C-contiguous.
    """
    view = memoryview(buffer)
    if view.format == "B" and view.ndim == 1 and view.c_contiguous:
        return view
    if not view.c_contiguous:
        raise ValueError("the buffer is not C-contiguous; copy it to one that is first")
    # Unlike memoryview.cast, this takes every format (complex numbers) and every shape (zeros in it).
    return PickleBuffer(view).raw()
