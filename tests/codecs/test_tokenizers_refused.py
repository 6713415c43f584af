"""What a text of a tokenizer must not say: each is refused before the library reads it."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from packager._audit import TrustContext
from packager._codecs.payloads import parsed_json
from packager._libraries.tokenizers import MOST_IDS, check_tokenizer
from packager._objects import EncodedObject, ObjectBuildError, encode
from packager.testing.round_trips import load, round_trip
from tests.tables import one_test


def honest() -> Tokenizer:
    made = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    made.normalizer = normalizers.Replace(Regex("x{2,3}"), "y")
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.FixedLength(3)])
    made.post_processor = processors.TemplateProcessing(
        single="a $A", pair="a $A $B:1", special_tokens=[("a", 0)]
    )
    made.enable_padding(length=8)
    made.enable_truncation(16)
    made.add_tokens(["c"])
    return made


def unigram() -> dict[str, Any]:
    made = Tokenizer(models.Unigram([("a", -1.5), ("b", -2.5)], 0, False))
    found: dict[str, Any] = json.loads(made.to_str())
    return found


def changed(*path: Any, to: Any, of: Callable[[], Any] = lambda: json.loads(honest().to_str())) -> Any:
    value = of()
    at = value
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    return value


def mapped(unit: int, texts: bytes) -> dict[str, Any]:
    """A map of characters, of one unit of a trie and its texts."""
    data = struct.pack("<2I", 4, unit) + texts
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}


REFUSED = {
    "no model": (changed("model", to=None), "a type of model, found None"),
    "an unknown model": (changed("model", "type", to="Pickle"), "a type of model, found 'Pickle'"),
    "an unknown part of a part": (
        changed("pre_tokenizer", "pretokenizers", 1, "type", to="Python"),
        "a type of pre_tokenizer, found 'Python'",
    ),
    "an id below 0": (changed("model", "vocab", "a", to=-1), "an int from 0"),
    "an id twice": (changed("model", "vocab", "a", to=1), "ids that are there once"),
    "an id that asks for memory": (changed("model", "vocab", "a", to=MOST_IDS), "an int from 0"),
    "a token of a million characters": (
        changed("model", "vocab", "c" * 1_000_000, to=3),
        "tokens of at most 10000 characters as vocab, found 1000000",
    ),
    "a piece of a million characters": (
        changed("model", "vocab", 1, to=["b" * 1_000_000, -1.0], of=unigram),
        "at most 10000 characters as vocab, found 1000000",
    ),
    "an added id": (changed("added_tokens", 0, "id", to=1 << 40), "an int from 0 to 16777215 as id"),
    "padding to 2**40": (changed("padding", "strategy", to={"Fixed": 1 << 40}), "to 16777215 as Fixed"),
    "a multiple of 2**40": (changed("padding", "pad_to_multiple_of", to=1 << 40), "pad_to_multiple_of"),
    "pieces of no length": (
        changed("pre_tokenizer", "pretokenizers", 1, "length", to=0),
        "an int from 1 to 16777215",
    ),
    "a pattern that is written out": (
        changed("normalizer", "pattern", to={"Regex": "((a{100}){100}){100}"}),
        "repetitions in a pattern that multiply to at most 4096",
    ),
    "a score beyond all others": (
        changed("model", "vocab", 1, to=["b", 1e300], of=unigram),
        "a number as vocab, found 1e\\+300",
    ),
    "pieces without end": (
        changed("post_processor", "single", to=[{"Sequence": {"id": "A", "type_id": 0}}] * 1001),
        "at most 1000 values as single, found 1001",
    ),
    "a token that a template lacks": (
        changed("post_processor", "special_tokens", to={}),
        "the special tokens that a template puts in, found no .*'id': 'a'",
    ),
    "other ids than tokens": (
        changed("post_processor", "special_tokens", "a", "ids", to=[0, 1]),
        "as many ids as tokens",
    ),
    "a trie outside of its map": (
        changed("normalizer", to={"type": "Precompiled", "precompiled_charsmap": "/////w=="}),
        "a trie inside its map of characters",
    ),
    "a trie that leads out of itself": (changed("normalizer", to=mapped(97, b"a\0")), "steps inside 1 units"),
    "a trie without a text": (changed("normalizer", to=mapped(0, b"a")), "texts that end with NUL"),
    "a map that is no base64": (
        changed("normalizer", to={"type": "Precompiled", "precompiled_charsmap": "?"}),
        "precompiled_charsmap is no base64",
    ),
    "a second text where there is one": (
        changed("post_processor", "single", 0, to={"Sequence": {"id": "B", "type_id": 0}}),
        "the text A in a template of a single text",
    ),
    "more cut off than there is": (
        changed("decoder", to={"type": "Strip", "content": "a", "start": 1, "stop": 1}),
        "an int from 0 to 0 as stop, found 1",
    ),
}
BY_THE_LIBRARY = {
    "a version": changed("version", to="2.0"),
    "a flag for an id": changed("model", "vocab", "a", to=True),
    "a merge of what is no token": changed("model", "merges", 0, to=["a", "z"]),
    "a dropout above 1": changed("model", "dropout", to=1.5),
    "an unknown piece": changed("model", "unk_id", to=2, of=unigram),
    "a stride": changed("truncation", "stride", to=-1),
    "two characters": changed("pre_tokenizer", "pretokenizers", 0, "replacement", to="__"),
    "a piece that is a number": changed("model", "vocab", 1, to=[1, -1.0], of=unigram),
}


@one_test
@pytest.mark.parametrize(("value", "message"), REFUSED.values(), ids=REFUSED)
def test_a_text_is_refused_before_the_library_reads_it(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_tokenizer(value)


@pytest.mark.parametrize("value", BY_THE_LIBRARY.values(), ids=BY_THE_LIBRARY)
def test_a_text_within_bounds_that_says_nothing_is_refused_by_the_library(value: Any) -> None:
    check_tokenizer(value)
    with pytest.raises(Exception, match="column"):
        Tokenizer.from_str(json.dumps(value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":1,"a":2}', "a name twice"),
        ('{"a":NaN}', "NaN, which is no number"),
        ("[" * 70 + "]" * 70, "nested at most 64 deep"),
        ("[" * 100_000, "nested more than 64 deep"),
        ("{", "Expecting property name"),
    ],
)
def test_a_text_that_two_readers_take_for_different_things_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parsed_json(text)


def test_the_honest_text_is_not_refused() -> None:
    check_tokenizer(json.loads(honest().to_str()))
    check_tokenizer(unigram())


def test_a_changed_text_in_an_archive_is_an_error_with_its_path() -> None:
    encoded = encode({"t": honest()})
    text = bytes(encoded.storages[0].buffer).replace(b'"merges":[["a","b"]]', b'"merges":[["a","c"]]')
    with pytest.raises(ObjectBuildError, match=r"obj\['t'\] cannot be built .*out of vocabulary"):
        load(
            EncodedObject(encoded.records, encoded.with_buffers([memoryview(text)]).storages, ()),
            TrustContext.data_only(),
        )


def test_scores_of_pieces_are_as_they_were_to_the_last_bit() -> None:
    scores = [("<unk>", 0.0), ("a", -1.8615326787109718), ("b", -0.1 - 0.2)]
    made = Tokenizer(models.Unigram(scores, 0, False))
    loaded = round_trip([made, made.model]).object
    for text in (loaded[0].to_str(), loaded[1].__getstate__().decode()):
        value = json.loads(text)
        assert [tuple(pair) for pair in value.get("model", value)["vocab"]] == scores


def test_a_part_written_in_python_is_refused_with_what_to_do() -> None:
    class Own:
        def pre_tokenize(self, text: Any) -> None:
            """Take the text as it is."""

    made = honest()
    made.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Own())
    refusals = encode(made).refusals
    assert len(refusals) == 1
    assert "tokenizers cannot save it" in refusals[0].reason
    assert "set your own parts again after loading" in refusals[0].options[0]
