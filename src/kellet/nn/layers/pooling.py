"""Pooling: the largest value or the mean of windows, in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ...core import Tensor
from .. import functional as F
from ..functional.sizes import Size, tuple_of
from ..module import Module


class _Pool(Module):
    """Keeps values by their names, calls its function with them in order, and prints the first of them."""

    _function: ClassVar[Callable[..., Any]]
    _names: ClassVar[tuple[str, ...]]
    _told: ClassVar[int] = 3

    def _keep(self, *values: Any) -> None:
        super().__init__()
        for name, value in zip(self._names, values, strict=True):
            setattr(self, name, value)

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(input, *[getattr(self, name) for name in self._names])

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._names[: self._told])


class _MaxPool(_Pool):
    """The base of pooling by the largest value."""

    _names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
    _told = 5

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        stride = kernel_size if stride is None else stride
        self._keep(kernel_size, stride, padding, dilation, ceil_mode, return_indices)


class _AvgPool(_Pool):
    """The base of pooling by the mean in two and three dimensions."""

    _names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        stride = kernel_size if stride is None else stride
        self._keep(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


class _AdaptiveAvgPool(_Pool):
    """The base of pooling to a given size."""

    _names = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        self._keep(output_size)


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


class AvgPool1d(_Pool):
    """The mean of each window: input (N, C, L) or (C, L).

    `stride` is `kernel_size` unless given.

    Source: torch.nn.AvgPool1d.

    >>> kellet.nn.AvgPool1d(2)(kellet.ones(1, 3, 6)).shape
    (1, 3, 3)
    """

    _function = staticmethod(F.avg_pool1d)
    _names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        window, step = tuple_of(kernel_size, 1), tuple_of(kernel_size if stride is None else stride, 1)
        self._keep(window, step, tuple_of(padding, 1), ceil_mode, count_include_pad)


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


class _AdaptiveMaxPool(_Pool):
    _names = ("output_size", "return_indices")
    _told = 1

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        self._keep(output_size, return_indices)


class _LPPool(_Pool):
    _names = ("norm_type", "kernel_size", "stride", "ceil_mode")
    _told = 4

    def __init__(
        self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
    ) -> None:
        self._keep(norm_type, kernel_size, stride, ceil_mode)


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
