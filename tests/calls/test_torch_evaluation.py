"""Checks of PyTorch's modules are recorded and repeated in evaluation mode."""

import pytest

pytest.importorskip("torch")

import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from packager import PackageExporter, PackageImporter, PackagingError
from packager._calls import Before, in_mode
from packager.errors import PackagingWarning

Project = Callable[[Mapping[str, str]], Path]

NET = """
from weakref import WeakKeyDictionary
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 64)
        self.norm = nn.BatchNorm1d(64)
        self.drop = nn.Dropout(0.5)
    def forward(self, x):
        return self.drop(self.norm(self.layer(x)))

class Holder:
    def __init__(self):
        self.parts = {"nets": [Net()]}
    def predict(self, x):
        return self.parts["nets"][0](torch.as_tensor(x))

class Noisy(Net):
    def forward(self, x):
        return super().forward(x) + torch.randn(1)

class Writing(Net):
    def __init__(self):
        super().__init__()
        self.cache = []
        self.register_buffer("seen", torch.zeros(()))
    def forward(self, x):
        self.seen += 1
        found = super().forward(x) * self.seen
        self.cache.append(found)
        self.last = found
        self.layer.bias.data.add_(1)
        self.norm.weight.data = self.norm.weight.data * 2
        found.sum().backward()
        self.layer.weight.requires_grad_(False)
        return found

GAINS = WeakKeyDictionary()

class Outside(Net):
    def __init__(self):
        super().__init__()
        GAINS[self] = 4.0
    @property
    def gain(self):
        return GAINS.get(self, 1.0)
    def forward(self, x):
        return super().forward(x) * self.gain

class Unseeded(Net):
    def forward(self, x):
        generator = torch.Generator()
        generator.seed()
        return super().forward(x) + torch.randn(1, generator=generator)
"""
X = np.random.default_rng(0).normal(size=(5, 2)).astype("f4")


@pytest.mark.parametrize(("name", "callable"), [("Net", None), ("Holder", "predict")])
def test_a_check_of_a_model_in_training_mode_passes(
    project: Project, name: str, callable: str | None
) -> None:
    project({"torcheval/__init__.py": NET})
    import torcheval

    model = getattr(torcheval, name)()
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_object("model", "model", model)
    exporter.save_entry_point("main", "model", "model", callable)
    exporter.save_example("main", {"x": X})
    with pytest.warns(PackagingWarning, match="stored in training mode"):
        exporter.close()
    net = model if callable is None else model.parts["nets"][0]
    assert all(module.training for module in net.modules())
    with PackageImporter(buffer) as importer:
        (outcome,) = importer.check()
        assert outcome.within(0)
        loaded = importer.load_object("model", "model")
        assert (loaded if callable is None else loaded.parts["nets"][0]).training


@pytest.mark.parametrize(("name", "training"), [("Noisy", False), ("Net", True)])
def test_what_draws_from_the_generator_of_the_process_is_repeatable(
    project: Project, name: str, training: bool
) -> None:
    project({"torcheval/__init__.py": NET})
    import torcheval

    model, buffer = getattr(torcheval, name)().train(training), io.BytesIO()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    stands = torch.get_rng_state()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", model)
        exporter.save_example("model", {"x": X}, training=training)
    assert torch.equal(torch.get_rng_state(), stands)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    with PackageImporter(buffer) as importer:
        for seed in (1, 2):
            torch.manual_seed(seed)
            (outcome,) = importer.check()
            assert outcome.within(0)
        assert torch.initial_seed() == 2


def test_a_call_that_draws_from_nowhere_is_not_repeatable(project: Project) -> None:
    project({"torcheval/__init__.py": NET})
    import torcheval

    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", torcheval.Unseeded())
    exporter.save_example("model", {"x": X})
    (told,) = exporter.plan().warnings
    assert re.match(
        r"check model is not repeatable: .* gave another output \(off by .*\)\. Outputs are not comp", told
    )


@pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning")
def test_scripted_and_exported_modules_are_set_and_set_back() -> None:
    scripted = torch.jit.trace(nn.Sequential(nn.Linear(2, 2), nn.Dropout()).eval(), torch.ones(1, 2)).train()
    exported = torch.export.export(nn.Linear(2, 2), (torch.ones(1, 2),)).module()
    with in_mode({"a": [scripted, exported]}):
        assert not any(module.training for module in scripted.modules())
    assert all(module.training for module in scripted.modules())


@pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_what_torchscript_writes_into_itself_is_put_back() -> None:
    plain = nn.Sequential(nn.BatchNorm1d(2), nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    traced = torch.jit.trace(plain.train(), torch.as_tensor(X))
    holder = SimpleNamespace(nets=[traced])
    before = {key: value.clone() for key, value in traced.state_dict().items()}
    noted = Before(holder)
    for _ in range(2):
        traced(torch.as_tensor(X)).sum().backward()
        assert not all(value.equal(before[key]) for key, value in traced.state_dict().items())
        noted.put_back()
        after = {key: value.equal(before[key]) for key, value in traced.state_dict().items()}
        assert after == dict.fromkeys(before, True)
        assert [weight.grad for weight in traced.parameters()] == [None] * 6


def test_what_a_call_writes_into_a_network_is_put_back(project: Project) -> None:
    project({"torcheval/__init__.py": NET})
    import torcheval

    model, buffer = torcheval.Writing(), io.BytesIO()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    parts, weight = [*vars(model)], model.layer.weight
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", model)
        exporter.save_example("model", {"x": X}, training=True)
    assert {key: value.equal(before[key]) for key, value in model.state_dict().items()} == dict.fromkeys(
        before, True
    )
    assert ([*vars(model)], model.cache, weight.grad, weight.requires_grad) == (parts, [], None, True)
    assert model.layer.weight is weight
    with PackageImporter(buffer) as importer:
        assert importer.check()[0].within(0)


def test_state_of_a_network_that_no_copy_takes_along_is_refused(project: Project) -> None:
    project({"torcheval/__init__.py": NET})
    import torcheval

    model = torcheval.Outside()
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", model)
    exporter.save_example("model", {"x": X})
    with pytest.raises(PackagingError, match=r"a copy of the object gives other outputs: output \(off by"):
        exporter.close()
    assert model.gain == 4.0
