"""Tensors of state dicts, whichever library they belong to: out of one, and into any.

A value of a state dict that is nothing but a tensor becomes an entry of a safetensors member.
"raw" is the name of a NumPy dtype that safetensors has no word for; such a tensor is stored as rows
of bytes.
"""

from __future__ import annotations

from typing import Any, Final

from packager.libraries import library_of
from packager.tensors import dtype_from_name, dtype_name, dtype_of_stored, stored_as

from .base import Encoding, StoredTensor, TensorData

LIBRARIES: Final = ("numpy", "kellet", "torch")
"""What `as_=` of `load_state_dict` may be."""


def tensor_out(value: Any, context: Encoding) -> tuple[TensorData, str | None] | None:
    """The memory of a tensor and its raw dtype; None for a value that is not just a tensor.

    Gradients, hooks and whether a gradient is wanted are no part of a state dict.
    """
    library = library_of(value)
    if library == "torch":
        from .torch_tensors import plain_data

        return plain_data(value, context)
    if library == "kellet":
        from .kellet_tensors import plain_array

        value = plain_array(value)
    return None if value is None else _array_out(value)


def _array_out(value: Any) -> tuple[TensorData, str | None] | None:
    import numpy

    if type(value) is not numpy.ndarray:
        return None
    name = dtype_name(value.dtype)
    if name is None:
        return None
    from .arrays import array_data

    return array_data(value, name), (name if stored_as(name)[1] else None)


def tensor_in(stored: StoredTensor, raw: str | None, library: str, device: Any = None) -> Any:
    """The tensor of a library in stored memory, without a copy.

    Raises ValueError where the library, or NumPy here, does not have the dtype.
    """
    if library == "torch":
        from .torch_tensors import tensor_of

        return tensor_of(stored, raw, device)
    from .arrays import array_from

    name = raw if raw is not None else dtype_of_stored(stored.dtype)
    array = array_from(stored, dtype_from_name(name), name)
    if library == "numpy":
        return array
    import kellet

    return kellet.from_numpy(array)
