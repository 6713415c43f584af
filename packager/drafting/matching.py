"""Which old keys could be which new ones: by shape, by words, and by the numbers in them.

Keys that differ in their numbers alone are looked at together: twelve layers of one model are matched
with the twelve of the other or not at all, and become one rule. Nothing here is applied; see
migrations.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from packager.migrations import Header, Linear, NameSimilarity, Reshape, Transform, Transpose, words
from packager.quick_dataclasses import replace

from .choosing import best
from .effort import Effort, compared
from .families import Family, Numbers, Pair, applied, filled

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


def matched(
    olds: Sequence[Family], news: Sequence[Family], effort: Effort, *, by_order: bool = False
) -> list[Pair]:
    """Return pairs of families; each family is in one pair at most.

    Whole modules first, whose values must all fit; then single families. With `by_order`, what names do
    not tell apart is taken one after the other, where there are as many of one shape on both sides. `effort`
    is told where there are too many families to compare each with each.
    """
    similarity = NameSimilarity([family.pattern for family in (*olds, *news)])
    possible = {
        (id(old), id(new)): pair
        for old, new in compared(olds, news, effort)
        if (pair := _possible(old, new, similarity)) is not None
    }
    are_all = not effort.gave_up("names")
    chosen = best(_possible_units(_units(olds), _units(news), possible), are_all=are_all)
    used = {id(family) for pair in chosen for family in (pair.old, pair.new)}
    rest = [pair for pair in possible.values() if id(pair.old) not in used and id(pair.new) not in used]
    if not by_order:
        return chosen
    chosen += best([(pair,) for pair in rest], are_all=are_all)
    used = {id(family) for pair in chosen for family in (pair.old, pair.new)}
    rest = [pair for pair in rest if id(pair.old) not in used and id(pair.new) not in used]
    return chosen + _by_order(rest)


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


def number_maps(old: Iterable[Numbers], new: Iterable[Numbers]) -> tuple[Linear, ...] | None:
    """Return what takes each number of the old keys to that of the new ones; None where nothing simple does.

    >>> number_maps([(1, 0), (2, 0)], [(0, 0), (3, 0)])
    (Linear(factor=3, offset=-3), Linear(factor=1, offset=0))
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


def _line(before: list[int], after: list[int]) -> Linear | None:
    if len(before) != len(after):
        return None
    factor = 1
    if len(before) > 1:
        factor, rest = divmod(after[1] - after[0], before[1] - before[0])
        if rest or factor < 1:
            return None
    line = Linear(factor, after[0] - factor * before[0])
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
        transforms, because, penalty = (Transpose(),), "the shape turned round", 0.15
    elif len(set(shapes)) == 1 and Header(shapes[0][0], "").size == Header(shapes[0][1], "").size > 1:
        transforms = (Reshape(shapes[0][1], shapes[0][0]),)
        because, penalty = "as many elements in another shape", 0.4
    else:
        return None
    moved = any(line != Linear() for line in maps)
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
                because = "the same shape, and the same place in the order"
                found.append(replace(pairs[old, new], score=0.0, because=because, by_place=True))
    return found
