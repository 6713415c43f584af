"""What holds a parameter of a PyTorch module beside it still holds that parameter when it is loaded."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from packager.testing import round_trip

HERE = __name__


def nothing(*args: Any) -> None:
    """A load hook that changes nothing: that there is one is what counts."""


def shrink(module: Any, state: Any, prefix: str, metadata: Any) -> None:
    """Store the weights as int8, scaled by a power of two."""
    for key in [key for key in state if "weight" in key]:
        state[f"{key}.int8"] = torch.round(state.pop(key) * 64).to(torch.int8)


def grow(module: Any, state: Any, prefix: str, *args: Any) -> None:
    for key in [key for key in state if key.endswith(".int8")]:
        state[key.removesuffix(".int8")] = state.pop(key).float() / 64


class First(nn.Module):
    """The sequence of an RNN, without its last state."""

    def __init__(self, rnn: Any, *after: Any) -> None:
        super().__init__()
        self.rnn = rnn
        self.after = nn.ModuleList(after)
        self.head = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        y = self.rnn(x)[0]
        for layer in self.after:
            y = layer(y.transpose(1, 2)).transpose(1, 2) if hasattr(layer, "running_mean") else layer(y)
        return self.head(y)


class Noting(First):
    """Extra state: any module with some loads in its own way."""

    note = 3

    def get_extra_state(self) -> Any:
        return {"note": 3}

    def set_extra_state(self, state: Any) -> None:
        assert state == {"note": self.note}


class Overriding(First):
    def _load_from_state_dict(self, *args: Any) -> None:
        super()._load_from_state_dict(*args)


class OwnLSTM(nn.LSTM):
    """A subclass with a hook of its own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.register_load_state_dict_post_hook(self.loaded)

    def loaded(self, module: Any, keys: Any) -> None:
        assert keys.missing_keys == []


def hooked(model: Any) -> Any:
    model.register_load_state_dict_pre_hook(nothing)
    return model


def int8(model: Any) -> Any:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.round(parameter * 64) / 64)
    model.register_state_dict_post_hook(shrink)
    model.register_load_state_dict_pre_hook(grow)
    return model


def tied() -> Any:
    first, second = nn.RNN(4, 4, batch_first=True), nn.RNN(4, 4, batch_first=True)
    second.weight_hh_l0, second.bias_ih_l0 = first.weight_hh_l0, first.bias_hh_l0
    return First(nn.ModuleDict({"a": first, "b": second})["a"], nn.BatchNorm1d(4), Last(second))


class Last(nn.Module):
    def __init__(self, rnn: Any) -> None:
        super().__init__()
        self.rnn = rnn

    def forward(self, x: Any) -> Any:
        return self.rnn(x)[0]


def rnn(kind: Any, **options: Any) -> Any:
    return kind(4, options.pop("hidden", 4), batch_first=True, **options)


MODELS: dict[str, Callable[[], Any]] = {
    "rnn-batchnorm": lambda: First(rnn(nn.RNN), nn.BatchNorm1d(4)),
    "relu-rnn-hook": lambda: hooked(First(rnn(nn.RNN, nonlinearity="relu"))),
    "lstm-batchnorm": lambda: First(rnn(nn.LSTM), nn.BatchNorm1d(4)),
    "gru-batchnorm": lambda: First(rnn(nn.GRU), nn.BatchNorm1d(4)),
    "instancenorm": lambda: First(rnn(nn.GRU), nn.InstanceNorm1d(4, affine=True, track_running_stats=True)),
    "layernorm-alone": lambda: First(rnn(nn.LSTM), nn.LayerNorm(4)),
    "layernorm-hook": lambda: hooked(First(rnn(nn.LSTM), nn.LayerNorm(4))),
    "bidirectional": lambda: First(rnn(nn.LSTM, hidden=2, bidirectional=True), nn.BatchNorm1d(4)),
    "layers": lambda: First(rnn(nn.GRU, num_layers=3), nn.BatchNorm1d(4)),
    "proj_size": lambda: First(rnn(nn.LSTM, hidden=6, proj_size=4, num_layers=2), nn.BatchNorm1d(4)),
    "no-bias": lambda: First(rnn(nn.LSTM, bias=False), nn.BatchNorm1d(4)),
    "extra-state": lambda: Noting(rnn(nn.GRU)),
    "override": lambda: Overriding(rnn(nn.GRU)),
    "subclass": lambda: First(rnn(OwnLSTM)),
    "int8": lambda: int8(First(rnn(nn.LSTM))),
    "int8-batchnorm": lambda: int8(First(rnn(nn.LSTM, num_layers=2), nn.BatchNorm1d(4))),
    "tied": tied,
    "nested": lambda: nn.Sequential(nn.Sequential(nn.Linear(4, 4)), First(rnn(nn.GRU), nn.BatchNorm1d(4))),
    "half-frozen": lambda: First(rnn(nn.GRU).requires_grad_(False), nn.BatchNorm1d(4)),
}


