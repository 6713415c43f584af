"""Matrix products: matmul, the product of a linear layer, and contraction by index letters.

In `matmul` vectors are matrices with one row or one column. Leading axes broadcast; where only the left
side has some, they are folded into its rows: one product instead of many, and a gradient of the right
side that needs no summing.

`contract` is what einsum is made of: `kellet.einsum` reads diagonals, sums the letters that only one
operand has, stretches axes of length 1 and folds longer lists of operands pair by pair. What is left for
the rule: the letters of an operand are distinct, and each occurs in the other operand or in the result.
Seen so, the derivative of a contraction is a contraction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .levels import move_axis
from .rule import EQUAL, SAME, rule

# --- matmul ---------------------------------------------------------------------------------------


Shape = tuple[int, ...]


def _matmul_forward(a: Any, b: Any) -> Any:
    if b.ndim == 2 and a.ndim > 2 and a.flags.c_contiguous:
        rows = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
        return np.matmul(rows, b).reshape(*a.shape[:-1], b.shape[-1])
    return np.matmul(a, b)


def _matmul(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    left, right = ctx.shapes
    if len(left) > 1 and len(right) < 3:
        return _folded(xp, ctx, g, left, right)
    return _batched(xp, ctx, g, left, right)


def _folded(xp: Any, ctx: Any, g: Any, left: Shape, right: Shape) -> tuple[Any, ...]:
    """Matrices of any number times one matrix (or vector)."""
    inner, columns = right[0], right[1] if len(right) == 2 else 1
    rows = math.prod(left[:-1])
    g = xp.reshape(g, shape=(rows, columns))
    grad_a = grad_b = None
    if ctx.needs[0]:
        b = xp.reshape(ctx.inputs[1], shape=(inner, columns))
        grad_a = xp.reshape(g @ _turned(xp, b), shape=left)
    if ctx.needs[1]:
        a = xp.reshape(ctx.inputs[0], shape=(rows, inner))
        grad_b = xp.reshape(_turned(xp, a) @ g, shape=right)
    return (grad_a, grad_b)


def _batched(xp: Any, ctx: Any, g: Any, left: Shape, right: Shape) -> tuple[Any, ...]:
    """Batch axes that broadcasting made are summed by the caller, but not past a vector's missing axis."""
    as_row, as_column = len(left) == 1, len(right) == 1
    lead = g.shape[: g.ndim - 2 + as_row + as_column]
    g = xp.reshape(g, shape=(*lead, 1 if as_row else left[-2], 1 if as_column else right[-1]))
    grad_a = grad_b = None
    if ctx.needs[0]:
        b = xp.reshape(ctx.inputs[1], shape=(*right, 1)) if as_column else ctx.inputs[1]
        grad_a = g @ _turned(xp, b)
        if as_row:
            grad_a = xp.reshape(xp.sum_to(grad_a, shape=(1, *left)), shape=left)
    if ctx.needs[1]:
        a = xp.reshape(ctx.inputs[0], shape=(1, *left)) if as_row else ctx.inputs[0]
        grad_b = _turned(xp, a) @ g
        if as_column:
            grad_b = xp.reshape(xp.sum_to(grad_b, shape=(*right, 1)), shape=right)
    return (grad_a, grad_b)


def _turned(xp: Any, a: Any) -> Any:
    """The conjugate transpose over the last two axes."""
    return xp.conj(move_axis(xp, a, -1, -2))


matmul = rule(
    "matmul",
    _matmul_forward,
    _matmul,
    saves=((1,), (0,)),
    shapes=True,
    promote=EQUAL,
    fresh=True,
    last_first=True,
)


# --- the linear layer -----------------------------------------------------------------------------


FEW = 32
"""Rows up to which turning them gains, from NumPy 1.26 (half the time at 8 rows) to 2.4 (a sixth less)."""


