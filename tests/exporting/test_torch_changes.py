"""Tensors of torch that change between the call and `close()` are stored as they were."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import copy
import io
from collections.abc import Callable
from typing import Any

import torch

from packager import PackageExporter, PackageImporter

Change = Callable[[torch.nn.Linear], Any]


def _step(model: torch.nn.Linear) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()


def _without_a_version(model: torch.nn.Linear) -> None:
    version = model.weight._version
    model.weight.data[0, 1] += 1
    model.weight.detach().numpy()[0, 0] += 1
    assert model.weight._version == version


@pytest.mark.parametrize(
    "change",
    [
        _step,
        _without_a_version,
        lambda model: torch.nn.init.zeros_(model.bias),
        lambda model: model.weight.untyped_storage().resize_(0),
        lambda model: setattr(model.weight, "data", torch.zeros(1, 2)),
        lambda model: setattr(model, "weight", torch.nn.Parameter(torch.zeros(3, 2))),
        lambda model: model.double(),
        lambda model: model.to(torch.bfloat16),
        lambda model: model.requires_grad_(False),
        lambda model: model.register_buffer("extra", torch.ones(3)),
        lambda model: model.load_state_dict(
            {"weight": torch.zeros(1, 2), "bias": torch.ones(1)}, assign=True
        ),
    ],
)
def test_a_tensor_that_changed_or_was_replaced_is_stored_as_it_was(change: Change) -> None:
    model, buffer = torch.nn.Linear(2, 1), io.BytesIO()
    expected = copy.deepcopy(model)
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("run", "model", model)
        exporter.save_state_dict("run", "weights", model)
        change(model)
    with PackageImporter(buffer) as importer:
        loaded = importer.load_object("run", "model")
        state = dict(importer.load_state_dict("run", "weights", as_="torch"))
    for key, value in expected.state_dict().items():
        assert torch.equal(loaded.state_dict()[key], value)
        assert torch.equal(state[key], value)
    assert [name for name, _ in loaded.named_buffers()] == []
    assert all(parameter.requires_grad for parameter in loaded.parameters())


def test_three_checkpoints_of_a_model_and_its_optimizer_are_three() -> None:
    model, buffer = torch.nn.Linear(2, 1), io.BytesIO()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    expected = []
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        for epoch in range(3):
            optimizer.zero_grad()
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            both = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            exporter.save_object("run", f"epoch{epoch}", both)
            expected.append(copy.deepcopy(both))
    with PackageImporter(buffer) as importer:
        for epoch, both in enumerate(expected):
            loaded = importer.load_object("run", f"epoch{epoch}")
            assert torch.equal(loaded["model"]["weight"], both["model"]["weight"])
            assert loaded["optimizer"]["state"][0]["step"].item() == epoch + 1
