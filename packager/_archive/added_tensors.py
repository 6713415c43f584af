"""Adding tensors to an archive: a safetensors member with its index, written here or by several processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from packager._quick_dataclasses import replace
from packager.errors import ArchiveError

from .archive_body import SHARED_FROM
from .entries import ALIGNMENT, Place, flat_view
from .entry_names import index_name
from .safetensors import plan_member
from .shared_tensors import Room
from .tensor_index import TensorIndex, TensorSpec
from .writer import ArchiveWriter


def add_tensors(
    writer: ArchiveWriter,
    member: str,
    tensors: TensorIndex | Sequence[TensorSpec],
    storages: Sequence[Any],
    *,
    metadata: Mapping[str, str] | None = None,
) -> list[Place]:
    """Add a safetensors member and its index to an archive being made; return where each storage lies.

    `storages` are C-contiguous buffers, little-endian; each is written once, however many tensors lie in
    it. In the safetensors header a storage has the key of the first tensor that fills it in C order; a
    storage that no tensor fills so has the key of the first tensor in it with `#storage` behind, and is
    flat. The other tensors are in our index alone.

    A storage of `SHARED_FROM` bytes or more that lies in a member which was added before is not written
    again: the index says where it lies, and the header's metadata, under `ELSEWHERE`, in which members.

    Raises ArchiveError, for all tensors together, for keys given twice or holding NUL, unknown
    dtypes, tensors that do not lie inside their storage, and storages without a tensor.

    >>> import io
    >>> from packager._archive import ArchiveReader, ArchiveWriter, Manifest, TensorReader
    >>> file, weight = io.BytesIO(), bytes(range(6))
    >>> with ArchiveWriter(file) as writer:
    ...     rows = TensorSpec("w", "U8", (2, 3), (3, 1), 0, 0)
    ...     columns = TensorSpec("w.T", "U8", (3, 2), (1, 3), 0, 0)
    ...     places = add_tensors(writer, "net/weights", [rows, columns], [weight])
    ...     identity = writer.seal(Manifest())
    >>> with ArchiveReader(file) as reader:
    ...     stored = TensorReader(reader, "net/weights")
    ...     list(stored), bytes(stored.data("w.T"))
    (['w', 'w.T'], b'\\x00\\x01\\x02\\x03\\x04\\x05')
    """
    buffers = list(storages)
    index = _index_of(tensors, [memoryview(buffer).nbytes for buffer in buffers], metadata)
    away = _written_before(writer, buffers)
    plan = plan_member(index, away)
    content = [plan.header, *[buffers[number] for number in plan.order]]
    writer.add(member, content, kind="tensors", align=ALIGNMENT)
    writer.add(index_name(member), plan.index, kind="index")
    return plan.places(member, index.sizes, away)


def add_shared_tensors(
    writer: ArchiveWriter,
    member: str,
    tensors: TensorIndex | Sequence[TensorSpec],
    sizes: Sequence[int],
    fill: Callable[[Room], tuple[bytes, bytes]],
    *,
    metadata: Mapping[str, str] | None = None,
    elsewhere: Mapping[int, Place] | None = None,
) -> list[Place]:
    """Add a member as `add_tensors` does, whose storages others write; return where each storage lies.

    `elsewhere` says which storages lie in other members already. `fill` has the others written into the room
    that it is given, and returns what that of `ArchiveWriter.add_filled` does.

    Raises what `add_tensors` raises; what `fill` raises goes through.
    """
    away = dict(elsewhere or {})
    plan = plan_member(_index_of(tensors, sizes, metadata), away)
    places = plan.places(member, sizes, away)
    firsts = {number: places[number].start for number in plan.order}
    ordered = [sizes[number] for number in plan.order]
    size = len(plan.header) + sum(ordered)
    writer.add_filled(member, plan.header, ordered, lambda path, start: fill(Room(path, start, size, firsts)))
    writer.add(index_name(member), plan.index, kind="index")
    return places


def _index_of(
    tensors: TensorIndex | Sequence[TensorSpec], sizes: Sequence[int], metadata: Mapping[str, str] | None
) -> TensorIndex:
    if not isinstance(tensors, TensorIndex):
        return TensorIndex.of(tensors, sizes, metadata)
    if tensors.sizes != sizes:
        raise ArchiveError("the tensors cannot be stored: their storages have other sizes than was said")
    return tensors if metadata is None else replace(tensors, metadata=metadata)


def _written_before(writer: ArchiveWriter, storages: Sequence[Any]) -> dict[int, Place]:
    """Return where storages lie in other members already; no two have the same place, as they are two."""
    found: dict[Place, int] = {}
    for number, storage in enumerate(storages if writer.has_tensors else ()):
        view = flat_view(storage)
        place = writer.find(view, found) if len(view) >= SHARED_FROM else None
        if place is not None:
            found[place] = number
    return {number: place for place, number in found.items()}
