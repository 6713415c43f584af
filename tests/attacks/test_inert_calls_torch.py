"""The list of what may run while data is built, held against what PyTorch's own objects call."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.utils import spectral_norm, weight_norm

from packager.testing import CodecContract
from tests.attacks.test_inert_calls import calls_of, contract_tests
from tests.contracts import test_torch_codecs

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning"),
    pytest.mark.unix,  # the view of Windows stands in for `import`, and would be among the calls
]

CONTRACTS = contract_tests(test_torch_codecs)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
def test_what_codecs_of_torch_call_is_in_their_rows(contract: CodecContract) -> None:
    for sample in contract.samples():
        assert calls_of([sample]).outside_the_list() == []


def _used(make: Callable[..., Any], **options: Any) -> Any:
    model = nn.Linear(2, 2)
    optimizer = make(model.parameters(), **options)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return model, optimizer


MODELS: dict[str, Callable[[], Any]] = {
    "layers": lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Dropout(0.1)),
    "recurrent": lambda: nn.ModuleList([nn.LSTM(2, 2), nn.GRU(2, 2, bidirectional=True)]),
    "transformer": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, batch_first=True), 2),
    "norms": lambda: nn.Sequential(weight_norm(nn.Linear(2, 2)), spectral_norm(nn.Linear(2, 2))),
    "bilinear": lambda: nn.ModuleList([nn.Identity(), nn.Bilinear(2, 2, 2)]),
    "adam": lambda: _used(torch.optim.AdamW, amsgrad=True),
    "sgd": lambda: _used(torch.optim.SGD, lr=0.1, momentum=0.9),
    "adagrad": lambda: torch.optim.Adagrad([nn.Parameter(torch.ones(2))]),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_what_models_of_torch_call_is_in_the_list(make: Callable[[], Any]) -> None:
    assert calls_of([make()]).outside_the_list() == []
