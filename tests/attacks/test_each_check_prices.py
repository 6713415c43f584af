"""What pickles of data may spend: the price of each opcode and of each look at keys, on both sides."""

from __future__ import annotations

import io
import struct
import sys
from collections.abc import Callable
from typing import Any

import pytest

from packager._weights import CheckpointPickleError, pickle_machine, pickle_opcodes
from packager._weights.pickle_opcodes import _OPERATIONS, read_pickle
from packager._weights.torch_names import torch_names

NAMES = torch_names()


def read(data: bytes, opaque: bool = False, **options: Any) -> Any:
    return read_pickle(io.BytesIO(b"\x80\x02" + data), NAMES, opaque=opaque, **options)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def spent(pickled: bytes) -> int:
    """What a pickle takes of its budget; it asks for no storage."""
    data, plenty = b"\x80\x02" + pickled, 1 << 40
    machine = pickle_machine.Machine(io.BytesIO(data), NAMES, str, "pickle", len(data), plenty)
    pickle_opcodes._run(machine)
    return plenty - machine.budget


TWO = text("a") + text("b")  # which costs 2 * 69

SPENT = [
    (b"N", 8),
    (b"\x88", 8),
    (b"\x89", 8),
    (b"\x95" + bytes(8) + b"N", 8 + 8),
    (b"K\1", 8 + 1),
    (b"J\1\1\1\1", 40 + 4),
    (b"M\1\1", 40 + 2),
    (b"G" + bytes(8), 40 + 8),
    (b"\x8a\1\1", 48 + 1 + 1),
    (b"\x8b\1\0\0\0\1", 48 + 4 + 1),
    (b"C\2ab", 48 + 1 + 2),
    (b"B\2\0\0\0ab", 48 + 4 + 2),
    (b"\x8e\2" + bytes(7) + b"ab", 48 + 8 + 2),
    (b"\x96\2" + bytes(7) + b"ab", 48 + 8 + 2),
    (b"X\2\0\0\0ab", 64 + 4 + 2),
    (b"\x8c\2ab", 64 + 1 + 2),
    (b"\x8d\2" + bytes(7) + b"ab", 64 + 8 + 2),
    (b"T\2\0\0\0ab", 64 + 4 + 2),
    (b"U\2ab", 64 + 1 + 2),
    (b"NN0", 8 + 8 + 0),
    (b")", 8),
    (b"N\x85", 8 + 64),
    (b"NN\x86", 16 + 72),
    (b"NNN\x87", 24 + 80),
    (b"(t", 80 + 80),
    (b"(K\1K\2t", 80 + 80 + 2 * 9),
    (b"(l", 80 + 72),
    (b"]K\1a", 72 + 9 + 90),
    (b"](K\1K\2e", 72 + 80 + 18 + 8),
    (b"}K\1K\2s", 72 + 18 + 250 + 112),
    (b"}(K\1K\2K\2K\2u", 72 + 80 + 36 + 250 + 2 * 112),
    (b"(K\1K\2d", 80 + 18 + 250 + 112),
    (b"\x8f(K\0K\1\x90", 232 + 80 + 18 + 232 + 2 * 112),
    (b"(K\0K\1\x91", 80 + 18 + 232 + 2 * 112),
    (b"}K\x09Ns", 72 + 9 + 8 + 250 + 112 + 112),  # a key that might collide
    (b"Nq\1" + b"0h\1", 8 + 101 + 0 + 9),
    (b"Nr\1\0\0\0" + b"0j\1\0\0\0", 8 + 104 + 0 + 12),
    (b"N\x94", 8 + 140),
    (b"NQ", 8 + 500),
    (b"ctorch\nSize\n", 250),
    (text("torch") + text("Size") + b"\x93", 73 + 72 + 250),
    (b"ctorch\nSize\n)R", 250 + 8 + 800),
    (b"ca\nb\n)R}b", 250 + 8 + 800 + 72 + 250),
    (b"ca\nb\n)\x81", 250 + 8 + 250),
    (b"ca\nb\n)}\x92", 250 + 8 + 72 + 250),
    (b"ctorch\nSize\n(K\1K\2t\x85R", 250 + 80 + 18 + 80 + 64 + 800 + 16 + 2 * 16),
    (b"ccollections\nOrderedDict\n](" + TWO + b"\x86e\x85R", 250 + 72 + 80 + 138 + 72 + 8 + 64 + 816 + 112),
    (b"ccollections\nCounter\n}" + TWO + b"s\x85R", 250 + 72 + 138 + 250 + 112 + 64 + 800 + 16 + 112),
    (b"c_codecs\nencode\n" + text("abc") + b"\x85R", 250 + 71 + 64 + 800 + 16 + 3 * 4),
]


