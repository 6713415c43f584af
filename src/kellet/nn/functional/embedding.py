"""Rows of a table looked up by bags of integers, each bag folded into one row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import core
from ...autograd.bridge import wrap
from ...core import Tensor
from ...errors import ShapeError
from .linear import embedding


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return for each bag the "mean", "sum" or "max" of the rows of `weight` (count, width) it names.

    Bags are the rows of a matrix, or parts of a vector that start at `offsets`. An empty bag gives zeros; the
    row `padding_idx` does not count.

    Raises ShapeError for bags that are not told apart so, ValueError for another `mode`, or for
    `per_sample_weights` with another than "sum".

    Source: torch.nn.functional.embedding_bag. Gradients here are dense.

    >>> weight = kellet.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> embedding_bag(kellet.tensor([[0, 1]]), weight)
    tensor([[2., 3.]])
    """
    if mode not in ("mean", "sum", "max"):
        raise ValueError(f"embedding_bag: mode has to be one of sum, mean or max, got {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise ValueError(
            f"embedding_bag: per_sample_weights are only supported for mode='sum', got mode={mode!r}"
        )
    bags, count = _bags(input, offsets, include_last_offset)
    places = input.reshape(-1)
    rows = embedding(places, weight, None, max_norm, norm_type, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    if padding_idx is not None:
        used = np.flatnonzero(places._array != padding_idx % weight.shape[0])
        rows, bags = rows.index_select(0, _tensor(used)), bags[used]
    empty = core.zeros(count, weight.shape[1], dtype=weight.dtype)
    if mode == "max":
        wide = np.broadcast_to(bags[:, None], tuple(rows.shape))
        return empty.scatter_reduce(0, _tensor(wide), rows, "amax", include_self=False)
    total = empty.index_add(0, _tensor(bags), rows)
    if mode == "sum":
        return total
    lengths = np.maximum(np.bincount(bags, minlength=count), 1)
    return total / _tensor(lengths.astype(total._array.dtype)[:, None])


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[Any, int]:
    """The number of the bag of each integer, and how many bags there are."""
    if input.ndim == 2:
        if offsets is not None:
            raise ShapeError(
                "embedding_bag: if input is 2D, then offsets has to be None, as each row is a bag"
            )
        rows, length = input.shape
        return np.repeat(np.arange(rows), length), rows
    if input.ndim != 1 or offsets is None or offsets.ndim != 1:
        found = None if offsets is None else offsets.shape
        raise ShapeError(
            "embedding_bag: input has to be 2D, or 1D with 1D offsets at which its bags start; got input of "
            f"shape {input.shape}, offsets of shape {found}"
        )
    starts = offsets._array[:-1] if include_last_offset else offsets._array
    if len(starts) and (starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > len(input)):
        raise ShapeError(
            f"embedding_bag: offsets has to start with 0 and go up to at most the {len(input)} of input, got "
            f"{starts.tolist()}"
        )
    return np.searchsorted(starts, np.arange(len(input)), "right") - 1, len(starts)


def _tensor(array: Any) -> Tensor:
    return wrap(np.ascontiguousarray(array))  # type: ignore[return-value]  # wrap makes Tensors
