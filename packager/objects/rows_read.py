"""Long containers of plain values, read: checked before anything is built, then built all at once.

Each run and each row has one place where it is used, so that what is built is never more than its bytes say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice, repeat

from packager.archive import FREE_KEYS, MAX_ROW_DEPTH, most_row_weight

from .key_spread import require_once
from .records import INLINE, Kind, Record, is_reference, typed
from .rows import MOST_COLUMNS, MOST_KEYS, ROW_KINDS, row_weight
from .runs import RunCheck, RunReader, check_picks, checked_counts, kind_of_run

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

_ROW_TYPES: Final = frozenset(ROW_KINDS.values())
_HASHED_ROWS: Final = frozenset({"tuple", "frozenset"})
_CLASSES: Final = {
    Kind.LONG_TUPLE: "tuple", Kind.LONG_LIST: "list", Kind.LONG_DICT: "dict", Kind.LONG_SET: "set",
    Kind.LONG_FROZENSET: "frozenset",
}  # fmt: skip


class LongCheck:
    """Checks the long containers of one table; of `records` those count that have been checked so far.

    `nbytes` is the size of the table, which bounds what the small containers weigh.
    """

    def __init__(self, records: Sequence[Record], nbytes: int) -> None:
        self._records = records
        self._nbytes = nbytes
        self._weight = 0
        self._depths: dict[int, int] = {}  # of rows: how many are inside each other
        self._runs = RunCheck()
        self._sizes: dict[int, int] = {}  # of what has not been taken
        self._rows: dict[int, tuple[str, int]] = {}
        self._unhashed: set[int] = set()

    def run(self, record: Record, index: int) -> str:
        """Check a run. Raises ValueError for one that is never written."""
        self._sizes[index] = self._runs.size(record, self._size_of_part)
        return "run"

    def rows(self, record: Record, index: int) -> str:
        """Check rows: their counts, and that what they hold is as much. Raises ValueError."""
        _, word, counts, *parts = record
        self._require_word(word)
        place = self._place(counts)
        if self._records[place][0] != Kind.RUN:
            raise ValueError("counts that are no run")
        size = self._take(counts)
        total, least, most = checked_counts(self._records[place])
        wanted = (2 if word == "dict" else 1) if total else 0
        if len(parts) != wanted:
            raise ValueError(f"rows of {total} items in all, in {len(parts)} parts")
        if word in ("tuple", "list") and least == most and 1 <= most <= MOST_COLUMNS:
            raise ValueError("rows of one length that should be columns")
        self._add(index, word, parts, total, size, items=total)
        return "rows"

    def columns(self, record: Record, index: int) -> str:
        """Check columns: that all are of one length. Raises ValueError."""
        _, word, *parts = record
        if word not in ("tuple", "list") or not 1 <= len(parts) <= MOST_COLUMNS:
            raise ValueError(f"{len(parts)} columns of {word!r:.40}")
        size = self._sizes.get(self._place(parts[0]), 0)
        self._add(index, word, parts, size, size)
        return "rows"

    def keyed(self, record: Record, index: int) -> str:
        """Check dicts by their keys: short texts, and as many values of each. Raises ValueError."""
        _, keys, *parts = record
        if type(keys) is not list or not 1 <= len(keys) <= MOST_KEYS or len(parts) != len(keys):
            raise ValueError(f"a table has from 1 to {MOST_KEYS} keys, and values of each")
        if set(map(type, keys)) != {str} or max(map(len, keys)) > INLINE or len(set(keys)) < len(keys):
            raise ValueError(f"the keys of a table are texts of at most {INLINE} characters, each once")
        size = self._sizes.get(self._place(parts[0]), 0)
        self._add(index, "dict", parts, size, size, with_keys=False)
        return "rows"

    def picked(self, record: Record, index: int) -> str:
        """Check small containers that are picked from rows by their numbers. Raises ValueError.

        Of rows that nothing has used all are picked, for the first time in order, and one more than once.
        """
        _, numbers, rows = record
        number_place, place = self._place(numbers), self._place(rows)
        word, size = self._rows.get(place, ("", 0))
        if word in ("", *_HASHED_ROWS):
            raise ValueError("rows are picked from what has no rows of its own")
        if self._records[number_place][0] != Kind.RUN:
            raise ValueError("numbers of rows that are no run")
        picks = self._take(numbers)
        is_first = place in self._sizes
        check_picks(self._records[number_place], size, is_first=is_first)
        if is_first:
            self._take(rows)
        self._sizes[index] = picks
        self._depths[index] = self._depths[place]
        self._unhashed.add(index)
        return "rows"

    def row(self, record: Record, index: int) -> str:
        """Check the record of one small container. Raises ValueError."""
        _, rows, number = record
        word, size = self._rows.get(self._place(rows), ("", 0))
        if word in ("", *_HASHED_ROWS):
            raise ValueError("a row of nothing that has rows of its own")
        if type(number) is not int or not 0 <= number < size:
            raise ValueError(f"there is no row {number!r:.40} of {size}")
        return word

    def container(self, record: Record, index: int) -> str:
        """Check a long container. Raises ValueError."""
        kind, *parts = record
        self.require_parts(parts, in_dict=kind == Kind.LONG_DICT, in_set=kind in _LONG_SETS)
        return _CLASSES[kind]

    def require_parts(self, parts: Sequence[Any], *, in_dict: bool = False, in_set: bool = False) -> None:
        """Raise ValueError unless these are what a container holds: its items, or keys and values."""
        if len(parts) != (2 if in_dict else 1):
            raise ValueError("a long container is a run or rows, of a dict two of them")
        sizes = {self._take(part, hashed=in_set or (in_dict and at == 0)) for at, part in enumerate(parts)}
        if len(sizes) != 1:
            raise ValueError("a key without a value")

    def unused(self) -> int | None:
        """Return the number of a run or of rows that no record uses; None where there is none."""
        return next(iter(self._sizes), None)

    def _add(
        self,
        index: int,
        word: str,
        parts: Sequence[Any],
        each: int,
        size: int,
        *,
        items: int | None = None,
        with_keys: bool = True,
    ) -> None:
        self._weigh(index, word, parts, size, each * len(parts) if items is None else items)
        hashed = [word in _HASHED_ROWS, all(self._is_hashed(part) for part in parts)]
        if not all(hashed):
            self._unhashed.add(index)
        for at, part in enumerate(parts):
            inside = word in ("set", "frozenset") or (word == "dict" and at == 0 and with_keys)
            if self._take(part, hashed=inside) != each:
                raise ValueError(f"rows of {each} items, and other numbers of them in their parts")
        self._sizes[index] = size
        self._rows[index] = (word, size)

    def _weigh(self, index: int, word: str, parts: Sequence[Any], size: int, items: int) -> None:
        """Raise ValueError for rows that are too deep, or weigh too much with those before."""
        depth = 1 + max((self._depths.get(self._place(part), 0) for part in parts), default=0)
        if depth > MAX_ROW_DEPTH:
            raise ValueError(f"rows {depth} deep, at most {MAX_ROW_DEPTH} are written")
        self._depths[index] = depth
        self._weight += row_weight(word, size, items)
        if self._weight > (limit := most_row_weight(self._nbytes)):
            raise ValueError(
                f"small containers that take {self._weight} bytes of memory and more, at most {limit} are "
                f"taken by those of a table of {self._nbytes} bytes"
            )

    def _require_word(self, word: Any) -> None:
        if type(word) is not str or word not in ROW_KINDS:
            raise ValueError(f"there are no rows of {word!r:.40}")

    def _is_hashed(self, operand: Any) -> bool:
        return self._place(operand) not in self._unhashed

    def _size_of_part(self, operand: Any, kind: str) -> int:
        record = self._records[self._place(operand)]
        if record[0] != Kind.RUN or kind_of_run(record) != kind:
            raise ValueError(f"a part of a mixed run that is no run of kind {kind}")
        return self._take(operand)

    def _take(self, operand: Any, *, hashed: bool = False) -> int:
        """The size of a run or of rows, which no other record may use now."""
        place = self._place(operand)
        size = self._sizes.pop(place, None)
        if size is None:
            raise ValueError("a run, or rows, that is used twice, or none")
        if hashed and place in self._unhashed:
            raise ValueError("keys, or members of a set, that have no hash")
        return size

    def _place(self, operand: Any) -> int:
        if not is_reference(operand):
            raise ValueError(f"expected a reference to a run or to rows, found {operand!r:.40}")
        place: int = -1 - typed(operand, int)
        if place not in self._sizes and place not in self._rows:
            raise ValueError("expected a reference to a run or to rows, that nothing has used")
        return place


_LONG_SETS: Final = frozenset({Kind.LONG_SET, Kind.LONG_FROZENSET})


class LongReader:
    """Gives what the long containers of one checked table hold.

    `built` is what was built of the records before; `check_keys` is asked before keys are hashed.
    """

    def __init__(
        self, built: list[Any] | dict[int, Any], check_keys: Callable[[Sequence[Any], bool], None]
    ) -> None:
        self._built = built
        self._check_keys = check_keys
        self._runs = RunReader()

    def run(self, record: Record) -> Any:
        """Return the values of a run: numbers as an array, which `values` makes a list of."""
        return self._runs.values(record, self._taken)

    def values(self, operand: Any) -> list[Any]:
        """Return what a run or rows hold, once."""
        taken = self._taken(operand)
        return taken if isinstance(taken, list) else taken.tolist()

    def _taken(self, operand: Any) -> Any:
        """The same, where numbers are an array."""
        index = -1 - operand
        values = self._built[index]
        if type(values) is _KeptRows:
            return list(values)  # a row may be asked for later
        self._built[index] = None
        return values

    def rows(self, record: Record) -> list[Any]:
        """Return small containers of one kind, one after the other."""
        _, word, counts, *parts = record
        kind = ROW_KINDS[word]
        counted = self.values(counts)
        found = [self.values(part) for part in parts] or [[], []]
        hashed = word not in ("tuple", "list")
        if hashed and (max(counted) > FREE_KEYS or not _ROW_TYPES.isdisjoint(map(type, found[0]))):
            made = self._looked_at(kind, counted, *found)
        elif word == "dict":
            keys, values = map(iter, found)
            made = [dict(zip(islice(keys, size), islice(values, size), strict=True)) for size in counted]
        else:
            made = list(map(kind, map(islice, repeat(iter(found[0])), counted)))  # each takes the next
        if hashed and sum(map(len, made)) < len(found[0]):
            _require_each_once(found[0], made, counted)
        return made if word in _HASHED_ROWS else _KeptRows(made)

    def columns(self, record: Record) -> list[Any]:
        """Return small tuples or lists, from what stands at each place of them."""
        _, word, *parts = record
        found = zip(*map(self.values, parts), strict=True)
        return list(found) if word == "tuple" else _KeptRows(map(list, found))

    def keyed(self, record: Record) -> list[Any]:
        """Return dicts, from their keys and what they have for each; the keys are few texts."""
        _, keys, *parts = record
        rows = zip(*map(self.values, parts), strict=True)
        return _KeptRows([dict(zip(keys, row, strict=True)) for row in rows])

    def picked(self, record: Record) -> list[Any]:
        """Return small containers of rows, by their numbers: the same one wherever it is picked."""
        _, numbers, rows = record
        return list(map(self._built[-1 - rows].__getitem__, self.values(numbers)))

    def row(self, record: Record) -> Any:
        """Return one of the small containers."""
        return self._built[-1 - record[1]][record[2]]

    def _looked_at(
        self, kind: type, counts: list[int], keys: Sequence[Any], values: Sequence[Any] = ()
    ) -> list[Any]:
        """Dicts or sets, whose keys are many or more than numbers and texts: each is looked at by itself."""
        all_keys, all_values, made = iter(keys), iter(values), []
        for at, size in enumerate(counts):
            some = self._keys(all_keys, size, at, in_set=kind is not dict)
            made.append(kind(zip(some, islice(all_values, size), strict=True) if kind is dict else some))
        return made

    def _keys(self, keys: Any, size: int, at: int, *, in_set: bool) -> list[Any]:
        """The keys of the next dict or set, when they may be hashed: few numbers and texts always."""
        found = list(islice(keys, size))
        if size > FREE_KEYS or not _ROW_TYPES.isdisjoint(map(type, found)):
            try:
                self._check_keys(found, in_set)
            except ValueError as error:
                raise ValueError(f"[{at}] of it: {error}") from error
        return found


def _require_each_once(keys: Sequence[Any], made: Sequence[Any], counts: Sequence[int]) -> None:
    """Raise ValueError for the first dict or set that has a key twice."""
    all_keys = iter(keys)
    for at, (one, size) in enumerate(zip(made, counts, strict=True)):
        try:
            require_once([*islice(all_keys, size)], len(one))
        except ValueError as error:
            raise ValueError(f"[{at}] of it: {error}") from error


class _KeptRows(list["Any"]):
    """Rows that other records may refer to."""
