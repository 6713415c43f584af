"""What a migration may do to a value: transpose, reshape, slice, roll, cast, scale, permute.

A transform is a frozen record. It says beforehand what becomes of a shape and a dtype (so that a plan
needs no bytes), does it to an array, and names its inverse where there is one. Arrays are those of
NumPy, kellet or PyTorch; the first four give views where the library can.

Lengths may be named by attributes of the module that is loaded into, as `"config.num_heads"` or
`"{p}.heads"`: such a transform is settled, key by key, before it is planned.

What none of these can do, a function of the user's own does, by its name. The name is one that an audit
judges: a migration that comes out of an archive does not run it unless the archive holds the function
itself or the caller trusts it. It has no inverse, and what it does to shapes is known only by running it,
where the migration does not say.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import math
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from packager._arguments import check_kind
from packager._audit import resolve_name
from packager._names import demangle, demangle_text
from packager._process import AnswerRequired
from packager._quick_dataclasses import dataclass, field, replace
from packager._tensors import DTYPES, cast, dtype_of, numpy_dtype, roll
from packager._texts import counted
from packager.errors import CodeExitError, CodeFailedError, MigrationError, PackageError

TARGET: Final = "target"
"""The shape that the module has under the new name."""

Lengths = tuple[int | str, ...]
"""Lengths of axes; a text is the path of an attribute of the module."""


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

    def apply(self, value: object) -> Any:
        """Return the changed value; `value` itself stays as it is."""

    def inverse(self) -> Transform | None:
        """Return what gives the old value back, whatever it was; None where nothing can."""

    # One that asks has `settled(asked)`, too, which returns it for one place, with numbers alone.


@dataclass(frozen=True, slots=True)
class Transpose:
    """Put the axes in another order; by default in the opposite one.

    >>> Transpose().header(Header((2, 3), "float32")).shape
    (3, 2)
    """

    axes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_kind("axes", self.axes, (tuple, list, type(None)), "the axes in their new order, or None")

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
            raise TransformError(
                f"transpose {list(order)} of an array with {counted(rank, 'axis', 'axes')}; expected each of "
                f"{list(range(rank))} once"
            )
        return order


@dataclass(frozen=True, slots=True)
class Reshape:
    """Give the elements another shape; one length may be -1.

    It has an inverse if `old` names the shape before. `Reshape("target")` gives the shape that the module
    has.

    >>> Reshape((-1, 2)).header(Header((2, 3), "float32")).shape
    (3, 2)
    """

    shape: Lengths | str
    old: Lengths | None = None

    def __post_init__(self) -> None:
        if isinstance(self.shape, str) and self.shape != TARGET:
            raise TransformError(f"reshape = {self.shape!r}: expected a list of lengths, or {TARGET!r}")

    def settled(self, asked: Any) -> Transform:
        """Return the same with numbers alone."""
        shape = asked.shape() if isinstance(self.shape, str) else asked.lengths(self.shape)
        return Reshape(shape, None if self.old is None else asked.lengths(self.old))

    def header(self, before: Header) -> Header:
        """Return the header afterwards. Raises TransformError where the number of elements differs."""
        given, was = _numbers(self.shape), None if self.old is None else _numbers(self.old)
        known = math.prod(n for n in given if n != -1)
        rest = before.size // known if given.count(-1) == 1 and known else 0
        shape = tuple(rest if n == -1 else n for n in given)
        if math.prod(shape) != before.size or given.count(-1) > 1 or min(shape, default=0) < 0:
            raise TransformError(
                f"reshape of {_shown(before.shape)} ({before.size} elements) to {_shown(given)}: "
                "the number of elements must stay the same"
            )
        if was is not None and Reshape(was).header(before).shape != before.shape:
            raise TransformError(
                f"reshape: found the shape {_shown(before.shape)}, expected {_shown(was)}; correct the old "
                "shape of the step (old=, in a file was), or leave it out"
            )
        return replace(before, shape=shape)

    def apply(self, value: Any) -> Any:
        return value.reshape(self.header(header_of(value)).shape)

    def inverse(self) -> Transform | None:
        if self.old is None:
            return None
        return Reshape(self.old, None if isinstance(self.shape, str) else self.shape)


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
    """Move the elements along an axis by `by` places, around the end.

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

    It has an inverse where the dtype that was there before is named in `old` and loses no value, but for
    whole numbers of more bits than a float has; `cannot_go_back` looks for such values.

    >>> Cast("float32", "float16").inverse(), Cast("float16", "float32").inverse()
    (Cast(dtype='float16', old='float32'), None)
    """

    dtype: str
    old: str | None = None

    def __post_init__(self) -> None:
        check_kind("dtype", self.dtype, str, "the name of a dtype, as 'float32'")

    def header(self, before: Header) -> Header:
        """Return the header afterwards. Raises TransformError where the dtype is not `old`."""
        if self.old is not None and before.dtype != self.old:
            raise TransformError(
                f"cast to {self.dtype}: found {before.dtype}, expected {self.old}; correct the old dtype "
                "of the step (old=, in a file was), or leave it out"
            )
        return replace(before, dtype=self.dtype)

    def apply(self, value: object) -> Any:
        return cast(value, self.dtype)

    def inverse(self) -> Transform | None:
        import numpy as np

        if self.old is None or not np.can_cast(numpy_dtype(self.old), numpy_dtype(self.dtype), "safe"):
            return None
        return Cast(self.old, self.dtype)


@dataclass(frozen=True, slots=True)
class Scale:
    """Multiply floating point values by a number.

    It has an inverse for powers of two, which round nothing but what becomes too large or too small for the
    dtype; `cannot_go_back` looks for such values.

    >>> Scale(0.5).inverse(), Scale(0.1).inverse()
    (Scale(by=2.0), None)
    """

    by: float

    def __post_init__(self) -> None:
        check_kind("by", self.by, (int, float), "a number")

    def header(self, before: Header) -> Header:
        """Return the header afterwards. Raises TransformError where the values are not floating point."""
        if not before.dtype.startswith(("float", "bfloat", "complex")):
            raise TransformError(
                f"scale of {before.dtype} values: expected a floating point dtype; cast before: "
                'Cast("float32")'
            )
        return before

    def apply(self, value: Any) -> Any:
        return cast(value * self.by, dtype_of(value))

    def inverse(self) -> Transform | None:
        exact = self.by != 0 and math.isfinite(self.by) and abs(math.frexp(self.by)[0]) == 0.5
        return Scale(1 / self.by) if exact and math.isfinite(1 / self.by) else None


@dataclass(frozen=True, slots=True)
class Permute:
    """Put the rows along an axis in the order of a regrouping.

    The axis is read as axes of the lengths `groups` (one may be -1), these are transposed to `order`,
    and read as one again. `Permute(0, ("config.num_attention_heads", -1, 2), (0, 2, 1))` is what turns the
    rotary weights of one Llama layout into those of the other.

    >>> import numpy
    >>> Permute(0, (2, 2), (1, 0)).apply(numpy.arange(4))
    array([0, 2, 1, 3])
    """

    axis: int
    groups: Lengths
    order: tuple[int, ...]

    def settled(self, asked: Any) -> Transform:
        """Return the same with numbers alone."""
        return Permute(self.axis, asked.lengths(self.groups), self.order)

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
            raise TransformError(
                f"permute: order {list(self.order)}; expected each of {list(range(len(self.groups)))} once"
            )
        return Reshape(self.groups).header(Header((shape[axis],), "")).shape


CHANGING = (Cast, Scale)
"""Transforms that change each element by itself."""

LAZY = (*CHANGING, Transpose, Reshape, Slice, Roll, Permute)
"""Those, and transforms that move elements: a lazy array can go through them."""


def header_of(value: Any) -> Header:
    """Return the header of an array of NumPy, kellet or PyTorch.

    >>> import numpy as np
    >>> header_of(np.zeros((2, 3), np.float32))
    Header(shape=(2, 3), dtype='float32')
    """
    return Header(tuple(map(int, value.shape)), dtype_of(value))


def _numbers(given: Lengths | str) -> tuple[int, ...]:
    """Return lengths that are numbers. Raises TransformError where the module was to be asked."""
    if isinstance(given, str) or any(isinstance(one, str) for one in given):
        raise TransformError(f"{given!r} needs a module; use it in rename(old, new, transform)")
    return tuple(one for one in given if isinstance(one, int))


def is_dtype(name: str) -> bool:
    """Say whether a dtype of NumPy, ml_dtypes, kellet or PyTorch has this name, as headers spell it."""
    return name in DTYPES and DTYPES[name].in_torch


def fill_problem(fill: float | int | bool, dtype: str) -> str:
    """Say why a constant is none of a dtype; "" where it is.

    >>> fill_problem(300, "uint8"), fill_problem(0.1, "float16")
    ('uint8 holds 0 to 255', '')
    """
    known = DTYPES.get(dtype)
    if known is None or known.kind == "complex" or not known.in_numpy:
        return ""
    if known.kind == "float":
        return "" if _stays_finite(fill, dtype) else f"{dtype} cannot hold so large a number"
    if not math.isfinite(fill) or int(fill) != fill:
        return f"{dtype} holds whole numbers only"
    if known.kind == "bool":
        return "" if fill in (0, 1) else "expected True or False"
    signed = known.kind == "int"
    least, most = (-(1 << known.bits - 1) if signed else 0), (1 << known.bits - signed) - 1
    return "" if least <= fill <= most else f"{dtype} holds {least:,} to {most:,}"


def _stays_finite(fill: float | int, dtype: str) -> bool:
    import numpy as np

    try:
        exact = float(fill)
    except OverflowError:
        return False
    with np.errstate(all="ignore"):
        made = float(np.array(exact).astype(numpy_dtype(dtype)))
    return math.isfinite(made) or not math.isfinite(exact)


def checked_axis(what: str, axis: int, shape: Sequence[int]) -> int:
    """Return `axis` counted from the front. Raises TransformError where the shape has no such axis."""
    if not -len(shape) <= axis < len(shape):
        raise TransformError(f"{what} along axis {axis}: an array of shape {_shown(shape)} has no such axis")
    return axis % len(shape)


def _with(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


def _shown(shape: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, shape)) + ")"


Find = Callable[[str, str], Any]


class FunctionError(TransformError, CodeFailedError):
    """A function that a migration names is missing, or raises."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a function is called: at which step and key, and with what beside the value."""

    where: str
    more: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """Call `module:name` with the value; what it returns is the new one.

    `result` may give the shape that it returns; `"target"` stands for the shape that the module has under the
    new name, and the function is then called with the value and that shape. Without it any shape and dtype
    may be returned, and the plan shows the old ones. `find` gets the module and the name, and returns the
    function. By default it imports as the calling code does: code of an archive finds the modules of its own
    archive first.

    Raises TransformError for a name of another form; FunctionError when it is planned if the function is
    missing, and with the step and the key if it raises.

    >>> NamedFunction("math:sqrt").apply(4)
    2.0
    """

    name: str
    result: tuple[int, ...] | str | None = None
    find: Find | None = field(default=None, compare=False, repr=False)
    place: _Place | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.result, str) and self.result != TARGET:
            raise TransformError(f"result = {self.result!r}: expected a list of lengths, or {TARGET!r}")
        check_kind("name", self.name, str, "a function by its name, as 'package.module:name'")
        module, colon, name = self.name.partition(":")
        if not (module and colon and name):
            raise TransformError(f"function {self.name!r}: expected its name as 'package.module:name'")
        if self.find is None:
            object.__setattr__(self, "find", _as_the_caller_imports())

    def settled(self, asked: Any) -> NamedFunction:
        """Return the same for one place: with the shape of the module, where that is asked for."""
        if self.result != TARGET:
            return replace(self, place=_Place(asked.where))
        shape = asked.shape()
        return replace(self, result=shape, place=_Place(asked.where, (shape,)))

    def header(self, before: Header) -> Header:
        self._function()
        shape = self._shape()
        return before if shape is None else Header(shape, before.dtype)

    def apply(self, value: object) -> Any:
        """Call the function.

        Raises FunctionError where it raises, CodeExitError where it ends with `sys.exit()` or the like, and
        TransformError for another shape than `result`.
        """
        function, shape, place = self._function(), self._shape(), self.place or _Place("")
        try:
            with AnswerRequired(self._what()):
                made = function(value, *place.more)
        except CodeExitError:
            raise
        except Exception as error:
            raise FunctionError(f"{self._what()} raised {_told(error)}") from error
        if hasattr(value, "shape") and not (hasattr(made, "shape") and hasattr(made, "dtype")):
            raise TransformError(f"{self._what()} returned {type(made).__name__}; expected an array")
        if shape is None:
            return made
        found, wanted = header_of(made), replace(header_of(value), shape=shape)
        if found != wanted:
            raise TransformError(
                f"{self._what()} returned {found}; expected {wanted}. Correct result = {[*shape]} of the "
                "step, or leave it out"
            )
        return made

    def _shape(self) -> tuple[int, ...] | None:
        if isinstance(self.result, str):
            raise TransformError(
                f"result = {self.result!r} needs a module; use it in rename(old, new, transform)"
            )
        return self.result

    def _what(self, what: str = "function") -> str:
        where = f"{self.place.where}: " if self.place is not None else ""
        return f"{where}{what} {self.name!r}"

    def inverse(self) -> Transform | None:
        return None

    def _function(self) -> Any:
        module, _, name = self.name.partition(":")
        assert self.find is not None
        try:
            with AnswerRequired(self._what(f"importing {module} for")):
                function = self.find(module, name)
        except (ImportError, AttributeError) as error:
            why = "'".join(map(demangle, str(error).split("'")))  # by names that the reader knows
            raise FunctionError(
                f"function {self.name!r} was not found: {why}; correct the name, or make the module "
                "importable"
            ) from error
        except PackageError:  # it may not be imported
            raise
        except Exception as error:
            what = f"{self._what()} was not found: importing {module} raised {_told(error)}"
            raise FunctionError(what) from error
        if not callable(function):
            raise TransformError(f"{self.name!r} is a {type(function).__name__}; expected a function")
        return function


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


def _told(error: BaseException) -> str:
    """Return an error of a function in one line, with the place in the function's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if len(frames) > 1 else None  # the first one is ours
    where = "" if last is None else f" ({last.filename}, line {last.lineno})"
    text = f": {error}" if str(error) else ""
    return demangle_text(f"{type(error).__name__}{text}{where}")
