"""Lazy arrays against NumPy: every box of every small array, and what each operation refuses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from packager._weights.lazy_arrays import (
    LazyArray,
    _boxes_of_run,
    _runs,
    as_lazy,
    bare,
    constant,
    joined,
    made_whole,
)
from packager._weights.legacy_tensors import LegacyStorage, checked_tensor

SHAPES = [(), (3,), (2, 3), (3, 1, 2), (2, 2, 2), (1, 3)]


def boxes_of(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every box inside of a shape, empty ones too."""
    ends = [[(a, b) for a in range(n + 1) for b in range(a, n + 1)] for n in shape]
    return itertools.product(*ends)


def part(array: np.ndarray, box: tuple[tuple[int, int], ...]) -> Any:
    return array[tuple(slice(*ends) for ends in box)]


def counted(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype="i4").reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_of_elements_is_made_of_boxes_in_order(shape: tuple[int, ...]) -> None:
    array = counted(*shape)
    for first in range(array.size):
        for length in range(1, array.size - first + 1):
            found = [part(array, box).reshape(-1).tolist() for box in _boxes_of_run(shape, first, length)]
            assert list(itertools.chain.from_iterable(found)) == list(range(first, first + length))
            assert len(found) <= max(2 * len(shape) - 1, 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_box_is_made_of_runs_in_order(shape: tuple[int, ...]) -> None:
    array = counted(*shape)
    for box in boxes_of(shape):
        wanted = part(array, box).reshape(-1).tolist()
        if wanted:
            runs = list(_runs(shape, box))
            assert [at for first, length in runs for at in range(first, first + length)] == wanted
            rest = [ends == (0, n) for ends, n in zip(box, shape, strict=True)]
            whole = next((axis for axis in range(len(shape)) if all(rest[axis:])), len(shape))
            assert len(runs) == np.prod([b - a for a, b in box[: max(whole - 1, 0)]], dtype=int)


def in_file(array: np.ndarray) -> LazyArray:
    data = memoryview(array.tobytes())
    storage = LegacyStorage("0", str(array.dtype), len(data), lambda start, stop: data[start:stop])
    strides = tuple(step // array.itemsize for step in array.strides)
    made = as_lazy(checked_tensor(storage, str(array.dtype), 0, array.shape, strides))
    assert isinstance(made, LazyArray)
    return made


def check(lazy: LazyArray, wanted: np.ndarray) -> None:
    """Every box, and all of it in pieces."""
    assert (lazy.shape, lazy.ndim, lazy.nbytes) == (wanted.shape, wanted.ndim, wanted.nbytes)
    assert lazy.dtype == str(wanted.dtype)
    for box in boxes_of(wanted.shape):
        assert np.array_equal(lazy.typed(box), part(wanted, box))
    for size in (None, 1, 8, 1000):
        pieces = list(lazy.pieces(size))
        assert b"".join(pieces) == wanted.tobytes()
        assert all(len(piece) <= max(size or 1 << 20, wanted.itemsize) for piece in pieces)


PARTS: list[Any] = [
    (..., 0),
    0,
    -1,
]


@pytest.mark.parametrize("make", [in_file, as_lazy])
@pytest.mark.parametrize("shape", SHAPES)
def test_parts_of_what_is_moved_and_changed_are_numpys(make: Any, shape: tuple[int, ...]) -> None:
    array = counted(*shape)
    lazy = make(array)
    check(lazy, array)
    check(lazy.reshape((array.size,)), array.reshape(-1))
    check(lazy.astype(np.dtype("f8")), array.astype("f8"))
    check(lazy * 3, array * array.dtype.type(3))  # NumPy 1 widens what has no dimensions
    for order in list(itertools.permutations(range(len(shape))))[:6]:
        check(lazy.transpose(order), array.transpose(order))
        check(lazy.transpose(order).reshape((array.size, 1)), array.transpose(order).reshape(-1, 1))
    for axis, by in itertools.product(range(len(shape)), (-1, 0, 1, 2, 5)):
        check(lazy.roll(by, axis), np.roll(array, by, axis))
    if shape:
        check(lazy[1:2,], array[1:2])
        check(lazy[1:2,][:1,], array[1:2][:1])
        check(lazy.roll(1, 0)[:2,], np.roll(array, 1, 0)[:2])
        check(lazy.roll(1, 0)[2:1,], np.roll(array, 1, 0)[2:1])
        for index in PARTS:
            check(lazy[index], array[index])
            check(lazy.roll(1, 0)[index], np.roll(array, 1, 0)[index])
        with pytest.raises(IndexError, match="slices and"):
            lazy[::2]
        with pytest.raises(
            IndexError, match=r"found the index \[0\]; a lazy array is cut by ints, slices and"
        ):
            lazy[[0]]
        with pytest.raises(IndexError, match="found the index 9 of an axis"):
            lazy[9]


@pytest.mark.parametrize("shape", [(2, 3), (1, 2, 2)])
def test_joined_arrays_are_numpys(shape: tuple[int, ...]) -> None:
    arrays = [counted(*shape) + 100 * n for n in range(3)]
    lazy = [as_lazy(array) for array in arrays]
    for axis in range(-len(shape), len(shape)):
        check(joined(lazy, axis, stack=False), np.concatenate(arrays, axis))
    for axis in range(-len(shape) - 1, len(shape) + 1):
        check(joined(lazy, axis, stack=True), np.stack(arrays, axis))
    for stack, alone in ((False, arrays[0]), (True, arrays[0][None])):
        check(joined(lazy[:1], 0, stack=stack), alone)
    longer = [arrays[0], np.concatenate([arrays[1], arrays[2]])]
    check(joined([as_lazy(one) for one in longer], 0, stack=False), np.concatenate(longer))


def test_joined_arrays_read_what_is_asked_for_alone() -> None:
    class Watched(LazyArray):
        def read(self, box: Any) -> Any:
            reads.append((self.shape[0], box))
            return np.zeros([stop - start for start, stop in box], "i4")

    parts = [Watched((n,), "int32") for n in (2, 3, 4)]
    whole = joined(parts, 0, stack=False)
    for ends, wanted in (
        ((0, 2), [(2, ((0, 2),))]),
        ((2, 5), [(3, ((0, 3),))]),
        ((1, 3), [(2, ((1, 2),)), (3, ((0, 1),))]),
        ((5, 9), [(4, ((0, 4),))]),
        ((4, 6), [(3, ((2, 3),)), (4, ((0, 1),))]),
    ):
        reads: list[Any] = []
        assert whole.read((ends,)).size == ends[1] - ends[0]
        assert reads == wanted
    stacked = joined([Watched((2,), "int32") for _ in range(3)], 0, stack=True)
    reads = []
    assert stacked.read(((1, 2), (0, 2))).shape == (1, 2)
    assert reads == [(2, ((0, 2),))]
    reads = []
    assert Watched((3, 2), "int32").roll(1, 0).read(((1, 1), (0, 2))).shape == (0, 2)
    assert Watched((3, 2), "int32").roll(1, 0).read(((1, 3), (0, 2))).shape == (2, 2)
    assert reads == [(3, ((0, 2), (0, 2)))]


def test_a_constant_is_what_it_says_everywhere() -> None:
    check(constant((2, 3), 0.5, "float32"), np.full((2, 3), 0.5, "f4"))


def test_what_is_made_at_once_is_kept_while_it_is_read() -> None:
    made = []

    def double(array: np.ndarray) -> np.ndarray:
        assert array.flags.c_contiguous
        made.append(array.shape)
        return array * 2

    lazy = made_whole(in_file(counted(4, 2)).transpose((1, 0)), double, (2, 4), "int32")
    wanted = counted(4, 2).T * 2
    for row in range(2):
        assert np.array_equal(lazy.read(((row, row + 1), (0, 4))), wanted[row : row + 1])
    assert made == [(2, 4)]
    assert np.array_equal(lazy.read(((0, 2), (0, 4))), wanted)  # all had been read: it is made again
    assert np.array_equal(lazy.read(((0, 1), (0, 4))), wanted[:1])
    assert made == [(2, 4)] * 3


def test_views_of_a_file_stay_in_the_file() -> None:
    lazy = in_file(counted(4, 6))
    assert lazy is as_lazy(lazy)
    for view in (lazy.transpose((1, 0)), lazy.reshape((6, 4)), lazy[1:3,], lazy.reshape((24,))):
        assert bare(view) is not view
    for made in (lazy.transpose((1, 0)).reshape((24,)), lazy * 2, as_lazy(counted(2))):
        assert bare(made) is made
