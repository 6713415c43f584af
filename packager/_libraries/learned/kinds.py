"""Of which kind a stored value is, read off a table of records: nothing is built, and nothing found is asked.

A kind is a text: `number`, `array`, `labels`, `list of estimator`, `dict by text`. A container has one for
each kind of its members, so that those of a list are known one by one. Lists and tuples are one, as are
numbers of Python and of NumPy, and arrays of numbers of any rank and dtype. An empty container has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice, repeat

from packager._audit import Row, row_of
from packager._codecs import find_library
from packager._objects import Kind, Record, fills_by_target, is_reference
from packager._quick_dataclasses import dataclass

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

    from packager._objects import CheckedTable

ANYTHING: Final = frozenset[str]()
"""The kinds of what the caller vouches for: it may stand anywhere."""

# More than objects of any library have; each container is looked at once, and cheaply.
_MOST_DEEP: Final = 6
_MOST_KINDS: Final = 32
_MOST_ATTRIBUTES: Final = 1000
_MOST_SCALARS: Final = 256
_TOO_DEEP: Final = frozenset({"nested too deep"})
_TOO_MANY: Final = frozenset({"of too many kinds"})
_WORDS: Final = {"list": "list", "tuple": "list", "set": "set", "frozenset": "set", "dict": "dict"}
_PACKED: Final = frozenset({Kind.PACKED_LIST, Kind.PACKED_TUPLE, Kind.PACKED_DICT})
_GIVEN: Final = frozenset({Kind.EXTEND, Kind.UPDATE, Kind.EXTEND_LONG, Kind.UPDATE_LONG})
_MADE: Final = frozenset({Kind.OBJ, Kind.NEW, Kind.NEW_KW, Kind.CALL, Kind.CALL_KW})
_ATOMS: Final = {type(None): "none", bool: "number", int: "number", float: "number", str: "text"}


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute as a table has it: the kinds of its value, and the numbers and texts in that.

    `scalars` is what the value is, or what a flat list or tuple of it holds; `pairs` are the keys of a dict,
    each with its number or text, or with those of its list.
    """

    name: str
    kinds: frozenset[str]
    scalars: tuple[Any, ...]
    pairs: tuple[tuple[Any, Any], ...]

    @property
    def is_scalar(self) -> bool:
        """Whether the value is a number or a text itself."""
        return _is_scalar(self.kinds)


