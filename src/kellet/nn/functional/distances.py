"""Losses of pairs and triples: what should be near, and what should be far."""

from __future__ import annotations

from collections.abc import Callable

from ... import core
from ...core import Tensor
from ...dtypes import dtype_name, is_differentiable
from ...errors import DTypeError, ShapeError
from .linear import pairwise_distance
from .losses import _check_reduction, _reduced


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """Return `1 - cos` of pairs (N, D) with target 1, `max(0, cos - margin)` of those with target -1.

    Pairs may also be single vectors (D,) with a target without dimensions.

    Raises ShapeError for shapes that do not fit, ValueError for another reduction.

    Source: torch.nn.functional.cosine_embedding_loss.

    >>> one, other = kellet.tensor([[1.0, 0.0]]), kellet.tensor([[0.0, 2.0]])
    >>> cosine_embedding_loss(one, other, kellet.tensor([1]))
    tensor(1.)
    """
    _check_reduction("cosine_embedding_loss", reduction)
    if target.dim() != input1.dim() - 1 or input1.shape != input2.shape or input1.dim() not in (1, 2):
        raise ShapeError(
            f"cosine_embedding_loss: expected two of (N, D) with a target (N,), or of (D,) with (), got "
            f"{tuple(input1.shape)}, {tuple(input2.shape)} and {tuple(target.shape)}"
        )
    # PyTorch adds this to the squares, and not to the lengths.
    tiny = 1e-12
    product = (input1 * input2).sum(-1)
    sizes = ((input1 * input1).sum(-1) + tiny) * ((input2 * input2).sum(-1) + tiny)
    cosine = product / sizes.sqrt()
    apart = (cosine - margin).clamp(min=0)
    zeros = core.zeros_like(cosine)
    loss = core.where(target == 1, 1 - cosine, zeros) + core.where(target == -1, apart, zeros)
    return _reduced(loss, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> Tensor:
    """Return `max(0, margin + d(anchor, positive) - d(anchor, negative))` of rows (N, D) or vectors (D,).

    d is the p-norm of the difference. With `swap` the nearer of anchor and positive counts for the negative.

    Raises ValueError for another reduction, and for a margin that is not positive.

    Source: torch.nn.functional.triplet_margin_loss.

    >>> near, far = kellet.tensor([[1.0, 0.0]]), kellet.tensor([[0.0, 0.5]])
    >>> round(triplet_margin_loss(near * 0, near, far).item(), 4)
    1.5
    """

    def distance(one: Tensor, other: Tensor) -> Tensor:
        return pairwise_distance(one, other, p, eps)

    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=distance,
        margin=margin,
        swap=swap,
        reduction=reduction,
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return the same by a distance of the caller's, by default the 2-norm of the difference.

    Raises ValueError for another reduction, and for a margin that is not positive.

    Source: torch.nn.functional.triplet_margin_with_distance_loss.

    >>> one, other = kellet.tensor([[1.0, 0.0]]), kellet.tensor([[0.0, 2.0]])
    >>> by_steps = lambda a, b: (a - b).abs().sum(1)
    >>> triplet_margin_with_distance_loss(one, one, other, distance_function=by_steps)
    tensor(0.)
    """
    _check_reduction("triplet_margin_loss", reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = core.minimum(far, distance(positive, negative))
    return _reduced((margin + near - far).clamp(min=0), reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """Return `max(0, -target * (input1 - input2) + margin)`: target 1 wants the first larger, -1 the second.

    Raises ValueError for another reduction.

    Source: torch.nn.functional.margin_ranking_loss.

    >>> margin_ranking_loss(kellet.tensor([1.0]), kellet.tensor([3.0]), kellet.tensor([1.0]))
    tensor(2.)
    """
    _check_reduction("margin_ranking_loss", reduction)
    return _reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, *, reduction: str = "mean"
) -> Tensor:
    """Return the input where the target is 1, `max(0, margin - input)` where it is -1.

    Raises ValueError for another reduction, DTypeError for the mean of integers.

    Source: torch.nn.functional.hinge_embedding_loss.

    >>> hinge_embedding_loss(kellet.tensor([0.25, 0.25]), kellet.tensor([1, -1]), reduction="none")
    tensor([0.2500, 0.7500])
    """
    _check_reduction("hinge_embedding_loss", reduction)
    if reduction == "mean" and not is_differentiable(input.dtype):
        raise DTypeError(
            f"hinge_embedding_loss: there is no mean of {dtype_name(input.dtype)}; convert with .float()"
        )
    zeros = core.zeros_like(input)
    apart = core.where(target != 1, (margin - input).clamp(min=0), zeros)
    near = core.where(target != -1, input, zeros)
    return _reduced(apart + near, reduction)
