"""Splines of SciPy, whose code in C reads as many coefficients as their knots and their degree ask for."""

from __future__ import annotations

from typing import Any, Final

from packager.codecs import StateCheck, attributes_of, require, require_array, require_int
from packager.libraries.families import held_by, take_names


class SplineCheck(StateCheck):
    """A spline of SciPy: as many coefficients as its knots and its degree ask for."""

    types = ("scipy.interpolate._bsplines:BSpline", "scipy.interpolate._bsplines:_BSpline")

    def check_made(self, obj: Any) -> None:
        """Check a complete spline. Raises ValueError."""
        import numpy

        held = attributes_of(obj)
        if held.get("_delegate_to") is not None:  # SciPy 1.18: that is checked by itself
            inner = type(held["_delegate_to"])
            fits = (inner.__module__, inner.__qualname__) == ("scipy.interpolate._bsplines", "_BSpline")
            require(fits, "_delegate_to is no spline")
            return
        degree = require_int(held.get("k"), "k", 0, 1 << 16)
        knots = require_array(held.get("_t", held.get("t")), "t", dtypes=("float64",), shape=(None,))
        coefficients: Any = held.get("_c", held.get("c"))
        require(type(coefficients) is numpy.ndarray and coefficients.ndim > 0, "c is no array")
        require(coefficients.dtype.str[1:] in ("f8", "c16"), "c has another dtype than float64")
        count = len(knots) - degree - 1
        require(count > degree, f"t has {len(knots)} knots, expected at least {2 * degree + 2}")
        require(len(coefficients) >= count, f"c has {len(coefficients)} rows, expected {count}")
        sorted_finite = numpy.isfinite(knots).all() and (knots[1:] >= knots[:-1]).all()
        require(bool(sorted_finite), "t does not grow")


CHECKS: Final = (SplineCheck(),)


def take_spline(made: Any, state: Any) -> None:
    """Take up the state of a BSpline: attributes, or from 1.18 on what computes, and an array.

    Raises ValueError for another one.
    """
    if type(state) is not tuple:
        take_names(made, state)
        return
    import numpy
    from scipy._lib._array_api import array_namespace
    from scipy.interpolate import _bsplines

    inner, empty = state if len(state) == 2 else (None, None)
    if type(inner) is not _bsplines._BSpline or type(empty) is not numpy.ndarray:
        raise ValueError("the state of BSpline is no spline of NumPy and an array")
    namespace = array_namespace(empty)
    held_by(made).update(_delegate_to=inner, _xp_internal=namespace, _xp=namespace)
