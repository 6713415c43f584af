"""Values held against others: equal up to rounding, or an AssertionError that says where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import Tensor
from ..dtypes import dtype_name

# Relative and absolute, as in PyTorch; all other dtypes have to be equal.
TOLERANCES = {
    "bfloat16": (1.6e-2, 1e-5),
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: object,
    expected: object,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: str | None = None,
) -> None:
    """Raise AssertionError unless two tensors, arrays or numbers are close, or all in sequences and mappings.

    Values are close if each differs by at most `atol + rtol * abs(expected)`; by default the limits
    are those of the less exact dtype. Shapes have to be equal, and with `check_dtype` dtypes. `msg` takes the
    place of the message.

    Raises ValueError where one limit is given without the other.

    Source: torch.testing.assert_close.

    >>> assert_close(kellet.ones(2), kellet.ones(2) + 1e-7)
    >>> assert_close({"a": [1.0]}, {"a": [2.0]})
    Traceback (most recent call last):
    AssertionError: at ['a'][0]: 1 of 1 values differ by more than 1e-07 + 1e-07 * abs(expected): ...
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close: give both of rtol and atol, or neither")
    given = None if rtol is None or atol is None else (rtol, atol)
    found = _difference(actual, expected, "", _Limits(given, equal_nan, check_dtype))
    if found:
        raise AssertionError(msg or found)


@dataclass(frozen=True, slots=True)
class _Limits:
    given: tuple[float, float] | None
    equal_nan: bool
    check_dtype: bool

    def between(self, actual: Any, expected: Any) -> tuple[float, float]:
        """The relative and the absolute limit for two arrays: those of the less exact one."""
        if self.given:
            return self.given
        both = [TOLERANCES.get(dtype_name(one.dtype), (0.0, 0.0)) for one in (actual, expected)]
        return max(one[0] for one in both), max(one[1] for one in both)


def _difference(actual: Any, expected: Any, at: str, limits: _Limits) -> str:
    """Say where the first difference is, or nothing; `at` leads to the values."""
    place = f"at {at}: " if at else ""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            return f"{place}keys are {[*actual]}, expected {[*expected]}"
        pairs = [(f"{at}[{key!r}]", actual[key], value) for key, value in expected.items()]
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"{place}{len(actual)} values, expected {len(expected)}"
        pairs = [(f"{at}[{i}]", *both) for i, both in enumerate(zip(actual, expected, strict=True))]
    else:
        return _of_arrays(_array(actual), _array(expected), place, limits)
    return next(filter(None, (_difference(one, other, where, limits) for where, one, other in pairs)), "")


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _of_arrays(actual: Any, expected: Any, place: str, limits: _Limits) -> str:
    if actual.shape != expected.shape:
        return f"{place}shape {actual.shape}, expected {expected.shape}"
    if limits.check_dtype and actual.dtype != expected.dtype:
        return f"{place}dtype {dtype_name(actual.dtype)}, expected {dtype_name(expected.dtype)}"
    rtol, atol = limits.between(actual, expected)
    wrong = actual != expected
    if rtol or atol or limits.equal_nan:
        wide = np.complex128 if "c" in actual.dtype.kind + expected.dtype.kind else np.float64
        actual, expected = actual.astype(wide), expected.astype(wide)
        wrong = ~np.isclose(actual, expected, rtol, atol, equal_nan=limits.equal_nan)
    if not np.any(wrong):
        return ""
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{place}{np.sum(wrong)} of {np.size(wrong)} values differ by more than {atol:g} + {rtol:g} * "
        f"abs(expected): the first is {actual[first]}, expected {expected[first]}, at {first}"
    )
