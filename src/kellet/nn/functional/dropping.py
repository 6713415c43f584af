"""Dropout: values set to zero at random, the others scaled up, so that the mean stays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.bridge import wrap
from ...core import Tensor, generator
from ...core.not_tensors import is_no_tensor, wanted_tensor
from ...errors import ShapeError


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each value to zero with probability `p` and divide the others by `1 - p`.

    Unless `training`, the input is returned unchanged. `kellet.manual_seed` makes the choice repeatable.
    Raises ValueError for a `p` outside [0, 1].

    Source: torch.nn.functional.dropout. The numbers drawn are NumPy's, not PyTorch's.

    >>> import kellet
    >>> dropout(kellet.ones(3), p=0.0)
    tensor([1., 1., 1.])
    """
    return _drop(input, getattr(input, "shape", ()), p, training, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of ((N,) C, L); see `dropout`.

    Source: torch.nn.functional.dropout1d.

    >>> dropout1d(kellet.ones(2, 3), p=0.0).shape
    (2, 3)
    """
    return _drop_channels(1, input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of ((N,) C, H, W); see `dropout`.

    Source: torch.nn.functional.dropout2d.

    >>> dropout2d(kellet.ones(2, 3, 3), p=0.0).shape
    (2, 3, 3)
    """
    return _drop_channels(2, input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of ((N,) C, D, H, W); see `dropout`.

    Source: torch.nn.functional.dropout3d.

    >>> dropout3d(kellet.ones(2, 3, 3, 3), p=0.0).shape
    (2, 3, 3, 3)
    """
    return _drop_channels(3, input, p, training, inplace)


def _kept_share(shape: tuple[int, ...], p: float, dtype: Any) -> Any:
    """Return an array to multiply by: zero with probability `p`, else `1 / (1 - p)`.

    Raises ValueError for a `p` outside [0, 1].
    """
    _check_probability(p)
    if p == 1.0:
        return np.zeros(shape, dtype)
    kept = generator().random(shape, dtype=np.float32) >= p
    return kept * np.asarray(1 / (1 - p), dtype)


def _drop_channels(axes: int, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if is_no_tensor(input):
        raise wanted_tensor(f"dropout{axes}d", input)
    if input.ndim not in (axes + 1, axes + 2):
        raise ShapeError(
            f"dropout{axes}d: expected an input of {axes + 1} (unbatched) or {axes + 2} dimensions, "
            f"got shape {input.shape}"
        )
    return _drop(input, (*input.shape[:-axes], *(1,) * axes), p, training, inplace)


def _drop(input: Tensor, shape: tuple[int, ...], p: float, training: bool, inplace: bool) -> Tensor:
    if is_no_tensor(input):
        raise wanted_tensor("dropout", input)
    _check_probability(p)
    if not training or p == 0.0:
        return input
    share = wrap(_kept_share(shape, p, input.dtype))
    return input.mul_(share) if inplace else input * share


def _check_probability(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
