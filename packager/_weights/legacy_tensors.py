"""Tensors that lie in a file of weights: shape, strides and dtype are known, bytes are read when asked for.

Files are read at places, with bounds, never mapped and never executed: what was read is the reader's own, a
file that is cut short gives an error, and converting a checkpoint takes no more memory than a few pieces of
it.
"""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from packager._archive import (
    ArchiveClosedError,
    BoundedFile,
    Source,
    TensorReader,
    largest_view,
    open_fetched,
    shape_problem,
)
from packager._file_access import READ_FILE
from packager._quick_dataclasses import dataclass
from packager._remote import Address, address_in
from packager._tensors import (
    SPELLED,
    boxes,
    contiguous_strides,
    dtype_of_stored,
    fits,
    is_contiguous,
    itemsize_of,
    part_of,
    per_axis,
    raw_dtype,
    reshaped_strides,
    span,
)
from packager._tensors import numpy_dtype as any_numpy_dtype
from packager.errors import ArchiveError, CheckpointError, LegacyFormatError

PIECE: Final = 4 << 20
"""How many bytes are read at once where a tensor is read piece by piece."""

GATHERED: Final = 8 << 20
"""The same where elements are gathered from all over a file: the fewer pieces, the longer the runs in it."""


IN_PICKLE: Final = "in the pickle"
"""What a storage is called that stands in a pickle itself, as that of an array of NumPy does."""


class LegacyFile:
    """An open file, read anew for every request: `one_of` so many that are one checkpoint together.

    Raises FileNotFoundError for a path that is not there, RemoteError for an address that cannot be read,
    LegacyFormatError for what is no regular file, and later when the file has changed its size.
    """

    def __init__(self, path: str | os.PathLike[str] | Address, one_of: int = 1) -> None:
        self.one_of = one_of
        address = address_in(path)
        if address is not None:
            self.name = address.name
            self._source: Source = open_fetched(address, mapped=False, from_end=False)
            self.size = self._source.size
            return
        assert not isinstance(path, Address)
        self.name = Path(path).name
        if not os.path.isfile(path):
            if os.path.exists(path):
                raise LegacyFormatError(f"{os.fspath(path)}: found a folder or device; expected a file")
            raise FileNotFoundError(2, "there is no such file", os.fspath(path))
        self._source = BoundedFile(os.open(path, READ_FILE), self.name)
        self.size = self._source.size
        self.stamp = self._source.change_stamp()

    def read(self, start: int, stop: int) -> memoryview:
        """Return the bytes between two positions.

        Raises LegacyFormatError where the file has none, CheckpointError where it was closed.
        """
        if not 0 <= start <= stop <= self.size:
            raise LegacyFormatError(
                f"{self.name}: bytes {start} to {stop} were asked for; the file ends at {self.size}"
            )
        try:
            return self._source.view(start, stop)
        except ArchiveClosedError as error:
            raise CheckpointError(str(error)) from None
        except ArchiveError as error:
            raise LegacyFormatError(str(error)) from error

    def close(self) -> None:
        """Release the file; nothing more can be read."""
        self._source.close()

    def __enter__(self) -> LegacyFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class PartOfFile(LegacyFile):
    """The bytes of a file from `start` on, `size` of them, read as a file of their own."""

    def __init__(
        self, name: str, read: Callable[[int, int], memoryview], start: int, size: int, one_of: int = 1
    ) -> None:
        self.name, self.size, self.one_of = name, size, one_of
        self._read, self._start = read, start

    def read(self, start: int, stop: int) -> memoryview:
        """Return the bytes between two positions. Raises LegacyFormatError where the part has none."""
        if not 0 <= start <= stop <= self.size:
            raise LegacyFormatError(
                f"{self.name}: bytes {start} to {stop} were asked for; it ends at {self.size}"
            )
        return self._read(self._start + start, self._start + stop)

    def close(self) -> None:
        """Do nothing: the file is closed by its owner."""


def is_name_beside(name: str) -> bool:
    """Return whether this is the name of a file beside another one, and nothing that leads elsewhere."""
    plain = len(name) <= _LONGEST_NAME and not {"\\", "\0"} & set(name)
    return plain and Path(name).name == name and name not in ("", "..")


