"""What values tensors have: numbers by hand, every dtype, and nothing that is read beyond all measure."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kellet
from packager import PackageExporter
from packager._archive import ArchiveReader
from packager._differences import Member
from packager._report.archive_tensors import TensorValues, ValueReader


def values(arrays: Mapping[str, Any], budget: int = 1 << 20) -> dict[str, TensorValues]:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_state_dict("net", "state", arrays)
    with ArchiveReader(file) as reader:
        record = reader.manifest.state_dicts[0]
        member = Member(reader, record.entry, record.extras)
        read = ValueReader(budget)
        return {key: read.of(member, key) for key in member}


def test_numbers_are_those_of_numpy_over_many_pieces() -> None:
    array = np.random.default_rng(3).normal(size=(3, 200_000)).astype("f4")
    found = values({"w": array}, array.nbytes)["w"]
    counts, _ = np.histogram(array.astype("f8"), 16)
    assert (found.least, found.greatest) == (array.min().item(), array.max().item())
    assert found.mean == pytest.approx(array.mean(dtype="f8"), rel=1e-9)
    assert found.counts == tuple(counts.tolist())


def test_nan_and_infinities_are_counted_apart() -> None:
    found = values({"w": np.array([np.nan, np.inf, -np.inf, 1, 3], "f2")})["w"]
    assert (found.least, found.greatest, found.mean, found.nans, found.infinities) == (1, 3, 2, 1, 2)
    assert sum(found.counts) == 2
    none = values({"w": np.array([np.nan, np.inf])})["w"]
    assert none == TensorValues(nans=1, infinities=1)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([True, False, True]), (0, 1, 2 / 3)),
        (np.array([-128, 127], "i1"), (-128, 127, -0.5)),
        (np.array([2**64 - 1, 1], "u8"), (1, 2**64 - 1, 2.0**63)),
        (np.array([3 + 4j, 0j]), (0.0, 5.0, 2.5)),
        (np.array([1.5, -2.0], ml_dtypes.bfloat16), (-2.0, 1.5, -0.25)),
        (np.array([0.5, 2.0], ml_dtypes.float8_e4m3fn), (0.5, 2.0, 1.25)),
        (np.array([1e308, -1e308]), (-1e308, 1e308, 0.0)),
    ],
    ids=["bool", "int8", "uint64", "complex128", "bfloat16", "float8", "the ends of float64"],
)
def test_every_dtype_has_values(array: Any, expected: tuple[float, float, float]) -> None:
    found = values({"w": array})["w"]
    assert (found.least, found.greatest, found.mean) == expected
    assert sum(found.counts) == array.size


def test_equal_values_stand_in_the_middle() -> None:
    assert values({"w": np.full(5, 2.5)})["w"].counts == (0,) * 8 + (5,) + (0,) * 7


def test_what_is_the_same_memory_is_read_once_and_no_more_than_is_allowed() -> None:
    tied = np.ones(8, "f4")
    found = values({"a": tied, "b": tied, "c": np.ones(8, "f4"), "d": np.ones(0, "f4")}, budget=32)
    assert found["a"] == found["b"]
    assert found["a"].mean == 1
    assert (found["c"].note, found["d"].note) == ("not read", "no elements")


def test_a_view_that_repeats_its_elements_is_not_walked() -> None:
    one = kellet.ones(1)
    found = values({"one": one, "w": one.expand(1 << 20)}, budget=1 << 30)
    assert found["w"].note == "repeats its elements"
