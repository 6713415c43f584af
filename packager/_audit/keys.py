"""What may be a key of a dict, or a member of a set, in data that brings no code.

A key is hashed, and compared with others. That must not run what a class defines in Python, unless the class
is one of those that are known to hash what they hold, and hold what can be hashed. Nor may it go on without
end: a tuple hashes its parts anew each time, one level of the stack for each level of nesting, and a part
that it holds twice, twice; a number takes as long as it has digits; and hashes that collide make each key
walk past all others.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Collection, Iterator, Sequence

from packager._archive import FREE_KEY_PARTS, FREE_KEYS, KEY_PARTS_PER_OPERAND, MAX_KEY_DEPTH
from packager._objects import (
    ROWS,
    Builder,
    Kind,
    Record,
    require_spread,
    require_spread_parts,
)

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Any, Final

_PLAIN: Final = frozenset({str, int, float, bool, bytes, complex, type(None)})
_KNOWN: Final = frozenset(
    {"fractions:Fraction", "torch:Tensor", "torch.nn.parameter:Parameter"}
    | {f"ipaddress:IPv{n}{kind}" for n in (4, 6) for kind in ("Address", "Network", "Interface")}
    | {f"kellet.core.{name}" for name in ("tensor:Tensor", "device:Device")}
    | {f"kellet.nn.parameter:{name}" for name in ("Parameter", "Buffer")}
    | {f"pathlib{part}:Pure{kind}Path" for part in ("", "._local") for kind in ("", "Posix", "Windows")}
)
_BITS_PER_PART: Final = 512
"""Bits of a number that are hashed in the time that a part of a tuple takes."""


class KeyChecks:
    """The keys of one object while it is built: each is looked at before it is hashed, and all are counted.

    `trusted` are the ids of classes that the caller vouches for; `operands` counts those of the table, by
    which the parts of all keys together are bounded.

    >>> checks = KeyChecks(lambda: 10)
    >>> checks.check_keys(["a", 1, (2.5, None), int])
    >>> from pathlib import Path
    >>> checks.check_keys([Path()])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: a key or member of a set is an instance of pathlib...Path, whose own code would run
    """

    def __init__(self, operands: Callable[[], int], trusted: Collection[int] = ()) -> None:
        self.has_large_numbers = False
        self._operands = operands
        self._trusted = trusted
        self._parts = 0
        self._filled: set[int] = set()
        self._fractions: dict[int, Fraction] = {}  # by their ids: one is met twice while it is measured
        self._fractions_spread = 0
        # What hashing costs and how deep it goes, by the id of what is kept by the builder.
        self._known: dict[int, tuple[int, int]] = {}

    def note_large_number(self) -> None:
        """Note that a number of many digits is there, which takes its time to be hashed."""
        self.has_large_numbers = True

    def check_keys(self, values: Collection[Any], *, in_set: bool = False) -> None:
        """Raise ValueError unless each value can be hashed and compared, in a time that fits its size.

        No code of a class runs, but where the class is trusted.
        """
        kinds = set(map(type, values))
        if not kinds <= _PLAIN or (self.has_large_numbers and int in kinds):
            for value in values:
                if type(value) is tuple and not self.has_large_numbers and set(map(type, value)) <= _PLAIN:
                    self._parts += len(value) + 1
                    continue
                parts, depth = self._measured(value)
                self._parts += parts
                if depth > MAX_KEY_DEPTH:
                    raise ValueError(
                        f"a key or member of a set is nested {depth} deep; its hash may take at most "
                        f"{MAX_KEY_DEPTH} levels of the stack"
                    )
            if self._parts > FREE_KEY_PARTS:
                self._require_paid()
            if len(self._fractions) > FREE_KEYS + self._fractions_spread * 5 // 4:
                require_spread_parts(self._fractions.values())
                self._fractions_spread = len(self._fractions)
        if len(values) > FREE_KEYS:
            require_spread(values, in_set=in_set, kinds=kinds)

    def check_more_keys(self, target: Any, values: Collection[Any]) -> None:
        """Raise ValueError unless a dict or a set may be given these keys, once, beside what it holds."""
        if id(target) in self._filled:
            raise ValueError(f"a {type(target).__qualname__} is given keys or members twice")
        self._filled.add(id(target))
        in_set = type(target) is set
        self.check_keys(values, in_set=in_set)
        if len(values) and issubclass(type(target), dict | set):
            held = (set if in_set else dict).__iter__(target)
            require_spread([*held, *values], in_set=in_set)

    def _require_paid(self) -> None:
        most = FREE_KEY_PARTS + KEY_PARTS_PER_OPERAND * self._operands()
        if self._parts > most:
            raise ValueError(f"keys or members of sets have {self._parts} parts in all; the limit is {most}")

    def _measured(self, key: Any) -> tuple[int, int]:
        """Return of how many parts a key is made for whoever hashes it, and how deep they are nested."""
        known = self._known
        waiting = [key]
        while waiting:
            value = waiting[-1]
            if id(value) in known:
                waiting.pop()
                continue
            parts = [] if type(value) in _PLAIN else self._parts_of(value)
            missing = [part for part in parts if id(part) not in known]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            sizes = [known[id(part)] for part in parts]
            if issubclass(type(value), frozenset):
                known[id(value)] = (len(sizes) + 1, 1)  # it keeps the hashes of its members
                continue
            known[id(value)] = (
                _size(value) + sum(size for size, _ in sizes),
                1 + max((depth for _, depth in sizes), default=0),
            )
            # A tuple that is too deep, or too large, is refused whatever holds it.
            if known[id(value)][1] > MAX_KEY_DEPTH:
                return known[id(value)]
        return known[id(key)]

    def _parts_of(self, value: Any) -> Collection[Any]:
        """Return what is hashed with a value; raise ValueError where code of its class would run."""
        cls = type(value)
        if id(cls) not in self._trusted and not (_is_built_in(cls) or _is_known(value, cls)):
            raise ValueError(
                f"a key or member of a set is an instance of {cls.__module__}.{cls.__qualname__}, "
                "whose own code would run"
            )
        if issubclass(cls, tuple | frozenset):
            return [*(tuple if issubclass(cls, tuple) else frozenset).__iter__(value)]
        if cls is slice or cls is range:
            return [value.start, value.stop, value.step]
        if _name_of(cls) == "fractions:Fraction":
            self._fractions[id(value)] = value
            return [value._numerator, value._denominator]
        if cls is types.GenericAlias:
            return [value.__origin__, value.__args__]
        return _fields_of(value)


def _size(value: Any) -> int:
    if type(value) is int:
        return 1 + value.bit_length() // _BITS_PER_PART
    return 1 + value.__sizeof__() * 8 // _BITS_PER_PART if _name_of(type(value)) == "decimal:Decimal" else 1


def _fields_of(value: Any) -> Collection[Any]:
    """Return the dtypes that a dtype is made of, which NumPy hashes with it."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not issubclass(type(value), numpy.dtype):
        return []
    if value.subdtype is not None:
        return [value.subdtype[0]]
    return [part[0] for part in (value.fields or {}).values()]


