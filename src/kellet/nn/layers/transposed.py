"""Transposed convolutions: what a convolution does to its gradient, as a layer that makes inputs larger."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from ... import core
from ...core import Tensor
from .. import functional as F
from .. import init
from ..functional.sizes import Size, tuple_of
from ..module import Module
from ..parameter import Parameter
from .convolution import check_channels


class _ConvTranspose(Module):
    """What transposed convolutions of all dimensions share."""

    _dimensions: ClassVar[int]
    _function: ClassVar[Callable[..., Tensor]]
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_channels(in_channels, out_channels, groups)
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        n = self._dimensions
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = tuple_of(kernel_size, n)
        self.stride = tuple_of(stride, n)
        self.padding = tuple_of(padding, n)
        self.dilation = tuple_of(dilation, n)
        self.output_padding = tuple_of(output_padding, n)
        self.groups = groups
        self.padding_mode = padding_mode
        shape = (in_channels, out_channels // groups, *self.kernel_size)
        self.weight = Parameter(core.empty(*shape, device=device, dtype=dtype))
        made = Parameter(core.empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, uniform in +-1/sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in = self.weight[0].numel() if self.in_channels else 0
        if self.bias is not None and fan_in:
            bound = 1 / math.sqrt(fan_in)
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Return the larger tensor; of the sizes that are possible the smallest, or `output_size`.

        Raises ValueError for an `output_size` that is not possible.
        """
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        function = type(self)._function
        return function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

    def _extra(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """Return how much longer the output is than the smallest that is possible, along each dimension."""
        n = self._dimensions
        wanted = tuple(output_size)[-n:]
        extra = []
        for place, size in enumerate(wanted):
            window = self.dilation[place] * (self.kernel_size[place] - 1) + 1
            least = (input.shape[place - n] - 1) * self.stride[place] - 2 * self.padding[place] + window
            if not least <= size < least + self.stride[place]:
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes along dimension {place} range "
                    f"from {least} to {least + self.stride[place] - 1}, for an input of "
                    f"{tuple(input.shape[-n:])}"
                )
            extra.append(size - least)
        return tuple(extra)

    def extra_repr(self) -> str:
        ones, zeros = (1,) * self._dimensions, (0,) * self._dimensions
        parts = [str(self.in_channels), str(self.out_channels)]
        parts += [f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        for name, usual in (("padding", zeros), ("dilation", ones), ("output_padding", zeros), ("groups", 1)):
            if getattr(self, name) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        if self.bias is None:
            parts.append("bias=False")
        return ", ".join(parts)


class ConvTranspose1d(_ConvTranspose):
    """Spread each value over a window: input (N, C, L) or (C, L).

    `weight` (in_channels, out_channels / groups, *kernel_size). `output_padding` makes the output longer at
    one end, where several lengths would give the same input.

    Source: torch.nn.ConvTranspose1d.

    >>> kellet.nn.ConvTranspose1d(2, 3, 2, stride=2)(kellet.ones(1, 2, 4)).shape
    (1, 3, 8)
    """

    _dimensions = 1
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """Spread each value over a window: input (N, C, H, W) or (C, H, W).

    `weight` (in_channels, out_channels / groups, *kernel_size). `output_padding` makes the output longer at
    one end, where several lengths would give the same input.

    Source: torch.nn.ConvTranspose2d.

    >>> kellet.nn.ConvTranspose2d(2, 3, 2, stride=2)(kellet.ones(1, 2, 4, 4)).shape
    (1, 3, 8, 8)
    """

    _dimensions = 2
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """Spread each value over a window: input (N, C, D, H, W) or (C, D, H, W).

    `weight` (in_channels, out_channels / groups, *kernel_size). `output_padding` makes the output longer at
    one end, where several lengths would give the same input.

    Source: torch.nn.ConvTranspose3d.

    >>> kellet.nn.ConvTranspose3d(2, 3, 2, stride=2)(kellet.ones(1, 2, 2, 2, 2)).shape
    (1, 3, 4, 4, 4)
    """

    _dimensions = 3
    _function = staticmethod(F.conv_transpose3d)
