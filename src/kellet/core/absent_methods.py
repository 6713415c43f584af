"""Common methods of PyTorch's tensors that kellet lacks: reading one raises an error with the replacement.

Python 3.11 reads every attribute of a class with `__getattr__` four times as slowly (20 ns where it
takes 4), those that are there too, and one operation reads dozens. So each absent name stands here
as a descriptor of its own: an addition with its backward takes 0.85 of what it took with `__getattr__`.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..absent import OF_TENSORS, absent


class AbsentMethod:
    """Raises AttributeError with the advice of `absent`, for a tensor as for its class."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> NoReturn:
        raise absent("Tensor", self.name)


def hint_at_absent(tensor: type[Any]) -> None:
    """Give the class of tensors a descriptor for each of these names."""
    for name in OF_TENSORS:
        setattr(tensor, name, AbsentMethod(name))
