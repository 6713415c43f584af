"""Powers, roots, magnitude and sign; the parts of complex numbers."""

from __future__ import annotations

import cmath
import math
import operator
from typing import Any

import numpy as np

from ..errors import DTypeError
from .levels import zeros_like
from .rule import FLOAT, OUT, SAME, rule

# --- pow ------------------------------------------------------------------------------------------


def _pow_forward(a: Any, b: Any) -> Any:
    if _is_bool(a) and _is_bool(b):
        return np.logical_or(a, np.logical_not(b))
    try:
        return operator.pow(a, b)
    except ValueError as error:
        if "negative integer powers" not in str(error):
            raise
        if np.ndim(b):  # a number comes as an array without axes
            return _whole_powers(a, b)
        raise DTypeError(
            "pow: Integers to negative integer powers are not allowed; convert the base, e.g. with .float()"
        ) from error


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, np.ndarray) and value.dtype.kind == "b")


def _whole_powers(a: Any, b: Any) -> Any:
    """Powers of integers, those with negative exponents cut off towards zero: 0 but for 1 and -1."""
    powers = operator.pow(a, np.abs(b))
    return np.where((b < 0) & (np.abs(a) != 1), 0, powers).astype(powers.dtype)


def _pow(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    base, exponent = ctx.inputs
    return (
        _grad_of_base(xp, g, base, exponent) if ctx.needs[0] else None,
        _grad_of_exponent(xp, g, base, exponent, ctx.output) if ctx.needs[1] else None,
    )


def _grad_of_base(xp: Any, g: Any, base: Any, exponent: Any) -> Any:
    """`b * a ** (b - 1)`, and 0 for 0 ** 0, where the formula would say 0 * infinity."""
    if isinstance(exponent, int | float | complex):
        if exponent == 0:
            return zeros_like(xp, g)
        if exponent == 2:
            return g * xp.conj(base) * 2
        slope = base ** (exponent - 1)
        return g * xp.conj(slope * exponent)
    if xp.array(exponent).dtype.kind == "u":
        exponent = xp.cast(exponent, dtype=xp.array(base).dtype)  # where 0 - 1 is -1
    settled = (base == 0) & (exponent == 0)
    slope = exponent * base ** xp.where(settled, exponent, exponent - 1)
    return g * xp.conj(slope)


def _grad_of_exponent(xp: Any, g: Any, base: Any, exponent: Any, output: Any) -> Any:
    """Zero where the base is zero and the power is not infinite: there 0 * log(0) stands for 0."""
    if isinstance(base, int | float | complex):
        if base == 0:
            return xp.where(xp.real(exponent) >= 0, zeros_like(xp, g), g * -math.inf)
        return g * xp.conj(output * _log_of_number(base, xp.array(output).dtype.kind == "c"))
    dtype = xp.array(output).dtype
    if dtype.kind == "c" and xp.array(base).dtype.kind != "c":
        base = xp.cast(base, dtype=dtype)  # the logarithm of a negative number
    settled = (base == 0) & (xp.real(exponent) >= 0)
    logarithm = xp.log(xp.where(settled, base + 1, base))
    return g * xp.conj(output * logarithm)


def _log_of_number(base: complex, as_complex: bool) -> complex:
    if as_complex or isinstance(base, complex):
        return cmath.log(base)
    return math.log(base) if base > 0 else math.nan


# --- roots, squares, reciprocals ------------------------------------------------------------------


def _sqrt(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g / (2 * xp.conj(ctx.output)),)


def _rsqrt_forward(a: Any) -> Any:
    return np.reciprocal(np.sqrt(a))


def _rsqrt(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    out = ctx.output
    return (-0.5 * g * xp.conj(out * out * out),)


def _square_forward(a: Any) -> Any:
    return np.square(a.astype(np.int64) if a.dtype.kind == "b" else a)


def _square(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g * 2 * xp.conj(ctx.inputs[0]),)


def _reciprocal(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    out = ctx.output
    return (-g * xp.conj(out * out),)


# --- magnitude and sign ---------------------------------------------------------------------------


def _abs(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g * xp.sgn(ctx.inputs[0]),)


def _sign_forward(a: Any) -> Any:
    return a.copy() if a.dtype.kind == "b" else np.sign(a)


def _sign(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (zeros_like(xp, g),)


def _sgn_forward(a: Any) -> Any:
    """The sign; for complex numbers `a / |a|`, and 0 at 0."""
    if a.dtype.kind != "c":
        return _sign_forward(a)
    size = np.abs(a)
    return a / np.where(size == 0, size.dtype.type(1), size)


def _sgn(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """Zero for real numbers; for complex ones only what turns the phase passes."""
    a = ctx.inputs[0]
    if xp.array(a).dtype.kind != "c":
        return _sign(xp, ctx, g)
    sign = xp.sgn(a)
    along = xp.real(g * xp.conj(sign))
    size = xp.abs(a)
    return (xp.where(size == 0, zeros_like(xp, g), (g - along * sign) / (size + (size == 0))),)


# --- the length of two ----------------------------------------------------------------------------


def _hypot(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    share = g / ctx.output
    return tuple([share * value if need else None for value, need in zip(ctx.inputs, ctx.needs, strict=True)])


# --- the parts of complex numbers -----------------------------------------------------------------


def _real_forward(a: Any) -> Any:
    return a.real


def _real(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g,)


def _complex_forward(a: Any, b: Any) -> Any:
    a, b = np.broadcast_arrays(a, b)
    made = np.empty(a.shape, np.result_type(a.dtype, np.complex64))
    made.real, made.imag = a, b
    return made


def _complex(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.real(g), xp.imag(g))


def _imag_forward(a: Any) -> Any:
    return a.imag


def _imag(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g * 1j,)


pow = rule("pow", _pow_forward, _pow, saves=((0, 1), (0, 1, OUT)), promote=SAME, last_first=True)
sqrt = rule("sqrt", np.sqrt, _sqrt, saves=((OUT,),), promote=FLOAT, fresh=True)
rsqrt = rule("rsqrt", _rsqrt_forward, _rsqrt, saves=((OUT,),), promote=FLOAT, fresh=True)
square = rule("square", _square_forward, _square, saves=((0,),), fresh=True)
reciprocal = rule("reciprocal", np.reciprocal, _reciprocal, saves=((OUT,),), promote=FLOAT, fresh=True)
abs = rule("abs", np.abs, _abs, saves=((0,),), fresh=True)
sign = rule("sign", _sign_forward, _sign)
sgn = rule("sgn", _sgn_forward, _sgn, saves=((0,),))
complex_numbers = rule("complex", _complex_forward, _complex, promote=SAME)
hypot = rule(
    "hypot", np.hypot, _hypot, saves=((0, 1, OUT), (0, 1, OUT)), promote=FLOAT, fresh=True, refuses="c"
)
real = rule("real", _real_forward, _real, view=True)
imag = rule("imag", _imag_forward, _imag, view=True, fresh=True)
