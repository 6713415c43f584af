"""Watching a backward pass for NaN: where the gradient came from, and the line that recorded the step."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import GradientError
from .modes import change_odd, modes
from .node import Node
from .passes import Pass
from .variable import Variable

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


class detect_anomaly:
    """Watch all threads: a gradient that becomes NaN raises GradientError, and names the step.

    A warning shows the lines that recorded it. With `check_nan=False` the lines are kept only, in
    `grad_fn.metadata`. Costly; made for looking for a fault.

    Source: torch.autograd.detect_anomaly; a step that raises by itself is not commented on here.

    >>> import kellet, warnings
    >>> x = kellet.zeros(1, requires_grad=True)
    >>> with warnings.catch_warnings(), kellet.autograd.detect_anomaly():
    ...     warnings.simplefilter("ignore")
    ...     (x.sqrt() * 0).sum().backward()
    Traceback (most recent call last):
    kellet.errors.GradientError: Function 'SqrtBackward0' returned nan values in its 0th output. ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan

    def __enter__(self) -> None:
        self._before = _switch((self._check_nan,))

    def __exit__(self, *exc: object) -> None:
        _switch(self._before)


class set_detect_anomaly:
    """Switch the watch of `detect_anomaly` on or off at once; as a context manager, put back at the end.

    >>> with kellet.autograd.set_detect_anomaly(True):
    ...     kellet.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _switch((check_nan,) if mode else ())

    def __enter__(self) -> None:
        """Nothing is left to do: the mode was set when this was made."""

    def __exit__(self, *exc: object) -> None:
        _switch(self._before)


def is_anomaly_enabled() -> bool:
    """Say whether steps and backward passes are watched.

    >>> kellet.is_anomaly_enabled()
    False
    """
    return bool(modes.anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """Say whether a gradient that is NaN raises.

    >>> kellet.is_anomaly_check_nan_enabled()
    False
    """
    return modes.anomaly == (True,)


def _switch(wanted: tuple[bool, ...]) -> tuple[bool, ...]:
    before = modes.anomaly
    modes.anomaly = wanted
    change_odd(bool(wanted) - bool(before))
    return before


class WatchedPass(Pass):
    """A pass that looks at what each node answers."""

    def _pass_on(self, node: Node, results: Sequence[Any]) -> Node | None:
        for number, value in enumerate(results):
            array = value._array if isinstance(value, Variable) else value
            if (
                isinstance(array, np.ndarray | np.generic)
                and array.dtype.kind in "fc"
                and np.isnan(array).any()
            ):
                raise _found_nan(node, number)
        return super()._pass_on(node, results)


def _found_nan(node: Node, number: int) -> GradientError:
    lines = node.metadata.get("traceback_")
    if lines is None:
        shown = "No forward pass information available: record the step inside detect_anomaly() too"
    else:
        shown = "Traceback of forward call that caused the error:\n" + "".join(lines)
    warnings.warn(f"Error detected in {node.name()}. {shown}", stacklevel=2)
    return GradientError(
        f"Function {node.name()!r} returned nan values in its {number}th output. The warning before this "
        "shows where it was recorded"
    )
