"""An attention block on (8, 64, 128): self-attention with 4 heads, residual, layer norm.

Forward, mean of squares, backward to all weights and to the input. The results that are compared
are the gradients of the input and of the projection into queries, keys and values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.row import Contender, Goal, Row

BATCH, LENGTH, WIDTH, HEADS = 8, 64, 128, 4
DEPTH = WIDTH // HEADS
WHY = (
    "the matrix products take the same time; the rest is some fifty steps of bookkeeping and the copies that "
    "keep every saved value as it was, which code for this one block can leave out."
)
SCALE = float(1 / np.sqrt(DEPTH))
EPSILON = 1e-5


def rows() -> list[Row]:
    contenders = {
        "kellet": _kellet,
        "torch": _torch,
        "autograd": _autograd,
        "mygrad": _mygrad,
        "jax": _jax,
        "by hand": _by_hand,
    }
    goals = (Goal(1.1, "torch", list=2), Goal(1.1, "by hand"))
    title = "attention block (8, 64, 128), forward and backward"
    return [Row("Autograd core", title, "ms", contenders, goals, why=WHY)]


def _input() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((BATCH, LENGTH, WIDTH), dtype=np.float32)


def _weights() -> list[np.ndarray]:
    """In-projection, its bias, out-projection, its bias, scale and shift of the norm."""
    rng = np.random.default_rng(1)
    scale = np.float32(1 / np.sqrt(WIDTH))
    into = rng.standard_normal((3 * WIDTH, WIDTH), dtype=np.float32) * scale
    out = rng.standard_normal((WIDTH, WIDTH), dtype=np.float32) * scale
    zeros, ones = np.zeros(WIDTH, np.float32), np.ones(WIDTH, np.float32)
    # A scale that varies: the gradient of a plain layer norm's mean of squares would be zero.
    return [
        into,
        np.zeros(3 * WIDTH, np.float32),
        out,
        zeros,
        ones + np.arange(WIDTH, dtype=np.float32) / WIDTH,
        zeros,
    ]


def _kellet() -> Contender:
    import kellet
    from kellet import nn

    return _with_modules(kellet, nn)


def _torch() -> Contender:
    import torch

    torch.set_num_threads(1)
    return _with_modules(torch, torch.nn)


def _with_modules(library: Any, nn: Any) -> Contender:
    """The block as both kellet and torch spell it."""
    attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    norm = nn.LayerNorm(WIDTH, eps=EPSILON)
    tensors = [library.tensor(weight) for weight in _weights()]
    names = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
    attention.load_state_dict(dict(zip(names, tensors, strict=False)))
    norm.load_state_dict({"weight": tensors[4], "bias": tensors[5]})
    x = library.tensor(_input(), requires_grad=True)
    parameters = [x, *attention.parameters(), *norm.parameters()]

    def step() -> None:
        for parameter in parameters:
            parameter.grad = None
        mixed, _ = attention(x, x, x, need_weights=False)
        y = norm(x + mixed)
        (y * y).mean().backward()

    def result() -> list[Any]:
        step()
        return [x.grad.numpy().copy(), attention.in_proj_weight.grad.numpy().copy()]

    return Contender(step, result=result)


def _block(xp: Any, softmax: Any, x: Any, weights: list[Any]) -> Any:
    """The block as libraries with NumPy's functions spell it."""
    into, into_bias, out, out_bias, scale, shift = weights
    projected = xp.matmul(x, into.T) + into_bias
    parts = xp.transpose(xp.reshape(projected, (BATCH, LENGTH, 3, HEADS, DEPTH)), (2, 0, 3, 1, 4))
    queries, keys, values = parts[0], parts[1], parts[2]
    scores = softmax(xp.matmul(queries, xp.swapaxes(keys, -1, -2)) * SCALE)
    heads = xp.transpose(xp.matmul(scores, values), (0, 2, 1, 3))
    y = x + xp.matmul(xp.reshape(heads, (BATCH, LENGTH, WIDTH)), out.T) + out_bias
    centred = y - xp.mean(y, axis=-1, keepdims=True)
    deviation = xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + EPSILON)
    return xp.mean((centred / deviation * scale + shift) ** 2)


