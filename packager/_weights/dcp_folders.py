"""Folders of torch.distributed.checkpoint (DCP): tensors are put together from chunks when they are read.

Each chunk is a small file of torch.save inside a `.distcp` file. It is opened when it is first needed, by the
readers that such files have, and none needs PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from packager._tensors import Box, contiguous_strides, itemsize_of, raw_dtype
from packager.errors import CheckpointError, LegacyFormatError

from .array_files import is_safetensors, reopening
from .dcp_metadata import AGAIN, METADATA, Chunk, ChunkedTensor, DcpMetadata, Place, nested, read_metadata
from .lazy_arrays import LazyArray
from .legacy_tensors import LegacyFile, LegacyStorage, LegacyTensor, PartOfFile, checked_tensor
from .torch_files import read_torch_zip
from .zip_files import ZipFile

_KEPT: Final = 1 << 10  # chunks that are kept open, of 5 KB each, and as many bytes as are read at once
_AT_ONCE: Final = 1 << 14


class DcpFolder:
    """A folder with `.metadata`. `root` is the nested state dict, `files` the number of files with its bytes.

    Files are opened for each read, of which there may be more than a process may have open.

    Raises LegacyFormatError for metadata that contradict themselves or the files, and for a file that is
    missing; CheckpointPickleError for values that are more than data, unless they may be Opaque.
    """

    def __init__(self, folder: Path, *, opaque: bool) -> None:
        with LegacyFile(folder / METADATA) as file:
            metadata = read_metadata(file, opaque=opaque)
        self._folder = folder
        self._closed = False
        self._read = dict(_readers(folder, metadata))
        self.files = len(self._read)
        self._piece = lru_cache(_KEPT)(self._piece_at)
        one_of = sum(isinstance(value, Place) for value in metadata.values.values())
        found: dict[str, Any] = dict(metadata.values)
        for key, value in metadata.values.items():
            if isinstance(value, ChunkedTensor):
                found[key] = self._tensor(key, value)
            elif isinstance(value, Place):
                found[key] = self._value(key, value, opaque, one_of)
        self.root = nested(metadata, found, METADATA)

    def close(self) -> None:
        """Read no more: what is asked for later raises CheckpointError."""
        self._closed = True

    def _tensor(self, key: str, tensor: ChunkedTensor) -> LegacyTensor:
        """Return a tensor over a storage that holds its elements in C order, put together when it is read."""
        flat = _Chunks(tensor, partial(self._piece, key, tensor.dtype)).reshape((math.prod(tensor.shape),))
        storage = LegacyStorage(key, tensor.dtype, flat.nbytes, partial(_flat_bytes, flat))
        try:
            return checked_tensor(storage, tensor.dtype, 0, tensor.shape, contiguous_strides(tensor.shape))
        except ValueError as error:
            raise LegacyFormatError(f"{METADATA}: {key[:200]!r}: {error}") from None

    def _piece_at(self, key: str, dtype: str, chunk: Chunk) -> LegacyTensor:
        """Return the elements of a chunk, which are what the metadata say."""
        found = self._value(key, chunk.place, False, 1)
        if not isinstance(found, LegacyTensor) or (found.dtype, found.shape) != (dtype, chunk.sizes):
            raise LegacyFormatError(
                f"{_where(key, chunk.place)}: found {_shown(found)}; {METADATA} says a tensor of {dtype} "
                f"{list(chunk.sizes)}; {AGAIN}"
            )
        return found

    def _value(self, key: str, place: Place, opaque: bool, one_of: int) -> Any:
        """Return the object of torch.save at a place."""
        start, size = place.start, place.stop - place.start
        read: Callable[[int, int], memoryview] = partial(self._bytes, place.file)
        if size <= _AT_ONCE:
            data = read(start, place.stop)
            start, read = 0, lambda low, high: data[low:high]
        part = PartOfFile(_where(key, place), read, start, size, one_of)
        return read_torch_zip(part, ZipFile(part), opaque=opaque)

    def _bytes(self, file: str, start: int, stop: int) -> memoryview:
        if self._closed:
            raise CheckpointError(f"{self._folder.name} is closed; open it again to read more")
        return self._read[file](start, stop)


class _Chunks(LazyArray):
    """A tensor of which each part is read from the chunks that hold it."""

    def __init__(self, tensor: ChunkedTensor, piece: Callable[[Chunk], LegacyTensor]) -> None:
        super().__init__(tensor.shape, tensor.dtype)
        self._chunks = tensor.chunks
        self._piece = piece
        self._ends: Any = None

    def read(self, box: Box) -> Any:
        import numpy as np

        if self._ends is None:
            form = len(self._chunks), len(self.shape)
            starts = np.array([chunk.offsets for chunk in self._chunks], np.int64).reshape(form)
            sizes = np.array([chunk.sizes for chunk in self._chunks], np.int64).reshape(form)
            self._ends = starts, starts + sizes
        starts, stops = self._ends
        low, high = np.array(box, np.int64).reshape(-1, 2).T
        found: Any = np.empty(high - low, raw_dtype(self.dtype))
        for number in ((starts < high) & (stops > low)).all(axis=1).nonzero()[0]:
            first, last = np.maximum(starts[number], low), np.minimum(stops[number], high)
            inside = _slices(first - starts[number], last - starts[number])
            found[_slices(first - low, last - low)] = self._piece(self._chunks[number])[inside].raw()
        return found


def _slices(starts: Any, stops: Any) -> tuple[slice, ...]:
    return tuple(map(slice, starts.tolist(), stops.tolist()))


def _flat_bytes(array: LazyArray, start: int, stop: int) -> memoryview:
    """Return some bytes of a flat array."""
    import numpy as np

    size = itemsize_of(array.dtype)
    first = start // size
    found = array.read(((first, -(-stop // size)),))
    return memoryview(found.view(np.uint8))[start - first * size : stop - first * size]


def _readers(folder: Path, metadata: DcpMetadata) -> Iterator[tuple[str, Callable[[int, int], memoryview]]]:
    """Yield what reads each file, once the pieces in it have been found to lie inside, apart from each other.

    No two of them share bytes: a small file can therefore not be read again and again.
    """
    places: dict[str, list[tuple[int, int, int, str]]] = {}
    for key, value in metadata.values.items():
        for place, least in _pieces(value):
            places.setdefault(place.file, []).append((place.start, place.stop, least, key))
    for name, found in places.items():
        with _opened(folder / name, found[0][3]) as file:
            read = reopening(folder / name, file)
        end = 0
        for start, stop, least, key in sorted(found):
            where = _where(key, Place(name, start, stop))
            if stop > file.size:
                raise LegacyFormatError(f"{where}: it ends at {stop}, the file at {file.size}; {AGAIN}")
            if start < end or stop - start < least:
                raise LegacyFormatError(
                    f"{where}: {stop - start} bytes; expected {least} or more, from byte {end} on; {AGAIN}"
                )
            end = stop
        yield name, read


def _pieces(value: object) -> Iterator[tuple[Place, int]]:
    """Yield each place, and how many bytes it has at least."""
    if isinstance(value, Place):
        yield value, 1
    elif isinstance(value, ChunkedTensor):
        size = itemsize_of(value.dtype)
        for chunk in value.chunks:
            yield chunk.place, size * math.prod(chunk.sizes)


def _opened(path: Path, key: str) -> LegacyFile:
    try:
        file = LegacyFile(path)
    except FileNotFoundError:
        raise LegacyFormatError(
            f"{path}: there is no such file; {METADATA} says that it holds {key[:200]!r}; {AGAIN}"
        ) from None
    if is_safetensors(file):
        file.close()
        raise LegacyFormatError(
            f"{path.name}: DCP in its safetensors form, which has no places for chunks; save it with "
            "SerializationFormat.TORCH_SAVE"
        )
    return file


def _where(key: str, place: Place) -> str:
    return f"{place.file}, {key[:200]!r} at byte {place.start}"


def _shown(value: object) -> str:
    if isinstance(value, LegacyTensor):
        return f"a tensor of {value.dtype} {list(value.shape)}"
    return f"an object of type {type(value).__name__}"
