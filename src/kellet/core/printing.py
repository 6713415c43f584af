"""How a tensor prints: as the call that would make it, with the digits that PyTorch shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import Array
from ..dtypes import bool_, complex_partner, dtype_name, get_default_dtype, int64

DIGITS = 4
THRESHOLD = 1000
WIDTH = 80
HEAD = "tensor("


def describe(tensor: Variable) -> str:
    """Describe a tensor as `tensor([1., 2.], dtype=float64, grad_fn=<MulBackward0>)`.

    Floating values have four digits, fewer when all are whole, and powers of ten when they differ
    too much in size. More than 1000 elements are summarised. A subclass says its name first.
    """
    array = tensor._array
    parts = [_values(array)]
    if array.size == 0 and array.shape != (0,):
        parts.append(f"size={array.shape}")
    default = get_default_dtype()
    plain = (default, complex_partner(default), int64, bool_) if array.size else (default,)
    if array.dtype not in plain:
        parts.append(f"dtype={dtype_name(array.dtype)}")
    node = tensor.grad_fn
    if node is not None:
        parts.append(f"grad_fn=<{node.name()}>")
    elif tensor.requires_grad:
        parts.append("requires_grad=True")
    text = HEAD + _joined(parts) + ")"
    kind = type(tensor).__name__
    return text if kind == "Tensor" else f"{kind} containing:\n{text}"


def _values(array: Array) -> str:
    if array.size == 0:
        return "[]"
    # Dtypes that NumPy does not bring itself (ml_dtypes) are written as float32.
    shown = array.astype(np.float32) if array.dtype.isbuiltin == 2 else array
    return np.array2string(
        shown,
        separator=", ",
        prefix=HEAD,
        max_line_width=WIDTH,
        threshold=THRESHOLD,
        formatter={"all": _formatter(_visible(shown))},
    )


def _visible(array: Array) -> Array:
    """The values that are printed: of a long array those at the ends of each axis."""
    if array.size <= THRESHOLD:
        return array
    for axis, length in enumerate(array.shape):
        if length > 6:
            array = np.take(array, [0, 1, 2, length - 3, length - 2, length - 1], axis=axis)
    return array


def _formatter(values: Array) -> Callable[[Any], str]:
    """One form for all values, so that they stand in columns."""
    if values.dtype.kind == "c":
        real, imag = _formatter(values.real), _formatter(np.abs(values.imag))
        return lambda value: (
            f"{real(value.real)}{'-' if np.signbit(value.imag) else '+'}{imag(abs(value.imag))}j"
        )
    one = _form(values) if values.dtype.kind == "f" else str
    width = max([len(one(value)) for value in values.reshape(-1)], default=0)
    return lambda value: one(value).rjust(width)


def _form(values: Array) -> Callable[[Any], str]:
    """How floating values are written: whole, with four digits, or with a power of ten."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)].astype(np.float64))
    if not sizes.size:
        return _as_whole
    low, high = sizes.min(), sizes.max()
    whole = bool((sizes == np.floor(sizes)).all())
    if high / low > 1000 or high > 1e8 or (not whole and low < 1e-4):
        return lambda value: f"{value:.{DIGITS}e}"
    return _as_whole if whole else lambda value: f"{value:.{DIGITS}f}"


def _as_whole(value: Any) -> str:
    return f"{value:.0f}." if np.isfinite(value) else str(value)


def _joined(parts: list[str]) -> str:
    """The parts on one line, or what follows the values on a line of its own."""
    text = ", ".join(parts)
    last = len(parts[0].rsplit("\n", 1)[-1]) + (0 if "\n" in parts[0] else len(HEAD))
    if not parts[1:] or last + len(text) - len(parts[0]) + 1 <= WIDTH:
        return text
    return parts[0] + ",\n" + " " * len(HEAD) + ", ".join(parts[1:])
