"""Layers that give their values mean zero and variance one."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from ... import core, dtypes
from ...core import Tensor
from .. import functional as F
from .. import init
from ..load_state_dict import register_class_load_state_dict_pre_hook
from ..module import Module
from ..parameter import Parameter


class _Affine(Module):
    """What scales by `weight` and adds `bias`, where it has them."""

    weight: Parameter | None
    bias: Parameter | None

    def _scale(self, shape: tuple[int, ...], affine: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, there in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(core.empty(*shape, device=device, dtype=dtype)) if there else None
            self.register_parameter(name, made)

    def reset_parameters(self) -> None:
        """Set `weight` to ones and `bias` to zeros, where there are."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _BatchNorm(_Affine):
    """The base of batch normalisations of all dimensions."""

    # 2: num_batches_tracked came.
    _version = 2

    _dims: tuple[int, ...]
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._scale((num_features,), affine, bias, device, dtype)
        for name, make in (("running_mean", core.zeros), ("running_var", core.ones)):
            made = make(num_features, device=device, dtype=dtype) if track_running_stats else None
            self.register_buffer(name, made)
        counter = core.tensor(0, dtype=dtypes.int64) if track_running_stats else None
        self.register_buffer("num_batches_tracked", counter)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the batches seen."""
        for name, value in (("running_mean", 0), ("running_var", 1), ("num_batches_tracked", 0)):
            buffer = self._buffers[name]
            if buffer is not None:
                buffer.fill_(value)

    def reset_parameters(self) -> None:
        """Forget the batches seen and set `weight` to ones, `bias` to zeros."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input(self, input: Tensor) -> None:
        if input.dim() not in self._dims:
            wanted = " or ".join(f"{count}D" for count in self._dims)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input(input)
        use_batch = self.training or self.running_mean is None
        return F.batch_norm(
            input,
            # In training without tracking the running values are left alone.
            self.running_mean if not self.training or self.track_running_stats else None,
            self.running_var if not self.training or self.track_running_stats else None,
            self.weight,
            self.bias,
            use_batch,
            self._counted() if self.training and self.track_running_stats else 0.0,
            self.eps,
        )

    def _counted(self) -> float:
        """Count this batch; return the weight that it has in the running values."""
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                # Without momentum the running values are the plain means over all batches.
                return 1.0 / float(self.num_batches_tracked)
        return 0.0 if self.momentum is None else self.momentum

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


def _add_batch_counter(
    module: _BatchNorm,
    state_dict: MutableMapping[str, Any],
    prefix: str,
    local_metadata: Mapping[str, Any],
    *rest: Any,
) -> None:
    """States saved before version 2, or with no version known, get a counter: the module's own, or zero."""
    version = local_metadata.get("version")
    if (version is None or version < 2) and module.track_running_stats:
        state_dict.setdefault(f"{prefix}num_batches_tracked", core.tensor(0, dtype=dtypes.int64))


register_class_load_state_dict_pre_hook(_BatchNorm, _add_batch_counter)


class BatchNorm1d(_BatchNorm):
    """Normalise each channel over the batch: input (N, C) or (N, C, L).

    In training with the batch's mean and variance, which also move `running_mean` and
    `running_var`; in evaluation with those.

    Source: torch.nn.BatchNorm1d.

    >>> kellet.nn.BatchNorm1d(2)(kellet.tensor([[1.0, 5.0], [3.0, 9.0]])).detach()
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalise each channel over the batch: input (N, C, H, W). In all else as BatchNorm1d.

    Source: torch.nn.BatchNorm2d.

    >>> kellet.nn.BatchNorm2d(3)(kellet.ones(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalise each channel over the batch: input (N, C, D, H, W). In all else as BatchNorm1d.

    Source: torch.nn.BatchNorm3d.

    >>> kellet.nn.BatchNorm3d(3)(kellet.ones(2, 3, 4, 4, 4)).shape
    (2, 3, 4, 4, 4)
    """

    _dims = (5,)


class LayerNorm(_Affine):
    """Normalise each sample over its last dimensions, which have the shape `normalized_shape`.

    `weight` and `bias` have that shape and start as ones and zeros.

    Source: torch.nn.LayerNorm.

    >>> kellet.nn.LayerNorm(2)(kellet.tensor([[1.0, 5.0]])).detach()
    tensor([[-1.0000,  1.0000]])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._scale(shape, elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """Normalise each sample over groups of channels: input (N, C, *), C a multiple of `num_groups`.

    Raises ValueError for channels that cannot be divided among the groups.

    Source: torch.nn.GroupNorm.

    >>> kellet.nn.GroupNorm(1, 2)(kellet.tensor([[1.0, 5.0]])).detach()
    tensor([[-1.0000,  1.0000]])
    """

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
        self._scale((num_channels,), affine, bias, device, dtype)
        self.reset_parameters()

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
    """The base of instance normalisations of all dimensions."""

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
