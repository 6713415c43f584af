"""`type(tensor.grad_fn).__name__` says the operation; wrong hooks of nodes are refused at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import kellet
from kellet.autograd.graph import Node, saved_tensors_hooks
from tests.tables import one_test


def leaf(*values: float) -> kellet.Tensor:
    return kellet.tensor(values, requires_grad=True)


@one_test
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: x + 1, "AddBackward0"),
        (lambda x: x * x, "MulBackward0"),
        (lambda x: x.exp(), "ExpBackward0"),
        (lambda x: x.log_softmax(0), "LogSoftmaxBackward0"),
        (lambda x: x.unbind(0)[1], "UnbindBackward0"),
        (lambda x: x.reshape(1, 2).max(1).values, "MaxBackward0"),
        (lambda x: kellet.nn.Linear(2, 3)(x), "AddmmBackward0"),
    ],
)
def test_the_class_of_a_node_is_called_as_its_operation(make: Callable[[Any], Any], name: str) -> None:
    node = make(leaf(1.0, 2.0)).grad_fn
    assert type(node).__name__ == node.name() == name
    assert isinstance(node, Node)


def test_nodes_of_one_operation_are_of_one_class() -> None:
    x = leaf(1.0)
    first, second = (x * 2).grad_fn, (x * 3).grad_fn
    assert type(first) is type(second)
    assert type(first) is not type((x + 1).grad_fn)


def test_next_functions_are_named_too() -> None:
    node, _ = (leaf(1.0).exp() * 2).grad_fn.next_functions[0]
    assert type(node).__name__ == "ExpBackward0"
    assert type(node.next_functions[0][0]).__name__ == "AccumulateGrad"


def test_nodes_that_went_through_hooks_and_gates_are_named() -> None:
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        y = x.exp()
    assert type(y.grad_fn).__name__ == "ExpBackward0"
    layer = kellet.nn.Tanh()
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    assert type(layer(x).grad_fn).__name__ == "BackwardHookFunctionBackward"


def test_looking_at_nodes_changes_no_gradient() -> None:
    plain, looked_at = leaf(1.0, -2.0), leaf(1.0, -2.0)
    ((plain.exp() * plain).sum() * 2).backward()
    y = looked_at.exp()
    z = (y * looked_at).sum()
    for tensor in (y, z):
        assert tensor.grad_fn is tensor.grad_fn
        assert "object at" in repr(tensor.grad_fn)
    (z * 2).backward()
    assert looked_at.grad.tolist() == plain.grad.tolist()


@one_test
@pytest.mark.parametrize(
    "register", [lambda node: node.register_hook, lambda node: node.add_post_hook], ids=["torch", "C++"]
)
@pytest.mark.parametrize(
    "hook",
    [
        lambda: None,
        lambda grads: None,
        lambda a, b, c: None,
        lambda a, b, *, c: None,
        functools.partial(lambda a, b: None, 1),
    ],
)
def test_a_node_hook_of_another_form_is_refused_when_registered(register: Any, hook: Any) -> None:
    node = (leaf(1.0) * 2).grad_fn
    with pytest.raises(TypeError, match=r"it must take \(grad_inputs, grad_outputs\)"):
        register(node)(hook)


@one_test
@pytest.mark.parametrize("register", [lambda node: node.register_prehook, lambda node: node.add_pre_hook])
@pytest.mark.parametrize("hook", [lambda: None, lambda a, b: None, lambda *, grads: None])
def test_a_node_pre_hook_of_another_form_is_refused_when_registered(register: Any, hook: Any) -> None:
    node = (leaf(1.0) * 2).grad_fn
    with pytest.raises(TypeError, match=r"it must take \(grad_outputs\)"):
        register(node)(hook)


def _asked(heard: list[int], *grads: object, more: int = 0) -> None:
    heard.append(len(grads))


@pytest.mark.parametrize(
    "form",
    [
        lambda heard: lambda a, b: _asked(heard, a, b),
        lambda heard: lambda *grads: _asked(heard, *grads),
        lambda heard: lambda a, b, c=1: _asked(heard, a, b),
        lambda heard: functools.partial(_asked, heard, more=1),
    ],
)
def test_a_node_hook_that_takes_two_is_taken_and_called_with_two(form: Any) -> None:
    heard: list[int] = []
    out = leaf(1.0) * 2
    out.grad_fn.register_hook(form(heard))
    out.backward()
    assert heard == [2]
