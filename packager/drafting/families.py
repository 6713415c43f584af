"""Keys that differ in their numbers alone, pairs of them, and how much of them may be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from packager.migrations import Header, Linear, Transform, leaf, words
from packager.quick_dataclasses import dataclass, field

Numbers = tuple[int, ...]

MOST_WORK: Final = 1_000_000
"""Words that are compared, keys that templates are tried on: about three seconds of each kind in a draft.

Keys of one checkpoint fold into some hundred families, which are compared each with each. Twenty thousand
names with nothing in common do not fold, and would be compared for days.
"""

MOST_STEPS: Final = 2_000_000
"""Keys times steps, each of which carries every key: 1,400 keys may have a step each, 20,000 a hundred."""

MOST_LETTERS: Final = 256
"""Characters of a name whose words are compared; checkpoints in use have up to 150."""


class Effort:
    """What a draft has cost so far, and what was not done for that, in words for people, by its kind."""

    def __init__(self) -> None:
        self._spent: dict[str, int] = {}
        self.given_up: dict[str, str] = {}

    def allows(self, what: str, cost: int, because: str, most: int = MOST_WORK) -> bool:
        """Count work of a kind; False, with the reason noted, where all of it would be more than the most."""
        if self._spent.get(what, 0) + cost > most:
            self.given_up[what] = because
            return False
        self._spent[what] = self._spent.get(what, 0) + cost
        return True


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
    """An old family and the new one that it seems to be; `maps` say what becomes of each number.

    `by_place` marks one that was found by its place in the order of keys.
    """

    old: Family = field(repr=False)
    new: Family = field(repr=False)
    maps: tuple[Linear, ...]
    transforms: tuple[Transform, ...]
    score: float
    because: str
    by_place: bool = False

    @property
    def is_told_by_names(self) -> bool:
        """Whether names speak for the pair, and not the shape or the place alone."""
        return not self.by_place and bool(common_words(self.old.pattern, self.new.pattern))

    def keys(self) -> dict[str, str]:
        """Map each old key to its new name."""
        return {
            self.old.key(numbers): self.new.key(applied(self.maps, numbers)) for numbers in self.old.members
        }


def common_words(one: str, other: str) -> set[str]:
    """Return the words that two keys share; numbers are none.

    >>> common_words("blocks.0.norm.gamma", "layer.0.ln.weight") == {"block", "norm", "weight"}
    True
    """
    return {word for word in set(words(one)) & set(words(other)) if word[0].isalpha()}


def filled(pattern: str, numbers: Iterable[object]) -> str:
    """Return a pattern with something in the place of each number."""
    first, *parts = pattern.split("{}")
    return first + "".join(f"{number}{part}" for number, part in zip(numbers, parts, strict=True))


def applied(maps: Sequence[Linear], numbers: Numbers) -> Numbers:
    """Return each number after its map."""
    return tuple(line.apply(number) for line, number in zip(maps, numbers, strict=True))
