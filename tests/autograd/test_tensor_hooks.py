"""Hooks of a tensor: on its gradient, and after its `.grad` was written."""

from __future__ import annotations

import copy
import pickle

import pytest
from numpy.testing import assert_array_equal

import kellet
from kellet.errors import GradientError, HookError, HookTypeError


def leaf(*values: float) -> kellet.Tensor:
    return kellet.tensor(values, requires_grad=True)


def test_leaf_hook_sees_the_summed_gradient_once() -> None:
    x = leaf(1.0, 2.0)
    seen = []
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    (x * 2 + x * 3).sum().backward()
    assert seen == [[5.0, 5.0]]


def test_hook_of_an_inner_tensor_sees_its_whole_gradient() -> None:
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda grad: seen.append(grad.item()))
    (y * 3 + y * 4).backward()
    assert seen == [7.0]


def test_returned_gradient_replaces_the_old_one_for_later_hooks_and_nodes() -> None:
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda grad: grad * 10)
    y.register_hook(lambda grad: seen.append(grad.item()))
    (y * 3).backward()
    assert seen == [30.0]
    assert x.grad.tolist() == [60.0]


def test_none_keeps_the_gradient() -> None:
    x = leaf(1.0)
    x.register_hook(lambda grad: None)
    (x * 3).backward()
    assert x.grad.item() == 3.0


def test_hook_runs_when_the_tensor_is_an_input_of_grad_though_its_node_does_not() -> None:
    x = leaf(2.0)
    y = x * 3
    ran = []
    y.grad_fn.register_prehook(lambda grads: ran.append("node"))
    y.register_hook(lambda grad: grad * 10)
    (found,) = kellet.autograd.grad(y * 5, y)
    assert found.item() == 50.0
    assert ran == []


def test_hook_runs_without_grad_mode_and_with_it_under_create_graph() -> None:
    x = leaf(2.0)
    modes = []
    x.register_hook(lambda grad: modes.append((kellet.is_grad_enabled(), grad.requires_grad)))
    (x * x).backward()
    (x * x).backward(create_graph=True)
    assert modes == [(False, False), (True, True)]


def test_hook_on_a_tensor_without_gradient_is_refused() -> None:
    with pytest.raises(
        GradientError, match=r"cannot register a hook on a tensor that doesn't require gradient"
    ):
        kellet.ones(1).register_hook(print)


def test_hook_that_is_not_callable_is_refused_when_registered() -> None:
    with pytest.raises(TypeError, match="a hook must be callable, got int: 3"):
        leaf(1.0).register_hook(3)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(TypeError, match="a hook must be callable, got NoneType"):
        leaf(1.0).register_post_accumulate_grad_hook(None)  # type: ignore[arg-type]  # that is the point


def test_answer_that_is_no_tensor() -> None:
    x = leaf(1.0)
    x.register_hook(lambda grad: 3)
    with pytest.raises(HookTypeError, match="expected Tensor, but hook returned 'int'"):
        (x * 2).backward()
    assert x.grad is None


def test_answer_of_another_shape() -> None:
    x = leaf(1.0)
    x.register_hook(lambda grad: kellet.ones(2))
    with pytest.raises(HookError, match=r"has changed the size of value: \(2,\) where \(1,\)"):
        (x * 2).backward()


def test_answer_of_another_dtype() -> None:
    x = leaf(1.0)
    x.register_hook(lambda grad: grad.double())
    with pytest.raises(HookError, match="has changed the type of value: float64 where float32"):
        (x * 2).backward()


def test_gradient_changed_in_place_is_what_flows_on() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3

    def double(grad: kellet.Tensor) -> None:
        grad.mul_(2)

    y.register_hook(double)
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_hook_from_before_an_in_place_operation_sees_the_gradient_of_the_old_value() -> None:
    x = leaf(2.0)
    y = x * 1
    old, new = [], []
    y.register_hook(lambda grad: old.append(grad.item()))
    y.mul_(5)
    y.register_hook(lambda grad: new.append(grad.item()))
    (y * 3).backward()
    assert (old, new) == ([15.0], [3.0])


def test_hook_on_a_view_from_before_an_in_place_operation_on_it_does_not_fire() -> None:
    base = leaf(1.0, 2.0) * 1
    view = base[:1]
    fired = []
    view.register_hook(lambda grad: fired.append(grad))
    view.mul_(2)
    base.sum().backward(retain_graph=True)
    view.sum().backward()
    assert fired == []


# --- retain_grad ----------------------------------------------------------------------------------


def test_retained_gradient_sees_every_tensor_hook_whatever_the_order_of_calls() -> None:
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda grad: grad * 2)
    y.retain_grad()
    y.register_hook(lambda grad: grad * 5)
    (y * 3).backward()
    assert y.grad.item() == 30.0


def test_retained_gradient_is_from_before_the_node_pre_hooks() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 100,))
    (y * 3).backward()
    assert y.grad.item() == 3.0
    assert x.grad.item() == 600.0


def test_retained_gradients_add_up_over_passes() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    z = y * 3
    z.backward(retain_graph=True)
    z.backward()
    assert y.grad.item() == 6.0


def test_retain_grad_follows_the_tensor_through_in_place_operations() -> None:
    x = leaf(2.0)
    y = x * 1
    y.retain_grad()
    y.mul_(5)
    (y * 3).backward()
    assert y.grad.item() == 3.0


def test_retain_grad_of_a_view_follows_a_write_through_its_base() -> None:
    base = leaf(1.0) * 1
    view = base[:]
    view.retain_grad()
    base.mul_(2)
    (view * 3).sum().backward()
    assert view.grad.tolist() == [3.0]


