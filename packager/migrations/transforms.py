"""What a migration may do to a value: transpose, reshape, slice, roll, cast, scale, permute.

A transform is a frozen record. It says beforehand what becomes of a shape and a dtype (so that a plan
needs no bytes), does it to an array, and names its inverse where there is one. Arrays are those of
NumPy, kellet or PyTorch; the first four give views where the library can.

A function of the user's own, by its name, does what no other transform can. The name is one that an audit
judges: a migration that comes out of an archive does not run it unless the archive holds the function itself
or the caller trusts it. It has no inverse, and what it does to shapes is known only by running it; so a plan
shows its values as they were.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from packager.errors import MigrationError
from packager.libraries import cast, dtype_of, roll
from packager.names import demangle
from packager.objects import resolve_name
from packager.tensors import DTYPES, numpy_dtype

Find = Callable[[str, str], Any]


class TransformError(MigrationError, ValueError):
    """A value does not have the shape or dtype that a transform needs."""


@dataclass(frozen=True, slots=True)
class Header:
    """What is known of a value without its bytes. `dtype` is NumPy's name ("float32", "bfloat16")."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


class Transform(Protocol):
    """One step on a value.

    >>> import numpy
    >>> turn: Transform = Transpose((1, 0))
    >>> turn.header(Header((2, 3), "float32")).shape, turn.apply(numpy.ones((2, 3))).shape
    ((3, 2), (3, 2))
    """

    def header(self, before: Header) -> Header:
        """Return what becomes of a value with this header. Raises TransformError when it cannot be done."""

    def apply(self, value: Any) -> Any:
        """Return the changed value; `value` itself stays as it is."""

    def inverse(self) -> Transform | None:
        """Return what gives the old value back, whatever it was; None where nothing can."""


@dataclass(frozen=True, slots=True)
class Transpose:
    """Put the axes in another order; by default in the opposite one.

    >>> Transpose().header(Header((2, 3), "float32")).shape
    (3, 2)
    """

    axes: tuple[int, ...] | None = None

    def header(self, before: Header) -> Header:
        return replace(before, shape=tuple(before.shape[axis] for axis in self._order(len(before.shape))))

    def apply(self, value: Any) -> Any:
        order = self._order(value.ndim)
        return value.permute(order) if hasattr(value, "permute") else value.transpose(order)

    def inverse(self) -> Transform:
        if self.axes is None:
            return self
        order = self._order(len(self.axes))
        return Transpose(tuple(order.index(axis) for axis in range(len(order))))

    def _order(self, rank: int) -> tuple[int, ...]:
        order = tuple(range(rank))[::-1] if self.axes is None else self.axes
        if sorted(order) != list(range(rank)):
            raise TransformError(f"transpose {list(order)} of a value with {rank} axes: name each axis once")
        return order


@dataclass(frozen=True, slots=True)
class Reshape:
    """Give the elements another shape; one -1 stands for what is left.

    It has an inverse where the shape that was there before is named in `old`.

    >>> Reshape((-1, 2)).header(Header((2, 3), "float32")).shape
    (3, 2)
    """

    shape: tuple[int, ...]
    old: tuple[int, ...] | None = None

    def header(self, before: Header) -> Header:
        """Return the header afterwards. Raises TransformError where the number of elements differs."""
        known = math.prod(n for n in self.shape if n != -1)
        rest = before.size // known if self.shape.count(-1) == 1 and known else 0
        shape = tuple(rest if n == -1 else n for n in self.shape)
        if math.prod(shape) != before.size or self.shape.count(-1) > 1 or min(shape, default=0) < 0:
            raise TransformError(
                f"reshape of {_shown(before.shape)} ({before.size} elements) to {_shown(self.shape)}: "
                "the number of elements must stay the same"
            )
        if self.old is not None and Reshape(self.old).header(before).shape != before.shape:
            raise TransformError(
                f"reshape of {_shown(before.shape)}: the rule says it was {_shown(self.old)}"
            )
        return replace(before, shape=shape)

    def apply(self, value: Any) -> Any:
        return value.reshape(self.header(header_of(value)).shape)

    def inverse(self) -> Transform | None:
        return None if self.old is None else Reshape(self.old, self.shape)


