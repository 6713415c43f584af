"""Convolutions in one, two and three dimensions."""

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

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _AnyConv(Module):
    """The base of convolutions and their transposes."""

    _dimensions: ClassVar[int]
    _function: ClassVar[Callable[..., Tensor]]
    bias: Parameter | None

    def _begin(
        self,
        channels: tuple[int, int],
        kernel_size: Size,
        stride: Size,
        dilation: Size,
        groups: int,
        mode: str,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = channels
        check_channels(*channels, groups)
        self.kernel_size, self.stride, self.dilation = (
            tuple_of(size, self._dimensions) for size in (kernel_size, stride, dilation)
        )
        self.groups = groups
        self.padding_mode = mode

    def _weigh(self, shape: tuple[int, ...], bias: bool, device: Any, dtype: Any) -> None:
        self.weight = Parameter(core.empty(*shape, device=device, dtype=dtype))
        made = Parameter(core.empty(self.out_channels, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, uniform in +-1/sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in = self.weight[0].numel() if len(self.weight) else 0
        if self.bias is not None and fan_in:
            bound = 1 / math.sqrt(fan_in)
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        ones, zeros = (1,) * self._dimensions, (0,) * self._dimensions
        parts = [str(self.in_channels), str(self.out_channels)]
        parts += [f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        usual = {"padding": zeros, "dilation": ones, "output_padding": zeros, "groups": 1}
        for name, value in usual.items():
            if getattr(self, name, value) != value:
                parts.append(f"{name}={getattr(self, name)}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Conv(_AnyConv):
    """The base of convolutions of all dimensions."""

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
        self._begin((in_channels, out_channels), kernel_size, stride, dilation, groups, padding_mode)
        self.padding = _checked_padding(padding, self.stride, self._dimensions)
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got {padding_mode!r}")
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self._weigh(shape, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        input, padding = self._padded(input)
        function = type(self)._function
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

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


class Conv1d(_Conv):
    """Slide `weight` over sequences: input (N, C, L) or (C, L), output (N, out_channels, L').

    `weight` (out_channels, in_channels / groups, k). `padding` is a number, "same" or "valid".

    Source: torch.nn.Conv1d.

    >>> kellet.nn.Conv1d(3, 8, 3)(kellet.ones(2, 3, 10)).shape
    (2, 8, 8)
    """

    _dimensions = 1
    _function = staticmethod(F.conv1d)


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
    _function = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Slide `weight` over volumes: input (N, C, D, H, W) or (C, D, H, W).

    `weight` (out_channels, in_channels / groups, kd, kh, kw). `padding` is a number, three, "same" or
    "valid".

    Source: torch.nn.Conv3d.

    >>> kellet.nn.Conv3d(1, 2, 3)(kellet.ones(1, 1, 4, 5, 6)).shape
    (1, 2, 2, 3, 4)
    """

    _dimensions = 3
    _function = staticmethod(F.conv3d)


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


class _ConvTranspose(_AnyConv):
    """The base of transposed convolutions of all dimensions."""

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
        self._begin((in_channels, out_channels), kernel_size, stride, dilation, groups, padding_mode)
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self.padding = tuple_of(padding, self._dimensions)
        self.output_padding = tuple_of(output_padding, self._dimensions)
        self._weigh((in_channels, out_channels // groups, *self.kernel_size), bias, device, dtype)

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
