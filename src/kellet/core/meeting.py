"""How operands of several dtypes meet in functions that are computed in more than one step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import Variable
from ..dtypes import BOOL, FLOATING, category, dtype_name, get_default_dtype, result_dtype
from ..errors import DTypeError, ShapeError
from ..rules import RULES, Rule
from .dispatch import NONE, _arrays, _refuse, apply, scaled


def times(alpha: object, other: Any, target: Any, rule: Rule) -> Any:
    """Return `alpha * other`, in the dtype in which `other` meets `target`: what `rule` adds or subtracts.

    Raises DTypeError for an `alpha` of a kind that this dtype has not.
    """
    if type(alpha) is int and alpha == 1:
        return other
    if rule.refuses:
        _refuse(rule, _arrays((target, other)))
    if not (isinstance(other, Variable) and isinstance(alpha, int | float | complex | np.number)):
        return scaled(other, alpha)
    dtype = result_dtype([target._array, other._array])
    kind = category(dtype)
    found = "complex" if isinstance(alpha, complex | np.complexfloating) else type(alpha).__name__
    is_bool = isinstance(alpha, bool | np.bool_)
    if category(np.min_scalar_type(alpha)) > kind and not (kind == BOOL and not is_bool and found == "int"):
        raise DTypeError(f"{rule.name}: alpha is {found}, but the result is {dtype_name(dtype)}")
    if is_bool and kind != BOOL:
        raise DTypeError(f"{rule.name}: alpha is bool, but the result is {dtype_name(dtype)}; write 0 or 1")
    same = other if other._array.dtype == dtype else apply(RULES["cast"], (other,), {"dtype": dtype})
    return apply(RULES["mul"], (same, bool(alpha) if kind == BOOL else alpha), NONE)


def meeting(where: str, *values: Any) -> list[Any]:
    """Return tensors in the floating dtype in which they meet, so that what has several steps rounds once.

    Raises ShapeError where their shapes do not broadcast.
    """
    try:
        np.broadcast_shapes(*[value._array.shape for value in values])
    except ValueError as error:
        shapes = ", ".join(str(value._array.shape) for value in values)
        raise ShapeError(f"{where}: shapes {shapes} do not fit: {error}") from error
    dtype = result_dtype([value._array for value in values])
    if category(dtype) < FLOATING:
        dtype = get_default_dtype()
    return [v if v._array.dtype == dtype else apply(RULES["cast"], (v,), {"dtype": dtype}) for v in values]
