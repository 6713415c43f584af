"""The sentence encoder of the fixtures at a size of its own: tokens, masks, limits, and the old layout."""

from __future__ import annotations

import re

import numpy as np
import pytest

import kellet
from fixtures.models import bert
from fixtures.models.bert.checkpoints import huggingface
from packager._migrations import migrate, plan_migration
from packager.errors import MigrationError

SMALL = {"width": 24, "layers": 2, "heads": 3, "inner": 40, "positions": 16, "longest": 16}
SENTENCES = ["A cat sits.", "", "Stocks fell sharply today, and nobody knew why."]


@pytest.fixture(scope="module")
def model():
    kellet.manual_seed(0)
    return bert.build(**SMALL)


def old_layout(model) -> dict[str, np.ndarray]:
    """The model's state dict under the keys of transformers, written out by hand."""
    new = {key: value.numpy() for key, value in model.state_dict().items()}
    names = {"word": "word_embeddings", "position": "position_embeddings", "kind": "token_type_embeddings"}
    old = {f"embeddings.{theirs}.weight": new[f"embeddings.{ours}.weight"] for ours, theirs in names.items()}
    old["embeddings.position_ids"] = new["embeddings.position_ids"]
    for kind in ("weight", "bias"):
        old[f"embeddings.LayerNorm.{kind}"] = new[f"embeddings.norm.{kind}"]
        old[f"pooler.dense.{kind}"] = new[f"pooler.{kind}"]
        for n in range(SMALL["layers"]):
            ours, theirs = f"layers.{n}", f"encoder.layer.{n}"
            parts = np.split(new[f"{ours}.attention.qkv.{kind}"], 3)
            for name, part in zip(("query", "key", "value"), parts, strict=True):
                old[f"{theirs}.attention.self.{name}.{kind}"] = part
            old[f"{theirs}.attention.output.dense.{kind}"] = new[f"{ours}.attention.out.{kind}"]
            old[f"{theirs}.attention.output.LayerNorm.{kind}"] = new[f"{ours}.attention_norm.{kind}"]
            old[f"{theirs}.intermediate.dense.{kind}"] = new[f"{ours}.up.{kind}"]
            old[f"{theirs}.output.dense.{kind}"] = new[f"{ours}.down.{kind}"]
            old[f"{theirs}.output.LayerNorm.{kind}"] = new[f"{ours}.norm.{kind}"]
    return old


def contents(state) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    arrays = {key: np.asarray(value) for key, value in state.items()}
    return {key: (str(array.dtype), array.shape, array.tobytes()) for key, array in arrays.items()}


def tensors(tokens) -> dict[str, kellet.Tensor]:
    return {name: kellet.tensor(array) for name, array in tokens.items()}


# --- tokens ---------------------------------------------------------------------------------------


def test_sentences_become_padded_numbers_and_a_mask():
    tokens = bert.tokenize(["A cat sits.", ""])
    assert tokens["input_ids"].tolist() == [[101, 1037, 4937, 7719, 1012, 102], [101, 102, 0, 0, 0, 0]]
    assert tokens["attention_mask"].tolist() == [[1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0]]
    assert [array.dtype for array in tokens.values()] == [np.int64, np.int64]


def test_unknown_signs_and_accents_are_as_the_vocabulary_has_them():
    assert bert.tokenize(["Über caf\u00e9 \U0001f600 \u732b"])["input_ids"].tolist() == [
        [101, 19169, 7668, 100, 100, 102]
    ]


def test_a_long_sentence_is_cut_off_and_still_ends():
    tokens = bert.tokenize(["cat " * 600], longest=512)
    assert tokens["input_ids"].shape == (1, 512)
    assert tokens["input_ids"][0, [0, 1, 510, 511]].tolist() == [101, 4937, 4937, 102]


def test_no_sentence_is_no_row():
    assert bert.tokenize([])["input_ids"].shape == (0, 0)


# --- the network ----------------------------------------------------------------------------------


