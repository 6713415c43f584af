"""The core beside torch, on one thread: training steps, hooks, state dicts of many small modules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from benchmarks.row import Row, Work

Library = tuple[Any, Any, Any]
"""kellet or torch, its `nn` and its `optim`."""

WHY: Final = "the products take the same time; the rest is the graph's own bookkeeping, in Python"
PARAMETERS: Final = "4,000 parameters in 2,000 modules"


def rows() -> list[Row]:
    """List them; the goals that hold are what was measured before."""

    def row(
        title: str, make: Callable[[Library], Work], goal: float, *, unit: str = "ms", holds: bool = True
    ) -> Row:
        sides = (partial(_made, make, _kellet), partial(_made, make, _torch))
        return Row(title, sides[0], goal, "torch", sides[1], unit=unit, holds=holds, why=WHY, rounds=15)

    return [
        row("add of one element, forward and backward", _add, 0.24, unit="us"),
        row("MLP 784-256-10, batch 64, training step", _mlp, 0.8, holds=False),
        row("attention block (8, 64, 128), forward and backward", _attention, 0.75, holds=False),
        row("small CNN, batch 32, training step", _cnn, 0.95),
        row("module call with a forward hook", _hooked_call, 0.36, unit="us"),
        row("module forward and backward, what a full backward hook adds", _backward_hook, 0.39, unit="us"),
        row(f"state_dict(), {PARAMETERS}", _state_dict, 0.40),
        row(f"load_state_dict(), {PARAMETERS}", _load_state_dict, 0.07),
    ]


def _made(make: Callable[[Library], Work], library: Callable[[], Library]) -> Work:
    return make(library())


def _kellet() -> Library:
    import kellet
    from kellet import nn, optim

    return kellet, nn, optim


def _torch() -> Library:
    import torch

    torch.set_num_threads(1)
    return torch, torch.nn, torch.optim


def _arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    chance = np.random.default_rng(1)
    return [
        chance.standard_normal(shape, dtype=np.float32) / np.float32(shape[-1] ** 0.5) for shape in shapes
    ]


def _add(library: Library) -> Work:
    a, b = (library[0].tensor(np.ones(1, np.float32), requires_grad=True) for _ in range(2))

    def step() -> None:
        a.grad = b.grad = None
        (a + b).backward()

    return Work(step, result=lambda: (step(), [a.grad.numpy()])[1])


def _mlp(library: Library) -> Work:
    nn = library[1]
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    return _training(library, model, _arrays((64, 784))[0], 10)


def _cnn(library: Library) -> Work:
    nn = library[1]
    first = (nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
    second = (nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
    model = nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(784, 10))
    return _training(library, model, _arrays((32, 1, 28, 28))[0], 10)


def _training(library: Library, model: Any, x: np.ndarray, classes: int) -> Work:
    """One step of gradient descent on cross-entropy; what is compared is the first weight after one."""
    library_, nn, optim = library
    _fill(library_, model)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    given, wanted = library_.tensor(x), library_.tensor(np.arange(len(x)) % classes)

    def step() -> None:
        optimizer.zero_grad()
        criterion(model(given), wanted).backward()
        optimizer.step()

    return Work(step, result=lambda: (step(), [next(iter(model.parameters())).detach().numpy().copy()])[1])


def _fill(library: Any, model: Any) -> None:
    """Give a model the same weights in both libraries."""
    state = model.state_dict()
    values = _arrays(*(tuple(value.shape) for value in state.values()))
    model.load_state_dict({key: library.tensor(value) for key, value in zip(state, values, strict=True)})


def _attention(library: Library) -> Work:
    library_, nn, _ = library
    attention, norm = nn.MultiheadAttention(128, 4, batch_first=True), nn.LayerNorm(128)
    _fill(library_, attention)
    _fill(library_, norm)
    x = library_.tensor(_arrays((8, 64, 128))[0], requires_grad=True)
    parameters = [x, *attention.parameters(), *norm.parameters()]

    def step() -> None:
        for parameter in parameters:
            parameter.grad = None
        y = norm(x + attention(x, x, x, need_weights=False)[0])
        (y * y).mean().backward()

    return Work(step, result=lambda: (step(), [x.grad.numpy(), attention.in_proj_weight.grad.numpy()])[1])


def _doubling(nn: Any) -> Any:
    class Doubling(nn.Module):  # type: ignore[misc] - the base is whichever library is measured
        def forward(self, x: Any) -> Any:
            return x + x

    return Doubling()


def _hooked_call(library: Library) -> Work:
    class Identity(library[1].Module):  # type: ignore[misc] - as above
        def forward(self, x: Any) -> Any:
            return x

    module = Identity()
    module.register_forward_hook(lambda module, args, output: None)
    return Work(lambda: module(1))


def _backward_hook(library: Library) -> Work:
    bare, hooked = _doubling(library[1]), _doubling(library[1])
    hooked.register_full_backward_hook(lambda module, inputs, outputs: None)
    x = library[0].ones(1, requires_grad=True)

    def step(module: Any) -> None:
        x.grad = None
        module(x).backward()

    return Work(lambda: step(hooked), without=lambda: step(bare))


def _small_modules(nn: Any) -> Any:
    """20 x 10 x 10, as layers lie in blocks: torch takes time in the square of the siblings to load."""
    layers = [nn.Sequential(*(nn.Linear(2, 2) for _ in range(10))) for _ in range(200)]
    return nn.Sequential(*(nn.Sequential(*layers[at : at + 10]) for at in range(0, 200, 10)))


def _state_dict(library: Library) -> Work:
    return Work(_small_modules(library[1]).state_dict)


def _load_state_dict(library: Library) -> Work:
    source, target = _small_modules(library[1]), _small_modules(library[1])
    state = source.state_dict()

    def result() -> list[Any]:
        target.load_state_dict(state)
        found = target.state_dict()
        return [all(np.array_equal(value.numpy(), found[key].numpy()) for key, value in state.items())]

    return Work(lambda: target.load_state_dict(state), result=result)
