"""Losses: one number, or with `reduction="none"` one for each sample or value."""

from __future__ import annotations

from ...core import Tensor
from .. import functional as F
from ..module import Module

_REDUCTIONS = ("mean", "sum", "none")


class _Loss(Module):
    """The base of all losses: `reduction` is "mean", "sum" or "none"."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in self._reductions():
            raise ValueError(f"{reduction!r} is not a valid reduction; take one of {self._reductions()}")
        self.reduction = reduction

    @staticmethod
    def _reductions() -> tuple[str, ...]:
        return _REDUCTIONS


class _WeightedLoss(_Loss):
    """A loss with a buffer `weight`: one factor for each class or value."""

    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """The absolute difference of input and target.

    Source: torch.nn.L1Loss.

    >>> kellet.nn.L1Loss()(kellet.tensor([1.0, 3.0]), kellet.tensor([1.0, 1.0]))
    tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference of input and target.

    Source: torch.nn.MSELoss.

    >>> kellet.nn.MSELoss()(kellet.tensor([1.0, 3.0]), kellet.tensor([1.0, 1.0]))
    tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """The squared difference divided by 2 `beta` below `beta`, the absolute one less `beta` / 2 above.

    Source: torch.nn.SmoothL1Loss.

    >>> kellet.nn.SmoothL1Loss()(kellet.tensor([1.0, 3.0]), kellet.tensor([1.0, 1.0]))
    tensor(0.7500)
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Half the squared difference below `delta`, linear above.

    Source: torch.nn.HuberLoss.

    >>> kellet.nn.HuberLoss()(kellet.tensor([1.0, 3.0]), kellet.tensor([1.0, 1.0]))
    tensor(0.7500)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """The divergence of a target distribution from an input given as logarithms.

    With `log_target` the target is given as logarithms too; "batchmean" divides the sum by the batch.

    Source: torch.nn.KLDivLoss.

    >>> even = kellet.tensor([[0.5, 0.5]])
    >>> kellet.nn.KLDivLoss(reduction="batchmean")(even.log(), even)
    tensor(0.)
    """

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    @staticmethod
    def _reductions() -> tuple[str, ...]:
        return (*_REDUCTIONS, "batchmean")

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class NLLLoss(_WeightedLoss):
    """Minus the input at the class that the target names: input (N, C, ...) as logarithms, target (N, ...).

    `weight` (C,) weighs the classes; targets equal to `ignore_index` count for nothing.

    Source: torch.nn.NLLLoss.

    >>> kellet.nn.NLLLoss()(kellet.tensor([[0.5, 0.5]]).log(), kellet.tensor([1]))
    tensor(0.6931)
    """

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of logits (N, C, ...) and classes (N, ...) or probabilities (N, C, ...).

    `weight` (C,) weighs the classes; classes equal to `ignore_index` count for nothing;
    `label_smoothing` gives that share of each target to all classes alike.

    >>> import kellet
    >>> from kellet import nn
    >>> loss = nn.CrossEntropyLoss()(kellet.zeros(1, 4), kellet.tensor([2]))
    >>> round(loss.item(), 4)
    1.3863

    Source: torch.nn.CrossEntropyLoss.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities and targets between 0 and 1.

    Source: torch.nn.BCELoss.

    >>> kellet.nn.BCELoss()(kellet.tensor([0.5]), kellet.tensor([1.0]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """Binary cross entropy of logits and targets between 0 and 1; `pos_weight` weighs the positive ones.

    Source: torch.nn.BCEWithLogitsLoss.

    >>> kellet.nn.BCEWithLogitsLoss()(kellet.tensor([0.0]), kellet.tensor([1.0]))
    tensor(0.6931)
    """

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )
