"""What a model of sentencepiece must not say: its code in C++ would follow it out of its memory."""

from __future__ import annotations

import pytest

pytest.importorskip("sentencepiece")

import struct

from sentencepiece import SentencePieceProcessor

from packager._audit import TrustContext
from packager._libraries.sentencepiece import check_charsmap, check_model
from packager._libraries.wire_format import Message, walk
from packager._objects import ObjectBuildError, encode
from packager.testing.round_trips import load
from tests.contracts.test_sentencepiece_codecs import model


def trie(*units: int, texts: bytes = b"a\0") -> memoryview:
    """A map of characters of so many units, the others empty, and its texts."""
    whole = [*units, *[0] * (256 - len(units))]
    return memoryview(struct.pack("<I256I", 1024, *whole) + texts)


def test_an_honest_map_is_not_refused() -> None:
    check_charsmap(trie())
    check_charsmap(trie(1 << 31 | 1))
    check_charsmap(trie(1 << 8 | 1 << 10, 1))
    check_model(memoryview(model()))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (trie(1 << 10 << 9), "steps inside 256 units of a trie"),
        (trie((1 << 9) | (1 << 10)), "steps inside 256 units of a trie"),
        (trie(1 << 31 | 2), "texts that begin below 2"),
        (trie(1 << 8 | 1 << 10, 97), "texts that begin below 2"),  # a leaf that is not marked as one
        (trie(texts=b"a"), "texts that end with NUL"),
        (trie(1 << 31 | 1, texts="\u00e9\0".encode()), "texts in UTF-8"),
        (trie(texts=b"\xff\0"), "texts in UTF-8"),
        (memoryview(b"\xff\xff\xff\x7f" + b"\0" * 16), "a trie inside its map of characters"),
        (memoryview(b"\0"), "a trie inside its map of characters"),
    ],
    ids=["far", "shifted", "text", "unmarked", "open", "middle", "bytes", "size", "short"],
)
def test_a_map_that_leads_out_of_its_memory_is_refused(data: memoryview, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_charsmap(data)


def piece(text: bytes, kind: int = 1) -> bytes:
    inner = b"\x0a" + bytes([len(text)]) + text + b"\x18" + bytes([kind])
    return b"\x0a" + bytes([len(inner)]) + inner


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected pieces"),
        (piece(b"a") * 2, "pieces that differ"),
        (piece(b"a\0"), "pieces that differ, without NUL"),
        (piece(b""), "a piece of 1 to 10000 bytes"),
        (piece(b"\xff"), "pieces in UTF-8"),
        (piece(b"a", 9), "a type of piece, found 9"),
        (b"\x0a\x7f", "a field of at most 0 bytes, found 127"),
        (b"\x0b", "wire type 3"),
        (b"\xff" * 11, "a number of at most 10 bytes"),
        (b"\x80", "expected a whole number"),
    ],
)
def test_a_model_that_is_none_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_model(memoryview(data))


def test_messages_nest_as_deep_as_they_may_and_no_deeper() -> None:
    endless = Message()
    object.__setattr__(endless, "inside", {1: endless})  # a message that may hold itself
    data = b""
    for depth in range(66):
        if depth <= 64:
            assert len(list(walk(memoryview(data), endless))) == depth + 1
        size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
        data = b"\x0a" + size + data
    with pytest.raises(ValueError, match="messages nested at most 64 deep"):
        list(walk(memoryview(data), endless))


def test_a_changed_trie_in_an_archive_is_an_error_with_its_path() -> None:
    encoded = encode([SentencePieceProcessor(model_proto=model())])
    data = bytearray(encoded.storages[0].buffer)
    at = data.index(b"nmt_nfkc") + len("nmt_nfkc") + 8
    data[at + 64 : at + 64 + 1024] = b"\xff\xff\xff\x7f" * 256
    with pytest.raises(ObjectBuildError, match=r"obj\[0\] cannot be built .* of a trie|texts that begin"):
        load(encoded.with_buffers([memoryview(bytes(data))]), TrustContext.data_only())
