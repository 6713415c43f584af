"""Arrays of NumPy as memory of a file, and stored tensors as those of a library, over that memory.

Dtypes that safetensors has no word for are rows of bytes. Reading a state dict needs this and no codec, so it
stands apart from them.
"""

from __future__ import annotations

from functools import lru_cache

from packager._tensors import dtype_from_name, dtype_of_stored, stored_as

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

    from packager._tensors import StoredTensor, TensorData

    from .base import Child, Encoding

LIBRARIES: Final = ("numpy", "kellet", "torch")
"""What `as_=` of `load_state_dict` may be."""


def tensor_in(
    stored: StoredTensor,
    raw: str | None,
    library: str,
    device: object = None,
    made_of: dict[Any, Any] | None = None,
) -> Any:
    """Return the tensor of a library in stored memory, without a copy.

    `device` is `map_location`, for torch. By what `made_of` keeps, tensors over the same memory share a
    storage of torch, as ties do.

    Raises ValueError where the library, or NumPy here, does not have the dtype.
    """
    if library == "torch":
        from .torch_tensors import tensor_of

        return tensor_of(stored, raw, device, made_of)
    name = raw if raw is not None else dtype_of_stored(stored.dtype)
    array = array_from(stored, dtype_from_name(name), name)
    if library == "numpy":
        return array
    import kellet

    return kellet.from_numpy(array)


def array_from(tensor: StoredTensor, dtype: Any, name: str | None) -> Any:
    """Return the array of this dtype in stored memory: a view, writable where the memory is.

    Where it cannot be written to, elements that do not stand at multiples of their alignment are copied.

    Raises ValueError for a dtype with objects, and for rows of bytes that are not its elements.
    """
    import numpy

    if dtype.hasobject:
        raise ValueError(f"an array of {dtype} holds objects, which cannot be read from bytes")
    by_rows = name is None or stored_as(name)[1] > 0
    shape = tensor.shape[:-1] if by_rows else tensor.shape
    if by_rows and tensor.shape[-1] != dtype.itemsize:
        raise ValueError(f"rows of {tensor.shape[-1]} bytes for dtype {dtype}; expected {dtype.itemsize}")
    if by_rows and tensor.strides[-1] != 1 and dtype.itemsize > 1:
        raise ValueError("the bytes of an element are not contiguous")
    size = 1 if by_rows else dtype.itemsize
    strides = tuple(stride * size for stride in (tensor.strides[:-1] if by_rows else tensor.strides))
    if 0 in shape:
        made: Any = numpy.empty(shape, dtype)
    else:
        made = numpy.ndarray(shape, dtype, tensor.buffer, tensor.offset, strides)
    return in_place(made) if tensor.buffer.readonly else made


def array_data(array: Any, name: str | None) -> TensorData:
    """Return the memory of an array of a named dtype; without a name, as rows of bytes."""
    from packager._tensors import TensorData  # who reads needs nothing of what writes

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
            "a numpy.memmap is stored by its values and loads as an ordinary array; map a file again after "
            "loading, or save numpy.asarray() of it"
        )
    return array.view(numpy.ndarray)


def in_place(made: Any) -> Any:
    """Return an array over memory that cannot be written to, or a copy that cannot, either.

    Rows of bytes may stand anywhere in a file. What nobody can write to may be copied from there.
    """
    flags = made.flags
    if not flags.aligned:
        made = made.copy(order="K")
        flags = made.flags
    if flags.writeable:  # a copy, or one without elements
        flags.writeable = False
    return made


def array_layout(dtype: str, shape: tuple[int, ...]) -> Any:
    """Return shape and dtype of arrays in C order, and what makes one of these, memory, and its first byte.

    None for a dtype of safetensors that no array has here; `array_from` says why.
    """
    import numpy

    try:
        return shape, dtype_from_name(dtype_of_stored(dtype)), numpy.ndarray
    except ValueError:
        return None


def expect_elements(child: Child, name: str) -> None:
    """Raise ValueError unless a child is memory for elements of the named dtype."""
    from .base import expect, expect_tensor

    stored, row = stored_as(name)
    _, extents = expect_tensor(child, stored)
    expect(not row or (bool(extents) and extents[-1] == row), f"rows of {row} bytes")