@pytest.mark.parametrize(("pickled", "price"), SPENT)
def test_each_operation_has_its_price(monkeypatch: pytest.MonkeyPatch, pickled: bytes, price: int) -> None:
    """Besides it, a byte costs one: here that of the protocol."""
    assert spent(pickled + b".") == price + 1
    monkeypatch.setattr(pickle_opcodes, "MEMORY_PER_BYTE", 0)
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", price + 1)
    read_pickle(io.BytesIO(b"\x80\x02" + pickled + b"."), NAMES, str, opaque=True)
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", price)
    with pytest.raises(
        CheckpointPickleError, match=r"objects than a checkpoint|larger than that of a checkpoint"
    ):
        read_pickle(io.BytesIO(b"\x80\x02" + pickled + b"."), NAMES, str, opaque=True)


def test_every_operation_is_among_those_whose_price_is_asked() -> None:
    asked = b"".join(pickled for pickled, _ in SPENT)
    assert [code for code in _OPERATIONS if code not in asked + b"\x80"] == []


def test_an_operation_pays_for_what_it_makes() -> None:
    """The price is no less than the memory, but for the place on the stack."""
    made: list[tuple[bytes, Any]] = [
        (b"J", 1 << 30),
        (b"M", 1 << 15),
        (b"G", 2.5),
        (b"\x8a", 1 << 20),
        (b"]", []),
        (b"}", {}),
        (b"\x8f", set()),
        (b"\x85", (1,)),
        (b"\x86", (1, 2)),
        (b"\x87", (1, 2, 3)),
    ]
    for code, value in made:
        assert _OPERATIONS[code][1] + 8 >= sys.getsizeof(value), code


