"""From pairs of families to renames: as few templates as say the same, each tried on every key."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packager._migrations import (
    HoleArithmetic,
    Rename,
    Step,
    Transform,
    Values,
    apply_steps,
    rename,
)
from packager._quick_dataclasses import dataclass
from packager._texts import counted
from packager.errors import MigrationError

from .matching import MOST_STEPS, Effort, Family, Pair, filled, number_free

_NAMES = "nmkijlabcdefgh"
_AWAY = "migrated"  # the prefix of keys between two steps, when a new name is also an old one


@dataclass(frozen=True)
class _Rule:
    """A candidate: two templates and what happens to the values."""

    old: str
    new: str
    transforms: tuple[Transform, ...]

    def step(self) -> Rename:
        return rename(self.old, self.new, *self.transforms)


def rules_for(pairs: Sequence[Pair], values: Values, effort: Effort) -> list[tuple[Step, str]]:
    """Return steps that do for `values` what the pairs say and no more, the widest first, with reasons."""
    wanted: dict[str, tuple[str, Pair]] = {}
    for pair in pairs:
        for old, new in pair.keys().items():
            if old != new or pair.transforms:
                wanted[old] = (new, pair)
    chosen = _fewest(_candidates(pairs, wanted, values, effort), wanted)
    many = f"{len(wanted):,} keys were not renamed: {len(chosen):,} steps are too many"
    if not effort.allows("steps", len(chosen) * len(values), many, MOST_STEPS):
        return []
    steps = [rule.step() for rule, _ in chosen]
    reasons = [_reason(keys, wanted) for _, keys in chosen]
    if _does(steps, values, wanted):
        return list(zip(steps, reasons, strict=True))
    away = [rename(rule.old, f"{_AWAY}.{rule.new}", *rule.transforms) for rule, _ in chosen]
    back = rename(f"{_AWAY}.{{rest:any}}", "{rest}")
    reason = "some new names are also old names, so these keys get a temporary prefix first"
    return [*zip(away, reasons, strict=True), (back, reason)]


def old_template(family: Family) -> tuple[str, list[str]]:
    """Return the template of a family, and the name of the hole for each number."""
    names = [_NAMES[at % len(_NAMES)] for at in range(family.pattern.count("{}"))]
    return filled(family.pattern, [f"{{{name}:int}}" for name in names]), names


def new_template(family: Family, names: Sequence[str], maps: Sequence[HoleArithmetic]) -> str:
    """Return the template of the new side; `names` are the holes of the old one."""
    holes = [f"{{{expression(name, line)}}}" for name, line in zip(names, maps, strict=True)]
    return filled(family.pattern, holes)


def expression(name: str, line: HoleArithmetic) -> str:
    """Return the arithmetic of a hole, as a template writes it.

    >>> [expression("n", HoleArithmetic(*one)) for one in ((), (1, -1), (3, -3))]
    ['n', 'n-1', '3*(n-1)']
    """
    factor, offset = line.factor, line.offset
    if factor == 1:
        return f"{name}{offset:+d}" if offset else name
    if offset % factor == 0:
        return f"{factor}*({name}{offset // factor:+d})" if offset else f"{factor}*{name}"
    return f"{factor}*{name}{offset:+d}"


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
    many = "not every template was tried, as there are too many keys: steps may be narrow"
    if ":any}" in rule.old and not effort.allows("templates", len(keys), many):
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