def _is_built_in(cls: type) -> bool:
    """Whether both methods are written in C, or those of `object`: they go by identity, or by value."""
    return all(
        isinstance(getattr(cls, name, None), types.WrapperDescriptorType) for name in ("__hash__", "__eq__")
    )


def _is_known(value: Any, cls: type) -> bool:
    import enum  # most keys are of built-in classes
    from uuid import UUID

    if issubclass(cls, enum.Enum):
        return cls.__members__.get(value._name_) is value or type(value._value_) is int
    if cls is UUID:
        return type(getattr(value, "int", None)) is int
    return _name_of(cls) in _KNOWN


def _name_of(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


# --- the same, read off a table ---


def refused_keys(records: Sequence[Record]) -> Iterator[tuple[int, str]]:
    """Yield the records of a checked table whose keys building would refuse, with the reason.

    Containers of scalars are built for that; whatever else a key may be stands for itself.
    """
    builder = Builder(_Keys(records), {}, None, None, None)
    built = builder.built
    given: dict[int, Any] = {}  # what more is given to, in the place of what it was made as
    for index, record in enumerate(records):
        kind, made, subject = record[0], object(), index
        try:
            if kind in _GIVEN:
                subject = -1 - record[1]
                mark = built[subject]
                built[subject] = given.setdefault(subject, _GIVEN[kind]())
                try:
                    ROWS[kind].make(builder, record)
                finally:
                    built[subject] = mark
            elif kind in _KEPT:
                made = ROWS[kind].make(builder, record)
            elif kind in _HOLDERS:
                ROWS[kind].make(builder, record)
        except ValueError as error:
            yield subject, str(error)
        built.append(made)


class _Keys:
    """A table as its builder asks it, where only keys are looked at."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records

    def gates(self, names: object) -> KeyChecks:
        """Return what is asked of keys."""
        return KeyChecks(lambda: sum(map(len, self.records)))


_GIVEN: Final = {Kind.UPDATE: dict, Kind.UPDATE_LONG: dict, Kind.ADD: set}
_KEPT: Final = frozenset({Kind.INT, Kind.STR, Kind.BYTES, Kind.PACKED_TUPLE, Kind.TUPLE, Kind.FROZENSET})
_HOLDERS: Final = frozenset(
    {Kind.SET, Kind.DICT, Kind.PACKED_DICT, Kind.LONG_DICT, Kind.LONG_SET, Kind.LONG_FROZENSET}
)
