"""Values that are fused: one on one side and several on the other, as projections and stacked experts are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from packager._migrations import HoleArithmetic, Step, merge, split, words
from packager._quick_dataclasses import dataclass, field
from packager._texts import counted

from .draft_steps import new_template, old_template
from .matching import Effort, Family, applied, common_words, number_maps

_ROLES = ("q", "k", "v")
# What the words of a fused projection say when they stand side by side: qkv, Wqkv, kv_proj, in_proj, c_attn.
_FUSED = {_ROLES: ("qkv", "infc", "cattn"), _ROLES[1:]: ("kv",)}

_MOST_NAMES = 32  # in a key, beyond which it is not looked at as a part of another: it is cut at each of them


@dataclass(frozen=True)
class Part:
    """A step that cuts or joins, with what it takes and makes."""

    step: Step
    because: str
    olds: tuple[Family, ...] = field(repr=False)
    news: tuple[Family, ...] = field(repr=False)

    @property
    def is_told_by_names(self) -> bool:
        """Whether each part has a word in common with the whole."""
        return all(common_words(old.pattern, new.pattern) for old in self.olds for new in self.news)


def fused_by_name(olds: Sequence[Family], news: Sequence[Family], effort: Effort) -> list[Part]:
    """Find queries, keys and values that become one value, or come from one, where both names say so.

    It is for before families are compared one by one: a projection of values has the shape of the one behind
    it, and would be taken for it when what it belongs to is not looked at first.
    """
    return [part for part in _fused(olds, news, effort, by_name=True) if part.is_told_by_names]


def fused(olds: Sequence[Family], news: Sequence[Family], effort: Effort) -> tuple[list[Part], list[Part]]:
    """Find every way in which one family is several of the other side along an axis; none is used twice.

    Returns those for which names speak, and those of which shapes alone know.
    """
    parts = _fused(olds, news, effort)
    return [part for part in parts if part.is_told_by_names], [
        part for part in parts if not part.is_told_by_names
    ]


def _fused(
    olds: Sequence[Family], news: Sequence[Family], effort: Effort, *, by_name: bool = False
) -> list[Part]:
    found: list[Part] = []
    used: set[int] = set()
    for wholes, several, forward in ((olds, news, True), (news, olds, False)):
        groups: dict[tuple[int, int, int], list[list[Family]]] = {}
        for group in _siblings(several, by_name):
            place = len(group[0].members), group[0].holes, sum(family.size for family in group)
            groups.setdefault(place, []).append(group)
        of_size: dict[int, list[Family]] = {}
        for family in several:
            if family.holes and not forward and not by_name:
                of_size.setdefault(family.size, []).append(family)
        for whole in wholes:
            if id(whole) in used or (by_name and not _is_fused(whole)):
                continue
            free = [
                group
                for group in groups.get((len(whole.members), whole.holes, whole.size), ())
                if not any(id(family) in used for family in group)
                and (not by_name or _is_fused(whole, group))
            ]
            stacked = [family for family in of_size.get(whole.size, ()) if id(family) not in used]
            cost = sum(
                len(family.members) for family in (*stacked, *(one for group in free for one in group))
            )
            many = "splits and merges were not all tried: too many values"
            if not effort.allows("parts", 1 + cost, many):
                return found
            part = _part(whole, free, forward) or _stack(whole, stacked)
            if part is not None:
                found.append(part)
                used |= {id(family) for family in (*part.olds, *part.news)}
    return found


def _part(whole: Family, groups: Sequence[list[Family]], forward: bool) -> Part | None:
    """Return the siblings that make up `whole`, those whose names are most like its own."""
    best: tuple[int, list[Family], int, list[int], tuple[HoleArithmetic, ...]] | None = None
    for group in groups:
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
        because = f"{counted(len(whole.members), 'key')}: {shown} rows along axis {axis} are the parts"
        return Part(step, f"{because}{_order(group)}", (whole,), tuple(group))
    back = number_maps(group[0].members, whole.members)
    if back is None:
        return None
    text, names = old_template(group[0])
    texts = [text, *(old_template(family)[0] for family in group[1:])]
    new = new_template(whole, names, back)
    because = f"{counted(len(whole.members), 'key')}: {shown} rows along axis {axis} make the whole"
    return Part(
        merge(texts, new, axis=axis, sizes=uneven), f"{because}{_order(group)}", tuple(group), (whole,)
    )


def _order(group: Sequence[Family]) -> str:
    return "" if all(_role(family) for family in group) else "; in the order of the keys: check it"


def _siblings(several: Sequence[Family], by_name: bool) -> Iterator[list[Family]]:
    """Yield families whose patterns differ in one name: those with the roles q, k, v in order, or all.

    All are none where a role is among them and its others are not: what stands beside it is of another kind.
    """
    cuts = Counter(hash(place) for family in several for place in _cut(family))
    groups: dict[tuple[object, ...], list[Family]] = {}
    for family in several:
        for place in _cut(family):
            if cuts[hash(place)] > 1:  # most stand alone, and are not kept
                groups.setdefault(place, []).append(family)
    for group in groups.values():
        roles = {_role(family): family for family in group}
        if all(role in roles for role in _ROLES):
            yield [roles[role] for role in _ROLES]
        if all(role in roles for role in ("k", "v")):
            yield [roles[role] for role in ("k", "v")]
        among_others = "" in roles and len(roles) > 1 and not set(_ROLES) <= set(roles)
        if len(group) > 1 and not by_name and not among_others:
            yield sorted(group, key=lambda family: family.place)


def _cut(family: Family) -> Iterator[tuple[object, ...]]:
    """Yield a family's pattern with each of its names left out, and its members."""
    parts, members = family.pattern.split("."), frozenset(family.members)
    for at in range(len(parts) if len(parts) <= _MOST_NAMES else 0):
        yield ".".join(parts[:at]), ".".join(parts[at + 1 :]), members


def _is_fused(whole: Family, group: Sequence[Family] = ()) -> bool:
    """Say whether a family is called what the roles of a group are together, or the roles of any group."""
    said = "".join(words(whole.pattern))
    roles = tuple(_role(family) for family in group)
    return any(word in said for word in (_FUSED[roles] if group else sum(_FUSED.values(), ())))


def _role(family: Family) -> str:
    return next((word for word in reversed(words(family.pattern)) if word in _ROLES), "")


def _axis(whole: Family, group: Sequence[Family], maps: tuple[HoleArithmetic, ...]) -> int | None:
    """Return the axis along which the group's values, side by side, have every member's shape."""
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
    """Find a family with one number more whose members, one behind the other, are those of `whole`."""
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
                keys = counted(len(family.members), "key")
                because = f"{keys}, stacked to the shape of the new ones"
                return Part(merge(text, new, over=over), because, (family,), (whole,))
    return None


def _stacks(
    rest: Mapping[tuple[int, ...], Mapping[int, tuple[int, ...]]],
    wholes: Mapping[tuple[int, ...], object],
    maps: tuple[HoleArithmetic, ...],
) -> bool:
    for numbers, parts in rest.items():
        whole = wholes[applied(maps, numbers)]
        shapes = set(parts.values())
        if len(shapes) != 1 or sorted(parts) != list(range(len(parts))):
            return False
        if getattr(whole, "shape", None) != (len(parts), *shapes.pop()):
            return False
    return True
