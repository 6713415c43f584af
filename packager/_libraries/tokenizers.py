"""Codecs for the library `tokenizers`: whole tokenizers, their parts, and tokens that are added to them.

A tokenizer is the JSON text that the library itself writes of it, as bytes. The library is written in Rust,
and says what it does not take. A piece of a million characters, though, ends the process; so would a pattern
that is repeated a thousand times a thousand times, and a table of ids may ask for any amount of memory. So
every text, number and list is bounded here before the library reads it, and what it would give up on later is
refused. A part that stands alone is read as a part of a whole one.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any, Final

from packager._codecs import (
    CannotStore,
    Library,
    LiteralCodec,
    Node,
    PartsCodec,
    StoredTensor,
    expect,
    kinds,
    panics_as_errors,
    parsed_json,
    payload,
    text_of,
    words,
)

from .sentencepiece import check_charsmap

_MODULES: Final = {
    "model": "models",
    "normalizer": "normalizers",
    "pre_tokenizer": "pre_tokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}
_FAMILIES: Final = {f"tokenizers.{module}": family for family, module in _MODULES.items()}
PARTS: Final = {
    "model": "BPE WordPiece WordLevel Unigram".split(),
    "normalizer": """
        BertNormalizer Strip StripAccents NFC NFD NFKC NFKD Lowercase Nmt ByteLevel Precompiled Replace
        Prepend Sequence
    """.split(),
    "pre_tokenizer": """
        BertPreTokenizer Whitespace WhitespaceSplit UnicodeScripts ByteLevel CharDelimiterSplit Metaspace
        Split Punctuation Digits FixedLength Sequence
    """.split(),
    "post_processor": "BertProcessing RobertaProcessing ByteLevel TemplateProcessing Sequence".split(),
    "decoder": """
        ByteFallback Fuse BPEDecoder ByteLevel WordPiece Metaspace CTC Replace Strip Sequence
    """.split(),
}
"""The parts that a tokenizer can have, by their families."""

MOST_IDS: Final = 1 << 24
"""Of ids and of lengths to fill to, and of tokens of a vocabulary: the largest have 260,000."""

_PIECE: Final = 10_000  # characters: a trie is freed by a function that calls itself for each byte
_PATTERN: Final = 20_000
_CHARSMAP: Final = 1 << 24
_REPEATS: Final = 1 << 12
_LARGEST: Final = 1e30  # of a score
_FEW: Final = 1_000
_MANY: Final = frozenset({"vocab", "merges", "added_tokens"})
_UNBOUNDED: Final = frozenset({"max_length", "stride"})  # what is cut off is there
# Where more is cut off behind a token than it has, the library counts below zero, and gives up.
_RANGES: Final = {"length": (1, MOST_IDS - 1), "stop": (0, 0)}
_FLAGS: Final = ("single_word", "lstrip", "rstrip", "normalized", "special")
_OWN_PARTS: Final = ("set your own parts again after loading, such as tokenizer.pre_tokenizer = ...",)


def check_tokenizer(value: Any) -> None:
    """Raise ValueError unless a parsed JSON text is a tokenizer within bounds, of parts that are known."""
    expect(type(value) is dict, "an object as tokenizer")
    for family in _MODULES:
        if value.get(family) is not None or family == "model":
            _check_kind(family, value.get(family))
    _check_values(value)


def check_part(family: str, value: object) -> None:
    """Raise ValueError unless a parsed JSON text is a known part of a family in `PARTS`, within bounds."""
    _check_kind(family, value)
    _check_values(value)


def _check_kind(family: str, value: Any) -> None:
    kind = value.get("type") if type(value) is dict else None
    expect(type(kind) is str and kind in PARTS[family], f"a type of {family}", repr(kind)[:40])
    if kind == "Sequence":
        name = {"pre_tokenizer": "pretokenizers", "post_processor": "processors"}.get(family, f"{family}s")
        for part in _list(value, name):
            _check_kind(family, part)
    if kind == "TemplateProcessing":
        _check_template(value)
    if kind == "BPE" and type(value.get("vocab")) is dict:  # written anew, a merge is found by its id
        ids = [one for one in value["vocab"].values() if type(one) is int]
        expect(len({*ids}) == len(ids), "ids that are there once")


def _list(value: Any, name: str) -> list[Any]:
    found = value.get(name) if type(value) is dict else None
    expect(type(found) is list, f"a list as {name}", type(found).__name__)
    return list(found or ())


def _check_values(value: Any) -> None:
    """Raise ValueError unless every value of a part is within the bound that its name has."""
    waiting = [("", value)]
    while waiting:
        name, one = waiting.pop()
        kind = type(one)
        if kind is str:
            _check_text(name, one)
        elif kind is list or kind is dict:
            most = MOST_IDS if name in _MANY else _FEW
            expect(len(one) <= most, f"at most {most} values as {name}", len(one))
            longest = max(map(len, one), default=0) if kind is dict else 0
            expect(longest <= _PIECE, f"tokens of at most {_PIECE} characters as {name}", longest)
            waiting += one.items() if kind is dict else [(name, part) for part in one]
        elif kind is int and name not in _UNBOUNDED:
            low, most = _RANGES.get(name, (0, MOST_IDS - 1))
            expect(low <= one <= most, f"an int from {low} to {most} as {name[:40]}", str(one)[:40])
        elif kind is float:
            expect(abs(one) < _LARGEST, f"a number as {name}", one)


def _check_text(name: str, text: str) -> None:
    if name == "precompiled_charsmap":
        _check_charsmap(text)
        return
    most = _PATTERN if name == "Regex" else _PIECE
    expect(len(text) <= most, f"at most {most} characters as {name[:40]}", len(text))
    if name == "Regex":
        check_pattern(text)


def check_pattern(pattern: str) -> None:
    """Refuse counted repetitions that would be written out: their product, as if each lay in the others."""
    product = 1
    for counts in re.findall(r"\{(\d*,?\d*)\}", pattern):
        product *= max([1, *(int(digits[:9]) for digits in re.findall(r"\d+", counts))])
        expect(product <= _REPEATS, f"repetitions in a pattern that multiply to at most {_REPEATS}")


def _check_charsmap(text: str) -> None:
    expect(len(text) <= _CHARSMAP, f"at most {_CHARSMAP} characters as precompiled_charsmap")
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"precompiled_charsmap is no base64: {error}") from None
    check_charsmap(memoryview(data))


def _check_template(value: dict[str, Any]) -> None:
    """Raise ValueError where a template puts in what it does not have: the library gives up on it in use."""
    tokens = value.get("special_tokens")
    expect(type(tokens) is dict, "special tokens by name")
    for token in (tokens or {}).values():
        expect(len(_list(token, "ids")) == len(_list(token, "tokens")), "as many ids as tokens")
    single = _list(value, "single")
    pieces = [*single, *_list(value, "pair")]
    named = [piece.get("SpecialToken") for piece in pieces if type(piece) is dict]
    missing = [one for one in named if type(one) is dict and one.get("id") not in [*(tokens or ())]]
    expect(not missing, "the special tokens that a template puts in", f"no {str(missing)[:80]}")
    texts = [piece.get("Sequence") for piece in single if type(piece) is dict]
    second = any(type(one) is dict and one.get("id") != "A" for one in texts)
    expect(not second, "the text A in a template of a single text", "another one")


def _text_of(obj: Any) -> Node:
    """Return the text of a tokenizer. Raises CannotStore for one with parts written in Python."""
    text = _written(obj.to_str)
    _require_readable(text, check_tokenizer)
    return Node(bool(obj.encode_special_tokens), (payload(text.encode()),))


def _tokenizer(encodes_special: bool, stored: StoredTensor) -> Any:
    text = text_of(stored)
    value = parsed_json(text)
    check_tokenizer(value)
    made = _read(text)
    if value["model"]["type"] == "Unigram":
        made.model = _with_exact_scores(value["model"])
    made.encode_special_tokens = encodes_special
    return made


def _text_of_part(obj: Any) -> Node:
    """Return the text of a part. Raises CannotStore for one that holds something written in Python."""
    family = _FAMILIES[type(obj).__module__]
    text = _written(obj.__getstate__)
    text = text.decode() if isinstance(text, bytes) else text
    _require_readable(text, lambda value: check_part(family, value))
    return Node(family, (payload(text.encode()),))


def _part(family: str, stored: StoredTensor) -> Any:
    text = text_of(stored)
    value = parsed_json(text)
    check_part(family, value)
    made = _read(json.dumps({**_WHOLE, family: value}))
    return _with_exact_scores(value) if value["type"] == "Unigram" else getattr(made, family)


def _added_token(literal: Any) -> Any:
    from tokenizers import AddedToken

    content, *flags = literal
    return AddedToken(content, **dict(zip(_FLAGS, flags, strict=True)))


_WHOLE: Final[dict[str, Any]] = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    **dict.fromkeys(_MODULES),
    "model": {"type": "BPE", "vocab": {}, "merges": []},
}
"""A tokenizer around a part that stands alone."""


def _written(write: Any) -> Any:
    try:
        with panics_as_errors():
            return write()
    except Exception as error:
        raise CannotStore(f"tokenizers cannot save it: {error}", *_OWN_PARTS) from error


def _require_readable(text: str, check: Any) -> None:
    """Raise CannotStore for a text that would be refused when it is read."""
    try:
        check(parsed_json(text))
    except ValueError as error:
        raise CannotStore(f"its text could not be loaded again: {error}") from error


def _with_exact_scores(model: Any) -> Any:
    """Return a Unigram model whose scores are as they were written: the library's JSON reader rounds them."""
    from tokenizers import models

    scores = [(piece, float(score)) for piece, score in model["vocab"]]
    with panics_as_errors():
        return models.Unigram(scores, model["unk_id"], bool(model.get("byte_fallback")))


def _read(text: str) -> Any:
    from tokenizers import Tokenizer

    with panics_as_errors():
        return Tokenizer.from_str(text)


CODECS: Final = (
    # Whether special tokens in a text are encoded as any other text, and the JSON text.
    PartsCodec("tokenizers.tokenizer", ("tokenizers:Tokenizer",), "payload", "a flag and a text",
          _text_of, _tokenizer, lambda flag: type(flag) is bool, is_data="library"),
    # Models, normalizers, pre-tokenizers, post-processors and decoders: which, and the JSON text.
    PartsCodec("tokenizers.part",
          tuple(f"tokenizers.{_MODULES[family]}:{kind}" for family, kinds in PARTS.items() for kind in kinds),
          "payload", "a part of a tokenizer, and a text", _text_of_part, _part, words(_MODULES),
          is_data="library"),
    LiteralCodec("tokenizers.added_token", ("tokenizers:AddedToken",), kinds(str, *[bool] * len(_FLAGS)),
            "a text and five flags",
            lambda obj: [obj.content, *(bool(getattr(obj, flag)) for flag in _FLAGS)], _added_token,
          is_data="library"),
)  # fmt: skip

LIBRARY: Final = Library("tokenizers", "tokenizers", codecs=CODECS)
