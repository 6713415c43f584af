"""Layers of pooling that is made of other functions: adaptive largest values, and power means."""

from __future__ import annotations

from typing import Any, ClassVar

from ...core import Tensor
from .. import functional as F
from ..functional.sizes import Size
from ..module import Module


class _AdaptiveMaxPool(Module):
    _function: ClassVar[Any]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.output_size, self.return_indices)  # type: ignore[no-any-return]  # a Tensor

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _LPPool(Module):
    _function: ClassVar[Any]

    def __init__(
        self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return self._function(  # type: ignore[no-any-return]  # a Tensor
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest value of as many windows as make the last sizes `output_size`; None keeps one.

    Source: torch.nn.AdaptiveMaxPool1d.

    >>> kellet.nn.AdaptiveMaxPool1d(2)(kellet.ones(1, 3, 4)).shape
    (1, 3, 2)
    """

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest value of as many windows as make the last sizes `output_size`; None keeps one.

    Source: torch.nn.AdaptiveMaxPool2d.

    >>> kellet.nn.AdaptiveMaxPool2d(2)(kellet.ones(1, 3, 4, 4)).shape
    (1, 3, 2, 2)
    """

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest value of as many windows as make the last sizes `output_size`; None keeps one.

    Source: torch.nn.AdaptiveMaxPool3d.

    >>> kellet.nn.AdaptiveMaxPool3d(2)(kellet.ones(1, 3, 4, 4, 4)).shape
    (1, 3, 2, 2, 2)
    """

    _function = staticmethod(F.adaptive_max_pool3d)


class LPPool1d(_LPPool):
    """The `norm_type`-norm of each window; `stride` is `kernel_size` unless given.

    Source: torch.nn.LPPool1d.

    >>> kellet.nn.LPPool1d(2, 2)(kellet.ones(1, 3, 4)).shape
    (1, 3, 2)
    """

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The `norm_type`-norm of each window; `stride` is `kernel_size` unless given.

    Source: torch.nn.LPPool2d.

    >>> kellet.nn.LPPool2d(2, 2)(kellet.ones(1, 3, 4, 4)).shape
    (1, 3, 2, 2)
    """

    _function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The `norm_type`-norm of each window; `stride` is `kernel_size` unless given.

    Source: torch.nn.LPPool3d.

    >>> kellet.nn.LPPool3d(2, 2)(kellet.ones(1, 3, 4, 4, 4)).shape
    (1, 3, 2, 2, 2)
    """

    _function = staticmethod(F.lp_pool3d)
