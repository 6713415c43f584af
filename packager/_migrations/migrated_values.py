"""A migrated state dict before anything is read: each key with its header and where its value comes from.

Steps work on these records alone, so a plan costs no bytes, and renaming or dropping never will. The
value itself is made from the stored ones when it is asked for.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from packager._archive import MAX_JOINS, MAX_TENSORS
from packager._quick_dataclasses import dataclass
from packager._state_dicts import StateDictView
from packager._tensors import DTYPES, WORDS, full, join, library_of
from packager._weights import LazyStateDict, LegacyTensor, as_lazy, bare, constant, made_whole, whole_array
from packager._weights import joined as joined_lazily

from .transforms import (
    CHANGING,
    LAZY,
    Header,
    NamedFunction,
    Slice,
    Transform,
    TransformError,
    Transpose,
    checked_axis,
    header_of,
)

_LEAST_WORK = 64  # bytes that anything counts, though an array be empty
_LONGEST_CHAIN = 200  # transforms on one value that are looked through; longer ones make it whole
_MOST_SIZES = 10  # in a message
_MOST_KEPT = 1 << 26  # bytes that functions made before they were read; those beyond are made again then


class Stored(NamedTuple):
    """The value under `key` of the state dict that entered."""

    key: str


@dataclass(frozen=True, slots=True)
class Changed:
    """Another value after a transform."""

    origin: Origin
    transform: Transform


@dataclass(frozen=True, slots=True)
class Joined:
    """Several values behind one another along an axis; along a new one where `stack`."""

    origins: tuple[Origin, ...]
    axis: int
    stack: bool


@dataclass(frozen=True, slots=True)
class Filled:
    """A value that the old state dict did not have."""

    fill: float | int | bool
    header: Header


Origin = Stored | Changed | Joined | Filled


class Value(NamedTuple):
    """One entry of a migrated state dict. `header` is None for what is not an array (extra state).

    `work` are the bytes of arrays that are made to make it; parts of one joined array each make it anew.
    `joins` counts the joined arrays inside each other.
    """

    header: Header | None
    origin: Origin
    work: int = 0
    joins: int = 0

    def changed(self, transform: Transform) -> Value:
        """Return this value after `transform`. Raises TransformError when it cannot be done."""
        if self.header is None:
            raise TransformError("the value is not an array")
        header = transform.header(self.header)
        more = 0 if isinstance(transform, (Slice, Transpose)) else size_in_bytes(header)
        return Value(header, Changed(self.origin, transform), self.work + more + _LEAST_WORK, self.joins)

    @classmethod
    def constant(cls, fill: float, header: Header) -> Value:
        """Return a value that the old state dict did not have."""
        return cls(header, Filled(fill, header), size_in_bytes(header) + _LEAST_WORK)


Values = dict[str, Value]


def stored_values(state: Mapping[str, Any]) -> dict[str, Value]:
    """Return the entering state dict as records; no bytes are read.

    A mapping that has `header(key)` is asked for shape and dtype (`Header`, or None for what is no
    array), a stored state dict for the `spec` of a tensor; only the values of others are looked at.

    >>> import numpy
    >>> stored_values({"weight": numpy.ones((2, 3), "float32")})["weight"].header.shape
    (2, 3)
    """
    header = _headers(state)
    return {key: Value(header(key), Stored(key)) for key in state}


def _headers(state: Mapping[str, Any]) -> Callable[[str], Header | None]:
    if callable(found := getattr(state, "header", None)):
        return cast("Callable[[str], Header | None]", found)
    if isinstance(state, StateDictView):
        return functools.partial(_header_of_spec, state)
    return lambda key: _header_of_value(state[key])


def _header_of_value(value: Any) -> Header | None:
    return None if is_open(value) or not is_array(value) else header_of(value)


def _header_of_spec(state: StateDictView, key: str) -> Header | None:
    try:
        spec = state.spec(key)
    except KeyError:
        return None
    if state.is_raw(key):
        return header_of(state[key])
    return Header(spec.shape, WORDS[spec.dtype].name)


def size_in_bytes(header: Header | None) -> int:
    """Return the bytes that an array takes in memory: eight for each of what are no numbers."""
    if header is None:
        return 0
    return header.size * (DTYPES[header.dtype].itemsize if header.dtype in DTYPES else 8)


def is_array(value: object) -> bool:
    """Say whether `value` has a shape and a dtype, whichever library it comes from.

    >>> import numpy
    >>> is_array(numpy.ones(2)), is_array([1.0, 2.0])
    (True, False)
    """
    return hasattr(value, "shape") and hasattr(value, "dtype")


def is_open(value: object) -> bool:
    """Say whether `value` is a parameter of a lazy module of PyTorch, whose shape the state dict decides."""
    if type(value).__module__ == "numpy":
        return False
    return any(
        base.__name__ == "UninitializedTensorMixin" and base.__module__ == "torch.nn.parameter"
        for base in type(value).__mro__
    )


def stored_keys(origin: Origin) -> list[str]:
    """Return the keys of the entering state dict that a value is made of, in order, each once.

    >>> stored_keys(stored_values({"weight": 3})["weight"].origin)
    ['weight']
    """
    return list(dict.fromkeys(one.key for one in _inside(origin) if isinstance(one, Stored)))


def runs_code(origin: Origin) -> bool:
    """Say whether a function of the user's own is called to make a value.

    >>> runs_code(stored_values({"weight": 3})["weight"].origin)
    False
    """
    return any(isinstance(one, Changed) and not isinstance(one.transform, LAZY) for one in _inside(origin))


def changes_values(origin: Origin) -> bool:
    """Say whether a value is more than elements that were moved.

    >>> changes_values(stored_values({"weight": 3})["weight"].origin)
    False
    """
    return any(isinstance(one, Changed) and isinstance(one.transform, CHANGING) for one in _inside(origin))


def _inside(origin: Origin) -> Iterator[Origin]:
    """Yield an origin and all that it is made of, in order; what is shared once."""
    work = [origin]
    seen: set[int] = set()  # parts of one joined array share it
    while work:
        one = work.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, Changed):
            work.append(one.origin)
        elif isinstance(one, Joined):
            work.extend(reversed(one.origins))


def joined(values: list[Value], axis: int, stack: bool) -> Value:
    """Join values behind one another. Raises TransformError where shapes or dtypes do not fit together."""
    headers = [value.header for value in values]
    first = headers[0]
    if first is None or any(header is None for header in headers):
        raise TransformError("a value is not an array")
    rank = len(first.shape) + stack
    axis = checked_axis("merge", axis, (0,) * rank)
    for header in headers:
        assert header is not None
        same = header.shape == first.shape if stack else _beside(header.shape, first.shape, axis)
        if not same or header.dtype != first.dtype:
            raise TransformError(f"merge along axis {axis}: {header} does not fit beside {first}")
    length = len(headers) if stack else sum(header.shape[axis] for header in headers if header is not None)
    shape = (*first.shape[:axis], length, *first.shape[axis + (not stack) :])
    origins = tuple(value.origin for value in values)
    header = Header(shape, first.dtype)
    work = sum(value.work for value in values) + size_in_bytes(header) + _LEAST_WORK
    joins = max(value.joins for value in values) + 1
    if joins > MAX_JOINS:
        raise TransformError(f"{joins} merges inside each other; at most {MAX_JOINS} are carried out")
    return Value(header, Joined(origins, axis, stack), work, joins)


def cut(value: Value, axis: int, sizes: list[int] | None, count: int) -> list[Value]:
    """Return the parts of a value along an axis, of the given sizes or equal ones.

    Raises TransformError where the sizes do not add up to the length of the axis.
    """
    if value.header is None:
        raise TransformError("the value is not an array")
    axis = checked_axis("split", axis, value.header.shape)
    length = value.header.shape[axis]
    if count > MAX_TENSORS:
        raise TransformError(f"split along axis {axis}: {count:,} parts; at most {MAX_TENSORS:,} are made")
    if sizes is None:
        if length % count:
            each, more = divmod(length, count)
            near = [each + (at < more) for at in range(count)] if count <= _MOST_SIZES else ...
            raise TransformError(
                f"split along axis {axis}: {length} rows do not make {count} equal parts; give their "
                f"lengths, such as sizes = {near}"
            )
        sizes = [length // count] * count
    if sum(sizes) != length or len(sizes) != count:
        raise TransformError(
            f"split along axis {axis}: found sizes = {sizes}; expected {count} lengths that add up to "
            f"{length}"
        )
    starts = itertools.accumulate(sizes[:-1], initial=0)
    return [value.changed(Slice(axis, at, at + size)) for at, size in zip(starts, sizes, strict=True)]


class MigratedDict(LazyStateDict):
    """The migrated state dict: values are made when they are read, and not kept.

    Renamed values are the stored ones themselves; split, sliced and transposed ones are views of
    them; merged, cast and rolled ones are new. `ran` names the migrations that it went through.

    >>> import numpy
    >>> from packager.migrations import Migration, migrate, rename
    >>> state = migrate(Migration("names", [rename("a", "b")]), {"a": numpy.ones(2)})
    >>> state.ran, list(state), state.header("b").shape
    (('names',), ['b'], (2,))
    """

    def __init__(
        self,
        values: Mapping[str, Value],
        state: Mapping[str, Any],
        ran: tuple[str, ...] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.ran = ran
        self._values = dict(values)
        self._state = state
        self._kept = _Kept()
        if metadata is not None:
            self._metadata = dict(metadata)

    def __getitem__(self, key: str) -> Any:
        origin = self._values[key].origin
        return self._state[origin.key] if type(origin) is Stored else made(origin, self._state)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def header(self, key: str) -> Header | None:
        """Return the shape and dtype of a value, without making it."""
        return self._values[key].header

    def lazy(self, key: str) -> Any:
        """Return a value to be read piece by piece.

        A LegacyTensor if it is a view of one, else a LazyArray; a value that is not an array is returned
        itself.
        """
        value = self._values[key]
        return (
            self[key]
            if value.header is None
            else bare(made(value.origin, self._state, lazy=True, kept=self._kept))
        )


class _Kept:
    """How many bytes are kept of what functions made before it was read."""

    def __init__(self) -> None:
        self._bytes = 0

    def room_for(self, array: Any) -> bool:
        """Say whether an array is to be kept, and count it."""
        self._bytes += array.nbytes
        return self._bytes <= _MOST_KEPT


def made(origin: Origin, state: Mapping[str, Any], *, lazy: bool = False, kept: _Kept | None = None) -> Any:
    """Return what an origin stands for: made of the stored values, or lazily of lazy ones."""
    kept = kept or _Kept()
    transforms: list[Transform] = []
    while isinstance(origin, Changed):  # chains may be long: no recursion
        transforms.append(origin.transform)
        origin = origin.origin
    value = _make_first(origin, state, lazy, kept)
    if lazy and len(transforms) > _LONGEST_CHAIN:
        return _made_whole(value, transforms, kept)
    for transform in reversed(transforms):
        known = isinstance(transform, LAZY)
        if not known and isinstance(value, LegacyTensor):
            value = whole_array(as_lazy(value))  # what a function gets wherever its value is made
        value = transform.apply(value) if known or not lazy else _made_whole(value, [transform], kept)
    return value


def _make_first(origin: Stored | Joined | Filled, state: Mapping[str, Any], lazy: bool, kept: _Kept) -> Any:
    match origin:
        case Stored(key):
            return as_lazy(state[key]) if lazy else state[key]
        case Joined(origins, axis, stack):
            parts = [made(part, state, lazy=lazy, kept=kept) for part in origins]
            return joined_lazily(parts, axis, stack=stack) if lazy else join(parts, axis, stack=stack)
        case Filled(fill, header):
            if lazy:
                return constant(header.shape, fill, header.dtype)
            # A constant of the library that the other values come from.
            other = next((state[key] for key in state if is_array(state[key])), None)
            return full(library_of(other), header.shape, fill, header.dtype)


def _made_whole(value: Any, transforms: list[Transform], kept: _Kept) -> Any:
    """Return what transforms that need a whole array make of it; the last one comes first."""

    def changed(array: Any) -> Any:
        for transform in reversed(transforms):
            array = transform.apply(array)
        return array

    header = Header(value.shape, value.dtype)
    if any(isinstance(transform, NamedFunction) and transform.result is None for transform in transforms):
        # Its shape and dtype are known by calling it alone. To keep what each function made would take the
        # memory of them all.
        made_now = changed(whole_array(value))
        if kept.room_for(made_now):
            return as_lazy(made_now)
        header = header_of(made_now)
    else:
        for transform in reversed(transforms):
            header = transform.header(header)
    return made_whole(value, changed, header.shape, header.dtype)


def _beside(shape: tuple[int, ...], other: tuple[int, ...], axis: int) -> bool:
    return len(shape) == len(other) and all(
        a == b for at, (a, b) in enumerate(zip(shape, other, strict=True)) if at != axis
    )
