"""Losses. `reduction` is "mean", "sum", or "none" for one loss per element or sample.

PyTorch's older `size_average` and `reduce` arguments do not exist here: pass `reduction`.
"""

from __future__ import annotations

import warnings

from ... import core
from ...core import Tensor
from ...core.dispatch import NONE, apply, require_one_dtype
from ...dtypes import category, dtype_name, is_differentiable
from ...errors import DTypeError, ShapeError
from ...rules import RULES
from .activations import log_softmax, logsigmoid

REDUCTIONS = ("none", "mean", "sum")


# --- between classes ------------------------------------------------------------------------------


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return cross-entropy between logits and classes.

    `input` is (C,), (N, C) or (N, C, d1, ...). `target` holds class indexes, in the shape of the
    input without its C, or, with a floating dtype and the input's shape, probabilities. `weight` (C,)
    weighs the classes. Samples whose index is `ignore_index` count nothing. `label_smoothing` is the
    share of each target that is spread evenly over all classes. The mean over indexes is weighed.

    Raises ShapeError where shapes do not fit, IndexError for an index that is not a class, DTypeError
    for a target that is neither.

    Raises ValueError for a `label_smoothing` outside 0 to 1.

    Source: torch.nn.functional.cross_entropy.

    >>> import kellet
    >>> cross_entropy(kellet.zeros(2, 4), kellet.tensor([0, 3]))
    tensor(1.3863)
    """
    _check_reduction("cross_entropy", reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"cross_entropy: label_smoothing must be between 0.0 and 1.0, got {label_smoothing}")
    if target.shape == input.shape and is_differentiable(target.dtype):
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    options = {"ignore_index": ignore_index, "reduction": reduction, "smoothing": label_smoothing}
    return _over_classes("cross_entropy", input, target, weight, options)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log likelihood: minus the entry of `input` (log-probabilities) at class `target`.

    Shapes, weights and errors as for `cross_entropy`.

    Source: torch.nn.functional.nll_loss.

    >>> nll_loss(kellet.tensor([[0.5, 0.5]]).log(), kellet.tensor([1]))
    tensor(0.6931)
    """
    _check_reduction("nll_loss", reduction)
    options = {"ignore_index": ignore_index, "reduction": reduction}
    return _over_classes("nll_loss", input, target, weight, options)


def _over_classes(
    name: str, input: Tensor, target: Tensor, weight: Tensor | None, options: dict[str, object]
) -> Tensor:
    """Bring the classes last and all else into one dimension, which is what the rules take."""
    _check_classes(name, input, target, weight)
    classes = input.shape[min(1, input.ndim - 1)]
    if input.ndim > 2:
        input = input.movedim(1, -1)
    rows = input if input.ndim == 2 else input.reshape(target.numel(), classes)
    flat = target if target.ndim == 1 else target.reshape(target.numel())
    loss = apply(RULES[name], (rows, flat, weight), options)
    return loss.reshape(target.shape) if options["reduction"] == "none" and target.ndim != 1 else loss


