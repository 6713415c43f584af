"""Codecs for the library `tokenizers`: whole tokenizers, their parts, and tokens that are added to them.

A tokenizer is the JSON text that the library itself writes of it, as bytes; what it says is checked by
tokenizer_json.py before the library reads it. A part that stands alone is read as a part of a whole one.
"""

from __future__ import annotations

import json
from typing import Any, Final

from packager.codecs import (
    CannotStore,
    Library,
    Literal,
    Node,
    Parts,
    StoredTensor,
    kinds,
    panics_as_errors,
    parsed_json,
    payload,
    text_of,
    words,
)

from .tokenizer_json import PARTS, check_part, check_tokenizer

_MODULES: Final = {
    "model": "models",
    "normalizer": "normalizers",
    "pre_tokenizer": "pre_tokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}
_FAMILIES: Final = {f"tokenizers.{module}": family for family, module in _MODULES.items()}
_FLAGS: Final = ("single_word", "lstrip", "rstrip", "normalized", "special")
_OWN_PARTS: Final = (
    "keep parts of your own in Python beside the tokenizer, and put them in where it is used",
)


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
    if value["type"] == "Unigram":
        return _with_exact_scores(value)
    whole = {**_WHOLE, family: None}
    parts = [f"{json.dumps(name)}:{json.dumps(value)}" for name, value in whole.items() if name != family]
    made = _read("{" + ",".join([*parts, f"{json.dumps(family)}:{text}"]) + "}")
    return getattr(made, family)


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
        raise CannotStore(f"the library tokenizers cannot write it: {error}", *_OWN_PARTS) from error


def _require_readable(text: str, check: Any) -> None:
    """Raise CannotStore for a text that would be refused when it is read."""
    try:
        check(parsed_json(text))
    except ValueError as error:
        raise CannotStore(f"its text would not be read again: {error}") from error


def _with_exact_scores(model: Any) -> Any:
    """Return a Unigram model whose scores are as they were written: the library's JSON reader rounds them."""
    from tokenizers import models

    scores = [(piece, float(score)) for piece, score in model["vocab"]]
    with panics_as_errors():
        return models.Unigram(scores, model["unk_id"], bool(model["byte_fallback"]))


def _read(text: str) -> Any:
    from tokenizers import Tokenizer

    with panics_as_errors():
        return Tokenizer.from_str(text)


CODECS: Final = (
    # Whether special tokens in a text are encoded as any other text, and the JSON text.
    Parts("tokenizers.tokenizer", ("tokenizers:Tokenizer",), "payload", "a flag and a text",
          _text_of, _tokenizer, lambda flag: type(flag) is bool, is_data="library"),
    # Models, normalizers, pre-tokenizers, post-processors and decoders: which, and the JSON text.
    Parts("tokenizers.part",
          tuple(f"tokenizers.{_MODULES[family]}:{kind}" for family, kinds in PARTS.items() for kind in kinds),
          "payload", "a part of a tokenizer, and a text", _text_of_part, _part, words(_MODULES),
          is_data="library"),
    Literal("tokenizers.added_token", ("tokenizers:AddedToken",), kinds(str, *[bool] * len(_FLAGS)),
            "a text and five flags",
            lambda obj: [obj.content, *(bool(getattr(obj, flag)) for flag in _FLAGS)], _added_token,
          is_data="library"),
)  # fmt: skip

LIBRARY: Final = Library("tokenizers", "tokenizers", codecs=CODECS)
