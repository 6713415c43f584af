"""Gradients that are not to be too large: their norm, and each value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...autograd import no_grad
from ...core import Tensor, from_numpy
from ...core.wrong_arguments import explain_functions as _explain_functions


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all values of some tensors together, as a tensor without dimensions.

    `norm_type` is p of the p-norm, `inf` for the largest absolute value. `foreach` is accepted and ignored.

    Raises RuntimeError for a norm that is not finite, with `error_if_nonfinite`.

    Source: torch.nn.utils.get_total_norm; there, the largest absolute value of an empty tensor is refused.

    >>> kellet.nn.utils.get_total_norm([kellet.tensor([3.0]), kellet.tensor([[4.0]])])
    tensor(5.)
    """
    several = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    order = float(norm_type)
    norms = [_norm(tensor._array.ravel(), order) for tensor in several]
    total = _norm(np.asarray(norms, np.result_type(*norms)), order) if norms else np.float32(0.0)
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return from_numpy(np.asarray(total))


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply the gradients by `max_norm / total_norm`, in place, where that makes them smaller.

    `foreach` is accepted and ignored.

    Source: torch.nn.utils.clip_grads_with_norm_.

    >>> weight = kellet.tensor([0.0, 0.0], requires_grad=True)
    >>> weight.grad = kellet.tensor([3.0, 4.0])
    >>> kellet.nn.utils.clip_grads_with_norm_(weight, 1.0, kellet.tensor(10.0))
    >>> weight.grad
    tensor([0.3000, 0.4000])
    """
    factor = float(max_norm) / (total_norm.item() + 1e-6)
    factor = factor if math.isnan(factor) else min(factor, 1.0)
    with no_grad():
        for gradient in _gradients(parameters):
            gradient *= factor


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Make the gradients smaller, in place, so that their norm, all together, is `max_norm` at most.

    Returns the norm that they had. Parameters without a gradient are passed over.

    Raises RuntimeError for a norm that is not finite, with `error_if_nonfinite`; then nothing has changed.

    Source: torch.nn.utils.clip_grad_norm_.

    >>> weight = kellet.tensor([0.0, 0.0], requires_grad=True)
    >>> weight.grad = kellet.tensor([3.0, 4.0])
    >>> kellet.nn.utils.clip_grad_norm_([weight], max_norm=1.0)
    tensor(5.)
    >>> weight.grad
    tensor([0.6000, 0.8000])
    """
    several = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(several), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(several, max_norm, total, foreach)
    return total


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Bring every value of the gradients, in place, between `-clip_value` and `clip_value`.

    `foreach` is accepted and ignored.

    Source: torch.nn.utils.clip_grad_value_.

    >>> weight = kellet.tensor([0.0, 0.0], requires_grad=True)
    >>> weight.grad = kellet.tensor([3.0, -0.5])
    >>> kellet.nn.utils.clip_grad_value_(weight, 1.0)
    >>> weight.grad
    tensor([ 1.0000, -0.5000])
    """
    with no_grad():
        for gradient in _gradients(parameters):
            gradient.clamp_(-float(clip_value), float(clip_value))


def _norm(values: np.ndarray[Any, Any], order: float) -> np.floating[Any]:
    # NumPy has no largest value of none.
    norm = np.linalg.norm(values, order) if values.size else 0.0
    made: np.floating[Any] = values.real.dtype.type(norm)
    return made


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Any]:
    several = [parameters] if isinstance(parameters, Tensor) else parameters
    return [parameter.grad for parameter in several if parameter.grad is not None]


_explain_functions(globals())
