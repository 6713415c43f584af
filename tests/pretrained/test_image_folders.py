"""Folders of models that see, with a tokenizer beside: texts and images in, or text out for an image."""

from __future__ import annotations

import pytest

pytest.importorskip("PIL")
pytest.importorskip("torch")
pytest.importorskip("transformers")

from collections.abc import Callable
from pathlib import Path

import numpy as np
import PIL  # noqa: F401  # transformers asks for it to read images
import torch
import transformers

from packager import PackageExporter, PackageImporter
from packager._pretrained import PretrainedError, open_pretrained
from tests.pretrained.test_transformers_folders import TEXTS, aligned, packed
from tests.pretrained.test_transformers_folders import made as made  # a fixture

Made = Callable[[str], Path]
IMAGE = (np.arange(48 * 40 * 3) % 255).reshape(48, 40, 3).astype("u1")


def test_a_model_of_texts_and_images_compares_them(made: Made, tmp_path: Path) -> None:
    wrapper, exporter = packed(made("clip"), tmp_path / "net.kellet")
    (schema,) = exporter.plan().schemas
    assert str(schema).startswith("model(text: text | list[text], image: ")
    expected = wrapper(TEXTS, IMAGE)
    before = aligned(transformers.CLIPModel.from_pretrained(made("clip")))
    inputs = wrapper.tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        direct = before(**inputs, **wrapper.processor(images=IMAGE, return_tensors="pt"))
    assert torch.equal(expected["logits_per_image"], direct.logits_per_image)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        answer = importer.run({"text": TEXTS, "image": IMAGE})
    for name, value in expected.items():
        assert np.array_equal(answer[f"output.{name}"], value.numpy()), name


def test_a_model_describes_an_image(made: Made, tmp_path: Path) -> None:
    wrapper, _ = packed(made("captions"), tmp_path / "net.kellet")
    seen = wrapper.processor(images=IMAGE, return_tensors="pt")
    ids = wrapper.model.generate(**seen, do_sample=False, max_new_tokens=5)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        loaded = importer.load_object("model", "model")
        assert torch.equal(loaded.model.generate(**seen, do_sample=False, max_new_tokens=5), ids)
        answer = importer.run({"image": IMAGE, "max_new_tokens": 5})
    assert answer == {"output": wrapper.tokenizer.decode(ids[0], skip_special_tokens=True)}


def test_a_model_that_reads_images_as_marks_in_a_text_is_refused_with_a_way_out(
    made: Made, tmp_path: Path
) -> None:
    parts = open_pretrained(made("clip"))
    parts.model.config.image_token_id = 7
    said = r"CLIPModel takes texts with marks for images or sounds .image_token_id.*packager\.save"
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False)
    with pytest.raises(PretrainedError, match=said):
        exporter.save_pretrained(parts.model, tokenizer=parts.tokenizer, processor=parts.processor)
