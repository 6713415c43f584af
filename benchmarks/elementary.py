"""The smallest graph there is: what one operation costs before any arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.row import Contender, Goal, Row

SECTION = "Autograd core"
WHY = (
    "a quarter is the forward; then each of two leaves gets its gradient under its lock, with its hooks "
    "looked for, the array copied and a Tensor made for `.grad`."
)
ONE = np.ones(1, dtype=np.float32)


def rows() -> list[Row]:
    forward = {
        "kellet": _kellet,
        "torch": _torch,
        "autograd": _autograd,
        "mygrad": _mygrad,
        "by hand": _by_hand,
    }
    backward = {
        "kellet": _kellet_backward,
        "torch": _torch_backward,
        "autograd": _autograd_backward,
        "mygrad": _mygrad_backward,
        "jax": _jax_backward,
    }
    return [
        Row(SECTION, "add, 1 element, graph forward", "us", forward, (Goal(0.8, "torch"),)),
        Row(
            SECTION,
            "add, 1 element, forward and backward",
            "us",
            backward,
            (Goal(0.25, "torch", list=2),),
            why=WHY,
        ),
    ]


def _kellet() -> Contender:
    import kellet

    a, b = kellet.tensor(ONE, requires_grad=True), kellet.tensor(ONE, requires_grad=True)
    return Contender(lambda: a + b, result=lambda: [(a + b).detach().numpy()])


def _torch() -> Contender:
    import torch

    torch.set_num_threads(1)
    a, b = torch.tensor(ONE, requires_grad=True), torch.tensor(ONE, requires_grad=True)
    return Contender(lambda: a + b, result=lambda: [(a + b).detach().numpy()])


def _autograd() -> Contender:
    from autograd import make_vjp

    # Nothing is recorded outside a trace, so what a trace costs is part of it.
    trace = make_vjp(lambda a: a + ONE)
    return Contender(lambda: trace(ONE), result=lambda: [trace(ONE)[1]])


def _mygrad() -> Contender:
    import mygrad

    a, b = mygrad.tensor(ONE), mygrad.tensor(ONE)
    return Contender(lambda: a + b, result=lambda: [(a + b).data])


def _by_hand() -> Contender:
    a, b = ONE.copy(), ONE.copy()
    return Contender(lambda: a + b, result=lambda: [a + b])


def _kellet_backward() -> Contender:
    import kellet

    return _stateful(kellet.tensor(ONE, requires_grad=True), kellet.tensor(ONE, requires_grad=True))


def _torch_backward() -> Contender:
    import torch

    torch.set_num_threads(1)
    return _stateful(torch.tensor(ONE, requires_grad=True), torch.tensor(ONE, requires_grad=True))


def _stateful(a: Any, b: Any) -> Contender:
    def step() -> None:
        a.grad = b.grad = None
        (a + b).backward()

    def result() -> list[Any]:
        step()
        return [a.grad.numpy()]

    return Contender(step, result=result)


def _autograd_backward() -> Contender:
    from autograd import make_vjp

    # It follows one argument; two would have to be a tuple, which costs it eight times as much.
    trace = make_vjp(lambda a: a + ONE)

    def step() -> Any:
        vjp, value = trace(ONE)
        return vjp(np.ones_like(value))

    return Contender(step, result=lambda: [step()])


def _mygrad_backward() -> Contender:
    import mygrad

    a, b = mygrad.tensor(ONE), mygrad.tensor(ONE)

    def step() -> None:
        (a + b).backward()

    def result() -> list[Any]:
        step()
        return [a.grad]

    return Contender(step, result=result)


def _jax_backward() -> Contender:
    import jax

    step = jax.jit(jax.grad(lambda a, b: (a + b).sum(), (0, 1)))
    a, b = jax.numpy.asarray(ONE), jax.numpy.asarray(ONE)
    return Contender(lambda: jax.block_until_ready(step(a, b)), result=lambda: step(a, b)[:1])
