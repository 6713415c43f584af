"""What holds a parameter of a kellet module beside it still holds that parameter when it is loaded."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import kellet
from kellet import nn, optim
from packager.testing import round_trip
from tests.tables import one_test

HERE = __name__


class Collecting(nn.Module):
    """Holds its parameters a second time, and collects them anew at some point of loading."""

    def __init__(self, when: str) -> None:
        super().__init__()
        self.when = when
        self.first, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)
        self.register_buffer("scale", kellet.ones(4))
        if when == "post-hook":
            self.register_load_state_dict_post_hook(self.collect)
        elif when == "pre-hook":
            self.register_load_state_dict_pre_hook(self.collect_before)
        self.collect()

    def collect(self, *args: Any) -> None:
        self.list = [*self.parameters()]
        self.dict = dict(self.named_parameters())
        self.nested = {"buffers": [{"scale": self.scale}], "weight": (self.first.weight,)}

    def collect_before(self, module: Any, state: Any, strict: Any) -> None:
        self.collect()

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


def train(model: Any, optimizer: Any) -> list[Any]:
    x = kellet.arange(15.0).reshape(5, 3) / 7
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
    return [value.tolist() for value in model.state_dict().values() if isinstance(value, kellet.Tensor)]


@one_test
@pytest.mark.parametrize("wrapped", [False, True], ids=["itself", "wrapped"])
@pytest.mark.parametrize("when", ["never", "pre-hook", "post-hook", "override", "extra-state"])
def test_what_a_module_collects_while_it_is_loaded_are_its_own_tensors(when: str, wrapped: bool) -> None:
    made = Collecting(when)
    stored = {
        "model": nn.HookedModule(made) if wrapped else made,
        "optimizer": optim.SGD(made.parameters(), lr=0.01, momentum=0.9),
    }
    train(**stored)
    made.zero_grad()
    trip = round_trip(stored, interned=[HERE])
    assert trip.is_stable
    loaded = trip.object["model"]
    model = loaded.inner if wrapped else loaded
    own = [id(one) for one in model.parameters()]
    assert [id(one) for one in model.list] == own
    assert [id(one) for one in model.dict.values()] == own
    assert [id(one) for one in trip.object["optimizer"].param_groups[0]["params"]] == own
    assert model.nested["buffers"][0]["scale"] is model.scale
    assert model.nested["weight"][0] is model.first.weight
    assert train(**trip.object) == train(**stored)
    if wrapped:
        assert vars(loaded)["_parameters"] is vars(model)["_parameters"]


class Watching(nn.Module):
    """Sees every assignment."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, Any] = {}
        self.weight = nn.Parameter(kellet.ones(3))
        self.register_load_state_dict_pre_hook(self.make_room)

    def make_room(self, module: Any, state: Any, strict: Any) -> None:
        self.weight = nn.Parameter(kellet.zeros(*state["weight"].shape))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "weight":
            self.seen[name] = value


def test_class_that_watches_assignments_is_shown_the_parameter_that_stays() -> None:
    stored = Watching()
    trip = round_trip({"model": stored, "held": stored.weight}, interned=[HERE])
    assert trip.is_stable
    model = trip.object["model"]
    assert model.seen["weight"] is model.weight
    assert trip.object["held"] is model.weight
    assert model.weight.tolist() == [1.0, 1.0, 1.0]


class Shadowed(nn.Module):
    """Copies its table while it is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(kellet.ones(2))
        self.register_load_state_dict_post_hook(self.shadow)

    def shadow(self, module: Any, keys: Any) -> None:
        made = copy.deepcopy(self.__dict__["_parameters"])
        self.copied = type(made), made["weight"] is self.weight, made["weight"].tolist()


def test_copy_that_a_hook_makes_is_an_ordinary_one() -> None:
    loaded = round_trip(Shadowed(), interned=[HERE]).object
    assert loaded.copied == (dict, False, [1.0, 1.0])
    assert type(loaded._parameters) is dict


class Empty(nn.Sequential):
    """A container without entries, which is false, and has a version of its own."""

    _version = 2


def test_wrapper_around_a_container_without_entries_is_stored_by_the_version_of_what_it_wraps() -> None:
    wrapper = nn.HookedModule(Empty())
    assert not wrapper.inner
    trip = round_trip(wrapper, interned=[HERE])
    assert trip.is_stable
    assert b"\xa5state\xc3" in trip.encoded.records  # a natural state: nothing but versions is stored
