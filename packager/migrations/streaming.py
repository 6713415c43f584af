"""Values of a migrated state dict, made piece by piece: however large one is, a few MB of it are in memory.

A transform moves elements, or changes each by itself. So any box of its result can be made from boxes of
what entered, down to the file; the whole value is made only for functions of the user's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from packager.weights.tensors import GATHERED, LegacyTensor, boxes, itemsize_of, numpy_dtype, reshaped_strides

from .transforms import Cast, Header, Permute, Reshape, Roll, Scale, Slice, Transform, Transpose
from .values import Changed, Filled, Joined, Origin, Stored, Value

__all__ = ["Box", "Lazy", "as_lazy", "lazy_value", "nbytes_of", "pieces"]

Box = tuple[tuple[int, int], ...]
"""From where to where along each axis."""

_LONGEST_CHAIN = 200  # transforms on one value that are looked through; longer ones make it whole


class Lazy(Protocol):
    """A value that is read in pieces. `dtype` is NumPy's name."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> str: ...

    def read(self, box: Box) -> Any:
        """The elements in a box as an array of this shape, in `numpy_dtype(dtype)` or raw integers."""


def lazy_value(value: Value, state: Mapping[str, Any]) -> Any:
    """What a record of a migrated state dict stands for.

    A LegacyTensor where it is no more than a view of one, else something that `pieces` can read; and the
    value itself where it is no array.
    """
    if value.header is None:
        assert isinstance(value.origin, Stored)
        return state[value.origin.key]
    return _node(value.origin, state)


def as_lazy(value: Any) -> Any:
    """An array of NumPy, kedge or PyTorch as something that is read in pieces; a LegacyTensor as it is."""
    return value if isinstance(value, (LegacyTensor, _Node)) else _Array(value)


def nbytes_of(value: Any) -> int:
    """The bytes of the elements of a lazy value."""
    return int(math.prod(value.shape) * itemsize_of(value.dtype))


