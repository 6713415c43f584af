"""PyTorch models out of archives: tensors over the map of the file, and golden calls."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from packager import PackageExporter, PackageImporter, sys_importer

Project = Callable[[Mapping[str, str]], Path]

GREEDY = (
    "from torch import nn\n"
    "class Greedy(nn.Module):\n"
    "    def forward(self, x):\n"
    "        return x.add_(1).sum()\n"
)


def archive(path: Path, model: nn.Module) -> Path:
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", model)
    return path


def inside_map(tensor: Any, path: Path) -> bool:
    """Whether the memory of a tensor is a map of the file."""
    lines = [line.split() for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()]
    ranges = [line[0].split("-") for line in lines if line[-1] == str(path)]
    return any(int(start, 16) <= tensor.data_ptr() < int(end, 16) for start, end in ranges)


def test_weights_lie_in_the_map_and_training_leaves_the_file_alone(tmp_path: Path) -> None:
    path = archive(tmp_path / "net.kellet", nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16)))
    before = path.read_bytes()
    with PackageImporter(path) as importer:
        model = importer.load_object("model", "model")
    weights = [model[0].weight, model[0].bias, model[1].weight, model[1].running_mean]
    assert all(inside_map(tensor, path) for tensor in weights)
    assert all(tensor.data_ptr() % 64 == 0 for tensor in weights)
    kept = model[0].weight.detach().clone()
    model(torch.randn(4, 32)).square().sum().backward()
    assert not torch.equal(model[1].running_mean, torch.zeros(16))
    with torch.no_grad():  # a step of SGD; its class takes seconds to import
        for parameter in model.parameters():
            parameter -= parameter.grad
    assert not torch.equal(model[0].weight, kept)
    assert path.read_bytes() == before
    with PackageImporter(path) as importer:
        assert torch.equal(importer.load_object("model", "model")[0].weight, kept)


def test_tensors_of_one_archive_that_is_loaded_twice_do_not_share_changes(tmp_path: Path) -> None:
    path = archive(tmp_path / "net.kellet", nn.Linear(16, 16))
    with PackageImporter(path) as importer:
        first, second = (importer.load_object("model", "model") for _ in range(2))
    with torch.no_grad():
        first.weight.zero_()
    assert second.weight.abs().sum() > 0


def test_a_golden_call_may_change_its_inputs_in_place(project: Project) -> None:
    project({"greedy.py": GREEDY})
    import greedy  # type: ignore[import-not-found]  # written above

    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", greedy.Greedy())
        exporter.save_example("model", {"x": np.zeros(3, "f4")})
    with PackageImporter(file) as importer:
        for _ in range(2):
            (outcome,) = importer.check()
            assert [(one.name, one.same_bits) for one in outcome.deviations] == [("output", True)]


def test_inputs_of_a_call_may_run_backwards(project: Project) -> None:
    project({"greedy.py": GREEDY})
    import greedy

    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", greedy.Greedy())
    with PackageImporter(file) as importer:
        x = np.arange(3, dtype="f4")[::-1]
        assert importer.run({"x": x}) == {"output": 6}
        assert x.tolist() == [2, 1, 0]


RECURRENT = """
import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.norm = nn.BatchNorm1d(6)
        self.held = [*self.rnn.parameters()]

    def forward(self, x):
        return self.norm(self.rnn(x)[0].transpose(1, 2))


def step(model, optimizer):
    optimizer.zero_grad()
    model(torch.linspace(-1, 1, 40).reshape(2, 5, 4)).square().mean().backward()
    optimizer.step()
    return [one.detach().numpy().tobytes() for one in [*model.parameters(), *model.buffers()]]
"""


def test_an_rnn_beside_a_batchnorm_trains_on_as_the_original_and_is_stored_the_same_again(
    project: Project, tmp_path: Path
) -> None:
    project({"reading.py": RECURRENT})
    import reading  # type: ignore[import-not-found]  # written above

    model = reading.Reader()
    stored = {"model": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)}
    reading.step(**stored)
    stored["optimizer"].zero_grad()
    paths = [tmp_path / "first.kellet", tmp_path / "again.kellet"]
    with PackageExporter(paths[0], policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", stored)
    with PackageImporter(paths[0]) as importer:
        loaded = importer.load_object("model", "model")
        with PackageExporter(
            paths[1], importer=(importer, sys_importer), policy="auto", prove=False
        ) as exporter:
            exporter.save_object("model", "model", loaded)
        assert [*map(id, loaded["model"].held)] == [*map(id, loaded["model"].rnn.parameters())]
        assert reading.step(**loaded) == reading.step(**stored)
        assert reading.step(**loaded) == reading.step(**stored)
    assert paths[1].read_bytes() == paths[0].read_bytes()


PATCHES = """
from einops.layers.torch import Rearrange, Reduce
from torch import nn


class Patches(nn.Module):
    def __init__(self):
        super().__init__()
        self.cut = Rearrange("b c (h p) w -> b h (p w c)", p=2)
        self.mean = Reduce("b h n -> b n", "mean")
        self.mark = object()

    def forward(self, x):
        return self.mean(self.cut(x))
"""


def test_layers_of_einops_and_bare_objects_come_back_beside_stored_code(project: Project) -> None:
    project({"patches.py": PATCHES})
    from patches import Patches  # type: ignore[import-not-found]  # written just now

    model, x = Patches(), torch.arange(24.0).reshape(1, 2, 4, 3)
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", model)
        assert exporter.interned_modules() == ["patches"]
    with PackageImporter(file) as importer:
        loaded = importer.load_object("model", "model")
        assert torch.equal(loaded(x), model(x))
        assert type(loaded.mark) is object
