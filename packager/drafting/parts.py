"""Values that are one on one side and several on the other: fused projections, stacked experts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from packager.migrations import Linear, Step, merge, split, words

from .matching import Family, applied, number_maps
from .rules import new_template, old_template

_ROLES = ("q", "k", "v")


@dataclass(frozen=True)
class Part:
    """A step that cuts or joins, with what it takes and makes."""

    step: Step
    because: str
    olds: tuple[Family, ...] = field(repr=False)
    news: tuple[Family, ...] = field(repr=False)


def fused(olds: Sequence[Family], news: Sequence[Family]) -> list[Part]:
    """Every way in which one family is several of the other side along an axis; none is used twice."""
    found: list[Part] = []
    used: set[int] = set()
    for whole, several, forward in (
        *((old, news, True) for old in olds),
        *((new, olds, False) for new in news),
    ):
        if id(whole) in used:
            continue
        free = [family for family in several if id(family) not in used]
        part = _part(whole, free, forward) or (None if forward else _stack(whole, free))
        if part is not None:
            found.append(part)
            used |= {id(family) for family in (*part.olds, *part.news)}
    return found


def _part(whole: Family, several: Sequence[Family], forward: bool) -> Part | None:
    """The siblings that make up `whole`, those whose names are most like its own."""
    best: tuple[int, list[Family], int, list[int], tuple[Linear, ...]] | None = None
    for group in _siblings(several):
        maps = number_maps(whole.members, group[0].members)
        if maps is None:
            continue
        axis = _axis(whole, group, maps)
        if axis is None:
            continue
        sizes = [next(iter(family.members.values())).shape[axis] for family in group]
        shared = len(set(words(whole.pattern)) & set(words(group[0].pattern)))
        if best is None or shared > best[0]:
            best = shared, group, axis, sizes, maps
    if best is None:
        return None
    _, group, axis, sizes, maps = best
    uneven = sizes if len(set(sizes)) > 1 else None
    shown = " + ".join(map(str, sizes))
    if forward:
        text, names = old_template(whole)
        step: Step = split(
            text, [new_template(family, names, maps) for family in group], axis=axis, sizes=uneven
        )
        because = f"{len(whole.members)} keys: {shown} rows along axis {axis} make the parts"
        return Part(step, f"{because}{_order(group)}", (whole,), tuple(group))
    back = number_maps(group[0].members, whole.members)
    if back is None:
        return None
    text, names = old_template(group[0])
    texts = [text, *(old_template(family)[0] for family in group[1:])]
    new = new_template(whole, names, back)
    because = f"{len(whole.members)} keys: {shown} rows along axis {axis} make the whole"
    return Part(
        merge(texts, new, axis=axis, sizes=uneven), f"{because}{_order(group)}", tuple(group), (whole,)
    )


def _order(group: Sequence[Family]) -> str:
    return "" if all(_role(family) for family in group) else "; they are in the order of the keys: check it"


def _siblings(several: Sequence[Family]) -> Iterator[list[Family]]:
    """Families whose patterns differ in one name: those with the roles q, k, v in this order, or all."""
    groups: dict[tuple[object, ...], list[Family]] = {}
    for family in several:
        parts = family.pattern.split(".")
        for at in range(len(parts)):
            place = (at, tuple(parts[:at]), tuple(parts[at + 1 :]), frozenset(family.members))
            groups.setdefault(place, []).append(family)
    for group in groups.values():
        roles = {_role(family): family for family in group}
        if all(role in roles for role in _ROLES):
            yield [roles[role] for role in _ROLES]
        if all(role in roles for role in ("k", "v")):
            yield [roles[role] for role in ("k", "v")]
        if len(group) > 1:
            yield sorted(group, key=lambda family: family.place)


def _role(family: Family) -> str:
    return next((word for word in reversed(words(family.pattern)) if word in _ROLES), "")


def _axis(whole: Family, group: Sequence[Family], maps: tuple[Linear, ...]) -> int | None:
    """The axis along which the group's values, side by side, have the shape of the whole, in every member."""
    rank = len(next(iter(whole.members.values())).shape)
    for axis in range(rank):
        if all(
            _beside(header.shape, [family.members[applied(maps, numbers)].shape for family in group], axis)
            for numbers, header in whole.members.items()
        ):
            return axis
    return None


def _beside(whole: tuple[int, ...], parts: Sequence[tuple[int, ...]], axis: int) -> bool:
    return (
        all(len(part) == len(whole) for part in parts)
        and all(part[:axis] + part[axis + 1 :] == whole[:axis] + whole[axis + 1 :] for part in parts)
        and sum(part[axis] for part in parts) == whole[axis]
    )


def _stack(whole: Family, several: Sequence[Family]) -> Part | None:
    """A family with one number more whose members, one behind the other, are the members of `whole`."""
    for family in several:
        count = len(next(iter(family.members)))
        for at in range(count):
            rest: dict[tuple[int, ...], dict[int, tuple[int, ...]]] = {}
            for numbers, header in family.members.items():
                rest.setdefault(numbers[:at] + numbers[at + 1 :], {})[numbers[at]] = header.shape
            maps = number_maps(rest, whole.members)
            if maps is not None and _stacks(rest, whole.members, maps):
                text, names = old_template(family)
                over = names.pop(at)
                new = new_template(whole, names, maps)
                because = f"{len(family.members)} keys, one behind the other, have the shape of the new ones"
                return Part(merge(text, new, over=over), because, (family,), (whole,))
    return None


def _stacks(
    rest: Mapping[tuple[int, ...], Mapping[int, tuple[int, ...]]],
    wholes: Mapping[tuple[int, ...], object],
    maps: tuple[Linear, ...],
) -> bool:
    for numbers, parts in rest.items():
        whole = wholes[applied(maps, numbers)]
        shapes = set(parts.values())
        if len(shapes) != 1 or sorted(parts) != list(range(len(parts))):
            return False
        if getattr(whole, "shape", None) != (len(parts), *shapes.pop()):
            return False
    return True
