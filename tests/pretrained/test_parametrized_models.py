"""A model whose weights are parametrised is as it was after it was packed, and can be packed again."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import copy

import torch
from torch.nn.utils import parametrizations, parametrize

from packager._pretrained import folders


def test_the_model_that_was_copied_keeps_its_weight() -> None:
    model = torch.nn.Sequential(parametrizations.weight_norm(torch.nn.Conv1d(2, 3, 2)), torch.nn.ReLU())
    x = torch.randn(1, 2, 5)
    expected = model(x)
    for _ in range(2):
        plain = folders._without_parametrizations(copy.deepcopy(model))
        assert not any(map(parametrize.is_parametrized, plain.modules()))
        assert type(plain[0]) is torch.nn.Conv1d
        assert torch.equal(plain(x), expected)
        assert parametrize.is_parametrized(model[0])
        assert torch.equal(model(x), expected)
