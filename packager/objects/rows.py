"""Long containers of plain values as runs: which are spelled so, and how.

A list of three hundred thousand numbers is one run. So is a dict with a run of keys and one of values. A list
of as many pairs is two columns, each a run; where the small containers differ in length, they are rows: a run
of counts, and what all of them hold, one after the other. Rows and columns may hold rows and columns in turn.

Small lists, dicts and sets keep who they are: what refers to one of them from elsewhere refers to its row. A
container with one that was written before, or is there twice, is spelled item by item, as all others are.
Tuples and frozensets of plain values are values, as numbers and texts are: each place has its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, count
from typing import Any, Final, TypeAlias

from packager.late_dataclasses import dataclass

from .records import SCALARS, Kind, Record
from .runs import RUN_FROM, Run, RunWriter, numbers_of, run_of

MOST_COLUMNS: Final = 16
"""Columns that small tuples and lists of one length are spelled in; longer ones are rows."""

LEAST_ROWS: Final = 64
"""Small containers that a container must hold for them to be rows."""

ROW_KINDS: Final[dict[str, type]] = {kind.__name__: kind for kind in (tuple, list, dict, set, frozenset)}
"""The kinds of small containers, by the word in a record."""

_MUTABLE: Final = frozenset({list, dict, set})
_DEEPEST: Final = 8


@dataclass(frozen=True, slots=True)
class Rows:
    """Small containers of one kind: in columns, or with the number of items that each has."""

    rows: Sequence[Any]
    kind: type
    parts: tuple[Plan, ...]
    counts: Run | None = None


Plan: TypeAlias = "Run | Rows"


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

    def items(self, items: Collection[Any]) -> list[int] | None:
        """Write the items of a container, in order; None where it is spelled item by item."""
        if len(items) < LEAST_ROWS or not _may_be_long(items, RUN_FROM):
            return None
        return self._written(items if type(items) is list else list(items))

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
        if (numbers := numbers_of(values)) is not None:
            return numbers
        kinds = set(map(type, values))
        if kinds <= SCALARS:
            return run_of(values, kinds)
        if len(kinds) > 1 or depth == _DEEPEST or not kinds <= _ROW_TYPES:
            return None
        if depth == 0 and len(values) < LEAST_ROWS:
            return None  # each is a long container itself, which has a path of its own
        (kind,) = kinds
        if kind in _MUTABLE and not self._take(values, taken):
            return None
        counts = list(map(len, values))
        parts = _columns(values, counts) if kind is tuple or kind is list else None
        if parts is not None:
            plans = [self._plan(part, taken, depth + 1) for part in parts]
            return _rows(values, kind, plans, None)
        plans = [self._plan(part, taken, depth + 1) for part in self._flat(values, kind) if part]
        return _rows(values, kind, plans, run_of(counts))

    def _flat(self, values: Sequence[Any], kind: type) -> tuple[list[Any], ...]:
        """All items of small containers, or all keys and all values."""
        if kind is dict:
            return [*chain.from_iterable(values)], [*chain.from_iterable(map(dict.values, values))]
        if kind is set or kind is frozenset:
            return ([*chain.from_iterable(map(self._in_order, values))],)
        return ([*chain.from_iterable(values)],)

    def _take(self, values: Sequence[Any], taken: set[int]) -> bool:
        """Whether each of these is there once, and nowhere else so far."""
        ids = set(map(id, values))
        if len(ids) < len(values) or not taken.isdisjoint(ids) or self._is_known(ids):
            return False
        if self._places and not self._places.keys().isdisjoint(ids):
            return False
        taken |= ids
        return True

    def _write_plan(self, plan: Plan) -> int:
        if isinstance(plan, Run):
            return self._runs.run(plan)
        word = plan.kind.__name__
        counts = [] if plan.counts is None else [self._write_plan(plan.counts)]
        parts = [self._write_plan(part) for part in plan.parts]
        ref = self._write([Kind.ROWS if counts else Kind.COLUMNS, word, *counts, *parts])
        if plan.kind in _MUTABLE:
            self._starts.append(len(self._places))
            self._blocks.append(ref)
            self._places.update(zip(map(id, plan.rows), count(len(self._places))))
        return ref


_ROW_TYPES: Final = frozenset(ROW_KINDS.values())


def _may_be_long(values: Collection[Any], least: int) -> bool:
    """Whether it is worth a closer look: many scalars, or small containers of such, by the first of them."""
    first: Any = next(iter(values), None)
    if type(first) in SCALARS:
        return len(values) >= least
    for _ in range(_DEEPEST):
        if type(first) not in _ROW_TYPES:
            return type(first) in SCALARS
        if not len(first):
            break  # others may have something
        first = next(iter(first))
    return True


def _columns(values: Sequence[Any], counts: Sequence[int]) -> list[tuple[Any, ...]] | None:
    width = counts[0]
    if not 1 <= width <= MOST_COLUMNS or set(counts) != {width}:
        return None
    return list(zip(*values, strict=True))


def _rows(values: Sequence[Any], kind: type, plans: Sequence[Plan | None], counts: Run | None) -> Rows | None:
    known = tuple(plan for plan in plans if plan is not None)
    return Rows(values, kind, known, counts) if len(known) == len(plans) else None


def _weight(plan: Plan) -> int:
    """How many values a plan has, the small containers among them."""
    if isinstance(plan, Run):
        return len(plan.values)
    return len(plan.rows) + sum(map(_weight, plan.parts))
