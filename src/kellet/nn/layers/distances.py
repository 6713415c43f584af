"""Distances, similarities and products of two inputs, and losses of pairs and triples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import core
from ...core import Tensor
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter
from .losses import _Loss


class CosineSimilarity(Module):
    """The cosine of the angle between two inputs along `dim`.

    Source: torch.nn.CosineSimilarity.

    >>> kellet.nn.CosineSimilarity()(kellet.tensor([[1.0, 0.0]]), kellet.tensor([[2.0, 0.0]]))
    tensor([1.])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference of rows.

    Source: torch.nn.PairwiseDistance.

    >>> kellet.nn.PairwiseDistance(eps=0.0)(kellet.tensor([[3.0, 0.0]]), kellet.tensor([[0.0, 4.0]]))
    tensor([5.])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class Bilinear(Module):
    """`x1 @ weight[k] @ x2 + bias[k]` for each output k.

    Inputs (..., in1_features) and (..., in2_features); `weight` (out_features, in1_features, in2_features)
    and `bias` (out_features,) start uniform in +-1/sqrt(in1_features).

    Raises ValueError for no input features.

    Source: torch.nn.Bilinear.

    >>> kellet.nn.Bilinear(2, 3, 4)(kellet.ones(5, 2), kellet.ones(5, 3)).shape
    (5, 4)
    """

    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(core.empty(*shape, device=device, dtype=dtype))
        made = Parameter(core.empty(out_features, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, uniform in +-1/sqrt(in1_features)."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class CosineEmbeddingLoss(_Loss):
    """`1 - cos` of pairs with target 1, `max(0, cos - margin)` of pairs with target -1.

    Source: torch.nn.CosineEmbeddingLoss.

    >>> one, other = kellet.tensor([[1.0, 0.0]]), kellet.tensor([[0.0, 2.0]])
    >>> kellet.nn.CosineEmbeddingLoss()(one, other, kellet.tensor([1]))
    tensor(1.)
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """`max(0, margin + d(anchor, positive) - d(anchor, negative))`, d the p-norm of the difference.

    Raises ValueError for a margin that is not positive.

    Source: torch.nn.TripletMarginLoss.

    >>> zero = kellet.zeros(1, 2)
    >>> round(kellet.nn.TripletMarginLoss()(zero, zero, zero).item(), 4)
    1.0
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction
        )


class TripletMarginWithDistanceLoss(_Loss):
    """The same by a distance of the caller's.

    Raises ValueError for a margin that is not positive.

    Source: torch.nn.TripletMarginWithDistanceLoss.

    >>> zero = kellet.zeros(1, 2)
    >>> loss = kellet.nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(1))
    >>> loss(zero, zero, zero)
    tensor(1.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class MarginRankingLoss(_Loss):
    """`max(0, -target * (input1 - input2) + margin)`: target 1 wants the first larger, -1 the second.

    Source: torch.nn.MarginRankingLoss.

    >>> kellet.nn.MarginRankingLoss()(kellet.tensor([1.0]), kellet.tensor([3.0]), kellet.tensor([1.0]))
    tensor(2.)
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """The input where the target is 1, `max(0, margin - input)` where it is -1.

    Source: torch.nn.HingeEmbeddingLoss.

    >>> kellet.nn.HingeEmbeddingLoss()(kellet.tensor([0.25, 0.25]), kellet.tensor([1, -1]))
    tensor(0.5000)
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)
