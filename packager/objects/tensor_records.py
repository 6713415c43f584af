"""TENSOR records: one for each view of memory, completed when all of them are known."""

from __future__ import annotations

import math
from typing import Any

from packager.archive import largest_view
from packager.codecs import CannotStore
from packager.tensors import ITEMSIZE, TensorData, contiguous_strides, lay_out, span_of

from .encoded import Storage
from .frames import storage_path
from .recording import Recorder
from .records import Kind


class TensorRecorder(Recorder):
    """A recorder that knows which memory its tensors lie in, and which must not be stored."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._tensors: list[tuple[TensorData, int, str]] = []
        self._forbidden: dict[int, tuple[int, str]] = {}

    def add_tensor(self, data: TensorData) -> int:
        """The TENSOR record of a view of memory; it is completed when all tensors are known."""
        key = (Kind.TENSOR, data.address, data.dtype, data.shape, data.strides)
        ref = None if 0 in data.shape else self._by_value.get(key)
        if ref is None:
            self._check_memory(data)
            ref = self.write([Kind.TENSOR])
            self._tensors.append((data, ref, self.path()))
            if 0 not in data.shape:
                self._by_value[key] = ref
        return ref

    def forbid(self, memory: TensorData, reason: str) -> None:
        """From now on refuse views that overlap this memory, for the reason given."""
        start, stop = span_of(memory)
        self._forbidden.setdefault(start, (stop, reason))

    def allow(self, memory: TensorData) -> None:
        """Take back `forbid` for this memory."""
        self._forbidden.pop(span_of(memory)[0], None)

    def place_tensors(self) -> tuple[Storage, ...]:
        """Decide on storages, complete the TENSOR records, and name the storages by attribute path."""
        placed, storages = lay_out([data for data, _, _ in self._tensors])
        entries: list[Storage] = []
        taken: set[str] = set()
        for storage in storages:
            owner = storage.first if storage.owner is None else storage.owner
            name = storage_path(self._tensors[owner][2], self._root)
            name = name if storage.owner is not None else f"{name}.storage"
            while name in taken:
                name += "'"
            taken.add(name)
            entries.append(Storage(name, storage.dtype, storage.shape, storage.buffer))
        for (data, ref, _), place in zip(self._tensors, placed, strict=True):
            strides = None if place.strides == contiguous_strides(data.shape) else list(place.strides)
            name = entries[place.storage].name
            self.records[-1 - ref] += [name, data.dtype, list(data.shape), strides, place.offset]
        return tuple(entries)

    def _check_memory(self, data: TensorData) -> None:
        """Raise CannotStore for a view of memory whose values must not be in the archive."""
        if 0 in data.shape:
            return
        start, stop = span_of(data)
        size = math.prod(data.shape) * ITEMSIZE[data.dtype]
        if size > largest_view(stop - start):
            raise CannotStore(
                f"a view that repeats {stop - start} bytes until they seem to be {size}",
                "store what it is a view of, and broadcast it where it is used",
            )
        for low, (high, reason) in self._forbidden.items():
            if start < high and low < stop:
                raise CannotStore(reason, "store a copy of it, or leave it out (__getstate__)")
