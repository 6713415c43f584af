"""Functions that make tensors from data, from NumPy, and from shapes.

Floating tensors are of the default dtype unless told otherwise. `requires_grad=True` makes a leaf
that collects gradients. `device` may be "cpu" everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import Array, wrap
from ..dtypes import DType, DTypeLike, as_dtype, category, complex_partner, get_default_dtype
from ..errors import DTypeError, ShapeError
from .axes import shape_of
from .device import DeviceLike, check_device
from .tensor import Tensor


def tensor(
    data: object, *, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Return a tensor with a copy of `data`: numbers, nested sequences, an array, a tensor.

    Python floats give the default dtype, ints int64, bools bool; arrays keep theirs.

    Raises ShapeError for ragged sequences, DTypeError for values that are not numbers.

    >>> tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> tensor(0.5, dtype="float64")
    tensor(0.5000, dtype=float64)
    """
    check_device(device)
    return _made(np.array(_array_of(data, dtype)), requires_grad)


def as_tensor(data: object, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    """Return `data` as a tensor: itself if it is one, over the same memory if it is an array, else a copy.

    >>> kellet.as_tensor([1, 2], dtype=kellet.float64)
    tensor([1., 2.], dtype=float64)
    """
    check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return _made(_array_of(data, dtype), False)


def from_numpy(array: Array) -> Tensor:
    """Return a tensor over the memory of `array`: both see each write.

    Raises TypeError for a value that is not an ndarray.

    >>> import numpy
    >>> kellet.from_numpy(numpy.arange(3))
    tensor([0, 1, 2])
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy takes a numpy.ndarray, got {type(array).__name__}; use kellet.as_tensor")
    return _made(_checked(array), False)


def from_dlpack(data: object) -> Tensor:
    """Return a tensor over the memory of any object with `__dlpack__`.

    NumPy 1.x hands out memory of other libraries for reading only: writing to such a tensor raises
    ShapeError there. Tensors and arrays are shared for writing on every NumPy.

    Raises TypeError for an object without it.

    >>> import numpy
    >>> kellet.from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    if isinstance(data, (Tensor, np.ndarray)):
        return _made(_checked(np.asarray(data)), False)
    if not hasattr(data, "__dlpack__"):
        raise TypeError(f"from_dlpack: expected an object with __dlpack__, got {type(data).__name__}")
    return _made(_checked(np.from_dlpack(data)), False)


# --- by shape -------------------------------------------------------------------------------------


def zeros(
    *size: Any, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Return zeros. The shape is given as numbers or as one sequence.

    >>> kellet.zeros(2, dtype=kellet.int64)
    tensor([0, 0])
    """
    check_device(device)
    return _made(np.zeros(shape_of(size), _floating(dtype)), requires_grad)


def ones(
    *size: Any, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Return ones.

    >>> ones(2, requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """
    check_device(device)
    return _made(np.ones(shape_of(size), _floating(dtype)), requires_grad)


def empty(
    *size: Any, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Return an uninitialized tensor.

    >>> kellet.empty(2, 3).shape
    (2, 3)
    """
    check_device(device)
    return _made(np.empty(shape_of(size), _floating(dtype)), requires_grad)


def full(
    size: Sequence[int] | int,
    fill_value: complex | Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return one value everywhere; the dtype is that of the value unless given.

    >>> kellet.full((2,), 7)
    tensor([7, 7])
    """
    check_device(device)
    found = _array_of(fill_value, dtype)
    return _made(np.full(shape_of((size,)), found, found.dtype), requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a matrix of `n` rows with ones on the diagonal.

    >>> kellet.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_device(device)
    return _made(np.eye(n, m, dtype=_floating(dtype)), requires_grad)


def arange(
    start: float | Tensor,
    end: float | Tensor | None = None,
    step: float | Tensor = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the numbers from `start` (0 for one argument) up to, not including, `end`; int64 for ints.

    Raises ValueError for a `step` of 0, or one that leads away from `end`.

    >>> arange(3)
    tensor([0, 1, 2])
    """
    check_device(device)
    numbers: Any = (0, start, step) if end is None else (start, end, step)
    if dtype is None:
        whole = all(isinstance(value, int | np.integer) for value in numbers)
        dtype = np.int64 if whole else get_default_dtype()
    first, last, by = numbers
    if by == 0 or (last - first) * by < 0:
        raise ValueError(f"arange: steps of {by} do not lead from {first} to {last}; change the sign of step")
    return _made(np.arange(*numbers).astype(as_dtype(dtype)), requires_grad)


def linspace(
    start: float,
    end: float,
    steps: int,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return `steps` values from `start` to `end`, both included, evenly spaced.

    >>> kellet.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    check_device(device)
    made = _floating(dtype)
    return _made(_spaced(start, end, steps, made).astype(made), requires_grad)


def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return `steps` powers of `base`, the exponents evenly spaced from `start` to `end`, both included.

    >>> kellet.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    check_device(device)
    made = _floating(dtype)
    return _made(np.power(float(base), _spaced(start, end, steps, made)).astype(made), requires_grad)


def _spaced(start: float, end: float, steps: int, dtype: Any) -> np.ndarray[Any, Any]:
    """Evenly spaced values from `start` to `end`, cut to integers first where `dtype` has no others."""
    first, last = (int(start), int(end)) if dtype.kind in "iu" else (start, end)
    return np.asarray(np.linspace(first, last, steps))


# --- like another ---------------------------------------------------------------------------------


def zeros_like(
    input: Tensor, *, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Return zeros in the shape and dtype of `input`.

    >>> kellet.zeros_like(kellet.tensor([1, 2]))
    tensor([0, 0])
    """
    return zeros(input.shape, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


def ones_like(
    input: Tensor, *, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Return ones in the shape and dtype of `input`.

    >>> kellet.ones_like(kellet.tensor([1.5, 2.5]))
    tensor([1., 1.])
    """
    return ones(input.shape, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


def empty_like(
    input: Tensor, *, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Return an uninitialized tensor of the shape and dtype of `input`.

    >>> kellet.empty_like(kellet.tensor([1, 2])).dtype
    dtype('int64')
    """
    return empty(input.shape, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


def full_like(
    input: Tensor,
    fill_value: complex | Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return one value in the shape and dtype of `input`.

    >>> kellet.full_like(kellet.tensor([1, 2]), 7)
    tensor([7, 7])
    """
    return full(
        input.shape, fill_value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad
    )


# --- helpers --------------------------------------------------------------------------------------


def _made(array: Array, requires_grad: bool) -> Tensor:
    made: Tensor = wrap(array)  # type: ignore[assignment]  # wrap makes Tensors
    return made.requires_grad_() if requires_grad else made


def _floating(dtype: Any) -> DType:
    return get_default_dtype() if dtype is None else as_dtype(dtype)


def _array_of(data: Any, dtype: Any) -> Array:
    """`data` as an array of the dtype asked for, or the one that tensors of such data have."""
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(data, Variable):
        found = data._array
    elif isinstance(data, np.ndarray | np.generic):
        found = _checked(np.asarray(data))
    else:
        found = _from_python(data, wanted)
    return found if wanted is None or found.dtype == wanted else found.astype(wanted)


def _from_python(data: Any, wanted: DType | None) -> Array:
    try:
        found = np.asarray(_plain(data), dtype=wanted)
    except (ValueError, TypeError) as error:
        raise ShapeError(
            f"cannot make a tensor of this data: {error}; pass numbers in sequences of equal length"
        ) from error
    if wanted is not None:
        return found
    if found.dtype == np.float64 and not _holds_numpy(data):
        return found.astype(get_default_dtype())
    if found.dtype == np.complex128 and not _holds_numpy(data):
        return found.astype(complex_partner(get_default_dtype()))
    return _checked(found)


def _plain(data: Any) -> Any:
    """Nested sequences with arrays in the place of tensors."""
    if isinstance(data, Variable):
        return data._array
    if isinstance(data, list | tuple):
        return [_plain(one) for one in data]
    return data


def _holds_numpy(data: Any) -> bool:
    """Whether the dtype was chosen by arrays, which keep theirs, and not by Python numbers."""
    while isinstance(data, list | tuple) and data:
        data = data[0]
    return isinstance(data, np.ndarray | np.generic | Variable) or hasattr(data, "__array__")


def _checked(array: Array) -> Array:
    try:
        category(array.dtype)
    except TypeError:
        raise DTypeError(
            f"cannot make a tensor of dtype {array.dtype}; bool, integer, floating and complex dtypes can "
            "be used"
        ) from None
    return array
