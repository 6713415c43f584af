"""Usual tensors as columns: each in C order, alone in a storage of its own.

Nearly all state dicts hold nothing else. A record is made where one is asked for; twenty thousand of each
kind would take longer to make than their bytes take to write.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from packager.quick_dataclasses import dataclass, field
from packager.tensors import contiguous_strides

from .entries import Place
from .tensor_index import TensorSpec

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any


class _Column(Sequence["Any"]):
    """A sequence that makes its records as they are asked for; it equals a tuple of the same."""

    @abstractmethod
    def _record(self, number: int) -> Any:
        """Make the record of a number."""

    def __getitem__(self, number: Any) -> Any:
        found = range(len(self))[number]
        return self._record(found) if isinstance(found, int) else tuple(map(self._record, found))

    def __iter__(self) -> Iterator[Any]:
        return map(self._record, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, (_Column, tuple)) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


@dataclass(frozen=True, eq=False, repr=False)
class TensorColumns(_Column):
    """Tensors by their number, each of which fills the storage of the same number in C order.

    >>> columns = TensorColumns(["w", "b"], ["F32", "F32"], [(2, 3), (2,)])
    >>> columns[1]
    TensorSpec(key='b', dtype='F32', shape=(2,), strides=(1,), offset=0, storage=1)
    """

    keys: Sequence[str]
    dtypes: Sequence[str]
    shapes: Sequence[tuple[int, ...]]

    def __len__(self) -> int:
        return len(self.keys)

    def _record(self, number: int) -> TensorSpec:
        shape = self.shapes[number]
        return TensorSpec(self.keys[number], self.dtypes[number], shape, contiguous_strides(shape), 0, number)


@dataclass(frozen=True, eq=False, repr=False)
class StorageColumn(_Column):
    """Storages as they lie in memory: C-contiguous buffers of any format, and how many bytes each has."""

    buffers: Sequence[Any] = field(repr=False)
    sizes: Sequence[int]

    def __len__(self) -> int:
        return len(self.sizes)

    def _record(self, number: int) -> memoryview:
        from .entries import flat_view

        return flat_view(self.buffers[number]).toreadonly()


@dataclass(frozen=True, eq=False, repr=False)
class PlaceColumn(_Column):
    """Where storages were written: all in one member, at these bytes of it."""

    member: str
    starts: Sequence[int]
    sizes: Sequence[int]

    def __len__(self) -> int:
        return len(self.sizes)

    def _record(self, number: int) -> Place:
        start = int(self.starts[number])
        return Place(self.member, start, start + self.sizes[number])


def sizes_of(storages: Sequence[Any]) -> Sequence[int]:
    """Return how many bytes each of some storages has, in memory or written."""
    if isinstance(storages, (StorageColumn, PlaceColumn)):
        return storages.sizes
    return [storage.nbytes for storage in storages]
