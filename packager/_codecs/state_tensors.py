"""Tensors of state dicts, whichever library they belong to, on their way into a file.

A value of a state dict that is nothing but a tensor becomes an entry of a safetensors member. "raw" is the
name of a NumPy dtype that safetensors has no word for; such a tensor is stored as rows of bytes. What only
one library needs is read where a tensor is of that library.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from packager._archive import TensorIndex, flat_view
from packager._tensors import TensorData, dtype_name, library_of, library_of_class, stored_as

from .stored_arrays import array_data, plain_array

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .base import Encoding


def tensor_out(value: Any, context: Encoding) -> tuple[TensorData, str | None] | None:
    """Return the memory of a tensor and its raw dtype; None for a value that is not just a tensor.

    Gradients, hooks and whether a gradient is wanted are no part of a state dict.
    """
    import numpy

    library = library_of(value)
    if library == "torch":
        from .torch_tensors import plain_data

        return plain_data(value, context)
    if library == "kellet":
        from .kellet_codec import array_of, is_plain

        value = array_of(value) if is_plain(value) else None
    if type(value) not in (numpy.ndarray, numpy.memmap):
        return None
    name = dtype_name(value.dtype)
    if name is None:
        return None
    return array_data(plain_array(value, context), name), name if stored_as(name)[1] else None


def columns_out(keys: Sequence[str], values: Sequence[Any]) -> tuple[TensorIndex, list[memoryview]] | None:
    """Return tensors that `tensor_out` takes as columns, where all are usual; None where any may be another.

    Usual are arrays of NumPy that `array_columns` takes, and tensors of kellet that are no more than these.
    """
    libraries = {kind: library_of_class(kind) for kind in {*map(type, values)}}
    if "kellet" in libraries.values():
        from .kellet_codec import array_of, is_plain

        values = [
            array_of(value) if libraries[type(value)] == "kellet" and is_plain(value) else value
            for value in values
        ]
    return array_columns(keys, values)


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
    return None if dtype.metadata is not None else _word_of(dtype)


@lru_cache(maxsize=64)  # those with metadata, which are equal to those without, are not asked for
def _word_of(dtype: Any) -> str | None:
    """Return the word of safetensors for a dtype, if it has one."""
    name = dtype_name(dtype)
    word, row = ("", 1) if name is None else stored_as(name)
    return None if row else word
