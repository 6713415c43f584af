"""Usual tensors as columns: planned and written to the same bytes as records of them."""

from __future__ import annotations

import io
import random
from typing import Any

import numpy as np
import pytest

from packager.archive import (
    ArchiveWriter,
    Manifest,
    Place,
    StorageColumn,
    TensorColumns,
    TensorSpec,
    add_tensors,
)
from packager.archive.bounds import CHUNK
from packager.archive.safetensors import plan_member
from packager.archive.tensor_columns import PlaceColumn, sizes_of
from packager.errors import ArchiveError
from packager.tensors import ITEMSIZE

SHAPES = ((), (0,), (1,), (7,), (16,), (2, 3), (1, 5), (5, 1), (33, 3, 1), (64,))
DTYPES = ("F32", "F64", "U8", "I16", "BOOL")


def columns(count: int, seed: int = 0) -> tuple[TensorColumns, list[int]]:
    chance = random.Random(seed)
    keys = [f'block "{number * 7 % count}".é' for number in range(count)]
    dtypes, shapes = chance.choices(DTYPES, k=count), chance.choices(SHAPES, k=count)
    sizes = [int(np.prod(shape)) * ITEMSIZE[dtype] for dtype, shape in zip(dtypes, shapes, strict=True)]
    return TensorColumns(keys, dtypes, shapes), sizes


def test_columns_are_the_records_that_they_make() -> None:
    made = TensorColumns(["w", "b"], ["F32", "U8"], [(2, 3), (4,)])
    records = (TensorSpec("w", "F32", (2, 3), (3, 1), 0, 0), TensorSpec("b", "U8", (4,), (1,), 0, 1))
    assert (made, made[1:], made[-1]) == (records, records[1:], records[1])
    assert (hash(made), repr(made)) == (hash(records), repr(records))
    assert made != TensorColumns(["w", "b"], ["F32", "U8"], [(2, 3), (2, 2)])
    places = PlaceColumn("net/w", [64, 128], [24, 4])
    assert tuple(places) == (Place("net/w", 64, 88), Place("net/w", 128, 132))
    storages = StorageColumn([np.ones((2, 3), np.float32), np.arange(4, dtype=np.uint8)], [24, 4])
    assert [len(view) for view in storages] == [24, 4]
    assert all(view.readonly for view in storages)
    assert list(sizes_of(storages)) == list(sizes_of(places)) == list(sizes_of(list(storages))) == [24, 4]
    with pytest.raises(IndexError):
        made[2]


@pytest.mark.parametrize("count", [0, 1, 2, 400])
def test_a_plan_of_columns_is_the_plan_of_their_records(count: int) -> None:
    made, sizes = columns(count)
    told = {"format": "pt"}
    plan, expected = plan_member(made, sizes, told), plan_member(tuple(made), sizes, told)
    assert (plan.header, plan.index, plan.order) == (expected.header, expected.index, expected.order)
    places = plan.places("net/w", sizes, {})
    assert [place.nbytes for place in places] == sizes
    assert sorted(place.start for place in places if place.nbytes) == sorted(
        {place.start for place in places if place.nbytes}
    )


@pytest.mark.parametrize(
    ("keys", "shape", "size", "told"),
    [
        (["a", "a"], (2,), 8, r"tensor 'a': it is there 2 times"),
        (["a", "b\0"], (2,), 8, r"a key may not be __metadata__ or hold NUL"),
        (["a", "b"], (2,), 4, r"elements 0 to 2 of F32 do not lie in its storage of 4 bytes"),
        (["a", "b"], (1,) * 65, 4, "the shape has 65 dimensions; expected at most 64"),
    ],
)
def test_columns_are_refused_as_their_records_are(
    keys: list[str], shape: tuple[int, ...], size: int, told: str
) -> None:
    with pytest.raises(ArchiveError, match=told):
        plan_member(TensorColumns(keys, ["F32"] * 2, [shape] * 2), [size] * 2, {})


@pytest.mark.parametrize("digests", ["sha256", "crc"])
def test_columns_are_written_as_their_records_are(digests: str) -> None:
    made, sizes = columns(400)
    chance = random.Random(1)
    buffers = [np.frombuffer(chance.randbytes(size), np.uint8) for size in sizes]
    big = np.frombuffer(chance.randbytes(3 * CHUNK + 5), np.uint8)
    made = TensorColumns([*made.keys, "big"], [*made.dtypes, "U8"], [*made.shapes, big.shape])

    def written(tensors: Any, storages: Any) -> bytes:
        file = io.BytesIO()
        with ArchiveWriter(file, digests=digests) as writer:
            for member in ("first", "again"):
                add_tensors(writer, member, tensors, storages)
            writer.seal(Manifest())
        return file.getvalue()

    column = StorageColumn([*buffers, big], [*sizes, big.nbytes])
    assert written(made, column) == written(tuple(made), [*buffers, big])


@pytest.mark.parametrize("found", [10, 9 * CHUNK])
def test_a_buffer_of_another_size_than_it_had_is_refused(found: int) -> None:
    with ArchiveWriter(io.BytesIO()) as writer:
        with pytest.raises(
            ArchiveError, match=r"entry 'w': a buffer of it was made larger or smaller while it"
        ):
            writer.add("w", StorageColumn([bytes(found)], [CHUNK + 1]), kind="tensors", align=64)
        assert not writer.is_open
    with (
        ArchiveWriter(io.BytesIO()) as writer,
        pytest.raises(ArchiveError, match=r"entry 'w': .* expected 4 bytes, found 3"),
    ):
        writer.add("w", StorageColumn([b"abc"], [4]), kind="tensors", align=64)
