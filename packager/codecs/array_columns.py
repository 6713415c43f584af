"""Arrays of NumPy that each have their memory to themselves, as columns.

The straight path of tens of thousands of arrays; `tensor_out` and `lay_out` say the same of them, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

from packager.archive import TensorIndex, flat_view

from .array_memory import word_of

_USUAL_KINDS: Final = "biuf"  # buffers know no complex numbers and no times
_USUAL_BYTES: Final = 8  # and no numbers of more bytes

_ALONE_IN_ORDER: Final = 0x0001 | 0x0004
"""NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_OWNDATA, which are part of the ABI of NumPy."""


def array_columns(keys: Sequence[str], values: Sequence[Any]) -> tuple[TensorIndex, list[memoryview]] | None:
    """Return arrays as tensors that fill their storages; None where any of them may be something else.

    That is one of another class, one whose elements lie in another order than that of its axes, one of a
    dtype that safetensors has no word for, one that is there twice, and a view: what has memory of its own
    shares it with no other that has, so that nothing has to be known of where they lie.
    """
    import numpy

    if not values or {*map(type, values)} != {numpy.ndarray} or len({*map(id, values)}) < len(values):
        return None
    if any(flags & _ALONE_IN_ORDER != _ALONE_IN_ORDER for flags in {*map(attrgetter("flags.num"), values)}):
        return None
    dtypes = list(map(attrgetter("dtype"), values))
    words = {number: _usual_word(dtype) for number, dtype in {id(one): one for one in dtypes}.items()}
    known = {number: word for number, word in words.items() if word is not None}
    if len(known) < len(words):
        return None
    found = [known[id(dtype)] for dtype in dtypes]
    shapes, sizes = list(map(attrgetter("shape"), values)), list(map(attrgetter("nbytes"), values))
    return TensorIndex.of_columns(keys, found, shapes, sizes), list(map(flat_view, values))


def _usual_word(dtype: Any) -> str | None:
    """Return the word of safetensors for a dtype whose arrays are buffers; None for another one."""
    if dtype.kind not in _USUAL_KINDS or dtype.itemsize > _USUAL_BYTES or dtype.isbuiltin != 1:
        return None
    return None if dtype.metadata is not None else word_of(dtype)
