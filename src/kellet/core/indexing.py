"""Reading and writing parts: everything that NumPy takes as an index, tensors too, and index tensors.

Slices, integers, None and Ellipsis give views; arrays of integers or bools give copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..dtypes import INTEGER, category, dtype_name, result_dtype
from ..errors import DTypeError, ShapeError
from ..rules import RULES
from ..rules.copying import is_basic
from .axes import axis_of
from .dispatch import NONE, apply, apply_in_place, require_one_dtype, scaled

if TYPE_CHECKING:
    from .tensor import Tensor


REDUCTIONS = ("sum", "mean", "amax", "amin")


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


class Indexing(Variable):
    """Subscripts, and the operations that take index tensors."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Tensor:
        found = _plain_index(index)
        try:
            return apply(RULES["slice" if is_basic(found) else "index"], (self,), {"index": found})
        except IndexError as error:
            raise IndexError(f"{error}; the tensor has shape {self._array.shape}") from error

    def __setitem__(self, index: Any, value: Any) -> None:
        found = _plain_index(index)
        array = self._array
        new = _fitting(value, array, found)

        def write() -> None:
            try:
                array[found] = new._array
            except IndexError as error:
                raise IndexError(f"{error}; the tensor has shape {array.shape}") from error
            except ValueError as error:
                raise ShapeError(
                    f"cannot write values of shape {new._array.shape} at this index: {error}"
                ) from error

        apply_in_place(RULES["put"], self, (new,), {"index": found}, write)

    # --- index tensors ----------------------------------------------------------------------------

    def gather(self, dim: int, index: Tensor) -> Tensor:
        """Take the values at `index`; it has as many axes as this tensor, and may be longer along `dim` only.

        >>> kellet.gather(kellet.tensor([[1, 2], [3, 4]]), 1, kellet.tensor([[1], [0]]))
        tensor([[2],
                [3]])
        """
        row = self._row()
        axis = axis_of(dim, row._array.ndim)
        places = _places("gather", row, index, axis)
        taken = apply(RULES["gather"], (row, places), {"axis": axis})
        return taken if taken.shape == index.shape else taken.reshape(index.shape)

    def scatter(self, dim: int, index: Tensor, src: object) -> Tensor:
        """Return a copy with the values of `src` (a tensor or a number) at `index` along `dim`.

        Where an index occurs twice, one of the values is taken. `src` may be longer than `index`.

        >>> kellet.scatter(kellet.zeros(3), 0, kellet.tensor([2, 0]), kellet.tensor([1.0, 5.0]))
        tensor([5., 0., 1.])
        """
        row = self._row()
        axis = axis_of(dim, row._array.ndim)
        places = _places("scatter", row, index, axis)
        value = _source("scatter", self, src, places) if isinstance(src, Variable) else src
        return apply(RULES["scatter"], (row, places, value), {"axis": axis}).reshape(self._array.shape)

    def scatter_add(self, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """Return a copy with the values of `src` added at `index` along `dim`.

        >>> kellet.scatter_add(kellet.ones(3), 0, kellet.tensor([2, 2]), kellet.tensor([1.0, 5.0]))
        tensor([1., 1., 7.])
        """
        row = self._row()
        axis = axis_of(dim, row._array.ndim)
        places = _places("scatter_add", row, index, axis)
        options = {"axis": axis, "shape": row._array.shape}
        spread = apply(RULES["spread"], (_source("scatter_add", self, src, places), places), options)
        return apply(RULES["add"], (row, spread), {}).reshape(self._array.shape)

    def index_select(self, dim: int, index: Tensor) -> Tensor:
        """Return the entries at `index`, a tensor of one axis, along `dim`.

        >>> kellet.index_select(kellet.tensor([[1, 2], [3, 4]]), 1, kellet.tensor([1]))
        tensor([[2],
                [4]])
        """
        row = self._row()
        axis = axis_of(dim, row._array.ndim)
        places = _line("index_select", index, row._array.shape[axis], axis)
        taken = apply(RULES["index_select"], (row, places), {"axis": axis})
        return taken.reshape(()) if not self._array.ndim and taken.numel() == 1 else taken

    def index_add(self, dim: int, index: Tensor, source: Tensor, *, alpha: complex | Tensor = 1) -> Tensor:
        """Return a copy with the entries of `source`, times `alpha`, added at `index` along `dim`.

        Raises ShapeError where `source` does not fit.

        >>> kellet.index_add(kellet.zeros(3), 0, kellet.tensor([0, 2]), kellet.tensor([1.0, 5.0]))
        tensor([1., 0., 5.])
        """
        if not self._array.ndim:
            row = source if source._array.ndim else source.reshape(1)
            return self._row().index_add(dim, index, row, alpha=alpha).reshape(())  # type: ignore[no-any-return]  # a Tensor
        axis = axis_of(dim, self._array.ndim)
        places = _line("index_add", index, self._array.shape[axis], axis)
        wanted = _but(self._array.shape, axis)
        if source._array.ndim != len(wanted) or _but(source._array.shape, axis) != wanted:
            raise ShapeError(
                f"index_add: source of shape {source._array.shape} does not fit {self._array.shape}; they "
                f"must agree in all axes except {axis}"
            )
        if places._array.size != source._array.shape[axis]:
            raise ShapeError(
                f"index_add: index of {places._array.size} places does not fit source of shape "
                f"{source._array.shape}; it needs one for each entry along axis {axis}"
            )
        require_one_dtype("index_add", self, source, than="a tensor and a source")
        options = {"axis": axis, "length": self._array.shape[axis]}
        spread = apply(RULES["spread_slices"], (source, places), options)
        return apply(RULES["add"], (self, scaled(spread, alpha)), {})

    def scatter_(self, dim: int, index: Tensor, src: object) -> Tensor:
        """Compute `scatter`, in place."""
        return self.copy_(self.scatter(dim, index, src))  # type: ignore[attr-defined,no-any-return]  # a Tensor

    def scatter_add_(self, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """Compute `scatter_add`, in place."""
        return self.copy_(self.scatter_add(dim, index, src))  # type: ignore[attr-defined,no-any-return]  # a Tensor

    def index_add_(self, dim: int, index: Tensor, source: Tensor, *, alpha: complex | Tensor = 1) -> Tensor:
        """Compute `index_add`, in place."""
        added = self.index_add(dim, index, source, alpha=alpha)
        return self.copy_(added)  # type: ignore[attr-defined,no-any-return]  # a Tensor

    def _row(self) -> Any:
        """The tensor, or a row of one value for a tensor of shape ()."""
        return self if self._array.ndim else apply(RULES["reshape"], (self,), {"shape": (1,)})

    def take_along_dim(self, indices: Tensor, dim: int) -> Tensor:
        """Take values as `gather` does, with shapes broadcast as in NumPy.

        >>> kellet.take_along_dim(kellet.tensor([30, 10, 20]), kellet.tensor([1, 2, 0]), 0)
        tensor([10, 20, 30])
        """
        axis = axis_of(dim, self._array.ndim)
        wide = list(np.broadcast_shapes(*(_but(a, axis) for a in (self._array.shape, indices._array.shape))))
        own, places = (
            [*wide[:axis], shape[axis], *wide[axis + 1 :]]
            for shape in (self._array.shape, indices._array.shape)
        )
        return self.expand(own).gather(dim, indices.expand(places))  # type: ignore[attr-defined,no-any-return]  # a Tensor

    # --- masks ------------------------------------------------------------------------------------

    def masked_fill(self, mask: Tensor, value: object) -> Tensor:
        """Return a copy with `value`, a number or a tensor of shape (), where `mask` is True.

        >>> kellet.masked_fill(kellet.tensor([1, 2]), kellet.tensor([True, False]), 9)
        tensor([9, 2])
        """
        return apply(RULES["masked_fill"], (self, _mask(mask), value), {})

    def masked_select(self, mask: Tensor) -> Tensor:
        """Return the values where `mask` is True, in one axis.

        >>> kellet.masked_select(kellet.tensor([1, 2]), kellet.tensor([True, False]))
        tensor([1])
        """
        shape = np.broadcast_shapes(self._array.shape, mask._array.shape)
        whole = self if self._array.shape == shape else self.expand(shape)  # type: ignore[attr-defined]  # a Tensor
        return apply(RULES["masked_select"], (whole, wrap(np.broadcast_to(_mask(mask)._array, shape))), {})

    def nonzero(self, *, as_tuple: bool = False) -> Any:
        """Return the positions of all elements that are not zero, one row each; int64.

        With `as_tuple`, a vector for each axis, which together are an index.

        >>> kellet.nonzero(kellet.tensor([0, 3, 4]))
        tensor([[1],
                [2]])
        >>> kellet.nonzero(kellet.tensor([0, 3, 4]), as_tuple=True)
        (tensor([1, 2]),)
        """
        if as_tuple:
            return tuple(wrap(places) for places in np.nonzero(np.atleast_1d(self._array)))
        return wrap(np.argwhere(self._array))

    def argwhere(self) -> Tensor:
        """Return the positions of all elements that are not zero, one row each; int64.

        >>> kellet.argwhere(kellet.tensor([0, 3, 4]))
        tensor([[1],
                [2]])
        """
        return wrap(np.argwhere(self._array))  # type: ignore[return-value]  # wrap makes Tensors

    def where(self, condition: Tensor, other: object) -> Tensor:
        """Return this tensor where `condition` is True, `other` elsewhere."""
        return where(condition, self, other)  # type: ignore[no-any-return]  # a Tensor, of three arguments

    # --- writing ----------------------------------------------------------------------------------

    def index_fill(self, dim: int, index: Tensor, value: object) -> Tensor:
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
            return self._row().index_fill(dim, index, value).reshape(())  # type: ignore[no-any-return]  # a Tensor
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
            return self._row().index_copy(dim, index, line).reshape(())  # type: ignore[no-any-return]  # a Tensor
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
        row = self._row()
        axis = axis_of(dim, row._array.ndim)
        places = _places("scatter_reduce", row, index, axis)
        value = _source("scatter_reduce", row, src, places)
        found = _folded(row, axis, places, value, reduce, include_self)
        return found.reshape(self._array.shape)

    # --- in place ---------------------------------------------------------------------------------

    def index_fill_(self, dim: int, index: Tensor, value: object) -> Tensor:
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


def where(condition: Tensor, input: object = None, other: object = None) -> Any:
    """Take `input` where `condition` is True, `other` elsewhere; a condition alone: where it is True.

    Raises DTypeError for a condition that is not of bools.

    >>> import kellet
    >>> kellet.where(kellet.tensor([True, False]), 1.0, kellet.tensor([5.0, 6.0]))
    tensor([1., 6.])
    """
    if input is None and other is None:
        return tuple(wrap(places) for places in np.nonzero(np.atleast_1d(condition._array)))
    if condition._array.dtype != bool:
        found = dtype_name(condition._array.dtype)
        raise DTypeError(f"where expects a condition of bools, got {found}; use .bool()")
    dtype = result_dtype([one._array if isinstance(one, Variable) else one for one in (input, other)])
    return apply(RULES["where"], (condition, _in(input, dtype), _in(other, dtype)), NONE)


def _in(value: Any, dtype: Any) -> Any:
    if isinstance(value, Variable):
        return value if value._array.dtype == dtype else apply(RULES["cast"], (value,), {"dtype": dtype})
    return wrap(np.asarray(value).astype(dtype))


def _fitting(value: Any, array: Any, index: Any) -> Variable:
    """The values to write at `index`, without the leading axes of length 1 that NumPy lets pass."""
    if not isinstance(value, Variable):
        return wrap(np.asarray(value).astype(array.dtype))
    if category(value._array.dtype) > category(array.dtype) and value._array.dtype.kind == "c":
        raise DTypeError(
            "complex values cannot be written into a real tensor; write value.real, or convert the tensor"
        )
    own = value._array
    if own.dtype != array.dtype and not is_basic(index) and (own.size != 1 or _has_places(index)):
        require_one_dtype("writing at an index", wrap(array), value, than="a tensor and values")
    shape = own.shape
    if value.requires_grad and shape[:1] == (1,):
        extra = max(0, len(shape) - array[index].ndim)
        if extra and set(shape[:extra]) == {1}:
            return apply(RULES["reshape"], (value,), {"shape": shape[extra:]})
    return value


def _has_places(index: tuple[Any, ...]) -> bool:
    """Whether an index holds an array of integers, rather than masks alone."""
    return any(isinstance(one, np.ndarray) and one.dtype != bool for one in index)


def _plain_index(index: Any) -> Any:
    """Return an index as a tuple, with arrays in the place of tensors and lists.

    An index without arrays ends in an Ellipsis: NumPy would give a scalar, not a view, where every
    axis has an integer.
    """
    found = tuple([_entry(one) for one in (index if isinstance(index, tuple) else (index,))])
    if is_basic(found) and Ellipsis not in found:
        return (*found, Ellipsis)
    return found


def _entry(one: Any) -> Any:
    if isinstance(one, Variable):
        array = one._array
        if category(array.dtype) > INTEGER:
            raise IndexError(
                f"an index must be of integers or bools, got a tensor of {dtype_name(array.dtype)}"
            )
        # uint8 was a mask once and is not any more; a copy keeps later writes out of the graph.
        return int(array) if array.ndim == 0 and array.dtype != bool else array.copy()
    if isinstance(one, list | np.ndarray):
        array = np.array(one, dtype=np.int64) if np.shape(one) == (0,) else np.array(one)
        return int(array) if array.ndim == 0 and array.dtype != bool else array
    if isinstance(one, np.integer):
        return int(one)
    return bool(one) if isinstance(one, np.bool_) else one


def _index_array(index: Any, size: int, axis: int) -> Variable:
    """Return an index tensor as int64, checked, with negative entries counted from the end.

    Raises DTypeError for another dtype, IndexError for an entry out of range.
    """
    array = index._array if isinstance(index, Variable) else np.asarray(index)
    if category(array.dtype) != INTEGER:
        raise DTypeError(f"expected an index tensor of integers, got {dtype_name(array.dtype)}; use .long()")
    if array.size and not (-size <= array.min() and array.max() < size):
        raise IndexError(
            f"an index is out of range for axis {axis} with {size} entries: {array.min()} to {array.max()}"
        )
    places = array.astype(np.int64)
    places[places < 0] += size
    return wrap(places)


def _places(where: str, row: Any, index: Any, axis: int) -> Variable:
    """An index of one entry per element, checked against the tensor that it reads or writes."""
    places = _index_array(index, row._array.shape[axis], axis)
    if not places._array.ndim:
        places = wrap(places._array.reshape(1))
    own, wanted = row._array.shape, places._array.shape
    if len(own) != len(wanted) or any(
        n > m for i, (n, m) in enumerate(zip(wanted, own, strict=True)) if i != axis
    ):
        raise ShapeError(
            f"{where}: index of shape {wanted} does not fit a tensor of shape {own}: it must have as many "
            f"axes, and only axis {axis} may be longer"
        )
    return places


def _source(where: str, target: Any, src: Any, places: Variable) -> Any:
    """What is written, checked to be of the target's dtype, and as long as the index along every axis."""
    require_one_dtype(where, target, src, than="a tensor and a src")
    value = src if src._array.ndim else apply(RULES["reshape"], (src,), {"shape": (1,)})
    own, wanted = value._array.shape, places._array.shape
    if len(own) != len(wanted) or any(n > m for n, m in zip(wanted, own, strict=True)):
        raise ShapeError(f"{where}: src of shape {own} is too small for an index of shape {wanted}")
    return value


def _line(where: str, index: Any, size: int, axis: int) -> Variable:
    """An index of one entry per slice."""
    places = _index_array(index, size, axis)
    if places._array.ndim > 1:
        raise IndexError(f"{where}: index must have one axis, got shape {places._array.shape}")
    return places if places._array.ndim else wrap(places._array.reshape(1))


def _mask(mask: Any) -> Variable:
    if not isinstance(mask, Variable) or mask._array.dtype != bool:
        found = dtype_name(mask._array.dtype) if isinstance(mask, Variable) else type(mask).__name__
        raise DTypeError(f"expected a mask, a tensor of bools, got {found}; use .bool()")
    return mask


def _but(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], 1, *shape[axis + 1 :])


# --- the methods as functions: the first argument is the tensor ------------------------------------

argwhere = Indexing.argwhere
gather = Indexing.gather
index_add = Indexing.index_add
index_select = Indexing.index_select
masked_fill = Indexing.masked_fill
masked_select = Indexing.masked_select
nonzero = Indexing.nonzero
scatter = Indexing.scatter
scatter_add = Indexing.scatter_add
take_along_dim = Indexing.take_along_dim
index_copy = Indexing.index_copy
index_fill = Indexing.index_fill
index_put = Indexing.index_put
masked_scatter = Indexing.masked_scatter
scatter_reduce = Indexing.scatter_reduce
take = Indexing.take