_LONGEST_NAME: Final = 255  # characters; file systems allow as many bytes


class LegacyStorage:
    """A run of bytes in a file. `dtype` is what the file calls its elements.

    `read(start, stop)` gives some of the bytes, and `data()` all of them: the same memory for as long
    as it is in use, so that arrays of tied tensors share theirs. Its own `read` is asked for places behind
    `first`: a file may have a quarter of a million storages, and one function serves them all.
    """

    __slots__ = ("__weakref__", "_first", "_read", "_whole", "dtype", "key", "nbytes")

    def __init__(
        self, key: str, dtype: str, nbytes: int, read: Callable[[int, int], memoryview], first: int = 0
    ) -> None:
        self.key = key
        self._first = first
        self.dtype = dtype
        self.nbytes = nbytes
        self._read = read
        self._whole: weakref.ref[Any] | None = None

    def read(self, start: int, stop: int) -> memoryview:
        """Return the bytes between two positions. Raises LegacyFormatError where the storage has none."""
        if not 0 <= start <= stop <= self.nbytes:
            raise LegacyFormatError(
                f"storage {self.key!r}: bytes {start} to {stop} were asked for; it has {self.nbytes}"
            )
        return self._read(self._first + start, self._first + stop)

    def data(self) -> memoryview:
        """Return all bytes."""
        import numpy as np

        whole: Any = None if self._whole is None else self._whole()
        if whole is None:
            whole = (
                np.frombuffer(self.read(0, self.nbytes), np.uint8) if self.nbytes else np.empty(0, np.uint8)
            )
            self._whole = weakref.ref(whole)
        return memoryview(whole)

    def __repr__(self) -> str:
        return f"LegacyStorage({self.key!r}, {self.dtype}, {self.nbytes} bytes)"


@dataclass(frozen=True, slots=True, eq=False)
class LegacyTensor:
    """A tensor of a checkpoint: strides and offset count elements, as in PyTorch. Nothing is read yet.

    It can be sliced, transposed and reshaped without reading; `numpy()` (and `numpy.asarray`) reads its
    own elements, `pieces()` reads them in C order, a few MB at a time. Tensors over one storage share memory
    when they are made into arrays by `array_of`.

    `dtype` is NumPy's name ("float32", "bfloat16").

    >>> import numpy, tempfile
    >>> from packager.weights import open_checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.save(f"{folder}/weight.npy", numpy.arange(6.0).reshape(2, 3))
    ...     tensor = open_checkpoint(f"{folder}/weight.npy")["weight"]
    ...     tensor.dtype, tensor[1].numpy(), tensor.transpose().shape
    ('float64', array([3., 4., 5.]), (3, 2))
    """

    storage: LegacyStorage
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    big_endian: bool = False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the elements, written one after another."""
        return self.size * itemsize_of(self.dtype)

    @property
    def span(self) -> tuple[int, int]:
        """The first byte of the storage that the tensor touches, and one past the last."""
        low, high = span(self.shape, self.strides, self.offset)
        return low * itemsize_of(self.dtype), high * itemsize_of(self.dtype)

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in C order without gaps."""
        return is_contiguous(self.shape, self.strides)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without axes")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """Return a part, by ints, slices and `...`: a lazy tensor again. Other indices read the tensor.

        So do negative steps, which no tensor of PyTorch has. Raises IndexError for an axis or an element that
        is not there.
        """
        if per_axis(index, self.ndim) is None:
            return self.numpy()[index]
        shape, strides, offset = part_of(self.shape, self.strides, self.offset, index)
        if any(stride < 0 for stride in strides):
            return self.numpy()[index]
        return self._view(shape, strides, offset)

    def transpose(self, *order: Any) -> LegacyTensor:
        """Return the axes in another order, by default the opposite one. Raises ValueError for other axes."""
        wanted = order[0] if len(order) == 1 and isinstance(order[0], Sequence) else order
        axes = tuple(wanted) if wanted else tuple(reversed(range(self.ndim)))
        if sorted(axes) != list(range(self.ndim)):
            raise ValueError(f"transpose{axes} of a tensor with {self.ndim} axes")
        shape, strides = (tuple(values[axis] for axis in axes) for values in (self.shape, self.strides))
        return self._view(shape, strides, self.offset)

    def reshape(self, *shape: Any) -> Any:
        """Return the elements in another shape: lazily where strides can say it, else as an array."""
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        strides = reshaped_strides(self.shape, self.strides, wanted)
        return self.numpy().reshape(wanted) if strides is None else self._view(wanted, strides, self.offset)

    def astype(self, dtype: object) -> Any:
        """Return the elements in another dtype, as an array."""
        return self.numpy().astype(dtype)

    def __mul__(self, factor: Any) -> Any:
        """Return the elements times a number, as an array."""
        return self.numpy() * factor

    def numpy(self) -> Any:
        """Return the elements as a new NumPy array in C order. bfloat16 and float8 need ml_dtypes."""
        return self.raw().view(numpy_dtype(self.dtype))

    def raw(self) -> Any:
        """Return the elements as a new array; those that NumPy has no word for as integers of their size."""
        import numpy as np

        code = raw_dtype(self.dtype)
        array: Any = np.empty(self.shape, code.newbyteorder(">") if self.big_endian else code)
        _fill(array, self.storage, self.strides, self.offset)
        return array.astype(code) if self.big_endian else array

    def pieces(self, size: int | None = None) -> Iterator[memoryview]:
        """Yield the bytes of the elements in C order, little-endian, about `size` at a time."""
        if self.is_contiguous and not self.big_endian:
            (start, stop), size = self.span, size or PIECE
            for at in range(start, stop, size):
                yield self.storage.read(at, min(at + size, stop))
            return
        for box in boxes(self.shape, (size or GATHERED) // itemsize_of(self.dtype)):
            yield memoryview(self[tuple(slice(*ends) for ends in box)].raw().ravel()).cast("B")

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Read the elements: a copy, and what is pickled, is an array."""
        return self.numpy().__reduce_ex__(protocol)

    def _view(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> LegacyTensor:
        return LegacyTensor(self.storage, self.dtype, shape, strides, offset, self.big_endian)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)


