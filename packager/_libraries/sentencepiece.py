"""A codec for processors of sentencepiece: the model as the library itself writes it, and the options.

The library is written in C++ and follows a trie of characters without looking where it leads, so each step of
it is looked at here; so are the pieces, of which the library makes another trie.
"""

from __future__ import annotations

from typing import Any, Final

from packager._archive import MAX_STORED_THREADS
from packager._codecs import (
    CannotStore,
    Library,
    Node,
    PartsCodec,
    StoredTensor,
    expect,
    kinds,
    payload,
    view_of,
)

from .wire_format import Message, walk

_PIECES, _TRAINER, _NORMALIZER, _DENORMALIZER = 1, 2, 3, 5
_MODEL: Final = Message(
    inside={
        _PIECES: Message(named={1: "piece", 2: "score", 3: "type"}),
        _TRAINER: Message(),
        _NORMALIZER: Message(named={2: "charsmap"}),
        4: Message(inside={1: Message()}),
        _DENORMALIZER: Message(named={2: "charsmap"}),
    }
)
_LONGEST: Final = 10_000
_TYPES: Final = range(1, 7)
_OPTIONS: Final = (
    "add_bos add_eos reverse emit_unk_piece enable_sampling nbest_size alpha num_threads".split()
)
_KINDS: Final = (str, bool, bool, bool, bool, bool, int, float, int)
_RETURNS: Final[dict[str, Any]] = {"int": int, "str": str}


def _model_of(obj: Any) -> Node:
    """Return the model of a processor. Raises CannotStore for one that has none, or returns else."""
    data = obj.serialized_model_proto()
    if not data:
        raise CannotStore("a processor of sentencepiece without a model", "load one: processor.load(path)")
    own = vars(obj)
    returned = own.get("_return_type", own.get("_out_type"))
    word = next((word for word, kind in _RETURNS.items() if returned in (kind, word)), None)
    if word is None:
        raise CannotStore(
            f"a processor of sentencepiece that returns {returned!r}", "use out_type=int or out_type=str"
        )
    try:
        check_model(memoryview(data))
    except ValueError as error:
        raise CannotStore(f"its model could not be loaded again: {error}") from error
    options = [kind(own[f"_{name}"]) for name, kind in zip(_OPTIONS, _KINDS[1:], strict=True)]
    return Node([word, *options], (payload(data),))


def _are_options(literal: Any) -> bool:
    """Check the word for what is returned, and the options, of which the last is a number of threads."""
    known = kinds(*_KINDS)(literal) and literal[0] in _RETURNS
    return known and -1 <= literal[-1] <= MAX_STORED_THREADS


def _processor(literal: Any, stored: StoredTensor) -> Any:
    from sentencepiece import SentencePieceProcessor

    data = view_of(stored)
    check_model(data)
    word, *options = literal
    named = dict(zip(_OPTIONS, options, strict=True))
    try:
        return SentencePieceProcessor(model_proto=bytes(data), out_type=_RETURNS[word], **named)
    except RuntimeError as error:
        raise ValueError(f"sentencepiece cannot read the model: {error}") from error


def check_model(data: memoryview) -> None:
    """Raise ValueError unless bytes are a model whose pieces and tries lead nowhere else."""
    seen: set[bytes] = set()
    for found in walk(data, _MODEL):
        if found.name == "piece":
            _check_piece(found.value, seen)
        elif found.name == "type":
            expect(type(found.value) is int and found.value in _TYPES, "a type of piece", found.value)
        elif found.name == "charsmap":
            expect(type(found.value) is memoryview, "bytes as a map of characters")
            check_charsmap(found.value)
    expect(bool(seen), "pieces")


def _check_piece(value: Any, seen: set[bytes]) -> None:
    expect(type(value) is memoryview and 0 < len(value) <= _LONGEST, f"a piece of 1 to {_LONGEST} bytes")
    piece = bytes(value)
    expect(b"\0" not in piece and piece not in seen, "pieces that differ, without NUL", repr(piece)[:40])
    seen.add(piece)
    try:
        piece.decode()
    except UnicodeDecodeError:
        raise ValueError(f"expected pieces in UTF-8, found {piece!r:.40}") from None


def check_charsmap(data: memoryview) -> None:
    """Raise ValueError unless a map of characters is a trie inside itself, with texts that end, or is empty.

    The trie is a double array (Darts): from unit `i` a byte leads to `i ^ offset ^ byte`, so that all 256
    units around must be there. A leaf says where in the texts its text begins, and so does whatever a unit
    that "has a leaf" leads to. A text in UTF-8 begins with no byte of those that follow others.
    """
    import numpy

    if not len(data):
        return
    size = int.from_bytes(data[:4], "little")
    expect(4 <= size <= len(data) - 4 and size % 4 == 0, "a trie inside its map of characters", size)
    units = numpy.frombuffer(data[4 : 4 + size], "<u4")
    texts = bytes(data[4 + size :])
    expect(texts[-1:] == b"\0", "texts that end with NUL")
    leaf = (units >> 31) == 1
    reached = (units >> 10).astype("u8") << ((units & (1 << 9)) >> 6).astype("u8")
    reached ^= numpy.arange(len(units), dtype="u8")
    led = reached[~leaf & (units >> 8 & 1 == 1)]
    reached |= 0xFF
    inner = reached[~leaf]
    expect(not len(inner) or int(inner.max()) < len(units), f"steps inside {len(units)} units of a trie")
    starts = numpy.concatenate([units[leaf], units[led]]) & 0x7FFFFFFF
    expect(not len(starts) or int(starts.max()) < len(texts), f"texts that begin below {len(texts)}")
    first = numpy.frombuffer(texts, "u1")[starts]
    expect(_is_utf8(texts) and not (first & 0xC0 == 0x80).any(), "texts in UTF-8")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


CODECS: Final = (
    PartsCodec("sentencepiece.processor", ("sentencepiece:SentencePieceProcessor",), "payload",
          "what is returned, the options and a model", _model_of, _processor, _are_options,
          is_data="library"),
)  # fmt: skip

LIBRARY: Final = Library("sentencepiece", "sentencepiece", codecs=CODECS)
