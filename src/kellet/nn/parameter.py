"""Tensors with a role in a module: `Parameter` and `Buffer`."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from ..autograd.variable import counter_of
from ..core import Tensor
from ..dtypes import get_default_dtype

Kind = TypeVar("Kind", bound=Tensor)


class Parameter(Tensor):
    """A Tensor that is trained: set as an attribute of a Module it becomes one of its parameters.

    It shares memory with `data`, is a leaf, and requires a gradient unless told otherwise. What is
    computed from it is a plain Tensor.

    Raises TypeError for a value that is not a Tensor, DTypeError where a gradient is asked of integers.

    >>> import kellet
    >>> Parameter(kellet.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)

    Source: torch.nn.Parameter.
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        made = _over(cls, data)
        if requires_grad:
            made.requires_grad_()
        return made

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        """All is done in `__new__`: the base would make the tensor anew."""


class Buffer(Tensor):
    """A Tensor that is kept but not trained: set as an attribute of a Module it becomes one of its buffers.

    It shares memory with `data`; `persistent` says whether it is saved in the state dict.

    Raises TypeError for a value that is not a Tensor.

    Source: torch.nn.Buffer.

    >>> net = kellet.nn.Module()
    >>> net.count = kellet.nn.Buffer(kellet.zeros(1))
    >>> list(net.state_dict())
    ['count']
    """

    __slots__ = ()

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        made = _over(cls, data)
        made.persistent = persistent
        return made

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        """All is done in `__new__`: the base would make the tensor anew."""


def _over(kind: type[Kind], data: Any) -> Kind:
    """A leaf of class `kind` over the memory of `data`, whose version it shares; empty without data."""
    if data is not None and not isinstance(data, Tensor):
        raise TypeError(
            f"{kind.__name__} takes a kellet.Tensor, got {type(data).__name__}; wrap it with kellet.tensor"
        )
    made = object.__new__(kind)
    made._array = np.empty(0, get_default_dtype()) if data is None else data._array
    made._counter = None if data is None else counter_of(data)
    made._edge = made._view = made._hooks = made._grad = None
    made._needs = False
    return made
