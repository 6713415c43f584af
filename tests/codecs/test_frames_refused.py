"""What buffers of pyarrow and columns of polars must not say: each is refused before the library reads it."""

from __future__ import annotations

import pytest

pytest.importorskip("polars")
pytest.importorskip("pyarrow")

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from packager._codecs import default_registry
from packager._codecs.base import Decoding, StoredTensor

REGISTRY = default_registry()
CONTEXT: Decoding = None  # type: ignore[assignment]  # these codecs ask for nothing


def decoded(codec: str, literal: Any, *children: Any) -> Any:
    found = REGISTRY.find(codec)
    assert found is not None
    return found.decode(literal, children, 1, CONTEXT)


def buffer(*values: int, dtype: str = "u1") -> StoredTensor:
    data = memoryview(np.array(values, dtype).tobytes())
    return StoredTensor("U8", (len(data),), (1,), 0, data)


def array(literal: list[int], *children: Any) -> Any:
    return decoded("pyarrow.array", literal, *children)


def series(length: int, dtype: Any, *values: Any, there: Any = None) -> Any:
    return decoded("polars.series", ["a", length], dtype, there, *values)


TWO = pa.array([1, 2], pa.int8())
MAP = pa.map_(pa.string(), pa.int8())
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "too few bytes": (
        lambda: array([2, 0, 2], pa.int32(), None, buffer(1, 2, 3, 4)),
        "Buffer #1 too small",
    ),
    "a wrong count of nulls": (
        lambda: array([2, 0, 2], pa.int8(), buffer(1), buffer(1, 2)),
        "expected 1 nulls in 2 elements of int8",
    ),
    "offsets beyond the text": (
        lambda: array([1, 0, 3], pa.string(), None, buffer(0, 9, dtype="i4"), buffer(97)),
        "offsets that grow from 0 to 1",
    ),
    "offsets that fall": (
        lambda: array([2, 0, 3], pa.string(), None, buffer(0, 2, 1, dtype="i4"), buffer(97)),
        "offsets that grow from 0 to 1",
    ),
    "offsets from elsewhere": (
        lambda: array([1, 0, 3], pa.string(), None, buffer(-1, 1, dtype="i4"), buffer(97)),
        "offsets that grow from 0 to 1",
    ),
    "no UTF-8": (
        lambda: array([1, 0, 3], pa.string(), None, buffer(0, 1, dtype="i4"), buffer(255)),
        "Invalid UTF8 sequence",
    ),
    "half a character": (
        lambda: array([2, 0, 3], pa.string(), None, buffer(0, 1, 2, dtype="i4"), buffer(0xC3, 0xA9)),
        "Invalid UTF8 sequence",
    ),
    "an index of no word": (
        lambda: array([2, 0, 0], pa.dictionary(pa.int8(), pa.string()), TWO, pa.array(["x", "y"])),
        "out of bounds",
    ),
    "lists beyond their values": (
        lambda: array([1, 0, 2], pa.list_(pa.int8()), None, buffer(0, 3, dtype="i4"), TWO),
        "offsets that grow from 0 to 2",
    ),
    "values of another type": (
        lambda: array([1, 0, 2], pa.list_(pa.int16()), None, buffer(0, 2, dtype="i4"), TWO),
        "arrays inside of the types inside",
    ),
    "fields of other lengths": (
        lambda: array([3, 0, 1], pa.struct([("a", pa.int8())]), None, TWO),
        "Struct child array #0 has length smaller than expected",
    ),
    "offsets of nothing": (
        lambda: array([0, 0, 2], pa.list_(pa.int8()), None, buffer(127, dtype="i4"), TWO),
        "offsets that grow from 0 to 2",
    ),
    "a map without a key": (
        lambda: array(
            [1, 0, 2],
            MAP,
            None,
            buffer(0, 2, dtype="i4"),
            pa.StructArray.from_arrays([pa.array(["a", None]), TWO], fields=[MAP.key_field, MAP.item_field]),
        ),
        "a key for each entry of a map, found 1 without",
    ),
    "elements without a byte": (
        lambda: array([1 << 40, 1 << 40, 1], pa.null(), None),
        "at most 67108864 elements, found",
    ),
    "chunks of another type": (
        lambda: decoded("pyarrow.chunked_array", None, pa.int16(), TWO),
        "chunks of int16",
    ),
    "columns of other lengths": (
        lambda: decoded("pyarrow.table", ["RecordBatch", 3], pa.schema([("a", pa.int8())]), TWO),
        "expected 3 of int8",
    ),
    "a column of another length": (
        lambda: series(3, pl.Int8(), np.zeros(2, "i1")),
        "expected 3 values, found 2",
    ),
    "a column of another dtype": (
        lambda: series(2, pl.Int8(), np.zeros(2, "i2")),
        "an array of int8",
    ),
    "a mask of another length": (
        lambda: series(2, pl.Int8(), np.zeros(2, "i1"), there=np.zeros(3, bool)),
        "expected 2 values, found 3",
    ),
    "a code of no category": (
        lambda: series(1, pl.Categorical(), np.array([1], "u4"), ["x"]),
        "codes below 1",
    ),
    "texts that are none": (lambda: series(1, pl.String(), [b"x"]), "str or None"),
    "lists that are longer": (
        lambda: series(2, pl.List(pl.Int8()), np.array([1, 2]), pl.Series([1, 2], dtype=pl.Int8)),
        "2 elements in all lists, found 3",
    ),
    "a length below 0": (
        lambda: series(2, pl.List(pl.Int8()), np.array([3, -1]), pl.Series([1, 2], dtype=pl.Int8)),
        "lengths of 0 or more",
    ),
    "arrays of another size": (
        lambda: series(1, pl.Array(pl.Int8(), 3), np.array([2]), pl.Series([1, 2], dtype=pl.Int8)),
        "arrays of 3",
    ),
    "other fields": (
        lambda: series(1, pl.Struct({"a": pl.Int8()}), pl.Series("b", [1], dtype=pl.Int8)),
        "the fields of the struct",
    ),
    "nulls without a byte": (lambda: series(1 << 40, pl.Null(), np.zeros(1, bool)), "found 1"),
    "a day that has no name": (
        lambda: series(2, pl.Date(), np.array([0, 73_000_001], "int32")),
        "a Date from -73000000 to 73000000",
    ),
    "a moment that has no name": (
        lambda: series(1, pl.Datetime("ms"), np.array([-(1 << 62)])),
        "a Datetime from -6307200000000000 to 6307200000000000",
    ),
    "a time of the next day": (
        lambda: series(1, pl.Time(), np.array([86_400 * 10**9])),
        "a Time from 0 to 86399999999999",
    ),
    "rows of other columns": (
        lambda: decoded("polars.frame", 3, pl.Series("a", [1])),
        "columns of 3 rows",
    ),
    "a column twice": (
        lambda: decoded("polars.frame", 1, pl.Series("a", [1]), pl.Series("a", [1])),
        "names of columns that differ",
    ),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_parts_that_do_not_fit_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, IndexError), match=message):
        make()


def test_a_panic_of_a_library_in_rust_is_an_error() -> None:
    from packager._codecs.payloads import panics_as_errors

    class PanicException(BaseException):
        """What pyo3 raises, which is no Exception."""

    with pytest.raises(ValueError, match="the library gave up: index"), panics_as_errors():
        raise PanicException("index")
    with pytest.raises(KeyboardInterrupt), panics_as_errors():
        raise KeyboardInterrupt
