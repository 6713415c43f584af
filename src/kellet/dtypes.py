"""What holds of dtypes, and how two of them meet; which there are is in dtype_table.py.

A dtype of kellet is a NumPy dtype. Promotion follows PyTorch's categories: bool, integer, floating,
complex. Tensors with axes decide before tensors of shape (), and those before Python numbers; the
later ones matter only where their category is higher. An integer that meets a floating dtype takes
that dtype, of any width (NumPy would widen).

bfloat16 and the float8 dtypes come from the ml_dtypes package, where that is installed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtype_table
from .dtype_table import *
from .dtype_table import ML_DTYPES, complex64, complex128, float32, float64, int64
from .dtype_table import DType as DType
from .dtype_table import DTypeLike as DTypeLike
from .dtype_table import bool_ as bool_
from .errors import DTypeError

if not TYPE_CHECKING:  # type checkers read the stars above, and no list that is put together
    __all__ = [
        "DType",
        "DTypeLike",
        "as_dtype",
        "bool_",
        "category",
        "complex_partner",
        "dtype_name",
        "finfo_dtype",
        "get_default_dtype",
        "is_differentiable",
        "ml_dtype",
        "number_dtype",
        "promote",
        "result_dtype",
        "set_default_dtype",
        "smallest_step",
        *dtype_table.__all__,
    ]

BOOL, INTEGER, FLOATING, COMPLEX = range(4)

_CATEGORIES = {"b": BOOL, "i": INTEGER, "u": INTEGER, "f": FLOATING, "c": COMPLEX}
_PYTHON = {bool: bool_, int: int64}
_default = {"float": float32}


def get_default_dtype() -> DType:
    """Return the dtype of Python floats and of new floating tensors: float32 unless set otherwise.

    >>> kellet.get_default_dtype()
    dtype('float32')
    """
    return _default["float"]


def set_default_dtype(dtype: DTypeLike) -> None:
    """Make `dtype`, a floating one, the default of the whole process.

    Raises DTypeError for a dtype that is not floating.

    >>> kellet.set_default_dtype(kellet.float64)
    >>> kellet.tensor(0.5).dtype
    dtype('float64')
    >>> kellet.set_default_dtype(kellet.float32)
    """
    found = as_dtype(dtype)
    if category(found) != FLOATING:
        raise DTypeError(
            f"the default dtype must be a floating one, got {dtype_name(found)}; pass kellet.float64"
        )
    _default["float"] = found


def as_dtype(dtype: DTypeLike) -> DType:
    """Make a NumPy dtype of a dtype, a name, a NumPy scalar type, or Python's bool, int, float, complex.

    `float` and `complex` stand for the default floating dtype and its complex partner, as in PyTorch.

    Raises DTypeError when it is none of these.

    >>> as_dtype("float16"), as_dtype(float)
    (dtype('float16'), dtype('float32'))
    """
    if dtype is float:
        return get_default_dtype()
    if dtype is complex:
        return complex_partner(get_default_dtype())
    if isinstance(dtype, str) and dtype in ML_DTYPES:
        return ml_dtype(dtype)
    try:
        found: DType = np.dtype(dtype)
        category(found)
    except TypeError as error:
        raise DTypeError(f"{dtype!r} is not a dtype of tensors; pass one such as kellet.float32") from error
    return found


def ml_dtype(name: str) -> DType:
    """Return the bfloat16 or float8 dtype called `name`, from ml_dtypes.

    Raises DTypeError where that package is not installed.

    >>> ml_dtype("bfloat16").itemsize
    2
    """
    try:
        import ml_dtypes
    except ImportError as error:
        raise DTypeError(f"the dtype {name} needs the package ml_dtypes: pip install ml_dtypes") from error
    found: DType = np.dtype(getattr(ml_dtypes, name))
    return found


if TYPE_CHECKING:
    bfloat16: DType
    float8_e4m3fn: DType
    float8_e5m2: DType
    float8_e4m3fnuz: DType
    float8_e5m2fnuz: DType
else:

    def __getattr__(name):
        """`kellet.bfloat16` and the float8 dtypes: ml_dtypes is imported when one is first asked for."""
        if name in ML_DTYPES:
            return ml_dtype(name)
        raise AttributeError(f"kellet has no attribute {name!r}")


def category(dtype: DType) -> int:
    """Return 0 for bool, 1 for integers, 2 for floating, 3 for complex dtypes; TypeError for any other.

    >>> category(kellet.float16), category(kellet.int64)
    (2, 1)
    """
    found = _CATEGORIES.get(dtype.kind)
    if found is None or dtype.type.__module__ == "ml_dtypes":
        if dtype.type.__module__ != "ml_dtypes":
            raise TypeError(f"no tensor has the dtype {dtype}")
        return INTEGER if "int" in dtype.name else FLOATING
    return found


def is_differentiable(dtype: DType) -> bool:
    """Say whether a tensor of this dtype may require a gradient: floating and complex ones may.

    >>> is_differentiable(kellet.float32), is_differentiable(kellet.int64)
    (True, False)
    """
    return dtype.kind in "fc" or (dtype.kind == "V" and category(dtype) == FLOATING)


def dtype_name(dtype: DType) -> str:
    """Return the name as kellet spells it: `float32`, `bool`, `bfloat16`.

    >>> dtype_name(kellet.bool)
    'bool'
    """
    return str(dtype.name)


def finfo_dtype(dtype: DType) -> DType:
    """Return the real dtype whose precision `dtype` has: complex64 has that of float32.

    >>> finfo_dtype(kellet.complex64)
    dtype('float32')
    """
    return np.empty(0, dtype).real.dtype if dtype.kind == "c" else dtype


def smallest_step(dtype: DType) -> float:
    """Return the distance from 1 to the next number of a floating or complex dtype.

    >>> smallest_step(kellet.float32)
    1.1920928955078125e-07
    """
    if dtype.kind == "V":
        import ml_dtypes

        return float(ml_dtypes.finfo(dtype).eps)
    return float(np.finfo(dtype).eps)


def complex_partner(dtype: DType) -> DType:
    """Return the complex dtype made of two of `dtype`; complex64 for float16 and bfloat16, too.

    >>> complex_partner(kellet.float64)
    dtype('complex128')
    """
    return complex128 if dtype == float64 else complex64


def promote(a: DType, b: DType) -> DType:
    """Return the common dtype of two tensors of equal standing.

    >>> promote(int64, float16), promote(float16, float32)
    (dtype('float16'), dtype('float32'))
    """
    if a == b:
        return a
    high, low = (a, b) if category(a) >= category(b) else (b, a)
    if category(high) == FLOATING and category(low) < FLOATING:
        return high
    if category(high) == COMPLEX:
        if category(low) < FLOATING:
            return high
        return complex128 if complex128 in (high, low) or low == float64 else complex64
    if "V" in (a.kind, b.kind):
        return high if low.kind not in "fV" else float64 if float64 in (a, b) else float32
    return np.promote_types(a, b)


def result_dtype(values: Iterable[Any]) -> DType:
    """Return the dtype in which `values` (ndarrays and Python numbers) meet; the rule is at the top.

    Raises DTypeError for anything else among the values.

    >>> import numpy
    >>> result_dtype([numpy.ones(2, "int64"), 0.5])
    dtype('float32')
    """
    wide: DType | None = None
    scalar: DType | None = None
    number: DType | None = None
    for value in values:
        if isinstance(value, np.ndarray):
            if value.ndim:
                wide = value.dtype if wide is None else promote(wide, value.dtype)
            else:
                scalar = value.dtype if scalar is None else promote(scalar, value.dtype)
        else:
            dtype = number_dtype(value)
            number = dtype if number is None else promote(number, dtype)
    found = _combine(wide, _combine(scalar, number))
    if found is None:
        raise DTypeError("there is no tensor among the arguments; pass at least one")
    return found


def number_dtype(value: object) -> DType:
    """Return the dtype that a Python number stands for when it is alone.

    Raises DTypeError for a value that is not a number.

    >>> number_dtype(3), number_dtype(0.5)
    (dtype('int64'), dtype('float32'))
    """
    for kind, dtype in _PYTHON.items():
        if isinstance(value, kind):
            return dtype
    if isinstance(value, float):
        return get_default_dtype()
    if isinstance(value, complex):
        return complex_partner(get_default_dtype())
    raise DTypeError(f"expected a tensor or a number, got {type(value).__name__}: {value!r}")


def _combine(strong: DType | None, weak: DType | None) -> DType | None:
    """What becomes of `strong` beside something of lower standing."""
    if strong is None or weak is None:
        return strong or weak
    if category(weak) <= category(strong):
        return strong
    if category(weak) == COMPLEX and category(strong) == FLOATING:
        return complex_partner(strong)
    return weak