def build(name: str) -> tuple[Any, Any]:
    torch.manual_seed(3)
    model = MODELS[name]()
    return model, torch.randn(5, 3, 4)


def train(model: Any, optimizer: Any, x: Any, steps: int = 3) -> list[bytes]:
    """Each value after some steps, exactly."""
    for _ in range(steps):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
    return [value.detach().numpy().tobytes() for value in [*model.parameters(), *model.buffers()]]


def recurrent(model: Any) -> list[Any]:
    return [module for module in model.modules() if isinstance(module, nn.RNNBase)]


@pytest.mark.parametrize("name", MODELS)
def test_rnn_computes_with_its_parameters_and_is_stored_the_same_again(name: str) -> None:
    model, _ = build(name)
    trip = round_trip(model, interned=[HERE])
    assert trip.is_stable
    assert recurrent(trip.object)
    for module in recurrent(trip.object):
        assert len(module._flat_weights) == len(module._flat_weights_names)
        for weight, key in zip(module._flat_weights, module._flat_weights_names, strict=True):
            assert weight is getattr(module, key)
        assert [id(ref()) for ref in module._flat_weight_refs] == list(map(id, module._flat_weights))


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("name", MODELS)
def test_rnn_trains_on_bit_for_bit(name: str) -> None:
    model, x = build(name)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    pair = {"model": model, "optimizer": torch.optim.SGD(trainable, lr=0.01, momentum=0.9)}
    train(**pair, x=x, steps=2)
    if name.startswith("int8"):
        with torch.no_grad():  # what is stored is rounded
            for parameter in model.parameters():
                parameter.copy_(torch.round(parameter * 64) / 64)
    loaded = round_trip(pair, interned=[HERE]).object
    before = [value.detach().numpy().tobytes() for value in loaded["model"].parameters()]
    held = [one for group in loaded["optimizer"].param_groups for one in group["params"]]
    own = [one for one in loaded["model"].parameters() if one.requires_grad]
    assert [id(one) for one in held] == [id(one) for one in own]
    after = train(**pair, x=x)
    assert train(**loaded, x=x) == after
    assert before != [value.detach().numpy().tobytes() for value in loaded["model"].parameters()]


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_plain_rnn_with_a_load_hook_alone_gets_its_gradients(kind: Any) -> None:
    torch.manual_seed(0)
    model = hooked(kind(3, 4))
    trip = round_trip(model, interned=[HERE])
    assert trip.is_stable
    x = torch.randn(5, 2, 3)
    for one in (model, trip.object):
        one(x)[0].sum().backward()
    for key, parameter in model.named_parameters():
        assert torch.equal(parameter.grad, dict(trip.object.named_parameters())[key].grad), key


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
def test_cell_with_a_load_hook_gets_its_gradients(kind: Any) -> None:
    trip = round_trip(nn.Sequential(hooked(kind(3, 4)), nn.BatchNorm1d(4)), interned=[HERE])
    assert trip.is_stable
    found = trip.object[0](torch.ones(2, 3))
    (found[0] if isinstance(found, tuple) else found).sum().backward()
    assert all(parameter.grad is not None for parameter in trip.object[0].parameters())


# --- second references of one's own ---------------------------------------------------------------


class Collecting(nn.Module):
    """Holds its parameters a second time, and collects them anew at some point of loading."""

    def __init__(self, when: str) -> None:
        super().__init__()
        self.when = when
        self.first, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)
        self.register_buffer("scale", torch.ones(4))
        if when == "post-hook":
            self.register_load_state_dict_post_hook(self.collect)
        elif when == "pre-hook":
            self.register_load_state_dict_pre_hook(self.collect)
        self.collect()

    def collect(self, *args: Any) -> None:
        self.list = [*self.parameters()]
        self.tuple = tuple(self.parameters())
        self.dict = dict(self.named_parameters())
        self.nested = {"buffers": [{"scale": self.scale}], "weight": (self.first.weight,)}

    def _load_from_state_dict(self, *args: Any) -> None:
        super()._load_from_state_dict(*args)
        if self.when == "override":
            self.collect()

    def get_extra_state(self) -> Any:
        return self.when

    def set_extra_state(self, state: Any) -> None:
        if self.when == "extra-state":
            self.collect()

    def forward(self, x: Any) -> Any:
        weight, bias, *_ = self.list
        return self.norm(nn.functional.linear(x, weight, bias)) * self.nested["buffers"][0]["scale"]


