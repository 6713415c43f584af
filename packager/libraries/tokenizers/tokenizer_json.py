"""The text of a tokenizer, checked field by field before the library `tokenizers` reads it.

The library is written in Rust, and mostly says what it does not take. A piece of a million characters,
though, ends the process; so would a pattern that is repeated a thousand times a thousand times, and a table
of ids may ask for any amount of memory. Every field of every part is known here, and one that is not is
refused.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from packager.codecs import Fields, expect

MOST_IDS: Final = 1 << 24
"""Tokens of a vocabulary: the largest have 260,000."""

_PIECE: Final = 10_000  # characters: a trie is freed by a function that calls itself for each byte
_PATTERN: Final = 20_000
_REPEATS: Final = 1 << 12
_PARTS: Final = 1_000
_SIZE: Final = 1 << 24  # of what one text is cut or filled to
_WORD: Final = 1 << 32
_SIDES: Final = ("Left", "Right")

_Check = Callable[[Fields], None]


def check_tokenizer(value: Any) -> None:
    """Raise ValueError unless a parsed JSON text is a whole tokenizer, of parts that are known."""
    fields = Fields(value, "tokenizer")
    fields.word("version", ("1.0",))
    _check_truncation(fields.take("truncation"))
    _check_padding(fields.take("padding"))
    fields.each("added_tokens", _check_added, MOST_IDS)
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        part = fields.take(name)
        if part is not None:
            check_part(name, part)
    check_part("model", fields.take("model"))
    fields.done()


def check_part(family: str, value: Any, what: str = "") -> None:
    """Raise ValueError unless a parsed JSON text is a part of a tokenizer, of a family in `PARTS`."""
    fields = Fields(value, what or family)
    kind = fields.take("type")
    known = PARTS[family]
    expect(type(kind) is str and kind in known, f"a type of {family} as {fields.what}.type", repr(kind)[:40])
    known[kind](fields)
    fields.done()


# --- around the parts ---


def _check_truncation(value: Any) -> None:
    if value is None:
        return
    fields = Fields(value, "truncation")
    fields.word("direction", _SIDES)
    fields.number("max_length", 0, 1 << 63)
    fields.word("strategy", ("LongestFirst", "OnlyFirst", "OnlySecond"))
    fields.number("stride", 0, 1 << 63)
    fields.done()


def _check_padding(value: Any) -> None:
    if value is None:
        return
    fields = Fields(value, "padding")
    strategy = fields.take("strategy")
    if strategy != "BatchLongest":
        fixed = Fields(strategy, "padding.strategy")
        fixed.number("Fixed", 0, _SIZE)
        fixed.done()
    fields.word("direction", _SIDES)
    fields.number("pad_to_multiple_of", 0, _SIZE)
    fields.number("pad_id", 0, _WORD)
    fields.number("pad_type_id", 0, _WORD)
    fields.text("pad_token", most=_PIECE)
    fields.done()


def _check_added(value: Any, what: str) -> None:
    fields = Fields(value, what)
    fields.number("id", 0, MOST_IDS)
    fields.text("content", most=_PIECE)
    for name in ("single_word", "lstrip", "rstrip", "normalized", "special"):
        fields.flag(name)
    fields.done()


# --- normalizers, pre-tokenizers, decoders ---


def _nothing(fields: Fields) -> None:
    """A part that has no fields."""


def _flags(*names: str) -> _Check:
    def check(fields: Fields) -> None:
        for name in names:
            fields.flag(name)

    return check


def _texts(*names: str, flags: str = "") -> _Check:
    def check(fields: Fields) -> None:
        for name in names:
            fields.text(name, most=_PIECE)
        _flags(*flags.split())(fields)

    return check


def _several(family: str, name: str) -> _Check:
    def check(fields: Fields) -> None:
        fields.each(name, lambda value, what: check_part(family, value, what), _PARTS)

    return check


def _character(fields: Fields, name: str) -> None:
    found = fields.text(name)
    expect(found is None or len(found) == 1, f"one character as {fields.what}.{name}")


def _delimiter(fields: Fields) -> None:
    _character(fields, "delimiter")


def _metaspace(fields: Fields) -> None:
    _character(fields, "replacement")
    _character(fields, "str_rep")
    fields.word("prepend_scheme", ("always", "first", "never"))
    fields.flag("split")
    fields.flag("add_prefix_space")


_BEHAVIOURS: Final = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")


def _split(fields: Fields) -> None:
    _pattern(fields)
    fields.word("behavior", _BEHAVIOURS)
    fields.flag("invert")


def _punctuation(fields: Fields) -> None:
    fields.word("behavior", _BEHAVIOURS)


def _replace(fields: Fields) -> None:
    _pattern(fields)
    fields.text("content", most=_PIECE)


def _pattern(fields: Fields) -> None:
    pattern = Fields(fields.take("pattern"), f"{fields.what}.pattern")
    pattern.text("String", most=_PIECE)
    check_pattern(pattern.text("Regex", most=_PATTERN) or "")
    pattern.done()


def check_pattern(pattern: str) -> None:
    """Refuse counted repetitions that would be written out: their product, as if each lay in the others."""
    product = 1
    for counts in re.findall(r"\{(\d*,?\d*)\}", pattern):
        product *= max([1, *(int(digits[:9]) for digits in re.findall(r"\d+", counts))])
        expect(product <= _REPEATS, f"repetitions in a pattern that multiply to at most {_REPEATS}")


def _length(fields: Fields) -> None:
    fields.number("length", 1, _SIZE)


def _charsmap(fields: Fields) -> None:
    text = fields.text("precompiled_charsmap", most=1 << 24) or ""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{fields.what}.precompiled_charsmap is no base64: {error}") from None
    size = int.from_bytes(data[:4], "little")
    whole = not data or (len(data) >= 4 + size and size % 4 == 0)
    expect(whole, f"a trie that lies inside {fields.what}.precompiled_charsmap")
    expect(_is_text(data[4 + size :]), f"a text behind the trie of {fields.what}.precompiled_charsmap")


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _strip_ends(fields: Fields) -> None:
    _character(fields, "content")
    fields.number("start", 0, _SIZE)
    fields.number("stop", 0, _SIZE)


# --- post-processors ---


def _two_ends(*flags: str) -> _Check:
    def check(fields: Fields) -> None:
        for name in ("sep", "cls"):
            pair = fields.take(name)
            whole = type(pair) is list and list(map(type, pair)) == [str, int] and 0 <= pair[1] < _WORD
            expect(whole, f"a token and its id as {fields.what}.{name}")
        _flags(*flags)(fields)

    return check


def _template(fields: Fields) -> None:
    named: list[str] = []

    def piece(value: Any, what: str) -> None:
        one = Fields(value, what)
        for kind in ("Sequence", "SpecialToken"):
            part = one.take(kind)
            if part is not None:
                inner = Fields(part, f"{what}.{kind}")
                token = inner.text("id", most=_PIECE)
                expect(kind != "Sequence" or token in ("A", "B"), f"A or B as {what}.{kind}.id")
                named.extend([str(token)] if kind == "SpecialToken" else [])
                inner.number("type_id", 0, _WORD)
                inner.done()
        one.done()

    fields.each("single", piece, _PARTS)
    fields.each("pair", piece, _PARTS)
    tokens = fields.take("special_tokens")
    expect(type(tokens) is dict and len(tokens) <= _PARTS, f"special tokens by name in {fields.what}")
    for name, token in tokens.items():
        _check_special(Fields(token, f"{fields.what}.special_tokens[{name[:40]!r}]"))
    missing = [name for name in named if name not in tokens]
    expect(not missing, f"the special tokens that {fields.what} puts in", "no " + ", ".join(missing)[:80])


def _check_special(fields: Fields) -> None:
    fields.text("id", most=_PIECE)
    ids, tokens = fields.take("ids"), fields.take("tokens")
    whole = type(ids) is list and type(tokens) is list and len(ids) == len(tokens) <= _PARTS
    expect(whole, f"as many ids as tokens in {fields.what}")
    expect(all(type(one) is int and 0 <= one < _WORD for one in ids), f"ids in {fields.what}")
    expect(all(type(one) is str and len(one) <= _PIECE for one in tokens), f"tokens in {fields.what}")
    fields.done()


# --- models ---


def _vocabulary(fields: Fields) -> Mapping[str, int]:
    found = fields.take("vocab")
    expect(type(found) is dict and len(found) <= MOST_IDS, f"ids by token as {fields.what}.vocab")
    # The library keeps a table as long as the largest id in some models.
    inside = all(type(number) is int and 0 <= number < MOST_IDS for number in found.values())
    expect(inside, f"ids from 0 to {MOST_IDS - 1} in {fields.what}.vocab")
    longest = max(map(len, found), default=0)
    expect(longest <= _PIECE, f"tokens of at most {_PIECE} characters in {fields.what}.vocab", longest)
    return dict(found)


def _bpe(fields: Fields) -> None:
    fields.real("dropout", 0.0, 1.0)
    for name in ("unk_token", "continuing_subword_prefix", "end_of_word_suffix"):
        fields.text(name, most=_PIECE)
    _flags("fuse_unk", "byte_fallback", "ignore_merges")(fields)
    vocabulary = _vocabulary(fields)

    def merge(value: Any, what: str) -> None:
        pair = value.split(" ") if type(value) is str else value
        whole = type(pair) is list and len(pair) == 2 and all(type(one) is str for one in pair)
        expect(whole and all(one in vocabulary for one in pair), f"two tokens of the vocabulary as {what}")

    fields.each("merges", merge, MOST_IDS)


def _word_piece(fields: Fields) -> None:
    fields.text("unk_token", most=_PIECE)
    fields.text("continuing_subword_prefix", most=_PIECE)
    fields.number("max_input_chars_per_word", 0, _SIZE)
    _vocabulary(fields)


def _word_level(fields: Fields) -> None:
    fields.text("unk_token", most=_PIECE)
    _vocabulary(fields)


def _unigram(fields: Fields) -> None:
    unknown = fields.number("unk_id", 0, MOST_IDS)
    pieces = fields.take("vocab")
    expect(type(pieces) is list and len(pieces) <= MOST_IDS, f"pieces and scores as {fields.what}.vocab")
    for at, piece in enumerate(pieces):
        whole = type(piece) is list and len(piece) == 2 and type(piece[0]) is str
        whole = whole and len(piece[0]) <= _PIECE and type(piece[1]) in (int, float) and abs(piece[1]) < 1e30
        expect(whole, f"a piece and its score as {fields.what}.vocab[{at}]")
    expect(unknown is None or unknown < len(pieces), f"{fields.what}.unk_id below the number of pieces")
    fields.flag("byte_fallback", default=False)


PARTS: Final[Mapping[str, Mapping[str, _Check]]] = {
    "normalizer": {
        "BertNormalizer": _flags("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"),
        "Strip": _flags("strip_left", "strip_right"),
        **dict.fromkeys("StripAccents NFC NFD NFKC NFKD Lowercase Nmt ByteLevel".split(), _nothing),
        "Precompiled": _charsmap,
        "Replace": _replace,
        "Prepend": _texts("prepend"),
        "Sequence": _several("normalizer", "normalizers"),
    },
    "pre_tokenizer": {
        **dict.fromkeys("BertPreTokenizer Whitespace WhitespaceSplit UnicodeScripts".split(), _nothing),
        "ByteLevel": _flags("add_prefix_space", "trim_offsets", "use_regex"),
        "CharDelimiterSplit": _delimiter,
        "Metaspace": _metaspace,
        "Split": _split,
        "Punctuation": _punctuation,
        "Digits": _flags("individual_digits"),
        "FixedLength": _length,
        "Sequence": _several("pre_tokenizer", "pretokenizers"),
    },
    "post_processor": {
        "BertProcessing": _two_ends(),
        "RobertaProcessing": _two_ends("trim_offsets", "add_prefix_space"),
        "ByteLevel": _flags("add_prefix_space", "trim_offsets", "use_regex"),
        "TemplateProcessing": _template,
        "Sequence": _several("post_processor", "processors"),
    },
    "decoder": {
        **dict.fromkeys("ByteFallback Fuse".split(), _nothing),
        "BPEDecoder": _texts("suffix"),
        "ByteLevel": _flags("add_prefix_space", "trim_offsets", "use_regex"),
        "WordPiece": _texts("prefix", flags="cleanup"),
        "Metaspace": _metaspace,
        "CTC": _texts("pad_token", "word_delimiter_token", flags="cleanup"),
        "Replace": _replace,
        "Strip": _strip_ends,
        "Sequence": _several("decoder", "decoders"),
    },
    "model": {"BPE": _bpe, "WordPiece": _word_piece, "WordLevel": _word_level, "Unigram": _unigram},
}
"""The parts that a tokenizer can have, and what each is made of."""