def _linear_forward(bias: Any, a: Any, weight: Any) -> Any:
    """`a` is `(..., in)`, `weight` `(out, in)`, `bias` `(out,)` or None; the result is `(..., out)`.

    The bias comes first, as in PyTorch: gradients reach the leaves in this order.

    BLAS has to turn the right factor of a product. Where `a` has a few rows only it is the quicker one
    to turn: the result is computed transposed, up to twice as fast, and laid out while the bias is
    added. With more rows that second array costs more than the turning saves.
    """
    rows = a if a.ndim == 2 else a.reshape(_rows(a.shape), a.shape[-1])
    if 1 < len(rows) <= min(FEW, len(weight) - 1):
        turned = np.matmul(weight, rows.T).T
        out = np.empty(turned.shape, dtype=turned.dtype)
        np.add(turned, 0 if bias is None else bias, out=out)
    else:
        out = np.matmul(rows, weight.T)
        if bias is not None:
            out += bias
    return out if a.ndim == 2 else out.reshape(*a.shape[:-1], len(weight))


def _linear(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    shape = ctx.shapes[1]
    flat = len(shape) == 2
    if not flat:
        g = xp.reshape(g, shape=(_rows(shape), ctx.shapes[2][0]))
    grad_a = grad_weight = None
    if ctx.needs[1]:
        grad_a = g @ xp.conj(ctx.inputs[2])
        grad_a = grad_a if flat else xp.reshape(grad_a, shape=shape)
    if ctx.needs[2]:
        rows = ctx.inputs[1] if flat else xp.reshape(ctx.inputs[1], shape=(_rows(shape), shape[-1]))
        grad_weight = xp.permute(g, axes=(1, 0)) @ xp.conj(rows)
    return (xp.sum(g, axis=(0,)) if ctx.needs[0] else None, grad_a, grad_weight)


def _rows(shape: tuple[int, ...]) -> int:
    return math.prod(shape[:-1])


linear = rule(
    "linear",
    _linear_forward,
    _linear,
    saves=((), (2,), (1,)),
    shapes=True,
    promote=EQUAL,
    fresh=True,
    label="AddmmBackward0",
)


# --- contraction ----------------------------------------------------------------------------------


def _contract_forward(a: Any, b: Any, *, left: str, right: str, result: str) -> Any:
    """Letters of both that the result keeps are the batch of a matrix product, the others are summed."""
    sizes = dict(zip(left + right, a.shape + b.shape, strict=True))
    batch = [letter for letter in left if letter in right and letter in result]
    summed = [letter for letter in left if letter in right and letter not in result]
    rows = [letter for letter in left if letter not in right]
    columns = [letter for letter in right if letter not in left]
    a = _grouped(a, left, (batch, rows, summed), sizes)
    b = _grouped(b, right, (batch, summed, columns), sizes)
    made = batch + rows + columns
    product = np.matmul(a, b)
    if product.dtype != a.dtype:  # bfloat16, which NumPy multiplies in float32
        product = product.astype(a.dtype)
    out = product.reshape([sizes[letter] for letter in made])
    return out.transpose([made.index(letter) for letter in result])


def _grouped(a: Any, letters: str, groups: tuple[list[str], ...], sizes: dict[str, int]) -> Any:
    """`a` with its axes in the order of the groups, each group but the first made one axis."""
    a = a.transpose([letters.index(letter) for group in groups for letter in group])
    first = [sizes[letter] for letter in groups[0]]
    return a.reshape(*first, *(math.prod(sizes[letter] for letter in group) for group in groups[1:]))


def _contract(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, b = ctx.inputs
    left, right, result = (ctx.options[name] for name in ("left", "right", "result"))
    return (
        xp.contract(g, xp.conj(b), left=result, right=right, result=left) if ctx.needs[0] else None,
        xp.contract(xp.conj(a), g, left=left, right=result, result=right) if ctx.needs[1] else None,
    )


contract = rule(
    "contract",
    _contract_forward,
    _contract,
    saves=((1,), (0,)),
    promote=SAME,
    fresh=True,
    label="EinsumBackward0",
)