def _autograd() -> Contender:
    import autograd.numpy as anp
    from autograd import grad

    def softmax(scores: Any) -> Any:
        powers = anp.exp(scores - anp.max(scores, axis=-1, keepdims=True))
        return powers / anp.sum(powers, axis=-1, keepdims=True)

    x, weights = _input(), _weights()
    gradient = grad(lambda both: _block(anp, softmax, both[0], both[1]))

    def result() -> list[Any]:
        of_x, of_weights = gradient((x, weights))
        return [of_x, of_weights[0]]

    return Contender(lambda: gradient((x, weights)), result=result)


def _mygrad() -> Contender:
    import mygrad
    from mygrad.nnet.activations import softmax

    x = mygrad.tensor(_input())
    weights = [mygrad.tensor(weight) for weight in _weights()]

    def step() -> None:
        _block(mygrad, lambda scores: softmax(scores, axis=-1), x, weights).backward()

    def result() -> list[Any]:
        step()
        return [x.grad, weights[0].grad]

    return Contender(step, result=result)


def _jax() -> Contender:
    import jax
    import jax.numpy as jnp

    x, weights = jnp.asarray(_input()), [jnp.asarray(weight) for weight in _weights()]
    step = jax.jit(jax.grad(lambda x, weights: _block(jnp, jax.nn.softmax, x, weights), (0, 1)))

    def result() -> list[Any]:
        of_x, of_weights = step(x, weights)
        return [of_x, of_weights[0]]

    return Contender(lambda: jax.block_until_ready(step(x, weights)), result=result)


def _by_hand() -> Contender:
    x, weights = _input(), _weights()

    def step() -> list[np.ndarray]:
        y, saved = _forward(x, weights)
        return _backward(2 * y / y.size, x, weights, saved)

    return Contender(step, result=lambda: step()[:2])


def _forward(x: np.ndarray, weights: list[np.ndarray]) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    into, into_bias, out, out_bias, scale, shift = weights
    projected = x.reshape(-1, WIDTH) @ into.T
    projected += into_bias
    queries, keys, values = projected.reshape(BATCH, LENGTH, 3, HEADS, DEPTH).transpose(2, 0, 3, 1, 4)
    scores = queries @ keys.swapaxes(-1, -2)
    scores *= np.float32(SCALE)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    heads = (scores @ values).transpose(0, 2, 1, 3).reshape(-1, WIDTH)
    y = heads @ out.T
    y += out_bias
    y = y.reshape(x.shape)
    y += x
    y -= y.mean(axis=-1, keepdims=True)
    rate = 1 / np.sqrt(np.mean(y * y, axis=-1, keepdims=True) + np.float32(EPSILON))
    y *= rate
    return y * scale + shift, (queries, keys, values, scores, heads, y, rate)


def _backward(
    grad: np.ndarray, x: np.ndarray, weights: list[np.ndarray], saved: tuple[np.ndarray, ...]
) -> list[np.ndarray]:
    into, _, out, _, scale, _ = weights
    queries, keys, values, scores, heads, normal, rate = saved
    of_scale, of_shift = (grad * normal).sum(axis=(0, 1)), grad.sum(axis=(0, 1))
    grad = grad * scale
    projection = np.mean(grad * normal, axis=-1, keepdims=True)
    grad = rate * (grad - grad.mean(axis=-1, keepdims=True) - normal * projection)
    flat = grad.reshape(-1, WIDTH)
    of_out, of_out_bias = flat.T @ heads, flat.sum(axis=0)
    of_heads = (flat @ out).reshape(BATCH, LENGTH, HEADS, DEPTH).transpose(0, 2, 1, 3)
    of_parts = np.empty((BATCH, LENGTH, 3, HEADS, DEPTH), dtype=x.dtype)
    of_queries, of_keys, of_values = of_parts.transpose(2, 0, 3, 1, 4)
    of_values[...] = scores.swapaxes(-1, -2) @ of_heads
    of_scores = of_heads @ values.swapaxes(-1, -2)
    of_scores -= np.sum(of_scores * scores, axis=-1, keepdims=True)
    of_scores *= scores
    of_scores *= np.float32(SCALE)
    of_queries[...] = of_scores @ keys
    of_keys[...] = of_scores.swapaxes(-1, -2) @ queries
    of_projected = of_parts.reshape(-1, 3 * WIDTH)
    of_into, of_into_bias = of_projected.T @ x.reshape(-1, WIDTH), of_projected.sum(axis=0)
    of_x = grad + (of_projected @ into).reshape(x.shape)
    return [of_x, of_into, of_into_bias, of_out, of_out_bias, of_scale, of_shift]
