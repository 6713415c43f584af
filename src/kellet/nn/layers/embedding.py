"""Tables of vectors looked up by number."""

from __future__ import annotations

from typing import Any

from ... import core
from ...autograd import no_grad
from ...core import Tensor
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter


class Embedding(Module):
    """Row `i` of `weight` (num_embeddings, embedding_dim) for each integer i of the input.

    `weight` starts normal; the row `padding_idx` starts as zeros and gets no gradient. With
    `max_norm` the rows looked up are first scaled down to that norm, in place.

    Raises ValueError for a `_weight` of another shape.

    Source: torch.nn.Embedding; gradients are dense here, and `scale_grad_by_freq` is refused too.

    >>> kellet.nn.Embedding(10, 4)(kellet.tensor([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if sparse or scale_grad_by_freq:
            raise NotImplementedError(
                "Embedding: sparse and scale_grad_by_freq do not exist here; leave them out"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _checked_row(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = False
        self.sparse = False
        if _weight is None:
            table = core.empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=not _freeze)
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != (num_embeddings, embedding_dim):
                raise ValueError(
                    f"the weight has shape {tuple(_weight.shape)}, but num_embeddings and embedding_dim "
                    f"ask for {(num_embeddings, embedding_dim)}"
                )
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Draw new rows; the padding row is zeros."""
        _draw_rows(self.weight, self.padding_idx)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
    ) -> Embedding:
        """Make a layer of a given table (rows, columns), which trains unless `freeze`.

        Raises ValueError for `embeddings` that are not a matrix.
        """
        if embeddings.dim() != 2:
            raise ValueError(
                f"embeddings are expected to be 2-dimensional, got {embeddings.dim()} dimensions"
            )
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            _weight=embeddings,
            _freeze=freeze,
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type)

    def extra_repr(self) -> str:
        parts = [str(self.num_embeddings), str(self.embedding_dim)]
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        if self.max_norm is not None:
            parts.append(f"max_norm={self.max_norm}")
        if self.norm_type != 2:
            parts.append(f"norm_type={self.norm_type}")
        return ", ".join(parts)


class EmbeddingBag(Module):
    """The rows of `weight` (num_embeddings, embedding_dim) that each bag of integers names, folded into one.

    `mode` is "mean", "sum" or "max". Bags are the rows of a matrix, or parts of a vector that start at
    `offsets` (with `include_last_offset`, the last of them is where the vector ends). The row `padding_idx`
    does not count. With "sum", rows are multiplied by `per_sample_weights` first.

    Source: torch.nn.EmbeddingBag; gradients are dense here, and `scale_grad_by_freq` is refused too.

    >>> bags = kellet.nn.EmbeddingBag(10, 4, mode="sum")
    >>> bags(kellet.tensor([1, 2, 3, 9]), kellet.tensor([0, 3])).shape
    (2, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if sparse or scale_grad_by_freq:
            raise NotImplementedError(
                "EmbeddingBag: sparse and scale_grad_by_freq do not exist here; leave them out"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.mode = mode
        self.include_last_offset = include_last_offset
        self.padding_idx = _checked_row(padding_idx, num_embeddings)
        if _weight is None:
            self.weight = Parameter(core.empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight)

    def reset_parameters(self) -> None:
        """Draw new rows; the padding row is zeros."""
        _draw_rows(self.weight, self.padding_idx)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **options: Any) -> EmbeddingBag:
        """Make a layer of a given table (rows, columns), which trains unless `freeze`."""
        rows, columns = embeddings.shape
        made = cls(rows, columns, _weight=embeddings, **options)
        made.weight.requires_grad_(not freeze)
        return made

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        parts = [str(self.num_embeddings), str(self.embedding_dim)]
        if self.max_norm is not None:
            parts.append(f"max_norm={self.max_norm}")
        if self.norm_type != 2:
            parts.append(f"norm_type={self.norm_type}")
        parts.append(f"mode={self.mode!r}")
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        return ", ".join(parts)


def _draw_rows(weight: Tensor, padding_idx: int | None) -> None:
    init.normal_(weight)
    if padding_idx is not None:
        with no_grad():
            weight[padding_idx].fill_(0)


def _checked_row(row: int | None, n: int) -> int | None:
    if row is None:
        return None
    if not -n <= row < n:
        raise ValueError(f"padding_idx must be within num_embeddings, got {row} of {n}")
    return row % n