@dataclass(frozen=True, slots=True)
class Slice:
    """Keep the elements `start:stop` along an axis. Nothing gives back what is cut off.

    >>> Slice(0, 1).header(Header((3, 2), "float32")).shape
    (2, 2)
    """

    axis: int
    start: int | None = None
    stop: int | None = None

    def header(self, before: Header) -> Header:
        axis = checked_axis("slice", self.axis, before.shape)
        kept = len(range(*slice(self.start, self.stop).indices(before.shape[axis])))
        return replace(before, shape=_with(before.shape, axis, kept))

    def apply(self, value: Any) -> Any:
        axis = checked_axis("slice", self.axis, value.shape)
        # PyTorch wants bounds inside the axis, NumPy any: normalised, both agree.
        start, stop, _ = slice(self.start, self.stop).indices(value.shape[axis])
        return value[(slice(None),) * axis + (slice(start, max(start, stop)),)]

    def inverse(self) -> Transform | None:
        return None


@dataclass(frozen=True, slots=True)
class Roll:
    """Move the elements along an axis by `by` places; what falls off comes in at the other end.

    >>> import numpy
    >>> Roll(0, 1).apply(numpy.arange(3))
    array([2, 0, 1])
    """

    axis: int
    by: int

    def header(self, before: Header) -> Header:
        checked_axis("roll", self.axis, before.shape)
        return before

    def apply(self, value: Any) -> Any:
        axis = checked_axis("roll", self.axis, value.shape)
        return roll(value, self.by, axis)

    def inverse(self) -> Transform:
        return Roll(self.axis, -self.by)


@dataclass(frozen=True, slots=True)
class Cast:
    """Convert to another dtype.

    It has an inverse where the dtype that was there before is named in `old` and loses no value.

    >>> Cast("float32", "float16").inverse(), Cast("float16", "float32").inverse()
    (Cast(dtype='float16', old='float32'), None)
    """

    dtype: str
    old: str | None = None

    def header(self, before: Header) -> Header:
        """Return the header afterwards. Raises TransformError where the dtype is not `old`."""
        if self.old is not None and before.dtype != self.old:
            raise TransformError(f"cast of {before.dtype} to {self.dtype}: the rule says it was {self.old}")
        return replace(before, dtype=self.dtype)

    def apply(self, value: Any) -> Any:
        return cast(value, self.dtype)

    def inverse(self) -> Transform | None:
        import numpy as np

        if self.old is None or not np.can_cast(numpy_dtype(self.old), numpy_dtype(self.dtype), "safe"):
            return None
        return Cast(self.old, self.dtype)


@dataclass(frozen=True, slots=True)
class Scale:
    """Multiply floating point values by a number.

    It has an inverse for powers of two, where nothing is rounded as long as nothing overflows.

    >>> Scale(0.5).inverse(), Scale(0.1).inverse()
    (Scale(by=2.0), None)
    """

    by: float

    def header(self, before: Header) -> Header:
        """Return the header afterwards. Raises TransformError where the values are not floating point."""
        if not before.dtype.startswith(("float", "bfloat", "complex")):
            raise TransformError(f"scale of {before.dtype} values: cast them to a floating point dtype first")
        return before

    def apply(self, value: Any) -> Any:
        return cast(value * self.by, dtype_of(value))

    def inverse(self) -> Transform | None:
        exact = self.by != 0 and math.isfinite(self.by) and abs(math.frexp(self.by)[0]) == 0.5
        return Scale(1 / self.by) if exact else None


