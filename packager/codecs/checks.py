"""Small words for the `check` and `claims` methods of codecs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from packager.archive import MAX_EXTENT

from .base import Child


def expect(condition: bool, what: str) -> None:
    """Raise ValueError saying what was expected."""
    if not condition:
        raise ValueError(f"expected {what}")


def expect_sizes(values: Iterable[Any], what: str = "a shape", limit: int = MAX_EXTENT) -> None:
    """Raise ValueError unless all values are ints from 0 to below `limit`."""
    expect(all(type(value) is int and 0 <= value < limit for value in values), what)


def expect_tensor(child: Child, dtype: str | None = None) -> tuple[str, list[int]]:
    """The dtype and shape of a child that must be a tensor. Raises ValueError."""
    expect(
        child.kind == "tensor" and (dtype is None or child.value[0] == dtype),
        f"a tensor of {dtype or 'bytes'}",
    )
    found, shape = child.value[:2]
    return found, shape


def shares_methods(cls: type, base: type, *names: str) -> bool:
    """Whether a class has these methods of another one unchanged, or neither has them.

    >>> shares_methods(bool, int, "__add__", "__setstate__"), shares_methods(bool, int, "__and__")
    (True, False)
    """
    return all(getattr(cls, name, None) is getattr(base, name, None) for name in names)
