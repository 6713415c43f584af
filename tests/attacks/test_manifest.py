"""Hostile manifests with right digests, and hostile digests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._archive import pack, unpack
from tests.tables import one_test

Accepts = Callable[..., bool]
DIGEST = ".data/manifest.sha256"


def changed(forger: Any, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> bytes:
    top = unpack(forger().honest_manifest(), what="x")
    facts = unpack(top["facts"], what="x")
    honest = dict(top)
    change(top, facts)
    if top.get("facts") == honest["facts"]:
        top["facts"] = pack(facts)
    return bytes(forger(manifest=pack(top)).build())


def column(place: int, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    return lambda top, facts: top["entries"].__setitem__(place, value)


def test_the_honest_manifest_is_accepted(forger: Any, accepts: Accepts) -> None:
    assert accepts(changed(forger, lambda top, facts: None))


@one_test
@pytest.mark.parametrize(
    "change",
    [
        lambda top, facts: top.update(format=2),
        lambda top, facts: top.update(format=-1),
        lambda top, facts: top.update(format="1"),
        lambda top, facts: top.update(format=True),
        lambda top, facts: top.pop("format"),
        lambda top, facts: top.update(new=1),
        lambda top, facts: top.update(facts=b""),
        lambda top, facts: top.update(facts=b"\xc1"),
        lambda top, facts: top.update(facts=pack(facts) + b"\0"),
        lambda top, facts: top.update(facts=facts),
        lambda top, facts: top.update(entries={}),
        lambda top, facts: top.update(digests=["sha256"]),
        column(0, "net/y.py"),
        column(0, "net/x.py\n"),
        column(0, ""),
        column(0, b"net/x.py"),
        column(1, b""),
        column(1, b"\xff"),
        column(2, (7).to_bytes(8, "little")),
        column(2, (2**64 - 1).to_bytes(8, "little")),
        column(2, b"\x06"),
        column(3, b"\x40"),
        column(3, b"\x00"),
        column(4, bytes(4)),
        column(4, b""),
        column(5, bytes(32)),
        column(5, b""),
        column(5, bytes(64)),
        lambda top, facts: facts.pop("modules"),
        lambda top, facts: facts.update(modules=None),
        lambda top, facts: facts.update(modules=[[]] * 6),
        lambda top, facts: facts.update(modules=[["a"], ["intern"], [""], [""], [None], [0], [[]]]),
        lambda top, facts: facts.update(
            modules=[["b", "a"], ["deny"] * 2, [""] * 2, [""] * 2, [None] * 2, [False] * 2, [[]] * 2]
        ),
        lambda top, facts: facts.update(modules=[["a"], ["intern"], [""], [""], ["../evil"], [False], [[]]]),
        lambda top, facts: facts.update(environment=1),
        lambda top, facts: facts.update(entry_points=[["m"], ["p"], ["r"], [{"a": 1}]]),
    ],
)
def test_hostile_manifests_are_refused(forger: Any, accepts: Accepts, change: Any) -> None:
    assert not accepts(changed(forger, change))


def test_digest_entry_has_one_spelling(forger: Any, accepts: Accepts) -> None:
    manifest = forger().honest_manifest()
    right = hashlib.sha256(manifest).hexdigest()
    assert accepts(forger(digest=f"{right}  manifest.msgpack\n".encode()).build())
    for line in (
        "",
        right,
        f"{right}  manifest.msgpack",
        f"{right} *manifest.msgpack\n",
        f"{right.upper()}  manifest.msgpack\n",
        f"{right}  manifest.msgpack\r\n",
        f"{right}  other\n",
        f"{right}  manifest.msgpack\n\n",
        f"{'0' * 64}  manifest.msgpack\n",
        f"{hashlib.sha256(b'').hexdigest()}  manifest.msgpack\n",
    ):
        assert not accepts(forger(digest=line.encode()).build())


@given(place=st.integers(0, 2000), byte=st.integers(0, 255))
def test_any_byte_of_a_resealed_manifest_may_change_without_a_stray_error(
    forger: Any, accepts: Accepts, place: int, byte: int
) -> None:
    """Such an archive may be sound (another version of a distribution, say); it never breaks the reader."""
    manifest = bytearray(forger().honest_manifest())
    manifest[place % len(manifest)] = byte
    accepts(forger(manifest=bytes(manifest)).build())
