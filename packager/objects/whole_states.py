"""The whole state dict that the parts of several processes make, or what does not fit together.

Everything here is made of what all ranks have told each other, and so is the same on each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from packager.archive import TensorSpec
from packager.quick_dataclasses import dataclass
from packager.tensors import Box, cover_problem
from packager.texts import few_of

from .recording import Finding
from .state_dicts import format_of
from .state_parts import heard_finding, held_text


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
    """A state dict as all ranks have it together; `keys` are those of all values, in their order."""

    keys: tuple[str, ...]
    tensors: tuple[TensorSpec, ...]
    storages: tuple[WholeStorage, ...]
    raw: Mapping[str, str]
    others: tuple[str, ...]
    versions: tuple[tuple[str, int], ...]
    metadata: tuple[list[str], list[int | None]] | None
    ran: tuple[str, ...]
    format: Mapping[str, str]
    warnings: tuple[Finding, ...]
    refusals: tuple[Finding, ...]


def put_together(told: Sequence[Mapping[str, Any]], listed: Sequence[str] | None) -> WholeState | list[str]:
    """Return the whole that parts make, or a line for each thing that does not fit.

    `told` is what `StatePart.told` says, in the order of ranks. `listed` are all keys, in their order;
    without, the order is that in which ranks have them, those of rank 0 first.
    """
    keys = list(dict.fromkeys(listed or (key for part in told for key in part["keys"])))
    held = _Held(told)
    problems = [*_key_problems(told, keys, listed), *held.problems(keys)]
    problems += _metadata_problems(told)
    if problems:
        return problems
    storages = tuple(held.storages())
    numbers = {key: number for number, storage in enumerate(storages) for key in storage.keys}
    specs = {
        spec[0]: TensorSpec(spec[0], spec[1], tuple(spec[2]), tuple(spec[3]), spec[4], numbers[spec[0]])
        for part in told
        for tensors, _, _ in part["units"]
        for spec in tensors
    }
    raw = {key: name for part in told for key, name in part["raw"]}
    metadata = _metadata(told)
    return WholeState(
        tuple(keys),
        tuple(specs[key] for key in keys if key in specs),
        storages,
        {key: raw[key] for key in keys if key in raw},
        tuple(key for key in keys if key in told[0]["others"]),
        tuple((path, n) for path, n in zip(*(metadata or ((), ())), strict=True) if n is not None),
        metadata,
        tuple(dict.fromkeys(name for part in told for name in part["ran"])),
        format_of({library for part in told for library in part["libraries"]}),
        tuple(dict.fromkeys(heard_finding(one) for part in told for one in part["warnings"])),
        tuple(dict.fromkeys(heard_finding(one) for part in told for one in part["refusals"])),
    )


class _Held:
    """Which rank has which tensors, in the order of keys, once `problems` has looked at each."""

    def __init__(self, told: Sequence[Mapping[str, Any]]) -> None:
        self._told = told
        self._units: dict[str, list[tuple[int, int]]] = {}
        for rank, part in enumerate(told):
            for number, (tensors, _, _) in enumerate(part["units"]):
                for spec in tensors:
                    self._units.setdefault(spec[0], []).append((rank, number))
        self._raw = [dict(part["raw"]) for part in told]
        self._found: dict[tuple[str, ...], list[tuple[int, int]]] = {}

    def problems(self, keys: Sequence[str]) -> Iterator[str]:
        """Yield what does not fit, key by key."""
        for key in keys:
            holders = self._units.get(key, [])
            plain = [rank for rank, part in enumerate(self._told) if key in part["others"]]
            if holders and plain:
                rank, number = holders[0]
                has = self._text(rank, number)
                yield f"{key!r}: rank {plain[0]} has a value that is no tensor, rank {rank} has {has}"
            elif plain and plain[0] != 0:
                yield (
                    f"{key!r}: rank {plain[0]} has a value that is no tensor, and rank 0 has none; give such "
                    "values on rank 0"
                )
            elif holders:
                yield from self._fit(key, holders)

    def storages(self) -> Iterator[WholeStorage]:
        """Yield the storages of the whole, numbered in the order in which keys come to them."""
        for turn, (keys, holders) in enumerate(self._found.items()):
            by_box: dict[Box | None, list[tuple[int, int]]] = {}
            for rank, number in holders:
                by_box.setdefault(self._box(rank, number), []).append((rank, number))
            rank, number = holders[0]
            nbytes = self._told[rank]["units"][number][1]
            slices = tuple(Slice(box, tuple(having), turn) for box, having in by_box.items())
            yield WholeStorage(keys, nbytes, slices)

    def _fit(self, key: str, holders: list[tuple[int, int]]) -> Iterator[str]:
        """Note a storage that fits, or say why the units of a key do not."""
        full = [one for one in holders if not self._is_empty(*one)]
        first, *others = full or holders
        for other in others if full else ():
            if self._kind(*other) != self._kind(*first):
                yield self._difference(key, first, other)
                return
        for other in holders:  # a slice without elements says nothing of ties
            if self._spec(key, *other) != self._spec(key, *first):
                yield self._difference(key, first, other)
                return
        holders = full or holders
        tensors, _, box = self._told[first[0]]["units"][first[1]]
        keys = tuple(spec[0] for spec in tensors)
        known = next((one for one in self._found if set(one) == set(keys)), None) if len(keys) > 1 else None
        if known is not None:
            return
        self._found[keys] = holders
        if box is None:
            return
        boxes = [self._box(*one) for one in holders]
        shape = tuple(tensors[0][2])
        if problem := cover_problem(shape, tuple(one for one in dict.fromkeys(boxes) if one is not None)):
            told = ", ".join(few_of([f"rank {one[0]} has {self._text(*one)}" for one in holders]))
            yield f"{key!r}: {problem} ({told})"

    def _difference(self, key: str, one: tuple[int, int], other: tuple[int, int]) -> str:
        return f"{key!r}: rank {one[0]} has {self._text(*one)}, rank {other[0]} has {self._text(*other)}"

    def _is_empty(self, rank: int, number: int) -> bool:
        """Say whether a rank has no element of a tensor that has some."""
        _, nbytes, box = self._told[rank]["units"][number]
        return nbytes > 0 and box is not None and any(start == stop for start, stop in box)

    def _spec(self, key: str, rank: int, number: int) -> list[Any]:
        """Return what a rank has told of one tensor."""
        tensors, _, box = self._told[rank]["units"][number]
        found = next(spec for spec in tensors if spec[0] == key)
        return [*found, self._raw[rank].get(key, ""), box is None]

    def _kind(self, rank: int, number: int) -> tuple[Any, ...]:
        """What units of the same storage have in common."""
        tensors, nbytes, box = self._told[rank]["units"][number]
        raw = [self._raw[rank].get(spec[0], "") for spec in sorted(tensors)]
        return sorted(tensors), nbytes, box is None, raw

    def _box(self, rank: int, number: int) -> Box | None:
        box = self._told[rank]["units"][number][2]
        return None if box is None else tuple((start, stop) for start, stop in box)

    def _text(self, rank: int, number: int) -> str:
        tensors, _, box = self._told[rank]["units"][number]
        return held_text(
            [[key, self._raw[rank].get(key, dtype), *rest] for key, dtype, *rest in tensors], box
        )


def _key_problems(
    told: Sequence[Mapping[str, Any]], keys: Iterable[str], listed: Sequence[str] | None
) -> Iterator[str]:
    for rank, part in enumerate(told):
        if part["listed"] != told[0]["listed"]:
            yield f"keys= of rank {rank} is not that of rank 0"
    if listed is None:
        return
    had, wanted = {key for part in told for key in part["keys"]}, set(listed)
    yield from (f"{key!r}: keys= has it, and no rank does" for key in keys if key not in had)
    for rank, part in enumerate(told):
        yield from (
            f"{key!r}: rank {rank} has it, and keys= does not" for key in part["keys"] if key not in wanted
        )


def _metadata_problems(told: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what ranks know otherwise of a module than the first that knows it, or rank 0 alone may know."""
    known: dict[str, tuple[int, int | None]] = {}
    for rank, part in enumerate(told):
        if part["metadata"] is None:
            continue
        paths, versions, more = part["metadata"]
        for path, version in zip(paths, versions, strict=True):
            first, there = known.setdefault(path, (rank, version))
            if there != version:
                yield f"_metadata of {path!r}: rank {first} has version {there}, rank {rank} has {version}"
        first_has = told[0]["metadata"]
        for path in more:
            if first_has is None or path not in first_has[2]:
                yield f"_metadata of {path!r}: rank {rank} has more than a version, and rank 0 does not"


def _metadata(told: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[int | None]] | None:
    """Return paths and versions of modules, in the order in which ranks have them; None where none has."""
    found: dict[str, int | None] = {}
    for part in told:
        for path, version in zip(*(part["metadata"] or ([], []))[:2], strict=True):
            found.setdefault(path, version)
    has_any = any(part["metadata"] is not None for part in told)
    return (list(found), list(found.values())) if has_any else None
