"""Layers that normalise parts of a sample: groups of channels, single channels, and by size alone."""

from __future__ import annotations

from typing import Any

from ... import core
from ...core import Tensor
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter
from .normalization import _BatchNorm


class GroupNorm(Module):
    """Normalise each sample over groups of channels: input (N, C, *), C a multiple of `num_groups`.

    Raises ValueError for channels that cannot be divided among the groups.

    Source: torch.nn.GroupNorm.

    >>> kellet.nn.GroupNorm(1, 2)(kellet.tensor([[1.0, 5.0]])).detach()
    tensor([[-1.0000,  1.0000]])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels must be divisible by num_groups, but got {num_channels} and {num_groups}"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, there in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(core.empty(num_channels, device=device, dtype=dtype)) if there else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set `weight` to ones and `bias` to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide each sample by the root of its mean square over its last dimensions; no mean is taken off.

    `weight` has the shape `normalized_shape`. Without `eps` it is the smallest step of the dtype.

    Source: torch.nn.RMSNorm.

    >>> kellet.nn.RMSNorm(2)(kellet.tensor([[3.0, 3.0]])).detach()
    tensor([[1., 1.]])
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = Parameter(core.empty(*shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set `weight` to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class _InstanceNorm(_BatchNorm):
    """What instance normalisations of all dimensions share."""

    _dimensions: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input(self, input: Tensor) -> None:
        least = self._dimensions + 1
        if input.dim() not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {input.dim()}D input)")
        channels = input.shape[-least]
        if channels != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim={input.dim() - least} to match num_features "
                f"({self.num_features}), but got: {channels}."
            )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input(input)
        is_batch = input.dim() == self._dimensions + 2
        normalised = F.instance_norm(
            input if is_batch else input.unsqueeze(0),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return normalised if is_batch else normalised.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of each sample by itself: input (N, C, L) or (C, L).

    With `track_running_stats` evaluation uses the running values. Parameters come with `affine`.

    Source: torch.nn.InstanceNorm1d.

    >>> kellet.nn.InstanceNorm1d(3)(kellet.ones(2, 3, 4)).shape
    (2, 3, 4)
    """

    _dimensions = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalise each channel of each sample by itself: input (N, C, H, W) or (C, H, W).

    With `track_running_stats` evaluation uses the running values. Parameters come with `affine`.

    Source: torch.nn.InstanceNorm2d.

    >>> kellet.nn.InstanceNorm2d(3)(kellet.ones(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """

    _dimensions = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalise each channel of each sample by itself: input (N, C, D, H, W) or (C, D, H, W).

    With `track_running_stats` evaluation uses the running values. Parameters come with `affine`.

    Source: torch.nn.InstanceNorm3d.

    >>> kellet.nn.InstanceNorm3d(3)(kellet.ones(2, 3, 4, 4, 4)).shape
    (2, 3, 4, 4, 4)
    """

    _dimensions = 3
