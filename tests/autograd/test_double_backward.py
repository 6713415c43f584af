"""Derivatives of derivatives through saved leaves, whatever the leaves hold and whoever froze them since."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kellet
from kellet import nn
from kellet.autograd import grad
from kellet.autograd.graph import saved_tensors_hooks
from kellet.nn import functional as F
from tests.tables import one_test


class Product(kellet.autograd.Function):
    """`w * x`, with a derivative made of the saved values."""

    @staticmethod
    def forward(ctx: Any, w: Any, x: Any) -> Any:
        ctx.save_for_backward(w, x)
        return w * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        w, x = ctx.saved_tensors
        return grad * x, grad * w


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda w, x: w * x,
    "mul-other-side": lambda w, x: x * w,
    "div": lambda w, x: x / (w + 2),
    "addcmul": lambda w, x: kellet.addcmul(x, w, x),
    "where": lambda w, x: kellet.where(x > 0, w * x * x, x),
    "matmul": lambda w, x: w.reshape(1, -1) @ x.reshape(-1, 1),
    "linear": lambda w, x: F.linear(x.reshape(1, -1), w.reshape(1, -1)),
    "einsum": lambda w, x: kellet.einsum("i,i->i", w, x),
    "view": lambda w, x: w.reshape(-1)[:] * x,
    "Function": lambda w, x: Product.apply(w, x),
}


def mixed(
    operation: Callable[[Any, Any], Any], values: list[float], frozen: bool
) -> tuple[list[float], list[float]]:
    """d(df/dx)/dw and d(df/dx)/dx of `f = (operation + x) ** 2`, with `w` frozen meanwhile or not."""
    w = kellet.tensor(values, requires_grad=True)
    x = kellet.arange(2.0, 2.0 + len(values)).requires_grad_()
    y = ((operation(w, x) + x) ** 2).sum()
    if frozen:
        w.requires_grad_(False)
    (first,) = grad(y, x, create_graph=True)
    w.requires_grad_(True)
    first.sum().backward()
    return w.grad.tolist(), x.grad.tolist()


@one_test
@pytest.mark.parametrize("values", [[0.0], [3.0], [0.0, 0.0], [1.0, 2.0], [0.0, 5.0, 0.0]], ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_leaf_frozen_between_forward_and_grad_keeps_its_place_in_the_graph(
    name: str, values: list[float]
) -> None:
    expected = mixed(OPERATIONS[name], values, frozen=False)
    assert mixed(OPERATIONS[name], values, frozen=True) == expected
    assert all(expected[0])


def test_second_derivative_of_a_zero_leaf_is_exact() -> None:
    for values in ([0.0], [0.0, 0.0]):
        w = kellet.tensor(values, requires_grad=True)
        x = kellet.full((len(values),), 2.0, requires_grad=True)
        y = (w * x * x).sum()
        w.requires_grad_(False)
        (first,) = grad(y, x, create_graph=True)
        w.requires_grad_(True)
        (second,) = grad(first.sum(), w)
        assert first.tolist() == [0.0] * len(values)
        assert second.tolist() == [4.0] * len(values)  # d(2wx)/dw


def test_frozen_leaf_is_not_accumulated_into() -> None:
    w = kellet.zeros(2, requires_grad=True)
    x = kellet.ones(2, requires_grad=True)
    y = (w * x * x).sum()
    w.requires_grad_(False)
    (first,) = grad(y, x, create_graph=True)
    first.sum().backward()
    assert w.grad is None
    assert x.grad.tolist() == [0.0, 0.0]


def test_gradient_penalty_of_a_frozen_critic_reaches_its_parameters() -> None:
    def penalty(frozen: bool) -> list[list[float]]:
        kellet.manual_seed(0)
        critic = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        with kellet.no_grad():
            critic[2].bias.zero_()
        x = kellet.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -3.0]], requires_grad=True)
        score = critic(x).sum()
        if frozen:
            critic.requires_grad_(False)
        (slope,) = grad(score, x, create_graph=True)
        critic.requires_grad_(True)
        ((slope.square().sum(1) - 1).square()).sum().backward()
        return [[] if p.grad is None else p.grad.flatten().tolist() for p in critic.parameters()]

    expected = penalty(frozen=False)
    assert [len(found) for found in expected] == [12, 4, 4, 0]
    assert penalty(frozen=True) == expected


@pytest.mark.parametrize("values", [[0.0], [1.0, 2.0]], ids=str)
@pytest.mark.parametrize("how", ["hooks", "raw"])
def test_packed_leaf_keeps_its_place_in_the_graph(values: list[float], how: str) -> None:
    w = kellet.tensor(values, requires_grad=True)
    x = kellet.full((len(values),), 2.0, requires_grad=True)
    if how == "hooks":
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            y = w * x
        w.requires_grad_(False)
    else:
        y = w * x
        w.requires_grad_(False)
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    (first,) = grad(y.sum(), x, create_graph=True)
    w.requires_grad_(True)
    (second,) = grad(first.sum(), w)
    assert second.tolist() == [1.0] * len(values)


def test_saved_tensor_of_a_function_keeps_its_place_when_it_is_detached() -> None:
    x = kellet.tensor([1.0, 2.0], requires_grad=True)
    t = x * 3
    y = Product.apply(t, x).sum()
    t.detach_()
    (first,) = grad(y, x, create_graph=True)
    (second,) = grad(first.sum(), x)
    assert first.tolist() == [6.0, 12.0]
    assert second.tolist() == [6.0, 6.0]


def test_saved_tensor_of_a_function_packed_alone_keeps_its_place() -> None:
    w = kellet.zeros(1, requires_grad=True)
    x = kellet.ones(1, requires_grad=True)
    y = Product.apply(w, x)
    w.requires_grad_(False)
    y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: t.clone(), lambda t: t)
    (first,) = grad(y, x, create_graph=True)
    w.requires_grad_(True)
    assert grad(first, w)[0].tolist() == [1.0]


# --- factors that are tensors ---------------------------------------------------------------------


FACTORS: dict[str, tuple[float, Callable[[Any], Any], float]] = {
    "add": (1.0, lambda a: kellet.full((2,), 3.0).add(kellet.full((2,), 5.0), alpha=a), 10.0),
    "sub": (1.0, lambda a: kellet.full((2,), 3.0).sub(kellet.full((2,), 5.0), alpha=a), -10.0),
    "add_": (1.0, lambda a: kellet.full((2,), 3.0).add_(kellet.full((2,), 5.0), alpha=a), 10.0),
    "sub_": (1.0, lambda a: kellet.full((2,), 3.0).sub_(kellet.full((2,), 5.0), alpha=a), -10.0),
    "rsub": (1.0, lambda a: kellet.rsub(kellet.full((2,), 3.0), 1, alpha=a), -6.0),
    "addcmul": (1.0, lambda a: kellet.addcmul(kellet.zeros(2), kellet.ones(2), kellet.ones(2), value=a), 2.0),
    "addcdiv": (1.0, lambda a: kellet.addcdiv(kellet.zeros(2), kellet.ones(2), kellet.ones(2), value=a), 2.0),
    "addmm-alpha": (
        1.0,
        lambda a: kellet.addmm(kellet.ones(2, 2), kellet.eye(2), kellet.eye(2), alpha=a),
        2.0,
    ),
    "addmm-beta": (1.0, lambda a: kellet.addmm(kellet.ones(2, 2), kellet.eye(2), kellet.eye(2), beta=a), 4.0),
    "addmm-beta-0": (
        0.0,
        lambda a: kellet.addmm(kellet.ones(2, 2), kellet.eye(2), kellet.eye(2), beta=a),
        4.0,
    ),
    "index_add": (
        1.0,
        lambda a: kellet.zeros(3).index_add(0, kellet.tensor([0, 2]), kellet.ones(2), alpha=a),
        2.0,
    ),
}


@one_test
@pytest.mark.parametrize("name", FACTORS)
def test_factor_that_is_a_tensor_gets_its_gradient_at_0_and_at_1(name: str) -> None:
    value, operation, expected = FACTORS[name]
    factor = kellet.tensor(value, requires_grad=True)
    operation(factor).sum().backward()
    assert factor.grad.tolist() == expected


def test_factor_of_several_elements_is_multiplied() -> None:
    x = kellet.tensor([1.0, 1.0])
    assert x.add(x, alpha=kellet.tensor([1.0, 2.0])).tolist() == [2.0, 3.0]
    assert kellet.addcmul(x, x, x, value=kellet.tensor([0.0, 1.0])).tolist() == [1.0, 2.0]


def test_a_graph_of_the_gradient_is_made_only_where_it_is_asked_for() -> None:
    x = kellet.tensor([3.0], requires_grad=True)
    for options, has_graph in (({}, False), ({"create_graph": False}, False), ({"create_graph": True}, True)):
        (found,) = grad((x**3).sum(), x, **options)
        assert (found.requires_grad, found.grad_fn is not None) == (has_graph, has_graph)
        (x**3).sum().backward(**options)
        assert x.grad.requires_grad == has_graph
        x.grad = None
    y = (x**3).sum()
    grad(y, x)
    with pytest.raises(RuntimeError, match=r"second time|freed|retain_graph"):
        grad(y, x)  # without a graph of the gradient nothing is kept for another pass


def test_a_gradient_that_goes_past_a_part_set_to_zero_has_derivatives() -> None:
    x = kellet.tensor([1.0, 2.0, 3.0], requires_grad=True)
    v = kellet.ones(3, requires_grad=True)
    y = x * x
    y[1:].zero_()
    (first,) = grad(y, x, v, create_graph=True)
    assert first.tolist() == [2.0, 0.0, 0.0]
    assert [one.tolist() for one in grad(first.sum(), (x, v))] == [[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
