"""Which memory is stored: ties and views once, nothing that is not used, layouts as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packager._objects import encode
from packager.testing import round_trip
from tests.tables import one_test


def _stored(value: Any) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(storage.name, storage.dtype, storage.shape) for storage in encode(value).storages]


def _layout(array: Any) -> tuple[Any, ...]:
    return array.dtype, array.shape, array.strides


def test_array_is_named_by_its_path() -> None:
    assert _stored({"layers": [{"w": np.ones((2, 3), "f4")}]}) == [("layers.0.w", "F32", (2, 3))]
    assert _stored(np.ones(2)) == [("value", "F64", (2,))]


def test_views_share_a_storage_named_by_the_one_that_covers_it() -> None:
    base = np.arange(12.0).reshape(3, 4)
    views = {"part": base[1:], "base": base, "t": base.T, "back": base[::-1], "flat": base.ravel()}
    assert _stored(views) == [("base", "F64", (3, 4))]
    trip = round_trip(views)
    assert trip.is_stable
    loaded = trip.object
    loaded["base"][2, 0] = -5
    assert loaded["part"][1, 0] == loaded["t"][0, 2] == loaded["back"][0, 0] == loaded["flat"][8] == -5


def test_views_without_their_base_store_the_range_that_they_span() -> None:
    base = np.arange(100.0)
    assert _stored([base[10:20], base[15:30]]) == [("0.storage", "F64", (20,))]
    loaded = round_trip([base[10:20], base[15:30]]).object
    loaded[1][0] = -1
    assert loaded[0][5] == -1


def test_neighbours_that_do_not_overlap_are_apart() -> None:
    base = np.arange(10.0)
    assert _stored([base[:5], base[5:]]) == [("0", "F64", (5,)), ("1", "F64", (5,))]


def test_views_of_different_dtypes_share_bytes() -> None:
    base = np.arange(4, dtype="i4")
    trip = round_trip([base[:3], base.view("i2")[2:], base.view("u1")[3:]])
    assert trip.is_stable
    trip.object[0][1] = 0x01020304
    assert trip.object[1].tolist()[:2] == [0x0304, 0x0102]


def test_field_of_a_structured_array_beside_it() -> None:
    records = np.zeros(3, [("a", "i4"), ("b", "f8")])
    records["b"] = [1, 2, 3]
    loaded = round_trip({"all": records, "b": records["b"]}).object
    assert loaded["b"].tolist() == [1.0, 2.0, 3.0]


@one_test
@pytest.mark.parametrize(
    "array",
    [
        np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6)[::-1],
        np.arange(24).reshape(2, 3, 4)[:, ::-1],
        np.ones((1, 5, 1)).transpose(2, 0, 1),
        np.broadcast_to(np.arange(3.0), (4, 3)),
        np.lib.stride_tricks.sliding_window_view(np.arange(5.0), 3),
        np.array(7),
    ],
    ids=lambda array: f"{array.shape}{array.strides}",
)
def test_dense_and_overlapping_layouts_are_kept(array: Any) -> None:
    trip = round_trip(array)
    assert _layout(trip.object) == _layout(array)
    assert np.array_equal(trip.object, array)
    assert trip.is_stable


def test_gaps_are_not_stored_and_the_order_of_axes_is_kept() -> None:
    array = np.arange(1000.0).reshape(10, 10, 10)[::3, ::2, ::5].transpose(2, 0, 1)
    (storage,) = encode(array).storages
    assert len(storage.buffer) == array.nbytes
    trip = round_trip(array)
    assert np.array_equal(trip.object, array)
    assert np.argsort(trip.object.strides).tolist() == np.argsort(array.strides).tolist()
    assert trip.is_stable


def test_empty_arrays_have_storages_without_bytes() -> None:
    assert _stored([np.zeros((0, 3)), np.zeros((2, 0), "i2")]) == [("0", "F64", (0, 3)), ("1", "I16", (2, 0))]


def test_nothing_is_copied() -> None:
    array = np.arange(10.0)
    (storage,) = encode(array).storages
    array[0] = 5
    assert np.frombuffer(storage.buffer)[0] == 5


def test_memory_lives_as_long_as_its_storage() -> None:
    (storage,) = encode(np.full(100_000, 3.0)).storages
    junk = [np.zeros(100_000) for _ in range(5)]
    assert np.frombuffer(storage.buffer).min() == 3.0
    assert len(junk) == 5


def test_view_that_only_repeats_is_refused_when_it_seems_huge() -> None:
    (refusal,) = encode({"mask": np.broadcast_to(np.ones(1), (10_000, 10_000))}).refusals
    assert refusal.path == "obj['mask']"
    assert "a view that repeats 8 bytes" in refusal.reason


def test_names_that_collide_are_told_apart() -> None:
    names = [name for name, _, _ in _stored({"a": {"b": np.ones(1)}, "a.b": np.ones(2)})]
    assert names == ["a.b", "a.b'"]


def test_memmap_becomes_an_array(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "file", "f4", "w+", shape=(3,))
    mapped[:] = 2
    loaded = round_trip(mapped).object
    assert type(loaded) is np.ndarray
    assert loaded.tolist() == [2.0, 2.0, 2.0]
    (warning,) = encode({"x": mapped}).warnings
    assert warning.path == "obj['x']"
    assert warning.reason.startswith("a numpy.memmap is stored by its values")
    assert encode({"x": np.asarray(mapped)}).warnings == ()


def test_loaded_arrays_can_be_written_to() -> None:
    loaded = round_trip(np.arange(3)).object
    loaded += 1
    assert loaded.tolist() == [1, 2, 3]
