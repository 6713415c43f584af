"""Lazy tensors read what NumPy would give for the same strides, and no more bytes than they need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._tensors import boxes, reshaped_strides
from packager._weights.legacy_tensors import LegacyStorage, checked_tensor
from packager.errors import LegacyFormatError


def storage_of(array: np.ndarray, dtype: str = "") -> tuple[LegacyStorage, list[tuple[int, int]]]:
    data, reads = memoryview(array.tobytes()), []

    def read(start: int, stop: int) -> memoryview:
        reads.append((start, stop))
        return data[start:stop]

    return LegacyStorage("0", dtype or str(array.dtype), len(data), read), reads


def tensor_of(array: np.ndarray):
    storage, reads = storage_of(array)
    strides = tuple(step // array.itemsize for step in array.strides)
    return checked_tensor(storage, str(array.dtype), 0, array.shape, strides), reads


shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@given(shape=shapes, data=st.data())
def test_views_of_views_are_numpys(shape, data):
    array = np.arange(np.prod(shape, dtype=int), dtype="i4").reshape(shape)
    tensor, _ = tensor_of(array)
    for _ in range(data.draw(st.integers(0, 4))):
        kind = data.draw(st.sampled_from(["slice", "int", "transpose", "reshape"]))
        if kind == "slice" and array.ndim:
            number = data.draw(st.integers(1, array.ndim))
            bounds = st.lists(st.integers(0, 5), min_size=2, max_size=2).map(sorted)
            ends = [slice(*data.draw(bounds), data.draw(st.integers(1, 2))) for _ in range(number)]
            array, tensor = array[tuple(ends)], tensor[tuple(ends)]
        elif kind == "int" and array.ndim and array.shape[0]:
            at = data.draw(st.integers(-array.shape[0], array.shape[0] - 1))
            array, tensor = array[at], tensor[at]
            if not isinstance(array, np.ndarray):
                array = np.array(array)
        elif kind == "transpose":
            order = data.draw(st.permutations(range(array.ndim)))
            array, tensor = array.transpose(order), tensor.transpose(order)
        elif kind == "reshape":
            lazy = reshaped_strides(tensor.shape, tensor.strides, (array.size,))
            if lazy is not None:
                array, tensor = array.reshape(-1), tensor.reshape((array.size,))
    assert tensor.shape == array.shape
    assert tensor.numpy().tolist() == array.tolist()
    for size in (1, 8, 1 << 20):
        assert b"".join(tensor.pieces(size)) == array.tobytes()


@given(shape=shapes, wanted=shapes)
def test_strides_of_another_shape_are_those_that_numpy_finds(shape, wanted):
    array = np.zeros(shape, "i1")
    if np.prod(shape, dtype=int) != np.prod(wanted, dtype=int):
        with pytest.raises(ValueError, match="has no shape"):
            reshaped_strides(shape, array.strides, wanted)
        return
    found = reshaped_strides(shape, array.strides, wanted)
    assert found is not None  # an array in C order has every shape
    if 0 not in wanted:
        expected = array.reshape(wanted).strides
        assert all(n == 1 or a == b for n, a, b in zip(wanted, found, expected, strict=True))


@given(shape=shapes, elements=st.integers(1, 40))
def test_boxes_cover_a_shape_in_order_and_stay_small(shape, elements):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    found = [array[tuple(slice(*ends) for ends in box)].reshape(-1) for box in boxes(shape, elements)]
    assert np.concatenate([*found, np.empty(0, int)]).tolist() == list(range(array.size))
    assert all(len(part) <= elements for part in found)


def test_a_slice_reads_its_own_bytes():
    tensor, reads = tensor_of(np.arange(1_000_000, dtype="f4").reshape(1000, 1000))
    assert tensor[10:12].numpy()[1, 3] == 11_003
    assert reads == [(40_000, 48_000)]
    reads.clear()
    assert tensor[:, 7].numpy()[3] == 3007
    assert max(stop - start for start, stop in reads) <= 1 << 13


def test_big_endian_elements_come_out_in_the_order_of_this_machine():
    storage, _ = storage_of(np.arange(6, dtype=">f4"), "float32")
    tensor = checked_tensor(storage, "float32", 0, (2, 3), (3, 1), big_endian=True)
    assert tensor.numpy().dtype == np.dtype("f4")
    assert tensor[1].numpy().tolist() == [3.0, 4.0, 5.0]
    assert b"".join(tensor.pieces(4)) == np.arange(6, dtype="<f4").tobytes()


def test_other_indices_read_the_tensor():
    tensor, _ = tensor_of(np.arange(12, dtype="i8").reshape(3, 4))
    assert tensor[[2, 0]].tolist() == [[8, 9, 10, 11], [0, 1, 2, 3]]
    assert tensor[::-1].tolist() == np.arange(12).reshape(3, 4)[::-1].tolist()
    assert tensor.transpose(1, 0).reshape(12).tolist() == np.arange(12).reshape(3, 4).T.reshape(12).tolist()
    assert tensor.astype("f4").dtype == np.float32
    assert np.asarray(tensor).sum() == 66
    assert (len(tensor), tensor.ndim, tensor.size, tensor.nbytes) == (3, 2, 12, 96)
    with pytest.raises(IndexError, match="index 3 of an axis with 3 elements"):
        tensor[3]
    with pytest.raises(ValueError, match="a tensor with 2 axes"):
        tensor.transpose(0, 0)


def test_a_storage_gives_no_bytes_that_it_does_not_have():
    storage, _ = storage_of(np.arange(3, dtype="i1"))
    with pytest.raises(LegacyFormatError, match="bytes 0 to 4 were asked for; it has 3"):
        storage.read(0, 4)


class Zeros(LegacyStorage):
    """Bytes that are read, and are all zero."""

    def __init__(self, nbytes: int) -> None:
        self.reads: list[tuple[int, int]] = []
        super().__init__("0", "uint8", nbytes, self._zeros)

    def _zeros(self, start: int, stop: int) -> memoryview:
        self.reads.append((start, stop))
        return memoryview(bytes(stop - start))


MIB = 1 << 20


def test_elements_in_a_row_are_read_by_4_mib_and_scattered_ones_are_gathered_by_8() -> None:
    row = checked_tensor(Zeros(4 * MIB + 1), "uint8", 0, (4 * MIB + 1,), (1,))
    assert [len(piece) for piece in row.pieces()] == [4 * MIB, 1]
    column = checked_tensor(Zeros(8 * MIB + 2), "uint16", 0, (4 * MIB + 1,), (1,), big_endian=True)
    assert [len(piece) for piece in column.pieces()] == [8 * MIB, 2]


@pytest.mark.parametrize(
    ("nbytes", "shape", "strides", "reads"),
    [
        (8192, (2,), (8191,), [(0, 8192)]),
        (8193, (2,), (8192,), [(8192, 8193), (0, 1)]),
        (9997, (2500,), (4,), [(0, 9997)]),
        (24000, (2, 3000), (21000, 1), [(0, 24000)]),
        (24001, (2, 3000), (21001, 1), [(21001, 24001), (0, 3000)]),
        (12496, (2500,), (5,), [(6250, 12496), (0, 6246)]),
        (16 * MIB, (16 * MIB,), (1,), [(0, 16 * MIB)]),
        (16 * MIB + 2, (16 * MIB + 2,), (1,), [(8 * MIB + 1, 16 * MIB + 2), (0, 8 * MIB + 1)]),
    ],
)
def test_what_lies_near_is_read_at_once_and_the_rest_by_halves(
    nbytes: int, shape: tuple[int, ...], strides: tuple[int, ...], reads: list[tuple[int, int]]
) -> None:
    """Up to 8 KiB, or to 16 MiB where a quarter of it is wanted."""
    storage = Zeros(nbytes)
    checked_tensor(storage, "uint8", 0, shape, strides).raw()
    assert storage.reads == reads
