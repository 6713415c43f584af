"""The memory of NumPy's arrays as tensors of safetensors; `stored_arrays` makes arrays over such memory.

Dtypes that safetensors has no word for are rows of bytes.
"""

from __future__ import annotations

from functools import lru_cache

from packager.tensors import TensorData, dtype_name, stored_as

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any

    from .base import Encoding


def usual_data(array: Any) -> TensorData | None:
    """Return the memory of an array whose dtype safetensors has a word for; None for any other.

    The straight path of tens of thousands of arrays; `array_data` says the same of them.
    """
    dtype = array.dtype
    word = None if dtype.metadata is not None else word_of(dtype)
    if word is None:
        return None
    strides = _in_elements(array.strides, dtype.itemsize)
    if strides is None:
        return None
    return TensorData(word, array.shape, strides, array.__array_interface__["data"][0], array)


@lru_cache(maxsize=64)  # those with metadata, which are equal to those without, are not asked for
def word_of(dtype: Any) -> str | None:
    """Return the word of safetensors for a dtype, if it has one."""
    name = dtype_name(dtype)
    word, row = ("", 1) if name is None else stored_as(name)
    return None if row else word


def array_data(array: Any, name: str | None) -> TensorData:
    """Return the memory of an array of a named dtype; without a name, as rows of bytes."""
    stored, row = stored_as(name) if name is not None else ("U8", array.dtype.itemsize)
    address = array.__array_interface__["data"][0]
    itemsize = array.dtype.itemsize
    if not row:
        strides = _in_elements(array.strides, itemsize)
        if strides is not None:
            return TensorData(stored, array.shape, strides, address, array)
        # A field of a structured array: its elements do not stand at multiples of their size.
        return array_data(array.copy(order="K"), name)
    return TensorData("U8", (*array.shape, row), (*array.strides, 1), address, array)


@lru_cache(maxsize=4096)  # tensors share few layouts
def _in_elements(strides: tuple[int, ...], itemsize: int) -> tuple[int, ...] | None:
    """Return strides in elements; None where some do not count whole ones."""
    if any(stride % itemsize for stride in strides):
        return None
    return tuple(stride // itemsize for stride in strides)


def plain_array(array: Any, context: Encoding) -> Any:
    """Return an array as one of NumPy's own class, over its own memory; warn of one that maps a file."""
    import numpy

    if type(array) is numpy.memmap:
        context.warn(
            "a numpy.memmap comes back as an ordinary array in memory: its values are stored, not the "
            "place of its file; map them anew where they are loaded, or save numpy.asarray() of it"
        )
    return array.view(numpy.ndarray)
