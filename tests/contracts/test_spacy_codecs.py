"""The codec for spaCy keeps the contract."""

from __future__ import annotations

import pytest

pytest.importorskip("spacy")

from typing import Any

import spacy

from packager.testing import CodecContract
from tests.contracts.built_in import by_name

TEXT = "Hello wörld. It's 5 o'clock! A newword"


def used(made: Any) -> None:
    """Use a pipeline as its owner would."""
    outputs(made)


def outputs(nlp: Any) -> Any:
    found = nlp(TEXT)
    starts = [token.is_sent_start for token in found] if nlp.pipe_names else []
    return [token.text for token in found], starts


class TestBlankPipeline(CodecContract):
    codec = by_name("spacy.blank")
    trust = ("spacy.lang.de:German", "spacy.lang.en:English")

    def samples(self) -> list[Any]:
        plain, cut = spacy.blank("en"), spacy.blank("de")
        cut.add_pipe("sentencizer", config={"punct_chars": ["!", "."]})
        cut("ein neuesWort")
        return [plain, cut]

    def same(self, sample: Any, loaded: Any) -> bool:
        return outputs(sample) == outputs(loaded) and sample.pipe_names == loaded.pipe_names
