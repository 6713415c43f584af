"""Layers that move a window: convolutions in one and two dimensions, and pooling."""

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
        _check_channels(in_channels, out_channels, groups)
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


def _check_channels(in_channels: int, out_channels: int, groups: int) -> None:
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


# --- pooling --------------------------------------------------------------------------------------


class MaxPool2d(Module):
    """The largest value of each window: input (N, C, H, W) or (C, H, W).

    `stride` is `kernel_size` unless given. With `return_indices` the places of the values come too.

    Source: torch.nn.MaxPool2d.

    >>> kellet.nn.MaxPool2d(2)(kellet.ones(1, 3, 6, 6)).shape
    (1, 3, 3, 3)
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class AvgPool2d(Module):
    """The mean of each window: input (N, C, H, W) or (C, H, W).

    `stride` is `kernel_size` unless given; `divisor_override` takes the place of the number of values.

    Source: torch.nn.AvgPool2d.

    >>> kellet.nn.AvgPool2d(2)(kellet.ones(1, 3, 6, 6)).shape
    (1, 3, 3, 3)
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool2d(Module):
    """Means of as many windows as make the output (H', W') = `output_size`; None keeps a length.

    Source: torch.nn.AdaptiveAvgPool2d.

    >>> kellet.nn.AdaptiveAvgPool2d(1)(kellet.ones(1, 3, 6, 6)).shape
    (1, 3, 1, 1)
    """

    def __init__(self, output_size: int | tuple[int | None, int | None] | None) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"
