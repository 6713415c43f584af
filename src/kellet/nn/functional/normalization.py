"""Normalization over the last dimensions, over a batch, over groups of channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...autograd.bridge import wrap
from ...core import Tensor
from ...core.dispatch import apply, require_one_dtype
from ...dtypes import dtype_name, float32, is_differentiable, smallest_step
from ...errors import DTypeError, ShapeError
from ...rules import RULES


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Bring the last dimensions, of shape `normalized_shape`, to mean 0 and variance 1; scale and shift.

    Raises ShapeError where the input does not end in that shape, or weight or bias have another one.

    Source: torch.nn.functional.layer_norm.

    >>> import kellet
    >>> layer_norm(kellet.tensor([[1.0, 3.0]]), (2,), eps=0.0)
    tensor([[-1.,  1.]])
    """
    shape = _check_shape("layer_norm", input, normalized_shape, weight, bias)
    _check_dtypes("layer_norm", input, weight, bias)
    options = {"axes": len(shape), "eps": eps}
    return _like(apply(RULES["layer_norm"], (input, weight, bias), options), input)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide the last dimensions by their root mean square, and scale. `eps` is by default the dtype's.

    Raises DTypeError for an input that is not of a floating dtype.

    Source: torch.nn.functional.rms_norm.

    >>> rms_norm(kellet.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    shape = _check_shape("rms_norm", input, normalized_shape, weight, None)
    if not is_differentiable(input.dtype):
        raise DTypeError(
            f"rms_norm: expected an input of a floating dtype, got {dtype_name(input.dtype)}; use .float()"
        )
    eps = smallest_step(input.dtype) if eps is None else eps
    dims = tuple(range(input.ndim - len(shape), input.ndim))
    out = input * (input.square().mean(dims, keepdim=True) + eps).rsqrt()
    return _like(out if weight is None else out * weight, input)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Bring each channel (dimension 1) to mean 0 and variance 1; scale and shift by weight and bias.

    When training, mean and variance are those of the batch, and the running ones, where given, move
    towards them by `momentum` in place (the variance without bias). Otherwise the running ones are used.
    An input without values moves nothing.

    Raises ShapeError where lengths differ from the number of channels, ValueError for a batch with a
    single value per channel.

    Source: torch.nn.functional.batch_norm.

    >>> batch_norm(kellet.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    _check_channels(input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    _check_dtypes("batch_norm", input, running_mean, running_var, weight, bias)
    if not input.numel():
        return _of_nothing(input, weight, bias)
    if training:
        mean, var = _batch_statistics(input)
        _move_running(input, running_mean, running_var, mean, var, momentum)
    elif running_mean is None or running_var is None:
        raise ValueError("batch_norm: running_mean and running_var are needed unless training; pass both")
    else:
        mean, var = running_mean._array.copy(), running_var._array.copy()
    options: dict[str, Any] = {"mean": mean, "var": var, "eps": eps, "of_batch": training}
    return _like(apply(RULES["batch_norm"], (input, weight, bias), options), input)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Return `batch_norm` of each sample by itself: input (N, C, *lengths).

    Raises ValueError for a single element in each channel, when training.

    Source: torch.nn.functional.instance_norm.

    >>> instance_norm(kellet.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    _check_channels(input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    _check_dtypes("instance_norm", input, running_mean, running_var, weight, bias)
    if not input.numel():
        return _of_nothing(input, weight, bias)
    n, channels, *rest = input.shape
    if math.prod(rest) < 2:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {list(input.shape)}; "
            "the variance of one value is unknown"
        )
    if running_mean is not None and running_var is not None:
        flat = input._array.reshape(n, channels, -1)
        mean, var = flat.mean(axis=2).mean(axis=0), flat.var(axis=2, ddof=1).mean(axis=0)
        _move(running_mean, mean, momentum)
        _move(running_var, var, momentum)
    out = batch_norm(input.reshape(1, n * channels, *rest), None, None, training=True, eps=eps)
    return _like(_affine(out.reshape(input.shape), weight, bias), input)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Bring each of `num_groups` groups of channels of each sample to mean 0 and variance 1.

    Input (N, C, *lengths); weight and bias (C,). Raises ShapeError unless the groups divide C,
    ValueError for a single value in all.

    Source: torch.nn.functional.group_norm.

    >>> group_norm(kellet.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    _check_channels(input, weight=weight, bias=bias)
    _check_dtypes("group_norm", input, weight, bias)
    n, channels = input.shape[:2]
    if num_groups < 1 or channels % num_groups:
        raise ShapeError(
            f"group_norm: num_groups must divide the channels of input of shape {input.shape}, "
            f"got {num_groups}"
        )
    if n * channels // num_groups * math.prod(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(input.shape)}; "
            "the variance of one value is unknown"
        )
    grouped = input.reshape(n, num_groups, input.numel() // (n * num_groups) if input.numel() else 0)
    out = layer_norm(grouped, grouped.shape[2:], eps=eps)
    return _like(_affine(out.reshape(input.shape), weight, bias), input)


# --- statistics -----------------------------------------------------------------------------------


def _batch_statistics(input: Tensor) -> tuple[Any, Any]:
    """Mean and variance (with bias) of each channel, as arrays."""
    array = input._array
    count = array.size // array.shape[1]
    if count <= 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(array.shape)}; "
            "use a larger batch, or .eval()"
        )
    others = (0, *range(2, array.ndim))
    mean = array.mean(axis=others)
    centred = array - mean.reshape(1, -1, *(1,) * (array.ndim - 2))
    return mean, np.square(centred, out=centred).mean(axis=others)


def _move_running(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    mean: Any,
    var: Any,
    momentum: float,
) -> None:
    count = input.numel() // input.shape[1]
    if running_mean is not None:
        _move(running_mean, mean, momentum)
    if running_var is not None:
        _move(running_var, var * (count / (count - 1)), momentum)


def _move(running: Tensor, value: Any, momentum: float) -> None:
    running.copy_(wrap(running._array * (1 - momentum) + value * momentum))


def _of_nothing(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """An input without values, with gradients of zero for weight and bias."""
    return _like(_affine(input.clone(), weight, bias), input)


def _affine(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Scale and shift each channel."""
    shape = (-1, *(1,) * (input.ndim - 2))
    if weight is not None:
        input = input * weight.reshape(shape)
    return input if bias is None else input + bias.reshape(shape)


def _like(out: Tensor, input: Tensor) -> Tensor:
    """`out` in the dtype of `input`: weights of half-precision inputs may be more exact."""
    return out if out.dtype == input.dtype else out.to(input.dtype)


# --- checks ---------------------------------------------------------------------------------------


def _check_shape(
    where: str, input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None
) -> tuple[int, ...]:
    shape = tuple(normalized_shape)
    if not shape:
        raise ShapeError(f"{where}: normalized_shape must name at least one dimension, got ()")
    if input.shape[-len(shape) :] != shape:
        raise ShapeError(
            f"{where}: given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got input of size {list(input.shape)}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != shape:
            raise ShapeError(f"{where}: {name} of shape {value.shape} must have normalized_shape {shape}")
    return shape


def _check_dtypes(where: str, input: Tensor, *others: Tensor | None) -> None:
    """Raise DTypeError unless all have the input's dtype, or are float32 beside a half-precision input."""
    own = input.dtype
    for value in others:
        if value is None or value.dtype is own or value.dtype == own:
            continue
        if own.itemsize > 2 or not is_differentiable(own) or value.dtype != float32:
            raise DTypeError(
                f"{where}: weights and statistics of {dtype_name(value.dtype)} do not fit an input of "
                f"{dtype_name(own)}; convert one, e.g. the module with .to(input.dtype)"
            )
        first = next(one.dtype for one in others if one is not None)
        if first != value.dtype:
            require_one_dtype(where, *others, than="weights and statistics")


def _check_channels(input: Tensor, **named: Tensor | None) -> None:
    if input.ndim < 2:
        raise ShapeError(f"expected an input of shape (N, C, ...), got {input.shape}; add a dimension")
    for name, value in named.items():
        if value is not None and value.shape != input.shape[1:2]:
            raise ShapeError(
                f"{name} of shape {value.shape} does not fit input of shape {input.shape}; it should contain "
                f"{input.shape[1]} elements, one per channel"
            )
