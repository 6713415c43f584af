"""Linear maps and look-ups: linear, bilinear, embedding, one_hot, similarity."""

from __future__ import annotations

import numpy as np

from ... import core
from ...autograd import no_grad
from ...autograd.bridge import wrap
from ...core import Tensor
from ...core.dispatch import NONE, apply, require_one_dtype
from ...dtypes import dtype_name, is_differentiable, promote
from ...errors import DTypeError, ShapeError
from ...rules import RULES


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `input @ weight.T + bias`: input (..., in), weight (out, in) or (in,), bias (out,) or ().

    Returns (..., out), or (...) for a weight of one dimension. Raises ShapeError, with the shapes,
    where these do not fit.

    Source: torch.nn.functional.linear.

    >>> import kellet
    >>> linear(kellet.ones(1, 2), kellet.tensor([[1.0, 2.0]]), kellet.tensor([0.5]))
    tensor([[3.5000]])
    """
    if weight.ndim == 1 and input.ndim and input.shape[-1] == weight.shape[0]:
        require_one_dtype("linear", input, weight, bias)
        out = input @ weight
        return out if bias is None else out + bias
    if weight.ndim != 2 or not input.ndim or input.shape[-1] != weight.shape[1]:
        raise ShapeError(
            f"linear: input of shape {input.shape} does not fit weight of shape {weight.shape}; the last "
            "dimension of the input must be that of the weight"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ShapeError(
            f"linear: bias of shape {bias.shape} does not fit weight of shape {weight.shape}; "
            f"it must be {weight.shape[:1]}"
        )
    return apply(RULES["linear"], (bias, input, weight), NONE)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `input1 @ weight[k] @ input2 + bias[k]` for each k: weight (out, in1, in2), result (..., out).

    Source: torch.nn.functional.bilinear.

    >>> bilinear(kellet.ones(5, 2), kellet.ones(5, 3), kellet.ones(4, 2, 3)).shape
    (5, 4)
    """
    require_one_dtype("bilinear", input1, input2, weight)
    out = core.einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of `weight` (count, width) that the integers in `input` name: (*input.shape, width).

    The row `padding_idx` gets no gradient. With `max_norm`, rows in use that are longer are scaled
    down in place first. Raises IndexError for an index outside 0..count - 1, DTypeError for an input
    that is not of integers.

    Raises ShapeError for a `weight` that is not a matrix.

    Source: torch.nn.functional.embedding. Gradients here are dense: `sparse` and
    `scale_grad_by_freq` raise NotImplementedError.

    >>> embedding(kellet.tensor([1, 0]), kellet.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if scale_grad_by_freq or sparse:
        raise NotImplementedError(
            "embedding: sparse and scale_grad_by_freq do not exist here; leave them out"
        )
    if weight.ndim != 2:
        raise ShapeError(f"embedding: weight must have two dimensions, got shape {weight.shape}")
    index = _indexes("embedding", input, len(weight))
    if padding_idx is not None:
        padding_idx = _row(padding_idx, len(weight))
    if max_norm is not None:
        _shorten_rows(weight, index._array, max_norm, norm_type)
    return apply(RULES["embedding"], (weight, index), {"padding_idx": padding_idx})


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return a new last dimension of length `num_classes`, 1 at the index and 0 elsewhere; int64.

    -1 stands for one class more than the largest index. Raises IndexError for indexes that are out
    of range.

    Raises ShapeError for an empty tensor without `num_classes`.

    Source: torch.nn.functional.one_hot.

    >>> import kellet
    >>> one_hot(kellet.tensor([1, 0]), 3)
    tensor([[0, 1, 0],
            [1, 0, 0]])
    """
    if num_classes == -1:
        if tensor.numel() == 0:
            raise ShapeError(
                "one_hot: an empty tensor does not say how many classes there are; pass num_classes"
            )
        num_classes = int(tensor._array.max()) + 1
    index = _indexes("one_hot", tensor, num_classes)._array
    return wrap((index[..., None] == np.arange(num_classes)).astype(np.int64))  # type: ignore[return-value]  # a Tensor


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between `x1` and `x2` along `dim`; norms are at least `eps`.

    Raises DTypeError unless the dtype in which both meet is a real floating one.

    Source: torch.nn.functional.cosine_similarity.

    >>> cosine_similarity(kellet.tensor([[1.0, 0.0]]), kellet.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    common = promote(x1.dtype, x2.dtype)
    if not is_differentiable(common) or common.kind == "c":
        raise DTypeError(
            f"cosine_similarity: expected a common dtype that is floating point, got {dtype_name(common)}; "
            "convert the tensors, e.g. with .float()"
        )
    x1, x2 = (x if is_differentiable(x.dtype) else x.to(common) for x in (x1, x2))
    if x1.shape != x2.shape:
        shape = np.broadcast_shapes(x1.shape, x2.shape)  # before the norms, which a repeated value changes
        x1, x2 = x1.expand(shape), x2.expand(shape)
    first = x1 / x1.norm(2, dim, keepdim=True).clamp(min=eps)
    second = x2 / x2.norm(2, dim, keepdim=True).clamp(min=eps)
    return (first * second).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Return the norm of order `p` of `x1 - x2 + eps` along the last dimension.

    Source: torch.nn.functional.pairwise_distance.

    >>> pairwise_distance(kellet.tensor([[0.0, 0.0]]), kellet.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


def _row(index: int, count: int) -> int:
    """A row counted from the front."""
    if not -count <= index < count:
        raise IndexError(f"embedding: padding_idx {index} is out of range; the weight has {count} rows")
    return index % count


def _indexes(where: str, input: Tensor, count: int) -> Tensor:
    """`input`, checked to hold integers in 0..count - 1."""
    array = input._array
    if array.dtype.kind not in "iu":
        raise DTypeError(
            f"{where}: indexes must be integers, got {dtype_name(array.dtype)}; convert with .long()"
        )
    if array.size and not (array.min() >= 0 and array.max() < count):
        wrong = array.min() if array.min() < 0 else array.max()
        raise IndexError(f"{where}: index {wrong} is out of range; indexes must lie in 0..{count - 1}")
    return input


def _shorten_rows(weight: Tensor, index: np.ndarray, max_norm: float, norm_type: float) -> None:
    """Scale rows of `weight` that are in use and longer than `max_norm` down to it, in place."""
    used = np.unique(index)
    with no_grad():
        rows = weight[wrap(used)]
        norms = rows.norm(norm_type, 1, keepdim=True)
        scale = core.where(norms > max_norm, max_norm / (norms + 1e-7), core.ones_like(norms))
        weight[wrap(used)] = rows * scale
