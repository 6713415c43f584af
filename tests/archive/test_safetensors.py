"""Section 7.1: the safetensors header, read strictly and written in one way."""

from __future__ import annotations

import io
import json
import re
import sys
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from packager._archive import (
    ArchiveWriter,
    Manifest,
    TensorSpec,
    add_tensors,
    bounds,
    safetensors_header,
)
from packager._archive.safetensors import spell_header
from packager._archive.safetensors_header import HeaderTensor, parse_header
from packager._archive.tensor_index import tensor_bytes
from packager._tensors import DTYPE_BITS
from packager.errors import ArchiveError
from tests.tables import one_test

ENTRY = b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'


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


@one_test
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


@one_test
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
        (file_of(b'{"a":1,"a":2}'), "the key 'a' twice"),
        (
            file_of(b"{" + ENTRY + b"," + ENTRY + b"}"),
            "found invalid JSON (the key 'a' twice)",
        ),
        (
            file_of(b'{"__metadata__":{"b":"","b":""}}'),
            "found invalid JSON (the key 'b' twice",
        ),
        (file_of(b'{"__metadata__":{},"__metadata__":{}}'), "the key '__metadata__' twice"),
        (file_of(b'{"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}}', b"x"), "twice"),
        (file_of(b'{"a":' + b"[" * 100_000), "(values nested deeper than 64 levels)"),
        (file_of(b'{"a":' * 500_000), "(values nested deeper than 64 levels)"),
        (file_of(b'{"a"'), "byte 12: found invalid JSON (Expecting ':' delimiter)"),
        (file_of(b"{" + ENTRY + b",}"), ": found invalid JSON ("),
        (file_of(b"{" + ENTRY + b"} x"), "byte 62: found invalid JSON (Extra data)"),
        (file_of(b'{"a\tb":1}'), "byte 11: found invalid JSON (Invalid control character at)"),
        (file_of(b'{"\\x":1}'), "byte 10: found invalid JSON (Invalid "),
        (file_of(b'{"\\ud83d":1}'), "unpaired surrogate"),
        (file_of({"a": 1}), "other fields"),
        (file_of({"a": {"dtype": "U8", "shape": [2]}}), "other fields"),
        (file_of(one(more=1), b"xy"), "other fields"),
        (file_of(one("X8"), b"xy"), "the dtype 'X8'"),
        (file_of(one(None), b"xy"), "the dtype None"),
        (file_of(one(["U8"]), b"xy"), "the dtype"),
        (file_of(one("u8"), b"xy"), "the dtype 'u8'"),
        (file_of(one(shape=[3]), b"xy"), "2 bytes; expected 3 by dtype and shape"),
        (file_of(one(shape=[-2]), b"xy"), "as a size"),
        (file_of(one(shape=[2.0]), b"xy"), "as a size"),
        (file_of(one(shape=[True, 2]), b"xy"), "invalid shape"),
        (file_of(one(shape=["2"]), b"xy"), "invalid shape"),
        (file_of(one(shape=2), b"xy"), "invalid shape"),
        (file_of(one(shape=[1] * 256 + [2]), b"xy"), "invalid shape"),
        (file_of(one(offsets=[0, 2, 2]), b"xy"), "invalid shape"),
        (file_of(one(offsets=[2, 0]), b"xy"), "by dtype and shape"),
        (file_of(one(offsets=[1, 3]), b"xyz"), "its data at byte 1; expected byte 0"),
        (file_of(one(shape=[2**62, 4]), b"xy"), "by dtype and shape"),
        (file_of(one(shape=[10**30]), b"xy"), "as a size"),
        (file_of(one(shape=[float("nan")]), b"xy"), "as a size"),
        (file_of(one(shape=[float("inf")]), b"xy"), "as a size"),
        (file_of(one("F4", [3], [0, 2]), b"xy"), "whole bytes"),
        (file_of({**one(), "b": one()["a"]}, b"xy"), "expected byte 2"),
        (file_of({**one(), "b": {**one()["a"], "data_offsets": [1, 3]}}, b"xyz"), "expected byte 2"),
        (file_of({**one(), "b": {**one()["a"], "data_offsets": [3, 5]}}, b"vwxyz"), "expected byte 2"),
        (file_of(one(), b"x"), "1 bytes of data; expected the 2"),
        (file_of(one(), b"xyz"), "3 bytes of data; expected the 2"),
        (file_of({"__metadata__": {"a": 1}}), "strings"),
        (file_of({"__metadata__": []}), "strings"),
        (file_of({"__metadata__": None}), "strings"),
        (file_of(b'{"a":{"dtype":"\\ud800","shape":[],"data_offsets":[0,1]}}', b"x"), "unpaired surrogate"),
    ],
)
def test_other_headers_are_refused(file: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=re.escape(message)) as refused:
        parse_header(file, len(file), what="thing")
    assert str(refused.value).startswith("thing") or "dtype" in str(refused.value)


