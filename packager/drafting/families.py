"""Keys that differ in their numbers alone, and pairs of them: what drafts are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from packager.migrations import Header, Linear, Transform, leaf

Numbers = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Family:
    """Keys that differ in their numbers alone; `place` is where the first stands, from 0 to 1."""

    pattern: str
    members: Mapping[Numbers, Header]
    place: float

    def key(self, numbers: Numbers) -> str:
        """Return the key of one member."""
        return filled(self.pattern, numbers)

    @cached_property
    def parent(self) -> str:
        """The module that the keys belong to."""
        return self.pattern.rpartition(".")[0]

    @cached_property
    def leaf(self) -> str:
        """What the last word of the keys means."""
        return leaf(self.pattern)

    @cached_property
    def size(self) -> int:
        """The number of elements of all members."""
        return sum(header.size for header in self.members.values())

    @property
    def holes(self) -> int:
        """How many numbers differ between the members."""
        return len(next(iter(self.members), ()))


@dataclass(frozen=True)
class Pair:
    """An old family and the new one that it seems to be; `maps` say what becomes of each number."""

    old: Family = field(repr=False)
    new: Family = field(repr=False)
    maps: tuple[Linear, ...]
    transforms: tuple[Transform, ...]
    score: float
    because: str

    def keys(self) -> dict[str, str]:
        """Map each old key to its new name."""
        return {
            self.old.key(numbers): self.new.key(applied(self.maps, numbers)) for numbers in self.old.members
        }


def filled(pattern: str, numbers: Iterable[object]) -> str:
    """Return a pattern with something in the place of each number."""
    first, *parts = pattern.split("{}")
    return first + "".join(f"{number}{part}" for number, part in zip(numbers, parts, strict=True))


def applied(maps: Sequence[Linear], numbers: Numbers) -> Numbers:
    """Return each number after its map."""
    return tuple(line.apply(number) for line, number in zip(maps, numbers, strict=True))
