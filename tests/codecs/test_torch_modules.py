"""Modules of PyTorch come back with their attributes, ties, hooks, state and optimisers."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import functools
from typing import Any

import torch
from torch import nn

from packager._audit import TrustContext
from packager._objects import encode
from packager.errors import PackageError
from packager.testing import round_trip
from packager.testing.round_trips import load

HERE = __name__
CALLS: list[str] = []


def quantize(module: Any, state: Any, prefix: str, metadata: Any) -> Any:
    """Every weight as int8 and a scale; the scratch buffer not at all."""
    for key in list(state):
        if key.endswith("scratch"):
            del state[key]
        elif key.endswith("weight"):
            weight = state.pop(key)
            scale = torch.tensor(2.0**-9)  # a power of two: quantising what was quantised changes nothing
            state[f"{key}.int8"], state[f"{key}.scale"] = torch.round(weight / scale).to(torch.int8), scale


def dequantize(module: Any, state: Any, prefix: str, *args: Any) -> None:
    for key in [key for key in state if key.endswith(".int8")]:
        name = key.removesuffix(".int8")
        state[name] = state.pop(key).float() * state.pop(f"{name}.scale")
    state[f"{prefix}scratch"] = torch.zeros(1000)


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 64)
        self.register_buffer("scratch", torch.full((1000,), 7.0))
        self.register_state_dict_post_hook(quantize)
        self.register_load_state_dict_pre_hook(dequantize)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.norm = nn.BatchNorm1d(4)
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.embed.weight
        self.conv = nn.Conv2d(1, 2, 3).to(memory_format=torch.channels_last)
        self.register_buffer("mask", torch.ones(3, 3).tril(), persistent=False)
        self.act = functools.partial(nn.functional.gelu, approximate="tanh")
        self.squash = torch.tanh
        self.seen: list[str] = []
        self.handle = self.register_forward_hook(self.note, with_kwargs=True, always_call=True)
        self.head.register_full_backward_hook(self.backward_note)
        self.register_forward_pre_hook(named)

    def note(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        self.seen.append("note")

    def backward_note(self, module: Any, grad_input: Any, grad_output: Any) -> None:
        self.seen.append("backward")

    def forward(self, x: Any) -> Any:
        h = self.norm(self.embed(x))[None]
        return self.head(self.squash(self.act(self.attend(h, h, h)[0])))


def named(module: Any, args: Any) -> None:
    CALLS.append("named")


class Stranger:
    def watch(self, module: Any, args: Any, output: Any) -> None:
        CALLS.append("stranger")


class Restored(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.lock = nn.Linear(2, 2), object()

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name != "lock"}

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self.lock = "made anew"


def _x() -> Any:
    return torch.tensor([1, 2, 3])


def _trip(obj: Any) -> Any:
    trip = round_trip(obj, interned=[HERE])
    assert trip.is_stable
    return trip.object


def test_outputs_and_gradients_are_equal_bit_for_bit() -> None:
    net = Net()
    loaded = _trip(net)
    for one in (net, loaded):
        one(_x()).sum().backward()
    assert torch.equal(net(_x()), loaded(_x()))
    assert torch.equal(net.embed.weight.grad, loaded.embed.weight.grad)
    assert loaded.head.weight is loaded.embed.weight
    assert loaded.conv.weight.is_contiguous(memory_format=torch.channels_last)
    assert loaded.seen == ["note", "backward", "note"]


def test_handles_remove_hooks_and_ids_are_new() -> None:
    loaded = _trip(Net())
    loaded.register_forward_hook(forward_named).remove()
    loaded(_x())
    loaded.handle.remove()
    loaded(_x())
    assert loaded.seen == ["note"]
    assert not loaded._forward_hooks_with_kwargs


def forward_named(module: Any, args: Any, output: Any) -> None:
    CALLS.append("forward")


def test_lambda_as_hook_is_refused_with_its_path() -> None:
    net = Net()
    net.attend.out_proj.register_forward_hook(lambda module, args, output: None)
    (refusal,) = encode(net).with_sources(lambda name: True).refusals
    assert refusal.path == "obj.attend.out_proj"


def test_hook_of_an_object_that_is_not_stored_is_left_out_with_a_warning() -> None:
    net = Net()
    net.norm.register_forward_hook(Stranger().watch)
    encoded = encode(net).with_sources(lambda name: name == HERE)
    (warning,) = encoded.warnings
    assert warning.path == "obj.norm"
    assert "Stranger.watch is left out, since the object it belongs to is not stored" in warning.reason
    assert not load(encoded, TrustContext.with_code([HERE], ["torch"])).norm._forward_hooks


def test_int8_model_shrinks_and_comes_back() -> None:
    net = Small()
    trip = round_trip(net, interned=[HERE])
    stored = {storage.name: (storage.dtype, storage.shape) for storage in trip.encoded.storages}
    assert stored["first.weight.int8"] == ("I8", (64, 64))
    assert "scratch" not in stored
    everything = trip.encoded.records + b"".join(bytes(s.buffer) for s in trip.encoded.storages)
    assert net.first.weight.detach().numpy().tobytes()[:64] not in everything
    assert len(everything) < 2 * 64 * 64 + 2 * 64 * 4 + 2000
    expected = torch.round(net.first.weight.detach() * 2**9).to(torch.int8).float() * 2**-9
    assert torch.equal(trip.object.first.weight, expected)
    assert isinstance(trip.object.first.weight, nn.Parameter)
    assert trip.is_stable
    torch.optim.SGD(trip.object.parameters(), lr=0.1).step()


def test_optimizer_and_scheduler_go_on_where_they_stood() -> None:
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

    def step(model: Any, opt: Any, schedule: Any) -> list[Any]:
        opt.zero_grad()
        model(_x()).sum().backward()
        opt.step()
        schedule.step()
        opt.zero_grad()
        return [parameter.detach().clone() for parameter in model.parameters()]

    step(net, optimizer, scheduler)
    loaded = _trip({"net": net, "optimizer": optimizer, "scheduler": scheduler})
    assert loaded["optimizer"].param_groups[0]["params"][0] is loaded["net"].embed.weight
    expected = step(net, optimizer, scheduler)
    found = step(loaded["net"], loaded["optimizer"], loaded["scheduler"])
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))
    assert loaded["scheduler"].get_last_lr() == scheduler.get_last_lr()


def test_hooks_of_an_optimizer_are_named_in_a_warning() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    optimizer.register_step_pre_hook(lambda *args: None)
    (warning,) = encode(optimizer).warnings
    assert "_optimizer_step_pre_hooks" in warning.reason


def test_own_getstate_and_setstate_run() -> None:
    loaded = _trip(Restored())
    assert loaded.lock == "made anew"
    assert isinstance(loaded.layer.weight, nn.Parameter)


def test_module_needs_no_trust_beside_its_own_classes() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    loaded = round_trip(nn.Sequential(layer, nn.Linear(8, 2))).object
    x = torch.randn(2, 3, 8)
    assert torch.equal(loaded.eval()(x), nn.Sequential(layer, loaded[1]).eval()(x))


def test_another_version_of_a_class_points_to_the_state_dict(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = encode(nn.BatchNorm1d(2))
    monkeypatch.setattr(nn.BatchNorm1d, "_version", 3)
    with pytest.raises(PackageError, match=r"BatchNorm1d: version 2 in the archive, 3 here.*load_state_dict"):
        load(encoded, TrustContext.data_only())


def test_other_device_than_here_names_map_location() -> None:
    encoded = encode(torch.ones(2))
    moved = encoded.records.replace(b"\xa3cpu", b"\xa6cuda:0")
    with pytest.raises(PackageError, match="map_location='cpu'"):
        load(type(encoded)(moved, encoded.storages, ()), TrustContext.data_only())
    loaded = load(type(encoded)(moved, encoded.storages, ()), TrustContext.data_only(), map_location="cpu")
    assert loaded.tolist() == [1.0, 1.0]
