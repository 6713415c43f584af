"""Tokenizers of transformers need no trust: classes and attributes, with the library's own text inside."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

import json
from pathlib import Path
from typing import Any

import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from packager._audit import TrustContext, UntrustedNamesError
from packager._objects import ObjectBuildError, encode
from packager.testing import round_trip
from packager.testing.round_trips import load

WORDS = "[UNK] [CLS] [SEP] [PAD] [MASK] hello world ##s a b".split()
VOCABULARY = {word: number for number, word in enumerate(WORDS)}


def own_fast() -> Any:
    backend = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")


def wav2vec2(folder: Path) -> Any:
    symbols = ["<pad>", "h", "<unk>", "|", "<s>", "</s>"]
    file = folder / "vocab.json"
    file.write_text(json.dumps({symbol: number for number, symbol in enumerate(symbols)}))
    return transformers.Wav2Vec2CTCTokenizer(str(file))


@pytest.fixture(params=["own", "bert", "gpt2", "canine", "byt5", "wav2vec2"])
def tokenizer(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Fast ones, and slow ones whose tables are Python's own."""
    makers: dict[str, Any] = {
        "own": own_fast,
        "bert": lambda: transformers.BertTokenizer(vocab=VOCABULARY),
        "gpt2": lambda: transformers.GPT2Tokenizer(vocab={"h": 0, "e": 1, "he": 2}, merges=[("h", "e")]),
        "canine": transformers.CanineTokenizer,
        "byt5": transformers.ByT5Tokenizer,
        "wav2vec2": lambda: wav2vec2(tmp_path),
    }
    return makers[request.param]()


def test_a_tokenizer_comes_back_from_data_alone(tokenizer: Any) -> None:
    trip = round_trip(tokenizer)
    assert type(trip.object) is type(tokenizer)
    assert trip.is_stable
    for text in ("hello worlds", "", "[CLS] hello"):
        assert trip.object(text).data == tokenizer(text).data
    assert trip.object.decode([1, 2]) == tokenizer.decode([1, 2])


def test_a_tokenizer_comes_back_beside_code(tokenizer: Any) -> None:
    loaded = round_trip(tokenizer, interned=["net"], externs=["transformers"]).object
    assert loaded("hello").input_ids == tokenizer("hello").input_ids


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("encode", "text", "encode of TokenizersBackend is a function"),
        ("__array_interface__", {}, "data may not set __array_interface__"),
    ],
)
def test_an_attribute_in_the_place_of_a_method_is_refused(name: str, value: Any, message: str) -> None:
    made = own_fast()
    vars(made)[name] = value
    with pytest.raises(ObjectBuildError, match=message):
        round_trip(made)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vocab_files_names", {"vocab_file": "/tmp/chosen", "merges_file": "/tmp/lines"}),
        ("vocab_files_names", {}),
        ("_auto_class", "AutoTokenizer"),
    ],
)
def test_an_attribute_in_the_place_of_a_value_of_the_class_is_refused(name: str, value: Any) -> None:
    """The tables that `save_vocabulary` writes would go where the data says."""
    made = transformers.CanineTokenizer()
    assert round_trip(made).object.cls_token == made.cls_token
    vars(made)[name] = value
    with pytest.raises(ObjectBuildError, match=f"{name} belongs to the class CanineTokenizer"):
        round_trip(made)


def test_an_attribute_that_the_code_of_the_class_assigns_is_one_of_its_objects() -> None:
    made = transformers.CanineTokenizer()
    made.padding_side, made.model_input_names = "left", ["input_ids"]
    loaded = round_trip(made).object
    assert (loaded.padding_side, loaded.model_input_names) == ("left", ["input_ids"])


def test_an_attribute_that_is_called_later_is_refused() -> None:
    made = own_fast()
    made.later = sorted
    with pytest.raises(UntrustedNamesError, match="holds plain data, tensors and objects of libraries"):
        round_trip(made)


def test_other_classes_of_transformers_are_asked_for() -> None:
    encoded = encode(transformers.BertConfig())
    with pytest.raises(UntrustedNamesError, match="transformers:BertConfig"):
        load(encoded, TrustContext.data_only())
