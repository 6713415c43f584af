"""How much a draft may compare: what is left out where two state dicts have little in common, and said.

Keys of one checkpoint fold into some hundred families, which are compared each with each. Twenty thousand
names with nothing in common do not fold, and would be compared for days.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from packager.migrations import words

from .families import Family

# Each figure is about two seconds of work, once in a draft. Words of pairs of names that are compared each
# with each, and again of those that are chosen: a pair costs as much as ten words more. 150 families of one
# shape on both sides, with eight words each, have three quarters of it.
MOST_WORDS: Final = 800_000
_PAIR: Final = 10

# Prefixes that keys with the same end may have had: a thousand times as many keys, or a few ends of many.
MOST_PREFIXES: Final = 2_000_000

# Families that are looked at as parts of others; keys that open templates are tried on.
MOST_PARTS: Final = 1_000_000
MOST_TRIED: Final = 400_000

# Keys times steps, each of which carries every key: 1,400 keys may have a step each, 20,000 keys 100 steps.
MOST_CARRIED: Final = 2_000_000
LEAST_STEPS: Final = 100

# Names in a key, beyond which it is not looked at as a part of another: it is cut at each of them. Characters
# of one whose words are compared: checkpoints in use have up to 150; 40,000 keys of so many take 12 seconds.
MOST_SEGMENTS: Final = 32
MOST_LETTERS: Final = 256


class Effort:
    """What a draft has cost so far, and what it did not do, in words for people."""

    def __init__(self) -> None:
        self._spent: dict[str, int] = {}
        self._given_up: dict[str, str] = {}

    def spend(self, what: str, count: int, most: int) -> bool:
        """Count work of a kind; False, and counted no more, where that would be more than the most."""
        if self._spent.get(what, 0) + count > most:
            return False
        self._spent[what] = self._spent.get(what, 0) + count
        return True

    def half(self, what: str, most: int) -> int:
        """Count half of what is left of a kind of work, and return it: who asks again gets less."""
        found = (most - self._spent.get(what, 0)) // 2
        self.spend(what, found, most)
        return found

    def give_up(self, what: str, because: str) -> None:
        """Note what is not done; the last reason of a kind counts."""
        self._given_up[what] = because

    def gave_up(self, what: str) -> bool:
        """Return whether something of a kind was not done."""
        return what in self._given_up

    @property
    def given_up(self) -> tuple[str, ...]:
        """What was not done, a sentence each."""
        return tuple(self._given_up.values())


def most_steps(keys: int) -> int:
    """Return how many steps a draft for so many keys may have."""
    return max(LEAST_STEPS, MOST_CARRIED // max(keys, 1))


def compared(
    olds: Sequence[Family], news: Sequence[Family], effort: Effort
) -> Iterator[tuple[Family, Family]]:
    """Yield the old and the new families that may be each other's, by their sizes, old ones first.

    Where these are too many, each old family is compared with the few that share its rarest words, and with
    the one that has its place in the order.
    """
    known = {id(family): words(family.pattern) for family in (*olds, *news)}
    of_size: dict[tuple[object, ...], list[Family]] = {}
    for new in news:
        of_size.setdefault(_sizes(new), []).append(new)
    sizes = {id(old): _sizes(old) for old in olds}
    total = {size: sum(len(known[id(new)]) for new in group) for size, group in of_size.items()}
    cost = sum(
        (_PAIR + len(known[id(old)])) * len(of_size.get(sizes[id(old)], ())) + total.get(sizes[id(old)], 0)
        for old in olds
    )
    if effort.spend("names", cost, MOST_WORDS):
        for old in olds:
            for new in of_size.get(sizes[id(old)], ()):
                yield old, new
        return
    many = f"{len(olds):,} old and {len(news):,} new names are too many to compare each with each: "
    likest = "compared with a few of its sizes that share its rarest words"
    effort.give_up("names", f"{many}each old one was {likest}")
    left = effort.half("few names", MOST_WORDS)
    few = max(1, left // max(len(olds) * (_PAIR + 2 * sum(map(len, known.values())) // len(known)), 1))
    places = {size: _Likest(group, known) for size, group in of_size.items()}
    seen: dict[tuple[object, ...], int] = {}
    for done, old in enumerate(olds):
        size = sizes[id(old)]
        place = seen[size] = seen.get(size, -1) + 1
        for new in places[size].few(known[id(old)], place, few) if size in places else ():
            left -= _PAIR + len(known[id(old)]) + len(known[id(new)])
            if left < 0:
                effort.give_up("names", f"{many}each of the first {done:,} old ones was {likest}")
                return
            yield old, new


class _Likest:
    """New families of the same sizes, found by their words."""

    def __init__(self, group: Sequence[Family], known: dict[int, list[str]]) -> None:
        self._group = group
        self._with: dict[str, list[int]] = {}
        for at, family in enumerate(group):
            for word in set(known[id(family)]):
                self._with.setdefault(word, []).append(at)

    def few(self, wanted: list[str], place: int, count: int) -> list[Family]:
        """Return the one at a place, and up to `count` that have rare words among these, in their order."""
        found = {place} if place < len(self._group) else set()
        for word in sorted({word for word in wanted if word in self._with}, key=lambda w: len(self._with[w])):
            for at in self._with[word]:
                if len(found) > count:
                    return [self._group[at] for at in sorted(found)]
                found.add(at)
        return [self._group[at] for at in sorted(found)]


def _sizes(family: Family) -> tuple[object, ...]:
    """Return what two families have in common that can be each other's: the sizes of their members."""
    return family.holes, tuple(sorted(header.size for header in family.members.values()))
