"""What a library answers, told as arrays and plain values, and how two such answers compare."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

ERRORS = (
    *(ValueError, RuntimeError, TypeError, IndexError, NotImplementedError, AssertionError, KeyError),
    *(ZeroDivisionError, OverflowError),
)


@dataclass(frozen=True)
class Raised:
    """An error: the names of what Python knows it as, and the phrases of those asked for that it says."""

    kinds: tuple[str, ...]
    said: str


@dataclass(frozen=True)
class Tolerance:
    """How far numbers may be apart; `scaled`: `atol` is a share of the largest number of an array.

    With `kinds` an except clause for PyTorch's error has to catch the other one, too.
    """

    rtol: float = 0.0
    atol: float = 0.0
    scaled: bool = False
    kinds: bool = False


def raised(error: Exception, said: str = "") -> Raised:
    return Raised(tuple(kind.__name__ for kind in type(error).__mro__ if kind in ERRORS), said)


def attempt(play: Callable[[], Any]) -> Any:
    """Tell what `play` answers, or that it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return told(play())
        except ERRORS as error:
            return raised(error)


def told(value: Any) -> Any:
    """Take tensors, alone or in plain containers, to arrays; tuples become lists."""
    if value is None or isinstance(value, bool | int | float | complex | str | np.ndarray | Raised):
        return value
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): told(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [told(one) for one in value]
    if hasattr(value, "detach"):
        return array_of(value)
    raise TypeError(f"an answer of type {type(value).__name__} cannot be recorded")


def array_of(tensor: Any) -> Any:
    """The values of a tensor; those of a dtype that NumPy lacks beside its name."""
    if tensor is None:
        return None
    tensor = tensor.detach()
    name = name_of(tensor.dtype)
    if name == "complex32":
        return [name]
    if name == "bfloat16":
        return [name, tensor.float().numpy().copy()]
    return np.array(tensor.numpy(force=True))


def name_of(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def differences(found: Any, expected: Any, near: Tolerance, at: str = "") -> Iterator[str]:
    """Yield where `found` is not `expected`: another type, dtype, shape, number or word."""
    if isinstance(expected, Raised):
        caught = isinstance(found, Raised) and (not near.kinds or expected.kinds[0] in found.kinds)
        if not caught or found.said != expected.said:
            yield f"{at}: expected {expected}, got {found!r}"
    elif isinstance(expected, dict) and isinstance(found, dict):
        if [*found] != [*expected]:
            yield f"{at}: keys {[*found]}, expected {[*expected]}"
        for key in expected.keys() & found.keys():
            yield from differences(found[key], expected[key], near, f"{at}.{key}")
    elif isinstance(expected, list) and isinstance(found, list):
        if len(found) != len(expected):
            yield f"{at}: {len(found)} values, expected {len(expected)}"
        for number, (one, other) in enumerate(zip(found, expected, strict=False)):
            yield from differences(one, other, near, f"{at}[{number}]")
    elif isinstance(expected, np.ndarray):
        yield from _arrays(found, expected, near, at)
    elif type(found) is not type(expected):
        yield f"{at}: {found!r}, expected {expected!r}"
    elif isinstance(expected, float | complex):
        yield from _arrays(np.asarray(found), np.asarray(expected), near, at)
    elif found != expected:
        yield f"{at}: {found!r}, expected {expected!r}"


def _arrays(found: Any, expected: Any, near: Tolerance, at: str) -> Iterator[str]:
    if not isinstance(found, np.ndarray):
        yield f"{at}: {found!r}, expected an array"
        return
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        yield f"{at}: {found.dtype}{found.shape}, expected {expected.dtype}{expected.shape}"
        return
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.abs(expected[np.isfinite(expected)])
    scale = (
        max(1.0, float(finite.max())) if near.scaled and finite.size and expected.dtype.kind == "f" else 1.0
    )
    try:
        np.testing.assert_allclose(found, expected, rtol=near.rtol, atol=near.atol * scale)
    except AssertionError as error:
        yield f"{at}: {error}"
