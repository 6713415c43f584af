"""From families of keys to steps: renames for pairs of them, cuts and joins for values that are fused.

Renames are as few templates as say the same, each tried on every key before it counts. Fused are projections
and stacked experts: one value on one side and several on the other.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from packager.errors import MigrationError
from packager.migrations import (
    Linear,
    Rename,
    Step,
    Transform,
    Values,
    apply_steps,
    merge,
    rename,
    split,
    words,
)
from packager.texts import counted

from .effort import MOST_PARTS, MOST_SEGMENTS, MOST_TRIED, Effort, most_steps
from .families import Family, Pair, applied, filled
from .matching import number_free, number_maps

_NAMES = "nmkijlabcdefgh"
_AWAY = "migrated"  # the prefix of keys between two steps, when a new name is also an old one
_ROLES = ("q", "k", "v")


@dataclass(frozen=True)
class _Rule:
    """A candidate: two templates and what happens to the values."""

    old: str
    new: str
    transforms: tuple[Transform, ...]

    def step(self) -> Rename:
        return rename(self.old, self.new, *self.transforms)


@dataclass(frozen=True)
class Part:
    """A step that cuts or joins, with what it takes and makes."""

    step: Step
    because: str
    olds: tuple[Family, ...] = field(repr=False)
    news: tuple[Family, ...] = field(repr=False)


def rules_for(pairs: Sequence[Pair], values: Values, effort: Effort) -> list[tuple[Step, str]]:
    """Return steps that do for `values` what the pairs say and no more, the widest first, with reasons."""
    wanted: dict[str, tuple[str, Pair]] = {}
    for pair in pairs:
        for old, new in pair.keys().items():
            if old != new or pair.transforms:
                wanted[old] = (new, pair)
    chosen = _fewest(_candidates(pairs, wanted, values, effort), wanted)
    if len(chosen) > (most := most_steps(len(values))):
        kept = _kept(chosen[:most], wanted, values)
        effort.give_up(
            "steps",
            f"{len(chosen):,} steps would rename {len(wanted):,} keys; here are the widest {len(kept):,}",
        )
        chosen = kept
        wanted = {key: wanted[key] for _, keys in chosen for key in keys}
    steps = [rule.step() for rule, _ in chosen]
    reasons = [_reason(keys, wanted) for _, keys in chosen]
    if _does(steps, values, wanted):
        return list(zip(steps, reasons, strict=True))
    away = [rename(rule.old, f"{_AWAY}.{rule.new}", *rule.transforms) for rule, _ in chosen]
    back = rename(f"{_AWAY}.{{rest:any}}", "{rest}")
    reason = "some new names are also old ones, so all of these keys get a temporary prefix first"
    return [*zip(away, reasons, strict=True), (back, reason)]


def old_template(family: Family) -> tuple[str, list[str]]:
    """Return the template of a family, and the name of the hole for each number."""
    names = [_NAMES[at % len(_NAMES)] for at in range(family.pattern.count("{}"))]
    return filled(family.pattern, [f"{{{name}:int}}" for name in names]), names


def new_template(family: Family, names: Sequence[str], maps: Sequence[Linear]) -> str:
    """Return the template of the new side; `names` are the holes of the old one."""
    holes = [f"{{{expression(name, line)}}}" for name, line in zip(names, maps, strict=True)]
    return filled(family.pattern, holes)


def expression(name: str, line: Linear) -> str:
    """Return the arithmetic of a hole, as a template writes it.

    >>> expression("n", Linear()), expression("n", Linear(1, -1)), expression("n", Linear(3, -3))
    ('n', 'n-1', '3*(n-1)')
    """
    factor, offset = line.factor, line.offset
    if factor == 1:
        return f"{name}{offset:+d}" if offset else name
    if offset % factor == 0:
        return f"{factor}*({name}{offset // factor:+d})" if offset else f"{factor}*{name}"
    return f"{factor}*{name}{offset:+d}"


def fused(olds: Sequence[Family], news: Sequence[Family], effort: Effort) -> list[Part]:
    """Find every way in which one family is several of the other side along an axis; none is used twice."""
    found: list[Part] = []
    used: set[int] = set()
    for wholes, several, forward in ((olds, news, True), (news, olds, False)):
        parts = _Parts(several, used)
        for whole in wholes:
            if id(whole) in used:
                continue
            if not effort.spend("parts", parts.cost(whole), MOST_PARTS):
                effort.give_up("parts", "there are too many values to try each as a part of the others")
                return found
            part = _part(whole, parts.groups(whole), forward)
            part = part or (None if forward else _stack(whole, parts.stacked(whole)))
            if part is not None:
                found.append(part)
                used |= {id(family) for family in (*part.olds, *part.news)}
                if not effort.spend("parts", len(several), MOST_PARTS):
                    effort.give_up("parts", "there are too many values to try each as a part of the others")
                    return found
                parts = _Parts(several, used)
    return found


class _Parts:
    """Families that may be parts of one value, found by the elements that they have together."""

    def __init__(self, several: Sequence[Family], used: Collection[int]) -> None:
        free = [family for family in several if id(family) not in used]
        self._groups: dict[tuple[int, int, int], list[list[Family]]] = {}
        self._stacked: dict[int, list[Family]] = {}
        for group in _siblings(free):
            place = len(group[0].members), group[0].holes, sum(family.size for family in group)
            self._groups.setdefault(place, []).append(group)
        for family in free:
            if family.holes:
                self._stacked.setdefault(family.size, []).append(family)

    def groups(self, whole: Family) -> Sequence[list[Family]]:
        return self._groups.get((len(whole.members), whole.holes, whole.size), ())

    def stacked(self, whole: Family) -> Sequence[Family]:
        return self._stacked.get(whole.size, ())

    def cost(self, whole: Family) -> int:
        """Return how many members are looked at to say whether a family is made of these."""
        several = (*self.stacked(whole), *(family for group in self.groups(whole) for family in group))
        return 1 + sum(len(family.members) for family in several)


def _candidates(
    pairs: Sequence[Pair], wanted: Mapping[str, tuple[str, Pair]], values: Values, effort: Effort
) -> dict[_Rule, frozenset[str]]:
    """Return the rules that are right for every key they match, with those keys."""
    found: dict[_Rule, frozenset[str]] = {}
    alike: dict[str, list[str]] = {}
    for key in values:
        alike.setdefault(number_free(key), []).append(key)
    for pair in pairs:
        old, names = old_template(pair.old)
        new = new_template(pair.new, names, pair.maps)
        pattern = pair.old.pattern  # without a hole it is one key
        closed = alike.get(number_free(pattern), ()) if pair.old.holes else (pattern,)
        for rule in _variants(old.split("."), new.split("."), pair.transforms):
            if rule not in found:
                keys = values if ":any}" in rule.old else closed
                found[rule] = _matched(rule, wanted, keys, effort)
    return {rule: keys for rule, keys in found.items() if keys}


def _variants(old: list[str], new: list[str], transforms: tuple[Transform, ...]) -> Iterator[_Rule]:
    """Yield the rule for a family alone, then with what both sides share at either end left open."""
    plain = [part.replace(":int", "") for part in old]
    shortest = min(len(old), len(new)) - 1
    lead = trail = 0
    while lead < shortest and plain[lead] == new[lead]:
        lead += 1
    while trail < shortest - lead and plain[-1 - trail] == new[-1 - trail]:
        trail += 1
    for head, tail in ((0, 0), (0, trail), (lead, 0), (lead, trail)):
        middle = ".".join(old[head : len(old) - tail]), ".".join(new[head : len(new) - tail])
        yield _Rule(
            ("{p:any}." if head else "") + middle[0] + (".{rest:any}" if tail else ""),
            ("{p}." if head else "") + middle[1] + (".{rest}" if tail else ""),
            transforms,
        )


def _matched(
    rule: _Rule, wanted: Mapping[str, tuple[str, Pair]], keys: Collection[str], effort: Effort
) -> frozenset[str]:
    """Return those of the keys that a rule matches; none where it is wrong for any of them."""
    if ":any}" in rule.old and not effort.spend("templates", len(keys), MOST_TRIED):
        effort.give_up("templates", "there are too many keys to try every template on: steps may be narrow")
        return frozenset()
    try:
        step = rule.step()
    except MigrationError:
        return frozenset()
    found = set()
    for key in keys:
        holes = step.old.match(key)
        if holes is None:
            continue
        if key not in wanted:
            return frozenset()
        new, pair = wanted[key]
        if pair.transforms != rule.transforms or step.new.fill(holes) != new:
            return frozenset()
        found.add(key)
    return frozenset(found)


def _fewest(
    candidates: Mapping[_Rule, frozenset[str]], wanted: Iterable[str]
) -> list[tuple[_Rule, set[str]]]:
    """Choose rules that together match every wanted key, each time the one that matches most of the rest."""
    left = set(wanted)
    chosen: list[tuple[_Rule, set[str]]] = []
    rules = list(candidates)
    # What a rule matches of the rest only becomes less: the first whose count is still right is the best.
    heap = [(-len(candidates[rule] & left), rule.old.count(":any"), at) for at, rule in enumerate(rules)]
    heapq.heapify(heap)
    while left and heap:
        count, opens, at = heapq.heappop(heap)
        matched = candidates[rules[at]] & left
        if len(matched) != -count:
            heapq.heappush(heap, (-len(matched), opens, at))
        elif matched:
            chosen.append((rules[at], set(matched)))
            left -= matched
    return chosen


def _kept(
    chosen: Sequence[tuple[_Rule, set[str]]], wanted: Mapping[str, tuple[str, Pair]], values: Values
) -> list[tuple[_Rule, set[str]]]:
    """Return the rules without those that would give a key the name of one that is left where it is."""
    kept = list(chosen)
    while True:
        staying = values.keys() - {key for _, keys in kept for key in keys}
        free = [(rule, keys) for rule, keys in kept if all(wanted[key][0] not in staying for key in keys)]
        if len(free) == len(kept):
            return kept
        kept = free


def _does(steps: Sequence[Step], values: Values, wanted: Mapping[str, tuple[str, Pair]]) -> bool:
    """Say whether the steps, one after the other, bring every key where it belongs."""
    try:
        after, _ = apply_steps(steps, values)
    except MigrationError:
        return False
    return set(after) == {wanted[key][0] if key in wanted else key for key in values}


def _reason(keys: Iterable[str], wanted: Mapping[str, tuple[str, Pair]]) -> str:
    found = sorted(keys)
    pair = wanted[found[0]][1]
    count = counted(len(found), "key")
    alike = (
        f", names and neighbours score {min(wanted[key][1].score for key in found):.2f}" if pair.score else ""
    )
    return f"{count}: {pair.because}{alike}; {found[0]} -> {wanted[found[0]][0]}"


def _part(whole: Family, groups: Sequence[list[Family]], forward: bool) -> Part | None:
    """Return the siblings that make up `whole`, those whose names are most like its own."""
    best: tuple[int, list[Family], int, list[int], tuple[Linear, ...]] | None = None
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
        because = f"{counted(len(whole.members), 'key')}: {shown} rows along axis {axis} make the parts"
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
    return "" if all(_role(family) for family in group) else "; they are in the order of the keys: check it"


def _siblings(several: Sequence[Family]) -> Iterator[list[Family]]:
    """Yield families whose patterns differ in one name: those with the roles q, k, v in order, or all."""
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
        if len(group) > 1:
            yield sorted(group, key=lambda family: family.place)


def _cut(family: Family) -> Iterator[tuple[object, ...]]:
    """Yield a family's pattern with each of its names left out, and its members."""
    parts, members = family.pattern.split("."), frozenset(family.members)
    if len(parts) <= MOST_SEGMENTS:
        for at in range(len(parts)):
            yield ".".join(parts[:at]), ".".join(parts[at + 1 :]), members


def _role(family: Family) -> str:
    return next((word for word in reversed(words(family.pattern)) if word in _ROLES), "")


def _axis(whole: Family, group: Sequence[Family], maps: tuple[Linear, ...]) -> int | None:
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
                because = f"{keys}, one behind the other, with the shape of the new ones"
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
