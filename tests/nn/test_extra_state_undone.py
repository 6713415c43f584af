"""Loads of modules whose extra state cannot be copied, or cannot be asked for before the first load."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import kellet
from kellet import nn
from kellet.errors import StateDictError


class Net(nn.Module):
    """A module whose extra state is whatever was set."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.state = state

    def get_extra_state(self) -> Any:
        return self.state

    def set_extra_state(self, state: Any) -> None:
        self.state = state


class Late(Net):
    """One that has no extra state before it was loaded."""

    def get_extra_state(self) -> Any:
        if self.state is None:
            raise AttributeError("no state so far")
        return self.state


def numbers() -> Any:
    yield from range(3)


@pytest.mark.parametrize("make", [threading.Lock, numbers, lambda: memoryview(b"abc")])
def test_extra_state_that_cannot_be_copied_is_loaded(make: Any) -> None:
    net, other = Net(make()), Net(make())
    assert str(net.load_state_dict(other.state_dict())) == "<All keys matched successfully>"
    assert net.state is other.state
    assert net.layer.weight.tolist() == other.layer.weight.tolist()


@pytest.mark.parametrize("make", [threading.Lock, numbers])
def test_a_refused_load_hands_back_what_could_not_be_copied(make: Any) -> None:
    net, other = Net(make()), Net(make())
    before, held = net.layer.weight.tolist(), net.state
    state = other.state_dict()
    state["more"] = kellet.ones(1)
    with pytest.raises(StateDictError, match="Unexpected key"):
        net.load_state_dict(state)
    assert net.state is held
    assert net.layer.weight.tolist() == before


def test_extra_state_that_cannot_be_asked_for_before_the_first_load_is_loaded() -> None:
    net, other = Late(None), Late({"epoch": 3})
    net.load_state_dict(other.state_dict())
    assert net.state == {"epoch": 3}


def test_a_refused_first_load_puts_the_tensors_back() -> None:
    net, other = Late(None), Late({"epoch": 3})
    before = net.layer.weight.tolist()
    state = other.state_dict()
    del state["layer.bias"]
    with pytest.raises(StateDictError, match="Missing key"):
        net.load_state_dict(state)
    assert net.layer.weight.tolist() == before


def test_what_interrupts_the_question_is_not_swallowed() -> None:
    class Interrupted(Late):
        def get_extra_state(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Interrupted(None).load_state_dict(Late({"epoch": 3}).state_dict())
