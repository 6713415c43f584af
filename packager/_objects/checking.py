"""The structure of a table: one pass, each record by the row of its kind, nothing imported and nothing built.

Every name is noted on the way with its role, and with the record that uses it first. What passes can be
built; it need not be spelled as our encoder spells it. What is known of a record unbuilt, and the attribute
paths to records, are read off the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from packager._archive import (
    DAMAGED,
    MAX_EXTENT,
    MAX_RANK,
    MAX_RECORD_DEPTH,
    length_within,
    most_records,
    unpack,
)
from packager._codecs import Child, Codec, CodecRegistry, Role, default_registry
from packager._names import is_record_name
from packager._texts import listed
from packager.errors import ArchiveError

from .kinds import REFERRING, ROWS, KindRow, fills_by_target
from .records import (
    KIND_NAMES,
    SCALARS,
    VERSION,
    Record,
    is_reference,
    typed,
)

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final


class RecordError(ArchiveError):
    """The table of records of a stored object is invalid: it is damaged, or was not written by packager."""


def unpack_table(data: bytes | bytearray | memoryview, what: str) -> Any:
    """Read the bytes of a table back, strictly, and cost-bounded by their number.

    Only the msgpack is checked here: one canonical value without maps or extension types, nested
    four deep at most. The table itself is checked by the audit. Raises ArchiveError.
    """
    return unpack(data, what=what, max_depth=MAX_RECORD_DEPTH, is_table=True)


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
            f"{what}: found {count} records in {len(data)} bytes; the limit is "
            f"{most_records(len(data))}. Store so many tiny objects as an array"
        )
    table = unpack_table(data, what)
    if (
        not isinstance(table, list)
        or len(table) != 3
        or not all(isinstance(part, list) for part in table[:2])
    ):
        raise RecordError(f"{what}: expected [codec table, records, root]; the archive is {DAMAGED}")
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
        raise RecordError(f"{what}: the codec table is malformed; the archive is {DAMAGED}")
    if not 1 <= pairs[0][1] <= VERSION:
        raise RecordError(
            f"{what}: found records of version {pairs[0][1]}; this packager reads up to {VERSION}: "
            "install a newer packager"
        )
    if len(set(pairs)) != len(pairs):
        raise RecordError(f"{what}: the codec table lists a codec twice; the archive is {DAMAGED}")
    found: list[tuple[Codec, int] | None] = [None]
    problems = []
    for name, version in pairs[1:]:
        codec = registry.find(name)
        if codec is None:
            problems.append(f"codec {name!r} is not installed; install the package that provides it")
        elif not 1 <= version <= codec.version:
            problems.append(
                f"codec {name!r} has version {version} in the archive and {codec.version} here; "
                "install a newer one"
            )
        else:
            found.append((codec, version))
    if problems:
        raise RecordError(f"{what}: {listed(problems, apart='; ')}").holding(problems)
    return found


class CheckedTable:
    """A table while and after it is checked.

    `classes` says of each record what a reference to it is: "none" for fills, "shape", "tensor" and "cell"
    for what only certain operands may refer to, else a kind of value. `uses` maps (module, qualified name,
    role) to the record that names it; `class_of` an object to the record that names its class, `codec_of` to
    the number of its codec.
    """

    def __init__(
        self,
        records: list[Record],
        root: Any,
        codecs: list[tuple[Codec, int] | None],
        storages: Mapping[str, tuple[str, int]],
        what: str,
        registry: CodecRegistry,
    ) -> None:
        self.registry = registry
        self.records = records
        self.root = root
        self.codecs = codecs
        self.what = what
        self.classes: list[str] = []
        self.uses: dict[tuple[str, str, Role], int] = {}
        self.class_of: dict[int, int] = {}
        self.codec_of: dict[int, int] = {}
        self._storages = storages
        self._unused = set(storages)

    def run(self) -> None:
        """Check every record, and the root. Raises RecordError."""
        classes, checks = self.classes, _CHECKS
        for record in self.records:
            if type(record) is not list or not record or type(record[0]) is not int:
                raise self._failure("a record is a list that starts with its kind")
            row = ROWS.get(record[0])
            if row is None:
                raise self._failure(f"there is no kind {record[0]}")
            try:
                checks[record[0]](self, record)
                if row.validate is not None:
                    row.validate(self, record)
            except (ValueError, TypeError, IndexError, KeyError, OverflowError, AttributeError) as error:
                raise self._failure(str(error) or type(error).__name__) from error
            classes.append(row.is_a)
        try:
            self.values([self.root])
        except ValueError as error:
            raise self._failure(str(error)) from error
        if self._unused:
            names = listed(sorted(self._unused), 5)
            raise self._failure(f"no tensor uses the storages {names}").holding(sorted(self._unused))

    def _failure(self, problem: str) -> RecordError:
        index = len(self.classes)
        record = self.records[index] if index < len(self.records) else None
        is_record = isinstance(record, list) and record and type(record[0]) is int
        kind = KIND_NAMES.get(record[0], "?") if is_record and record else "?"
        where = f"record {index} ({kind})" if record is not None else "the root"
        return RecordError(f"{self.what}: {where}: {problem}; the archive is {DAMAGED}")

    # --- what is known of a checked record ---

    def is_global(self, operand: Any) -> bool:
        """Return whether an operand refers to a name."""
        return is_reference(operand) and self.classes[-1 - operand] == "global"

    def name_of(self, index: int) -> str:
        """Return the name that a record leads to or is made by, as "module:name"; "" where there is none."""
        record = self.records[index]
        if self.classes[index] == "method":
            return f"{self.name_of(-1 - record[1])}.{record[2]}"
        if self.classes[index] != "global":
            if index not in self.class_of:
                return ""
            record = self.records[self.class_of[index]]
        return f"{record[1]}:{record[2]}"

    def codec(self, index: int) -> Codec | None:
        """Return the codec that makes what a record stands for."""
        number = self.codec_of.get(index)
        known = None if number is None else self.codecs[number]
        return None if known is None else known[0]

    def codec_name(self, index: int) -> str | None:
        """Return the name of the codec that makes what a record stands for."""
        codec = self.codec(index)
        return None if codec is None else codec.name

    def scalar(self, operand: Any) -> Any:
        """Return the scalar that an operand stands for; None for anything else."""
        if not is_reference(operand):
            return operand
        return self.records[-1 - operand][1] if self.classes[-1 - operand] == "scalar" else None

    def described(self, index: int) -> str:
        """Return what a record stands for, in words."""
        found, name = self.classes[index], self.name_of(index)
        if found == "codec":
            return f"an object of the codec {self.codec_name(index)!r}"
        words = {"global": name, "method": f"the bound method {name}", "object": f"an object of {name}"}
        return words.get(found, f"a {found}")

    # --- checks of operands, for the rows of kinds ---

    @property
    def here(self) -> int:
        """The number of the record that is being checked."""
        return len(self.classes)

    def values(self, operands: Sequence[Any]) -> None:
        """Raise ValueError for operands that stand for no values; note the use of names among them."""
        classes, known = self.classes, len(self.classes)
        for operand in operands:
            kind = type(operand)
            if kind is int:
                if operand < 0 and (operand < -known or classes[-1 - operand] in _NO_MERE_VALUES):
                    found = self.referred(operand)
                    if found != "global":
                        raise ValueError(f"expected a value, found a reference to a {found}")
                    self.use(operand, "value")
            elif kind not in SCALARS:
                raise ValueError(f"expected an operand, found {kind.__name__}")

    def scalars(self, operands: Sequence[Any]) -> None:
        """Raise ValueError unless operands stand for themselves, negative ints among them."""
        if not SCALARS.issuperset(map(type, operands)):
            odd = next(operand for operand in operands if type(operand) not in SCALARS)
            raise ValueError(f"{odd!r:.40} is no scalar")

    def referred(self, operand: object) -> str:
        """Return what an operand refers to. Raises ValueError unless that is a record before this one."""
        if type(operand) is not int or operand >= 0:
            raise ValueError(f"expected a reference, found {operand!r:.40}")
        index = -1 - operand
        if index >= len(self.classes):
            raise ValueError("a reference to a later record; expected an earlier one")
        return self.classes[index]

    def refers(self, operands: Sequence[Any], *classes: str) -> None:
        """Raise ValueError unless operands refer to records of these classes."""
        for operand in operands:
            found = self.referred(operand)
            if found not in classes:
                raise ValueError(f"a reference to a {found}, expected {' or '.join(classes)}")

    def use(self, operand: Any, role: Role) -> int:
        """Note the use of a name in a role; return the number of its record."""
        self.refers([operand], "global")
        index = -1 - int(operand)
        _, module, qualname = self.records[index]
        self.uses.setdefault((module, qualname, role), index)
        return index

    def require_name(self, module: object, qualname: object) -> None:
        """Raise ValueError for what is no name of a module, or of something in it."""
        if not (type(module) is str and type(qualname) is str):
            raise ValueError("expected a module and a qualified name")
        if not is_record_name(module, qualname):
            raise ValueError(f"{module!r:.80}, {qualname!r:.80} is not a name")

    def storage_size(self, storage: object) -> int:
        """Return how many bytes a storage has. Raises ValueError where there is none of that name."""
        if type(storage) is not str or storage not in self._storages:
            raise ValueError(f"there is no storage {storage!r:.80}")
        self._unused.discard(storage)
        return self._storages[storage][1]

    def codec_numbered(self, number: object) -> tuple[Codec, int]:
        """Return the codec of a number, and its version. Raises ValueError for another number."""
        if type(number) is not int or not 1 <= number < len(self.codecs):
            raise ValueError(f"there is no codec {number!r:.40}")
        found = self.codecs[number]
        assert found is not None
        return found

    def takes(self, target: int, *, pairs: bool) -> bool:
        """Return whether what a codec made of a literal takes pairs, or items; False for anything else."""
        if self.classes[target] != "codec":
            return False
        codec, _ = self.codec_numbered(self.codec_of[target])
        return codec.takes_pairs if pairs else codec.takes_items

    def children(self, operands: list[Any], roles: Sequence[Role], *may_be: str) -> list[Child]:
        """Return what a codec may know of its operands: values, names in their roles, and `may_be`."""
        for role, operand in zip(roles, operands, strict=True):
            found = self.referred(operand) if type(operand) is int and operand < 0 else ""
            if found == "global":
                self.use(operand, role)
            elif found not in may_be:
                self.values([operand])
        return [self._child(operand) for operand in operands]

    def _child(self, operand: Any) -> Child:
        if type(operand) is not int or operand >= 0:
            return Child("scalar", value=operand)
        index = -1 - operand
        found = self.classes[index]
        if found == "tensor":
            return Child("tensor", value=tuple(self.records[index][2:]))
        if found == "scalar":
            return Child("scalar", value=self.records[index][1])
        return Child(found, codec=self.codec_name(index)) if found == "codec" else Child(found)


def check_shape(shape: object) -> None:
    """Raise ValueError unless a value is a list of at most MAX_RANK sizes, each below MAX_EXTENT."""
    if type(shape) is not list:
        raise ValueError(f"a shape is a list of sizes, found {type(shape).__name__}")
    if len(shape) > MAX_RANK:
        raise ValueError(f"a shape is a list of sizes, at most {MAX_RANK}, found {len(shape)}")
    for size in shape:
        if type(size) is not int or not 0 <= size < MAX_EXTENT:
            raise ValueError(f"a shape is a list of sizes from 0 to {MAX_EXTENT - 1}, found {size!r:.40}")


def check_literal(literal: object) -> None:
    """Raise ValueError unless the literal of a codec is a scalar, bytes, or a flat list of those."""
    parts = literal if type(literal) is list else [literal]
    for part in parts:
        if type(part) not in SCALARS and type(part) is not bytes:
            raise ValueError("a literal is a scalar or a flat list of scalars")


def check_names(names: list[Any]) -> None:
    """Raise ValueError unless names of attributes are strings, each once."""
    if not all(type(name) is str for name in names) or len(set(names)) != len(names):
        raise ValueError("names of attributes are strings, each once")


def _types(*kinds: type) -> Callable[[CheckedTable, Sequence[Any]], None]:
    def check(table: CheckedTable, operands: Sequence[Any]) -> None:
        for operand in operands:
            if type(operand) not in kinds:
                typed(operand, kinds[-1])

    return check


def _referring(*classes: str) -> Callable[[CheckedTable, Sequence[Any]], None]:
    def check(table: CheckedTable, operands: Sequence[Any]) -> None:
        known = table.classes
        for operand in operands:
            if type(operand) is not int or not -len(known) <= operand < 0 or known[~operand] not in classes:
                table.refers([operand], *classes)  # which says what is wrong

    return check


def _text(table: CheckedTable, operands: Sequence[Any]) -> None:
    """Demand a text, or the bytes of one with lone surrogates."""
    for operand in operands:
        if type(operand) is not str:
            typed(operand, bytes).decode("utf-8", "surrogatepass")


_NO_MERE_VALUES: Final = frozenset({"none", "shape", "tensor", "cell", "global"})
_FORMS: Final[Mapping[str, Callable[[CheckedTable, Sequence[Any]], None]]] = {
    **dict.fromkeys(("item", "key", "value", "member", "attribute"), CheckedTable.values),
    **{word: _referring(word) for word in ("shape", "object", "tuple", "dict", "set", "cell")},
    "scalar": CheckedTable.scalars,
    "sizes": lambda table, operands: check_shape(operands[0]),
    "int": _types(int, bytes),
    "str": _text,
    "bytes": _types(bytes),
    "run": _types(list),
    "name": lambda table, operands: check_names(list(operands)),
    "literal": lambda table, operands: check_literal(operands[0]),
    "made": _referring("object", "codec"),
    "filled": _referring("object", "codec", "function"),
    "given": lambda table, operands: table.refers(operands, table.referred(operands[0])),
}
"""What each word of operands demands; what other words demand is seen by their rows."""


def _pairs_of(
    form: Callable[[CheckedTable, Sequence[Any]], None],
) -> Callable[[CheckedTable, Record], None]:
    def check(table: CheckedTable, record: Record) -> None:
        if len(record) % 2 == 0:
            raise ValueError("a key without a value")
        form(table, record)

    return check


def _check_of(row: KindRow) -> Callable[[CheckedTable, Record], None]:
    """Return what checks each operand of a kind by its word, and that there are as many as the words say."""
    first, step = 1 + len(row.fixed), len(row.repeated)
    fixed = [(at, _FORMS[word]) for at, word in enumerate(row.fixed, 1) if word in _FORMS]
    forms = [_FORMS.get(word) for word in row.repeated]
    form = forms[0] if forms and len({*forms}) == 1 else None
    if first == 1 and form in (CheckedTable.values, CheckedTable.scalars):
        return form if step == 1 else _pairs_of(form)  # which take the number of the kind for one more
    rest = [(at, form) for at, form in enumerate(forms, first) if form is not None]
    stride = step
    if len({*forms}) == 1:  # all at once
        rest, stride = rest[:1], 1

    def check(table: CheckedTable, record: Record) -> None:
        more = len(record) - first
        if more < 0 or (more and not step):
            words = " ".join([*row.fixed, *([f"({' '.join(row.repeated)})*"] if step else [])])
            raise ValueError(f"{len(record) - 1} operands, expected {words}")
        if step > 1 and more % step:
            raise ValueError("a key without a value")
        for at, form in fixed:
            form(table, record[at : at + 1])
        for at, form in rest:
            form(table, record[at::stride])

    return check


_CHECKS: Final = {row.kind: _check_of(row) for row in ROWS.values()}


# --- attribute paths ---


def paths_to(
    records: Sequence[Record], root: object, wanted: set[int], start: str = "obj", limit: int = 200_000
) -> dict[int, str]:
    """Return the shortest attribute path from the root to each wanted record.

    A record that the root does not reach is called by its number. At most `limit` records are
    looked at, breadth first.
    """
    if not wanted:
        return {}
    fills = fills_by_target(records)
    came_from = _shortest_ways(records, root, fills, wanted, limit)
    return {
        index: _path_to(records, came_from, index, start) if index in came_from else f"record {index}"
        for index in wanted
    }


def _shortest_ways(
    records: Sequence[Record], root: Any, fills: Mapping[int, list[int]], wanted: set[int], limit: int
) -> dict[int, tuple[int, Record, int]]:
    """Return of each record that was met what led to it first: a record, it or a fill of it, the place in it.

    The root leads to itself.
    """
    if not is_reference(root):
        return {}
    came_from: dict[int, tuple[int, Record, int]] = {-1 - root: (-1 - root, [], 0)}
    missing = wanted - came_from.keys()
    queue = list(came_from)
    for index in queue:
        if not missing or len(queue) > limit:
            break
        for record in [records[index], *(records[fill] for fill in fills.get(index, ()))]:
            for at in _places(record):
                operand = record[at]
                if type(operand) is int and operand < 0 and -1 - operand not in came_from:
                    came_from[-1 - operand] = index, record, at
                    queue.append(-1 - operand)
                    missing.discard(-1 - operand)
    return came_from


def _places(record: Record) -> Sequence[int]:
    """Where in a record references may stand."""
    fixed, first = _REFERENCES[record[0]]
    return fixed if first is None else [*fixed, *range(first, len(record))]


_REFERENCES: Final = {
    row.kind: (
        [at for at, word in enumerate(row.fixed, 1) if word in REFERRING],
        1 + len(row.fixed) if REFERRING.intersection(row.repeated) else None,
    )
    for row in ROWS.values()
}


def _path_to(
    records: Sequence[Record], came_from: Mapping[int, tuple[int, Record, int]], index: int, start: str
) -> str:
    steps = []
    while came_from[index][0] != index:
        index, record, at = came_from[index]
        steps.append(_step(records, record, at))
    path = start
    for step in reversed(steps):
        path = _short(path + step)
    return path


def _step(records: Sequence[Record], record: Record, at: int) -> str:
    """Return what a path has for the operand at a place of a record."""
    row = ROWS[record[0]]
    rest = at - 1 - len(row.fixed)
    if rest < 0:
        return ""
    word, before = row.repeated[rest % len(row.repeated)], record[at - 1]
    if word == "item":
        return f"[{rest}]"
    if word == "attribute":
        return f".{records[-1 - record[1]][3 + rest]}"
    if word == "key":
        return "<key>"
    if row.repeated[0] == "name":
        return f".{before}"
    if row.repeated[0] == "key":
        return "[<key>]" if is_reference(before) else f"[{before!r}]"
    return ""


def _short(path: str) -> str:
    """Return a path without the tables of modules, and a long one without its middle."""
    for table in ("._modules['", "._parameters['", "._buffers['"):
        if table in path:
            head, _, tail = path.rpartition(table)
            path = f"{head}.{tail.removesuffix(chr(39) + ']')}"
    return path if len(path) <= 240 else f"{path[:120]} ... {path[-100:]}"
