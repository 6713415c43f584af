"""Plain data, told from the records: values that nothing can be called through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from packager.codecs import TENSOR_CODECS

from .checking import CheckedTable
from .defaults import is_listed
from .paths import fills_by_target
from .records import Kind, Record

_LEAVES: Final = frozenset(
    {Kind.INT, Kind.STR, Kind.BYTES, Kind.TENSOR, Kind.PACKED_TUPLE, Kind.PACKED_LIST, Kind.PACKED_DICT}
)
_CONTAINERS: Final = frozenset({Kind.TUPLE, Kind.LIST, Kind.DICT, Kind.SET, Kind.FROZENSET})
_CALLS: Final = frozenset({Kind.NEW, Kind.NEW_KW, Kind.CALL, Kind.CALL_KW})
# Types that stand for a dtype where NumPy or a framework is asked to make something.
_DTYPES: Final = frozenset(
    {f"builtins:{name}" for name in ("bool", "bytes", "complex", "float", "int", "str")}
    | {
        f"numpy:{name}"
        for name in """
            bool bool_ bytes_ complex64 complex128 datetime64 float16 float32 float64 int8 int16 int32
            int64 intp longdouble str_ timedelta64 uint8 uint16 uint32 uint64
        """.split()
    }
)
_CODECS: Final = frozenset(
    """
    array.array bytearray collections.chainmap collections.deque collections.mapping complex enum fraction
    kellet.device namedtuple numpy.dtype numpy.scalar re.pattern singleton slice torch.value
    """.split()
) | {"scalar subclass"}
# Codecs whose first child is judged elsewhere: a class by its name, a factory by its form.
_NAMED: Final = frozenset({"collections.mapping", "enum", "namedtuple", "scalar subclass"})


class Plainness:
    """Finds what is more than plain data; each record is looked at once.

    `with_tensors` takes tensors and arrays for plain data as well, `with_types` every name, which is
    judged by itself. `vouched` knows the names that the caller trusts exactly; what they lead to counts
    as plain.
    """

    def __init__(
        self,
        table: CheckedTable,
        vouched: Callable[[str], bool],
        *,
        with_tensors: bool = False,
        with_types: bool = False,
    ) -> None:
        self._table = table
        self._vouched = vouched
        self._with_types = with_types
        self._codecs = _CODECS | TENSOR_CODECS if with_tensors else _CODECS
        self._seen: set[int] = set()

    def violations(self, operands: Iterable[Any]) -> Iterator[int]:
        """The records below these operands that are no plain data, without what lies below them in turn."""
        waiting = [-1 - operand for operand in operands if self._table.is_reference(operand)]
        while waiting:
            index = waiting.pop()
            if index in self._seen:
                continue
            self._seen.add(index)
            record = self._table.records[index]
            if not self._is_plain(index, record):
                yield index
                continue
            parts = list(self._parts(index, record))
            for fill in self._fills.get(index, ()):
                parts += self._table.records[fill][2:]
            waiting += [-1 - part for part in parts if self._table.is_reference(part)]

    @cached_property
    def _fills(self) -> Mapping[int, list[int]]:
        return fills_by_target(self._table.records)

    def _is_plain(self, index: int, record: Record) -> bool:
        kind = record[0]
        if kind in _LEAVES or kind in _CONTAINERS:
            return True
        name = self._table.name_of(index)
        if kind == Kind.GLOBAL:
            return self._with_types or name in _DTYPES or self._vouched(name)
        if kind == Kind.CODEC:
            return self._table.codec_name(index) in self._codecs
        if kind in _CALLS or (kind == Kind.OBJ and self._table.codec_name(index) is None):
            module, _, qualname = name.partition(":")
            return is_listed(module, qualname) or self._vouched(name)
        return False

    def _parts(self, index: int, record: Record) -> list[Any]:
        if record[0] in _CONTAINERS:
            return record[1:]
        if record[0] == Kind.CODEC:
            return record[4:] if self._table.codec_name(index) in _NAMED else record[3:]
        return record[2:] if record[0] in _CALLS or record[0] == Kind.OBJ else []
