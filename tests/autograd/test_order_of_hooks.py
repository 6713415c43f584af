"""The order of all hooks of one backward, as one trace: the numbered list in `autograd/passes.py`."""

from __future__ import annotations

from typing import Any

import kellet


class Trace:
    """Hooks that note their name and what they saw."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def on_grad(self, name: str, factor: float = 1.0) -> Any:
        def hook(grad: Any) -> Any:
            self.events.append((name, grad.item()))
            return grad * factor if factor != 1.0 else None

        return hook

    def on_grads(self, name: str) -> Any:
        return lambda grads: self.events.append((name, [g.item() for g in grads]))

    def after(self, name: str) -> Any:
        def hook(inputs: Any, outputs: Any) -> None:
            seen = [[None if g is None else g.item() for g in side] for side in (inputs, outputs)]
            self.events.append((name, seen))

        return hook


def test_one_backward() -> None:
    trace = Trace()
    x = kellet.tensor(2.0, requires_grad=True)
    y = x * 3
    z = y * 5

    # registered in an order that is not the order of the calls
    accumulation = y.grad_fn.next_functions[0][0]
    accumulation.register_hook(trace.after("leaf: node hook"))
    x.register_post_accumulate_grad_hook(
        lambda t: trace.events.append(("leaf: post-accumulate", t.grad.item()))
    )
    accumulation.register_prehook(trace.on_grads("leaf: node pre-hook"))
    x.register_hook(trace.on_grad("leaf: tensor hook 1", 2.0))
    x.register_hook(trace.on_grad("leaf: tensor hook 2"))
    y.grad_fn.register_hook(trace.after("y: node hook"))
    y.grad_fn.add_post_hook(trace.after("y: node hook of C++"))
    y.grad_fn.register_prehook(trace.on_grads("y: node pre-hook"))
    y.grad_fn.add_pre_hook(trace.on_grads("y: node pre-hook of C++"))
    y.retain_grad()
    y.register_hook(trace.on_grad("y: tensor hook 1", 10.0))
    y.register_hook(trace.on_grad("y: tensor hook 2"))

    def queue(grad: Any) -> None:
        trace.events.append(("z: tensor hook", grad.item()))
        kellet.autograd.queue_callback(lambda: trace.events.append(("callback 1", x.grad.item())))
        kellet.autograd.queue_callback(
            lambda: kellet.autograd.queue_callback(
                lambda: trace.events.append(("callback of a callback", None))
            )
        )
        kellet.autograd.queue_callback(lambda: trace.events.append(("callback 2", y.grad.item())))

    z.register_hook(queue)
    z.backward()

    assert trace.events == [
        ("z: tensor hook", 1.0),
        ("y: tensor hook 1", 5.0),
        ("y: tensor hook 2", 50.0),
        ("y: node pre-hook", [50.0]),
        ("y: node pre-hook of C++", [50.0]),
        ("y: node hook", [[150.0, None], [50.0]]),
        ("y: node hook of C++", [[150.0, None], [50.0]]),
        ("leaf: tensor hook 1", 150.0),
        ("leaf: tensor hook 2", 300.0),
        ("leaf: node pre-hook", [300.0]),
        ("leaf: post-accumulate", 300.0),
        ("leaf: node hook", [[], [300.0]]),
        ("callback 1", 300.0),
        ("callback 2", 50.0),
        ("callback of a callback", None),
    ]
    assert y.grad.item() == 50.0  # retained after the tensor hooks


def test_one_call_of_grad() -> None:
    trace = Trace()
    x = kellet.tensor(2.0, requires_grad=True)
    y = x * 3
    z = y * 5
    y.grad_fn.register_prehook(trace.on_grads("y: node pre-hook"))
    y.grad_fn.register_hook(trace.after("y: node hook"))
    y.register_hook(trace.on_grad("y: tensor hook", 10.0))
    x.register_hook(trace.on_grad("x: tensor hook", 2.0))
    x.register_post_accumulate_grad_hook(lambda t: trace.events.append(("never", None)))
    hooks = {0: [trace.on_grad("x: capture hook", 3.0)], 1: [trace.on_grad("y: capture hook")]}

    found = kellet.autograd.grad(z, (x, y), capture_hooks=hooks)

    assert trace.events == [
        ("y: tensor hook", 5.0),
        ("y: capture hook", 50.0),
        ("y: node pre-hook", [50.0]),
        ("y: node hook", [[150.0, None], [50.0]]),
        ("x: tensor hook", 150.0),
        ("x: capture hook", 300.0),
    ]
    assert [grad.item() for grad in found] == [900.0, 50.0]
    assert x.grad is None


def test_later_steps_run_first_and_leaves_before_all_nodes() -> None:
    order: list[str] = []
    a, b = (kellet.tensor(1.0, requires_grad=True) for _ in range(2))
    first = a * 2
    second = b * 3
    third = first * 4
    for name, tensor in {"a": a, "b": b, "first": first, "second": second, "third": third}.items():
        tensor.register_hook(lambda grad, name=name: order.append(name))
    (third + second).backward()
    assert order == ["third", "second", "b", "first", "a"]
