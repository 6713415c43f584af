"""Pooling: the largest value or the mean of windows, in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ...core import Tensor
from .. import functional as F
from ..functional.sizes import Size, tuple_of
from ..module import Module


class _MaxPool(Module):
    """What pooling by the largest value shares."""

    _function: ClassVar[Callable[..., Any]]

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
        function = type(self)._function
        return function(
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


class _AvgPool(Module):
    """What pooling by the mean shares, in two and three dimensions."""

    _function: ClassVar[Callable[..., Tensor]]

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
        function = type(self)._function
        return function(
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


class _AdaptiveAvgPool(Module):
    """What pooling to a size shares."""

    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        function = type(self)._function
        return function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class MaxPool1d(_MaxPool):
    """The largest value of each window: input (N, C, L) or (C, L).

    `stride` is `kernel_size` unless given. With `return_indices` the places of the values come too.

    Source: torch.nn.MaxPool1d.

    >>> kellet.nn.MaxPool1d(2)(kellet.ones(1, 3, 6)).shape
    (1, 3, 3)
    """

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest value of each window: input (N, C, H, W) or (C, H, W).

    `stride` is `kernel_size` unless given. With `return_indices` the places of the values come too.

    Source: torch.nn.MaxPool2d.

    >>> kellet.nn.MaxPool2d(2)(kellet.ones(1, 3, 6, 6)).shape
    (1, 3, 3, 3)
    """

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """The largest value of each window: input (N, C, D, H, W) or (C, D, H, W).

    `stride` is `kernel_size` unless given. With `return_indices` the places of the values come too.

    Source: torch.nn.MaxPool3d.

    >>> kellet.nn.MaxPool3d(2)(kellet.ones(1, 3, 6, 6, 6)).shape
    (1, 3, 3, 3, 3)
    """

    _function = staticmethod(F.max_pool3d)


class AvgPool1d(Module):
    """The mean of each window: input (N, C, L) or (C, L).

    `stride` is `kernel_size` unless given.

    Source: torch.nn.AvgPool1d.

    >>> kellet.nn.AvgPool1d(2)(kellet.ones(1, 3, 6)).shape
    (1, 3, 3)
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = tuple_of(kernel_size, 1)
        self.stride = tuple_of(kernel_size if stride is None else stride, 1)
        self.padding = tuple_of(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean of each window: input (N, C, H, W) or (C, H, W).

    `stride` is `kernel_size` unless given; `divisor_override` takes the place of the number of values.

    Source: torch.nn.AvgPool2d.

    >>> kellet.nn.AvgPool2d(2)(kellet.ones(1, 3, 6, 6)).shape
    (1, 3, 3, 3)
    """

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The mean of each window: input (N, C, D, H, W) or (C, D, H, W).

    `stride` is `kernel_size` unless given; `divisor_override` takes the place of the number of values.

    Source: torch.nn.AvgPool3d.

    >>> kellet.nn.AvgPool3d(2)(kellet.ones(1, 3, 6, 6, 6)).shape
    (1, 3, 3, 3, 3)
    """

    _function = staticmethod(F.avg_pool3d)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means of as many windows as make the output so large: its length is `output_size`.

    Source: torch.nn.AdaptiveAvgPool1d.

    >>> kellet.nn.AdaptiveAvgPool1d(2)(kellet.ones(1, 3, 6)).shape
    (1, 3, 2)
    """

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means of as many windows as make the output so large: its last sizes are `output_size`; None keeps a
    length.

    Source: torch.nn.AdaptiveAvgPool2d.

    >>> kellet.nn.AdaptiveAvgPool2d(2)(kellet.ones(1, 3, 6, 6)).shape
    (1, 3, 2, 2)
    """

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means of as many windows as make the output so large: its last sizes are `output_size`; None keeps a
    length.

    Source: torch.nn.AdaptiveAvgPool3d.

    >>> kellet.nn.AdaptiveAvgPool3d(2)(kellet.ones(1, 3, 6, 6, 6)).shape
    (1, 3, 2, 2, 2)
    """

    _function = staticmethod(F.adaptive_avg_pool3d)
