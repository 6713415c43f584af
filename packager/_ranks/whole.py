"""The whole state dict that the parts of several processes make, or what does not fit together.

Everything here is made of what all ranks have told each other, and so is the same on each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from packager._archive import TensorIndex, TensorSpec
from packager._objects import Finding
from packager._quick_dataclasses import dataclass, replace
from packager._tensors import Box, box_text, cover_problem
from packager._texts import few_of


@dataclass(frozen=True)
class Unit:
    """Bytes of a part that belong together: a storage, or one rank's slice of one.

    `tensors` are those that lie in the whole storage, of `nbytes`; their own `storage` says nothing. `box` is
    what the slice is of the first of them, None for all of it.
    """

    tensors: tuple[TensorSpec, ...]
    nbytes: int
    box: Box | None

    @property
    def is_empty(self) -> bool:
        """Whether it has no element of a tensor that has some."""
        return self.nbytes > 0 and self.box is not None and any(start == stop for start, stop in self.box)

    def text(self, raw: Mapping[str, str]) -> str:
        """Return it as text, to be compared by eye; `raw` are the dtypes that safetensors has no word for.

        >>> Unit((TensorSpec("w", "F32", (4, 2), (2, 1), 0, 0),), 32, ((0, 2), (0, 2))).text({})
        'w: F32 [4, 2], slice [0:2, 0:2]'
        """
        names = "; ".join(
            f"{one.key}: {raw.get(one.key, one.dtype)} {list(one.shape)}"
            + (f" at {one.offset}" if one.offset else "")
            for one in self.tensors
        )
        return names if self.box is None else f"{names}, slice {box_text(self.box)}"


@dataclass(frozen=True)
class ToldPart:
    """What a rank tells of its part of a state dict.

    `raw` names dtypes that safetensors has no word for, `others` are the keys of values that are no tensors,
    `metadata` has paths and versions of modules, and the paths of those of which more is known. `listed` are
    all keys as the caller gave them, `ran` the migrations.
    """

    keys: tuple[str, ...]
    units: tuple[Unit, ...]
    raw: Mapping[str, str]
    others: tuple[str, ...]
    metadata: tuple[tuple[str, ...], tuple[int | None, ...], tuple[str, ...]] | None
    libraries: tuple[str, ...]
    warnings: tuple[Finding, ...]
    refusals: tuple[Finding, ...]
    listed: tuple[str, ...] | None
    ran: tuple[str, ...]

    @classmethod
    def heard(cls, told: object) -> ToldPart:
        """Return the part that another rank has told of, as `plain` made it."""
        keys, units, raw, others, metadata, libraries, warnings, refusals, listed, ran = frozen(told)
        known = (
            Unit(tuple(TensorSpec(*one) for one in tensors), nbytes, box) for tensors, nbytes, box in units
        )
        warnings, refusals = (tuple(Finding(*one) for one in found) for found in (warnings, refusals))
        return cls(keys, tuple(known), raw, others, metadata, libraries, warnings, refusals, listed, ran)


def plain(value: object) -> Any:
    """Return records and tuples as lists, which every rank can be told.

    >>> plain(Finding("w", "is odd", ("drop it",)))
    ['w', 'is odd', ['drop it'], '']
    """
    if hasattr(value, "__dataclass_fields__"):
        value = [getattr(value, name) for name in value.__dataclass_fields__]
    return list(map(plain, value)) if isinstance(value, list | tuple) else value


def frozen(value: object) -> Any:
    """Return lists as tuples."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class Slice:
    """Bytes of a storage that belong together: `box` is None for all of it.

    `holders` are the ranks that have these bytes, each with the number of the unit in its part. The one that
    writes them is drawn by `turn`, so that what all have is written by all.
    """

    box: Box | None
    holders: tuple[tuple[int, int], ...]
    turn: int

    @property
    def writer(self) -> tuple[int, int]:
        """The rank that writes, and the number of its unit."""
        return self.holders[self.turn % len(self.holders)]


