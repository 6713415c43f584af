"""What the tables of an encoding of tiktoken must not say."""

from __future__ import annotations

import pytest

pytest.importorskip("tiktoken")

from typing import Any

import numpy as np
from tiktoken import Encoding

from packager._codecs.base import Decoding, StoredTensor
from packager._objects import encode
from tests.contracts.built_in import by_name

CODEC = by_name("tiktoken.encoding")
CONTEXT: Decoding = None  # type: ignore[assignment]  # this codec asks for nothing


def decoded(data: bytes, lengths: list[int], numbers: list[int], special: Any) -> Any:
    stored = StoredTensor("U8", (len(data),), (1,), 0, memoryview(data))
    parts = (stored, np.array(lengths, "i4"), np.array(numbers, "i4"), special)
    return CODEC.decode(["x", ".+"], parts, 1, CONTEXT)


def test_honest_tables_make_an_encoding() -> None:
    assert decoded(b"abab", [1, 1, 2], [0, 1, 2], {"<e>": 3}).encode("ab") == [2]


@pytest.mark.parametrize(
    ("data", "lengths", "numbers", "special", "message"),
    [
        (b"ab", [1, 2], [0, 1], {}, "tokens of 2 bytes together, found 3"),
        (b"ab", [3, -1], [0, 1], {}, "tokens of 1 to 10000 bytes"),
        (b"aa", [1, 1], [0, 1], {}, "tokens that differ"),
        (b"ab", [1, 1], [0, 0], {}, "numbers that differ"),
        (b"ab", [1, 1], [0], {}, "expected 2 numbers, found 1"),
        (b"ab", [1, 1], [0, -1], {}, r"numbers from 0 to 2\*\*31"),
        (b"ab", [1, 1], [0, 1], {"e": "2"}, r"numbers from 0 to 2\*\*31"),
        (b"ab", [1, 1], [0, 1], {"": 2}, "special tokens by their texts"),
        (b"ab", [1, 1], [0, 1], {"e": 2, "f": 2}, "numbers of special tokens that differ"),
        (b"", [], [], {}, "tokens that differ"),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    data: bytes, lengths: list[int], numbers: list[int], special: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        decoded(data, lengths, numbers, special)


def test_a_pattern_that_is_written_out_is_refused_when_it_is_stored() -> None:
    made = Encoding("x", pat_str="(a{100}){100}", mergeable_ranks={b"a": 0}, special_tokens={})
    assert "repetitions in a pattern" in encode(made).refusals[0].reason
