"""Tensors of state dicts, whichever library they belong to, on their way into a file.

A value of a state dict that is nothing but a tensor becomes an entry of a safetensors member. "raw" is the
name of a NumPy dtype that safetensors has no word for; such a tensor is stored as rows of bytes. What only
one library needs is read where a tensor is of that library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from packager.tensors import TensorData, dtype_name, library_of, library_of_class, stored_as

from .array_memory import array_data, plain_array, usual_data

if TYPE_CHECKING:
    from packager.archive import TensorIndex

    from .base import Encoding


def tensor_out(value: Any, context: Encoding) -> tuple[TensorData, str | None] | None:
    """Return the memory of a tensor and its raw dtype; None for a value that is not just a tensor.

    Gradients, hooks and whether a gradient is wanted are no part of a state dict.
    """
    import numpy

    if type(value) is numpy.ndarray and (usual := usual_data(value)) is not None:
        return usual, None
    library = library_of(value)
    if library == "torch":
        from .torch_tensors import plain_data

        return plain_data(value, context)
    if library == "kellet":
        from .tensors import array_of, is_plain

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
        from .tensors import array_of, is_plain

        values = [
            array_of(value) if libraries[type(value)] == "kellet" and is_plain(value) else value
            for value in values
        ]
    from .array_columns import array_columns

    return array_columns(keys, values)
