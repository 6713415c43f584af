"""Attention of several heads, with the parameters that PyTorch gives it."""

from __future__ import annotations

import math
from typing import Any

from ... import core, dtypes
from ...core import Tensor
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter
from .linear import Linear


class MultiheadAttention(Module):
    """Each head attends with its own part of the projected queries, keys and values.

    query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim), the output as the query; with
    `batch_first` the first two dimensions change places, without a batch N is left out. The
    projections are one `in_proj_weight` (3 * embed_dim, embed_dim) where all three lengths are equal,
    and else `q_proj_weight`, `k_proj_weight`, `v_proj_weight`.

    Raises ValueError where `embed_dim` cannot be divided among the heads.

    Source: torch.nn.MultiheadAttention.

    >>> attention = kellet.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = kellet.ones(4, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    ((4, 5, 8), (4, 5, 5))
    """

    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"embed_dim must be a positive multiple of num_heads, got {embed_dim} and {num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        self._make_projections(bias, add_bias_kv, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def _make_projections(self, bias: bool, add_bias_kv: bool, factory: dict[str, Any]) -> None:
        n = self.embed_dim
        one = self.kdim == n and self.vdim == n
        shapes = {
            "in_proj_weight": (3 * n, n) if one else None,
            "q_proj_weight": None if one else (n, n),
            "k_proj_weight": None if one else (n, self.kdim),
            "v_proj_weight": None if one else (n, self.vdim),
            "in_proj_bias": (3 * n,) if bias else None,
            "bias_k": (1, 1, n) if add_bias_kv else None,
            "bias_v": (1, 1, n) if add_bias_kv else None,
        }
        for name, shape in shapes.items():
            parameter = None if shape is None else Parameter(core.empty(*shape, **factory))
            self.register_parameter(name, parameter)
        self.out_proj = Linear(n, n, bias=bias, **factory)

    def reset_parameters(self) -> None:
        """Draw new projections (Xavier); the biases are zeros."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the output and, with `need_weights`, the weights (N, L, S) or (N, heads, L, S).

        `key_padding_mask` (N, S) and `attn_mask` (L, S) or (N * heads, L, S) are added to the scores;
        as booleans, True keeps a key out. `is_causal` is a hint and needs `attn_mask`.

        Raises RuntimeError for `is_causal` without `attn_mask`.
        """
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        batched = query.dim() == 3
        same = query is key and key is value
        query = self._batch_first(query)
        key = query if same else self._batch_first(key)
        value = query if same else self._batch_first(value)
        mask = self._mask(attn_mask, key_padding_mask, query, key)
        q, k, v = self._heads(query, key, value)
        dropout = self.dropout if self.training else 0.0
        weights: Tensor | None = None
        if need_weights:
            scores = (q * math.sqrt(1 / self.head_dim)) @ k.transpose(-2, -1)
            weights = F.softmax(scores if mask is None else scores + mask, -1)
            if dropout:
                weights = F.dropout(weights, dropout)
            mixed = weights @ v
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, mask, dropout)
        n, _, length, _ = mixed.shape
        output = self.out_proj(mixed.transpose(1, 2).reshape(n, length, self.embed_dim))
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if not batched:
            return output.squeeze(0), None if weights is None else weights.squeeze(0)
        return output if self.batch_first else output.transpose(0, 1), weights

    def _batch_first(self, tensor: Tensor) -> Tensor:
        if tensor.dim() == 2:
            return tensor.unsqueeze(0)
        if tensor.dim() != 3:
            raise ValueError(
                f"query, key and value must have 2 dimensions or, with a batch, 3; got {tensor.dim()}"
            )
        return tensor if self.batch_first else tensor.transpose(0, 1)

    def _heads(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Project, add the extra keys, and give each head its part: (N, heads, length, head_dim)."""
        q, k, v = self._project(query, key, value)
        n = q.shape[0]
        if self.bias_k is not None and self.bias_v is not None:
            k = core.cat([k, self.bias_k.expand(n, 1, self.embed_dim)], 1)
            v = core.cat([v, self.bias_v.expand(n, 1, self.embed_dim)], 1)
        if self.add_zero_attn:
            zeros = core.zeros(n, 1, self.embed_dim, dtype=k.dtype)
            k, v = core.cat([k, zeros], 1), core.cat([v, zeros], 1)
        split = [
            tensor.reshape(n, tensor.shape[1], self.num_heads, self.head_dim).transpose(1, 2)
            for tensor in (q, k, v)
        ]
        return split[0], split[1], split[2]

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.in_proj_weight is not None and query is key and key is value:
            projected = F.linear(query, self.in_proj_weight, self.in_proj_bias)
            # In one step: the gradients of the parts are joined, not added up in zeros.
            q, k, v = projected.chunk(3, -1)
            return q, k, v
        if self.in_proj_weight is not None:
            weights: Any = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases: Any = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = (
            F.linear(tensor, weight, bias)
            for tensor, weight, bias in zip((query, key, value), weights, biases, strict=True)
        )
        return q, k, v

    def _mask(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor, key: Tensor
    ) -> Tensor | None:
        """Both masks as one that is added to scores (N, heads, L, S), extra keys left free."""
        n, length, source = query.shape[0], query.shape[1], key.shape[1]
        mask: Tensor | None = None
        if attn_mask is not None:
            if attn_mask.dim() == 2:
                _check_mask("attn_mask", attn_mask, (length, source))
                mask = _additive(attn_mask, query)
            else:
                _check_mask("attn_mask", attn_mask, (n * self.num_heads, length, source))
                mask = _additive(attn_mask, query).reshape(n, self.num_heads, length, source)
        if key_padding_mask is not None:
            if key_padding_mask.dim() == 1:
                key_padding_mask = key_padding_mask.unsqueeze(0)
            _check_mask("key_padding_mask", key_padding_mask, (n, source))
            padding = _additive(key_padding_mask, query).reshape(n, 1, 1, source)
            mask = padding if mask is None else mask + padding
        extra = (self.bias_k is not None) + self.add_zero_attn
        return F.pad(mask, (0, extra)) if mask is not None and extra else mask


def _check_mask(name: str, mask: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(mask.shape) != shape:
        raise RuntimeError(f"{name} has the shape {tuple(mask.shape)}, but should be {shape}")


def _additive(mask: Tensor, like: Tensor) -> Tensor:
    if mask.dtype != dtypes.bool_:
        return mask.to(like.dtype)
    return core.zeros(*mask.shape, dtype=like.dtype).masked_fill(mask, -math.inf)