class KindReader:
    """Reads the kinds of the values of one table. `name_kind` says of which kind an object of a name is.

    It answers "" for what it does not know, and None for what the caller vouches for. Lists and dicts of the
    attributes `read_inside` are told with the numbers and texts in them.
    """

    def __init__(
        self,
        table: CheckedTable,
        name_kind: Callable[[str, str], str | None],
        read_inside: Collection[str] = (),
    ) -> None:
        self._table = table
        self._name_kind = name_kind
        self._read_inside = read_inside
        self._known: dict[int, frozenset[str]] = {}

    def kinds(self, part: Any, depth: int = 0) -> frozenset[str]:
        """Return the kinds of what an operand stands for, or of what a run holds."""
        if type(part) is list:
            return frozenset({"text" if part[0] == "text" else "number"})
        if type(part) is tuple:
            return frozenset({_ATOMS[kind] for kind in set(map(type, part))})
        if not is_reference(part):
            return frozenset({_ATOMS[type(part)]})
        index = -1 - part
        known = self._known.get(index)
        if known is None:
            if depth > _MOST_DEEP:
                return _TOO_DEEP
            self._known[index] = _TOO_DEEP  # what a container that contains itself meets there
            known = frozenset(self._read(index, self._table.records[index], depth))
            self._known[index] = known = known if len(known) <= _MOST_KINDS else _TOO_MANY
        return known

    def attributes(self, record: Record) -> list[Attribute] | None:
        """Return the attributes that a record of objects, attributes or a state gives to its object.

        Returns None for a state that is no dict of names.
        """
        if record[0] == Kind.OBJ:  # as many as there are operands
            names, operands = self._table.records[-1 - record[1]][3:], record[2:]
        elif record[0] == Kind.FILL:
            names, operands = record[2::2], record[3::2]
        else:
            return self._state(record[2])
        return [self._attribute(name, operand) for name, operand in zip(names, operands, strict=True)]

    def _state(self, state: Any) -> list[Attribute] | None:
        if self._word(state) != "dict":
            return None
        found: list[Attribute] = []
        for key, value in self._pairs(state):
            if type(key) is not str:
                return None
            found.append(self._attribute(key, value))
            if len(found) > _MOST_ATTRIBUTES:
                return [Attribute("one of more than a thousand", _TOO_MANY, (), ())]
        return found

    def _attribute(self, name: str, part: Any) -> Attribute:
        kinds = self.kinds(part)
        is_read = name in self._read_inside
        scalars = (
            tuple(islice(self._scalars(part), _MOST_SCALARS + 1)) if is_read or _is_scalar(kinds) else ()
        )
        pairs = tuple(islice(self._text_pairs(part), _MOST_SCALARS + 1)) if is_read else ()
        if max(len(scalars), len(pairs)) > _MOST_SCALARS:
            return Attribute(name, _TOO_MANY, (), ())
        return Attribute(name, kinds, scalars, pairs)

    def _text_pairs(self, part: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the keys of a dict, each with its number or text, or with each of its list."""
        if self._is_long(part):
            yield from repeat(("one of many", 0), _MOST_SCALARS + 1)
        for key, value in self._pairs(part) if self._word(part) == "dict" else ():
            yield from ((key, scalar) for scalar in [*self._scalars(value)] or [None])

    def _scalars(self, part: Any) -> Iterator[Any]:
        """Yield the number or text that an operand stands for, or those of a flat list, tuple or run."""
        if type(part) is list or self._is_long(part):  # runs hold a thousand and more
            yield from repeat(0, _MOST_SCALARS + 1)
        elif type(part) is tuple:
            yield from (value for value in part if value is not None)
        elif self._word(part) == "list":
            for one in self._parts(-1 - part):
                yield from self._scalars(one) if type(one) in (list, tuple) else self._scalar(one)
        else:
            yield from self._scalar(part)

    def _is_long(self, part: Any) -> bool:
        """Whether a record of a container is longer than any that is read inside."""
        return bool(self._word(part)) and len(self._table.records[-1 - part]) > 2 * _MOST_SCALARS + 2

    def _scalar(self, operand: Any) -> Iterator[Any]:
        """Yield the number or text that an operand stands for, also one of NumPy; else nothing."""
        found = self._table.scalar(operand)
        record = self._table.records[-1 - operand] if is_reference(operand) else [None]
        if record[0] == Kind.CODEC and self._table.codec_name(-1 - operand) == "numpy.scalar":
            found = _numpy_scalar(record)
            if record[2] == "text":
                yield from self._scalar(record[3])
        elif type(found) is bytes and record[0] == Kind.INT:
            found = int.from_bytes(found, "big", signed=True)
        elif type(found) is bytes:
            found = found.decode("utf-8", "replace") if record[0] == Kind.STR else None
        if found is not None:
            yield found

    # --- containers ---

    def _word(self, part: Any) -> str:
        """What an operand refers to: "list", "set", "dict", or "" for anything else."""
        index = -1 - part if is_reference(part) else None
        if index is None or self._table.records[index][0] == Kind.CODEC:
            return ""
        return _WORDS.get(self._table.classes[index], "")

    def _parts(self, index: int) -> Iterator[Any]:
        """Yield what a container holds, or an object was given; of a dict keys and values in turn.

        These are operands, runs, which are lists, and what packed containers hold, in tuples.
        """
        record = self._table.records[index]
        if record[0] == Kind.PACKED_DICT:
            yield from (tuple(record[1::2]), tuple(record[2::2]))
        elif record[0] in _PACKED:
            yield tuple(record[1:])
        elif self._word(-1 - index):
            yield from islice(record, 1, None)
        for fill in self._fills.get(index, ()):
            filled = self._table.records[fill]
            yield from islice(filled, 2, None) if filled[0] in _GIVEN else ()

    def _pairs(self, operand: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the keys of a dict, as numbers and texts, and its values, as `_parts` has them."""
        parts = self._parts(-1 - operand)
        for key, value in zip(parts, parts, strict=True):
            if type(key) is list:  # runs hold a thousand and more
                yield from repeat(("one of many", key), _MOST_ATTRIBUTES + 1)
            elif type(key) is tuple:
                yield from ((one, (other,)) for one, other in zip(key, value, strict=True))
            else:
                yield next(self._scalar(key), None), value

    @cached_property
    def _fills(self) -> Mapping[int, list[int]]:
        """What fills each record."""
        return fills_by_target(self._table.records)

    # --- one record ---

    def _read(self, index: int, record: Record, depth: int) -> Iterable[str]:
        if record[0] == Kind.CODEC:
            return self._codec(record, str(self._table.codec_name(index)), depth)
        if record[0] == Kind.GLOBAL:
            return self._named(f"{record[1]}:{record[2]}", "value")
        word = self._word(-1 - index)
        if record[0] in _MADE:
            made = self._named(self._table.name_of(index), "made")
            if made != {"dict"}:
                return made
            word = "dict"
        if word == "dict":
            parts = [*self._parts(index)]
            keys, values = self._kinds_of(parts[::2], depth), self._kinds_of(parts[1::2], depth)
            return {*_held("dict by ", "dict", keys), *_held("dict of ", "dict", values)}
        if word:
            return _held(f"{word} of ", word, self._kinds_of(self._parts(index), depth))
        return {_PLAIN.get(record[0], f"a {self._table.classes[index]}")}

    def _kinds_of(self, parts: Iterable[Any], depth: int) -> set[str]:
        """The kinds of members; what is vouched for is none of them."""
        return {kind for part in parts for kind in self.kinds(part, depth + 1)}

    def _codec(self, record: Record, codec: str, depth: int) -> Iterable[str]:
        if codec == "numpy.scalar":
            return {_scalar_kind(record)}
        if codec == "numpy.ndarray":
            return self._array(record, depth)
        if codec == "numpy.masked":
            inner = self.kinds(record[3], depth + 1) if len(record) > 3 else {"number"}
            return {f"masked {kind}" for kind in inner}
        if codec == "functools.partial":
            return {f"partial {kind}" for kind in self.kinds(record[3], depth + 1)}
        return {_CODEC_KINDS.get(codec, codec)}

    def _array(self, record: Record, depth: int) -> Iterable[str]:
        form, dtype, *_ = record[2]
        word = "array" if form == "ndarray" else form
        if dtype == "elements":
            members = self._kinds_of(record[4:], depth)
            if members <= {"text", "number", "none"}:
                return {"labels" if form == "ndarray" else f"{word} of texts"}
            return {f"array of {kind}" for kind in members}
        literal = self._table.records[-1 - record[4]][2] if dtype is None else dtype
        letter = literal[1] if type(literal) is str and literal[0] in _ORDERS else ""
        if letter in _DATES:
            return {f"{word} of dates"}
        if letter not in _TEXTS:
            return {word}
        return {"labels" if form == "ndarray" else f"{word} of texts"}

    def _named(self, name: str, role: str) -> frozenset[str]:
        kind = self._name_kind(name, role)
        return ANYTHING if kind is None else frozenset({kind or name})


# --- names ---


def name_kind(name: str, role: str, row: Row) -> str:
    """Return the kind of what a name makes ("made"), or of what it is ("value"); "" where none is known."""
    module = name.partition(":")[0]
    if role == "value":
        if "dtype" in row.uses.split():
            return "dtype"
        if module in _COMPUTING:
            return "numpy function" if name not in _NO_FUNCTIONS else ""
        return "function" if "wrapped" in row.uses.split() and row.is_of_library else ""
    group = "" if row.learned is None else str(row.learned.group_of(name))
    return group or (row.kind if row.is_of_library else "")


def row_by_name(name: str) -> Row:
    """Return the row of "module:name", as what is known here has it; one that allows nothing for no name."""
    module, _, qualname = name.partition(":")
    return row_of(module, qualname, find_library) or _NO_ROW


_NO_ROW: Final = Row()
_COMPUTING: Final = frozenset({"numpy", "numpy.linalg", "scipy.special"})
_NO_FUNCTIONS: Final = frozenset({"numpy:ndarray"})  # it takes a buffer for addresses of objects


# --- parts of records ---


def _held(prefix: str, empty: str, kinds: Iterable[str]) -> set[str]:
    """The kinds of a container with members of these kinds."""
    return {prefix + kind for kind in kinds} or {empty}


def _is_scalar(kinds: frozenset[str]) -> bool:
    return kinds <= _SCALAR_KINDS


def _scalar_kind(record: Record) -> str:
    if record[2] == "text":
        return "text"
    dtype = record[2][0] if type(record[2]) is list else None
    return "number" if type(dtype) is str and dtype[0] in _ORDERS and dtype[1] in "biuf" else "scalar"


def _numpy_scalar(record: Record) -> Any:
    """The number that a scalar of NumPy is; None for one that is none."""
    if _scalar_kind(record) != "number":
        return None
    import numpy

    dtype, data = record[2]
    return numpy.frombuffer(data, numpy.dtype(dtype)).tolist()[0]


# What the names of dtypes of NumPy begin with, and the letters of texts and of dates behind it.
_ORDERS: Final = "<>=|"
_TEXTS: Final = frozenset("US")
_DATES: Final = frozenset("mM")
_SCALAR_KINDS: Final = frozenset({"none", "number", "text"})
_PLAIN: Final = {Kind.INT: "number", Kind.STR: "text", Kind.BYTES: "bytes"}
_CODEC_KINDS: Final = {
    "numpy.dtype": "dtype",
    "numpy.generator": "generator",
    "numpy.random_state": "generator",
}
