"""Every codec for pyarrow keeps the contract."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow")

import datetime
import decimal
from typing import Any

import pyarrow as pa

from packager._codecs import default_registry
from packager.testing import CodecContract
from tests.contracts.built_in import by_name


def used(made: Any) -> None:
    """Read all of an object, as its owner would."""
    if isinstance(made, (pa.Array, pa.ChunkedArray, pa.Table, pa.RecordBatch)):
        made.to_pylist(), made.validate(full=True), str(made), made.slice(1).nbytes
        if isinstance(made, (pa.Array, pa.ChunkedArray)):
            made.take(pa.array([0] if len(made) else [], pa.int64())), made.filter(made.is_valid())
            made.unique()
    str(made), made == made


def arrays() -> list[Any]:
    day = datetime.date(2024, 2, 29)
    moment = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.UTC)
    return [
        pa.array([1, None, 3], pa.int64()),
        pa.array([1, 2, 3], pa.uint8()).slice(1),
        pa.array([1.5, None], pa.float32()),
        pa.array([True, None, False] * 5).slice(3, 9),
        pa.array(["a", None, "", "naïve 日本"]),
        pa.array(["a", None, "naïve"], pa.large_string()).slice(1),
        pa.array([b"\xff\0", None], pa.binary()),
        pa.array([b"ab", b"cd"], pa.binary(2)),
        pa.nulls(3),
        pa.array([day, None]),
        pa.array([moment], pa.timestamp("us", "Europe/Berlin")),
        pa.array([moment.time()], pa.time64("ns")),
        pa.array([datetime.timedelta(1)], pa.duration("ms")),
        pa.array([decimal.Decimal("1.25"), None], pa.decimal128(10, 2)),
        pa.array([[1, 2], None, [], [3]]),
        pa.array([["a"], ["b", None]], pa.large_list(pa.string())).slice(1),
        pa.array([[1, 2], [3, 4]], pa.list_(pa.int16(), 2)).slice(1),
        pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]).slice(1),
        pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
        pa.array(["x", "y", None, "x"]).dictionary_encode(),
        pa.array([], pa.string()),
        pa.array([], pa.list_(pa.int8())),
    ]


class TestType(CodecContract):
    codec = by_name("pyarrow.type")

    def samples(self) -> list[Any]:
        return [array.type for array in arrays()]


class TestField(CodecContract):
    codec = by_name("pyarrow.field")

    def samples(self) -> list[Any]:
        return [pa.field("a", pa.int8(), nullable=False), pa.field("b", pa.string(), metadata={"k": "v"})]

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(sample.equals(loaded, check_metadata=True))


class TestSchema(CodecContract):
    codec = by_name("pyarrow.schema")

    def samples(self) -> list[Any]:
        return [pa.schema([("a", pa.int8()), ("a", pa.string())], metadata={"k": "v"}), pa.schema([])]

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(sample.equals(loaded, check_metadata=True))


class TestArray(CodecContract):
    codec = by_name("pyarrow.array")

    def samples(self) -> list[Any]:
        return arrays()

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(sample.equals(loaded)) and sample.type == loaded.type


class TestChunkedArray(CodecContract):
    codec = by_name("pyarrow.chunked_array")

    def samples(self) -> list[Any]:
        return [pa.chunked_array([[1, 2], [None]]), pa.chunked_array([], pa.string())]

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(sample.equals(loaded)) and sample.num_chunks == loaded.num_chunks


class TestTable(CodecContract):
    codec = by_name("pyarrow.table")

    def samples(self) -> list[Any]:
        table = pa.table({"a": [1, 2, None], "b": ["x", "y", "z"]})
        return [
            table,
            table.slice(1).to_batches()[0],
            table.replace_schema_metadata({"k": "v"}),
            pa.table({}),
        ]

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(sample.equals(loaded, check_metadata=True))


def test_every_codec_for_pyarrow_has_a_contract_test() -> None:
    contracts = [
        value for value in globals().values() if isinstance(value, type) and issubclass(value, CodecContract)
    ]
    tested = {contract.codec.name for contract in contracts if hasattr(contract, "codec")}
    assert tested == {codec.name for codec in default_registry() if codec.name.startswith("pyarrow.")}
