"""Every layer and every loss beside torch's, with options, shapes and numbers that hypothesis chooses."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import inspect

import torch
from hypothesis import given
from hypothesis import strategies as st

from kellet import nn
from tests.parity.drawn import SOME, TOLERANCE, check_function, check_layer
from tests.parity.drawn_layers import LAYERS
from tests.parity.drawn_losses import FUNCTIONS, LOSSES, weighed
from tests.parity.drawn_sequences import SEQUENCES

DRAWN = {**LAYERS, **SEQUENCES}
PUBLIC = {name for name in nn.layers.__all__ if isinstance(getattr(nn, name), type)}


def test_every_public_layer_is_drawn() -> None:
    assert set(DRAWN) | set(LOSSES) == PUBLIC
    assert [name for name in sorted(PUBLIC) if not hasattr(torch.nn, name)] == []


def test_every_loss_function_is_drawn() -> None:
    assert set(FUNCTIONS) == set(LOSSES)
    rooms = ("kellet.nn.functional.losses", "kellet.nn.functional.distances")
    functions = {name: inspect.unwrap(getattr(nn.functional, name)) for name in nn.functional.__all__}
    found = {name for name, function in functions.items() if function.__module__ in rooms}
    assert set(FUNCTIONS.values()) == found


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", sorted(DRAWN))
@SOME
@given(data=st.data())
def test_layers(data: st.DataObject, name: str, dtype: str) -> None:
    check_layer(name, data.draw(DRAWN[name](dtype)), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", sorted(LOSSES))
@SOME
@given(data=st.data())
def test_losses(data: st.DataObject, name: str, dtype: str) -> None:
    check_layer(name, data.draw(LOSSES[name](dtype)), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", sorted(FUNCTIONS.values()))
@SOME
@given(data=st.data())
def test_loss_functions(data: st.DataObject, name: str, dtype: str) -> None:
    check_function(name, data.draw(weighed(name, dtype)), dtype)
