"""Convolutions in one, two and three dimensions."""

from __future__ import annotations

import math
from typing import Any

from ... import core
from ...core import Tensor
from .. import functional as F
from .. import init
from ..functional.sizes import Size, tuple_of
from ..module import Module
from ..parameter import Parameter

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Module):
    """What convolutions of all dimensions share."""

    _dimensions: int
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_channels(in_channels, out_channels, groups)
        n = self._dimensions
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = tuple_of(kernel_size, n)
        self.stride = tuple_of(stride, n)
        self.padding = _checked_padding(padding, self.stride, n)
        self.dilation = tuple_of(dilation, n)
        self.groups = groups
        self.padding_mode = padding_mode
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got {padding_mode!r}")
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(core.empty(*shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(core.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, uniform in +-1/sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in = self.weight[0].numel() if self.out_channels else 0
        if self.bias is not None and fan_in:
            bound = 1 / math.sqrt(fan_in)
            init.uniform_(self.bias, -bound, bound)

    def _padded(self, input: Tensor) -> tuple[Tensor, Any]:
        """The input and the padding that the convolution itself shall add."""
        if self.padding_mode == "zeros":
            return input, self.padding
        return F.pad(input, self._border(), mode=self.padding_mode), 0

    def _border(self) -> list[int]:
        """Padding as `pad` takes it: last dimension first, before and behind."""
        border: list[int] = []
        for place in reversed(range(self._dimensions)):
            if self.padding == "same":
                total = self.dilation[place] * (self.kernel_size[place] - 1)
                border += [total // 2, total - total // 2]
            elif self.padding == "valid":
                border += [0, 0]
            else:
                border += [int(self.padding[place])] * 2
        return border

    def extra_repr(self) -> str:
        ones, zeros = (1,) * self._dimensions, (0,) * self._dimensions
        parts = [str(self.in_channels), str(self.out_channels)]
        parts += [f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        if self.padding != zeros:
            parts.append(f"padding={self.padding}")
        if self.dilation != ones:
            parts.append(f"dilation={self.dilation}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class Conv1d(_Conv):
    """Slide `weight` over sequences: input (N, C, L) or (C, L), output (N, out_channels, L').

    `weight` (out_channels, in_channels / groups, k). `padding` is a number, "same" or "valid".

    Source: torch.nn.Conv1d.

    >>> kellet.nn.Conv1d(3, 8, 3)(kellet.ones(2, 3, 10)).shape
    (2, 8, 8)
    """

    _dimensions = 1

    def forward(self, input: Tensor) -> Tensor:
        input, padding = self._padded(input)
        return F.conv1d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """Slide `weight` over images: input (N, C, H, W) or (C, H, W), output (N, out_channels, H', W').

    `weight` (out_channels, in_channels / groups, kh, kw). `padding` is a number, a pair, "same" or
    "valid".

    >>> import kellet
    >>> from kellet import nn
    >>> nn.Conv2d(3, 8, 3, padding=1)(kellet.ones(1, 3, 6, 6)).shape
    (1, 8, 6, 6)

    Source: torch.nn.Conv2d.
    """

    _dimensions = 2

    def forward(self, input: Tensor) -> Tensor:
        input, padding = self._padded(input)
        return F.conv2d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_Conv):
    """Slide `weight` over volumes: input (N, C, D, H, W) or (C, D, H, W).

    `weight` (out_channels, in_channels / groups, kd, kh, kw). `padding` is a number, three, "same" or
    "valid".

    Source: torch.nn.Conv3d.

    >>> kellet.nn.Conv3d(1, 2, 3)(kellet.ones(1, 1, 4, 5, 6)).shape
    (1, 2, 2, 3, 4)
    """

    _dimensions = 3

    def forward(self, input: Tensor) -> Tensor:
        input, padding = self._padded(input)
        return F.conv3d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


def check_channels(in_channels: int, out_channels: int, groups: int) -> None:
    """Raise ValueError for channels that cannot be divided among the groups."""
    if groups <= 0:
        raise ValueError(f"groups must be a positive integer, got {groups}")
    if in_channels % groups != 0:
        raise ValueError(f"in_channels must be divisible by groups, got {in_channels} and {groups}")
    if out_channels % groups != 0:
        raise ValueError(f"out_channels must be divisible by groups, got {out_channels} and {groups}")


def _checked_padding(padding: Size | str, stride: tuple[int, ...], n: int) -> tuple[int, ...] | str:
    if not isinstance(padding, str):
        return tuple_of(padding, n)
    if padding not in ("same", "valid"):
        raise ValueError(f"padding given as a string must be 'same' or 'valid', but got {padding!r}")
    if padding == "same" and any(step != 1 for step in stride):
        raise ValueError("padding='same' is not supported for strided convolutions")
    return padding