def checked_tensor(
    storage: object,
    dtype: str,
    offset: int,
    shape: Sequence[int],
    strides: Sequence[int],
    big_endian: bool = False,
) -> LegacyTensor:
    """Return a tensor every element of which lies inside its storage.

    Raises ValueError for any other, and for one that repeats so few elements so often that writing it
    out would take far more than the file does.
    """
    if (
        not isinstance(storage, LegacyStorage)
        or not isinstance(shape, tuple)
        or not isinstance(strides, tuple)
    ):
        raise ValueError("a tensor needs a storage, a shape and strides")
    if not all(type(n) is int and 0 <= n < 1 << 63 for n in (offset, *shape, *strides)):
        raise ValueError("offset, shape and strides are numbers that are not negative, below 2**63")
    if len(shape) != len(strides):
        raise ValueError(f"a tensor of {len(shape)} axes with {len(strides)} strides")
    size = itemsize_of(dtype)
    if 0 not in shape and not fits(shape, strides, offset, 8 * size, storage.nbytes):
        last = span(shape, strides, offset)[1] - 1
        raise ValueError(
            f"a {dtype} tensor of shape {list(shape)} reaches element {last} of storage {storage.key!r}, "
            f"which has {storage.nbytes} bytes"
        )
    if math.prod(shape) * size > largest_view(storage.nbytes):
        raise ValueError(
            f"a {dtype} tensor of shape {list(shape)} over a storage of {storage.nbytes} bytes expands to "
            f"{math.prod(shape) * size} bytes; the limit is {largest_view(storage.nbytes)}"
        )
    if problem := shape_problem(shape, 8 * size):
        raise ValueError(problem)
    if 0 in shape:
        return LegacyTensor(storage, dtype, shape, contiguous_strides(shape), 0, big_endian)
    # Only where an axis has one element is a stride as long, which leads nowhere: NumPy has no place for it.
    strides = tuple([stride if stride * size < 1 << 63 else 0 for stride in strides])
    return LegacyTensor(storage, dtype, shape, strides, offset, big_endian)


