"""Tensors of a table lie inside their storages, and every storage has one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from packager._archive import MAX_EXTENT, largest_view
from packager._objects import RecordError
from packager._objects.records import Kind as K
from tests.objects.test_checked_tables import checked
from tests.objects.test_checking import audited
from tests.tables import one_test

VIEW = largest_view(12) // 4
OUTSIDE = "a tensor outside its storage of 12 bytes"
SIZES = f"a shape is a list of sizes from 0 to {MAX_EXTENT - 1}"
TENSORS: dict[str, tuple[list[Any], str]] = {
    "outside": (["w", "F32", [3], None, 4], OUTSIDE),
    "a byte outside": (["w", "F32", [3], None, 1], OUTSIDE),
    "negative offset": (["w", "F32", [1], None, -4], OUTSIDE),
    "negative offset of nothing": (["w", "F32", [0], None, -1], OUTSIDE),
    "steps outside": (["w", "F32", [2], [4], 0], OUTSIDE),
    "steps before": (["w", "F32", [2], [-1], 0], OUTSIDE),
    "steps a byte before": (["w", "F32", [2], [-1], 3], OUTSIDE),
    "offset that is no int": (["w", "F32", [1], None, None], OUTSIDE),
    "offset that is a bool": (["w", "F32", [1], None, False], OUTSIDE),
    "unknown storage": (["v", "F32", [1], None, 0], "there is no storage 'v'"),
    "storage that is no name": ([1, "F32", [1], None, 0], "there is no storage 1"),
    "unknown dtype": (["w", "F128", [1], None, 0], "there is no dtype 'F128'"),
    "dtype that is no name": (["w", 1, [1], None, 0], "there is no dtype 1"),
    "negative size": (["w", "F32", [-1], None, 0], f"{SIZES}, found -1"),
    "size that is no int": (["w", "F32", [1.0], None, 0], f"{SIZES}, found 1.0"),
    "size that is a bool": (["w", "F32", [True], None, 0], f"{SIZES}, found True"),
    "size without end": (["w", "F32", [0, MAX_EXTENT], None, 0], f"{SIZES}, found {MAX_EXTENT}"),
    "shape that is none": (["w", "F32", 3, None, 0], "a shape is a list of sizes, found int"),
    "rank without end": (["w", "F32", [1] * 65, None, 0], "a shape is a list of sizes, at most 64, found 65"),
    "strides of another rank": (["w", "F32", [1], [1, 1], 0], "strides that do not fit the shape"),
    "stride that no library holds": (["w", "F32", [1], [1 << 60], 0], "strides that do not fit the shape"),
    "strides that are none": (["w", "F32", [1], 1, 0], "strides that do not fit the shape"),
    "strides that are bools": (["w", "F32", [2], [True], 0], "strides that do not fit the shape"),
    "huge by repetition": (
        ["w", "F32", [VIEW + 1], [0], 0],
        f"a view of {VIEW + 1} elements over 12 bytes",
    ),
    "too many operands": (
        ["w", "F32", [1], None, 0, 0],
        "6 operands, expected storage dtype sizes strides offset",
    ),
}


@one_test
@pytest.mark.parametrize(("tensor", "message"), TENSORS.values(), ids=TENSORS.keys())
def test_tensor_is_refused(tensor: list[Any], message: str) -> None:
    with pytest.raises(
        RecordError, match=rf"^object: record 0 \(TENSOR\): {re.escape(message)}; the archive"
    ):
        audited([[K.TENSOR, *tensor]], root=None, w=("F32", 12))


@one_test
@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ([3], None, 0),
        ([3], [1], 0),
        ([1], None, 8),
        ([2], [-1], 4),
        ([2], [2], 0),
        ([0, MAX_EXTENT - 1], None, 12),
        ([1] * 64, None, 0),
        ([VIEW], [0], 8),
    ],
)
def test_tensor_inside_its_storage_passes(shape: list[int], strides: Any, offset: int) -> None:
    table = checked([[K.TENSOR, "w", "F32", shape, strides, offset]], w=("F32", 12))
    assert table.classes == ["tensor"]


def test_storages_that_no_tensor_lies_in() -> None:
    with pytest.raises(RecordError, match="no tensor uses the storages a, b, c, d, e and 2 more;"):
        audited([[K.LIST]], **dict.fromkeys("gfedcba", ("F32", 12)))


def test_storage_that_no_tensor_lies_in() -> None:
    with pytest.raises(RecordError, match="no tensor uses the storages w"):
        audited([[K.LIST]], w=("F32", 12))
