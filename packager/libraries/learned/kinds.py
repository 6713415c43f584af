"""Of which kind a stored value is, read off a table of records: nothing is built, and nothing found is asked.

A kind is a text: `number`, `array`, `labels`, `list of estimator`, `dict by text`. A container has one for
each kind of its members, so that those of a list are known one by one. Lists and tuples are one, as are
numbers of Python and of NumPy, and arrays of numbers of any rank and dtype. An empty container has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from packager.audit import Row, row_of
from packager.codecs import find_library
from packager.objects import Kind, Record, fills_by_target, is_reference
from packager.quick_dataclasses import dataclass

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

    from packager.objects import CheckedTable

ANYTHING: Final = frozenset[str]()
"""The kinds of what the caller vouches for: it may stand anywhere."""

# More than objects of any library have; each container is looked at once, and cheaply.
_MOST_DEEP: Final = 6
_MOST_KINDS: Final = 32
_MOST_ATTRIBUTES: Final = 1000
_MOST_SCALARS: Final = 256
_TOO_DEEP: Final = frozenset({"nested too deep"})
_TOO_MANY: Final = frozenset({"of too many kinds"})
_SEQUENCES: Final = frozenset({Kind.LIST, Kind.TUPLE, Kind.PACKED_LIST, Kind.PACKED_TUPLE})
_SETS: Final = frozenset({Kind.SET, Kind.FROZENSET})
_LONG: Final = frozenset({Kind.LONG_LIST, Kind.LONG_TUPLE})
_LONG_SETS: Final = frozenset({Kind.LONG_SET, Kind.LONG_FROZENSET})
_PACKED: Final = frozenset({Kind.PACKED_LIST, Kind.PACKED_TUPLE, Kind.PACKED_DICT})
_DICTS: Final = frozenset({Kind.DICT, Kind.PACKED_DICT})
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
        return self.kinds <= _SCALAR_KINDS


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

    def kinds(self, operand: Any, depth: int = 0) -> frozenset[str]:
        """Return the kinds of what an operand stands for."""
        if not is_reference(operand):
            return _OF_ATOM[_ATOMS[type(operand)]]
        index = -1 - operand
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
        if not is_reference(state):
            return None
        index = -1 - state
        held = self._table.records[index]
        count = sum(len(self._table.records[one]) for one in (index, *self.fills.get(index, ()))) // 2
        if count > _MOST_ATTRIBUTES or held[0] == Kind.LONG_DICT:
            return [Attribute("one of more than a thousand", _TOO_MANY, (), ())]
        pairs = [(self.scalar(key), value) for key, value in self.pairs(index)]
        packed: list[tuple[Any, Any]] = []
        if held[0] == Kind.PACKED_DICT:
            packed = [*zip(held[1::2], held[2::2], strict=True)]
        elif held[0] != Kind.DICT:
            return None
        if not all(type(name) is str for name, _ in [*pairs, *packed]):
            return None
        found = [self._attribute(name, value) for name, value in pairs]
        return found + [_literal(name, value) for name, value in packed]

    def _attribute(self, name: str, operand: Any) -> Attribute:
        if not is_reference(operand):
            return _literal(name, operand)
        kinds = self.kinds(operand)
        if name not in self._read_inside:
            scalar = self.scalar(operand) if kinds <= _SCALAR_KINDS else None
            return Attribute(name, kinds, () if scalar is None else (scalar,), ())
        scalars = tuple(islice(self._scalars(operand), _MOST_SCALARS + 1))
        pairs = tuple(islice(self._text_pairs(operand), _MOST_SCALARS + 1))
        if max(len(scalars), len(pairs)) > _MOST_SCALARS:
            return Attribute(name, _TOO_MANY, (), ())
        return Attribute(name, kinds, scalars, pairs)

    def _text_pairs(self, operand: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the keys of a dict that are texts, each with its scalar, or with each of its list."""
        record = self._table.records[-1 - operand] if is_reference(operand) else (None,)
        if record[0] not in _DICTS:
            return
        packed = record[1:] if record[0] == Kind.PACKED_DICT else []
        for key, value in self.pairs(-1 - operand):
            yield from ((self.scalar(key), scalar) for scalar in self._scalars(value))
        yield from zip(packed[::2], packed[1::2], strict=True)

    def _scalars(self, operand: Any) -> Iterator[Any]:
        """Yield the number or text that an operand stands for, or those of a flat list or tuple."""
        record = self._table.records[-1 - operand] if is_reference(operand) else ()
        if record and record[0] in (Kind.PACKED_LIST, Kind.PACKED_TUPLE):
            yield from record[1:]
        elif record and record[0] in (Kind.LIST, Kind.TUPLE):
            yield from (found for part in record[1:] if (found := self.scalar(part)) is not None)
        elif (found := self.scalar(operand)) is not None:
            yield found

    def scalar(self, operand: Any) -> Any:
        """Return the number or text that an operand stands for, also one of NumPy; None for anything else."""
        if not is_reference(operand):
            return operand
        record = self._table.records[-1 - operand]
        if self._table.codec_name(-1 - operand) == "numpy.scalar":
            return self.scalar(record[3]) if record[2] == "text" else _numpy_scalar(record)
        found = self._table.scalar(operand)
        if type(found) is bytes and record[0] == Kind.INT:
            return int.from_bytes(found, "big", signed=True)
        return found.decode("utf-8", "replace") if type(found) is bytes and record[0] == Kind.STR else found

    def pairs(self, index: int) -> list[tuple[Any, Any]]:
        """Return the keys and values of a dict, or of an object that was given pairs, as operands."""
        record = self._table.records[index]
        parts = list(record[1:]) if record[0] == Kind.DICT else []
        for fill in self.fills.get(index, ()):
            filled = self._table.records[fill]
            parts += filled[2:] if filled[0] == Kind.UPDATE else []
        return list(zip(parts[::2], parts[1::2], strict=True))

    @cached_property
    def fills(self) -> Mapping[int, list[int]]:
        """What fills each record."""
        return fills_by_target(self._table.records)

    # --- one record ---

    def _read(self, index: int, record: Record, depth: int) -> Iterable[str]:
        kind = record[0]
        if kind in _SEQUENCES or kind in _SETS or kind in _LONG or kind in _LONG_SETS:
            word = "list" if kind in _SEQUENCES or kind in _LONG else "set"
            return _held(f"{word} of ", word, self._members(index, record, depth))
        if kind in _DICTS or kind == Kind.LONG_DICT:
            return self._dict(index, record, depth)
        if kind == Kind.CODEC:
            return self._codec(record, str(self._table.codec_name(index)), depth)
        if kind in _MADE:
            return self._made(index, depth)
        if kind == Kind.GLOBAL:
            return self._named(f"{record[1]}:{record[2]}", "value")
        return {_PLAIN.get(kind, f"a {self._table.classes[index]}")}

    def _members(self, index: int, record: Record, depth: int) -> Iterator[str]:
        if record[0] in _PACKED:
            yield from {_ATOMS[kind] for kind in set(map(type, record[1:]))}
        elif record[0] in _LONG or record[0] in _LONG_SETS:
            yield _run_kind(record[1])
        else:
            yield from self._kinds_of(record[1:], depth)
        for fill in self.fills.get(index, ()):
            filled = self._table.records[fill]
            if filled[0] == Kind.EXTEND_LONG:
                yield _run_kind(filled[2])
            else:
                yield from self._kinds_of(filled[2:], depth)

    def _kinds_of(self, operands: Iterable[Any], depth: int) -> set[str]:
        """The kinds of members; what is vouched for is none of them."""
        return {kind for operand in operands for kind in self.kinds(operand, depth + 1)}

    def _dict(self, index: int, record: Record, depth: int) -> Iterator[str]:
        filled = [self._table.records[fill] for fill in self.fills.get(index, ())]
        runs = [one[2:] for one in filled if one[0] == Kind.UPDATE_LONG]
        runs += [record[1:]] if record[0] == Kind.LONG_DICT else []
        for keys_and_values in runs:
            for word, run in zip(("by", "of"), keys_and_values, strict=True):
                yield f"dict {word} {_run_kind(run)}"
        if record[0] == Kind.LONG_DICT:
            return
        packed = record[1:] if record[0] == Kind.PACKED_DICT else []
        pairs = self.pairs(index)
        keys = self._kinds_of([key for key, _ in pairs], depth) | {_ATOMS[type(key)] for key in packed[::2]}
        values = self._kinds_of([value for _, value in pairs], depth)
        yield from _held("dict by ", "dict", keys)
        yield from _held("dict of ", "dict", values | {_ATOMS[type(value)] for value in packed[1::2]})

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

    def _made(self, index: int, depth: int) -> Iterable[str]:
        kinds = self._named(self._table.name_of(index), "made")
        return self._dict(index, [Kind.DICT], depth) if kinds == {"dict"} else kinds

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


def _literal(name: str, value: Any) -> Attribute:
    return Attribute(name, _OF_ATOM[_ATOMS[type(value)]], () if value is None else (value,), ())


def _held(prefix: str, empty: str, kinds: Iterable[str]) -> set[str]:
    """The kinds of a container with members of these kinds."""
    return {prefix + kind for kind in kinds} or {empty}


def _run_kind(run: Sequence[Any]) -> str:
    return "text" if run[0] == "text" else "number"


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
_OF_ATOM: Final = {word: frozenset({word}) for word in _ATOMS.values()}
_PLAIN: Final = {Kind.INT: "number", Kind.STR: "text", Kind.BYTES: "bytes"}
_CODEC_KINDS: Final = {
    "numpy.dtype": "dtype",
    "numpy.generator": "generator",
    "numpy.random_state": "generator",
}
