"""Which classes of PyTorch a name of a family may turn out to be."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from typing import Any

import torch
from torch import nn

from packager.objects.resolving import _MEETS

STEPS = torch.optim.lr_scheduler.StepLR
AVERAGED = torch.optim.swa_utils.AveragedModel


@pytest.mark.parametrize(
    ("condition", "obj", "meets"),
    [
        ("torch module", nn.Linear, True),
        ("torch module", torch.optim.SGD, False),
        ("torch module", nn.ReLU(), False),
        ("torch optimizer", torch.optim.SGD, True),
        ("torch optimizer", STEPS, True),
        ("torch optimizer", AVERAGED, True),
        ("torch optimizer", dict, False),
        ("torch optimizer", torch.relu, False),
    ],
)
def test_a_name_of_a_family_is_a_class_of_it(condition: str, obj: Any, meets: bool) -> None:
    assert _MEETS[condition](obj) is meets
