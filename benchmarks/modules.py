"""What calling a module costs: bare, with a forward hook, with a full backward hook."""

from __future__ import annotations

from typing import Any

from benchmarks.row import Contender, Goal, Row

SECTION = "Autograd core"
WHY = (
    "the hook stands in two gate nodes around the module, made for every call, through which the arrays of "
    "the pass go as Tensors, in a grad mode that is switched for it."
)


def rows() -> list[Row]:
    bare = {"kellet": _kellet_call, "torch": _torch_call, "by hand": _by_hand_call}
    hooked = {"kellet": _kellet_hooked, "torch": _torch_hooked}
    backward = {"kellet": _kellet_backward, "torch": _torch_backward}
    title = "module forward and backward, what a full backward hook adds"
    return [
        Row(SECTION, "Module call, no hook", "us", bare, (Goal(0.5, "torch"),)),
        Row(SECTION, "Module call, one forward hook", "us", hooked, (Goal(0.47, "torch"),)),
        Row(SECTION, title, "us", backward, (Goal(12, list=2), Goal(0.43, "torch")), why=WHY),
    ]


def _identity(nn: Any) -> Any:
    class Identity(nn.Module):  # type: ignore[misc] - the base is whichever library is measured
        def forward(self, x: Any) -> Any:
            return x

    return Identity()


def _doubling(nn: Any) -> Any:
    class Doubling(nn.Module):  # type: ignore[misc] - as above
        def forward(self, x: Any) -> Any:
            return x + x

    return Doubling()


def _kellet_call() -> Contender:
    from kellet import nn

    return _call(_identity(nn))


def _torch_call() -> Contender:
    from torch import nn

    return _call(_identity(nn))


def _by_hand_call() -> Contender:
    class Identity:
        def forward(self, x: Any) -> Any:
            return x

        def __call__(self, x: Any) -> Any:
            return self.forward(x)

    return _call(Identity())


def _call(module: Any) -> Contender:
    return Contender(lambda: module(1))


def _kellet_hooked() -> Contender:
    from kellet import nn

    return _hooked_call(nn)


def _torch_hooked() -> Contender:
    from torch import nn

    return _hooked_call(nn)


def _hooked_call(nn: Any) -> Contender:
    module = _identity(nn)
    module.register_forward_hook(lambda module, args, output: None)
    return _call(module)


def _kellet_backward() -> Contender:
    import kellet
    from kellet import nn

    return _backward(kellet, nn)


def _torch_backward() -> Contender:
    import torch

    torch.set_num_threads(1)
    return _backward(torch, torch.nn)


def _backward(library: Any, nn: Any) -> Contender:
    bare, hooked = _doubling(nn), _doubling(nn)
    seen: list[Any] = []
    hooked.register_full_backward_hook(lambda module, inputs, outputs: seen.append(outputs[0]))
    x = library.ones(1, requires_grad=True)

    def step(module: Any) -> None:
        x.grad = None
        seen.clear()
        module(x).backward()

    def result() -> list[Any]:
        step(hooked)
        return [x.grad.numpy().copy(), seen[0].numpy().copy()]

    return Contender(lambda: step(hooked), without=lambda: step(bare), result=result)