def test_what_is_free_is_shared_by_the_files_of_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = b"](" + b"]" * 10 + b"e."
    need = spent(pickled)
    monkeypatch.setattr(pickle_opcodes, "MEMORY_PER_BYTE", 0)
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", 3 * need)
    assert len(read(pickled, one_of=3)) == 10
    with pytest.raises(CheckpointPickleError, match="the pickle makes far more objects than a checkpoint"):
        read(pickled, one_of=4)
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", 0)
    size = len(pickled) + 2
    monkeypatch.setattr(pickle_opcodes, "MEMORY_PER_BYTE", -(-need // size))
    assert len(read(pickled)) == 10
    monkeypatch.setattr(pickle_opcodes, "MEMORY_PER_BYTE", need // size - 1)
    with pytest.raises(CheckpointPickleError, match="the pickle makes far more objects than a checkpoint"):
        read(pickled)
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", need + 1)
    monkeypatch.setattr(pickle_opcodes, "MAX_MEMORY", need)
    assert len(read(pickled)) == 10
    monkeypatch.setattr(pickle_opcodes, "MAX_MEMORY", need - 1)
    with pytest.raises(CheckpointPickleError, match="the pickle makes far more objects than a checkpoint"):
        read(pickled)


def test_a_pickle_is_read_from_where_the_stream_stands() -> None:
    stream = io.BytesIO(b"before\x80\x02N.\x80\x02K\7.behind")
    stream.seek(6)
    assert read_pickle(stream, {}) is None
    assert (stream.tell(), read_pickle(stream, {}), stream.tell()) == (10, 7, 15)
    stream.seek(6)
    with pytest.raises(
        CheckpointPickleError, match="offset 2: expected 5 bytes, there are 4; it is cut short"
    ):
        read_pickle(io.BytesIO(b"\x80\x02C\5abcdefghij"), {}, size=8)


KEYS: dict[str, Callable[[int], bytes]] = {
    "numbers": lambda n: b"J" + struct.pack("<i", 1_000_000 + 7 * n),
    "tuples": lambda n: b"J" + struct.pack("<i", n) + b"\x85",
}


@pytest.mark.parametrize("kind", KEYS)
def test_dicts_are_looked_through_where_keys_may_collide(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Once for so many keys, and by the sixteenth of what is there: each look is paid for."""
    looked: list[int] = []
    require = pickle_machine.require_spread
    monkeypatch.setattr(
        pickle_machine,
        "require_spread",
        lambda keys, **options: looked.append(len(keys)) or require(keys, **options),
    )
    monkeypatch.setattr(pickle_machine, "FREE_KEYS", 4)
    keys = [KEYS[kind](n) for n in range(200)]
    one_by_one = b"}" + b"".join(key + b"Ns" for key in keys) + b"."
    assert len(read(one_by_one)) == 200
    assert looked[:4] == [5, 10, 15, 20]
    assert looked[-3:] == [171, 183, 196]
    looked.clear()
    assert len(read(b"}(" + b"".join(key + b"N" for key in keys) + b"u.")) == 200
    assert looked == [200]
    looked.clear()
    monkeypatch.setattr(pickle_machine, "MAX_UNSEEN_KEYS", 4)
    assert len(read(one_by_one)) == 200
    assert looked == list(range(5, 201, 5))


def test_texts_and_numbers_that_count_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickle_machine, "FREE_KEYS", 0)

    def refuse(keys: Any, **options: Any) -> None:
        raise ValueError("looked at")

    monkeypatch.setattr(pickle_machine, "require_spread", refuse)
    for first in (0, 1):
        counted = b"".join(b"K" + bytes([n]) + b"N" for n in range(first, 20))
        assert len(read(b"}(" + counted + b"u.")) == 20 - first
        assert (
            len(read(b"}" + b"".join(b"K" + bytes([n]) + b"Ns" for n in range(first, 20)) + b"."))
            == 20 - first
        )
    assert len(read(b"}(" + b"".join(text(f"k{n}") + b"N" for n in range(20)) + b"u.")) == 20
    assert len(read(b"}(" + b"".join(b"C\1" + bytes([n]) + b"N" for n in range(20)) + b"u.")) == 20
    for start in (2, 255):
        with pytest.raises(CheckpointPickleError, match="looked at"):
            read(b"}K" + bytes([start]) + b"Ns.")
    with pytest.raises(CheckpointPickleError, match="looked at"):
        read(b"}J\xff\xff\xff\xffNs.")
    with pytest.raises(CheckpointPickleError, match="looked at"):
        read(b"(K\5\x91.")


def test_a_look_through_keys_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickle_machine, "FREE_KEYS", 1)
    two = b"}(K\x07NK\x09Nu."  # neither counts from 0 or 1
    price = 72 + 80 + 18 + 16 + 250 + 2 * 112 + 2 * 112 + 2 * 16 + 1
    assert spent(two) == price
    assert spent(two[:-1] + b"(K\x0bNK\x0dNu.") == price + 80 + 18 + 16 + 250 + 4 * 112 + 4 * 16
    monkeypatch.setattr(pickle_opcodes, "MEMORY_PER_BYTE", 0)
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", price)
    assert len(read(two)) == 2
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", price - 2)
    with pytest.raises(
        CheckpointPickleError, match="a dict or set with far more numbers or tuples as keys than a"
    ):
        read(two)


@pytest.mark.parametrize(
    ("opened", "closed", "in_set"),
    [(b"}(", b"u", False), (b"(", b"d", False), (b"\x8f(", b"\x90", True), (b"(", b"\x91", True)],
)
def test_keys_are_looked_through_as_the_table_that_they_go_into(
    monkeypatch: pytest.MonkeyPatch, opened: bytes, closed: bytes, in_set: bool
) -> None:
    looked: list[tuple[list[int], bool]] = []
    monkeypatch.setattr(pickle_machine, "FREE_KEYS", 0)
    monkeypatch.setattr(
        pickle_machine, "require_spread", lambda keys, *, in_set: looked.append((list(keys), in_set))
    )
    value = b"" if in_set else b"N"
    assert len(read(opened + b"K\x07" + value + b"K\x09" + value + closed + b".")) == 2
    assert looked == [([7, 9], in_set)]


def test_the_members_of_a_set_do_not_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    prime = (1 << 61) - 1
    clash = [prime * n for n in range(1, 602)]
    make = NAMES["builtins set"]
    assert make is not None
    assert len(make(clash[:500])) == 500
    assert len(make([prime] * 600)) == 1  # one thing, however often it is passed
    with pytest.raises(ValueError, match="601 keys whose hashes collide"):
        make(clash)
    asked: list[bool] = []
    monkeypatch.setattr(
        "packager._weights.torch_names.require_spread", lambda keys, in_set: asked.append(in_set)
    )
    make([1])
    assert asked == [True]
