"""Methods that change the shape, and take apart and join: most return views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..autograd import Variable
from ..errors import ShapeError
from ..rules import RULES
from .arranging import (
    diag,
    diag_embed,
    diagflat,
    diagonal,
    diff,
    fliplr,
    flipud,
    repeat_interleave,
    rot90,
    split_with_sizes,
    tensor_split,
    tile,
    trace,
    tril,
    triu,
)
from .axes import axes_of, axis_of, shape_of, whole_shape
from .dispatch import NONE, apply, apply_all

if TYPE_CHECKING:
    from .tensor import Tensor


class Shaping(Variable):
    """Shapes and axes."""

    __slots__ = ()

    def reshape(self, *shape: Any) -> Tensor:
        """Return the values in another shape, a view where memory allows; one size may be -1.

        Raises ShapeError when the number of elements does not fit.

        >>> kellet.reshape(kellet.ones(2, 3), (3, -1)).shape
        (3, 2)
        """
        return apply(RULES["reshape"], (self,), {"shape": whole_shape(shape_of(shape), self._array.size)})

    def view(self, *shape: Any) -> Tensor:
        """Return the same memory in another shape; one size may be -1.

        Raises ShapeError when the number of elements does not fit, or when only a copy would have
        that shape.
        """
        target = whole_shape(shape_of(shape), self._array.size)
        result = apply(RULES["reshape"], (self,), {"shape": target})
        shared = result._counter is self._counter and self._counter is not None
        if not shared and self._array.size:  # what has no element has no memory
            raise ShapeError(
                f"view: shape {target} is not compatible with the memory of this tensor (shape "
                f"{self._array.shape}, strides {self._array.strides}); use .reshape(...), which copies "
                "where it must"
            )
        return result

    def view_as(self, other: Tensor) -> Tensor:
        """Return the same memory in the shape of `other`."""
        return self.view(other._array.shape)

    def reshape_as(self, other: Tensor) -> Tensor:
        """Return the values in the shape of `other`."""
        return self.reshape(other._array.shape)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Make one axis of those from `start_dim` to `end_dim`.

        Raises ValueError where `start_dim` comes after `end_dim`.

        >>> kellet.flatten(kellet.ones(2, 3, 4), start_dim=1).shape
        (2, 12)
        """
        shape = self._array.shape
        first, last = axis_of(start_dim, len(shape)), axis_of(end_dim, len(shape))
        if first > last:
            raise ValueError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}; swap them")
        return self.reshape(
            (*shape[:first], -1 if self._array.size else _size(shape[first : last + 1]), *shape[last + 1 :])
        )

    def unflatten(self, dim: int, sizes: Sequence[int]) -> Tensor:
        """Make several axes, of these sizes, of one.

        >>> kellet.unflatten(kellet.ones(2, 6), 1, (3, -1)).shape
        (2, 3, 2)
        """
        shape = self._array.shape
        axis = axis_of(dim, len(shape))
        return self.reshape((*shape[:axis], *whole_shape(tuple(sizes), shape[axis]), *shape[axis + 1 :]))

    def ravel(self) -> Tensor:
        """Put all values in one axis.

        >>> kellet.ravel(kellet.tensor([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
        """
        return self.reshape(-1)

    # --- axes -------------------------------------------------------------------------------------

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """Swap two axes; a view.

        >>> kellet.transpose(kellet.ones(2, 3), 0, 1).shape
        (3, 2)
        """
        axes = list(range(self._array.ndim))
        first, second = axis_of(dim0, len(axes)), axis_of(dim1, len(axes))
        if axes:
            axes[first], axes[second] = axes[second], axes[first]
        return apply(RULES["permute"], (self,), {"axes": tuple(axes)})

    swapaxes = transpose

    def permute(self, *dims: Any) -> Tensor:
        """Put the axes in another order; a view. Raises ShapeError unless each axis is named once.

        >>> kellet.permute(kellet.ones(2, 3, 4), (2, 0, 1)).shape
        (4, 2, 3)
        """
        ndim = self._array.ndim
        axes = tuple([axis_of(dim, ndim) for dim in shape_of(dims)])
        if sorted(axes) != list(range(ndim)):
            raise ShapeError(f"permute: {axes} does not name each of the {ndim} axes once; list every axis")
        return apply(RULES["permute"], (self,), {"axes": axes})

    def movedim(self, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
        """Move axes to other positions, the others staying in order; a view.

        Raises ShapeError unless there is one target for each axis.

        >>> kellet.movedim(kellet.ones(2, 3, 4), 0, -1).shape
        (3, 4, 2)
        """
        ndim = self._array.ndim
        sources = axes_of((source,) if isinstance(source, int) else source, ndim) or ()
        targets = axes_of((destination,) if isinstance(destination, int) else destination, ndim) or ()
        if len(sources) != len(targets):
            raise ShapeError(
                f"movedim: {source} and {destination} must be equally long; name one target for each axis"
            )
        axes = [axis for axis in range(ndim) if axis not in sources]
        for target, axis in sorted(zip(targets, sources, strict=True)):
            axes.insert(target, axis)
        return apply(RULES["permute"], (self,), {"axes": tuple(axes)})

    moveaxis = movedim
    swapdims = transpose

    def t(self) -> Tensor:
        """Transpose a matrix, a view; vectors and single values as they are.

        Raises ShapeError for more than two axes.

        >>> kellet.t(kellet.ones(2, 3)).shape
        (3, 2)
        """
        if self._array.ndim > 2:
            raise ShapeError(
                f"t() expects at most 2 axes, the tensor has {self._array.ndim}; use transpose(dim0, dim1)"
            )
        return self.T

    @property
    def T(self) -> Tensor:
        """The axes in reverse order, a view."""
        return apply(RULES["permute"], (self,), {"axes": tuple(range(self._array.ndim))[::-1]})

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped, a view."""
        return self.transpose(-2, -1)

    def unsqueeze(self, dim: int) -> Tensor:
        """Add an axis of length 1 at position `dim`; a view.

        >>> kellet.unsqueeze(kellet.ones(2, 3), 1).shape
        (2, 1, 3)
        """
        shape = self._array.shape
        axis = axis_of(dim, len(shape) + 1)
        return apply(RULES["reshape"], (self,), {"shape": (*shape[:axis], 1, *shape[axis:])})

    def squeeze(self, dim: int | Sequence[int] | None = None) -> Tensor:
        """Leave out the axes of length 1 (all, or those named in `dim`); a view.

        >>> kellet.squeeze(kellet.ones(1, 3, 1)).shape
        (3,)
        """
        shape = self._array.shape
        axes = axes_of(dim, len(shape))
        kept = [n for i, n in enumerate(shape) if n != 1 or (axes is not None and i not in axes)]
        return apply(RULES["reshape"], (self,), {"shape": tuple(kept)})

    def expand(self, *sizes: Any) -> Tensor:
        """Repeat axes of length 1 to these sizes, a view that cannot be written; -1 keeps a size.

        Raises ShapeError for sizes that the axes cannot be repeated to.

        >>> kellet.broadcast_to(kellet.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
        """
        wanted = shape_of(sizes)
        shape = self._array.shape
        lead = len(wanted) - len(shape)
        full = tuple([shape[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(wanted)])
        if lead < 0 or any(n not in (1, m) for n, m in zip(shape, full[lead:], strict=True)) or -1 in full:
            raise ShapeError(
                f"expand: shape {shape} cannot become {wanted}; only axes of length 1 grow, and new ones "
                "come first"
            )
        return apply(RULES["expand"], (self,), {"shape": full})

    def expand_as(self, other: Tensor) -> Tensor:
        """Repeat axes of length 1 to the shape of `other`; a view.

        >>> kellet.expand_as(kellet.tensor([1, 2]), kellet.ones(3, 2)).shape
        (3, 2)
        """
        return self.expand(other._array.shape)

    broadcast_to = expand

    def repeat(self, *sizes: Any) -> Tensor:
        """Repeat the tensor along each axis that many times; a copy.

        Raises ShapeError for fewer sizes than axes.
        """
        times = shape_of(sizes)
        shape = (1,) * (len(times) - self._array.ndim) + self._array.shape
        if len(times) < self._array.ndim:
            raise ShapeError(
                f"repeat: {times} has fewer sizes than the {self._array.ndim} axes; give one for each"
            )
        pairs = [size for pair in zip((1,) * len(times), shape, strict=True) for size in pair]
        wide = [size for pair in zip(times, shape, strict=True) for size in pair]
        laid = self.reshape(pairs).expand(wide)
        return laid.reshape([n * m for n, m in zip(times, shape, strict=True)])

    # --- parts ------------------------------------------------------------------------------------

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        """Return `length` entries from `start` along `dim`, a view.

        Raises IndexError for entries out of range.

        >>> kellet.narrow(kellet.tensor([1, 2, 3]), 0, 1, 2)
        tensor([2, 3])
        """
        axis = axis_of(dim, self._array.ndim)
        size = self._array.shape[axis]
        first = start + size if start < 0 else start
        if not 0 <= first <= first + length <= size:
            raise IndexError(
                f"narrow: {start} to {start} + {length} is out of the {size} entries of axis {axis}"
            )
        return apply(RULES["narrow"], (self,), {"axis": axis, "start": first, "length": length})

    def select(self, dim: int, index: int) -> Tensor:
        """Return one entry along `dim`, without that axis; a view.

        Raises IndexError for an entry out of range.

        >>> kellet.select(kellet.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
        """
        axis = axis_of(dim, self._array.ndim)
        size = self._array.shape[axis]
        if not -size <= index < size:
            raise IndexError(f"select: index {index} is out of range for axis {axis} with {size} entries")
        return apply(RULES["select"], (self,), {"axis": axis, "index": index % size})

    def split(self, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Split along `dim` into views of `split_size` (the last may be shorter), or of the sizes listed.

        Raises ValueError for pieces of no size, ShapeError for sizes of another sum.

        >>> kellet.split(kellet.arange(5), 3)
        (tensor([0, 1, 2]), tensor([3, 4]))
        """
        axis = axis_of(dim, self._array.ndim)
        size = self._array.shape[axis]
        if isinstance(split_size, int):
            if split_size <= 0:
                raise ValueError(f"split: the size of a piece must be positive, got {split_size}")
            sizes = [min(split_size, size - start) for start in range(0, max(size, 1), split_size)]
        else:
            sizes = list(split_size)
        if sum(sizes) != size:
            raise ShapeError(
                f"split: the sizes {sizes} sum to {sum(sizes)}, but axis {axis} has {size} entries"
            )
        return apply_all(RULES["split"], (self,), {"sizes": tuple(sizes), "axis": axis})

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """Split into at most `chunks` pieces of equal size along `dim` (the last may be shorter); views.

        An axis of length 0 gives `chunks` empty pieces.

        Raises ValueError for a number of pieces below 1.

        >>> kellet.chunk(kellet.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        """
        if chunks <= 0:
            raise ValueError(f"chunk: the number of pieces must be positive, got {chunks}")
        size = self._array.shape[axis_of(dim, self._array.ndim)]
        return self.split(-(-size // chunks) if size else [0] * chunks, dim)

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """Return every entry along `dim`, without that axis; views.

        >>> kellet.unbind(kellet.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
        """
        return apply_all(RULES["unbind"], (self,), {"axis": axis_of(dim, self._array.ndim)})

    # --- turned -----------------------------------------------------------------------------------

    def flip(self, *dims: Any) -> Tensor:
        """Reverse the order along these axes; a copy.

        >>> kellet.flip(kellet.tensor([1, 2, 3]), 0)
        tensor([3, 2, 1])
        """
        axes = axes_of(shape_of(dims), self._array.ndim)
        if not axes:
            return self.clone()  # type: ignore[attr-defined,no-any-return]  # a Tensor
        return apply(RULES["flip"], (self,), {"axis": axes})

    def roll(self, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Tensor:
        """Move the entries along `dims` (or in the flat order); those that fall out come in again.

        Raises ValueError unless there is one shift for each axis.

        >>> kellet.roll(kellet.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
        """
        if dims is None:
            return self.flatten().roll(shifts, 0).reshape(self._array.shape)
        moves = (shifts,) if isinstance(shifts, int) else tuple(shifts)
        axes = tuple([axis_of(d, self._array.ndim) for d in ((dims,) if isinstance(dims, int) else dims)])
        if len(moves) != len(axes):
            raise ValueError(f"roll: {len(moves)} shifts for {len(axes)} axes; give one for each")
        return apply(RULES["roll"], (self,), {"shifts": moves, "axis": axes})

    def contiguous(self) -> Tensor:
        """Return the tensor itself where its memory is in order, else a copy that is."""
        if self._array.flags.c_contiguous:
            return self  # type: ignore[return-value]  # self is a Tensor
        return apply(RULES["clone"], (self,), NONE)

    def is_contiguous(self) -> bool:
        """Say whether the memory is in the order of the axes, without gaps."""
        return bool(self._array.flags.c_contiguous)

    def unfold(self, dimension: int, size: int, step: int) -> Tensor:
        """View windows of `size` values, `step` apart, along an axis; their values are a new last axis.

        Raises ShapeError where the windows do not fit, or a step is below 1.
        """
        axis = axis_of(dimension, self._array.ndim)
        if not self._array.ndim and size == 1:
            return apply(RULES["reshape"], (self,), {"shape": (1,)})
        length = self._array.shape[axis] if self._array.ndim else 1
        if not 0 < size <= length or step < 1:
            raise ShapeError(
                f"unfold: windows of {size}, {step} apart, do not fit axis {axis} of length {length}; size "
                "must be between 1 and that, and step positive"
            )
        return apply(RULES["windows"], (self,), {"axis": axis, "size": size, "step": step})

    # --- what arranging.py defines ----------------------------------------------------------------

    diagonal = diagonal
    diag = diag
    diag_embed = diag_embed
    trace = trace
    tril = tril
    triu = triu
    tensor_split = tensor_split
    diff = diff
    tile = tile
    repeat_interleave = repeat_interleave
    rot90 = rot90
    diagflat = diagflat
    fliplr = fliplr
    flipud = flipud
    split_with_sizes = split_with_sizes


def _size(shape: tuple[int, ...]) -> int:
    product = 1
    for n in shape:
        product *= n
    return product


# --- the methods as functions: the first argument is the tensor ------------------------------------

broadcast_to = Shaping.broadcast_to
chunk = Shaping.chunk
expand_as = Shaping.expand_as
flatten = Shaping.flatten
flip = Shaping.flip
moveaxis = Shaping.movedim
movedim = Shaping.movedim
narrow = Shaping.narrow
permute = Shaping.permute
ravel = Shaping.ravel
reshape = Shaping.reshape
roll = Shaping.roll
select = Shaping.select
split = Shaping.split
squeeze = Shaping.squeeze
swapaxes = Shaping.swapaxes
swapdims = Shaping.transpose
t = Shaping.t
transpose = Shaping.transpose
unbind = Shaping.unbind
unflatten = Shaping.unflatten
unsqueeze = Shaping.unsqueeze
