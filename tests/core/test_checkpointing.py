"""Steps computed anew in backward: equal gradients, less kept, equal random numbers, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import kellet
from kellet import nn
from kellet.errors import GradientError
from kellet.utils.checkpoint import checkpoint, checkpoint_sequential


def gradients(net: Any, x: Any, run: Any) -> list[Any]:
    kellet.manual_seed(3)
    net.zero_grad()
    x.grad = None
    run(x).square().sum().backward()
    return [x.grad.clone(), *[p.grad.clone() for p in net.parameters()]]


@pytest.mark.parametrize("reentrant", [None, False, True])
def test_gradients_of_inputs_and_parameters_are_those_without_it(reentrant: bool | None) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.LayerNorm(4), nn.Linear(4, 2))
    x = kellet.randn(5, 3, requires_grad=True)
    plain = gradients(net, x, net)
    again = gradients(net, x, lambda x: checkpoint(net, x, use_reentrant=reentrant))
    parts = gradients(net, x, lambda x: checkpoint_sequential(net, 2, x))
    for one, other, third in zip(plain, again, parts, strict=True):
        assert kellet.equal(one, other)
        assert kellet.equal(one, third)


def test_parameters_get_gradients_though_the_input_needs_none() -> None:
    net = nn.Linear(2, 1)
    checkpoint(net, kellet.ones(1, 2)).sum().backward()
    assert net.weight.grad.tolist() == [[1.0, 1.0]]


def test_the_function_runs_once_more_in_backward_and_random_numbers_go_on() -> None:
    calls = []

    def step(x: Any, *, power: int) -> Any:
        calls.append(kellet.rand(1).item())
        return (x**power).sin()

    y = checkpoint(step, kellet.ones(2, requires_grad=True), power=3)
    state = kellet.get_rng_state()
    y.sum().backward()
    assert len(calls) == 2
    assert calls[0] == calls[1]
    assert kellet.equal(kellet.get_rng_state(), state)


def test_second_derivatives_pass_through() -> None:
    x = kellet.tensor(0.5, requires_grad=True, dtype=kellet.float64)
    y = checkpoint(lambda x: x.exp() * x.sin(), x)
    (first,) = kellet.autograd.grad(y, x, create_graph=True)
    (second,) = kellet.autograd.grad(first, x)
    assert second.item() == pytest.approx(2 * kellet.exp(x).item() * kellet.cos(x).item())


def test_a_function_that_does_something_else_the_second_time_is_refused() -> None:
    turns = iter([1, 2])

    def step(x: Any) -> Any:
        return x.exp() if next(turns) == 1 else x.exp().exp()

    y = checkpoint(step, kellet.ones(2, requires_grad=True))
    with pytest.raises(GradientError, match="the function must do the same each time"):
        y.sum().backward()
