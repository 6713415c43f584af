"""State dicts of PyTorch: without `as_`, moved by `map_location`, copied, pickled and saved again."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import copy
import io
import pickle
from collections import OrderedDict

import numpy as np
import safetensors.torch
import torch

from kellet import nn
from packager import PackageExporter, PackageImporter
from packager.errors import ArgumentError, DeviceNotHereError


def packed(objects=None, **states):
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        for name, state in states.items():
            exporter.save_state_dict("model", name, state)
        if objects is not None:
            exporter.save_object("model", "objects", objects)
    return file.getvalue()


def net():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))


def trained(make):
    module = net()
    optimizer = make(module.parameters())
    module(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    return module, optimizer


def same(found, expected):
    assert list(found) == list(expected)
    assert all(torch.equal(found[key], value) for key, value in expected.items())


@pytest.mark.parametrize("assign", [False, True])
def test_modules_take_what_was_saved(assign):
    module, other = net(), net()
    with PackageImporter(packed(net=module)) as importer:
        stored = importer.load_state_dict("model", "net")
        assert stored.library == "torch"
        assert str(other.load_state_dict(stored, assign=assign)) == "<All keys matched successfully>"
        same(other.state_dict(), module.state_dict())
        ours = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        ours.load_state_dict(stored)
        assert ours[0].weight.tolist() == module[0].weight.tolist()


OPTIMISERS = {
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.25, amsgrad=True),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.25, momentum=0.9),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, centered=True),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers_take_what_was_saved(name):
    _, optimizer = trained(OPTIMISERS[name])
    other = OPTIMISERS[name](net().parameters())
    with PackageImporter(packed(optimizer=optimizer)) as importer:
        other.load_state_dict(importer.load_state_dict("model", "optimizer"))
    assert str(other.state_dict()) == str(optimizer.state_dict())


def test_without_torch_what_was_saved_by_it_are_arrays(monkeypatch):
    data = packed(net=net())
    for place in ("packager._tensors.is_installed", "packager._tensors.dtypes.is_installed"):
        monkeypatch.setattr(place, lambda name: False)
    with PackageImporter(data) as importer:
        assert type(importer.load_state_dict("model", "net")["0.weight"]) is np.ndarray


def test_copies_are_what_torch_gives_as_a_state(tmp_path):
    module = net()
    expected = module.state_dict()
    with PackageImporter(packed(net=module)) as importer:
        stored = importer.load_state_dict("model", "net")
        torch.save(stored, tmp_path / "net.pt")
        safetensors.torch.save_file(stored, tmp_path / "net.safetensors")
        copies = [
            stored.copy(),
            copy.copy(stored),
            copy.deepcopy(stored),
            pickle.loads(pickle.dumps(stored)),
            torch.load(tmp_path / "net.pt", weights_only=True),
        ]
        same(dict(stored), expected)
        same(OrderedDict(stored), expected)
    for made in copies:
        assert type(made) is OrderedDict
        assert made._metadata == expected._metadata
        same(made, expected)
        assert str(net().load_state_dict(made)) == "<All keys matched successfully>"
    read = safetensors.torch.load_file(tmp_path / "net.safetensors")
    same({key: read[key] for key in expected}, expected)


def test_ties_stay_ties_in_what_is_saved_again(tmp_path):
    weight = torch.randn(64, 64)
    data = packed(net={"a": weight, "b": weight, "row": weight[3]})
    with PackageImporter(data) as importer:
        stored = importer.load_state_dict("model", "net")
        assert stored["a"].untyped_storage()._cdata == stored["b"].untyped_storage()._cdata
        torch.save(stored, tmp_path / "net.pt")
        assert packed(net=stored) == data
    assert (tmp_path / "net.pt").stat().st_size < 1.5 * weight.nbytes
    read = torch.load(tmp_path / "net.pt", weights_only=True)
    read["a"][3] = 7
    assert read["row"].tolist() == read["b"][3].tolist() == [7] * 64


def test_a_reversed_part_is_a_copy():
    weight = torch.arange(24.0).reshape(4, 6)
    with PackageImporter(packed(net={"w": weight, "half": weight.bfloat16()})) as importer:
        stored = importer.load_state_dict("model", "net")
        expected = torch.tensor(weight.numpy()[::-2, 4:1:-1].copy())
        assert torch.equal(stored.part("w", slice(None, None, -2), slice(4, 1, -1)), expected)
        assert torch.equal(stored.part("half", ..., slice(None, None, 5)), weight.bfloat16()[..., ::5])
        assert stored.part("w", slice(3, 3), slice(None, None, -1)).shape == (0, 6)


# --- map_location, as torch.load has it ---

STATE = {
    "whole": torch.arange(4.0),
    "empty": torch.empty(0, 2),
    "meta": torch.empty(2, device="meta"),
}
PLACES = {
    "none": None,
    "text": "cpu",
    "device": torch.device("cpu"),
    "meta": "meta",
    "device meta": torch.device("meta"),
    "dict": {"cpu": "meta"},
    "dict of others": {"cuda:0": "meta"},
    "function that leaves it": lambda storage, location: None,
    "function that takes it": lambda storage, location: storage,
    "function that moves it": lambda storage, location: torch.UntypedStorage(storage.nbytes(), device="meta"),
}


@pytest.fixture(scope="module")
def saved():
    """An archive, and a file of torch.save, with the same tensors."""
    file = io.BytesIO()
    torch.save(STATE, file)
    plain = {"whole": STATE["whole"], "empty": STATE["empty"], "inside": {"whole": STATE["whole"]}}
    return packed(STATE, state=plain), file.getvalue()


@pytest.mark.parametrize("name", PLACES)
def test_tensors_go_where_torch_load_puts_them(saved, name):
    archive, file = saved
    expected = torch.load(io.BytesIO(file), map_location=PLACES[name], weights_only=True)
    with PackageImporter(archive) as importer:
        found = importer.load_object("model", "objects", map_location=PLACES[name])
        state = importer.load_state_dict("model", "state", map_location=PLACES[name])
        assert {key: value.device for key, value in found.items()} == {
            key: value.device for key, value in expected.items()
        }
        for key, value in (*state.items(), *state["inside"].items()):
            if key != "inside":
                assert value.device == expected[key].device
        if expected["whole"].device.type == "cpu":
            assert found["whole"].tolist() == state["whole"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "place", ["cuda", torch.device("cuda:0"), {"cpu": "cuda"}, "elsewhere", {"cpu": "x"}]
)
def test_a_device_that_is_not_here_is_told_as_torch_tells_it(saved, place, monkeypatch):
    archive, file = saved
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError) as told:
        torch.load(io.BytesIO(file), map_location=place, weights_only=True)
    with PackageImporter(archive) as importer:
        for load in (
            lambda: importer.load_object("model", "objects", map_location=place),
            lambda: importer.load_state_dict("model", "state", map_location=place)["whole"],
            lambda: importer.load_state_dict("model", "state", map_location=place)["empty"],
        ):
            with pytest.raises(DeviceNotHereError, match="pass map_location='cpu'") as caught:
                load()
            assert isinstance(caught.value, RuntimeError)
            assert str(told.value).split("(tagged")[0] in str(caught.value)


def test_a_function_is_asked_once_for_each_storage():
    asked = []
    with PackageImporter(packed({"a": STATE["whole"], "b": STATE["whole"][1:]})) as importer:
        found = importer.load_object(
            "model",
            "objects",
            map_location=lambda storage, location: asked.append((storage.nbytes(), location)),
        )
    assert asked == [(16, "cpu")]
    assert found["a"].untyped_storage().data_ptr() == found["b"].untyped_storage().data_ptr()


def test_a_function_that_gives_no_storage_is_told():
    with (
        PackageImporter(packed(state={"whole": STATE["whole"]})) as importer,
        pytest.raises(ArgumentError, match="returned int; expected a storage, or None"),
    ):
        importer.load_state_dict("model", "state", map_location=lambda storage, location: 3)["whole"]


@pytest.mark.parametrize("count", [3, 20])
def test_what_is_held_is_given_again_where_its_file_gives_no_more(tmp_path, count):
    path = tmp_path / "state.kellet"
    path.write_bytes(packed(state={f"k{n}": torch.full((4,), float(n)) for n in range(count)}))
    with PackageImporter(path) as importer:
        state = importer.load_state_dict("model", "state")
        for key in state:
            state[key]
        state["k2"].fill_(7.0)
    assert state["k1"].tolist() == [1.0] * 4
    assert state["k2"].tolist() == [7.0] * 4
