"""Long containers of plain values as runs: which are spelled so, and how.

A list of three hundred thousand numbers is one run. So is a dict with a run of keys and one of values. A list
of as many pairs is two columns, each a run; dicts that have the same keys are a column for each key. Where
the small containers differ in length, they are rows: a run of counts, and what all of them hold, one after
the other. Rows and columns may hold rows and columns in turn.

Small lists, dicts and sets keep who they are: what refers to one of them from elsewhere refers to its row.
Where they come twice, or all of them are rows of one record that was written before, a run of numbers picks
them. A container with others that were written before is spelled item by item, as all others are.
Tuples and frozensets of plain values are values, as numbers and texts are: each place has its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, count

from packager.archive import MAX_ROW_DEPTH
from packager.quick_dataclasses import dataclass

from .records import SCALARS, Kind, Record, is_inline
from .runs import RUN_FROM, Run, RunWriter, members_of, mixed_of, numbers_of, run_of, run_of_numbers

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

MOST_COLUMNS: Final = 16
"""Columns that small tuples and lists of one length are spelled in; longer ones are rows."""

MOST_KEYS: Final = 64
"""Keys of dicts that are spelled by their keys; dicts with more are rows."""

LEAST_ROWS: Final = 64
"""Small containers that a container must hold for them to be rows."""

ROW_KINDS: Final[dict[str, type]] = {kind.__name__: kind for kind in (tuple, list, dict, set, frozenset)}
"""The kinds of small containers, by the word in a record."""

_MUTABLE: Final = frozenset({list, dict, set})
_SETS: Final = frozenset({set, frozenset})
_SORTED: Final = frozenset({int, str})  # whose own order is that of members of sets
# What a small container takes in memory, with its place in what holds it; then each item.
_ROW_WEIGHTS: Final = {
    "tuple": (48, 8), "list": (64, 16), "dict": (192, 32), "set": (224, 64), "frozenset": (224, 64),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rows:
    """Small containers of one kind: in columns, or with the number of items that each has.

    Columns of dicts have `keys`. `ids` are those of lists, dicts and sets, which others may refer to.
    """

    size: int
    ids: Sequence[int]
    kind: type
    parts: tuple[Plan, ...]
    counts: Run | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Picked:
    """Small containers by their numbers: of these rows, or of those that this reference is to."""

    numbers: Run
    rows: Rows | int


Plan: TypeAlias = "Run | Rows | Picked"


class LongWriter:
    """Writes the long containers of one table.

    `write` appends a record; `is_known` says whether one of these ids is of an object that is written, or
    about to be; `in_order` sorts the members of a set.
    """

    def __init__(
        self,
        write: Callable[[Record], int],
        is_known: Callable[[Collection[int]], bool],
        in_order: Callable[[Any], list[Any]],
    ) -> None:
        self._write = write
        self._is_known = is_known
        self._in_order = in_order
        self._runs = RunWriter(write)
        self._places: dict[int, int] = {}
        self._starts: list[int] = []
        self._blocks: list[int] = []
        self.weight = 0
        """What the small containers weigh that were written so far."""

    def items(self, items: Collection[Any]) -> list[int] | None:
        """Write the items of a container, in order; None where it is spelled item by item."""
        if len(items) < LEAST_ROWS or not _may_be_long(items, RUN_FROM):
            return None
        return self._written(items if type(items) is list else list(items))

    def members(self, members: Collection[Any]) -> list[int] | None:
        """Write the members of a set, which are many texts, in order; None for others."""
        run = members_of(members)
        return None if run is None else [self._write_plan(run)]

    def pairs(self, pairs: Mapping[Any, Any]) -> list[int] | None:
        """Write the keys and the values of a dict; None where it is spelled item by item."""
        if len(pairs) < LEAST_ROWS:
            return None  # it can neither have rows nor be a run
        if len(pairs) < RUN_FROM // 2 and not _may_be_long(pairs.values(), RUN_FROM):
            return None
        return self._written(list(pairs), list(pairs.values()))

    def _written(self, *parts: Sequence[Any]) -> list[int] | None:
        taken: set[int] = set()
        plans = [self._plan(part, taken, 0) for part in parts]
        known = [plan for plan in plans if plan is not None]
        if len(known) < len(parts) or sum(map(_weight, known)) < RUN_FROM:
            return None
        return [self._write_plan(plan) for plan in known]

    def row_of(self, obj: Any) -> Record | None:
        """Return the record of a small container that is in a row, None for any other object."""
        place = self._places.get(id(obj)) if self._places else None
        if place is None:
            return None
        block = bisect_right(self._starts, place) - 1
        return [Kind.ROW, self._blocks[block], place - self._starts[block]]

    def _plan(self, values: Sequence[Any], taken: set[int], depth: int) -> Plan | None:
        if (quick := mixed_of(values) or numbers_of(values)) is not None:
            return quick
        kinds = set(map(type, values))
        if kinds <= SCALARS:
            return run_of(values, kinds)
        if len(kinds) > 1 or depth == MAX_ROW_DEPTH or not kinds <= _ROW_TYPES:
            return None
        if depth == 0 and len(values) < LEAST_ROWS:
            return None  # each is a long container itself, which has a path of its own
        (kind,) = kinds
        if kind not in _MUTABLE:
            return self._plan_rows(values, kind, taken, depth)
        ids = list(map(id, values))
        if (known := self._picked_before(ids)) is not None:
            return known
        unique = set(ids)
        if not self._take(unique, taken):
            return None
        if len(unique) == len(ids):
            return self._plan_rows(values, kind, taken, depth, ids)
        by_id = dict(zip(ids, values, strict=True))
        rows = self._plan_rows(list(by_id.values()), kind, taken, depth, list(by_id))
        if rows is None:
            return None
        places = dict(zip(by_id, count()))
        return Picked(run_of_numbers(map(places.__getitem__, ids)), rows)

    def _plan_rows(
        self, values: Sequence[Any], kind: type, taken: set[int], depth: int, ids: Sequence[int] = ()
    ) -> Rows | None:
        """The plan of small containers of one kind, each there once; None where they hold something else.

        `ids` are theirs, where it matters who they are.
        """
        keys = _keys_of_all(values) if kind is dict else ()
        if keys:
            parts: list[tuple[Any, ...]] | None = list(zip(*map(dict.values, values), strict=True))
        else:
            parts = _columns(values) if kind is tuple or kind is list else None
        if parts is not None:
            plans = [self._plan(part, taken, depth + 1) for part in parts]
            return _rows(len(values), ids, kind, plans, None, keys)
        counts = run_of_numbers(map(len, values))
        if kind in _SETS and (members := _members_in_order(values, counts)) is not None:
            return Rows(len(values), ids, kind, (members,), counts)
        plans = [self._plan(part, taken, depth + 1) for part in self._flat(values, kind) if part]
        return _rows(len(values), ids, kind, plans, counts)

    def _picked_before(self, ids: Sequence[int]) -> Picked | None:
        """The numbers of small containers that are rows of one record that is written; None for others."""
        first = self._places.get(ids[0]) if self._places else None
        if first is None or not self._places.keys() >= set(ids):
            return None
        block = bisect_right(self._starts, first) - 1
        start = self._starts[block]
        end = self._starts[block + 1] if block + 1 < len(self._starts) else len(self._places)
        places = list(map(self._places.__getitem__, ids))
        if min(places) < start or max(places) >= end:
            return None
        return Picked(run_of_numbers(place - start for place in places), self._blocks[block])

    def _flat(self, values: Sequence[Any], kind: type) -> tuple[list[Any], ...]:
        """All items of small containers, or all keys and all values."""
        if kind is dict:
            return [*chain.from_iterable(values)], [*chain.from_iterable(map(dict.values, values))]
        if kind in _SETS:
            members = set(map(type, chain.from_iterable(values)))
            sort = sorted if len(members) == 1 and members <= _SORTED else self._in_order
            return ([*chain.from_iterable(map(sort, values))],)
        return ([*chain.from_iterable(values)],)

    def _take(self, ids: Collection[int], taken: set[int]) -> bool:
        """Whether the objects of these ids are nowhere else so far."""
        if not taken.isdisjoint(ids) or self._is_known(ids):
            return False
        if self._places and not self._places.keys().isdisjoint(ids):
            return False
        taken.update(ids)
        return True

    def _write_plan(self, plan: Plan) -> int:
        if isinstance(plan, Run):
            return self._runs.run(plan)
        if isinstance(plan, Picked):
            rows = plan.rows if isinstance(plan.rows, int) else self._write_plan(plan.rows)
            return self._write([Kind.PICKED, self._runs.run(plan.numbers), rows])
        word = plan.kind.__name__
        counts = [] if plan.counts is None else [self._write_plan(plan.counts)]
        parts = [self._write_plan(part) for part in plan.parts]
        items = plan.size * len(parts) if plan.counts is None else sum(plan.counts.values)
        self.weight += row_weight(word, plan.size, items)
        if plan.keys:
            ref = self._write([Kind.TABLE, list(plan.keys), *parts])
        else:
            ref = self._write([Kind.ROWS if counts else Kind.COLUMNS, word, *counts, *parts])
        if plan.kind in _MUTABLE:
            self._starts.append(len(self._places))
            self._blocks.append(ref)
            self._places.update(zip(plan.ids, count(len(self._places))))
        return ref


_ROW_TYPES: Final = frozenset(ROW_KINDS.values())


def _may_be_long(values: Collection[Any], least: int) -> bool:
    """Whether it is worth a closer look: many scalars, or small containers of such, by the first of them."""
    first: Any = next(iter(values), None)
    if type(first) in SCALARS:
        return len(values) >= least
    for _ in range(MAX_ROW_DEPTH):
        if type(first) not in _ROW_TYPES:
            return type(first) in SCALARS
        if not len(first):
            break  # others may have something
        first = next(iter(first))
    return True


def row_weight(word: str, size: int, items: int) -> int:
    """Return about how many bytes of memory so many small containers take that hold so many items in all.

    >>> row_weight("set", 1_000_000, 0)
    224000000
    """
    each, item = _ROW_WEIGHTS[word]
    return each * size + item * items


def _columns(values: Sequence[Any]) -> list[tuple[Any, ...]] | None:
    width = len(values[0])
    if not 1 <= width <= MOST_COLUMNS or set(map(len, values)) != {width}:
        return None
    return list(zip(*values, strict=True))


def _keys_of_all(values: Sequence[Mapping[Any, Any]]) -> tuple[str, ...]:
    """Return the keys that each of these dicts has, in this order; none where they are no few short texts."""
    keys = tuple(values[0])
    if not 1 <= len(keys) <= MOST_KEYS or set(map(type, keys)) != {str} or not all(map(is_inline, keys)):
        return ()
    if set(map(len, values)) != {len(keys)}:
        return ()
    # An equal key may be of another type: a subclass of str, which is no text of ours.
    if set(map(type, chain.from_iterable(values))) != {str}:
        return ()
    return keys if list(chain.from_iterable(values)) == list(keys) * len(values) else ()


def _members_in_order(values: Sequence[Any], counts: Run) -> Run | None:
    """The members of all sets, sorted in each, where they are ints of 32 bits; None for others."""
    run = numbers_of([*chain.from_iterable(values)])
    if run is None or run.kind != "int":
        return None
    import numpy

    # As one number for each: the set, and in the lower half its member, none of which is below 0.
    members = run.values.astype(numpy.int64)
    least = int(members.min())
    which = numpy.arange(len(values)).repeat(counts.values) << 32
    return Run((numpy.sort(which + (members - least)) & 0xFFFFFFFF) + least, "int")


def _rows(
    size: int,
    ids: Sequence[int],
    kind: type,
    plans: Sequence[Plan | None],
    counts: Run | None,
    keys: tuple[str, ...] = (),
) -> Rows | None:
    known = tuple(plan for plan in plans if plan is not None)
    return Rows(size, ids, kind, known, counts, keys) if len(known) == len(plans) else None


def _weight(plan: Plan) -> int:
    """How many values a plan has, the small containers among them."""
    if isinstance(plan, Run):
        return len(plan.values)
    if isinstance(plan, Picked):
        return len(plan.numbers.values) + (0 if isinstance(plan.rows, int) else _weight(plan.rows))
    return plan.size + sum(map(_weight, plan.parts))
