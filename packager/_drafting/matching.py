"""Which old keys could be which new ones: by shape, by words, and by the numbers in them.

Keys that differ in their numbers alone are looked at together: twelve layers of one model are matched
with the twelve of the other or not at all, and become one rule. Nothing here is applied; see
migrations.py.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from packager._migrations import (
    Header,
    HoleArithmetic,
    NameSimilarity,
    Reshape,
    Transform,
    Transpose,
    leaf,
    words,
)
from packager._quick_dataclasses import dataclass, field, replace

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
    maps: tuple[HoleArithmetic, ...]
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


def applied(maps: Sequence[HoleArithmetic], numbers: Numbers) -> Numbers:
    """Return each number after its map."""
    return tuple(line.apply(number) for line, number in zip(maps, numbers, strict=True))


_LEAST: Final = 0.2  # how alike names must be before they alone place a key
_NEIGHBOUR: Final = 0.15  # what it counts for that the modules beside it went the same way
_PAIR: Final = 10  # what it costs to compare a pair of names, in words
_NUMBER: Final = re.compile(r"(?<![0-9])(?:0|[1-9][0-9]{0,17})(?![0-9])")


def families(headers: Mapping[str, Header | None], order: Mapping[str, int]) -> list[Family]:
    """Return the keys of arrays by their patterns, in their order."""
    found: dict[str, dict[Numbers, Header]] = {}
    places: dict[str, int] = {}
    for key, header in headers.items():
        if header is None or "{" in key or "}" in key:
            continue
        pattern = number_free(key)
        numbers = tuple(int(number) for number in _NUMBER.findall(key))
        found.setdefault(pattern, {})[numbers] = header
        places.setdefault(pattern, order[key])
    return [
        _folded(pattern, members, places[pattern] / max(len(order), 1)) for pattern, members in found.items()
    ]


def number_free(key: str) -> str:
    """Return a key with its numbers left open."""
    return _NUMBER.sub("{}", key)


def _folded(pattern: str, members: Mapping[Numbers, Header], place: float) -> Family:
    """Return a family in whose pattern the numbers are written that all members share."""
    columns = [set(column) for column in zip(*members, strict=True)]
    shared = [str(min(column)) if len(column) == 1 else "{}" for column in columns]
    varying = [at for at, column in enumerate(columns) if len(column) > 1]
    kept = {tuple(numbers[at] for at in varying): header for numbers, header in members.items()}
    return Family(filled(pattern, shared), kept, place)


def single(family: Family) -> list[Family]:
    """Return each member as a family of its own, its numbers part of its name."""
    return [
        Family(family.key(numbers), {(): header}, family.place) for numbers, header in family.members.items()
    ]


def by_words(family: Family) -> list[Family]:
    """Return families in which numbers inside of words (`ln1`) are part of the name.

    >>> norms = Family("h.{}.ln{}", {(0, 1): Header((2,), ""), (1, 1): Header((2,), "")}, 0.0)
    >>> [(one.pattern, [*one.members]) for one in by_words(norms)]
    [('h.{}.ln1', [(0,), (1,)])]
    """
    segments = [part for part in family.pattern.split(".") for _ in range(part.count("{}"))]
    is_open = [part == "{}" for part in segments]
    found: dict[str, dict[Numbers, Header]] = {}
    for numbers, header in family.members.items():
        columns = list(zip(numbers, is_open, strict=True))
        pattern = filled(family.pattern, ["{}" if free else number for number, free in columns])
        found.setdefault(pattern, {})[tuple(number for number, free in columns if free)] = header
    return [_folded(pattern, members, family.place) for pattern, members in found.items()]


def matched(
    olds: Sequence[Family], news: Sequence[Family], effort: Effort, *, by_order: bool = False
) -> list[Pair]:
    """Return pairs of families; each family is in one pair at most.

    Whole modules first, whose values must all fit; then single families. With `by_order`, what names do
    not tell apart is taken one after the other, where there are as many of one shape on both sides. `effort`
    is told where there are too many families to compare each with each.
    """
    possible = _possible_pairs(olds, news, effort)
    chosen = best(_possible_units(_units(olds), _units(news), possible))
    if not by_order:
        return chosen
    chosen += best([(pair,) for pair in _left(possible.values(), chosen)])
    return chosen + _by_order(_left(possible.values(), chosen))


def _left(pairs: Iterable[Pair], chosen: Iterable[Pair]) -> list[Pair]:
    """Return the pairs of which neither family is in one that was chosen."""
    used = {id(family) for pair in chosen for family in (pair.old, pair.new)}
    return [pair for pair in pairs if id(pair.old) not in used and id(pair.new) not in used]


def _possible_pairs(
    olds: Sequence[Family], news: Sequence[Family], effort: Effort
) -> dict[tuple[int, int], Pair]:
    """Return the pairs that may be each other's, by their families' ids; none where they are too many."""
    length = {id(family): _PAIR + len(words(family.pattern)) for family in (*olds, *news)}
    of_size: dict[tuple[object, ...], list[Family]] = {}
    for new in news:
        of_size.setdefault(_sizes(new), []).append(new)
    totals = {size: sum(length[id(new)] for new in group) for size, group in of_size.items()}
    sizes = [_sizes(old) for old in olds]
    cost = sum(
        length[id(old)] * len(of_size.get(size, ())) + totals.get(size, 0)
        for old, size in zip(olds, sizes, strict=True)
    )
    many = f"{len(olds):,} old and {len(news):,} new names were not all compared: too many"
    if not effort.allows("names", cost, many):
        return {}
    similarity = NameSimilarity([family.pattern for family in (*olds, *news)])
    return {
        (id(old), id(new)): pair
        for old, size in zip(olds, sizes, strict=True)
        for new in of_size.get(size, ())
        if (pair := _possible(old, new, similarity)) is not None
    }


def _sizes(family: Family) -> tuple[object, ...]:
    """Return what two families have in common that can be each other's: the sizes of their members."""
    return family.holes, tuple(sorted(header.size for header in family.members.values()))


