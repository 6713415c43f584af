"""Losses with a derivative that is simpler than that of their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rule import EQUAL, SAME, rule
from .softmax import log_softmax_rows

# --- cross-entropy and negative log likelihood, against class indexes -----------------------------


def _cross_entropy_forward(
    kept: dict[str, Any] | None,
    logits: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    smoothing: float = 0.0,
) -> Any:
    """Cross-entropy of logits `(rows, classes)` against class indexes `(rows,)`.

    A row whose target is `ignore_index` counts nothing. With `smoothing`, that share of each target
    is spread evenly over all classes. `mean` divides by the sum of the targets' weights.
    """
    kept = {} if kept is None else kept
    kept["logs"] = logs = log_softmax_rows(logits)
    _keep_coefficients(kept, logs, target, weight, ignore_index, reduction, smoothing)
    return _likelihood(kept, logs, reduction)


def _cross_entropy(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """What a row's target sums to, times the softmax, minus the target."""
    kept = ctx.kept
    if xp.raw and kept["spread"] is None:
        grad = np.exp(kept["logs"])
        grad[np.arange(len(grad)), kept["target"]] -= 1
        factor = g * kept["scale"]
        grad *= factor[:, None] if factor.ndim else factor
        return (grad, None, None)
    target = _dense_target(kept)
    total = xp.constant(target.sum(axis=1, keepdims=True))
    softmax = xp.softmax(ctx.inputs[0], axis=1)
    return ((softmax * total - xp.constant(target)) * xp.reshape(g, shape=(-1, 1)), None, None)


def _nll_loss_forward(
    kept: dict[str, Any] | None,
    logs: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """The same for log-probabilities `(rows, classes)`."""
    kept = {} if kept is None else kept
    _keep_coefficients(kept, logs, target, weight, ignore_index, reduction, 0.0)
    return _likelihood(kept, logs, reduction)


def _nll_loss(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.reshape(g, shape=(-1, 1)) * xp.constant(-_dense_target(ctx.kept)), None, None)


def _keep_coefficients(
    kept: dict[str, Any],
    logs: Any,
    target: Any,
    weight: Any,
    ignore_index: int,
    reduction: str,
    smoothing: float,
) -> None:
    """Keep what each logarithm is multiplied by: `scale` at the target, `spread` everywhere (or None)."""
    (rows, classes), number = logs.shape, logs.dtype.type
    kept["shape"], kept["spread"] = logs.shape, None
    low, high = (target.min(), target.max()) if target.size else (0, -1)
    some_ignored = low <= ignore_index <= high
    if weight is None and not smoothing and not some_ignored:
        _check_classes(low, high, classes, ignore_index)
        # One number for all rows; none of them would be 1 / 0.
        kept["target"], kept["scale"] = target, number(1 / rows if reduction == "mean" and rows else 1)
        return
    valid = target != ignore_index
    used = target[valid]
    if used.size:
        _check_classes(used.min(), used.max(), classes, ignore_index)
    target = np.where(valid, target, 0)
    scale = valid.astype(logs.dtype) if weight is None else weight[target] * valid
    total = scale.sum() if reduction == "mean" else number(1)
    kept["nothing"] = bool(total == 0)
    if kept["nothing"]:
        total = number(1)  # the mean of nothing is not a number, and depends on nothing
    kept["target"], kept["scale"] = target, scale * number(1 - smoothing) / total
    if smoothing:
        row = np.ones(classes, dtype=logs.dtype) if weight is None else weight
        kept["spread"] = np.outer(valid / total, row * number(smoothing / max(1, classes))).astype(logs.dtype)


def _check_classes(low: int, high: int, classes: int, ignore_index: int) -> None:
    if low < 0 or high >= classes:
        raise IndexError(
            f"class index {low if low < 0 else high} is out of range: the input has {classes} classes; "
            f"targets must lie in 0..{classes - 1} or be ignore_index ({ignore_index})"
        )


def _likelihood(kept: dict[str, Any], logs: Any, reduction: str) -> Any:
    if reduction == "mean" and (kept.get("nothing") or not len(logs)):
        return logs.dtype.type(np.nan)
    loss = logs[np.arange(len(logs)), kept["target"]] * -kept["scale"]
    if kept["spread"] is not None:
        loss -= (logs * kept["spread"]).sum(axis=1)
    return loss if reduction == "none" else loss.sum()


def _dense_target(kept: dict[str, Any]) -> Any:
    scale, spread = kept["scale"], kept["spread"]
    target = np.zeros(kept["shape"], scale.dtype) if spread is None else spread.copy()
    target[np.arange(len(target)), kept["target"]] += scale
    return target


# --- mean squared error ---------------------------------------------------------------------------


def _mse_loss_forward(a: Any, b: Any, *, reduction: str = "mean") -> Any:
    squares = np.square(a - b)
    if reduction == "none":
        return squares
    total = squares.sum()
    return total if reduction == "sum" else total / squares.dtype.type(squares.size)


def _mse_loss(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, b = ctx.inputs
    difference = a - b
    mean = ctx.options.get("reduction", "mean") == "mean"
    grad = difference * (g * (2 / max(1, xp.array(difference).size) if mean else 2))
    return (grad if ctx.needs[0] else None, -grad if ctx.needs[1] else None)


# --- element by element: smooth absolute value, binary cross-entropy ------------------------------


def _smooth_abs_forward(a: Any, *, beta: float) -> Any:
    """`|a|`, its corner within `beta` of zero rounded by a parabola."""
    size = np.abs(a)
    if beta == 0:
        return size
    near = np.minimum(size, a.dtype.type(beta))
    return near * near * a.dtype.type(0.5 / beta) + (size - near)


def _smooth_abs(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, beta = ctx.inputs[0], ctx.options["beta"]
    slope = xp.clamp(a * (1 / beta), -1.0, 1.0) if beta else xp.sign(a)
    return (g * slope,)


def _binary_cross_entropy_forward(a: Any, target: Any) -> Any:
    """Cross-entropy of probabilities; logarithms are cut off at -100, as in PyTorch."""
    yes, no = np.maximum(np.log(a), -100), np.maximum(np.log1p(-a), -100)
    return -(target * yes + (1 - target) * no)


def _binary_cross_entropy(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, target = ctx.inputs
    grad_a = grad_target = None
    if ctx.needs[0]:
        grad_a = g * (a - target) / xp.clamp(a * (1 - a), 1e-12, None)
    if ctx.needs[1]:
        grad_target = g * (xp.clamp(xp.log1p(-a), -100, None) - xp.clamp(xp.log(a), -100, None))
    return (grad_a, grad_target)


KEEPING: dict[str, Any] = {"keeps": True, "fresh": True}
cross_entropy = rule("cross_entropy", _cross_entropy_forward, _cross_entropy, saves=((0,),), **KEEPING)
nll_loss = rule("nll_loss", _nll_loss_forward, _nll_loss, **KEEPING)
BOTH = ((0, 1), (0, 1))
mse_loss = rule("mse_loss", _mse_loss_forward, _mse_loss, saves=BOTH, promote=SAME, fresh=True)
smooth_abs = rule("smooth_abs", _smooth_abs_forward, _smooth_abs, saves=((0,),), fresh=True)
binary_cross_entropy = rule(
    "binary_cross_entropy",
    _binary_cross_entropy_forward,
    _binary_cross_entropy,
    saves=BOTH,
    promote=EQUAL,
    fresh=True,
)
