"""Hooks of a node: before it runs and after it ran, in Python's form and in that of C++."""

from __future__ import annotations

from typing import Any

import pytest

import kellet
from kellet.autograd.graph import Node
from kellet.errors import HookError, HookTypeError


@pytest.fixture
def x() -> kellet.Tensor:
    return kellet.tensor([2.0], requires_grad=True)


def values(grads: Any) -> list[Any]:
    return [None if grad is None else grad.item() for grad in grads]


def test_pre_hook_sees_the_gradients_of_the_outputs_and_may_replace_them(x: kellet.Tensor) -> None:
    y = x * 3
    seen = []
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    y.grad_fn.register_prehook(lambda grads: seen.append(values(grads)))
    (y * 2).backward()
    assert seen == [[20.0]]
    assert x.grad.item() == 60.0


def test_pre_hook_that_returns_none_keeps_the_gradients(x: kellet.Tensor) -> None:
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: None)
    y.backward()
    assert x.grad.item() == 3.0


def test_pre_hook_does_not_run_when_the_node_does_not(x: kellet.Tensor) -> None:
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: pytest.fail("the node is not executed"))
    y.grad_fn.register_hook(lambda inputs, outputs: pytest.fail("the node is not executed"))
    assert kellet.autograd.grad(y * 2, y)[0].item() == 2.0


def test_hook_sees_both_sides_after_pre_hooks_and_may_replace_the_inputs(x: kellet.Tensor) -> None:
    w = kellet.tensor([5.0], requires_grad=True)
    y = x * w
    seen = []
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((values(inputs), values(outputs))))
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1, inputs[1]))
    y.backward()
    assert seen == [([50.0, 20.0], [10.0])]
    assert (x.grad.item(), w.grad.item()) == (51.0, 20.0)


def test_gradient_of_an_input_that_needs_none_is_none(x: kellet.Tensor) -> None:
    y = x * kellet.tensor([5.0])
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(values(inputs)))
    y.backward()
    assert seen == [[5.0, None]]


def test_missing_gradients_of_outputs_are_none(x: kellet.Tensor) -> None:
    first, _ = (kellet.cat([x, x]) * 1).split(1)
    seen = []
    first.grad_fn.register_prehook(lambda grads: seen.append(values(grads)))
    first.backward()
    assert seen == [[1.0, None]]


@pytest.mark.parametrize("register", ["register_prehook", "add_pre_hook"])
def test_wrong_answers_of_pre_hooks(x: kellet.Tensor, register: str) -> None:
    y = x * 3
    getattr(y.grad_fn, register)(lambda grads: grads[0])
    with pytest.raises(HookTypeError, match=r"expected tuple of gradients or None .* returned 'Tensor'"):
        y.backward()
    y = x * 3
    getattr(y.grad_fn, register)(lambda grads: (grads[0], grads[0]))
    with pytest.raises(HookError, match=r"incorrect number of values \(got 2, but expected 1\)"):
        y.backward()


@pytest.mark.parametrize("register", ["register_hook", "add_post_hook"])
def test_wrong_answers_of_hooks(x: kellet.Tensor, register: str) -> None:
    y = x * 3
    getattr(y.grad_fn, register)(lambda inputs, outputs: 7)
    with pytest.raises(HookTypeError, match=r"expected tuple of gradients or None .* returned 'int'"):
        y.backward()
    y = x * 3
    getattr(y.grad_fn, register)(lambda inputs, outputs: (inputs[0],))
    with pytest.raises(HookError, match=r"incorrect number of values \(got 1, but expected 2\)"):
        y.backward()


def test_none_cannot_become_a_gradient(x: kellet.Tensor) -> None:
    y = x * 3
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0], inputs[0]))
    with pytest.raises(HookError, match="can't replace a None gradient with a value"):
        y.backward()


def test_cpp_pre_hook_returns_nothing_and_stands_in_one_list_with_the_others(x: kellet.Tensor) -> None:
    y = x * 3
    order = []

    def note(name: str) -> Any:
        return lambda grads: order.append(name) or grads

    y.grad_fn.register_prehook(note("first"))
    assert y.grad_fn.add_pre_hook(note("second")) is None
    handle = y.grad_fn.register_prehook(note("third"))
    y.backward(retain_graph=True)
    handle.remove()
    y.backward()
    assert order == ["first", "second", "third", "first", "second"]


def test_cpp_post_hook_is_removed_by_its_integer_key(x: kellet.Tensor) -> None:
    y = x * 3
    order = []

    def note(name: str) -> Any:
        return lambda inputs, outputs: order.append(name) or inputs

    y.grad_fn.register_hook(note("first"))
    key = y.grad_fn.add_post_hook(note("second"))
    assert isinstance(key, int)
    y.backward(retain_graph=True)
    assert y.grad_fn.del_post_hook(key) is True
    assert y.grad_fn.del_post_hook(key) is False
    y.backward()
    assert order == ["first", "second", "first"]