def _soft_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float
) -> Tensor:
    """Against probabilities; the mean is over samples, not weighed."""
    if target.dtype.kind == "c":
        raise DTypeError(
            "cross_entropy: expected class probabilities of a floating dtype, got "
            f"{dtype_name(target.dtype)}; pass .real or .abs() of them"
        )
    dim = min(1, input.ndim - 1)
    classes = input.shape[dim]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    terms = log_softmax(input, dim) * target
    if weight is not None:
        _check_weight("cross_entropy", weight, classes)
        terms = terms * weight.reshape(-1, *(1,) * (input.ndim - 1 - dim))
    loss = -terms.sum(dim)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def _check_classes(name: str, input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    if input.ndim < 1:
        raise ShapeError(f"{name}: expected an input with a dimension of classes, got shape ()")
    wanted = () if input.ndim == 1 else (input.shape[0], *input.shape[2:])
    if target.shape != wanted:
        raise ShapeError(
            f"{name}: target of shape {target.shape} does not fit input of shape {input.shape}; "
            f"class indexes must have shape {wanted}"
        )
    if target.dtype.kind not in "iu":
        raise DTypeError(
            f"{name}: class indexes must be integers, got {dtype_name(target.dtype)}; convert with .long()"
        )
    if not is_differentiable(input.dtype):
        raise DTypeError(
            f"{name}: expected an input of a floating dtype, got {dtype_name(input.dtype)}; use .float()"
        )
    if weight is not None:
        _check_weight(name, weight, input.shape[min(1, input.ndim - 1)])
        require_one_dtype(name, input, weight, than="an input and a weight")


def _check_weight(name: str, weight: Tensor, classes: int) -> None:
    if weight.shape != (classes,):
        raise ShapeError(
            f"{name}: weight tensor should be defined either for all {classes} classes or no classes, "
            f"got shape {weight.shape}"
        )


# --- between values -------------------------------------------------------------------------------


def mse_loss(
    input: Tensor, target: Tensor, *, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """Return the squared difference.

    Source: torch.nn.functional.mse_loss.

    >>> import kellet
    >>> mse_loss(kellet.tensor([1.0, 3.0]), kellet.tensor([1.0, 1.0]))
    tensor(2.)
    """
    _check_pair("mse_loss", input, target, reduction)
    if weight is not None:
        _check_weights("mse_loss", weight, input)
        return _reduced((input - target).square() * weight, reduction, weight)
    return apply(RULES["mse_loss"], (input, target), {"reduction": reduction})


def l1_loss(
    input: Tensor, target: Tensor, *, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """Return the absolute difference.

    Source: torch.nn.functional.l1_loss.

    >>> l1_loss(kellet.tensor([1.0, 3.0]), kellet.tensor([1.0, 1.0]))
    tensor(1.)
    """
    _check_pair("l1_loss", input, target, reduction)
    loss = (input - target).abs()
    if weight is not None:
        _check_weights("l1_loss", weight, input)
    return _reduced(loss, reduction) if weight is None else _reduced(loss * weight, reduction, weight)


def smooth_l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Return the absolute difference, `0.5 * d**2 / beta` where it is smaller than `beta`.

    Raises ValueError for a negative `beta`.

    Source: torch.nn.functional.smooth_l1_loss.

    >>> smooth_l1_loss(kellet.tensor([1.0, 3.0]), kellet.tensor([1.0, 1.0]))
    tensor(0.7500)
    """
    _check_pair("smooth_l1_loss", input, target, reduction)
    if beta < 0:
        raise ValueError(f"smooth_l1_loss: beta must not be negative, got {beta}")
    return _reduced(_smooth_abs(_difference(input, target), beta), reduction)


def huber_loss(
    input: Tensor,
    target: Tensor,
    *,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Return `0.5 * d**2` where the difference d is below `delta`, `delta * (|d| - delta / 2)` elsewhere.

    Raises ValueError unless `delta` is positive.

    Source: torch.nn.functional.huber_loss.

    >>> huber_loss(kellet.tensor([1.0, 3.0]), kellet.tensor([1.0, 1.0]))
    tensor(0.7500)
    """
    _check_pair("huber_loss", input, target, reduction)
    if delta <= 0:
        raise ValueError(f"huber_loss: delta must be positive, got {delta}")
    loss = _kept_in("huber_loss", _smooth_abs(_difference(input, target), delta) * delta, input)
    if weight is not None:
        _check_weights("huber_loss", weight, input)
    # Unlike those of other losses, these weights do not change what a mean divides by.
    return _reduced(loss if weight is None else loss * weight, reduction)


def _difference(input: Tensor, target: Tensor) -> Tensor:
    """`input - target`, also where one of both is of bools."""
    if input.dtype.kind == "b":
        input = input.to(target.dtype)
    elif target.dtype.kind == "b":
        target = target.to(input.dtype)
    return input - target


def _smooth_abs(difference: Tensor, beta: float) -> Tensor:
    # Above the bend |d| - beta / 2: what the rule gives already.
    return apply(RULES["smooth_abs"], (difference,), {"beta": beta})


# --- between probabilities ------------------------------------------------------------------------


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Return cross-entropy of the probabilities `input` against `target`, element by element.

    Logarithms are cut off at -100. Raises ShapeError unless both have one shape, ValueError for
    an input outside [0, 1].

    Source: torch.nn.functional.binary_cross_entropy.

    >>> binary_cross_entropy(kellet.tensor([0.5]), kellet.tensor([1.0]))
    tensor(0.6931)
    """
    where = "binary_cross_entropy"
    _check_reduction(where, reduction)
    if target.shape != input.shape:
        raise ShapeError(
            f"binary_cross_entropy: target of shape {target.shape} is different to the input of shape "
            f"{input.shape}; both must have one shape"
        )
    array = input._array
    if array.size and not (array.min() >= 0 and array.max() <= 1):
        raise ValueError(
            "binary_cross_entropy: all elements of input should be between 0 and 1; use "
            "binary_cross_entropy_with_logits for logits"
        )
    loss = apply(RULES["binary_cross_entropy"], (input, target), NONE)
    return _reduced(loss if weight is None else _kept_in(where, loss * weight, loss), reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return cross-entropy of `sigmoid(input)` against `target`, without leaving the range of the dtype.

    `pos_weight` multiplies the part of the target that is 1. Raises ShapeError unless input and
    target have one shape.

    Source: torch.nn.functional.binary_cross_entropy_with_logits.

    >>> binary_cross_entropy_with_logits(kellet.tensor([0.0]), kellet.tensor([1.0]))
    tensor(0.6931)
    """
    _check_reduction("binary_cross_entropy_with_logits", reduction)
    if target.shape != input.shape:
        raise ShapeError(
            f"Target size ({list(target.shape)}) must be the same as input size ({list(input.shape)}); "
            "reshape one of both"
        )
    yes = -logsigmoid(input)
    if pos_weight is not None:
        yes = yes * ((pos_weight - 1) * target + 1)
    where = "binary_cross_entropy_with_logits"
    loss = _kept_in(where, (1 - target) * input + yes, target)
    return _reduced(loss if weight is None else _kept_in(where, loss * weight, loss), reduction)


def kl_div(input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Return `target * (log(target) - input)`, `input` being log-probabilities, and 0 where `target` is 0.

    With `log_target` the target is given as logarithms. `reduction="batchmean"` sums and divides by
    the length of dimension 0.

    Raises ValueError for another `reduction`, DTypeError for tensors that are not of floating dtypes.

    Source: torch.nn.functional.kl_div.

    >>> kl_div(kellet.tensor([[0.5, 0.5]]).log(), kellet.tensor([[0.5, 0.5]]), reduction="batchmean")
    tensor(0.)
    """
    if reduction not in (*REDUCTIONS, "batchmean"):
        raise ValueError(f"kl_div: reduction must be one of {(*REDUCTIONS, 'batchmean')}, got {reduction!r}")
    for value in (input, target):
        if not is_differentiable(value.dtype) or value.dtype.kind == "c":
            raise DTypeError(
                f"kl_div: expected tensors of floating dtypes, got {dtype_name(value.dtype)}; use .float()"
            )
    if log_target:
        loss = target.exp() * (target - input)
    else:
        there = target > 0
        logs = core.where(there, target, 1.0).log()
        loss = core.where(there, target * logs, 0.0) - target * input
    if reduction == "batchmean":
        return loss.sum() / (len(input) if input.ndim else 1)
    return _reduced(loss, reduction)


# --- shared ---------------------------------------------------------------------------------------


def _reduced(loss: Tensor, reduction: str, weight: Tensor | None = None) -> Tensor:
    """Reduce; a mean of weighed losses divides by the sum of the weights."""
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    return loss.mean() if weight is None else loss.sum() / weight.sum()


def _check_weights(where: str, weight: Tensor, input: Tensor) -> None:
    if weight.shape != input.shape:
        raise ShapeError(
            f"{where}: weight of shape {weight.shape} must have the shape of input, {input.shape}"
        )


def _kept_in(where: str, loss: Tensor, like: Tensor) -> Tensor:
    """`loss` in the dtype of `like`, as PyTorch computes it. Raises DTypeError where that cannot hold it."""
    if loss.dtype == like.dtype:
        return loss
    if category(loss.dtype) > category(like.dtype):
        raise DTypeError(
            f"{where}: result type {dtype_name(loss.dtype)} can't be cast to {dtype_name(like.dtype)}; "
            "convert the tensors to one floating dtype, e.g. with .float()"
        )
    return loss.to(like.dtype)


def _check_reduction(where: str, reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"{where}: {reduction!r} is not a valid value for reduction; pass one of {REDUCTIONS}"
        )


def _check_pair(where: str, input: Tensor, target: Tensor, reduction: str) -> None:
    _check_reduction(where, reduction)
    if target.shape != input.shape:
        warnings.warn(
            f"{where}: using a target of shape {target.shape} that is different to the input of shape "
            f"{input.shape}. This will likely lead to incorrect results due to broadcasting; make sure they "
            "have the same shape",
            UserWarning,
            stacklevel=3,
        )
