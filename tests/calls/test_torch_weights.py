"""Weights in files of torch.save are loaded into kellet and PyTorch modules alike."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from pathlib import Path
from typing import Any

import torch

from kellet import nn
from packager._calls import load_weights
from packager.errors import LegacyFormatError


@pytest.mark.parametrize("module", [nn.Linear(2, 1), torch.nn.Linear(2, 1)], ids=["kellet", "torch"])
def test_a_state_dict_of_torch_is_loaded(module: Any, tmp_path: Path) -> None:
    source = torch.nn.Linear(2, 1)
    torch.save(source.state_dict(), tmp_path / "w.pt")
    load_weights(module, tmp_path / "w.pt")
    assert module.weight.tolist() == source.weight.tolist()
    assert module.bias.tolist() == source.bias.tolist()


def test_a_checkpoint_that_is_no_state_dict_is_refused_with_what_it_holds(tmp_path: Path) -> None:
    torch.save({"epoch": 3, "state_dict": {}}, tmp_path / "w.pth")
    with pytest.raises(LegacyFormatError, match=r"w\.pth: found no state dict, but"):
        load_weights(nn.Linear(2, 1), tmp_path / "w.pth")
