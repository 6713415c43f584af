"""Section 7.1: the safetensors header, read strictly and written in one way."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from packager.archive.safetensors import HeaderTensor, parse_header, spell_header
from packager.archive.stored_tensors import tensor_bytes
from packager.errors import ArchiveError
from packager.tensors import DTYPE_BITS


def file_of(header: Any, data: bytes = b"", pad: int = 0) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) + pad).to_bytes(8, "little") + text + b" " * pad + data


def one(dtype: Any = "U8", shape: Any = (2,), offsets: Any = (0, 2), **more: Any) -> dict[str, Any]:
    return {"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}}


def test_what_the_library_writes_is_read() -> None:
    arrays = {
        "f": np.arange(6, dtype="f4").reshape(2, 3),
        "none": np.zeros((0, 4)),
        "scalar": np.array(1, dtype="i8"),
        "größe": np.array([True]),
    }
    file = safetensors.numpy.save(arrays, metadata={"format": "pt"})
    header = parse_header(file, len(file), what="x")
    assert header.metadata == {"format": "pt"}
    for key, array in arrays.items():
        found = header.tensors[key]
        assert found.shape == array.shape
        assert file[header.data_start + found.start : header.data_start + found.stop] == array.tobytes()


def test_what_we_write_the_library_reads() -> None:
    rows = [('é\n"q"', "F32", (2, 1), 8), ("b", "BOOL", (), 1), ("c", "F8_E5M2", (3,), 3)]
    file = spell_header(rows, {"z": "1", "a": "2"}) + bytes(range(12))
    assert len(file) - 12 == 8 + int.from_bytes(file[:8], "little")
    assert (len(file) - 12) % 64 == 0
    found = safetensors.deserialize(file)
    assert {(key, value["dtype"], tuple(value["shape"])) for key, value in found} == {row[:3] for row in rows}
    assert bytes(dict(found)["b"]["data"]) == b"\x08"
    header = parse_header(file, len(file), what="x")
    assert list(header.tensors) == [row[0] for row in rows]
    assert header.metadata == {"a": "2", "z": "1"}


@pytest.mark.parametrize("dtype", DTYPE_BITS)
def test_every_dtype_is_one_of_the_library(dtype: str) -> None:
    bits = DTYPE_BITS[dtype]
    file = spell_header([("a", dtype, (8,), bits)], {}) + bytes(range(bits))
    (key, found), *rest = safetensors.deserialize(file)
    assert (key, found["dtype"], list(found["shape"]), bytes(found["data"])) == (
        "a",
        dtype,
        [8],
        bytes(range(bits)),
    )
    assert rest == []


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (b"", "header length"),
        (b"\0" * 7, "header length"),
        (file_of({})[:9], "header length"),
        ((2**63).to_bytes(8, "little") + b"{}", "header length"),
        ((3).to_bytes(8, "little") + b"{}", "header length"),
        (file_of(b"[]"), "'{' as its first byte"),
        (file_of(b""), "'{' as its first byte"),
        (file_of(b" {}"), "'{' as its first byte"),
        (file_of(b"\xef\xbb\xbf{}"), "first byte"),
        (file_of(b'{"\xff": 1}'), "JSON"),
        (file_of(b"{} {}"), "JSON"),
        (file_of(b"{}", b"x"), "1 bytes of data"),
        (file_of(b'{"a":1,"a":2}'), "the key 'a' stands in it twice"),
        (file_of(b'{"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}}', b"x"), "twice"),
        (file_of(b'{"a":' + b"[" * 100_000), "JSON"),
        (file_of(b'{"a":' * 50_000), "JSON"),
        (file_of({"a": 1}), "other fields"),
        (file_of({"a": {"dtype": "U8", "shape": [2]}}), "other fields"),
        (file_of(one(more=1), b"xy"), "other fields"),
        (file_of(one("X8"), b"xy"), "the dtype 'X8'"),
        (file_of(one(None), b"xy"), "the dtype None"),
        (file_of(one(["U8"]), b"xy"), "the dtype"),
        (file_of(one("u8"), b"xy"), "the dtype 'u8'"),
        (file_of(one(shape=[3]), b"xy"), "2 bytes; expected 3 by dtype and shape"),
        (file_of(one(shape=[-2]), b"xy"), "no size"),
        (file_of(one(shape=[2.0]), b"xy"), "no size"),
        (file_of(one(shape=[True, 2]), b"xy"), "another form"),
        (file_of(one(shape=["2"]), b"xy"), "another form"),
        (file_of(one(shape=2), b"xy"), "another form"),
        (file_of(one(shape=[1] * 256 + [2]), b"xy"), "another form"),
        (file_of(one(offsets=[0, 2, 2]), b"xy"), "another form"),
        (file_of(one(offsets=[2, 0]), b"xy"), "by dtype and shape"),
        (file_of(one(offsets=[1, 3]), b"xyz"), "its data at byte 1; expected it at byte 0"),
        (file_of(one(shape=[2**62, 4]), b"xy"), "by dtype and shape"),
        (file_of(one(shape=[10**30]), b"xy"), "no size"),
        (file_of(one(shape=[float("nan")]), b"xy"), "no size"),
        (file_of(one(shape=[float("inf")]), b"xy"), "no size"),
        (file_of(one("F4", [3], [0, 2]), b"xy"), "whole bytes"),
        (file_of({**one(), "b": one()["a"]}, b"xy"), "expected it at byte 2"),
        (file_of({**one(), "b": {**one()["a"], "data_offsets": [1, 3]}}, b"xyz"), "expected it at byte 2"),
        (file_of({**one(), "b": {**one()["a"], "data_offsets": [3, 5]}}, b"vwxyz"), "expected it at byte 2"),
        (file_of(one(), b"x"), "1 bytes of data; expected the 2"),
        (file_of(one(), b"xyz"), "3 bytes of data; expected the 2"),
        (file_of({"__metadata__": {"a": 1}}), "strings"),
        (file_of({"__metadata__": []}), "strings"),
        (file_of({"__metadata__": None}), "strings"),
        (file_of(b'{"a":{"dtype":"\\ud800","shape":[],"data_offsets":[0,1]}}', b"x"), "the dtype"),
    ],
)
def test_other_headers_are_refused(file: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=re.escape(message)) as refused:
        parse_header(file, len(file), what="thing")
    assert str(refused.value).startswith("thing") or "dtype" in str(refused.value)


def test_header_of_nothing_but_lists_is_refused_before_it_is_built() -> None:
    file = file_of(b'{"a":[' + b"[]," * 700_000 + b"[]]}")
    with pytest.raises(ArchiveError, match="lists and maps in"):
        parse_header(file, len(file), what="x")


def test_keys_full_of_brackets_are_no_lists() -> None:
    header = {f"{'[' * 300}{i}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(4000)}
    file = file_of(header)
    assert len(parse_header(file, len(file), what="x").tensors) == 4000


def test_sizes_of_packed_dtypes_are_whole_bytes() -> None:
    assert [tensor_bytes(dtype, (8,)) for dtype in ("F4", "F6_E2M3", "U8", "C64")] == [4, 6, 8, 64]
    with pytest.raises(ArchiveError, match="takes 12 bits; expected whole bytes"):
        tensor_bytes("F4", (3,))
    with pytest.raises(ArchiveError, match="dtype 'F5' is unknown"):
        tensor_bytes("F5", (8,))


def test_spaces_behind_the_header_are_read() -> None:
    file = file_of(one(), b"xy", pad=13)
    assert parse_header(file, len(file), what="x").tensors == {"a": HeaderTensor("U8", (2,), 0, 2)}
