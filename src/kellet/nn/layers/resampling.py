"""Layers that change the size of images, sequences and volumes."""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from .. import functional as F
from ..module import Module


class Upsample(Module):
    """The input (N, C, *) in another size: `size`, or its own times `scale_factor`; see `interpolate`.

    Source: torch.nn.Upsample.

    >>> kellet.nn.Upsample(scale_factor=2)(kellet.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        how = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{how}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images in another size, each value the nearest one.

    Source: torch.nn.UpsamplingNearest2d.

    >>> kellet.nn.UpsamplingNearest2d(scale_factor=2)(kellet.ones(1, 1, 2, 3)).shape
    (1, 1, 4, 6)
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Images in another size, each value between its four neighbours, corners where they were.

    Source: torch.nn.UpsamplingBilinear2d.

    >>> kellet.nn.UpsamplingBilinear2d(size=(4, 6))(kellet.ones(1, 1, 2, 3)).shape
    (1, 1, 4, 6)
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
