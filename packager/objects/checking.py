"""The structure of a table: one pass, each kind by its own rule, nothing imported and nothing built.

What passes is a table that our encoder could have written, up to the order and the sharing of
records. Every name is noted on the way with its role, and with the record that uses it first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from packager.archive import largest_view, length_within, most_records, shape_problem
from packager.codecs import Child, Codec, CodecRegistry, ObjectCodec, Role, default_registry
from packager.errors import ArchiveError
from packager.late_patterns import late_pattern
from packager.tensors import ITEMSIZE, contiguous_strides, span
from packager.texts import listed

from .names import is_record_name
from .records import (
    INLINE,
    KIND_NAMES,
    SCALARS,
    VERSION,
    Kind,
    Operands,
    Record,
    check_literal,
    check_names,
    check_shape,
    typed,
    unpack_table,
)
from .runs import checked_size

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final


class RecordError(ArchiveError):
    """A stored object whose table of records is not one that our encoder writes."""


def checked_table(
    data: bytes | bytearray | memoryview,
    storages: Mapping[str, tuple[str, int]],
    registry: CodecRegistry | None,
    what: str,
) -> CheckedTable:
    """Read a table and check all of it. Raises RecordError, or ArchiveError for what is no table."""
    count = length_within(data, 1)
    if count > most_records(len(data)):  # before they are built
        raise RecordError(
            f"{what}: {count} records in {len(data)} bytes, at most {most_records(len(data))} are "
            "read; an object that consists of so many tiny ones is stored as an array"
        )
    table = unpack_table(data, what)
    if (
        not isinstance(table, list)
        or len(table) != 3
        or not all(isinstance(part, list) for part in table[:2])
    ):
        raise RecordError(
            f"{what}: expected [codec table, records, root]; the archive was not written by packager"
        )
    rows, records, root = table
    registry = default_registry() if registry is None else registry
    codecs = _codecs(rows, registry, what)
    checked = CheckedTable(records, root, codecs, storages, what, registry)
    checked.run()
    return checked


def _codecs(rows: list[Any], registry: CodecRegistry, what: str) -> list[tuple[Codec, int] | None]:
    """The codecs of the table by number; number 0 is the record format, and has none."""
    pairs = [tuple(row) for row in rows if isinstance(row, list) and list(map(type, row)) == [str, int]]
    if len(pairs) != len(rows) or not pairs or pairs[0][0] != "records":
        raise RecordError(f"{what}: the codec table is malformed; the archive was not written by packager")
    if not 1 <= pairs[0][1] <= VERSION:
        raise RecordError(
            f"{what}: records of version {pairs[0][1]}, this packager reads up to {VERSION}; "
            "install a newer packager"
        )
    if len(set(pairs)) != len(pairs):
        raise RecordError(
            f"{what}: the codec table lists a codec twice; the archive was not written by packager"
        )
    found: list[tuple[Codec, int] | None] = [None]
    problems = []
    for name, version in pairs[1:]:
        codec = registry.find(name)
        if codec is None:
            problems.append(f"codec {name!r} is not installed; install the package that provides it")
        elif not 1 <= version <= codec.version:
            problems.append(
                f"codec {name!r} of version {version}, here is {codec.version}; install a newer one"
            )
        else:
            found.append((codec, version))
    if problems:
        raise RecordError(f"{what}: {listed(problems, apart='; ')}").holding(problems)
    return found


class CheckedTable(Operands):
    """A table while and after it is checked: see `Operands` for what is known of it then."""

    def run(self) -> None:
        """Check every record, and the root. Raises RecordError."""
        self._runs: dict[int, int] = {}  # those that no record has used yet, with their sizes
        checks, classes = _CHECKS, self.classes
        for index, record in enumerate(self.records):
            if type(record) is not list or not record or type(record[0]) is not int:
                raise self._failure("a record is a list that starts with its kind")
            check = checks.get(record[0])
            if check is None:
                raise self._failure(f"there is no kind {record[0]}")
            try:
                classes.append(check(self, record, index))
            except (ValueError, TypeError, IndexError, KeyError, OverflowError, AttributeError) as error:
                raise self._failure(str(error) or type(error).__name__) from error
        try:
            self._value(self.root)
        except ValueError as error:
            raise self._failure(str(error)) from error
        if self._unused:
            names = listed(sorted(self._unused), 5)
            raise self._failure(f"no tensor lies in the storages {names}").holding(sorted(self._unused))

    def _failure(self, problem: str) -> RecordError:
        index = len(self.classes)
        record = self.records[index] if index < len(self.records) else None
        kind = (
            KIND_NAMES.get(record[0], "?")
            if isinstance(record, list) and record and type(record[0]) is int
            else "?"
        )
        where = f"record {index} ({kind})" if record is not None else "the root"
        return RecordError(
            f"{self.what}: {where}: {problem}; the archive is damaged or was not written by packager"
        )

    # --- kinds ---

    def _global(self, record: Record, index: int) -> str:
        _, module, qualname = record
        if not (isinstance(module, str) and isinstance(qualname, str)):
            raise ValueError("expected a module and a qualified name")
        if not is_record_name(module, qualname):
            raise ValueError(f"{module!r:.80}, {qualname!r:.80} is not a name")
        self._only_once(record)
        return "global"

    def _int(self, record: Record, index: int) -> str:
        (_, literal) = record
        self._only_once(record)
        if type(literal) is not int:
            typed(literal, bytes)
        return "scalar"

    def _str(self, record: Record, index: int) -> str:
        (_, literal) = record
        self._only_once(record)
        if type(literal) is str:
            if len(literal) <= INLINE:
                raise ValueError("a string that should stand inline")
            return "scalar"
        text = typed(literal, bytes).decode("utf-8", "surrogatepass")
        if not any("\ud800" <= character <= "\udfff" for character in text):
            raise ValueError("a string that should be spelled as one")
        return "scalar"

    def _bytes(self, record: Record, index: int) -> str:
        (_, literal) = record
        typed(literal, bytes)
        self._only_once(record)
        return "scalar"

    def _tensor(self, record: Record, index: int) -> str:
        _, storage, dtype, shape, strides, offset = record
        if type(storage) is not str or storage not in self._storages:
            raise ValueError(f"there is no storage {storage!r:.80}")
        self._unused.discard(storage)
        if type(dtype) is not str or dtype not in ITEMSIZE:
            raise ValueError(f"there is no dtype {dtype!r:.40}")
        check_shape(shape)
        if strides is not None:
            if (
                type(strides) is not list
                or len(strides) != len(shape)
                or not all(type(n) is int for n in strides)
            ):
                raise ValueError("strides that do not fit the shape")
            if tuple(strides) == contiguous_strides(shape):
                raise ValueError("strides that should be left out")
        low, high = span(shape, contiguous_strides(shape) if strides is None else strides, 0)
        size = ITEMSIZE[dtype]
        if problem := shape_problem(tuple(shape), 8 * size):
            raise ValueError(problem)
        end = self._storages[storage][1]
        if math.prod(shape) * size > largest_view(end):
            raise ValueError(f"a view of {math.prod(shape)} elements over {end} bytes")
        if type(offset) is not int or offset < 0 or offset + low * size < 0 or offset + high * size > end:
            raise ValueError(f"a tensor that does not lie inside its storage of {end} bytes")
        return "tensor"

    def _items(self, record: Record, index: int) -> str:
        self._values(record[1:])
        return _CONTAINERS[record[0]]

    def _pairs(self, record: Record, index: int) -> str:
        if len(record) % 2 == 0:
            raise ValueError("a key without a value")
        return self._items(record, index)

    def _packed(self, record: Record, index: int) -> str:
        if record[0] == Kind.PACKED_DICT and len(record) % 2 == 0:
            raise ValueError("a key without a value")
        for literal in record:
            kind = type(literal)
            if kind not in SCALARS or (kind is str and len(literal) > INLINE):
                raise ValueError(f"{literal!r:.40} is no scalar")
        return _CONTAINERS[record[0]]

    def _shape(self, record: Record, index: int) -> str:
        _, cls, number, *names = record
        self._class_of[index] = self._use_global(cls, "create")
        if number is not None:
            if not isinstance(self._codec(number)[0], ObjectCodec):
                raise ValueError(f"codec {number} makes no objects")
            self._codec_of[index] = number
        check_names(names)
        self._only_once(record)
        return "shape"

    def _obj(self, record: Record, index: int) -> str:
        shape = self._refers(record[1], "shape")
        if len(record) - 2 != len(self.records[shape]) - 3:
            raise ValueError(f"{len(record) - 2} values for {len(self.records[shape]) - 3} attributes")
        self._class_of[index] = self._class_of[shape]
        if shape in self._codec_of:
            self._codec_of[index] = self._codec_of[shape]
        self._values(record[2:])
        return "object"

    def _new(self, record: Record, index: int) -> str:
        self._class_of[index] = self._use_global(record[1], "call" if len(record) > 2 else "create")
        self._values(record[2:])
        return "object"

    def _call(self, record: Record, index: int) -> str:
        self._class_of[index] = self._use_global(record[1], "call")
        self._values(record[2:])
        return "object"

    def _keyword_call(self, record: Record, index: int) -> str:
        _, target, args, kwargs = record
        self._class_of[index] = self._use_global(target, "call")
        self._refers(args, "tuple")
        self._refers(kwargs, "dict")
        return "object"

    def _method(self, record: Record, index: int) -> str:
        _, owner, name = record
        owner_class = self._class_of.get(self._refers(owner, "object"))
        if owner_class is None or not _is_method_name(name):
            raise ValueError("expected an object and the name of a method")
        _, module, qualname = self.records[owner_class]
        self.uses.setdefault((module, f"{qualname}.{name}", "value"), index)
        return "method"

    def _function(self, record: Record, index: int) -> str:
        _, module, qualname, digest, *names, doc, defaults, keywords = record[:9]
        if not (isinstance(module, str) and is_record_name(module, "")):
            raise ValueError(f"{module!r:.80} is not the name of a module")
        if not (isinstance(qualname, str) and "<" in qualname and _LOCAL.fullmatch(qualname)):
            raise ValueError(
                f"{qualname!r:.80} is the name of a function that an import leads to, or of none"
            )
        if _DIGEST.fullmatch(digest) is None:
            raise ValueError("expected the digest of a source")
        if len(names) != 2 or not all(name is None or type(name) is str for name in names):
            raise ValueError("the names of a function are strings")
        self._value(doc)
        if defaults is not None:
            self._refers(defaults, "tuple")
        if keywords is not None:
            self._refers(keywords, "dict")
        for cell in record[9:]:
            self._refers(cell, "cell")
        self.uses.setdefault((module, qualname, "value"), index)
        return "function"

    def _cell(self, record: Record, index: int) -> str:
        if len(record) > 2:
            raise ValueError("a cell holds one thing")
        self._values(record[1:])
        return "cell"

    def _node(self, record: Record, index: int) -> str:
        _, number, literal, *operands = record
        codec, version = self._codec(number)
        if isinstance(codec, ObjectCodec):
            raise ValueError(f"codec {codec.name!r} makes objects, which have attributes")
        self._codec_of[index] = number
        children = self._children(codec, version, literal, operands)
        codec.check(literal, children, version)
        return "codec"

    def _children(self, codec: Codec, version: int, literal: Any, operands: list[Any]) -> list[Child]:
        check_literal(literal)
        for role, operand in zip(codec.roles(literal, len(operands), version), operands, strict=True):
            if type(operand) is int and operand < 0 and self._class(operand) in ("tensor", "global"):
                if self._class(operand) == "global":
                    self._use_global(operand, role)
            else:
                self._value(operand)
        return [self._child(operand) for operand in operands]

    # --- fills ---

    def _fill(self, record: Record, index: int) -> str:
        if self._refers(record[1], "object", "codec", "function") in self._codec_of:
            codec, _ = self._codec(self._codec_of[-1 - record[1]])
            if not (codec.takes_attributes or isinstance(codec, ObjectCodec)):
                raise ValueError(f"what codec {codec.name!r} makes is given no attributes")
        check_names(record[2::2])
        if len(record) % 2:
            raise ValueError("a name without a value")
        self._values(record[3::2])
        return "none"

    def _add_to(self, record: Record, index: int) -> str:
        if not self._codec_takes(record[1], record[0]):
            target = self._refers(record[1], *_FILLED[record[0]])
            if target in self._codec_of:
                raise ValueError("an object that a codec makes of attributes is given no items and no pairs")
        if record[0] == Kind.UPDATE and len(record) % 2:
            raise ValueError("a key without a value")
        self._values(record[2:])
        return "none"

    def _codec_takes(self, operand: Any, kind: int) -> bool:
        """Whether an object of a codec may be given items, or pairs."""
        if self._class(operand) != "codec":
            return False
        codec, _ = self._codec(self._codec_of[-1 - operand])
        return codec.takes_items if kind == Kind.EXTEND else codec.takes_pairs and kind == Kind.UPDATE

    def _add_long(self, record: Record, index: int) -> str:
        kind, target, *parts = record
        pairs = kind == Kind.UPDATE_LONG
        if not self._codec_takes(target, Kind.UPDATE if pairs else Kind.EXTEND):
            raise ValueError("an object that no codec makes is given its items and its pairs one by one")
        self._take_runs(parts, pairs=pairs)
        return "none"

    # --- long containers ---

    def _run(self, record: Record, index: int) -> str:
        self._runs[index] = checked_size(record)
        return "run"

    def _long(self, record: Record, index: int) -> str:
        self._take_runs(record[1:], pairs=record[0] == Kind.LONG_DICT)
        return _CONTAINERS[record[0]]

    def _take_runs(self, operands: list[Any], *, pairs: bool) -> None:
        """The runs of a long container: no other has them, so that it takes no more than their bytes."""
        if len(operands) != 1 + pairs:
            raise ValueError("a long container has one run, a dict two")
        sizes = {self._runs.pop(self._refers(operand, "run"), None) for operand in operands}
        if None in sizes:
            raise ValueError("a run that is used twice")
        if len(sizes) > 1:
            raise ValueError("a key without a value")

    def _set_one(self, record: Record, index: int) -> str:
        _, target, operand = record
        self._refers(target, *_FILLED[record[0]])
        self._value(operand)
        return "none"

    def _finish(self, record: Record, index: int) -> str:
        _, target, number, literal, *operands = record
        codec, version = self._codec(number)
        if self._codec_of.get(self._refers(target, "object", "codec")) != number:
            raise ValueError(f"an object that codec {codec.name!r} did not make")
        check_literal(literal)
        roles = codec.finish_roles(literal, len(operands), version)
        children = self._children_of_finish(operands, roles)
        codec.check_finish(literal, children, version)
        return "none"

    def _children_of_finish(self, operands: list[Any], roles: Sequence[Role]) -> list[Child]:
        for role, operand in zip(roles, operands, strict=True):
            if type(operand) is int and operand < 0 and self._class(operand) == "global":
                self._use_global(operand, role)
            else:
                self._value(operand)
        return [self._child(operand) for operand in operands]


def _is_method_name(name: Any) -> bool:
    return type(name) is str and name.isidentifier() and not (name.startswith("__") and name.endswith("__"))


_LOCAL: Final = late_pattern(
    r"(([^\W\d]\w*|<lambda>|<(list|set|dict)comp>|<genexpr>)\.(<locals>\.)?)*([^\W\d]\w*|<lambda>)"
)
_DIGEST: Final = late_pattern(r"[0-9a-f]{64}")
_CONTAINERS: Final = {
    Kind.TUPLE: "tuple", Kind.LIST: "list", Kind.DICT: "dict", Kind.SET: "set", Kind.FROZENSET: "frozenset",
    Kind.PACKED_TUPLE: "tuple", Kind.PACKED_LIST: "list", Kind.PACKED_DICT: "dict",
    Kind.LONG_TUPLE: "tuple", Kind.LONG_LIST: "list", Kind.LONG_DICT: "dict", Kind.LONG_SET: "set",
    Kind.LONG_FROZENSET: "frozenset",
}  # fmt: skip
_FILLED: Final = {
    Kind.EXTEND: ("list", "object"),
    Kind.UPDATE: ("dict", "object"),
    Kind.ADD: ("set",),
    Kind.SETCELL: ("cell",),
    Kind.STATE: ("object",),
}
_CHECKS: Final[dict[int, Callable[[CheckedTable, Record, int], str]]] = {
    Kind.GLOBAL: CheckedTable._global,
    Kind.INT: CheckedTable._int,
    Kind.STR: CheckedTable._str,
    Kind.BYTES: CheckedTable._bytes,
    Kind.TENSOR: CheckedTable._tensor,
    Kind.TUPLE: CheckedTable._items,
    Kind.LIST: CheckedTable._items,
    Kind.DICT: CheckedTable._pairs,
    Kind.SET: CheckedTable._items,
    Kind.FROZENSET: CheckedTable._items,
    Kind.PACKED_TUPLE: CheckedTable._packed,
    Kind.PACKED_LIST: CheckedTable._packed,
    Kind.PACKED_DICT: CheckedTable._packed,
    Kind.SHAPE: CheckedTable._shape,
    Kind.OBJ: CheckedTable._obj,
    Kind.NEW: CheckedTable._new,
    Kind.NEW_KW: CheckedTable._keyword_call,
    Kind.CALL: CheckedTable._call,
    Kind.CALL_KW: CheckedTable._keyword_call,
    Kind.PACKAGE_CALL: CheckedTable._call,
    Kind.METHOD: CheckedTable._method,
    Kind.FUNCTION: CheckedTable._function,
    Kind.CELL: CheckedTable._cell,
    Kind.CODEC: CheckedTable._node,
    Kind.FILL: CheckedTable._fill,
    Kind.EXTEND: CheckedTable._add_to,
    Kind.UPDATE: CheckedTable._add_to,
    Kind.ADD: CheckedTable._add_to,
    Kind.SETCELL: CheckedTable._set_one,
    Kind.STATE: CheckedTable._set_one,
    Kind.FINISH: CheckedTable._finish,
    Kind.RUN: CheckedTable._run,
    Kind.LONG_TUPLE: CheckedTable._long,
    Kind.LONG_LIST: CheckedTable._long,
    Kind.LONG_DICT: CheckedTable._long,
    Kind.LONG_SET: CheckedTable._long,
    Kind.LONG_FROZENSET: CheckedTable._long,
    Kind.EXTEND_LONG: CheckedTable._add_long,
    Kind.UPDATE_LONG: CheckedTable._add_long,
}
