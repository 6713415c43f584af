"""The encoder of a transformer, layer by layer."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...core import Tensor
from .. import functional as F
from ..containers import ModuleList
from ..module import Module
from .attention import MultiheadAttention
from .dropping import Dropout
from .linear import Linear
from .normalization import LayerNorm

Activation = Callable[[Tensor], Tensor]


class TransformerEncoderLayer(Module):
    """Self-attention and two linear layers, each with dropout, a shortcut and a LayerNorm.

    Input and output (L, N, d_model), with `batch_first` (N, L, d_model). The norms come after the
    shortcuts, or with `norm_first` before attention and linear layers. `activation` is "relu", "gelu"
    or a function.

    Source: torch.nn.TransformerEncoderLayer.

    >>> kellet.nn.TransformerEncoderLayer(8, 2, batch_first=True)(kellet.ones(4, 5, 8)).shape
    (4, 5, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        masks = (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            src = src + self._attend(self.norm1(src), *masks)
            return src + self._feed_forward(self.norm2(src))
        src = self.norm1(src + self._attend(src, *masks))
        return self.norm2(src + self._feed_forward(src))

    def _attend(self, src: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool) -> Tensor:
        attended, _ = self.self_attn(
            src,
            src,
            src,
            attn_mask=mask,
            key_padding_mask=padding,
            need_weights=False,
            is_causal=is_causal,
        )
        return self.dropout1(attended)

    def _feed_forward(self, src: Tensor) -> Tensor:
        hidden = self.dropout(self.activation(self.linear1(src)))
        return self.dropout2(self.linear2(hidden))


class TransformerEncoder(Module):
    """Copies of one encoder layer in a row, and `norm` after the last.

    `enable_nested_tensor` and `mask_check` are accepted and ignored: there are no nested tensors.

    Source: torch.nn.TransformerEncoder.

    >>> layer = kellet.nn.TransformerEncoderLayer(8, 2, batch_first=True)
    >>> kellet.nn.TransformerEncoder(layer, 3)(kellet.ones(4, 5, 8)).shape
    (4, 5, 8)
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(
                src,
                src_mask=mask,
                src_key_padding_mask=src_key_padding_mask,
                is_causal=bool(is_causal),
            )
        return src if self.norm is None else self.norm(src)


def _activation(activation: str | Activation) -> Activation:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu
