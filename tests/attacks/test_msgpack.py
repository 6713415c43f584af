"""Hostile msgpack where the archive reads msgpack, with every digest right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack
import pytest

from tests.tables import one_test

Accepts = Callable[..., bool]

HOSTILE = {
    "empty": b"",
    "reserved byte": b"\xc1",
    "ext": bytes(msgpack.packb(msgpack.ExtType(1, b"x"))),
    "timestamp": bytes(msgpack.packb(msgpack.Timestamp(5))),
    "float32": b"\xca\0\0\0\0",
    "list of 2**32-1": b"\xdd\xff\xff\xff\xff",
    "map of 2**32-1": b"\xdf\xff\xff\xff\xff",
    "string of 2**32-1": b"\xdb\xff\xff\xff\xff",
    "bytes of 2**32-1": b"\xc6\xff\xff\xff\xff",
    "ext of 2**32-1": b"\xc9\xff\xff\xff\xff\x01",
    "deep lists": b"\x91" * 3000 + b"\xc0",
    "deep maps": b"\x81\xa0" * 3000 + b"\xc0",
    "cut short": b"\x92\xc0",
    "two values": b"\xc0\xc0",
}


@one_test
@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("kind", ["object", "extras"])
def test_hostile_entries_are_refused(forger: Any, accepts: Accepts, kind: str, data: bytes) -> None:
    assert not accepts(forger(entries=[("net/x", kind, 1, data)]).build())


@one_test
@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_manifest_bytes_are_refused(forger: Any, accepts: Accepts, data: bytes) -> None:
    assert not accepts(forger(manifest=data).build())


@pytest.mark.parametrize(
    "data", [b"\x82\xa1a\x01\xa1a\x02", b"\x82\xa1b\x01\xa1a\x02", b"\x81\x01\x02", b"\xcc\x01", b"\xd9\x01a"]
)
def test_second_spellings_in_the_manifest_are_refused(forger: Any, accepts: Accepts, data: bytes) -> None:
    honest = forger().honest_manifest()
    facts = honest.index(b"\xa5facts")
    assert not accepts(
        forger(
            manifest=honest[:facts] + b"\xa5facts" + b"\xc4" + bytes([len(data)]) + data + b"\xa6format\x01"
        ).build()
    )
    assert not accepts(forger(manifest=data).build())
