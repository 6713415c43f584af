"""Copies of a tensor with values put in, or folded in, by index tensors and masks; each also in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..dtypes import dtype_name
from ..errors import DTypeError, ShapeError
from ..rules import RULES
from .axes import axis_of
from .dispatch import NONE, apply, require_one_dtype
from .indexing import _index_array, _line, _mask, _places, _source

if TYPE_CHECKING:
    from .tensor import Tensor

REDUCTIONS = ("sum", "mean", "amax", "amin")


class IndexWriting(Variable):
    """Operations that put values at places, and return a copy."""

    __slots__ = ()

    def index_fill(self, dim: int, index: Tensor, value: Any) -> Tensor:
        """Return a copy with `value`, a number or a tensor of shape (), at `index` along `dim`.

        Raises ShapeError for a value with axes.

        >>> kellet.index_fill(kellet.tensor([1, 2, 3]), 0, kellet.tensor([0, 2]), 9)
        tensor([9, 2, 9])
        """
        if isinstance(value, Variable) and value._array.ndim:
            raise ShapeError(
                f"index_fill takes a number or a tensor of shape (), got shape {value._array.shape}; "
                "use index_copy"
            )
        if not self._array.ndim:
            return self._row().index_fill(dim, index, value).reshape(())  # type: ignore[attr-defined,no-any-return]  # a Tensor
        places = _slices(self, "index_fill", dim, index)
        return apply(RULES["put"], (self, _as_dtype_of(self, value)), {"index": places})

    def index_copy(self, dim: int, index: Tensor, source: Tensor) -> Tensor:
        """Return a copy with the entries of `source` at `index` along `dim`.

        Raises ShapeError where `source` does not fit, DTypeError where its dtype differs.

        >>> kellet.index_copy(kellet.zeros(3), 0, kellet.tensor([2, 0]), kellet.tensor([1.0, 5.0]))
        tensor([5., 0., 1.])
        """
        if source._array.dtype != self._array.dtype:
            raise DTypeError(
                f"index_copy: source is {dtype_name(source._array.dtype)}, the tensor "
                f"{dtype_name(self._array.dtype)}; convert the source"
            )
        if not self._array.ndim:
            line = source if source._array.ndim else source.reshape(1)
            return self._row().index_copy(dim, index, line).reshape(())  # type: ignore[attr-defined,no-any-return]  # a Tensor
        places = _slices(self, "index_copy", dim, index)
        wanted = self._array[places].shape
        if source._array.shape != wanted:
            raise ShapeError(f"index_copy: source has shape {source._array.shape}; expected {wanted}")
        return apply(RULES["put"], (self, source), {"index": places})

    def index_put(self, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
        """Return a copy with `values` at `indices`, one index tensor per axis; with `accumulate`, added.

        >>> places = (kellet.tensor([0, 0]),)
        >>> kellet.index_put(kellet.zeros(2), places, kellet.tensor([1.0, 5.0]), accumulate=True)
        tensor([6., 0.])
        """
        places = tuple([one._array.copy() for one in indices])
        if not accumulate:
            return apply(RULES["put"], (self, values), {"index": places})
        shape = self._array[places].shape
        wide = values if values._array.shape == shape else values.expand(shape)
        added = apply(RULES["place"], (wide,), {"index": places, "shape": self._array.shape})
        return apply(RULES["add"], (self, added), NONE)

    def take(self, index: Tensor) -> Tensor:
        """Return the values at `index` in the flat order of all.

        >>> kellet.take(kellet.tensor([[1, 2], [3, 4]]), kellet.tensor([3, 0]))
        tensor([4, 1])
        """
        places = _index_array(index, self._array.size, 0)._array
        flat = apply(RULES["reshape"], (self,), {"shape": (-1,)})
        return apply(RULES["index"], (flat,), {"index": (places,)})

    def put(self, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
        """Return a copy with `source` at `index` in the flat order of all; with `accumulate`, added there.

        >>> kellet.tensor([[1, 2], [3, 4]]).put(kellet.tensor([3]), kellet.tensor([9]))
        tensor([[1, 2],
                [3, 9]])
        """
        places = _index_array(index, self._array.size, 0)
        flat = apply(RULES["reshape"], (self,), {"shape": (-1,)})
        values = source.reshape(tuple(places._array.shape))
        put: Tensor = flat.index_put((places,), values, accumulate)  # type: ignore[arg-type]  # a Tensor
        return put.reshape(self._array.shape)

    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Return a copy with the values of `source`, in order, where `mask` is True.

        Raises ShapeError where `source` has fewer values than the mask asks for, DTypeError where it has
        another dtype.

        >>> mask = kellet.tensor([False, True, True])
        >>> kellet.masked_scatter(kellet.zeros(3), mask, kellet.tensor([1.0, 5.0, 7.0]))
        tensor([0., 1., 5.])
        """
        require_one_dtype("masked_scatter", self, source, than="a tensor and a source")
        shape = np.broadcast_shapes(self._array.shape, _mask(mask)._array.shape)
        where = wrap(np.broadcast_to(mask._array, shape))
        count = int(where._array.sum())
        if source._array.size < count:
            raise ShapeError(
                f"masked_scatter: the mask asks for {count} values, source has {source._array.size}"
            )
        put = apply(RULES["spread_mask"], (source.reshape(-1)[:count], where), NONE)
        return apply(RULES["where"], (where, put, self), NONE)

    def scatter_reduce(
        self, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
    ) -> Tensor:
        """Return a copy with the values of `src` folded in at `index` along `dim`.

        `reduce` is "sum", "mean", "amax" or "amin"; without `include_self` the values that stood there
        do not count. Extremes that are equal share the gradient.

        Raises ValueError for another word.

        Source: torch.Tensor.scatter_reduce; there is no "prod" here.

        >>> places, values = kellet.tensor([0, 0]), kellet.tensor([3.0, 5.0])
        >>> kellet.scatter_reduce(kellet.zeros(2), 0, places, values, "amax")
        tensor([5., 0.])
        """
        if reduce not in REDUCTIONS:
            raise ValueError(f"scatter_reduce: reduce must be one of {', '.join(REDUCTIONS)}, got {reduce!r}")
        row = self._row()  # type: ignore[attr-defined]  # a Tensor
        axis = axis_of(dim, row._array.ndim)
        places = _places("scatter_reduce", row, index, axis)
        value = _source("scatter_reduce", row, src, places)
        found = _folded(row, axis, places, value, reduce, include_self)
        return found.reshape(self._array.shape)

    # --- in place ---------------------------------------------------------------------------------

    def index_fill_(self, dim: int, index: Tensor, value: Any) -> Tensor:
        """Compute `index_fill`, in place."""
        return self._overwritten(self.index_fill(dim, index, value))

    def index_copy_(self, dim: int, index: Tensor, source: Tensor) -> Tensor:
        """Compute `index_copy`, in place."""
        return self._overwritten(self.index_copy(dim, index, source))

    def index_put_(self, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
        """Compute `index_put`, in place."""
        return self._overwritten(self.index_put(indices, values, accumulate))

    def put_(self, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
        """Compute `put`, in place."""
        return self._overwritten(self.put(index, source, accumulate))

    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """Compute `masked_scatter`, in place."""
        return self._overwritten(self.masked_scatter(mask, source))

    def scatter_reduce_(
        self, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
    ) -> Tensor:
        """Compute `scatter_reduce`, in place."""
        old = self.clone()  # type: ignore[attr-defined]  # a Tensor, whose old values the derivative reads
        return self._overwritten(old.scatter_reduce(dim, index, src, reduce, include_self=include_self))

    def _overwritten(self, new: Tensor) -> Tensor:
        return self.copy_(new)  # type: ignore[attr-defined,no-any-return]  # a Tensor


def _folded(row: Any, axis: int, places: Variable, value: Any, reduce: str, include_self: bool) -> Tensor:
    untouched = np.ones(row._array.shape, bool)
    cut = tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(places._array.shape))
    np.put_along_axis(untouched[cut], places._array, False, axis=axis)
    if reduce in ("amax", "amin"):
        options = {"axis": axis, "largest": reduce == "amax", "include_self": include_self}
        return apply(RULES["scatter_extreme"], (row, places, value), options)
    kept = row if include_self else apply(RULES["keep"], (row, wrap(untouched)), NONE)
    options = {"axis": axis, "shape": row._array.shape}
    total = apply(RULES["add"], (kept, apply(RULES["spread"], (value, places), options)), NONE)
    if reduce == "sum":
        return total
    one = np.ones(places._array.shape, row._array.dtype)
    count = RULES["spread"].forward(one, places._array, **options)
    own = 1 if include_self else untouched
    if row._array.dtype.kind in "iu":
        return wrap(total._array // (count + own))  # type: ignore[return-value]  # wrap makes Tensors
    return total / wrap((count + own).astype(row._array.dtype))


def _slices(tensor: Any, where: str, dim: int, index: Any) -> tuple[Any, ...]:
    """An index of whole entries along one axis."""
    axis = axis_of(dim, tensor._array.ndim)
    return (*[slice(None)] * axis, _line(where, index, tensor._array.shape[axis], axis)._array)


def _as_dtype_of(tensor: Any, value: Any) -> Any:
    return value if isinstance(value, Variable) else wrap(np.asarray(value).astype(tensor._array.dtype))


# --- the methods as functions: the first argument is the tensor ------------------------------------

index_copy = IndexWriting.index_copy
index_fill = IndexWriting.index_fill
index_put = IndexWriting.index_put
masked_scatter = IndexWriting.masked_scatter
scatter_reduce = IndexWriting.scatter_reduce
take = IndexWriting.take
