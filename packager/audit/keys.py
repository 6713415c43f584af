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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from packager.archive import FREE_KEY_PARTS, FREE_KEYS, KEY_PARTS_PER_OPERAND, MAX_KEY_DEPTH
from packager.objects import (
    FILLS,
    MISSING,
    Kind,
    Record,
    is_reference,
    require_spread,
    require_spread_parts,
    values_of,
)

TYPE_CHECKING = False  # as in packager.lazy
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
    >>> checks.require(["a", 1, (2.5, None), int])
    >>> from pathlib import Path
    >>> checks.require([Path()])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: a key, or a member of a set, is an instance of pathlib...Path, whose own code would run
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

    def require(self, values: Collection[Any], *, in_set: bool = False) -> None:
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
                        f"a key, or a member of a set, is nested {depth} deep, expected at most "
                        f"{MAX_KEY_DEPTH}; its hash would take as many levels of the stack"
                    )
            if self._parts > FREE_KEY_PARTS:
                self._require_paid()
            if len(self._fractions) > FREE_KEYS + self._fractions_spread * 5 // 4:
                require_spread_parts(self._fractions.values())
                self._fractions_spread = len(self._fractions)
        if len(values) > FREE_KEYS:
            require_spread(values, in_set=in_set, kinds=kinds)

    def require_more(self, target: Any, values: Collection[Any]) -> None:
        """Raise ValueError unless a dict or a set may be given these keys, once, beside what it holds."""
        if id(target) in self._filled:
            raise ValueError(f"a {type(target).__qualname__} is given keys or members twice")
        self._filled.add(id(target))
        in_set = type(target) is set
        self.require(values, in_set=in_set)
        if len(values) and issubclass(type(target), dict | set):
            held = (set if in_set else dict).__iter__(target)
            require_spread([*held, *values], in_set=in_set)

    def _require_paid(self) -> None:
        most = FREE_KEY_PARTS + KEY_PARTS_PER_OPERAND * self._operands()
        if self._parts > most:
            raise ValueError(f"keys, or members of sets, of {self._parts} parts in all; {most} are allowed")

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
                f"a key, or a member of a set, is an instance of {cls.__module__}.{cls.__qualname__}, "
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

    Known are keys that the table spells out: numbers, texts, and tuples and frozensets of them.
    """
    checks = KeyChecks(lambda: sum(map(len, records)))
    values: dict[int, Any] = {}
    for index, record in enumerate(records):
        kind = record[0]
        if kind not in _LOOKED_AT or (kind == Kind.PACKED_DICT and len(record) <= FREE_KEYS):
            continue
        if kind not in _SPELLED_OUT or kind == Kind.FROZENSET:
            if kind == Kind.DICT and _has_few_scalars(record, checks):
                continue
            try:
                checks.require(_keys_of(record, records, values), in_set=kind in _SETS)
            except ValueError as error:
                yield (-1 - record[1] if kind in FILLS else index), str(error)
                continue
        made = _spelled_out(record, values) if kind in _SPELLED_OUT else MISSING
        if made is not MISSING:
            values[index] = made
            checks.has_large_numbers |= type(made) is int


def _keys_of(record: Record, records: Sequence[Record], values: Mapping[int, Any]) -> Sequence[Any]:
    """Return the keys that a record gives, as far as the table spells them out."""
    kind = record[0]
    if kind in _RUN_OF_KEYS:
        return values_of(record[_RUN_OF_KEYS[kind]])
    keys = _KEYS_OF[kind](record)
    if kind == Kind.PACKED_DICT or not any(map(is_reference, keys)):
        return keys
    there = (operand for operand in keys if _is_there(operand, values))
    return [values[-1 - operand] if is_reference(operand) else operand for operand in there]


def _has_few_scalars(record: Record, checks: KeyChecks) -> bool:
    """Whether the keys of a dict are few texts or numbers, all inline: no check has anything to say."""
    if len(record) > 2 * FREE_KEYS:
        return False
    kinds = set(map(type, record[1::2]))
    if int in kinds:
        return not checks.has_large_numbers and kinds == _INT and min(record[1::2]) >= 0
    return kinds <= _PLAIN


def _is_there(operand: Any, values: Mapping[int, Any]) -> bool:
    return not is_reference(operand) or -1 - operand in values


def _spelled_out(record: Record, values: Mapping[int, Any]) -> Any:
    """Return what a record of a number, a text, a tuple or a frozenset stands for; MISSING for others."""
    kind, *operands = record
    if kind == Kind.INT:
        return int.from_bytes(operands[0], "big", signed=True) if type(operands[0]) is bytes else operands[0]
    if kind in (Kind.STR, Kind.BYTES):
        return operands[0]
    if kind == Kind.PACKED_TUPLE:
        return tuple(operands)
    if kind in (Kind.TUPLE, Kind.FROZENSET) and all(_is_there(operand, values) for operand in operands):
        parts = [values[-1 - operand] if is_reference(operand) else operand for operand in operands]
        return tuple(parts) if kind == Kind.TUPLE else frozenset(parts)
    return MISSING


_INT: Final = frozenset({int})
_SPELLED_OUT: Final = frozenset(
    {Kind.INT, Kind.STR, Kind.BYTES, Kind.PACKED_TUPLE, Kind.TUPLE, Kind.FROZENSET}
)
_SETS: Final = frozenset({Kind.SET, Kind.FROZENSET, Kind.ADD, Kind.LONG_SET, Kind.LONG_FROZENSET})
# Where the record of a long container has its keys.
_RUN_OF_KEYS: Final = {Kind.LONG_DICT: 1, Kind.LONG_SET: 1, Kind.LONG_FROZENSET: 1, Kind.UPDATE_LONG: 2}
_KEYS_OF: Final[dict[int, Callable[[Record], Sequence[Any]]]] = {
    Kind.DICT: lambda record: record[1::2],
    Kind.PACKED_DICT: lambda record: record[1::2],  # whose numbers are no references
    Kind.UPDATE: lambda record: record[2::2],
    Kind.SET: lambda record: record[1:],
    Kind.FROZENSET: lambda record: record[1:],
    Kind.ADD: lambda record: record[2:],
}
_LOOKED_AT: Final = _SPELLED_OUT | _KEYS_OF.keys() | _RUN_OF_KEYS.keys()