@pytest.mark.parametrize("when", ["never", "pre-hook", "post-hook", "override", "extra-state"])
def test_what_a_module_collects_while_it_is_loaded_are_its_own_tensors(when: str) -> None:
    trip = round_trip(Collecting(when), interned=[HERE])
    assert trip.is_stable
    model = trip.object
    own = [id(one) for one in model.parameters()]
    assert [id(one) for one in model.list] == own
    assert [id(one) for one in model.tuple] == own
    assert {key: id(one) for key, one in model.dict.items()} == {
        key: id(one) for key, one in model.named_parameters()
    }
    assert model.nested["buffers"][0]["scale"] is model.scale
    assert model.nested["weight"][0] is model.first.weight
    model(torch.randn(5, 3)).square().sum().backward()
    assert model.first.weight.grad is not None


class Watching(nn.Module):
    """Sees every assignment, as RNNBase does; `late` after it was made."""

    def __init__(self, late: bool) -> None:
        super().__init__()
        self.late = late
        self.seen: dict[str, Any] = {}
        self.weight = nn.Parameter(torch.ones(3))
        self.register_load_state_dict_pre_hook(nothing)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "weight" or not self.late:
            super().__setattr__(name, value)
        if name == "weight":
            self.seen[name] = value
            if self.late:
                super().__setattr__(name, value)


@pytest.mark.parametrize("late", [True, False])
def test_class_that_watches_assignments_is_shown_the_parameter_that_stays(late: bool) -> None:
    trip = round_trip(Watching(late), interned=[HERE])
    assert trip.is_stable
    assert trip.object.seen["weight"] is trip.object.weight


def replace(module: Any, state: Any, prefix: str, *args: Any) -> None:
    """Make room for what comes, as hooks do that allow other sizes."""
    module.weight = nn.Parameter(torch.zeros_like(state[f"{prefix}weight"]))


def double(module: Any, keys: Any) -> None:
    """Change the values after loading, and stop training them."""
    with torch.no_grad():
        module.weight.mul_(2)
    module.weight.requires_grad_(False)


def test_parameter_that_a_hook_replaces_keeps_its_ties() -> None:
    model = nn.Linear(2, 2, bias=False)
    model.register_load_state_dict_pre_hook(replace)
    trip = round_trip({"model": model, "held": [model.weight]}, interned=[HERE])
    assert trip.is_stable
    assert trip.object["held"][0] is trip.object["model"].weight
    assert torch.equal(trip.object["model"].weight, model.weight)


def test_what_a_hook_does_to_a_parameter_is_done_to_the_one_that_stays() -> None:
    model = nn.Linear(2, 2, bias=False)
    model.register_load_state_dict_post_hook(double)
    loaded = round_trip({"model": model, "held": [model.weight]}, interned=[HERE]).object
    assert loaded["held"][0] is loaded["model"].weight
    assert torch.equal(loaded["model"].weight, model.weight * 2)
    assert loaded["model"].weight.requires_grad is False


def exchange(module: Any, state: Any, prefix: str, *args: Any) -> None:
    state["0.weight"], state["1.weight"] = state["1.weight"], state["0.weight"].t()


def test_values_that_a_hook_moves_about_arrive_whole() -> None:
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    first, second = (layer.weight.detach().clone() for layer in model)
    model.register_load_state_dict_pre_hook(exchange)
    loaded = round_trip(model, interned=[HERE]).object
    assert torch.equal(loaded[0].weight, second)
    assert torch.equal(loaded[1].weight, first.t())


class Shadowed(nn.Module):
    """Copies itself while it is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.register_load_state_dict_post_hook(self.shadow)

    def shadow(self, module: Any, keys: Any) -> None:
        made = copy.deepcopy(self.__dict__["_parameters"])
        self.copied = type(made), made["weight"] is self.weight, made["weight"].tolist()


def test_copy_that_a_hook_makes_is_an_ordinary_one() -> None:
    loaded = round_trip(Shadowed(), interned=[HERE]).object
    assert loaded.copied == (dict, False, [1.0, 1.0])
    assert type(loaded._parameters) is dict