Candidate = tuple[Pair, ...]


def best(candidates: Sequence[Candidate]) -> list[Pair]:
    """Return the candidates with the likest names, each old and each new family once.

    The first of two modules to go one way raises the score of what lies beside. At last, one that has no
    rival on either side is taken whatever it is called.
    """
    chosen: list[Pair] = []
    used: set[int] = set()
    went: dict[str, str] = {}
    beside: dict[tuple[str, str], list[int]] = {}
    for at, one in enumerate(candidates):
        beside.setdefault(_parents(one), []).append(at)

    def is_free(at: int) -> bool:
        return not any(id(family) in used for pair in candidates[at] for family in (pair.old, pair.new))

    def take(at: int, score: float, more: str = "") -> None:
        pairs = candidates[at]
        chosen.extend(replace(pair, score=score, because=pair.because + more) for pair in pairs)
        used.update(id(family) for pair in pairs for family in (pair.old, pair.new))

    by_score = [(-_score(one), at) for at, one in enumerate(candidates)]
    heapq.heapify(by_score)
    while by_score and -by_score[0][0] >= _LEAST:
        score, at = heapq.heappop(by_score)
        if not is_free(at):
            continue
        take(at, -score)
        old, new = _parents(candidates[at])
        if old not in went:
            went[old] = new
            for other in beside[old, new]:
                heapq.heappush(by_score, (-_score(candidates[other]) - _NEIGHBOUR, other))
    left = list(filter(is_free, range(len(candidates))))
    rivals = Counter(name for at in left for name in _names(candidates[at]))
    for at in left:
        one = candidates[at]
        is_sure = len(one) > 1 or one[0].score > 0 or not one[0].transforms
        if is_sure and is_free(at) and all(rivals[name] == 1 for name in _names(one)):
            take(at, 0.0, ", and no other keys have these shapes")
    return chosen


def _names(pairs: Candidate) -> list[tuple[str, str]]:
    """Return what a candidate is about on each side: a module, or a single family."""
    sides = ("old", pairs[0].old), ("new", pairs[0].new)
    return [(side, one.parent if len(pairs) > 1 else one.pattern) for side, one in sides]


def _parents(pairs: Candidate) -> tuple[str, str]:
    return pairs[0].old.parent.rpartition(".")[0], pairs[0].new.parent.rpartition(".")[0]


def _score(pairs: Candidate) -> float:
    return sum(pair.score for pair in pairs) / len(pairs)


def _units(known: Sequence[Family]) -> list[dict[tuple[str, ...], Family]]:
    """Return the families of one module together, by what their last names mean."""
    found: dict[str, dict[tuple[str, ...], Family]] = {}
    for family in known:
        found.setdefault(family.parent, {})[tuple(words(family.pattern.rpartition(".")[2]))] = family
    return list(found.values())


def _possible_units(
    olds: Sequence[Mapping[tuple[str, ...], Family]],
    news: Sequence[Mapping[tuple[str, ...], Family]],
    possible: Mapping[tuple[int, int], Pair],
) -> list[tuple[Pair, ...]]:
    """Return the pairs of modules all of whose values could be each other's, by the order of both sides."""
    old_unit = {id(family): at for at, unit in enumerate(olds) for family in unit.values()}
    new_unit = {id(family): at for at, unit in enumerate(news) for family in unit.values()}
    names: dict[frozenset[tuple[str, ...]], int] = {}
    old_names, new_names = (
        [names.setdefault(frozenset(unit), len(names)) for unit in side] for side in (olds, news)
    )
    places = sorted(
        {(old_unit[old], new_unit[new]) for old, new in possible if old in old_unit and new in new_unit}
    )
    return [
        found
        for old, new in places
        if old_names[old] == new_names[new]
        and (found := _possible_unit(olds[old], news[new], possible)) is not None
    ]


