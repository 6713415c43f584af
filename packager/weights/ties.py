"""Which tensors of a state dict share memory: those that are stored once, and those that no longer can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packager.tensors import overlapping

from .contents import LeftOut
from .sign_bits import ShownStorage
from .tensors import LegacyStorage, LegacyTensor

Span = tuple[int, int]
"""The first byte of a storage, and one past the last."""


def ties(tensors: Mapping[str, Any]) -> list[tuple[list[str], Span | None]]:
    """Keys that go into one storage, with the bytes of the old storage that they span.

    Tensors that lie in the same bytes of a file go together; any other is a storage of its own, without a
    span, and is written in C order.
    """
    keys = list(tensors)
    spans: list[Span | None] = [None] * len(keys)
    starts: dict[int, int] = {}  # where each storage begins when all are laid out one behind another
    end = 0
    for number, value in enumerate(tensors.values()):
        if isinstance(value, LegacyTensor) and value.size and not value.big_endian:
            start = starts.setdefault(id(value.storage), end)
            end = max(end, start + value.storage.nbytes)
            spans[number] = start + value.span[0], start + value.span[1]
    groups: list[tuple[list[str], Span | None]] = []
    for members in overlapping(spans):
        span = None
        if len(members) > 1:
            places = [tensors[keys[member]].span for member in members]
            first = min(start for start, _ in places)
            span = first - first % 16, max(stop for _, stop in places)
        groups.append(([keys[member] for member in members], span))
    return groups


def lost_ties(tensors: Mapping[str, Any]) -> list[LeftOut]:
    """Say which tensors show memory with other signs than another tensor does, in the order of the keys.

    A file of values has no conjugated views: each of these is written with values of its own, and what is
    changed after loading no longer changes the other.
    """
    by_base: dict[int, list[_Place]] = {}
    for key, value in tensors.items():
        if isinstance(value, LegacyTensor) and value.size:
            base = value.storage.base if isinstance(value.storage, ShownStorage) else value.storage
            by_base.setdefault(id(base), []).append(_Place(key, value.storage, *value.span))
    found: dict[str, LeftOut] = {}
    for places in by_base.values():
        if any(isinstance(place.storage, ShownStorage) for place in places):
            found.update(_lost(places))
    return [found[key] for key in tensors if key in found]


@dataclass(frozen=True, slots=True)
class _Place:
    """The bytes of a storage that a tensor spans."""

    key: str
    storage: LegacyStorage
    start: int
    stop: int


def _lost(places: list[_Place]) -> Iterator[tuple[str, LeftOut]]:
    """What is said of each tensor with turned signs that meets one with other signs."""
    met = {**_met_before(_mirrored(places)), **_met_before(places)}
    for place in places:
        if place.key in met and isinstance(place.storage, ShownStorage):
            why = f"it shows the same memory {place.storage.bits}, and is written with values of its own"
            yield place.key, LeftOut(place.key, f"tie with {met[place.key]!r}", why)


def _met_before(places: list[_Place]) -> dict[str, str]:
    """For each tensor one that starts no later, reaches into it, and shows the storage in another way."""
    met: dict[str, str] = {}
    furthest: dict[int, _Place] = {}  # for each way of showing the storage
    for place in sorted(places, key=lambda place: (place.start, isinstance(place.storage, ShownStorage))):
        for other in furthest.values():
            if other.stop > place.start and other.storage is not place.storage:
                met.setdefault(place.key, other.key)
        if place.stop > (furthest[id(place.storage)].stop if id(place.storage) in furthest else 0):
            furthest[id(place.storage)] = place
    return met


def _mirrored(places: list[_Place]) -> list[_Place]:
    """The same places read from the other end, so that what ends last comes first."""
    end = max(place.stop for place in places)
    return [_Place(place.key, place.storage, end - place.stop, end - place.start) for place in places]