@dataclass(frozen=True)
class WholeStorage:
    """A storage of the whole: the tensors in it, how many bytes it has, and who has which of them."""

    keys: tuple[str, ...]
    nbytes: int
    slices: tuple[Slice, ...]


@dataclass(frozen=True)
class WholeState:
    """A state dict as all ranks have it together; `keys` are those of all values, in their order.

    `known` has the versions of modules by path, None where none is known; None where no rank knows modules.
    """

    keys: tuple[str, ...]
    tensors: TensorIndex
    storages: tuple[WholeStorage, ...]
    raw: Mapping[str, str]
    others: tuple[str, ...]
    known: Mapping[str, int | None] | None
    ran: tuple[str, ...]
    libraries: frozenset[str]
    warnings: tuple[Finding, ...]
    refusals: tuple[Finding, ...]


def put_together(told: Sequence[ToldPart], listed: Sequence[str] | None) -> WholeState | list[str]:
    """Return the whole that parts make, in the order of ranks, or a line for each thing that does not fit.

    `listed` are all keys, in their order; without, the order is that in which ranks have them, those of
    rank 0 first.
    """
    keys = list(dict.fromkeys(listed or (key for part in told for key in part.keys)))
    held = _Held(told)
    problems = [*_key_problems(told, keys, listed), *held.problems(keys)]
    problems += _metadata_problems(told)
    if problems:
        return problems
    storages = tuple(held.storages())
    numbers = {key: number for number, storage in enumerate(storages) for key in storage.keys}
    specs = {
        spec.key: replace(spec, storage=numbers[spec.key])
        for part in told
        for unit in part.units
        for spec in unit.tensors
    }
    raw = {key: name for part in told for key, name in part.raw.items()}
    return WholeState(
        tuple(keys),
        TensorIndex.of(
            [specs[key] for key in keys if key in specs], [storage.nbytes for storage in storages]
        ),
        storages,
        {key: raw[key] for key in keys if key in raw},
        tuple(key for key in keys if key in told[0].others),
        _known(told),
        tuple(dict.fromkeys(name for part in told for name in part.ran)),
        frozenset(library for part in told for library in part.libraries),
        tuple(dict.fromkeys(one for part in told for one in part.warnings)),
        tuple(dict.fromkeys(one for part in told for one in part.refusals)),
    )


