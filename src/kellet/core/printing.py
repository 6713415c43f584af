"""How a tensor prints: as the call that would make it, with the digits that PyTorch shows."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import Array
from ..dtypes import bool_, complex_partner, dtype_name, get_default_dtype, int64

HEAD = "tensor("


class PrintOptions(NamedTuple):
    """How tensors print; see `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
_now = [PrintOptions()]


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print, in the whole process; a `profile` sets all options, others override it.

    `precision` is the number of digits, `threshold` that of elements above which `edgeitems` at each
    end of an axis are shown, `linewidth` that of characters in a line. `sci_mode` switches powers of ten on
    or off; with None the values decide. Profiles are "default", "short" (2 digits) and "full" (all).

    Raises ValueError for another profile.

    Source: torch.set_printoptions.

    >>> kellet.set_printoptions(precision=2)
    >>> kellet.tensor([0.12345])
    tensor([0.12])
    >>> kellet.set_printoptions(profile="default")
    """
    if profile not in (None, *PROFILES):
        raise ValueError(f"set_printoptions: profile must be one of {', '.join(PROFILES)}, got {profile!r}")
    start = _now[0] if profile is None else PROFILES[profile]
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    changed = {name: value for name, value in given.items() if value is not None}
    _now[0] = start._replace(**changed, sci_mode=sci_mode)  # type: ignore[arg-type]  # each of its own kind


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
        max_line_width=_now[0].linewidth,
        threshold=_threshold(),
        edgeitems=_now[0].edgeitems,
        formatter={"all": _formatter(_visible(shown))},
    )


def _threshold() -> int:
    return int(min(_now[0].threshold, sys.maxsize))  # NumPy takes integers alone


def _visible(array: Array) -> Array:
    """The values that are printed: of a long array those at the ends of each axis."""
    if array.size <= _now[0].threshold:
        return array
    ends = _now[0].edgeitems
    for axis, length in enumerate(array.shape):
        if length > 2 * ends:
            array = np.take(array, [*range(ends), *range(length - ends, length)], axis=axis)
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
    digits, powers = _now[0].precision, _now[0].sci_mode
    if powers is None:
        powers = bool(high / low > 1000 or high > 1e8 or (not whole and low < 1e-4))
    if powers:
        return lambda value: f"{value:.{digits}e}"
    return _as_whole if whole else lambda value: f"{value:.{digits}f}"


def _as_whole(value: Any) -> str:
    return f"{value:.0f}." if np.isfinite(value) else str(value)


def _joined(parts: list[str]) -> str:
    """The parts on one line, or what follows the values on a line of its own."""
    text = ", ".join(parts)
    last = len(parts[0].rsplit("\n", 1)[-1]) + (0 if "\n" in parts[0] else len(HEAD))
    if not parts[1:] or last + len(text) - len(parts[0]) + 1 <= _now[0].linewidth:
        return text
    return parts[0] + ",\n" + " " * len(HEAD) + ", ".join(parts[1:])
