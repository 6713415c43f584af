"""Convolutions of PyTorch Geometric come back, from data alone too, and nothing that they say is run."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import warnings
from typing import Any

import torch

from packager._audit import UntrustedNamesError
from packager._objects import ObjectBuildError
from packager._objects.records import Kind as K
from packager.testing import CodecContract, round_trip
from tests.attacks import object_forger as forge
from tests.contracts.built_in import by_name

with warnings.catch_warnings():  # it is written for an older PyTorch
    warnings.simplefilter("ignore")
    import torch_geometric.nn as geometric
from torch_geometric.nn.conv import message_passing

X = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
EDGES = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])


def used(made: Any) -> None:
    """Ask an inspector what a convolution asks it when it is made and called."""
    methods = [*made._signature_dict]
    for name in methods:
        made.get_params(name, exclude=["inputs"])
        made.get_param_names(name)
        made.implements(name)
        str(made.get_signature(name))
    made.get_flat_params(methods, exclude=["index", "ptr", "dim_size"])
    made.collect_param_data("message", dict.fromkeys(made.get_param_names("message"), X))


class TestInspector(CodecContract):
    codec = by_name("torch_geometric.inspector")

    def samples(self) -> list[Any]:
        return [
            geometric.GCNConv(4, 2).inspector,
            geometric.GATConv(4, 2).inspector,
            geometric.SAGEConv(4, 2).inspector,
        ]

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample._cls is loaded._cls and sample._signature_dict == loaded._signature_dict


MODELS = {
    "gcn": lambda: geometric.GCN(4, 8, 2, 3),
    "gat": lambda: geometric.GAT(4, 8, 2, 3),
    "sage": lambda: geometric.GraphSAGE(4, 8, 2, 3),
    "gin": lambda: geometric.GIN(4, 8, 2, 3, norm="batch_norm"),
    "convolutions": lambda: torch.nn.ModuleList([geometric.GCNConv(4, 4), geometric.GATv2Conv(4, 4)]),
}


def answer(model: Any) -> torch.Tensor:
    parts = model if isinstance(model, torch.nn.ModuleList) else [model]
    found = X
    with torch.no_grad():
        for part in parts:
            found = part.eval()(found, EDGES)
    return found


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_model_comes_back_without_trust_and_no_code_is_written(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    made = make()
    expected = answer(made)

    def refuse(*given: Any, **options: Any) -> Any:
        raise AssertionError("a module was written, to be run")

    monkeypatch.setattr(message_passing, "module_from_template", refuse)
    monkeypatch.setattr(message_passing.MessagePassing, "_set_jittable_templates", refuse)
    trip = round_trip(made)
    assert trip.is_stable
    assert torch.equal(answer(trip.object), expected)


def test_without_the_module_that_a_convolution_writes_it_computes_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = geometric.GCNConv(4, 2)
    expected = answer(made)
    original = type(made)._orig_propagate
    loaded = round_trip(made).object
    monkeypatch.setattr(type(made), "propagate", original)
    assert torch.equal(answer(loaded), expected)


def test_hooks_of_a_convolution_are_refused_in_data_alone() -> None:
    made = geometric.GCNConv(4, 2)
    made._message_forward_hooks[0] = torch.relu
    with pytest.raises(ObjectBuildError, match="_message_forward_hooks of GCNConv holds hooks"):
        round_trip(made)


def forged(*texts: str, of: tuple[str, str] = ("torch_geometric.nn.conv", "GCNConv")) -> Any:
    table = forge.table_of(
        [[K.GLOBAL, *of], [K.CODEC, 1, list(texts), -1]], codecs=["torch_geometric.inspector"]
    )
    return forge.load(forge.archive_of(table, externs=("torch_geometric",)), trust=())


FORGED: dict[str, tuple[tuple[str, ...], str]] = {
    "another method": (("forward x",), "methods of a convolution, each once"),
    "a method of the class": (("__init__ self",), "methods of a convolution, each once"),
    "a method twice": (("message x_j", "message x_j"), "methods of a convolution, each once"),
    "a parameter of none": (("message import os",), "parameters of message"),
    "no text": (("",), "methods of a convolution, each once"),
}


@pytest.mark.parametrize(("texts", "message"), FORGED.values(), ids=FORGED)
def test_an_inspector_that_says_what_no_class_says_is_refused(texts: tuple[str, ...], message: str) -> None:
    with pytest.raises(Exception, match=message):
        forged(*texts)


def test_an_inspector_of_a_class_that_is_no_convolution_is_refused() -> None:
    with pytest.raises(ObjectBuildError, match="a class with a method message"):
        forged("message x_j", of=("torch_geometric.nn.dense", "Linear"))
    with pytest.raises(UntrustedNamesError, match="subprocess:Popen"):
        forged("message x_j", of=("subprocess", "Popen"))


def test_a_sequence_whose_parts_are_looked_up_by_name_needs_its_name() -> None:
    made = geometric.Sequential("x, edge_index", [(geometric.GCNConv(4, 4), "x, edge_index -> x")])
    with pytest.raises(UntrustedNamesError, match="torch_geometric"):
        round_trip(made)