@dataclass(frozen=True, slots=True)
class Permute:
    """Put the rows along an axis in the order of a regrouping.

    The axis is read as axes of the lengths `groups` (one may be -1), these are transposed to `order`,
    and read as one again. `Permute(0, (heads, -1, 2), (0, 2, 1))` is what turns the rotary weights
    of one Llama layout into those of the other.

    >>> import numpy
    >>> Permute(0, (2, 2), (1, 0)).apply(numpy.arange(4))
    array([0, 2, 1, 3])
    """

    axis: int
    groups: tuple[int, ...]
    order: tuple[int, ...]

    def header(self, before: Header) -> Header:
        self._lengths(before.shape)
        return before

    def apply(self, value: Any) -> Any:
        axis = checked_axis("permute", self.axis, value.shape)
        lengths = self._lengths(tuple(value.shape))
        before, after = tuple(value.shape[:axis]), tuple(value.shape[axis + 1 :])
        grouped = value.reshape(before + lengths + after)
        middle = tuple(axis + at for at in self.order)
        order = tuple(range(axis)) + middle + tuple(range(axis + len(lengths), grouped.ndim))
        return Transpose(order).apply(grouped).reshape(tuple(value.shape))

    def inverse(self) -> Transform:
        back = tuple(self.order.index(at) for at in range(len(self.order)))
        return Permute(self.axis, tuple(self.groups[at] for at in self.order), back)

    def _lengths(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        axis = checked_axis("permute", self.axis, shape)
        if sorted(self.order) != list(range(len(self.groups))):
            raise TransformError(f"permute: order {list(self.order)} must name each of the groups once")
        return Reshape(self.groups).header(Header((shape[axis],), "")).shape


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """Call `module:name` with the value; what it returns is the new one.

    `result` may say what the shape will be; without it the plan takes it to stay the same. `find` gets
    the module and the name, and gives the function. By default it imports as the code does that names
    the function: code out of an archive means the modules of its own archive, whatever is installed
    beside it, and what it declared.

    Raises TransformError for a name of another form, and when it is planned for one that is not there.

    >>> NamedFunction("math:sqrt").apply(4)
    2.0
    """

    name: str
    result: tuple[int, ...] | None = None
    find: Find | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        module, colon, name = self.name.partition(":")
        if not (module and colon and name):
            raise TransformError(f"function {self.name!r}: expected its name as 'package.module:name'")
        if self.find is None:
            object.__setattr__(self, "find", _as_the_caller_imports())

    def header(self, before: Header) -> Header:
        self._function()
        return before if self.result is None else Header(self.result, before.dtype)

    def apply(self, value: Any) -> Any:
        """Call the function. Raises TransformError for a result of another shape than `result`."""
        made = self._function()(value)
        if self.result is not None and header_of(made).shape != self.result:
            raise TransformError(
                f"function {self.name!r} made a value of shape {list(header_of(made).shape)}; the migration "
                f"says {list(self.result)}"
            )
        return made

    def inverse(self) -> Transform | None:
        return None

    def _function(self) -> Any:
        module, _, name = self.name.partition(":")
        assert self.find is not None
        try:
            function = self.find(module, name)
        except (ImportError, AttributeError) as error:
            why = "'".join(map(demangle, str(error).split("'")))  # by names that the reader knows
            raise TransformError(f"function {self.name!r} was not found: {why}") from error
        if not callable(function):
            raise TransformError(f"{self.name!r} is {type(function).__name__}, not a function")
        return function


LAZY = (Transpose, Reshape, Slice, Roll, Cast, Scale, Permute)
"""Transforms that move elements, or change each by itself: a lazy array can go through them."""


def header_of(value: Any) -> Header:
    """Return the header of an array of NumPy, kellet or PyTorch.

    >>> import numpy as np
    >>> header_of(np.zeros((2, 3), np.float32))
    Header(shape=(2, 3), dtype='float32')
    """
    return Header(tuple(map(int, value.shape)), dtype_of(value))


def is_dtype(name: str) -> bool:
    """Say whether a dtype of NumPy, ml_dtypes, kellet or PyTorch has this name, as headers spell it."""
    return name in DTYPES and DTYPES[name].in_torch


def checked_axis(what: str, axis: int, shape: Sequence[int]) -> int:
    """Return `axis` counted from the front. Raises TransformError where the shape has no such axis."""
    if not -len(shape) <= axis < len(shape):
        raise TransformError(f"{what} along axis {axis}: the value has shape {_shown(shape)}")
    return axis % len(shape)


def find_function(module: str, name: str) -> Any:
    """Return the function `name` of a module. Raises ImportError and AttributeError where it is not there."""
    return resolve_name(importlib.import_module(module), name)


def _as_the_caller_imports() -> Find:
    """Return what finds functions as the code outside of this package does that is asking now.

    Code out of an archive has an `__import__` of its own. Migrations that it reads from a file, or makes by
    functions of this package, are its own too, so it is the first frame above all of these that counts.
    """
    own = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == own:
        frame = frame.f_back
    found = frame.f_builtins.get("__import__", builtins.__import__)
    return find_function if found is builtins.__import__ else functools.partial(_find_by, found)


def _find_by(imported: Callable[..., Any], module: str, name: str) -> Any:
    # With a name that every module has, the module itself is the answer, and nothing else is imported.
    return resolve_name(imported(module, None, None, ("__name__",), 0), name)


def _with(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


def _shown(shape: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, shape)) + ")"
