"""How many steps keys take to their places in a dict or a set: few for honest ones, endless for crafted ones.

The hash of a key decides at which places of the table it is looked for, one after the other. Strings and
bytes are hashed with a secret of the process (where PYTHONHASHSEED is not set to a number); numbers, and
tuples of them, are not, so that an archive can hold thousands that all go the same way: each of them walks
past all that were there before.

Steps are counted as CPython takes them (Objects/dictobject.c, Objects/setobject.c), for every size that the
table has while it grows, and exactly: a key that comes earlier holds its place against all later ones, so it
does not matter in which order they ask for it, and all may ask at once.

The builder of objects asks once for each container; the reader of pickles (`packager/weights`), whose dicts
grow little by little, each time that one has grown by some.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from packager.archive import FREE_KEYS, STEPS_PER_KEY

if TYPE_CHECKING:
    from fractions import Fraction

_HASHED_WITH_A_SECRET: Final = frozenset({str, bytes})
_PERTURB_SHIFT: Final = 5
_LINEAR_PROBES: Final = 9
_FEW: Final = 64


def require_spread(keys: Collection[Any], *, in_set: bool = False) -> None:
    """Raise ValueError for keys that a dict, or a set, would take far more steps to hold than honest ones.

    Each key is hashed: whether that may be is decided before.

    >>> require_spread(range(10_000))
    >>> require_spread([number * (2**61 - 1) for number in range(10_000)])
    Traceback (most recent call last):
    ValueError: 10000 keys whose hashes collide, so that each would be compared with all others
    """
    kinds = set(map(type, keys))
    if len(keys) <= FREE_KEYS or kinds <= _HASHED_WITH_A_SECRET:
        return
    fraction = getattr(sys.modules.get("fractions"), "Fraction", None)
    if fraction in kinds:
        require_spread_parts(key for key in keys if type(key) is fraction)
    import numpy

    hashes = numpy.fromiter(map(hash, keys), numpy.int64, len(keys)).view(numpy.uint64)
    for size, count in _tables(len(keys), in_set=in_set):
        if _is_crowded(hashes[:count], size, in_set=in_set):
            raise ValueError(
                f"{len(keys)} keys whose hashes collide, so that each would be compared with all others"
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
    mask = numpy.uint64(size - 1)
    start = hashes & mask
    holders = numpy.full(size, nobody, numpy.int32)
    asking = numpy.arange(nobody, dtype=numpy.int32)
    # The first to ask for a place, of all keys at once: what is assigned last stays.
    holders[start[::-1]] = asking[::-1]
    asking = asking[holders[start] != asking]
    rest = hashes.copy()  # of the hash, which is used up from below
    beside = numpy.zeros(nobody, numpy.uint64)  # steps beyond the start, to neighbouring places, in a set
    steps = nobody
    while len(asking) > _FEW:
        steps += len(asking)
        if steps > STEPS_PER_KEY * nobody:
            return True
        moving = asking
        if in_set:
            near = (beside[asking] < _LINEAR_PROBES) & (start[asking] + numpy.uint64(_LINEAR_PROBES) <= mask)
            beside[asking[near]] += numpy.uint64(1)
            moving = asking[~near]
            beside[moving] = 0
        rest[moving] >>= numpy.uint64(_PERTURB_SHIFT)
        start[moving] = (start[moving] * numpy.uint64(5) + rest[moving] + numpy.uint64(1)) & mask
        places = start[asking] + beside[asking]
        before = holders[places]
        numpy.minimum.at(holders, places, asking)
        holds = holders[places] == asking
        displaced = before[holds]
        asking = numpy.concatenate([asking[~holds], displaced[displaced < nobody]])
    ways = _Ways(start, rest, beside, mask, in_set=in_set)
    return not ways.end_within(STEPS_PER_KEY * nobody - steps, asking, holders)


class _Ways:
    """The ways of the last keys that ask: one after the other, as many rounds for a few would take longer.

    Among numbers that follow each other, one key that came before can move each of them on by one place.
    """

    def __init__(self, start: Any, rest: Any, beside: Any, mask: Any, *, in_set: bool) -> None:
        self._columns = start, rest, beside
        self._count = len(start)
        self._mask = int(mask)
        self._in_set = in_set
        self._moved: dict[int, tuple[int, int, int]] = {}

    def end_within(self, most: float, asking: Any, holders: Any) -> bool:
        """Whether all find a place within so many steps."""
        places = holders.tolist() if len(asking) else []
        for key in asking.tolist():
            while key < self._count:
                most -= 1
                if most < 0:
                    return False
                place = self._next(key)
                if places[place] > key:
                    key, places[place] = places[place], key
        return True

    def _next(self, key: int) -> int:
        moved = self._moved.get(key)
        start, rest, beside = (int(one[key]) for one in self._columns) if moved is None else moved
        if self._in_set and beside < _LINEAR_PROBES and start + _LINEAR_PROBES <= self._mask:
            beside += 1
        else:
            rest >>= _PERTURB_SHIFT
            start, beside = (start * 5 + rest + 1) & self._mask, 0
        self._moved[key] = start, rest, beside
        return start + beside
