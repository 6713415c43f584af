"""Corners of PyTorch, with models that no other test has: saved by one fresh process, loaded by another."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from pathlib import Path
from typing import Any

import torch  # noqa: F401 - where it is not, neither are these tests

from .points import answers, write

PROJECT = {
    "grove.py": """
        import torch
        from torch import nn
        from torch.nn.utils import spectral_norm

        class Leaf(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(7, 4, padding_idx=2, max_norm=3.0)
                self.rnn = nn.GRU(4, 3, bidirectional=True, batch_first=True)
                self.norm = nn.ModuleDict({"a": nn.GroupNorm(3, 6), "b": nn.InstanceNorm1d(6, affine=True)})
                self.out = spectral_norm(nn.Linear(6, 5, bias=False))
                self.again = nn.Linear(5, 6)
                self.again.weight = nn.Parameter(self.out.weight_orig.detach().T.clone())
                self.register_buffer("seen", torch.arange(3, dtype=torch.int16), persistent=False)
                self.scale = nn.ParameterList([torch.full((1,), 0.5), torch.tensor(2.0)])

            def forward(self, x):
                found, _ = self.rnn(self.embed(x))
                found = self.norm["b"](self.norm["a"](found.transpose(1, 2)))
                found = self.again(self.out(found.transpose(1, 2)))
                return found * self.scale[0] + self.seen.sum() * self.scale[1]

        class Bark(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 4).bfloat16()
                self.b = self.a
                self.c = nn.Parameter(self.a.weight.data.T)
                self.d = spectral_norm(nn.Linear(4, 4).double())
            def forward(self, x):
                return self.d(self.b(self.a(x.bfloat16())).double()) @ self.c.double()

        def leaf():
            torch.manual_seed(8)
            return Leaf()

        def bark():
            torch.manual_seed(9)
            return Bark().eval()

        X = torch.tensor([[0, 1, 2], [6, 5, 3]])
        Y = torch.linspace(-1, 1, 8).reshape(2, 4)

        def trained(model, kind, **options):
            import torch.nn.functional as F
            optimizer = kind(model.parameters(), **options)
            for _ in range(3):
                optimizer.zero_grad()
                model(X if isinstance(model, Leaf) else Y).pow(2).mean().backward()
                optimizer.step()
            return optimizer
    """,
}
EXPORT = """
import os

sys.path.insert(0, os.getcwd())
import torch
from packager import PackageExporter
import grove

KINDS = {
    "adam": (torch.optim.NAdam, {"lr": 0.01}),
    "sgd": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "rprop": (torch.optim.Rprop, {"lr": 0.02}),
}

def saved():
    told = {}
    with PackageExporter("../grove.kellet", policy="auto") as exporter:
        for name, (kind, options) in KINDS.items():
            model = grove.leaf()
            optimizer = grove.trained(model, kind, **options)
            exporter.save_state_dict("model", name, model.state_dict())
            exporter.save_state_dict("optimizer", name, optimizer.state_dict())
            told[name] = model.eval()(grove.X).double().sum().item()
            model.train()
            for _ in range(2):
                optimizer.zero_grad()
                model(grove.X).pow(2).mean().backward()
                optimizer.step()
            told[name + " on"] = model.eval()(grove.X).double().sum().item()
        exporter.save_object("model", "leaf", grove.leaf())
        exporter.save_object("model", "bark", grove.bark())
        strided = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
        exporter.save_state_dict(
            "model",
            "views",
            {
                "strided": strided,
                "part": strided[1:, :, ::2],
                "cl": torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
                "bf": torch.arange(6).bfloat16().reshape(2, 3),
                "none": torch.empty(0, 4),
                "one": torch.tensor(3),
            },
        )
    torch.save({"w": torch.arange(4.0), "b": torch.ones(2, dtype=torch.int8)}, "../plain.pt")
    told["leaf"] = grove.leaf().eval()(grove.X).double().sum().item()
    told["bark"] = grove.bark()(grove.Y).sum().item()
    return told

point("saved", saved)
"""
LOAD = """
import copy, io, os, pickle
import numpy as np
import torch
from packager import PackageExporter, PackageImporter, sys_importer

importer = PackageImporter(os.path.join(HOME, "grove.kellet"))
grove = importer.import_module("grove")
KINDS = {
    "adam": (torch.optim.NAdam, {"lr": 0.01}),
    "sgd": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "rprop": (torch.optim.Rprop, {"lr": 0.02}),
}

def goes_on(name):
    kind, options = KINDS[name]
    model = grove.Leaf()
    said = str(model.load_state_dict(importer.load_state_dict("model", name)))
    found = [model.eval()(grove.X).double().sum().item()]
    optimizer = kind(model.parameters(), **options)
    optimizer.load_state_dict(importer.load_state_dict("optimizer", name))
    model.train()
    for _ in range(2):
        optimizer.zero_grad()
        model(grove.X).pow(2).mean().backward()
        optimizer.step()
    return said, [*found, model.eval()(grove.X).double().sum().item()]

for name in KINDS:
    point("goes on with " + name, lambda: goes_on(name))

def objects():
    leaf, bark = importer.load_object("model", "leaf"), importer.load_object("model", "bark")
    tied = bark.a is bark.b, bark.c.data_ptr() == bark.a.weight.data_ptr(), bark.c.stride()
    return leaf.eval()(grove.X).double().sum().item(), bark(grove.Y).sum().item(), tied, leaf.training

point("objects", objects)

def again():
    same = []
    with PackageExporter("again.kellet", policy="auto", importer=(importer, sys_importer)) as exporter:
        for package, name in (("model", "leaf"), ("model", "bark")):
            exporter.save_object(package, name, importer.load_object(package, name))
    with PackageImporter("again.kellet") as other:
        for name in ("leaf", "bark"):
            for entry in (f"model/{name}", f"model/{name}.safetensors"):
                same.append(other.archive.read(entry) == importer.archive.read(entry))
    return same

point("the same bytes again", again)
views = importer.load_state_dict("model", "views")

def parts():
    every = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    array = every.numpy()
    asked = [
        (slice(1, 3),),
        (slice(None), 1),
        (..., slice(None, None, 2)),
        (slice(3, None, -2), ..., slice(0, 1)),
        (-1, 0, 2),
        (slice(5, 2),),
        (2, ..., slice(None, None, -1)),
        (...,),
    ]
    return [np.array_equal(np.asarray(views.part("strided", *index)), array[index]) for index in asked]

point("parts", parts)

def lazily():
    from packager.migrations import Migration, load_checkpoint, rename

    net = torch.nn.Sequential(torch.nn.LazyConv2d(5, 3), torch.nn.ReLU(), torch.nn.LazyLinear(2))
    old = {
        "stem.weight": torch.arange(90.0).reshape(5, 2, 3, 3),
        "stem.bias": torch.ones(5),
        "top.weight": torch.ones(2, 7),
        "top.bias": torch.zeros(2),
    }
    torch.save(old, "lazy.pt")
    steps = [rename("stem.{k}", "0.{k}"), rename("top.{k}", "2.{k}")]
    said = str(load_checkpoint(net, "lazy.pt", Migration("m", steps)))
    return (
        said,
        list(net[0].weight.shape),
        list(net[2].weight.shape),
        torch.equal(net[0].weight, old["stem.weight"]),
    )

point("lazy modules", lazily)

def copied():
    buffer = io.BytesIO()
    torch.save(dict(views), buffer)
    buffer.seek(0)
    kinds = [
        copy.copy(views),
        copy.deepcopy(views),
        pickle.loads(pickle.dumps(views)),
        views.copy(),
        {**views},
        torch.load(buffer),
    ]
    return [
        (
            type(one).__name__,
            sorted(one) == sorted(views),
            all(torch.equal(torch.as_tensor(one[key]), torch.as_tensor(views[key])) for key in views),
        )
        for one in kinds
    ]

point("copied", copied)

def placed(where):
    there = torch.load(os.path.join(HOME, "plain.pt"), map_location=where)
    here = importer.load_state_dict("model", "views", map_location=where)
    return {str(one.device) for one in there.values()} == {
        str(torch.as_tensor(one).device) for one in here.values()
    }, sorted({str(one.device) for one in here.values()})

for told, where in (
    ("cpu", "cpu"),
    ("device", torch.device("cpu")),
    ("dict", {"cpu": "meta"}),
    ("other dict", {"cuda:0": "cpu"}),
    ("meta", "meta"),
    ("function", lambda storage, place: storage),
    ("function none", lambda storage, place: None),
):
    point("map_location " + told, lambda: placed(where))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grove")
    write(folder / "project", PROJECT)
    return folder


@pytest.fixture(scope="module")
def saved(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = answers(EXPORT, folder / "project")["saved"]
    return found


@pytest.fixture(scope="module")
def there(folder: Path, saved: dict[str, Any]) -> dict[str, Any]:
    return answers(f"HOME = {str(folder)!r}\n{LOAD}", folder / "empty", "-I")


@pytest.mark.parametrize("name", ["adam", "sgd", "rprop"])
def test_a_model_and_its_optimiser_go_on_to_the_bit(
    saved: dict[str, Any], there: dict[str, Any], name: str
) -> None:
    assert there[f"goes on with {name}"] == [
        "<All keys matched successfully>",
        [saved[name], saved[f"{name} on"]],
    ]


def test_objects_answer_the_same_with_their_ties(saved: dict[str, Any], there: dict[str, Any]) -> None:
    assert there["objects"] == [saved["leaf"], saved["bark"], [True, True, [1, 4]], False]


def test_what_is_loaded_is_stored_as_the_same_bytes(there: dict[str, Any]) -> None:
    assert there["the same bytes again"] == [True] * 4


def test_parts_are_those_of_the_whole_tensor_on_any_axis(there: dict[str, Any]) -> None:
    assert there["parts"] == [True] * 8


def test_the_mapping_is_copied_pickled_and_saved(there: dict[str, Any]) -> None:
    assert there["copied"] == [*[["OrderedDict", True, True]] * 4, *[["dict", True, True]] * 2]


def test_lazy_modules_take_the_shapes_of_an_old_file(there: dict[str, Any]) -> None:
    assert there["lazy modules"] == ["<All keys matched successfully>", [5, 2, 3, 3], [2, 7], True]


@pytest.mark.parametrize(
    ("told", "device"),
    [
        ("cpu", "cpu"),
        ("device", "cpu"),
        ("dict", "meta"),
        ("other dict", "cpu"),
        ("meta", "meta"),
        ("function", "cpu"),
        ("function none", "cpu"),
    ],
)
def test_tensors_go_where_torch_puts_them(there: dict[str, Any], told: str, device: str) -> None:
    assert there[f"map_location {told}"] == [True, [device]]