def test_vectors_have_length_one(model):
    vectors = model.encode(SENTENCES)
    assert (vectors.shape, vectors.dtype) == ((3, 24), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_sentence_means_the_same_alone_and_beside_longer_ones(model):
    alone = np.concatenate([model.encode([sentence]) for sentence in SENTENCES])
    np.testing.assert_allclose(model.encode(SENTENCES), alone, atol=1e-6)
    np.testing.assert_allclose(model.encode(SENTENCES, batch=2), alone, atol=1e-6)


def test_no_sentence_is_no_vector(model):
    assert model.encode([]).shape == (0, 24)
    assert model(kellet.zeros(0, 4, dtype=kellet.int64)).shape == (0, 24)


def test_a_sentence_of_padding_alone_is_zeros(model):
    ids = kellet.tensor([[101, 4937, 102], [0, 0, 0]])
    vectors = model(ids, kellet.tensor([[1, 1, 1], [0, 0, 0]])).detach().numpy()
    np.testing.assert_array_equal(vectors[1], np.zeros(24, np.float32))
    np.testing.assert_allclose(vectors[0], model(ids[:1]).detach().numpy()[0], atol=1e-6)


def test_kinds_of_sentences_are_told_apart(model):
    ids = kellet.tensor([[101, 4937, 102]])
    first = model(ids, token_type_ids=kellet.zeros(1, 3, dtype=kellet.int64))
    assert first.tolist() == model(ids).tolist()
    assert first.tolist() != model(ids, token_type_ids=kellet.ones(1, 3, dtype=kellet.int64)).tolist()


def test_the_pooler_reads_the_first_token(model):
    hidden = model.hidden_states(kellet.tensor([[101, 4937, 102]])).detach()
    weight, bias = (value.detach().numpy() for value in (model.pooler.weight, model.pooler.bias))
    expected = np.tanh(hidden.numpy()[:, 0] @ weight.T + bias)
    np.testing.assert_allclose(model.pooled(hidden).detach().numpy(), expected, atol=1e-6)


def test_more_tokens_than_positions_are_refused(model):
    assert model(kellet.zeros(1, 16, dtype=kellet.int64)).shape == (1, 24)
    with pytest.raises(ValueError, match="17 tokens in a sentence, but there are 16 positions"):
        model(kellet.zeros(1, 17, dtype=kellet.int64))


def test_a_number_outside_the_vocabulary_is_refused(model):
    with pytest.raises(IndexError, match=re.escape("index 30522 is out of range")):
        model(kellet.tensor([[30522]]))


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="5 heads cannot share a width of 24"):
        bert.Config.of_minilm(width=24, heads=5)
    with pytest.raises(ValueError, match="sentences of 32 tokens do not fit 16 positions"):
        bert.Config.of_minilm(positions=16, longest=32)
    with pytest.raises(TypeError, match="depth"):
        bert.Config.of_minilm(depth=3)


def test_a_training_step_reaches_every_weight_but_the_poolers():
    kellet.manual_seed(0)
    model = bert.build(**SMALL).train()
    vectors = model(**tensors(bert.tokenize(SENTENCES)))
    (vectors[0] * vectors[1]).sum().backward()
    still = [name for name, weight in model.named_parameters() if weight.grad is None]
    assert still == ["pooler.weight", "pooler.bias"]


# --- the old layout -------------------------------------------------------------------------------


def test_keys_of_transformers_load_as_the_models_own(model):
    other = bert.build(**SMALL)
    other.load_state_dict({key: kellet.tensor(value) for key, value in old_layout(model).items()})
    assert contents(other.state_dict()) == contents(model.state_dict())


def test_its_own_keys_load_as_they_are(model):
    other = bert.build(**SMALL)
    other.load_state_dict(model.state_dict())
    assert contents(other.state_dict()) == contents(model.state_dict())


def test_the_migration_goes_there_and_back(model):
    old = old_layout(model)
    new = dict(migrate(huggingface(), old))
    assert contents(new) == contents(model.state_dict())
    assert contents(migrate(huggingface().inverse(), new)) == contents(old)


def test_every_step_of_the_migration_is_used(model):
    plan = plan_migration(huggingface(), old_layout(model))
    assert plan.untouched == ()
    assert len(plan.rows) == 2 * 2 * 6 + 2 * 2 + 3  # both layers, the norm and the pooler, three tables


def test_a_checkpoint_without_one_of_the_three_projections_is_refused_by_name(model):
    old = old_layout(model)
    del old["encoder.layer.1.attention.self.key.bias"]
    with pytest.raises(
        MigrationError, match=r"merge: missing 'encoder\.layer\.1\.attention\.self\.key\.bias'"
    ):
        bert.build(**SMALL).load_state_dict({key: kellet.tensor(value) for key, value in old.items()})
