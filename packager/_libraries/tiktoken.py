"""A codec for encodings of tiktoken: a pattern, and two tables of tokens and their numbers."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any, Final

from packager._codecs import (
    CannotStore,
    Library,
    Node,
    PartsCodec,
    StoredTensor,
    expect,
    kinds,
    panics_as_errors,
    payload,
    view_of,
)

from .tokenizers import check_pattern

_MOST: Final = 1 << 24
_LONGEST: Final = 10_000


def _tables_of(obj: Any) -> Node:
    """Return the tables of an encoding. Raises CannotStore for a pattern that would not be read again."""
    import numpy

    ranks = obj._mergeable_ranks
    try:
        check_pattern(obj._pat_str)
        _check_tables(list(ranks), list(ranks.values()), obj._special_tokens)
    except ValueError as error:
        raise CannotStore(f"its tables could not be loaded again: {error}") from error
    lengths = numpy.array([len(token) for token in ranks], numpy.int32)
    numbers = numpy.array(list(ranks.values()), numpy.int32)
    parts = (payload(b"".join(ranks)), lengths, numbers, dict(obj._special_tokens))
    return Node([obj.name, obj._pat_str], parts)


def _are_name_and_pattern(literal: Any) -> bool:
    if kinds(str, str)(literal):
        check_pattern(literal[1])
    return kinds(str, str)(literal)


def _encoding(literal: Any, stored: StoredTensor, lengths: Any, ranked: Any, special: Any) -> Any:
    from tiktoken import Encoding

    tokens, numbers = _cut(bytes(view_of(stored)), _ints(lengths)), _ints(ranked)
    expect(len(tokens) == len(numbers), f"{len(tokens)} numbers", len(numbers))
    _check_tables(tokens, numbers, special)
    ranks = dict(zip(tokens, numbers, strict=True))
    with panics_as_errors():
        return Encoding(literal[0], pat_str=literal[1], mergeable_ranks=ranks, special_tokens=special)


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


CODECS: Final = (
    # Name and pattern; then tokens in a row, their lengths and numbers, and special ones.
    PartsCodec("tiktoken.encoding", ("tiktoken.core:Encoding",), "payload numpy.ndarray numpy.ndarray dict",
          "a name, a pattern, lengths, numbers and special tokens",
          _tables_of, _encoding, _are_name_and_pattern, is_data="library"),
)  # fmt: skip

LIBRARY: Final = Library("tiktoken", "tiktoken", codecs=CODECS)
