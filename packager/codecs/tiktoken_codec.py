"""A codec for encodings of tiktoken: a pattern, and two tables of tokens and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

from .base import CannotStore, Child, Codec, Decoding, Encoding, Node, expect
from .payloads import expect_payload, panics_as_errors, payload, view_of
from .tokenizer_json import check_pattern

_MOST: Final = 1 << 24
_LONGEST: Final = 10_000


class TiktokenCodec(Codec):
    """Encodings: name and pattern; then tokens in a row, their lengths and numbers, and special ones."""

    name = "tiktoken.encoding"
    types = ("tiktoken.core:Encoding",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the tables of an encoding. Raises CannotStore for a pattern that would not be read again."""
        import numpy

        ranks = obj._mergeable_ranks
        try:
            check_pattern(obj._pat_str)
            _check_tables(list(ranks), list(ranks.values()), obj._special_tokens)
        except ValueError as error:
            raise CannotStore(f"its tables would not be read again: {error}") from error
        lengths = numpy.array([len(token) for token in ranks], numpy.int32)
        numbers = numpy.array(list(ranks.values()), numpy.int32)
        parts = (payload(b"".join(ranks)), lengths, numbers, dict(obj._special_tokens))
        return Node([obj.name, obj._pat_str], parts)

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        texts = isinstance(literal, list) and list(map(type, literal)) == [str, str]
        expect(texts and len(children) == 4, "a name and a pattern")
        check_pattern(literal[1])
        expect_payload(children[0])
        arrays = all(child.codec == "numpy.ndarray" for child in children[1:3])
        expect(arrays and children[3].kind == "dict", "lengths, numbers and special tokens")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        from tiktoken import Encoding as Tables

        tokens = _cut(bytes(view_of(children[0])), _ints(children[1]))
        numbers, special = _ints(children[2]), children[3]
        expect(len(tokens) == len(numbers), f"{len(tokens)} numbers", len(numbers))
        _check_tables(tokens, numbers, special)
        ranks = dict(zip(tokens, numbers, strict=True))
        with panics_as_errors():
            return Tables(literal[0], pat_str=literal[1], mergeable_ranks=ranks, special_tokens=special)


def _ints(array: Any) -> list[int]:
    import numpy

    whole = type(array) is numpy.ndarray and array.dtype == numpy.int32 and array.ndim == 1
    expect(whole and len(array) <= _MOST, f"at most {_MOST} int32 in a row")
    found: list[int] = array.tolist()
    return found


def _cut(data: bytes, lengths: list[int]) -> list[bytes]:
    expect(all(0 < length <= _LONGEST for length in lengths), f"tokens of 1 to {_LONGEST} bytes")
    ends = [0, *accumulate(lengths)]
    expect(ends[-1] == len(data), f"tokens of {len(data)} bytes together", ends[-1])
    return [data[start:end] for start, end in pairwise(ends)]


def _check_tables(tokens: list[bytes], numbers: list[int], special: Any) -> None:
    expect(bool(tokens) and len(set(tokens)) == len(tokens), "tokens that differ")
    expect(all(0 < len(token) <= _LONGEST for token in tokens), f"tokens of 1 to {_LONGEST} bytes")
    form = type(special) is dict and len(special) <= _MOST
    form = form and all(type(name) is str and 0 < len(name) <= _LONGEST for name in special)
    expect(form, "special tokens by their texts")
    every = [*numbers, *special.values()]
    expect(all(type(one) is int and 0 <= one < 1 << 31 for one in every), "numbers from 0 to 2**31")
    expect(len(set(numbers)) == len(numbers), "numbers that differ")
    own = list(special.values())
    expect(len(set(own)) == len(own), "numbers of special tokens that differ")


CODECS: Final = (TiktokenCodec(),)
