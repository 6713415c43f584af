"""A model of a large library: what matters is told, and nothing of what the library is full of."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import io
import re

import torch
from transformers import BertConfig, BertModel

from packager import PackageExporter


@pytest.fixture(scope="module")
def model() -> torch.nn.Module:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    return BertModel(BertConfig(**sizes, vocab_size=20, max_position_embeddings=8)).eval()


def concerns(model: torch.nn.Module, *rules: str) -> list[str]:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    for rule in rules:
        exporter.intern(rule)
    exporter.save_object("model", "model", model)
    plan = exporter.plan()
    assert plan.ok
    return [line.strip() for line in plan.concerns().splitlines() if line.strip()]


def test_a_stored_library_says_at_most_one_line(model: torch.nn.Module) -> None:
    assert len(concerns(model, "transformers.**")) <= 1


def test_a_library_left_to_the_target_is_told_once_and_its_names_in_one_line(model: torch.nn.Module) -> None:
    heading, told, names = concerns(model)
    assert heading == "warnings:"
    # Its shorter name is found where the process has asked for it before.
    assert re.match(r"no module is stored: transformers[\w.]*:BertModel, the class of object", told)
    assert names.startswith("object model/model needs names that loaders refuse without trust")