def stored_tensor(
    tensors: TensorReader, key: str, raw: str | None, storages: dict[tuple[int, str], LegacyStorage]
) -> LegacyTensor:
    """Return a tensor of an archive as that of a checkpoint; nothing is read yet.

    `raw` is its dtype where the archive holds bytes of elements that safetensors has no word for. `storages`
    are those that were made for this member, to be shared.

    Raises LegacyFormatError for a dtype that is none of numbers, and what the archive raises for a damaged
    tensor.

    >>> import io, numpy
    >>> from packager import PackageExporter
    >>> from packager._archive import ArchiveReader
    >>> file = io.BytesIO()
    >>> with PackageExporter(file) as exporter:
    ...     exporter.save_state_dict("net", "weights", {"w": numpy.ones(2)})
    >>> with ArchiveReader(file) as reader:
    ...     stored_tensor(TensorReader(reader, "net/weights"), "w", None, {}).numpy()
    array([1., 1.])
    """
    spec = tensors[key]
    try:
        name = raw or dtype_of_stored(spec.dtype)
        dtype = SPELLED[name].name if name in SPELLED else name
        size = itemsize_of(dtype)
    except (TypeError, ValueError) as error:
        shown = raw or spec.dtype
        raise LegacyFormatError(
            f"tensor {key!r} has dtype {shown!r}, and no array can have it. To have its bytes: "
            "kellet extract FILE FOLDER"
        ) from error
    shape, strides, offset = spec.shape, spec.strides, spec.offset
    if raw is not None:  # rows of bytes, one for each element
        shape, strides, offset = shape[:-1], tuple(stride // size for stride in strides[:-1]), offset // size
    number = spec.storage
    if (number, dtype) not in storages:
        length = tensors.storage_size(number)
        storages[number, dtype] = LegacyStorage(
            f"storage {number}", dtype, length, lambda start, stop: tensors.part(number, start, stop)
        )
    return checked_tensor(storages[number, dtype], dtype, offset, shape, strides)


def array_of(tensor: LegacyTensor) -> Any:
    """Return the NumPy array of a tensor: a read-only view of its storage, which is read whole.

    bfloat16 and float8 need ml_dtypes; LegacyFormatError says so where it is missing.

    >>> import numpy, tempfile
    >>> from packager.weights import open_checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.save(f"{folder}/weight.npy", numpy.arange(3.0))
    ...     array_of(open_checkpoint(f"{folder}/weight.npy")["weight"])
    array([0., 1., 2.])
    """
    import numpy as np

    dtype = numpy_dtype(tensor.dtype)
    if tensor.big_endian:
        dtype = dtype.newbyteorder(">")
    if 0 in tensor.shape:
        return np.zeros(tensor.shape, dtype)
    data = tensor.storage.data()
    flat = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype=dtype)
    return np.lib.stride_tricks.as_strided(
        flat[tensor.offset :],
        tensor.shape,
        [stride * dtype.itemsize for stride in tensor.strides],
        writeable=False,
    )


def numpy_dtype(name: str) -> Any:
    """Return NumPy's dtype of this name. Raises LegacyFormatError where ml_dtypes is needed and missing."""
    try:
        return any_numpy_dtype(name)
    except ImportError:
        raise LegacyFormatError(
            f"the checkpoint holds {name} tensors, which NumPy alone does not know; pip install ml_dtypes"
        ) from None


_AT_ONCE: Final = 16 << 20
_SMALL: Final = 1 << 13


def _fill(array: Any, storage: LegacyStorage, strides: tuple[int, ...], offset: int) -> None:
    """Read elements into an array, in runs that are not much longer than what is wanted of them."""
    import numpy as np

    size = array.dtype.itemsize
    work = [(array, strides, offset)] if array.size else []
    while work:
        part, steps, first = work.pop()
        low, high = span(part.shape, steps, first)
        nbytes = (high - low) * size
        if nbytes <= _SMALL or nbytes <= min(_AT_ONCE, 4 * part.nbytes):
            flat = np.frombuffer(storage.read(low * size, high * size), array.dtype)
            part[...] = np.lib.stride_tricks.as_strided(flat, part.shape, [step * size for step in steps])
            continue
        reach = [(extent - 1) * step for extent, step in zip(part.shape, steps, strict=True)]
        axis = reach.index(max(reach))
        half = part.shape[axis] // 2
        front = (slice(None),) * axis
        work.append((part[(*front, slice(half))], steps, first))
        work.append((part[(*front, slice(half, None))], steps, first + half * steps[axis]))