def _possible_unit(
    old: Mapping[tuple[str, ...], Family],
    new: Mapping[tuple[str, ...], Family],
    possible: Mapping[tuple[int, int], Pair],
) -> tuple[Pair, ...] | None:
    """Return the pairs of two modules that have the same values under the same names; None for others."""
    pairs = [possible.get((id(old[name]), id(new[name]))) for name in old]
    found = tuple(pair for pair in pairs if pair is not None)
    return found if len(found) == len(pairs) else None


def number_maps(old: Iterable[Numbers], new: Iterable[Numbers]) -> tuple[HoleArithmetic, ...] | None:
    """Return what takes each number of the old keys to that of the new ones; None where nothing simple does.

    >>> number_maps([(1, 0), (2, 0)], [(0, 0), (3, 0)])
    (HoleArithmetic(factor=3, offset=-3), HoleArithmetic(factor=1, offset=0))
    """
    known, wanted = set(old), set(new)
    if len(known) != len(wanted):
        return None
    maps = []
    for before, after in zip(zip(*known, strict=True), zip(*wanted, strict=True), strict=False):
        found = _line(sorted(set(before)), sorted(set(after)))
        if found is None:
            return None
        maps.append(found)
    if len(maps) != len(next(iter(known), ())) or len(maps) != len(next(iter(wanted), ())):
        return None
    return tuple(maps) if {applied(maps, numbers) for numbers in known} == wanted else None


def _line(before: list[int], after: list[int]) -> HoleArithmetic | None:
    if len(before) != len(after):
        return None
    factor = 1
    if len(before) > 1:
        factor, rest = divmod(after[1] - after[0], before[1] - before[0])
        if rest or factor < 1:
            return None
    line = HoleArithmetic(factor, after[0] - factor * before[0])
    return line if [line.apply(number) for number in before] == after else None


def _possible(old: Family, new: Family, similarity: NameSimilarity) -> Pair | None:
    maps = number_maps(old.members, new.members)
    if maps is None:
        return None
    shapes = [
        (header.shape, new.members[applied(maps, numbers)].shape) for numbers, header in old.members.items()
    ]
    transforms: tuple[Transform, ...] = ()
    if all(one == other for one, other in shapes):
        because, penalty = "the same shape", 0.0
    elif all(len(one) == 2 and one == other[::-1] for one, other in shapes):
        transforms, because, penalty = (Transpose(),), "the transposed shape", 0.15
    elif len(set(shapes)) == 1 and Header(shapes[0][0], "").size == Header(shapes[0][1], "").size > 1:
        transforms = (Reshape(shapes[0][1], shapes[0][0]),)
        because, penalty = "another shape with as many elements", 0.4
    else:
        return None
    moved = any(line != HoleArithmetic() for line in maps)
    score = similarity(old.pattern, new.pattern) - penalty - 0.1 * moved - 0.1 * abs(old.place - new.place)
    ends = {old.leaf, new.leaf}
    if len(ends) > 1:
        score -= 0.3 if ends & {"bias", "weight", "avg", "var"} == ends else 0.05
    return Pair(old, new, maps, transforms, score, because)


def _by_order(possible: Sequence[Pair]) -> list[Pair]:
    """Match families where names say nothing: as many old as new ones of one shape, one after the other.

    For people to judge: two lists of keys that are alike by chance look the same.
    """
    plain = [pair for pair in possible if not pair.transforms]
    found: list[Pair] = []
    pairs = {(pair.old, pair.new): pair for pair in plain}
    classes: dict[tuple[object, ...], dict[str, dict[str, Family]]] = {}
    for pair in plain:
        shapes = tuple(header.shape for header in pair.new.members.values())
        sides = classes.setdefault((len(shapes), shapes), {"old": {}, "new": {}})
        sides["old"][pair.old.pattern] = pair.old
        sides["new"][pair.new.pattern] = pair.new
    for sides in classes.values():
        olds = sorted(sides["old"].values(), key=lambda family: family.place)
        news = sorted(sides["new"].values(), key=lambda family: family.place)
        if len(olds) != len(news):
            continue
        for old, new in zip(olds, news, strict=True):
            if (old, new) in pairs:
                because = "the same shape and position"
                found.append(replace(pairs[old, new], score=0.0, because=because, by_place=True))
    return found