def test_not_callable_is_refused_when_registered(x: kellet.Tensor) -> None:
    node = (x * 3).grad_fn
    for register in (node.register_prehook, node.register_hook, node.add_pre_hook, node.add_post_hook):
        with pytest.raises(TypeError, match="a hook must be callable"):
            register("no")


def test_pre_hook_removed_by_an_earlier_one_is_skipped(x: kellet.Tensor) -> None:
    y = x * 3
    calls = []
    y.grad_fn.register_prehook(lambda grads: second.remove())
    second = y.grad_fn.register_prehook(lambda grads: calls.append(1))
    y.backward()
    assert calls == []


# --- the node of a leaf ---------------------------------------------------------------------------


def test_hooks_of_the_accumulation_node(x: kellet.Tensor) -> None:
    node = (x * 3).grad_fn.next_functions[0][0]
    assert node.name() == "AccumulateGrad"
    assert node.variable is x
    seen = []
    node.register_prehook(lambda grads: (grads[0] * 10,))
    node.register_hook(lambda inputs, outputs: seen.append((inputs, values(outputs), x.grad.item())))
    (x * 3).backward()
    assert seen == [((), [30.0], 30.0)]
    assert x.grad.item() == 30.0


def test_hooks_of_the_accumulation_node_outlive_it(x: kellet.Tensor) -> None:
    (x * 3).grad_fn.next_functions[0][0].register_prehook(lambda grads: (grads[0] * 10,))
    (x * 3).backward()
    assert x.grad.item() == 30.0


def test_grad_runs_neither_kind_of_the_accumulation_node(x: kellet.Tensor) -> None:
    node = (x * 3).grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: pytest.fail("must not run"))
    node.register_hook(lambda inputs, outputs: pytest.fail("must not run"))
    x.register_hook(lambda grad: grad + 1)
    assert kellet.autograd.grad(x * 3, x)[0].item() == 4.0


# --- nodes as objects -----------------------------------------------------------------------------


def test_graph_can_be_walked(x: kellet.Tensor) -> None:
    z = (x * 3).exp()
    node = z.grad_fn
    assert isinstance(node, Node)
    assert node.name() == "ExpBackward0"
    ((inner, number),) = node.next_functions
    assert (inner.name(), number) == ("MulBackward0", 0)
    ((leaf, _), constant) = inner.next_functions
    assert leaf.variable is x
    assert constant == (None, 0)
    assert repr(node).startswith("<ExpBackward0 object at 0x")


def test_same_node_is_seen_again_while_it_is_held(x: kellet.Tensor) -> None:
    node = (x * 3).grad_fn.next_functions[0][0]
    assert (x * 4).grad_fn.next_functions[0][0] is node


def test_output_number_of_several_outputs(x: kellet.Tensor) -> None:
    parts = (kellet.cat([x, x, x]) * 1).split(1)
    assert [part.output_nr for part in parts] == [0, 1, 2]
    assert len({id(part.grad_fn) for part in parts}) == 1


def test_metadata_is_a_dict_of_the_users(x: kellet.Tensor) -> None:
    y = x * 3
    y.grad_fn.metadata["name"] = "mine"
    assert y.grad_fn.metadata == {"name": "mine"}


def test_node_can_be_called_alone(x: kellet.Tensor) -> None:
    y = x * 3
    first, second = y.grad_fn(kellet.ones(1))
    assert (first.item(), second) == (3.0, None)
    with pytest.raises(TypeError, match="MulBackward0 expected 1 arguments, got 2 instead"):
        y.grad_fn(kellet.ones(1), kellet.ones(1))


def test_node_called_alone_in_a_hook_leaves_the_pass_around_it_in_place(x: kellet.Tensor) -> None:
    order: list[Any] = []
    inner = (x * 2).grad_fn
    assert inner is not None

    def hook(grad: kellet.Tensor) -> None:
        inner(grad)
        order.append(kellet.is_grad_enabled())
        kellet.autograd.queue_callback(lambda: order.append("end"))
        order.append("hook")

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    assert order == [False, "hook", "end"]
    assert kellet.is_grad_enabled()


def test_callbacks_queued_in_a_node_called_alone_run_when_it_is_done(x: kellet.Tensor) -> None:
    order: list[str] = []

    class Told(kellet.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: kellet.Tensor) -> kellet.Tensor:
            return value * 1

        @staticmethod
        def backward(ctx: Any, grad: kellet.Tensor) -> kellet.Tensor:
            kellet.autograd.queue_callback(lambda: order.append("end"))
            order.append("node")
            return grad

    node = Told.apply(x).grad_fn
    node(kellet.ones_like(x))
    assert order == ["node", "end"]


def test_saved_values_can_be_read(x: kellet.Tensor) -> None:
    y = x * 3
    assert y.grad_fn._saved_other == 3
    z = x.exp()
    assert z.grad_fn._saved_result.tolist() == z.tolist()
    for name in ("_saved_self", "_raw_saved_self"):
        with pytest.raises(AttributeError, match=f"ExpBackward0 saved no value '{name}'"):
            getattr(z.grad_fn, name)
    with pytest.raises(AttributeError, match="'MulBackward0' object has no attribute 'color'"):
        _ = y.grad_fn.color