def test_header_of_nothing_but_lists_is_refused_before_it_is_built() -> None:
    file = file_of(b'{"a":[' + b"[]," * 800_000 + b"[]]}")
    tracemalloc.start()
    try:
        with pytest.raises(ArchiveError, match="x, header: found more than 786434 maps and lists; expected"):
            parse_header(file, len(file), what="x")
        assert tracemalloc.get_traced_memory()[1] < 4 * len(file)
    finally:
        tracemalloc.stop()


def test_values_are_not_nested_whatever_python_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "getrecursionlimit", lambda: 1_000_000)
    for text in (b'{"a":' + b"[" * 100_000, b'{"[[":' * 50_000):
        with pytest.raises(ArchiveError, match="values nested deeper than 64 levels"):
            parse_header(file_of(text), 8 + len(text), what="x")
    file = file_of(one(), b"xy")
    assert parse_header(file, len(file), what="x").tensors.keys() == {"a"}


@one_test
@pytest.mark.parametrize(
    "text",
    [
        b'{"shape":[2],"data_offsets":[0,2],"dtype":"U8"}',
        b'{"dtype":"\\u00558","shape":[2],"data_offsets":[0,2]}',
        b' { "dtype" : "U8" , "shape" : [ 2 ] , "data_offsets" : [ 0 , 2 ] } ',
        b'\n{"data_offsets":\t[0,\r2],"shape":[2],"dtype":"U8"}',
    ],
)
@pytest.mark.parametrize("key", [b'"a"', b'"\\u0061"'])
def test_other_spellings_of_a_tensor_are_read_the_same(key: bytes, text: bytes) -> None:
    file = file_of(b"{" + key + b":" + text + b', "__metadata__": {"b\\n": "\\ud83d\\ude00"} }', b"xy")
    header = parse_header(file, len(file), what="x")
    assert header.tensors == {"a": HeaderTensor("U8", (2,), 0, 2)}
    assert header.metadata == {"b\n": "\U0001f600"}


def test_what_python_reads_as_such_a_header_is_read_the_same() -> None:
    """Keys of every kind of character, against the reader of JSON."""
    keys = [
        "",
        "\x7f",
        "\u2028",
        "\\",
        '"',
        "a/b",
        "\b\f\n\r\t\0",
        "\U0001f600",
        "#storage",
        "größe",
        "x" * 1000,
    ]
    rows = {key: {"dtype": "U8", "shape": [n, 1], "data_offsets": [0, n]} for n, key in enumerate(keys)}
    stop = 0
    for row in rows.values():
        size = row["shape"][0]  # type: ignore[index] # the shape above
        row["data_offsets"], stop = [stop, stop + size], stop + size
    for ascii_only in (False, True):
        for indent in (None, 3):
            text = json.dumps(rows, ensure_ascii=ascii_only, indent=indent).encode()
            found = parse_header(file_of(text), 8 + len(text) + stop, what="x").tensors
            assert {
                key: (one.dtype, list(one.shape), [one.start, one.stop]) for key, one in found.items()
            } == {key: tuple(row.values()) for key, row in rows.items()}


