"""As test_training_mode.py, of models of PyTorch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

import packager
from packager.errors import PackagingWarning

from .test_training_mode import TOLD


def test_a_model_in_training_mode_is_told(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout())
    with pytest.warns(PackagingWarning, match=f"{re.escape(TOLD)}. In this mode the example gives another"):
        packager.save(model, tmp_path / "net.kellet", example=torch.ones(3, 2))
    packager.save(model.eval(), tmp_path / "net.kellet", example=torch.ones(3, 2))
