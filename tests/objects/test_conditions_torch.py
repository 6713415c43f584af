"""Which classes of PyTorch a name of a family may turn out to be."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from typing import Any

import torch
from torch import nn

from packager._audit.own_rows import TORCH_OPTIMIZER
from packager._audit.rows import TORCH_MODULE, IsA

STEPS = torch.optim.lr_scheduler.StepLR
AVERAGED = torch.optim.swa_utils.AveragedModel


@pytest.mark.parametrize(
    ("condition", "obj", "meets"),
    [
        (TORCH_MODULE, nn.Linear, True),
        (TORCH_MODULE, torch.optim.SGD, False),
        (TORCH_MODULE, nn.ReLU(), False),
        (TORCH_OPTIMIZER, torch.optim.SGD, True),
        (TORCH_OPTIMIZER, STEPS, True),
        (TORCH_OPTIMIZER, AVERAGED, True),
        (TORCH_OPTIMIZER, dict, False),
        (TORCH_OPTIMIZER, torch.relu, False),
    ],
)
def test_a_name_of_a_family_is_a_class_of_it(condition: IsA, obj: Any, meets: bool) -> None:
    assert condition.meets(obj) is meets
