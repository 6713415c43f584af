"""How many steps keys take to their places in a dict or a set: few for honest ones, endless for crafted ones.

The hash of a key decides at which places of the table it is looked for, one after the other. Strings and
bytes are hashed with a secret of the process (where PYTHONHASHSEED is not set to a number); numbers, and
tuples of them, are not, so that an archive can hold thousands that all go the same way: each of them walks
past all that were there before.

Steps are counted as CPython takes them (Objects/dictobject.c, Objects/setobject.c), for every size that the
table has while it grows, and exactly: a key that comes earlier holds its place against all later ones, so it
does not matter in which order they ask for it, and all may ask at once.

The builder of objects asks once for each container; the reader of pickles (`packager/_weights`), whose dicts
grow little by little, each time that one has grown by some.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from packager._archive import FREE_KEYS, STEPS_PER_KEY

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Any, Final

_HASHED_WITH_A_SECRET: Final = frozenset({str, bytes})
_PERTURB_SHIFT: Final = 5
_LINEAR_PROBES: Final = 9
_FEW: Final = 64
_MODULUS: Final = (1 << 61) - 1
"""Below it, in size, an int is its own hash; but -1, whose hash is -2."""


def require_spread(
    keys: Collection[Any], *, in_set: bool = False, kinds: Collection[type] | None = None
) -> None:
    """Raise ValueError for keys that a dict, or a set, would take far more steps to hold than honest ones.

    Each key is hashed: whether that may be is decided before. `kinds` are their types, where these are known.

    >>> require_spread(range(10_000))
    >>> require_spread([number * (2**61 - 1) for number in range(10_000)])
    Traceback (most recent call last):
    ValueError: 10000 keys whose hashes collide, so that each would be compared with all others
    """
    if len(keys) <= FREE_KEYS:
        return
    kinds = set(map(type, keys)) if kinds is None else kinds
    if _HASHED_WITH_A_SECRET.issuperset(kinds):
        return
    fraction = getattr(sys.modules.get("fractions"), "Fraction", None)
    if fraction in kinds:
        require_spread_parts(key for key in keys if type(key) is fraction)
    import numpy

    are_keys = kinds == {int} and max(keys) < _MODULUS and min(keys) > -_MODULUS
    hashes = numpy.fromiter(map(hash, keys), numpy.int64, len(keys))
    _require_room(hashes, are_keys=are_keys, in_set=in_set)


def _require_room(hashes: Any, *, are_keys: bool, in_set: bool) -> None:
    """Raise ValueError for hashes that collide; `are_keys` says that they are the numbers themselves."""
    for size, count in _tables(len(hashes), in_set=in_set):
        if are_keys and int(hashes[:count].max()) - int(hashes[:count].min()) < size:
            continue  # as numbers that follow each other: each has its own place
        if _is_crowded(hashes[:count], size, in_set=in_set):
            raise ValueError(
                f"{len(hashes)} keys whose hashes collide, so that each would be compared with all others"
            )


def require_spread_parts(keys: Iterable[Fraction]) -> None:
    """Raise ValueError for fractions whose numerators and denominators collide in pairs.

    From Python 3.12 on the hash of a fraction is remembered by that pair, in a table for all.
    """
    pairs = sorted((key.numerator, key.denominator) for key in keys)
    require_spread([pair for pair, _ in groupby(pairs)])


def _tables(count: int, *, in_set: bool) -> Iterator[tuple[int, int]]:
    """The sizes that a table has while it grows, with how many keys it has then, at most."""
    size = 8
    while True:
        most = ((size - 1) * 3 + 4) // 5 if in_set else 2 * size // 3
        if min(most, count) > FREE_KEYS:
            yield size, min(most, count)
        if most >= count:
            return
        size *= 4 if in_set and most <= 50_000 else 2


def _is_crowded(hashes: Any, size: int, *, in_set: bool) -> bool:
    """Whether keys of these hashes, in this order, take too many steps in a table of this size."""
    import numpy

    nobody = len(hashes)
    mask = size - 1
    hashes = hashes.view(numpy.int64)  # of which the lowest bits are the same
    start = hashes & mask
    holders = numpy.full(size, nobody, numpy.int32)
    asking: Any = numpy.arange(nobody, dtype=numpy.int32)
    # The first to ask for a place, of all keys at once: what is assigned last stays.
    holders[start[::-1]] = asking[::-1]
    (asking,) = (holders[start] != asking).nonzero()
    rest = hashes.view(numpy.uint64).copy()  # of the hash, which is used up from below
    beside = numpy.zeros(nobody, numpy.int8)  # steps beyond the start, to neighbouring places, in a set
    steps = nobody
    while len(asking) > _FEW:
        steps += len(asking)
        if steps > STEPS_PER_KEY * nobody:
            return True
        moving, places = asking, start[asking]
        if in_set:
            further = beside[asking] + numpy.int8(1)
            near = (further <= _LINEAR_PROBES) & (places <= mask - _LINEAR_PROBES)
            beside[asking] = further * near
            moving, away = asking[~near], places[~near]
            places += further
        else:
            away = places
        rest[moving] = left = rest[moving] >> numpy.uint64(_PERTURB_SHIFT)
        start[moving] = away = (away * 5 + (left & numpy.uint64(mask)).view(numpy.int64) + 1) & mask
        if in_set:
            places[~near] = away
        else:
            places = away
        before = holders[places]
        numpy.minimum.at(holders, places, asking.astype(numpy.int32))
        holds = holders[places] == asking
        displaced = before[holds]
        asking = numpy.concatenate([asking[~holds], displaced[displaced < nobody]])
    ways = _Ways(start, rest, beside, mask, in_set=in_set)
    return not ways.end_within(STEPS_PER_KEY * nobody - steps, asking, holders)


class _Ways:
    """The ways of the last keys that ask: one after the other, as many rounds for a few would take longer.

    Among numbers that follow each other, one key that came before can move each of them on by one place.
    """

    def __init__(self, start: Any, rest: Any, beside: Any, mask: int, *, in_set: bool) -> None:
        self._columns = start, rest, beside
        self._count = len(start)
        self._mask = mask
        self._in_set = in_set
        self._moved: dict[int, tuple[int, int, int]] = {}

    def end_within(self, most: float, asking: Any, holders: Any) -> bool:
        """Whether all find a place within so many steps."""
        places: dict[int, int] = {}
        keys = asking.tolist()
        self._moved = dict(
            zip(keys, zip(*(one[asking].tolist() for one in self._columns), strict=True), strict=True)
        )
        for key in keys:
            while key < self._count:
                most -= 1
                if most < 0:
                    return False
                place = self._next(key)
                holder = places[place] if place in places else holders.item(place)
                if holder > key:
                    key, places[place] = holder, key
        return True

    def _next(self, key: int) -> int:
        moved = self._moved.get(key)
        start, rest, beside = (one.item(key) for one in self._columns) if moved is None else moved
        if self._in_set and beside < _LINEAR_PROBES and start + _LINEAR_PROBES <= self._mask:
            beside += 1
        else:
            rest >>= _PERTURB_SHIFT
            start, beside = (start * 5 + rest + 1) & self._mask, 0
        self._moved[key] = start, rest, beside
        return start + beside


def require_once(keys: Sequence[Any], kept: int) -> None:
    """Raise ValueError where a dict or a set that was made of keys kept fewer of them: one is there twice.

    Which of its values counts would be up to each reader.
    """
    if kept == len(keys):
        return
    seen = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"a dict or set has {_shown(key)} twice")
        seen.add(key)
    raise ValueError("a dict or set is given a key or member that it has already")


def _shown(key: Any) -> str:
    if type(key) is str or type(key) is bytes:
        return f"the key {key[:80]!r}"
    short = type(key) in (bool, float, type(None)) or (type(key) is int and key.bit_length() < 512)
    return f"the key {key!r}" if short else f"a key of type {type(key).__qualname__}"
