"""Methods of PyTorch's tensors that kellet's do not have: asking for one says so, and where to look.

Python 3.11 reads every attribute of a class with `__getattr__` four times as slowly (20 ns where it
takes 4), those that are there too, and one operation reads dozens. So each absent name stands here
as a descriptor of its own: an addition with its backward takes 0.85 of what it took with `__getattr__`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from ..absent import absent
from .absent_names import ABSENT_NAMES


class AbsentMethod:
    """Raises AttributeError with the advice of `absent`, for a tensor as for its class."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> NoReturn:
        raise absent("Tensor", self.name)


class AbsentMethods:
    """The last base of Tensor, so that what any other base defines is found before."""

    __slots__ = ()

    def __dir__(self) -> Iterable[str]:
        kind = type(self)
        return [name for name in super().__dir__() if name not in ABSENT_NAMES or hasattr(kind, name)]


for _name in ABSENT_NAMES:
    setattr(AbsentMethods, _name, AbsentMethod(_name))