def pieces(value: Any, size: int | None = None) -> Iterator[memoryview]:
    """The bytes of a lazy value in C order, little-endian, about `size` at a time."""
    if isinstance(value, LegacyTensor):
        yield from value.pieces(size)
        return
    import numpy as np

    for box in boxes(value.shape, (size or GATHERED) // itemsize_of(value.dtype)):
        array: Any = np.ascontiguousarray(value.read(box))
        yield memoryview(array.reshape(-1).view(np.uint8))


def _node(origin: Origin, state: Mapping[str, Any]) -> Any:
    """The lazy value of an origin: leaves first, then one node for each transform."""
    transforms: list[Transform] = []
    while isinstance(origin, Changed):
        transforms.append(origin.transform)
        origin = origin.origin
    match origin:
        case Stored(key):
            node = as_lazy(state[key])
        case Joined(origins, axis, stack):
            node = _Join([_node(part, state) for part in origins], axis, stack)
        case Filled(fill, header):
            node = _Constant(fill, header)
    if len(transforms) > _LONGEST_CHAIN:
        return _Whole(node, list(reversed(transforms)))
    for transform in reversed(transforms):
        node = _changed(node, transform)
    return node


def _changed(node: Any, transform: Transform) -> Any:
    shape = node.shape
    match transform:
        case Transpose():
            order = transform.header(Header(tuple(range(len(shape))), "")).shape
            return node.transpose(order) if isinstance(node, LegacyTensor) else _Transposed(node, order)
        case Slice(axis, start, stop):
            first, last, _ = slice(start, stop).indices(shape[axis])
            last = max(first, last)
            if isinstance(node, LegacyTensor):
                return node[(slice(None),) * (axis % len(shape)) + (slice(first, last),)]
            return _Sliced(node, axis % len(shape), first, last)
        case Reshape():
            return _reshaped(node, transform.header(Header(shape, node.dtype)).shape)
        case Roll(axis, by):
            return _Rolled(node, axis % len(shape), by)
        case Cast() | Scale():
            return _Elementwise(node, transform)
        case Permute(axis, groups, order):
            axis %= len(shape)
            lengths = Reshape(groups).header(Header((shape[axis],), "")).shape
            middle = tuple(axis + at for at in order)
            after = tuple(range(axis + len(lengths), len(shape) + len(lengths) - 1))
            grouped = _reshaped(node, (*shape[:axis], *lengths, *shape[axis + 1 :]))
            moved = _changed(grouped, Transpose((*range(axis), *middle, *after)))
            return _reshaped(moved, shape)
        case _:
            return _Whole(node, [transform])


def _reshaped(node: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(node, LegacyTensor) and reshaped_strides(node.shape, node.strides, shape) is not None:
        return node.reshape(shape)
    return _Reshaped(node, shape)


class _Node:
    """What the nodes have in common: shape and dtype, known beforehand."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        self.shape = shape
        self.dtype = dtype

    def read(self, box: Box) -> Any:
        raise NotImplementedError


def _read(value: Any, box: Box) -> Any:
    """A box of a lazy value, as an array."""
    if isinstance(value, LegacyTensor):
        return value[tuple(slice(*ends) for ends in box)].raw()
    return value.read(box)


def _typed(value: Any, array: Any) -> Any:
    """An array that was read, in the dtype that it has."""
    return array.view(numpy_dtype(value.dtype))


class _Array(_Node):
    """An array in memory, of any of the libraries."""

    def __init__(self, value: Any) -> None:
        super().__init__(tuple(int(n) for n in value.shape), str(value.dtype).rpartition(".")[2])
        self._value = value

    def read(self, box: Box) -> Any:
        import numpy as np

        part = self._value[tuple(slice(*ends) for ends in box)] if box else self._value
        library = type(part).__module__.partition(".")[0]
        if library == "torch":
            import torch

            part = part.detach().cpu().contiguous().reshape(-1)
            part = part.view(torch.uint8).numpy() if part.numel() else np.empty(0, np.uint8)
            raw = f"V{itemsize_of(self.dtype)}"
            return part.view(raw).reshape([stop - start for start, stop in box])
        if library == "kedge":
            part = part.detach().numpy()
        array = np.asarray(part)
        return array.astype(array.dtype.newbyteorder("<"), copy=False)


class _Constant(_Node):
    """One value everywhere."""

    def __init__(self, fill: float, header: Header) -> None:
        super().__init__(header.shape, header.dtype)
        self._fill = fill

    def read(self, box: Box) -> Any:
        import numpy as np

        return np.full([stop - start for start, stop in box], self._fill, numpy_dtype(self.dtype))


class _Transposed(_Node):
    def __init__(self, inner: Any, order: tuple[int, ...]) -> None:
        super().__init__(tuple(inner.shape[axis] for axis in order), inner.dtype)
        self._inner, self._order = inner, order

    def read(self, box: Box) -> Any:
        inside = dict(zip(self._order, box, strict=True))
        return _read(self._inner, tuple(inside[axis] for axis in range(len(box)))).transpose(self._order)


class _Sliced(_Node):
    def __init__(self, inner: Any, axis: int, first: int, last: int) -> None:
        shape = inner.shape
        super().__init__((*shape[:axis], last - first, *shape[axis + 1 :]), inner.dtype)
        self._inner, self._axis, self._first = inner, axis, first

    def read(self, box: Box) -> Any:
        start, stop = box[self._axis]
        return _read(self._inner, _with(box, self._axis, start + self._first, stop + self._first))


class _Rolled(_Node):
    def __init__(self, inner: Any, axis: int, by: int) -> None:
        super().__init__(inner.shape, inner.dtype)
        self._inner, self._axis, self._by = inner, axis, by

    def read(self, box: Box) -> Any:
        import numpy as np

        extent = self.shape[self._axis]
        start, stop = box[self._axis]
        if start == stop:
            return _read(self._inner, box)
        first = (start - self._by) % extent
        last = first + stop - start
        parts = [(first, min(last, extent))] + ([(0, last - extent)] if last > extent else [])
        return np.concatenate(
            [_read(self._inner, _with(box, self._axis, *part)) for part in parts], axis=self._axis
        )


class _Elementwise(_Node):
    """Each element changed by itself: cast, scale."""

    def __init__(self, inner: Any, transform: Transform) -> None:
        after = transform.header(Header(inner.shape, inner.dtype))
        super().__init__(after.shape, after.dtype)
        self._inner, self._transform = inner, transform

    def read(self, box: Box) -> Any:
        return self._transform.apply(_typed(self._inner, _read(self._inner, box)))


class _Reshaped(_Node):
    """The elements in C order in another shape: runs of the new shape are runs of the old one."""

    def __init__(self, inner: Any, shape: tuple[int, ...]) -> None:
        super().__init__(shape, inner.dtype)
        self._inner = inner

    def read(self, box: Box) -> Any:
        import numpy as np

        wanted = [stop - start for start, stop in box]
        if 0 in wanted:
            return np.empty(wanted, f"V{itemsize_of(self.dtype)}")
        runs = [self._run(first, length) for first, length in _runs(self.shape, box)]
        return np.concatenate(runs).reshape(wanted)

    def _run(self, first: int, length: int) -> Any:
        import numpy as np

        parts = [
            _read(self._inner, box).reshape(-1) for box in _boxes_of_run(self._inner.shape, first, length)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class _Join(_Node):
    """Values behind one another along an axis, or along a new one."""

    def __init__(self, parts: list[Any], axis: int, stack: bool) -> None:
        shape, dtype = parts[0].shape, parts[0].dtype
        self._axis = axis % (len(shape) + stack)
        lengths = [1 if stack else part.shape[self._axis] for part in parts]
        rest = shape[self._axis :] if stack else shape[self._axis + 1 :]
        super().__init__((*shape[: self._axis], sum(lengths), *rest), dtype)
        self._stack = stack
        self._parts = list(zip(parts, _starts(lengths), lengths, strict=True))

    def read(self, box: Box) -> Any:
        import numpy as np

        start, stop = box[self._axis]
        if self._stack:
            inside = (*box[: self._axis], *box[self._axis + 1 :])
            read = [_read(part, inside) for part, _, _ in self._parts[start:stop]]
            return np.stack(read, self._axis)
        read = [
            _read(part, _with(box, self._axis, max(start - first, 0), min(stop - first, length)))
            for part, first, length in self._parts
            if first < stop and start < first + length
        ]
        return read[0] if len(read) == 1 else np.concatenate(read, self._axis)


class _Whole(_Node):
    """A value that can only be made at once: by functions of the user's own. Kept while it is being read."""

    def __init__(self, inner: Any, transforms: list[Transform]) -> None:
        after = Header(inner.shape, inner.dtype)
        for transform in transforms:
            after = transform.header(after)
        super().__init__(after.shape, after.dtype)
        self._inner, self._transforms = inner, transforms
        self._made: Any = None
        self._left = 0

    def read(self, box: Box) -> Any:
        if self._made is None:
            import numpy as np

            whole = tuple((0, extent) for extent in self._inner.shape)
            made = _typed(self._inner, np.ascontiguousarray(_read(self._inner, whole)))
            for transform in self._transforms:
                made = transform.apply(made)
            self._made = _Array(made)
            self._left = math.prod(self.shape)
        part = self._made.read(box)
        self._left -= part.size
        if self._left <= 0:
            self._made = None
        return part


def _runs(shape: tuple[int, ...], box: Box) -> Iterator[tuple[int, int]]:
    """The elements of a box as runs in C order: where each starts, and how long it is."""
    import itertools

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
    """The boxes that hold a run of elements, in order: few of them, the middle one the largest."""
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


def _starts(lengths: list[int]) -> list[int]:
    return [sum(lengths[:at]) for at in range(len(lengths))]


def _with(box: Box, axis: int, start: int, stop: int) -> Box:
    return (*box[:axis], (start, stop), *box[axis + 1 :])
