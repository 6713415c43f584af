"""One training step of a small convolutional network on a batch of 32 pictures of 28 x 28.

Twice convolution 3 x 3 (8, then 16 channels), ReLU and max pooling 2 x 2, then a linear layer to 10
classes; cross-entropy, backward, plain gradient descent. The results that are compared are the
weights of both convolutions after one step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.row import Contender, Goal, Row

BATCH, SIDE, CLASSES = 32, 28, 10
CHANNELS = (1, 8, 16)
FLAT = CHANNELS[2] * (SIDE // 4) ** 2
RATE = 0.01


def rows() -> list[Row]:
    contenders = {
        "kellet": _kellet,
        "torch": _torch,
        "autograd": _autograd,
        "mygrad": _mygrad,
        "jax": _jax,
        "by hand": _by_hand,
    }
    goals = (Goal(0.9, "by hand"), Goal(0.25, "mygrad"), Goal(1.2, "torch", list=2))
    return [Row("Autograd core", "small CNN, batch 32, training step", "ms", contenders, goals)]


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    pictures = rng.standard_normal((BATCH, CHANNELS[0], SIDE, SIDE), dtype=np.float32)
    return pictures, rng.integers(0, CLASSES, BATCH)


def _weights() -> list[np.ndarray]:
    """Weight and bias of both convolutions and of the linear layer."""
    rng = np.random.default_rng(1)
    shapes = [(CHANNELS[1], CHANNELS[0], 3, 3), (CHANNELS[2], CHANNELS[1], 3, 3), (CLASSES, FLAT)]
    weights = []
    for shape in shapes:
        scale = np.float32(1 / np.sqrt(np.prod(shape[1:])))
        weights += [rng.standard_normal(shape, dtype=np.float32) * scale, np.zeros(shape[0], np.float32)]
    return weights


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
    model = nn.Sequential(
        nn.Conv2d(CHANNELS[0], CHANNELS[1], 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(CHANNELS[1], CHANNELS[2], 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(FLAT, CLASSES),
    )
    names = [f"{layer}.{kind}" for layer in (0, 3, 7) for kind in ("weight", "bias")]
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
        return [model[0].weight.detach().numpy().copy(), model[3].weight.detach().numpy().copy()]

    return Contender(step, result=result)


def _autograd() -> Contender:
    import autograd.numpy as anp
    from autograd import grad
    from autograd.scipy.signal import convolve

    x, y = _data()
    state = _weights()
    axes = {"axes": ([2, 3], [2, 3]), "dot_axes": ([1], [1]), "mode": "valid"}

    def layer(h: Any, weight: Any, bias: Any) -> Any:
        padded = anp.pad(h, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="constant")
        # `convolve` turns the kernel round; the layer does not.
        h = convolve(padded, weight[:, :, ::-1, ::-1], **axes) + anp.reshape(bias, (1, -1, 1, 1))
        n, c, side, _ = h.shape
        return anp.max(anp.reshape(anp.maximum(h, 0), (n, c, side // 2, 2, side // 2, 2)), axis=(3, 5))

    def loss(weights: list[Any]) -> Any:
        h = layer(layer(x, *weights[0:2]), *weights[2:4])
        logits = anp.dot(anp.reshape(h, (BATCH, FLAT)), weights[4].T) + weights[5]
        shifted = logits - anp.max(logits, axis=1, keepdims=True)
        logs = shifted - anp.log(anp.sum(anp.exp(shifted), axis=1, keepdims=True))
        return -anp.mean(logs[np.arange(BATCH), y])

    gradient = grad(loss)

    def step() -> None:
        _descend(state, gradient(state))

    return Contender(step, result=_after(step, state))


def _mygrad() -> Contender:
    import mygrad
    from mygrad.nnet.activations import relu
    from mygrad.nnet.layers import conv_nd, max_pool
    from mygrad.nnet.losses import softmax_crossentropy

    x, y = _data()
    state = _weights()
    tensors = [mygrad.tensor(weight, copy=False) for weight in state]

    def layer(h: Any, weight: Any, bias: Any) -> Any:
        h = conv_nd(h, weight, stride=1, padding=1) + mygrad.reshape(bias, (1, -1, 1, 1))
        return max_pool(relu(h), (2, 2), 2)

    def step() -> None:
        h = layer(layer(x, *tensors[0:2]), *tensors[2:4])
        logits = mygrad.matmul(mygrad.reshape(h, (BATCH, FLAT)), tensors[4].T) + tensors[5]
        softmax_crossentropy(logits, y).backward()
        _descend(state, [tensor.grad for tensor in tensors])

    return Contender(step, result=_after(step, state))


def _jax() -> Contender:
    import jax
    import jax.numpy as jnp

    x, y = (jnp.asarray(a) for a in _data())
    state = [jnp.asarray(weight) for weight in _weights()]

    def layer(h: Any, weight: Any, bias: Any) -> Any:
        h = jax.lax.conv(h, weight, (1, 1), "SAME") + bias.reshape(1, -1, 1, 1)
        return jax.lax.reduce_window(
            jax.nn.relu(h), -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
        )

    def loss(weights: list[Any]) -> Any:
        h = layer(layer(x, *weights[0:2]), *weights[2:4])
        logs = jax.nn.log_softmax(h.reshape(BATCH, FLAT) @ weights[4].T + weights[5])
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
    state = _weights()
    picks = np.arange(BATCH)

    def step() -> None:
        first, saved_first = _layer(x, state[0], state[1])
        second, saved_second = _layer(first, state[2], state[3])
        flat = second.reshape(BATCH, FLAT)
        grad = flat @ state[4].T + state[5]
        grad -= grad.max(axis=1, keepdims=True)
        np.exp(grad, out=grad)
        grad /= grad.sum(axis=1, keepdims=True)
        grad[picks, y] -= 1
        grad /= BATCH
        back, *of_second = _layer_backward(
            (grad @ state[4]).reshape(second.shape), state[2], saved_second, True
        )
        _, *of_first = _layer_backward(back, state[0], saved_first, False)
        _descend(state, [*of_first, *of_second, grad.T @ flat, grad.sum(axis=0)])

    return Contender(step, result=_after(step, state))


def _columns(h: np.ndarray) -> np.ndarray:
    """Lay out every 3 x 3 patch of a padded picture as a column: (n, c * 9, side * side)."""
    n, c, side, _ = h.shape
    padded = np.zeros((n, c, side + 2, side + 2), dtype=h.dtype)
    padded[:, :, 1:-1, 1:-1] = h
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows.transpose(0, 1, 4, 5, 2, 3).reshape(n, c * 9, side * side)


def _layer(h: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, tuple[Any, ...]]:
    n, _, side, _ = h.shape
    columns = _columns(h)
    y = np.matmul(weight.reshape(len(weight), -1), columns)
    y += bias[:, None]
    np.maximum(y, 0, out=y)
    tiles = y.reshape(n, len(weight), side // 2, 2, side // 2, 2)
    pooled = tiles.max(axis=(3, 5))
    return pooled, (columns, tiles, pooled)


def _layer_backward(
    grad: np.ndarray, weight: np.ndarray, saved: tuple[Any, ...], to_input: bool
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    columns, tiles, pooled = saved
    n, channels, half = grad.shape[:3]
    hits = tiles == pooled[:, :, :, None, :, None]
    hits &= tiles > 0
    of_y = (hits * grad[:, :, :, None, :, None]).reshape(n, channels, 4 * half * half)
    of_weight = np.matmul(of_y, columns.swapaxes(1, 2)).sum(axis=0).reshape(weight.shape)
    of_bias = of_y.sum(axis=(0, 2))
    if not to_input:
        return None, of_weight, of_bias
    # The gradient of a 3 x 3 convolution of stride 1 is one with the kernel turned round.
    turned = weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3).reshape(weight.shape[1], -1)
    side = 2 * half
    of_h = np.matmul(turned, _columns(of_y.reshape(n, channels, side, side)))
    return of_h.reshape(n, -1, side, side), of_weight, of_bias


def _descend(state: list[np.ndarray], gradients: list[Any]) -> None:
    for weight, gradient in zip(state, gradients, strict=True):
        weight -= np.float32(RATE) * gradient


def _after(step: Any, state: list[np.ndarray]) -> Any:
    def result() -> list[np.ndarray]:
        step()
        return [state[0].copy(), state[2].copy()]

    return result
