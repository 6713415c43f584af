"""The names that are hinted at are PyTorch's."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from kellet.absent import HINTS, OF_MODULES, OF_TENSORS

PLACES = (
    *(torch, torch.nn, torch.nn.functional, torch.nn.init, torch.nn.utils, torch.optim, torch.linalg),
    *(torch.optim.lr_scheduler, torch.cuda, torch.distributed, torch.autograd, torch.backends, torch.utils),
    *(torch.amp, torch.Tensor, torch.autograd.functional),
)


@pytest.mark.parametrize("name", sorted({*HINTS} - {"SummaryWriter", "benchmark", "rpc"}))
def test_torch_has_the_name(name: str) -> None:
    assert any(hasattr(place, name) for place in PLACES)


def test_tensors_and_modules_of_torch_have_the_names() -> None:
    assert [name for name in OF_TENSORS if not hasattr(torch.Tensor, name)] == []
    assert [name for name in OF_MODULES if not hasattr(torch.nn.Module, name)] == []