def header_of(count: int, shape: str = "0") -> bytes:
    entries = (f'"{n}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[0,0]}}' for n in range(count))
    return file_of(f"{{{','.join(entries)}}}".encode())


@pytest.mark.parametrize(
    ("name", "value", "right", "wrong", "message"),
    [
        (
            "MAX_TENSORS",
            3,
            header_of(3),
            header_of(4),
            "x, header: found more than 11 maps and lists; expected at most 11",
        ),
        (
            "MAX_HEADER",
            53,
            header_of(1),
            file_of(b"{" + ENTRY + b"} "),
            "header length: found 54",
        ),
        (
            "MAX_METADATA",
            2,
            file_of(b'{"__metadata__":{"a":"","b":""}}'),
            file_of(b'{"__metadata__":{"a":"","b":"","c":""}}'),
            "x, __metadata__: found 3 texts; expected at most 2",
        ),
        ("MAX_RANK", 64, header_of(1, "0," * 63 + "0"), header_of(1, "0," * 64 + "0"), "at most 64 sizes"),
    ],
)
def test_what_goes_beyond_a_bound_is_refused(
    name: str, value: int, right: bytes, wrong: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert getattr(bounds, name) >= value
    monkeypatch.setattr(safetensors_header, name, value)
    parse_header(right, len(right), what="x")
    with pytest.raises(ArchiveError, match=message):
        parse_header(wrong, len(wrong), what="x")


def test_sizes_of_all_shapes_are_bounded_by_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    file = header_of(3, ",".join("0" * 16))
    length = len(file) - 8
    monkeypatch.setattr(bounds, "FREE_SIZES", 3 * 16 - length // 8)
    parse_header(file, len(file), what="x")
    monkeypatch.setattr(bounds, "FREE_SIZES", 3 * 16 - length // 8 - 1)
    found = f"x, tensor '2': found more than {3 * 16 - 1} sizes in the shapes so far; expected at most"
    with pytest.raises(ArchiveError, match=found):
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


def test_tensors_and_metadata_may_have_the_names_of_fields() -> None:
    rows: dict[str, Any] = {
        name: {"dtype": "U8", "shape": [1], "data_offsets": [at, at + 1]}
        for at, name in enumerate(("data_offsets", "dtype", "shape"))
    }
    file = file_of(rows, b"xyz")
    assert {key: one.start for key, one in parse_header(file, len(file), what="x").tensors.items()} == {
        "data_offsets": 0,
        "dtype": 1,
        "shape": 2,
    }
    told = {"dtype": "a", "shape": "b", "data_offsets": "c"}
    file = file_of({"__metadata__": told, **rows}, b"xyz")
    assert parse_header(file, len(file), what="x").metadata == told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{" + b",".join(b'"%d":0' % n for n in range(1_000_000)) + b',"7":0}', "more than 131075 texts"),
        (b'{"__metadata__":{' + b",".join(b'"%d":""' % n for n in range(9_000)) + b',"7":""}}', "key '7'"),
        (b'{"a":"' + b'\\"' * 2_000_000, "Unterminated string|more than"),
    ],
)
def test_what_is_refused_is_refused_in_a_time_that_grows_with_its_bytes(text: bytes, message: str) -> None:
    started = time.process_time()
    with pytest.raises(ArchiveError, match=message):
        parse_header(file_of(text), 8 + len(text), what="x")
    assert time.process_time() - started < 5


def test_spaces_behind_the_header_are_read() -> None:
    file = file_of(one(), b"xy", pad=13)
    assert parse_header(file, len(file), what="x").tensors == {"a": HeaderTensor("U8", (2,), 0, 2)}


@pytest.mark.parametrize("number", ["-1", "1.5", "1e3", "1" * 20, "12.0"])
def test_a_size_is_a_number_without_sign_point_and_exponent(number: str) -> None:
    for row in (
        f'{{"a":{{"dtype":"U8","shape":[{number}],"data_offsets":[0,0]}}}}',
        f'{{"a":{{"dtype":"U8","shape":[0],"data_offsets":[0,{number}]}}}}',
    ):
        file = file_of(row.encode())
        with pytest.raises(
            ArchiveError, match=rf"found {re.escape(number.replace('1e3', '1000.0'))} as a size"
        ):
            parse_header(file, len(file), what="x")


def test_as_many_tensors_are_written_as_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._archive.tensor_index.MAX_TENSORS", 2)
    specs = [TensorSpec(key, "U8", (1,), (1,), 0, number) for number, key in enumerate("abc")]
    with ArchiveWriter(io.BytesIO()) as writer:
        add_tensors(writer, "two", specs[:2], [b"1", b"2"])
        with pytest.raises(ArchiveError, match="3 tensors are more than the 2 of one member"):
            add_tensors(writer, "three", specs, [b"1", b"2", b"3"])
        writer.seal(Manifest())


@one_test
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            b'"dtype":"U8","shape":[]',
            "x, tensor 'a': found other fields; expected dtype, shape and data_offsets",
        ),
        (b'"shape":[],"dtype":"U8","data_offsets":[]', "found an invalid shape or data_offsets"),
        (b'"shape":[],"dtype":"U8","data_offsets":[0]', "found an invalid shape or data_offsets"),
        (b'"shape":[],"dtype":"U8","data_offsets":[0,1,1]', "found an invalid shape or data_offsets"),
        (b'"dtype":1234,"shape":[],"data_offsets":[]', "found the dtype 1234; expected one of BOOL"),
        (b'"dtype":null,"shape":[],"data_offsets":[]', "found the dtype None; expected one of BOOL"),
        (b'"shape":{},"dtype":"U8","data_offsets":[]', "found an invalid shape or data_offsets"),
        (b'"shape":[],"shape":[]', "found invalid JSON (the key 'shape' twice)"),
        (b'"shape":[1 2]', "found invalid JSON (Expecting ',' delimiter)"),
        (b'"shape" [1]', "found invalid JSON (Expecting ':' delimiter)"),
    ],
)
def test_fields_in_any_order_are_read_as_strictly(fields: bytes, message: str) -> None:
    file = file_of(b'{"a":{' + fields + b"}}", b"x")
    with pytest.raises(ArchiveError, match=re.escape(message)):
        parse_header(file, len(file), what="x")


@one_test
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 64, 65])
def test_shapes_in_any_order_have_as_many_sizes(rank: int) -> None:
    sizes = b",".join([b"1"] * rank)
    file = file_of(b'{"a":{"shape":[' + sizes + b'],"dtype":"U8","data_offsets":[0,1]}}', b"x")
    if rank == 65:
        with pytest.raises(ArchiveError, match="found an invalid shape or data_offsets"):
            parse_header(file, len(file), what="x")
    else:
        assert parse_header(file, len(file), what="x").tensors["a"].shape == (1,) * rank


@pytest.mark.parametrize("rows", [b'"a":{%s[0,1]},"b":{%s[1,2]}', b'"b":{%s[1,2]},"a":{%s[0,1]}'])
@pytest.mark.parametrize(
    "fields", [b'"dtype":"U8","shape":[1],"data_offsets":', b'"shape":[1],"dtype":"U8","data_offsets":']
)
def test_tensors_come_in_the_order_of_their_bytes(rows: bytes, fields: bytes) -> None:
    file = file_of(b"{" + rows % (fields, fields) + b"}", b"xy")
    assert [(key, one.start) for key, one in parse_header(file, len(file), what="x").tensors.items()] == [
        ("a", 0),
        ("b", 1),
    ]
