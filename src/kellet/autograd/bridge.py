"""The one place where autograd learns what a Tensor is.

Autograd knows no operation and does not import `kellet.core`, the layer above it. When `kellet.core`
is imported it fills in `bridge`: the class in which arrays are wrapped for hooks and custom functions, and
the rules as operations on Tensors. Of those, autograd itself calls `sum_to`, `cast`, `real`, `clone`
and `overwrite`, and adds with `+`. Beside it stands what a tensor is made of before it is one: its array
and its version counter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..rules import Namespace

if TYPE_CHECKING:
    from .variable import Variable

Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

_new = object.__new__


class Counter:
    """How often an array has been written through tensors; shared by a tensor and its views."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class Bridge:
    """`tensor` is the Tensor class, `xp` the rules on Tensors."""

    __slots__ = ("tensor", "xp")

    tensor: type[Any]
    xp: Namespace


bridge = Bridge()


def wrap(array: object) -> Variable:
    """Return a Tensor over `array` (not copied) without a history."""
    tensor: Variable = _new(bridge.tensor)
    tensor._array = array if type(array) is np.ndarray else np.asarray(array)
    tensor._edge = tensor._grad = tensor._counter = tensor._view = tensor._hooks = None
    tensor._needs = False
    return tensor
