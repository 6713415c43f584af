"""Arrays that are read piece by piece: however large one is, a few MB of it are in memory.

A `LazyArray` can be transposed, sliced, reshaped, rolled, cast and scaled; each gives another one. Moving
elements, or changing each by itself, any box of the result is made from boxes of what entered, down to
the file; the whole array is made only for functions that say nothing of the kind.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from packager._tensors import (
    Box,
    boxes,
    dtype_of,
    itemsize_of,
    part_of,
    per_axis,
    raw_dtype,
    reshaped_strides,
    to_numpy,
)
from packager._texts import counted

from .legacy_tensors import GATHERED, LegacyTensor, numpy_dtype


class LazyStateDict(Mapping[str, Any]):
    """A state dict whose values can be read piece by piece. `ran` names the migrations behind it.

    >>> import numpy
    >>> from packager.migrations import Migration, migrate, rename
    >>> migrated = migrate(Migration("fc", [rename("proj", "fc")]), {"proj": numpy.ones((2, 3))})
    >>> isinstance(migrated, LazyStateDict), migrated.lazy("fc").shape, migrated.ran
    (True, (2, 3), ('fc',))
    """

    ran: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<state dict: {counted(len(self), 'key')}>"

    def lazy(self, key: str) -> Any:
        """Return a LegacyTensor or LazyArray; a value that is not an array is returned itself."""
        raise NotImplementedError


class LazyArray:
    """An array of which parts are read. `dtype` is NumPy's name."""

    def __init__(self, shape: Sequence[int], dtype: str) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the elements, written one after another."""
        return math.prod(self.shape) * itemsize_of(self.dtype)

    def read(self, box: Box) -> Any:
        """Return the elements in a box as an array of the box's shape, in `raw_dtype(dtype)`."""
        raise NotImplementedError

    def typed(self, box: Box) -> Any:
        """Return the elements in a box as an array in `numpy_dtype(dtype)`."""
        return self.read(box).view(numpy_dtype(self.dtype))

    def pieces(self, size: int | None = None) -> Iterator[memoryview]:
        """Yield the bytes of the elements in C order, little-endian, about `size` at a time."""
        import numpy as np

        for box in boxes(self.shape, (size or GATHERED) // itemsize_of(self.dtype)):
            yield memoryview(self.read(box).ravel().view(np.uint8))

    def transpose(self, order: Sequence[int]) -> LazyArray:
        """Return the axes in another order."""
        return _Transposed(self, order)

    def reshape(self, shape: Sequence[int]) -> LazyArray:
        """Return the elements in C order in another shape."""
        return _Reshaped(self, shape)

    def __getitem__(self, index: Any) -> LazyArray:
        """Return a part, by ints, slices without a step, and `...`. Raises IndexError for other indices."""
        parts = per_axis(index, self.ndim)
        if parts is None or any(isinstance(part, slice) and part.step not in (None, 1) for part in parts):
            raise IndexError(f"found the index {index!r}; a lazy array is cut by ints, slices and ...")
        part_of(self.shape, self.shape, 0, index)  # ints outside of their axis
        box = []
        for part, extent in zip(parts, self.shape, strict=True):
            start, stop = (
                part.indices(extent)[:2] if isinstance(part, slice) else (part % extent, part % extent + 1)
            )
            box.append((start, max(start, stop)))
        found = self._cut(tuple(box))
        kept = [extent for part, extent in zip(parts, found.shape, strict=True) if isinstance(part, slice)]
        return found if len(kept) == len(parts) else found.reshape(kept)

    def _cut(self, box: Box) -> LazyArray:
        """Return what lies in a box."""
        return _Sliced(self, box)

    def roll(self, by: int, axis: int) -> LazyArray:
        """Return the elements moved along an axis; what falls off comes in at the other end."""
        first = -by % max(self.shape[axis], 1)
        before = (slice(None),) * axis
        parts = self[(*before, slice(first, None))], self[(*before, slice(first))]
        return _Joined(parts, axis, stack=False) if first else self

    def astype(self, dtype: Any) -> LazyArray:
        """Return the elements in another dtype of NumPy."""
        return _Elementwise(self, lambda part: part.astype(dtype), dtype.name)

    def __mul__(self, factor: float) -> LazyArray:
        """Return the elements times a number, in the dtype that they have."""
        return _Elementwise(self, lambda part: (part * factor).astype(part.dtype), self.dtype)


def origins(value: Any) -> Iterator[Any]:
    """Yield the tensors in files, and the arrays in memory or of one value, that an array is made of.

    >>> [array.shape for array in origins(constant((2, 3), 0.0, "float32").transpose((1, 0)))]
    [(2, 3)]
    """
    work, seen = [value], set()
    while work:
        array = work.pop()
        if id(array) in seen:
            continue
        seen.add(id(array))
        inner = [getattr(array, "_inner", None), *(part for part, _, _ in getattr(array, "_parts", ()))]
        made_of = [one for one in inner if one is not None]
        work += made_of
        if not made_of:
            yield bare(array)


def as_lazy(value: object) -> Any:
    """Return a LazyArray of an array of NumPy, kellet or PyTorch, or of a LegacyTensor.

    >>> import numpy
    >>> lazy = as_lazy(numpy.ones((2, 3), "float32"))
    >>> lazy.shape, lazy.dtype
    ((2, 3), 'float32')
    """
    if isinstance(value, LazyArray):
        return value
    return _InFile(value) if isinstance(value, LegacyTensor) else _InMemory(value)


def bare(value: LazyArray) -> Any:
    """Return the LegacyTensor that a lazy array is no more than a view of; any other lazy array as it is.

    >>> lazy = constant((2,), 0.0, "float32")
    >>> bare(lazy) is lazy
    True
    """
    return value.tensor if isinstance(value, _InFile) else value


def constant(shape: Sequence[int], fill: float, dtype: str) -> LazyArray:
    """Return an array of one value everywhere.

    >>> constant((2,), 0.5, "float32").read(((0, 2),))
    array([0.5, 0.5], dtype=float32)
    """
    return _Constant(shape, fill, dtype)


def joined(parts: Sequence[LazyArray], axis: int, *, stack: bool) -> LazyArray:
    """Return arrays behind one another along an axis; with `stack` along a new one.

    >>> parts = [constant((2, 3), 0.0, "float32"), constant((2, 3), 1.0, "float32")]
    >>> joined(parts, 0, stack=False).shape, joined(parts, 0, stack=True).shape
    ((4, 3), (2, 2, 3))
    """
    return _Joined(parts, axis, stack)


def made_whole(
    array: LazyArray, function: Callable[[Any], Any], shape: Sequence[int], dtype: str
) -> LazyArray:
    """Return what a function makes of a whole array of NumPy, made when it is first read.

    >>> twos = constant((2,), 2.0, "float32")
    >>> made_whole(twos, lambda array: array * 3, (2,), "float32").read(((0, 2),))
    array([6., 6.], dtype=float32)
    """
    return _Whole(array, function, shape, dtype)


def whole_array(array: LazyArray) -> Any:
    """Return a lazy array as one of NumPy, in memory.

    >>> whole_array(constant((2,), 2.0, "float32"))
    array([2., 2.], dtype=float32)
    """
    import numpy as np

    # Not `ascontiguousarray`, which gives a scalar an axis.
    return np.asarray(array.typed(tuple((0, extent) for extent in array.shape)), order="C")


class _InFile(LazyArray):
    """A tensor in a file; views of it are such tensors again, where strides can say them."""

    def __init__(self, tensor: LegacyTensor) -> None:
        super().__init__(tensor.shape, tensor.dtype)
        self.tensor = tensor

    def read(self, box: Box) -> Any:
        return self.tensor[tuple(slice(*ends) for ends in box)].raw()

    def pieces(self, size: int | None = None) -> Iterator[memoryview]:
        return self.tensor.pieces(size)

    def transpose(self, order: Sequence[int]) -> LazyArray:
        return _InFile(self.tensor.transpose(order))

    def reshape(self, shape: Sequence[int]) -> LazyArray:
        if reshaped_strides(self.shape, self.tensor.strides, shape) is None:
            return super().reshape(shape)
        return _InFile(self.tensor.reshape(shape))

    def _cut(self, box: Box) -> LazyArray:
        return _InFile(self.tensor[tuple(slice(*ends) for ends in box)])


class _InMemory(LazyArray):
    """An array in memory, of any of the libraries."""

    def __init__(self, value: Any) -> None:
        super().__init__([int(n) for n in value.shape], dtype_of(value))
        self._value = value

    def read(self, box: Box) -> Any:
        part = to_numpy(self._value[tuple(slice(*ends) for ends in box)] if box else self._value)
        return part.view(raw_dtype(self.dtype))


class _Constant(LazyArray):
    """One value everywhere."""

    def __init__(self, shape: Sequence[int], fill: float, dtype: str) -> None:
        super().__init__(shape, dtype)
        self._fill = fill

    def read(self, box: Box) -> Any:
        import numpy as np

        return np.full(_extents(box), self._fill, numpy_dtype(self.dtype)).view(raw_dtype(self.dtype))


class _Transposed(LazyArray):
    def __init__(self, inner: LazyArray, order: Sequence[int]) -> None:
        super().__init__([inner.shape[axis] for axis in order], inner.dtype)
        self._inner, self._order = inner, tuple(order)

    def read(self, box: Box) -> Any:
        inside = dict(zip(self._order, box, strict=True))
        return self._inner.read(tuple(inside[axis] for axis in range(len(box)))).transpose(self._order)


class _Sliced(LazyArray):
    def __init__(self, inner: LazyArray, part: Box) -> None:
        super().__init__(_extents(part), inner.dtype)
        self._inner, self._part = inner, part

    def read(self, box: Box) -> Any:
        return self._inner.read(
            tuple(
                (first + start, first + stop)
                for (first, _), (start, stop) in zip(self._part, box, strict=True)
            )
        )


class _Elementwise(LazyArray):
    """Each element changed by itself: cast, scale."""

    def __init__(self, inner: LazyArray, function: Callable[[Any], Any], dtype: str) -> None:
        super().__init__(inner.shape, dtype)
        self._inner, self._function = inner, function

    def read(self, box: Box) -> Any:
        import numpy as np

        changed = np.asarray(self._function(self._inner.typed(box)))  # NumPy makes a number of a scalar
        return changed.view(raw_dtype(self.dtype))


class _Reshaped(LazyArray):
    """The elements in C order in another shape: runs of the new shape are runs of the old one."""

    def __init__(self, inner: LazyArray, shape: Sequence[int]) -> None:
        super().__init__(shape, inner.dtype)
        self._inner = inner

    def read(self, box: Box) -> Any:
        import numpy as np

        wanted = _extents(box)
        if 0 in wanted:
            return np.empty(wanted, raw_dtype(self.dtype))
        runs = [
            self._inner.read(part).ravel()
            for first, length in _runs(self.shape, box)
            for part in _boxes_of_run(self._inner.shape, first, length)
        ]
        return np.concatenate(runs).reshape(wanted)


class _Joined(LazyArray):
    """Arrays behind one another along an axis, or along a new one."""

    def __init__(self, parts: Sequence[LazyArray], axis: int, stack: bool) -> None:
        shape = parts[0].shape
        self._axis = axis % (len(shape) + stack)
        lengths = [1 if stack else part.shape[self._axis] for part in parts]
        rest = shape[self._axis + (not stack) :]
        super().__init__((*shape[: self._axis], sum(lengths), *rest), parts[0].dtype)
        self._stack = stack
        self._parts = list(zip(parts, itertools.accumulate(lengths, initial=0), lengths, strict=False))

    def read(self, box: Box) -> Any:
        import numpy as np

        start, stop = box[self._axis]
        if start == stop:
            return np.empty(_extents(box), raw_dtype(self.dtype))
        if self._stack:
            inside = (*box[: self._axis], *box[self._axis + 1 :])
            return np.stack([part.read(inside) for part, _, _ in self._parts[start:stop]], self._axis)
        read = [
            part.read(_with(box, self._axis, max(start - first, 0), min(stop - first, length)))
            for part, first, length in self._parts
            if first < stop and start < first + length
        ]
        return read[0] if len(read) == 1 else np.concatenate(read, self._axis)


class _Whole(LazyArray):
    """An array that can only be made at once: by functions of the user's own. Kept while it is being read."""

    def __init__(
        self, inner: LazyArray, function: Callable[[Any], Any], shape: Sequence[int], dtype: str
    ) -> None:
        super().__init__(shape, dtype)
        self._inner, self._function = inner, function
        self._made: Any = None

    def read(self, box: Box) -> Any:
        if self._made is None:
            self._made = _InMemory(self._function(whole_array(self._inner)))
            self._left = math.prod(self.shape)
        part = self._made.read(box)
        self._left -= part.size
        if self._left <= 0:
            self._made = None
        return part


def _extents(box: Box) -> list[int]:
    return [stop - start for start, stop in box]


def _runs(shape: tuple[int, ...], box: Box) -> Iterator[tuple[int, int]]:
    """Yield the elements of a box as runs in C order: where each starts, and how long it is."""
    axis, inner = len(shape), 1
    while axis and box[axis - 1] == (0, shape[axis - 1]):
        axis -= 1
        inner *= shape[axis]
    if not axis:
        yield 0, inner
        return
    start, stop = box[axis - 1]
    steps = [math.prod(shape[at + 1 :]) for at in range(axis)]
    for outer in itertools.product(*(range(*ends) for ends in box[: axis - 1])):
        base = sum(at * step for at, step in zip(outer, steps, strict=False))
        yield base + start * inner, (stop - start) * inner


def _boxes_of_run(shape: tuple[int, ...], first: int, length: int) -> Iterator[Box]:
    """Yield the boxes that hold a run of elements, in order: few of them, the middle one the largest."""
    if not shape:
        yield ()
        return
    inner = math.prod(shape[1:])
    last = first + length
    row, end = first // inner, last // inner
    if first % inner:
        stop = min(last, (row + 1) * inner)
        yield from (((row, row + 1), *box) for box in _boxes_of_run(shape[1:], first % inner, stop - first))
        row += 1
    if row < end:
        yield ((row, end), *((0, extent) for extent in shape[1:]))
    if end >= row and last % inner:
        yield from (((end, end + 1), *box) for box in _boxes_of_run(shape[1:], 0, last % inner))


def _with(box: Box, axis: int, start: int, stop: int) -> Box:
    return (*box[:axis], (start, stop), *box[axis + 1 :])