def test_retain_grad_on_a_leaf_changes_nothing() -> None:
    x = leaf(1.0)
    x.retain_grad()
    assert not x.retains_grad
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    assert y.retains_grad


def test_retain_grad_needs_a_gradient() -> None:
    with pytest.raises(GradientError, match="can't retain_grad on a tensor that doesn't require gradient"):
        kellet.ones(1).retain_grad()


# --- after accumulation ---------------------------------------------------------------------------


def test_post_accumulate_hook_sees_the_written_gradient() -> None:
    x = leaf(1.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append((tensor is x, tensor.grad.item())))
    (x * 3).backward()
    (x * 4).backward()
    assert seen == [(True, 3.0), (True, 7.0)]


def test_post_accumulate_hook_may_clear_the_gradient() -> None:
    x = leaf(1.0)

    def clear(tensor: kellet.Tensor) -> None:
        tensor.grad = None

    x.register_post_accumulate_grad_hook(clear)
    (x * 3).backward()
    assert x.grad is None


@pytest.mark.parametrize("answer", [0, "text", False, kellet.ones(1)], ids=str)
def test_post_accumulate_hook_that_answers_is_refused(answer: object) -> None:
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda tensor: answer)
    with pytest.raises(HookError, match=r"post accumulate grad hooks should return None, but .* returned"):
        (x * 3).backward()
    assert x.grad.item() == 3.0


def test_post_accumulate_hook_is_silent_under_grad() -> None:
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda tensor: pytest.fail("must not run"))
    assert kellet.autograd.grad(x * 3, x)[0].item() == 3.0


def test_post_accumulate_hook_is_for_leaves() -> None:
    with pytest.raises(
        GradientError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"
    ):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(print)


# --- coming and going -----------------------------------------------------------------------------


def test_handle_removes_by_call_by_remove_and_by_with_and_may_do_so_twice() -> None:
    x = leaf(1.0)
    calls: list[str] = []
    called = x.register_hook(lambda grad: calls.append("called"))
    removed = x.register_hook(lambda grad: calls.append("removed"))
    called()
    called()
    removed.remove()
    removed.remove()
    with x.register_hook(lambda grad: calls.append("with")):
        (x * 1).backward()
    (x * 1).backward()
    assert calls == ["with"]
    assert isinstance(called.id, int)


def test_dropped_handle_leaves_the_hook() -> None:
    x = leaf(1.0)
    calls = []
    x.register_hook(lambda grad: calls.append(1))
    (x * 1).backward()
    assert calls == [1]


def test_hook_removed_by_an_earlier_hook_of_the_pass_is_skipped() -> None:
    x = leaf(1.0)
    calls = []
    x.register_hook(lambda grad: later.remove())
    later = x.register_hook(lambda grad: calls.append("later"))
    (x * 1).backward()
    assert calls == []


def test_hook_that_removes_itself_lets_the_others_run() -> None:
    x = leaf(1.0)
    calls = []

    def once(grad: kellet.Tensor) -> None:
        calls.append("once")
        handle.remove()

    handle = x.register_hook(once)
    x.register_hook(lambda grad: calls.append("always"))
    (x * 1).backward()
    (x * 1).backward()
    assert calls == ["once", "always", "always"]


def test_hook_added_during_a_pass_waits_for_the_next() -> None:
    x = leaf(1.0)
    calls = []

    def add(grad: kellet.Tensor) -> None:
        first.remove()
        x.register_hook(lambda grad: calls.append("added"))

    first = x.register_hook(add)
    (x * 1).backward()
    assert calls == []
    (x * 1).backward()
    assert calls == ["added"]


def test_hook_removed_between_forward_and_backward_does_not_fire() -> None:
    y = leaf(1.0) * 2
    calls = []
    handle = y.register_hook(lambda grad: calls.append(1))
    z = y * 3
    handle.remove()
    z.backward()
    assert calls == []


def test_error_in_a_hook_goes_through_and_gradients_stored_so_far_stay() -> None:
    x, y = leaf(1.0), leaf(1.0)
    early = x * 2
    z = y * early

    def fail(grad: kellet.Tensor) -> None:
        raise KeyError("mine")

    early.register_hook(fail)
    with pytest.raises(KeyError, match="mine"):
        z.backward()
    assert y.grad.item() == 2.0
    assert x.grad is None
    assert kellet.is_grad_enabled()


def test_deepcopy_drops_hooks() -> None:
    x = leaf(1.0)
    x.register_hook(lambda grad: pytest.fail("must not be copied"))
    made = copy.deepcopy(x)
    (made * 2).backward()
    assert made.grad.item() == 2.0


def test_pickle_drops_hooks() -> None:
    x = leaf(1.0)
    x.register_hook(lambda grad: None)
    x.register_post_accumulate_grad_hook(lambda tensor: None)
    made = pickle.loads(pickle.dumps(x))
    assert made.requires_grad
    assert made._backward_hooks is None


def test_recorded_gradient_is_not_changed_by_later_accumulation() -> None:
    x = leaf(1.0)
    seen = []
    x.register_hook(seen.append)
    (x * 3).backward()
    (x * 3).backward()
    assert_array_equal(x.grad, [6.0])
    assert [grad.item() for grad in seen] == [3.0, 3.0]


def test_hook_of_a_tensor_whose_gradient_is_undefined_gets_none() -> None:
    class Stop(kellet.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return None

    y = leaf(1.0) * 2
    seen = []
    y.register_hook(seen.append)
    Stop.apply(y).backward()
    assert seen == [None]
