"""Every codec for tiktoken keeps the contract."""

from __future__ import annotations

import pytest

pytest.importorskip("tiktoken")

from typing import Any

from tiktoken import Encoding

from packager.testing import CodecContract
from tests.contracts.built_in import by_name

TEXTS = ["hello hello 123", "", "naïve 日本 <end>"]
BYTES = {bytes([at]): at for at in range(256)}


def used(made: Any) -> None:
    """Use an encoding as its owner would."""
    outputs(made)


def outputs(made: Any) -> Any:
    ids = [made.encode(text, allowed_special="all") for text in TEXTS]
    return ids, [made.decode(one) for one in ids], made.n_vocab


class TestEncoding(CodecContract):
    codec = by_name("tiktoken.encoding")

    def samples(self) -> list[Any]:
        more = {**BYTES, b"he": 256, b"ll": 257, b"hell": 258}
        return [
            Encoding("plain", pat_str=r"\w+|\s+|.", mergeable_ranks=BYTES, special_tokens={}),
            Encoding(
                "more", pat_str=r"\p{L}+|\p{N}{1,3}|\s|.", mergeable_ranks=more, special_tokens={"<end>": 300}
            ),
        ]

    def same(self, sample: Any, loaded: Any) -> bool:
        return outputs(sample) == outputs(loaded) and sample.name == loaded.name
