"""Layers that pad the last axes: with a value, zeros, the mirrored, the repeated or the opposite edge.

`padding` is one number for all sides, or a pair for each axis, the last axis first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ...core import Tensor
from .. import functional as F
from ..module import Module


class _Pad(Module):
    _axes: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self._axes) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPad):
    """Pad the last axis with a value.

    Source: torch.nn.ConstantPad1d.

    >>> kellet.nn.ConstantPad1d(1, 7.0)(kellet.ones(1, 1, 4)).shape
    (1, 1, 6)
    """

    _axes = 1


class ConstantPad2d(_ConstantPad):
    """Pad the last two axes with a value.

    Source: torch.nn.ConstantPad2d.

    >>> kellet.nn.ConstantPad2d(1, 7.0)(kellet.ones(1, 1, 4, 4)).shape
    (1, 1, 6, 6)
    """

    _axes = 2


class ConstantPad3d(_ConstantPad):
    """Pad the last three axes with a value.

    Source: torch.nn.ConstantPad3d.

    >>> kellet.nn.ConstantPad3d(1, 7.0)(kellet.ones(1, 1, 4, 4, 4)).shape
    (1, 1, 6, 6, 6)
    """

    _axes = 3


class ZeroPad1d(_ZeroPad):
    """Pad the last axis with zeros.

    Source: torch.nn.ZeroPad1d.

    >>> kellet.nn.ZeroPad1d(1)(kellet.ones(1, 1, 4)).shape
    (1, 1, 6)
    """

    _axes = 1


class ZeroPad2d(_ZeroPad):
    """Pad the last two axes with zeros.

    Source: torch.nn.ZeroPad2d.

    >>> kellet.nn.ZeroPad2d(1)(kellet.ones(1, 1, 4, 4)).shape
    (1, 1, 6, 6)
    """

    _axes = 2


class ZeroPad3d(_ZeroPad):
    """Pad the last three axes with zeros.

    Source: torch.nn.ZeroPad3d.

    >>> kellet.nn.ZeroPad3d(1)(kellet.ones(1, 1, 4, 4, 4)).shape
    (1, 1, 6, 6, 6)
    """

    _axes = 3


class ReflectionPad1d(_Pad):
    """Pad the last axis with its values mirrored at the edge, without the edge.

    Source: torch.nn.ReflectionPad1d.

    >>> kellet.nn.ReflectionPad1d(1)(kellet.ones(1, 1, 4)).shape
    (1, 1, 6)
    """

    _axes = 1
    _mode = "reflect"


class ReflectionPad2d(_Pad):
    """Pad the last two axes with its values mirrored at the edge, without the edge.

    Source: torch.nn.ReflectionPad2d.

    >>> kellet.nn.ReflectionPad2d(1)(kellet.ones(1, 1, 4, 4)).shape
    (1, 1, 6, 6)
    """

    _axes = 2
    _mode = "reflect"


class ReflectionPad3d(_Pad):
    """Pad the last three axes with its values mirrored at the edge, without the edge.

    Source: torch.nn.ReflectionPad3d.

    >>> kellet.nn.ReflectionPad3d(1)(kellet.ones(1, 1, 4, 4, 4)).shape
    (1, 1, 6, 6, 6)
    """

    _axes = 3
    _mode = "reflect"


class ReplicationPad1d(_Pad):
    """Pad the last axis with the edge, repeated.

    Source: torch.nn.ReplicationPad1d.

    >>> kellet.nn.ReplicationPad1d(1)(kellet.ones(1, 1, 4)).shape
    (1, 1, 6)
    """

    _axes = 1
    _mode = "replicate"


class ReplicationPad2d(_Pad):
    """Pad the last two axes with the edge, repeated.

    Source: torch.nn.ReplicationPad2d.

    >>> kellet.nn.ReplicationPad2d(1)(kellet.ones(1, 1, 4, 4)).shape
    (1, 1, 6, 6)
    """

    _axes = 2
    _mode = "replicate"


class ReplicationPad3d(_Pad):
    """Pad the last three axes with the edge, repeated.

    Source: torch.nn.ReplicationPad3d.

    >>> kellet.nn.ReplicationPad3d(1)(kellet.ones(1, 1, 4, 4, 4)).shape
    (1, 1, 6, 6, 6)
    """

    _axes = 3
    _mode = "replicate"


class CircularPad1d(_Pad):
    """Pad the last axis with the values at the opposite edge.

    Source: torch.nn.CircularPad1d.

    >>> kellet.nn.CircularPad1d(1)(kellet.ones(1, 1, 4)).shape
    (1, 1, 6)
    """

    _axes = 1
    _mode = "circular"


class CircularPad2d(_Pad):
    """Pad the last two axes with the values at the opposite edge.

    Source: torch.nn.CircularPad2d.

    >>> kellet.nn.CircularPad2d(1)(kellet.ones(1, 1, 4, 4)).shape
    (1, 1, 6, 6)
    """

    _axes = 2
    _mode = "circular"


class CircularPad3d(_Pad):
    """Pad the last three axes with the values at the opposite edge.

    Source: torch.nn.CircularPad3d.

    >>> kellet.nn.CircularPad3d(1)(kellet.ones(1, 1, 4, 4, 4)).shape
    (1, 1, 6, 6, 6)
    """

    _axes = 3
    _mode = "circular"
