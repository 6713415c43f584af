"""The errors for a list, None or an array where a tensor is expected.

Nothing is checked beforehand, so that usual calls cost nothing: where an attribute of a tensor was looked
for on one of the arguments, the AttributeError is turned into a TypeError that says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..autograd.bridge import bridge

NO_TENSORS = frozenset({list, tuple, dict, str, bytes, np.ndarray})
"""Types that stand for no operand."""


def is_no_tensor(value: object) -> bool:
    """Say whether `value` is one of the things that are given in the place of a tensor by mistake.

    >>> is_no_tensor(None), is_no_tensor([1.0]), is_no_tensor(kellet.ones(1))
    (True, True, False)
    """
    return value is None or type(value) in NO_TENSORS or isinstance(value, int | float | complex)


def wanted_tensor(where: str, value: object) -> TypeError:
    """Return the error for `value` where `where` wants a tensor.

    >>> wanted_tensor("linear", [1.0])
    TypeError('linear: expected a tensor, got list; make it one with kellet.tensor(...)')
    """
    kind = type(value)
    if value is None:
        advice = "pass a tensor"
    elif kind is np.ndarray:
        advice = "make it one with kellet.from_numpy(...)"
    elif kind.__module__.partition(".")[0] == "torch":
        advice = "make it one with kellet.from_numpy(tensor.detach().numpy())"
    else:
        advice = "make it one with kellet.tensor(...)"
    name = "None" if value is None else "numpy.ndarray" if kind is np.ndarray else kind.__name__
    return TypeError(f"{where}: expected a tensor, got {name}; {advice}")


def explained(where: str, error: AttributeError, arguments: Iterable[Any]) -> TypeError | None:
    """Return what to raise instead of `error`, where it looked for a tensor in one of the arguments.

    None for any other AttributeError: of an attribute that no tensor has, or of another object.
    """
    value = error.obj
    if isinstance(value, bridge.tensor) or not hasattr(bridge.tensor, error.name or ""):
        return None
    for argument in arguments:
        if argument is value or (
            isinstance(argument, list | tuple) and any(one is value for one in argument)
        ):
            return wanted_tensor(where, value)
    return None
