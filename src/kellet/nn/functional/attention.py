"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core import Tensor
from ...core.dispatch import apply
from ...dtypes import dtype_name, float32, is_differentiable
from ...errors import DTypeError, ShapeError
from ...rules import RULES
from .dropping import _kept_share


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return `softmax(query @ key.T * scale + mask) @ value`.

    query (..., L, E), key (..., S, E), value (..., S, Ev), result (..., L, Ev). `attn_mask` broadcasts
    to (..., L, S): bool, True where a query may look, or floating and added to the scores. `is_causal`
    stands for the lower triangle. A query that may attend to nothing gets zeros. `scale` is 1 / sqrt(E)
    unless given. With `enable_gqa` several heads (dimension -3) of the query share one of key and value.

    Raises ShapeError and DTypeError where shapes or dtypes do not fit, ValueError for a mask beside
    `is_causal`.

    Source: torch.nn.functional.scaled_dot_product_attention.

    >>> import kellet
    >>> x = kellet.ones(1, 2, 4)
    >>> scaled_dot_product_attention(x, x, x).shape
    (1, 2, 4)
    """
    _check(query, key, value)
    if enable_gqa:
        key, value = (_shared_heads(query, tensor) for tensor in (key, value))
    allowed: Any = None
    if is_causal:
        if attn_mask is not None:
            raise ValueError("Explicit attn_mask should not be set when is_causal=True; pass one of both")
        allowed = np.tri(query.shape[-2], key.shape[-2], dtype=bool)
    elif attn_mask is not None and attn_mask.dtype.kind == "b":
        allowed, attn_mask = attn_mask._array, None
    elif attn_mask is not None:
        attn_mask = _fitting_mask(query, attn_mask)
    lead = np.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    shape = (*lead, query.shape[-2], key.shape[-2])
    options = {
        "scale": 1 / math.sqrt(max(1, query.shape[-1])) if scale is None else scale,
        "allowed": allowed,
        "dropped": _kept_share(shape, dropout_p, query.dtype) if dropout_p else None,
    }
    return apply(RULES["attention"], (query, key, value, attn_mask), options)


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    dtypes = {dtype_name(tensor.dtype) for tensor in (query, key, value)}
    if len(dtypes) > 1:
        raise DTypeError(
            f"scaled_dot_product_attention: query, key and value must have one dtype, got {sorted(dtypes)}; "
            "convert them with .to(query.dtype)"
        )
    fits = min(query.ndim, key.ndim, value.ndim) >= 2
    if not fits or query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            f"scaled_dot_product_attention: query {query.shape}, key {key.shape} and value {value.shape} "
            "do not fit; they must be (..., L, E), (..., S, E) and (..., S, Ev)"
        )


def _fitting_mask(query: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype == query.dtype:
        return mask
    if mask.dtype != float32 or not is_differentiable(query.dtype) or query.dtype.kind == "c":
        raise DTypeError(
            "scaled_dot_product_attention: attn_mask must be of bools, float32 or the query's dtype, got "
            f"{dtype_name(mask.dtype)} beside {dtype_name(query.dtype)}; convert it with .to(query.dtype)"
        )
    return mask.to(query.dtype)


def _shared_heads(query: Tensor, tensor: Tensor) -> Tensor:
    heads, groups = query.shape[-3], tensor.shape[-3]
    if heads % groups:
        raise ShapeError(
            f"scaled_dot_product_attention: {heads} heads of the query cannot share {groups} heads of key or "
            "value; the number must divide"
        )
    return tensor if heads == groups else tensor.repeat_interleave(heads // groups, -3)
