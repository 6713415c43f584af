"""Callbacks at the end of a pass, and passes within passes."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

import kellet
from kellet.autograd import queue_callback
from kellet.errors import GradientError


def test_callbacks_run_in_order_after_all_gradients_are_stored() -> None:
    x = kellet.ones(1, requires_grad=True)
    w = kellet.ones(1, requires_grad=True)
    seen = []
    y = x * 2

    def queue(grad: Any) -> None:
        queue_callback(lambda: seen.append(("first", x.grad.item(), w.grad.item())))
        queue_callback(lambda: seen.append(("second", x.grad.item(), w.grad.item())))

    y.register_hook(queue)
    (y * w).backward()
    assert seen == [("first", 2.0, 2.0), ("second", 2.0, 2.0)]


def test_callback_may_queue_more() -> None:
    x = kellet.ones(1, requires_grad=True)
    seen = []

    def again(left: int) -> None:
        seen.append(left)
        if left:
            queue_callback(lambda: again(left - 1))

    x.register_hook(lambda grad: queue_callback(lambda: again(3)))
    (x * 2).backward()
    assert seen == [3, 2, 1, 0]


def test_outside_of_backward_it_is_refused() -> None:
    with pytest.raises(GradientError, match="Final callbacks can only be installed during backward pass"):
        queue_callback(lambda: None)


def test_not_callable_is_refused() -> None:
    x = kellet.ones(1, requires_grad=True)
    x.register_hook(lambda grad: queue_callback(5))  # type: ignore[arg-type]  # that is the point
    with pytest.raises(TypeError, match="a hook must be callable, got int"):
        (x * 2).backward()


def test_failed_pass_drops_its_callbacks() -> None:
    x = kellet.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: queue_callback(lambda: pytest.fail("the pass failed")))
    handle = x.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward(retain_graph=True)
    handle.remove()
    with pytest.raises(GradientError, match="during backward pass"):
        queue_callback(lambda: None)


def test_callback_that_raises_stops_the_rest_and_gradients_stay() -> None:
    x = kellet.ones(1, requires_grad=True)

    def queue(grad: Any) -> None:
        queue_callback(lambda: 1 / 0)
        queue_callback(lambda: pytest.fail("must not run"))

    x.register_hook(queue)
    with pytest.raises(ZeroDivisionError):
        (x * 2).backward()
    assert x.grad.item() == 2.0


# --- passes within passes -------------------------------------------------------------------------


class Nested(kellet.autograd.Function):
    """Runs a backward of its own inside backward, and queues a callback before and after."""

    events: ClassVar[list[str]] = []

    @staticmethod
    def forward(ctx: Any, x: Any, depth: int) -> Any:
        ctx.depth = depth
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        depth = ctx.depth
        queue_callback(lambda: Nested.events.append(f"before {depth}"))
        if depth:
            with kellet.enable_grad():
                inner = kellet.ones(1, requires_grad=True)
                Nested.apply(inner, depth - 1).backward()
        queue_callback(lambda: Nested.events.append(f"after {depth}"))
        return grad, None


def test_callbacks_run_at_the_end_of_the_innermost_pass() -> None:
    Nested.events = []
    Nested.apply(kellet.ones(1, requires_grad=True), 2).backward()
    assert Nested.events == ["before 0", "after 0", "before 1", "after 1", "before 2", "after 2"]


def test_passes_nest_deeper_than_the_stack_of_one_thread() -> None:
    Nested.events = []
    Nested.apply(kellet.ones(1, requires_grad=True), 500).backward()
    assert len(Nested.events) == 2 * 501


def test_nested_backward_in_a_hook_leaves_the_outer_pass_as_it_was() -> None:
    x = kellet.tensor([3.0], requires_grad=True)
    w = kellet.tensor([5.0], requires_grad=True)

    def nested(grad: Any) -> Any:
        with kellet.enable_grad():
            (w * 7).backward()
        assert not kellet.is_grad_enabled()
        return grad * 2

    y = x * 2
    y.register_hook(nested)
    (y * 10).backward()
    assert (x.grad.item(), w.grad.item()) == (40.0, 7.0)


def test_error_in_a_nested_pass_deep_down_comes_out() -> None:
    class Fails(kellet.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if not ctx.depth:
                raise KeyError("at the bottom")
            with kellet.enable_grad():
                Fails.apply(kellet.ones(1, requires_grad=True), ctx.depth - 1).backward()
            return grad, None

    with pytest.raises(KeyError, match="at the bottom"):
        Fails.apply(kellet.ones(1, requires_grad=True), 100).backward()
    assert kellet.is_grad_enabled()
