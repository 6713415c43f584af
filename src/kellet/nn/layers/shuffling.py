"""Layers that lay channels out as places and back or windows as columns, or mix groups of channels."""

from __future__ import annotations

from ...core import Tensor
from .. import functional as F
from ..functional.sizes import Size
from ..module import Module


class PixelShuffle(Module):
    """(..., C * r * r, H, W) as (..., C, H * r, W * r), r being `upscale_factor`.

    Source: torch.nn.PixelShuffle; Shi et al., https://arxiv.org/abs/1609.05158

    >>> kellet.nn.PixelShuffle(2)(kellet.ones(1, 8, 2, 3)).shape
    (1, 2, 4, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(..., C, H * r, W * r) as (..., C * r * r, H, W), r being `downscale_factor`.

    Source: torch.nn.PixelUnshuffle.

    >>> kellet.nn.PixelUnshuffle(2)(kellet.ones(1, 2, 4, 6)).shape
    (1, 8, 2, 3)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels of (N, C, ...) in another order: the first of each group, the second of each, ...

    Source: torch.nn.ChannelShuffle.

    >>> kellet.nn.ChannelShuffle(2)(kellet.ones(1, 4, 3)).shape
    (1, 4, 3)
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Unfold(Module):
    """The windows of images (N, C, H, W) as columns (N, C * window, L).

    Source: torch.nn.Unfold.

    >>> kellet.nn.Unfold((2, 3))(kellet.ones(1, 3, 4, 5)).shape
    (1, 18, 9)
    """

    def __init__(self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )
