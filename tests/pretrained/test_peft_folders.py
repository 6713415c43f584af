"""Folders of peft, sentence-transformers and diffusers, and pipelines as objects."""

from __future__ import annotations

import pytest

pytest.importorskip("diffusers")
pytest.importorskip("peft")
pytest.importorskip("sentence_transformers")
pytest.importorskip("torch")

import json
import runpy
from collections.abc import Callable
from pathlib import Path

import diffusers
import numpy as np
import peft
import sentence_transformers
import torch

from packager import PackageExporter, PackageImporter
from packager._pretrained import PretrainedError, open_pretrained
from tests.pretrained.test_transformers_folders import aligned

MAKERS = runpy.run_path(str(Path(__file__).parents[2] / "fixtures" / "hugging_face" / "folders.py"))["MAKERS"]
TEXTS = ["the quick brown fox", "dogs"]
Made = Callable[[str], Path]

# Of peft's own, about an attribute of transformers.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Make a folder once, by its name."""
    root = tmp_path_factory.mktemp("folders")

    def make(name: str) -> Path:
        if not (root / name).exists():
            torch.manual_seed(0)
            MAKERS[name](root / name)
        return root / name

    return make


def test_an_adapter_is_packed_with_its_base_model(made: Made, tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        wrapper = exporter.save_pretrained(made("peft"))
    assert isinstance(wrapper.model, peft.PeftModel)
    ids = torch.arange(5, 11)[None]
    with PackageImporter(tmp_path / "net.kellet") as importer, torch.no_grad():
        loaded = importer.load_object("model", "model")
        assert torch.equal(loaded.model(ids).logits, wrapper.model(ids).logits)
        with loaded.model.disable_adapter():
            assert not torch.equal(loaded.model(ids).logits, wrapper.model(ids).logits)
        assert importer.run({"text": TEXTS[0]})["output"] == wrapper(TEXTS[0])


def test_an_adapter_without_its_base_model_says_where_it_is_looked_for(made: Made, tmp_path: Path) -> None:
    config = json.loads((made("peft") / "adapter_config.json").read_text("utf-8"))
    (tmp_path / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": "gone"}))
    with pytest.raises(PretrainedError, match="its adapter needs the base model gone"):
        open_pretrained(tmp_path)


def test_a_sentence_transformer_gives_vectors_and_compares_them(made: Made, tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        wrapper = exporter.save_pretrained(made("sentences"))
    assert isinstance(wrapper.model, sentence_transformers.SentenceTransformer)
    assert not any("needs names" in warning for warning in exporter.plan().warnings)
    aligned(wrapper.model)
    expected = wrapper(TEXTS)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert np.array_equal(importer.run({"text": TEXTS})["output"], expected)
        loaded = importer.load_object("model", "model").model
        assert loaded.similarity_fn_name == "cosine"
        assert torch.equal(
            loaded.similarity(expected, expected), wrapper.model.similarity(expected, expected)
        )
        assert loaded.model_card_data.model is loaded
    assert wrapper.model._similarity is not None  # saving left it as it was


@pytest.mark.parametrize("as_object", [False, True])
def test_a_pipeline_of_diffusers_makes_the_same_images(made: Made, tmp_path: Path, as_object: bool) -> None:
    source = diffusers.DDPMPipeline.from_pretrained(made("diffusion")) if as_object else made("diffusion")
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        wrapper = exporter.save_pretrained(source)
        exporter.save_example("model", {"steps": 2, "seed": 1})
    assert not any("trust" in warning for warning in exporter.plan().warnings)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        (check,) = importer.check()
        assert check.within(0)
        loaded = importer.load_object("model", "model").pipeline
        assert type(loaded.config) is type(wrapper.pipeline.config)
        assert loaded.unet.config.block_out_channels == wrapper.pipeline.unet.config.block_out_channels
    assert type(wrapper.pipeline.unet.config).__name__ == "FrozenDict"
