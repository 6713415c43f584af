"""One hook for several tensors."""

from __future__ import annotations

from typing import Any

import pytest

import kellet
from kellet.autograd.graph import register_multi_grad_hook
from kellet.errors import GradientError


def graph() -> tuple[kellet.Tensor, ...]:
    a = kellet.tensor(2.0, requires_grad=True)
    b = kellet.tensor(3.0, requires_grad=True)
    return a, b, a * b, a * b


def values(grads: Any) -> list[Any]:
    return [None if grad is None else grad.item() for grad in grads]


def test_all_waits_for_every_gradient_of_the_pass() -> None:
    a, b, c, d = graph()
    seen = []
    register_multi_grad_hook((a, b, c, d), lambda grads: seen.append(values(grads)))
    (c * 5).backward(retain_graph=True)
    assert seen == [[15.0, 10.0, 5.0, None]]
    (c + d).backward(inputs=(a,), retain_graph=True)
    assert seen[1:] == [[6.0, None, 1.0, 1.0]]


def test_all_runs_once_in_each_pass() -> None:
    a, b, c, _ = graph()
    seen = []
    register_multi_grad_hook((a, b), lambda grads: seen.append(values(grads)))
    c.backward(retain_graph=True)
    c.backward()
    assert seen == [[3.0, 2.0], [3.0, 2.0]]


def test_any_runs_with_the_first_gradient_before_the_regular_hooks_of_later_tensors() -> None:
    a, b, c, d = graph()
    events: list[Any] = []
    register_multi_grad_hook((a, b, c, d), lambda grad: events.append(("any", grad.item())), mode="any")
    c.register_hook(lambda grad: events.append(("c", grad.item())))
    d.register_hook(lambda grad: events.append(("d", grad.item())))
    (c * 5 + d * 7).backward()
    assert events == [("any", 7.0), ("d", 7.0), ("c", 5.0)]


def test_any_fires_before_the_regular_hook_registered_after_it() -> None:
    a, _, c, _ = graph()
    events = []
    register_multi_grad_hook((a, c), lambda grad: events.append("any"), mode="any")
    c.register_hook(lambda grad: events.append("regular"))
    c.backward()
    assert events == ["any", "regular"]


def test_any_passes_over_tensors_without_gradient() -> None:
    a, _, c, _ = graph()
    seen = []
    register_multi_grad_hook((kellet.ones(1), a), lambda grad: seen.append(grad.item()), mode="any")
    c.backward()
    assert seen == [3.0]


def test_handle_removes_it_from_every_tensor() -> None:
    a, b, c, _ = graph()
    handle = register_multi_grad_hook((a, b), lambda grads: pytest.fail("was removed"))
    with handle:
        pass
    handle.remove()
    c.backward()


def test_wrong_arguments() -> None:
    a, *_ = graph()
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got foo"):
        register_multi_grad_hook((a,), print, mode="foo")
    with pytest.raises(TypeError, match="a hook must be callable"):
        register_multi_grad_hook((a,), 3)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(GradientError, match="needs tensors that require a gradient"):
        register_multi_grad_hook((a, kellet.ones(1)), print)


def test_passes_within_passes_are_kept_apart() -> None:
    a, b, c, _ = graph()
    seen = []

    def gather(grads: Any) -> None:
        seen.append(values(grads))

    register_multi_grad_hook((a, b), gather)

    def nested(grad: Any) -> None:
        with kellet.enable_grad():
            (a * b * 10).backward()

    c.register_hook(nested)
    c.backward()
    assert seen == [[30.0, 20.0], [3.0, 2.0]]
