"""Hostile safetensors members and indexes, with every digest right."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from packager._archive import index_name, pack
from tests.tables import one_test

Accepts = Callable[..., bool]


def member(header: Any, data: bytes = b"12345678") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return len(text).to_bytes(8, "little") + text + data


def tensor(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def index(**columns: Any) -> list[Any]:
    honest = {
        "count": 1,
        "names": "w",
        "dtypes": bytes([17]),
        "ranks": b"\x01",
        "dims": (2).to_bytes(8, "little"),
        "storages": bytes(4),
        "ends": (8).to_bytes(8, "little"),
        "views": [],
        "metadata": {},
        "elsewhere": [],
    }
    return list({**honest, **columns}.values())


def archive(forger: Any, data: bytes, columns: Any) -> bytes:
    packed = columns if isinstance(columns, bytes) else pack(columns)
    entries = [("w", "tensors", 64, data), (index_name("w"), "index", 1, packed)]
    return bytes(forger(entries=entries).build())


def test_the_honest_pair_is_accepted(forger: Any, accepts: Accepts) -> None:
    assert accepts(archive(forger, member({"w": tensor()}), index()))


HEADERS = [
    b"",
    b"{}",
    b"[]",
    b"null",
    b"{" * 1000,
    b'{"w":' + b"[" * 5000,
    b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
    b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}x',
    b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}\0',
    b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8.0]}}',
    b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8e0]}}',
    b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[-0,8]}}',
    b'{"w":{"dtype":"F32","shape":[02],"data_offsets":[0,8]}}',
    b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8],}}',
    b'{"\\u0077":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
    b' {"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
    b'{"w": {"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
    b'{"w":{"shape":[2],"dtype":"F32","data_offsets":[0,8]}}',
    b'{"w":{"dtype":"F32","shape":[1' + b"0" * 5000 + b'],"data_offsets":[0,8]}}',
    {"v": tensor()},
    {"w": tensor("F16")},
    {"w": tensor("I32")},
    {"w": tensor("X")},
    {"w": tensor(shape=(1,))},
    {"w": tensor(shape=(1, 2))},
    {"w": tensor(shape=(2**63,))},
    {"w": tensor(shape=(2**32, 2**32))},
    {"w": tensor(offsets=(0, 4))},
    {"w": tensor(offsets=(4, 12))},
    {"w": tensor(offsets=(8, 16))},
    {"w": tensor(offsets=(-8, 0))},
    {"w": tensor(offsets=(0, 2**64))},
    {"w": tensor(), "x": tensor()},
    {"w": tensor(), "x": tensor(shape=(0,), offsets=(0, 0))},
    {"w": tensor(), "x": tensor(shape=(0,), offsets=(8, 8))},
    {"w": tensor(), "__metadata__": {"a": "b"}},
    {"w": tensor(), "__metadata__": {"a": 1}},
    {"__metadata__": {}, "w": tensor()},
]


@one_test
@pytest.mark.parametrize("header", HEADERS)
def test_hostile_headers_are_refused(forger: Any, accepts: Accepts, header: Any) -> None:
    assert not accepts(archive(forger, member(header), index()))


@one_test
@pytest.mark.parametrize("length", [0, 1, 55, 57, 120, 2**31, 2**63, 2**64 - 1])
def test_header_length_that_lies_is_refused(forger: Any, accepts: Accepts, length: int) -> None:
    data = length.to_bytes(8, "little") + member({"w": tensor()})[8:]
    assert not accepts(archive(forger, data, index()))


@pytest.mark.parametrize("data", [b"", b"1234567", b"123456789", bytes(1000)])
def test_data_of_another_size_is_refused(forger: Any, accepts: Accepts, data: bytes) -> None:
    assert not accepts(archive(forger, member({"w": tensor()}, data), index()))


@one_test
@pytest.mark.parametrize(
    "columns",
    [
        b"",
        b"\xc0",
        pack(index()) + b"\0",
        pack(index())[:-1],
        [],
        {},
        index(count=2),
        index(count=0),
        index(count=2**63),
        index(count=True),
        index(names=""),
        index(names="w\0w"),
        index(names="\0"),
        index(names="__metadata__"),
        index(dtypes=b"\x16"),
        index(dtypes=b"\xff"),
        index(dtypes=b"\x0d"),
        index(dtypes=b"\x10"),
        index(ranks=b"\x00", dims=b""),
        index(ranks=b"\xff", dims=(1).to_bytes(8, "little") * 255),
        index(ranks=b"\x02", dims=(2**63).to_bytes(8, "little") * 2),
        index(dims=(3).to_bytes(8, "little")),
        index(dims=(1).to_bytes(8, "little")),
        index(dims=(2**64 - 1).to_bytes(8, "little")),
        index(dims=bytes(8)),
        index(storages=(1).to_bytes(4, "little")),
        index(storages=b"\xff" * 4),
        index(elsewhere=None),
        index(elsewhere=[["w", (64).to_bytes(8, "little") + (72).to_bytes(8, "little")]]),
        index(elsewhere=[["x", bytes(16)]], storages=(1).to_bytes(4, "little")),
        index(elsewhere=[["w", bytes(8) + b"\xff" * 8]], storages=(1).to_bytes(4, "little")),
        index(ends=b""),
        index(ends=bytes(8)),
        index(ends=(7).to_bytes(8, "little")),
        index(ends=(16).to_bytes(8, "little")),
        index(ends=(2**64 - 1).to_bytes(8, "little")),
        index(ends=(8).to_bytes(8, "little") * 2),
        index(views=[[0, 0, None]]),
        index(views=[[0, 0, [1]]]),
        index(views=[[0, 1, None]]),
        index(views=[[0, 2**64 - 1, None]]),
        index(views=[[0, -1, None]]),
        index(views=[[0, 0, [2**63]]]),
        index(views=[[0, 0, [-(2**63)]]]),
        index(views=[[0, 0, []]]),
        index(views=[[0, 0, [1, 1]]]),
        index(views=[[1, 0, None]]),
        index(views=[[-1, 0, None]]),
        index(views=[[0, 0, [0]], [0, 0, [0]]]),
        index(views=[{}]),
        index(metadata={"a": "b"}),
        index(metadata={"a": None}),
    ],
)
def test_hostile_indexes_are_refused(forger: Any, accepts: Accepts, columns: Any) -> None:
    assert not accepts(archive(forger, member({"w": tensor()}), columns))


def test_unaligned_or_missing_partners_are_refused(forger: Any, accepts: Accepts) -> None:
    data, columns = member({"w": tensor()}), pack(index())
    assert not accepts(forger(entries=[("w", "tensors", 64, data)]).build())
    assert not accepts(forger(entries=[(index_name("w"), "index", 1, columns)]).build())
    assert not accepts(
        forger(entries=[(index_name("w"), "index", 1, columns), ("w", "tensors", 1, data)]).build()
    )
    assert not accepts(
        forger(entries=[(index_name("w"), "extras", 1, columns), ("w", "tensors", 64, data)]).build()
    )
