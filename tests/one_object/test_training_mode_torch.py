"""As test_training_mode.py, of models of PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

import packager

from .test_training_mode import TOLD


def test_a_model_in_training_mode_is_told(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout())
    assert TOLD in str(packager.save(model, tmp_path / "net.kellet", example=torch.ones(3, 2)))
    assert TOLD not in str(packager.save(model.eval(), tmp_path / "net.kellet", example=torch.ones(3, 2)))
