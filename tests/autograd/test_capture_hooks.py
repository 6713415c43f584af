"""Hooks on the gradients that one call of `grad` captures."""

from __future__ import annotations

import pytest

import kellet
from kellet.errors import HookError, HookTypeError


@pytest.fixture
def x() -> kellet.Tensor:
    return kellet.tensor([2.0], requires_grad=True)


def test_hooks_run_in_order_and_the_last_value_is_returned(x: kellet.Tensor) -> None:
    hooks = {0: [lambda grad: grad + 1, lambda grad: grad * 10]}
    (found,) = kellet.autograd.grad(x * 3, x, capture_hooks=hooks)
    assert found.item() == 40.0


def test_hook_that_returns_none_keeps_the_gradient(x: kellet.Tensor) -> None:
    assert kellet.autograd.grad(x * 3, x, capture_hooks={0: [lambda grad: None]})[0].item() == 3.0


def test_hooks_belong_to_the_call_and_not_to_the_graph(x: kellet.Tensor) -> None:
    y = x * 3
    assert (
        kellet.autograd.grad(y, x, retain_graph=True, capture_hooks={0: [lambda g: g * 2]})[0].item() == 6.0
    )
    assert kellet.autograd.grad(y, x)[0].item() == 3.0


def test_each_capture_of_one_tensor_has_its_own_hooks(x: kellet.Tensor) -> None:
    first, second = kellet.autograd.grad(x * 3, (x, x), capture_hooks={1: [lambda grad: grad * 2]})
    assert (first.item(), second.item()) == (3.0, 6.0)


def test_capture_does_not_change_what_flows_on(x: kellet.Tensor) -> None:
    y = x * 3
    of_x, of_y = kellet.autograd.grad(y * 5, (x, y), capture_hooks={1: [lambda grad: grad * 100]})
    assert (of_x.item(), of_y.item()) == (15.0, 500.0)


def test_tensor_hook_of_an_input_counts_also_when_its_node_runs(x: kellet.Tensor) -> None:
    y = x * 3
    y.register_hook(lambda grad: grad * 10)
    of_x, of_y = kellet.autograd.grad(y * 3, (x, y))
    assert (of_x.item(), of_y.item()) == (90.0, 30.0)


def test_hook_of_an_unused_input_does_not_run(x: kellet.Tensor) -> None:
    w = kellet.ones(1, requires_grad=True)
    hooks = {1: [lambda grad: pytest.fail("nothing was captured")]}
    assert kellet.autograd.grad(x * 3, (x, w), allow_unused=True, capture_hooks=hooks)[1] is None


def test_hook_sees_a_graph_under_create_graph(x: kellet.Tensor) -> None:
    (found,) = kellet.autograd.grad(x * x, x, create_graph=True, capture_hooks={0: [lambda grad: grad * 5]})
    assert kellet.autograd.grad(found, x)[0].item() == 10.0


def test_wrong_answers_and_wrong_places_are_refused(x: kellet.Tensor) -> None:
    with pytest.raises(HookTypeError, match="a capture hook: expected Tensor, but hook returned 'int'"):
        kellet.autograd.grad(x * 3, x, capture_hooks={0: [lambda grad: 3]})
    with pytest.raises(HookError, match="capture_hooks names input 1, but there are 1 inputs"):
        kellet.autograd.grad(x * 3, x, capture_hooks={1: [lambda grad: grad]})
    with pytest.raises(TypeError, match="a hook must be callable"):
        kellet.autograd.grad(x * 3, x, capture_hooks={0: [3]})  # type: ignore[list-item]  # that is the point
