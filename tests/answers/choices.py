"""Choices drawn with NumPy from a seed: the same in every library, with and without PyTorch."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import numpy as np

T = TypeVar("T")
Draw = Callable[["Choice[Any]"], Any]


class Rejected(Exception):
    """What was drawn does not fit together; the next seed is tried."""


class Choice(Generic[T]):
    """Something to draw."""

    def __init__(self, drawn: Callable[[np.random.Generator], T]) -> None:
        self.drawn = drawn

    def map(self, function: Callable[[T], Any]) -> Choice[Any]:
        return Choice(lambda rng: function(self.drawn(rng)))


def draw_all(choice: Choice[T], name: str, count: int) -> list[T]:
    """Draw `count` values for what is called `name`."""
    found: list[T] = []
    number = 0
    while len(found) < count:
        with suppress(Rejected):
            found.append(choice.drawn(np.random.default_rng([zlib.crc32(name.encode()), number])))
        number += 1
    return found


def assume(fits: bool) -> None:
    if not fits:
        raise Rejected


def just(value: T) -> Choice[T]:
    return Choice(lambda rng: value)


def none() -> Choice[None]:
    return just(None)


def integers(low: int = -9, high: int = 9) -> Choice[int]:
    return Choice(lambda rng: int(rng.integers(low, high + 1)))


def floats(low: float, high: float) -> Choice[float]:
    return Choice(lambda rng: float(rng.uniform(low, high)))


def booleans() -> Choice[bool]:
    return sampled_from([False, True])


def sampled_from(values: Sequence[T]) -> Choice[T]:
    return Choice(lambda rng: values[int(rng.integers(len(values)))])


def one_of(*choices: Choice[Any]) -> Choice[Any]:
    return Choice(lambda rng: sampled_from(choices).drawn(rng).drawn(rng))


def tuples(*choices: Choice[Any]) -> Choice[tuple[Any, ...]]:
    return Choice(lambda rng: tuple(one.drawn(rng) for one in choices))


def lists(choice: Choice[T], min_size: int = 0, max_size: int = 4, unique: bool = False) -> Choice[list[T]]:
    def drawn(rng: np.random.Generator) -> list[T]:
        count = int(rng.integers(min_size, max_size + 1))
        found: list[T] = []
        while len(found) < count:
            one = choice.drawn(rng)
            if not unique or one not in found:
                found.append(one)
        return found

    return Choice(drawn)


def fixed_dictionaries(
    needed: Mapping[str, Choice[Any]], optional: Mapping[str, Choice[Any]]
) -> Choice[dict[str, Any]]:
    """Draw what is needed, and each of the others at every second time."""

    def drawn(rng: np.random.Generator) -> dict[str, Any]:
        found = {name: one.drawn(rng) for name, one in needed.items()}
        return found | {name: one.drawn(rng) for name, one in optional.items() if rng.random() < 0.5}

    return Choice(drawn)


def composite(make: Callable[..., T]) -> Callable[..., Choice[T]]:
    """Make a choice of a function that draws: its first argument takes a choice and gives a value."""

    def choice(*args: Any, **options: Any) -> Choice[T]:
        return Choice(lambda rng: make(lambda one: one.drawn(rng), *args, **options))

    return choice
