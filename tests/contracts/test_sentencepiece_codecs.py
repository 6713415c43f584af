"""Every codec for sentencepiece keeps the contract."""

from __future__ import annotations

import pytest

pytest.importorskip("sentencepiece")

import io
from functools import cache
from typing import Any

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from packager.testing import CodecContract
from tests.contracts.built_in import by_name
from tests.contracts.wire_changes import changed_bytes as changed_bytes  # the fuzzer asks for it here

TEXTS = ["hello world this is text number 7", "", "ﬁne naïve 日本 ①"]


@cache
def model(kind: str = "unigram", rules: str = "nmt_nfkc") -> bytes:
    written = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=(f"hello world this is text number {at}" for at in range(200)),
        model_writer=written,
        vocab_size=42,
        model_type=kind,
        normalization_rule_name=rules,
        minloglevel=5,
    )
    return written.getvalue()


def used(made: Any) -> None:
    """Use a processor as its owner would."""
    outputs(made)


def outputs(processor: Any) -> Any:
    ids = [processor.encode(text, out_type=int) for text in TEXTS]
    return ids, [processor.encode(text) for text in TEXTS], [processor.decode(one) for one in ids]


class TestProcessor(CodecContract):
    codec = by_name("sentencepiece.processor")

    def samples(self) -> list[Any]:
        return [
            SentencePieceProcessor(model_proto=model()),
            SentencePieceProcessor(model_proto=model("bpe", "identity"), out_type=str, add_bos=True),
            SentencePieceProcessor(model_proto=model("bpe", "nfkc_cf"), alpha=0.5, nbest_size=3),
        ]

    def same(self, sample: Any, loaded: Any) -> bool:
        whole = sample.serialized_model_proto() == loaded.serialized_model_proto()
        return outputs(sample) == outputs(loaded) and bool(whole)
