"""Graphs as deep as memory allows: nothing recurs, neither backward nor what frees them."""

from __future__ import annotations

import gc
import weakref

import kellet

DEEP = 100_000


def chain(x: kellet.Tensor) -> kellet.Tensor:
    y = x
    for _ in range(DEEP):
        y = y * 1.0
    return y


def test_backward_through_a_long_chain() -> None:
    x = kellet.ones(1, requires_grad=True)
    chain(x).backward()
    assert x.grad.item() == 1.0


def test_grad_through_a_long_chain_and_its_graph() -> None:
    x = kellet.ones(1, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y + x
    (found,) = kellet.autograd.grad(y, x, create_graph=True)
    assert found.item() == 20_001.0


def test_long_chain_is_freed_at_once() -> None:
    x = kellet.ones(1, requires_grad=True)
    y = chain(x)
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()


def test_long_chain_of_writes() -> None:
    x = kellet.ones(1, requires_grad=True)
    y = x * 1
    for _ in range(20_000):
        y.add_(1)
    y.backward()
    assert x.grad.item() == 1.0


def test_long_chain_of_custom_functions() -> None:
    class Same(kellet.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = kellet.ones(1, requires_grad=True)
    y = x
    for _ in range(10_000):
        y = Same.apply(y)
    y.backward()
    assert x.grad.item() == 1.0


def test_wide_graph() -> None:
    x = kellet.ones(1, requires_grad=True)
    kellet.cat([x * float(i) for i in range(2000)]).sum().backward()
    assert x.grad.item() == sum(range(2000))
