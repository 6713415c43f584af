"""Reading and writing parts: everything that NumPy takes as an index, tensors too, and index tensors.

Slices, integers, None and Ellipsis give views; arrays of integers or bools give copies.
"""

from __future__ import annotations

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
        """Take the values at `index`, which has as many axes as this tensor, none but `dim` longer.

        >>> kellet.gather(kellet.tensor([[1, 2], [3, 4]]), 1, kellet.tensor([[1], [0]]))
        tensor([[2],
                [3]])
        """
        row = self._row()
        axis = axis_of(dim, row._array.ndim)
        places = _places("gather", row, index, axis)
        taken = apply(RULES["gather"], (row, places), {"axis": axis})
        return taken if taken.shape == index.shape else taken.reshape(index.shape)

    def scatter(self, dim: int, index: Tensor, src: Any) -> Tensor:
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
                f"must agree but for axis {axis}"
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

    def scatter_(self, dim: int, index: Tensor, src: Any) -> Tensor:
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

    def masked_fill(self, mask: Tensor, value: Any) -> Tensor:
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

    def where(self, condition: Tensor, other: Any) -> Tensor:
        """Return this tensor where `condition` is True, `other` elsewhere."""
        return where(condition, self, other)  # type: ignore[no-any-return]  # a Tensor, of three arguments


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
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
    """What is to be written at `index`, without the leading axes of length 1 that NumPy lets pass."""
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
        array = np.array(one) if len(one) else np.array(one, dtype=np.int64)
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
            f"axes, none but axis {axis} longer"
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