class _Held:
    """Which rank has which tensors, in the order of keys, once `problems` has looked at each."""

    def __init__(self, told: Sequence[ToldPart]) -> None:
        self._told = told
        self._holders: dict[str, list[tuple[int, int]]] = {}
        for rank, part in enumerate(told):
            for number, unit in enumerate(part.units):
                for spec in unit.tensors:
                    self._holders.setdefault(spec.key, []).append((rank, number))
        self._found: dict[tuple[str, ...], list[tuple[int, int]]] = {}

    def problems(self, keys: Sequence[str]) -> Iterator[str]:
        """Yield what does not fit, key by key."""
        for key in keys:
            holders = self._holders.get(key, [])
            others = [rank for rank, part in enumerate(self._told) if key in part.others]
            if holders and others:
                rank, _ = holders[0]
                has = self._text(holders[0])
                yield f"{key!r}: rank {others[0]} has a value that is not a tensor, rank {rank} has {has}"
            elif others and others[0] != 0:
                yield (
                    f"{key!r}: rank {others[0]} has a value that is not a tensor, and rank 0 lacks it; pass "
                    "such values on rank 0"
                )
            elif holders:
                yield from self._fit(key, holders)

    def storages(self) -> Iterator[WholeStorage]:
        """Yield the storages of the whole, numbered in the order in which keys come to them."""
        for turn, (keys, holders) in enumerate(self._found.items()):
            by_box: dict[Box | None, list[tuple[int, int]]] = {}
            for holder in holders:
                by_box.setdefault(self._unit(holder).box, []).append(holder)
            slices = tuple(Slice(box, tuple(having), turn) for box, having in by_box.items())
            yield WholeStorage(keys, self._unit(holders[0]).nbytes, slices)

    def _fit(self, key: str, holders: list[tuple[int, int]]) -> Iterator[str]:
        """Note a storage that fits, or say why the units of a key do not."""
        full = [one for one in holders if not self._unit(one).is_empty]
        first, *others = full or holders
        unlike = [one for one in others if full and self._kind(one) != self._kind(first)]
        # A slice without elements says nothing of ties.
        unlike += [one for one in holders if self._spec(key, one) != self._spec(key, first)]
        if unlike:
            one, other = first, unlike[0]
            yield f"{key!r}: rank {one[0]} has {self._text(one)}, rank {other[0]} has {self._text(other)}"
            return
        holders, unit = full or holders, self._unit(first)
        keys = tuple(spec.key for spec in unit.tensors)
        if len(keys) > 1 and any(set(one) == set(keys) for one in self._found):
            return
        self._found[keys] = holders
        if unit.box is None:
            return
        boxes = dict.fromkeys(box for one in holders if (box := self._unit(one).box) is not None)
        if problem := cover_problem(unit.tensors[0].shape, tuple(boxes)):
            told = ", ".join(few_of([f"rank {one[0]} has {self._text(one)}" for one in holders]))
            yield f"{key!r}: {problem} ({told})"

    def _unit(self, holder: tuple[int, int]) -> Unit:
        rank, number = holder
        return self._told[rank].units[number]

    def _text(self, holder: tuple[int, int]) -> str:
        return self._unit(holder).text(self._told[holder[0]].raw)

    def _spec(self, key: str, holder: tuple[int, int]) -> tuple[Any, ...]:
        """What a rank has told of one tensor."""
        unit = self._unit(holder)
        found = next(spec for spec in unit.tensors if spec.key == key)
        return found, self._told[holder[0]].raw.get(key), unit.box is None

    def _kind(self, holder: tuple[int, int]) -> tuple[Any, ...]:
        """What units of the same storage have in common."""
        unit, raw = self._unit(holder), self._told[holder[0]].raw
        return {(spec, raw.get(spec.key)) for spec in unit.tensors}, unit.nbytes, unit.box is None


def _key_problems(
    told: Sequence[ToldPart], keys: Iterable[str], listed: Sequence[str] | None
) -> Iterator[str]:
    for rank, part in enumerate(told):
        if part.listed != told[0].listed:
            yield f"keys= differs between rank 0 and rank {rank}"
    if listed is None:
        return
    had, wanted = {key for part in told for key in part.keys}, set(listed)
    yield from (f"{key!r}: keys= lists it, but no rank has it" for key in keys if key not in had)
    for rank, part in enumerate(told):
        yield from (
            f"{key!r}: rank {rank} has it, but keys= does not list it"
            for key in part.keys
            if key not in wanted
        )


def _metadata_problems(told: Sequence[ToldPart]) -> Iterator[str]:
    """Yield what ranks know otherwise of a module than the first that knows it, or rank 0 alone may know."""
    known: dict[str, tuple[int, int | None]] = {}
    for rank, part in enumerate(told):
        if part.metadata is None:
            continue
        paths, versions, more = part.metadata
        for path, version in zip(paths, versions, strict=True):
            first, there = known.setdefault(path, (rank, version))
            if there != version:
                yield f"_metadata of {path!r}: rank {first} has version {there}, rank {rank} has {version}"
        first_has = told[0].metadata
        for path in more:
            if first_has is None or path not in first_has[2]:
                yield (
                    f"_metadata of {path!r}: rank {rank} has more than a version, which rank 0 lacks; pass "
                    "it on rank 0"
                )


def _known(told: Sequence[ToldPart]) -> dict[str, int | None] | None:
    """Return versions of modules by path, in the order in which ranks have them; None where none has."""
    parts = [part.metadata for part in told if part.metadata is not None]
    found: dict[str, int | None] = {}
    for paths, versions, _ in parts:
        for path, version in zip(paths, versions, strict=True):
            found.setdefault(path, version)
    return found if parts else None
