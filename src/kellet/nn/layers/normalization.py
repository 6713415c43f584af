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


class _BatchNorm(Module):
    """What batch normalisations of all dimensions share."""

    # 2: num_batches_tracked came.
    _version = 2

    weight: Parameter | None
    bias: Parameter | None
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
        factory = {"device": device, "dtype": dtype}
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if affine:
            self.weight = Parameter(core.empty(num_features, **factory))
            if bias:
                self.bias = Parameter(core.empty(num_features, **factory))
        track = track_running_stats
        self.register_buffer("running_mean", core.zeros(num_features, **factory) if track else None)
        self.register_buffer("running_var", core.ones(num_features, **factory) if track else None)
        counter = core.tensor(0, dtype=dtypes.int64) if track else None
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
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input(self, input: Tensor) -> None:
        raise NotImplementedError

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

    def _check_input(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Normalise each channel over the batch: input (N, C, H, W). In all else as BatchNorm1d.

    Source: torch.nn.BatchNorm2d.

    >>> kellet.nn.BatchNorm2d(3)(kellet.ones(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """

    def _check_input(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Normalise each channel over the batch: input (N, C, D, H, W). In all else as BatchNorm1d.

    Source: torch.nn.BatchNorm3d.

    >>> kellet.nn.BatchNorm3d(3)(kellet.ones(2, 3, 4, 4, 4)).shape
    (2, 3, 4, 4, 4)
    """

    def _check_input(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class LayerNorm(Module):
    """Normalise each sample over its last dimensions, which have the shape `normalized_shape`.

    `weight` and `bias` have that shape and start as ones and zeros.

    Source: torch.nn.LayerNorm.

    >>> kellet.nn.LayerNorm(2)(kellet.tensor([[1.0, 5.0]])).detach()
    tensor([[-1.0000,  1.0000]])
    """

    weight: Parameter | None
    bias: Parameter | None

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
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if elementwise_affine:
            self.weight = Parameter(core.empty(*shape, device=device, dtype=dtype))
            if bias:
                self.bias = Parameter(core.empty(*shape, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set `weight` to ones and `bias` to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )
