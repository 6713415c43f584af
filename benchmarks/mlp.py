"""One training step of a multi-layer perceptron, 784-256-10, on a batch of 64.

Forward, cross-entropy, backward, plain gradient descent. The result that is compared is both
weights after one step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.row import Contender, Goal, Row

BATCH, INPUTS, HIDDEN, CLASSES = 64, 784, 256, 10
RATE = 0.01

WHY = (
    "the matrix products take the same time; the rest is the graph's own bookkeeping, about forty "
    "small steps of Python, beside arithmetic of half a millisecond."
)


def rows() -> list[Row]:
    contenders = {
        "kellet": _kellet,
        "torch": _torch,
        "autograd": _autograd,
        "mygrad": _mygrad,
        "jax": _jax,
        "by hand": _by_hand,
    }
    goals = (Goal(1.0, "torch", list=2), Goal(1.15, "by hand"))
    return [Row("Autograd core", "MLP 784-256-10, batch 64, training step", "ms", contenders, goals, why=WHY)]


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((BATCH, INPUTS), dtype=np.float32), rng.integers(0, CLASSES, BATCH)


def _weights() -> list[np.ndarray]:
    """Both layers' weights and biases, in the layout (outputs, inputs)."""
    rng = np.random.default_rng(1)
    first = rng.standard_normal((HIDDEN, INPUTS), dtype=np.float32) / np.float32(np.sqrt(INPUTS))
    second = rng.standard_normal((CLASSES, HIDDEN), dtype=np.float32) / np.float32(np.sqrt(HIDDEN))
    return [first, np.zeros(HIDDEN, np.float32), second, np.zeros(CLASSES, np.float32)]


def _kellet() -> Contender:
    import kellet
    from kellet import nn, optim

    return _with_modules(kellet, nn, optim)


def _torch() -> Contender:
    import torch

    torch.set_num_threads(1)
    return _with_modules(torch, torch.nn, torch.optim)


def _with_modules(library: Any, nn: Any, optim: Any) -> Contender:
    """The step as both kellet and torch spell it."""
    model = nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))
    names = ("0.weight", "0.bias", "2.weight", "2.bias")
    model.load_state_dict({n: library.tensor(w) for n, w in zip(names, _weights(), strict=True)})
    optimizer = optim.SGD(model.parameters(), lr=RATE)
    criterion = nn.CrossEntropyLoss()
    x, y = (library.tensor(a) for a in _data())

    def step() -> None:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

    def result() -> list[Any]:
        step()
        return [model[0].weight.detach().numpy().copy(), model[2].weight.detach().numpy().copy()]

    return Contender(step, result=result)


def _autograd() -> Contender:
    import autograd.numpy as anp
    from autograd import grad

    x, y = _data()
    state = _weights()

    def loss(weights: list[Any]) -> Any:
        hidden = anp.maximum(anp.dot(x, weights[0].T) + weights[1], 0)
        logits = anp.dot(hidden, weights[2].T) + weights[3]
        shifted = logits - anp.max(logits, axis=1, keepdims=True)
        logs = shifted - anp.log(anp.sum(anp.exp(shifted), axis=1, keepdims=True))
        return -anp.mean(logs[np.arange(BATCH), y])

    gradient = grad(loss)

    def step() -> None:
        for weight, change in zip(state, gradient(state), strict=True):
            weight -= RATE * change

    return Contender(step, result=_after(step, state))


def _mygrad() -> Contender:
    import mygrad
    from mygrad.nnet import losses

    x, y = _data()
    state = _weights()
    tensors = [mygrad.tensor(weight, copy=False) for weight in state]

    def step() -> None:
        hidden = mygrad.nnet.activations.relu(mygrad.matmul(x, tensors[0].T) + tensors[1])
        losses.softmax_crossentropy(mygrad.matmul(hidden, tensors[2].T) + tensors[3], y).backward()
        for weight, tensor in zip(state, tensors, strict=True):
            weight -= np.float32(RATE) * tensor.grad

    return Contender(step, result=_after(step, state))


def _jax() -> Contender:
    import jax
    import jax.numpy as jnp

    x, y = (jnp.asarray(a) for a in _data())
    state = [jnp.asarray(weight) for weight in _weights()]

    def loss(weights: list[Any]) -> Any:
        hidden = jax.nn.relu(x @ weights[0].T + weights[1])
        logs = jax.nn.log_softmax(hidden @ weights[2].T + weights[3])
        return -logs[jnp.arange(BATCH), y].mean()

    @jax.jit
    def update(weights: list[Any]) -> list[Any]:
        return [w - RATE * change for w, change in zip(weights, jax.grad(loss)(weights), strict=True)]

    def step() -> None:
        state[:] = jax.block_until_ready(update(state))

    def result() -> list[Any]:
        step()
        return [state[0], state[2]]

    return Contender(step, result=result)


def _by_hand() -> Contender:
    x, y = _data()
    state = w1, b1, w2, b2 = _weights()
    picks = np.arange(BATCH)
    rate = np.float32(RATE)

    def step() -> None:
        hidden = x @ w1.T
        hidden += b1
        np.maximum(hidden, 0, out=hidden)
        logits = hidden @ w2.T
        logits += b2
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        logits[picks, y] -= 1
        logits /= BATCH
        back = logits @ w2
        back *= hidden > 0
        w2[...] -= rate * (logits.T @ hidden)
        b2[...] -= rate * logits.sum(axis=0)
        w1[...] -= rate * (back.T @ x)
        b1[...] -= rate * back.sum(axis=0)

    return Contender(step, result=_after(step, list(state)))


def _after(step: Any, state: list[np.ndarray]) -> Any:
    def result() -> list[np.ndarray]:
        step()
        return [state[0].copy(), state[2].copy()]

    return result
