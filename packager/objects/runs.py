"""Runs: many scalars in one record, numbers as typed arrays and texts as one text with their lengths.

A table of three hundred thousand numbers costs hundreds of bytes each when it is scanned, checked and built
one by one. A run is `[RUN, form, part, ...]`, and holds nothing but scalars:

- `u1 i1 u2 i2 i4 i8 f8`: ints, or floats, little-endian, one after the other;
- `int`: ints of different sizes: a byte for each that says which, then the bytes of each size;
- `text`: lengths, and the texts that were in no run of the table before, joined; then, where there are others
  or one comes twice, the number of each, counted over all runs;
- `mixed`: a byte for each that says what it is, then a run of the ints, of the floats and of the texts.

Each value takes a byte at least, so a run is never more than its bytes are worth. Which form it is follows
from the values: the one that takes fewer bytes, the first of these where they take the same.

NumPy is imported inside the functions: most objects have no runs.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count

from packager.quick_dataclasses import dataclass

from .marshalled import marshalled_numbers
from .mixed_types import AT_ONCE, FLOAT, INT, TEXT, mixed_scalars
from .records import Kind, Record, is_reference, typed
from .text_order import TextsInOrder, texts_in_order

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

RUN_FROM: Final = 1024
"""How many scalars a container must hold, in all, for its items to be runs."""

_NUMBERS: Final = {"u1": 1, "i1": 1, "u2": 2, "i2": 2, "i4": 4, "i8": 8, "f8": 8}
_INTS: Final = ("u1", "i1", "u2", "i2", "i4", "i8")
_SIZES: Final = ("u1", "u2", "i4", "i8")
_COUNTS: Final = ("u1", "u2", "i4")
_PARTS: Final = (INT, FLOAT, TEXT)
_SCALARS: Final = frozenset({type(None), bool, int, float, str})
_WITHOUT_PARTS: Final = frozenset({type(None), bool})
_FEW: Final = 16


@dataclass(frozen=True, slots=True)
class Run:
    """Scalars that are a run: of which kind they are, "int", "float", "text" or "mixed".

    Numbers are one array; mixed ones have a byte for each in `tags`, and a run of each kind that there is.
    Texts that are members of a set may be `in_order` beside their values, which are then in any order.
    """

    values: Any
    kind: str
    tags: bytes = b""
    parts: tuple[Run | None, ...] = ()
    in_order: TextsInOrder | None = None


def run_of(values: Sequence[Any], kinds: Collection[type] | None = None) -> Run | None:
    """Return the run that holds all of these; None where none can: what is no scalar, or too large.

    A run holds None, bools, floats, ints of 64 bits, and texts that have a UTF-8 form. `kinds` are the types
    of the values where these are known.

    >>> [run_of(values) is not None for values in ([1, -2.5, None, "a"], [2**63], [b""])]
    [True, False, False]
    """
    kinds = set(map(type, values)) if kinds is None else kinds
    if not kinds or not _SCALARS.issuperset(kinds):
        return None
    if len(kinds) > 1 or _WITHOUT_PARTS.issuperset(kinds):
        return _mixed_run(values)
    (kind,) = kinds
    if kind is int:
        return _run_of_ints(values)
    if kind is float:
        return Run(array("d", values), "float")
    return Run(values, "text") if _have_bytes(values) else None


def run_of_numbers(numbers: Iterable[int]) -> Run:
    """Return the run of counts or places: ints of 64 bits, at least one.

    >>> run_of_numbers([2, 0]).kind
    'int'
    """
    return Run(array("q", list(numbers)), "int")  # which takes a list faster than an iterator


def mixed_of(values: Sequence[Any]) -> Run | None:
    """Return a run of scalars whose first few have different types; None for others.

    The types of all are asked once, and not before: `run_of` sees to those of one type.
    """
    first = set(map(type, values[:_FEW]))
    if len(values) < RUN_FROM or len(first) == 1 or not first <= _SCALARS:
        return None
    return _mixed_run(values)


def members_of(members: Collection[Any]) -> Run | None:
    """Return the run of the members of a set, all of them texts; None for others, or few."""
    if len(members) < RUN_FROM or type(next(iter(members))) is not str:
        return None
    texts = list(members)
    if set(map(type, texts)) != {str} or (found := texts_in_order(texts)) is None:
        return None
    return Run(texts, "text", in_order=found)


def numbers_of(values: Sequence[Any]) -> Run | None:
    """Return a run of floats, or of ints of 32 bits, made in two passes; None where there may be others."""
    numbers = marshalled_numbers(values) if len(values) >= RUN_FROM else None
    if numbers is None:
        return None
    return Run(numbers, "float" if type(values[0]) is float else "int")


def _run_of_ints(values: Sequence[int]) -> Run | None:
    try:
        return Run(array("q", values), "int")
    except OverflowError:
        return None


def _mixed_run(values: Sequence[Any]) -> Run | None:
    found = mixed_scalars(values)
    if found is None or not _have_bytes(found[-1]):
        return None
    tags, *numbers, texts = found
    parts = [*zip(numbers, ("int", "float"), strict=True), (texts, "text")]
    return Run(values, "mixed", tags, tuple(Run(part, kind) if len(part) else None for part, kind in parts))


def _have_bytes(texts: Sequence[str]) -> bool:
    joined = "".join(texts)
    if joined.isascii():
        return True
    try:
        joined.encode()
    except UnicodeEncodeError:
        return False
    return True


# --- to records ---


class RunWriter:
    """Writes the runs of one table, which number their texts together. `write` appends a record."""

    def __init__(self, write: Callable[[Record], int]) -> None:
        self._write = write
        self._texts: dict[str, int] = {}
        self._unnumbered: Run | None = None  # the first of texts, if no other one asks for their numbers

    def run(self, run: Run) -> int:
        """Write a run; return the reference to it."""
        import numpy

        if run.kind == "float":
            return self._write([Kind.RUN, "f8", numpy.asarray(run.values, "<f8").tobytes()])
        if run.kind == "int":
            return self._write([Kind.RUN, *_spelled_ints(run.values)])
        if run.kind == "text":
            return self._write([Kind.RUN, "text", *self._spelled_texts(run)])
        parts = [None if part is None else self.run(part) for part in run.parts]
        return self._write([Kind.RUN, "mixed", run.tags, *parts])

    def _spelled_texts(self, run: Run) -> list[Any]:
        is_first = not self._texts and self._unnumbered is None
        if is_first and run.in_order is not None:
            self._unnumbered = run
            return [*_spelled_counts(run.in_order.lengths), run.in_order.joined, None, None]
        values = _texts_of(run)
        if is_first and len(set(values)) == len(values):
            self._unnumbered, new = run, values
        else:
            new = self._numbered(values)
        spelled = [*_spelled_counts(list(map(len, new))), "".join(new).encode()]
        if len(new) == len(values):
            return [*spelled, None, None]
        return [*spelled, *_spelled_counts(list(map(self._texts.__getitem__, values)))]

    def _numbered(self, values: Sequence[str]) -> Sequence[str]:
        """Return the texts that were in no run before, each once, which have numbers now."""
        known = self._texts
        if self._unnumbered is not None:
            known.update(zip(_texts_of(self._unnumbered), count()))
            self._unnumbered = None
        new = [text for text in dict.fromkeys(values) if text not in known]
        known.update(zip(new, count(len(known))))
        return new


def _texts_of(run: Run) -> Sequence[str]:
    values: Sequence[str] = run.values
    return values if run.in_order is None else [values[at] for at in run.in_order.places.tolist()]


def _spelled_counts(values: Any) -> list[Any]:
    import numpy

    counts = numpy.asarray(array("q", values) if type(values) is list else values)
    form = _narrowest(0, int(counts.max(initial=0)))
    return [form, counts.astype(f"<{form}").tobytes()]


def _narrowest(low: int, high: int) -> str:
    """Return the first form of ints that holds everything from `low` to `high`."""
    import numpy

    return next(form for form in _INTS if numpy.iinfo(form).min <= low and high <= numpy.iinfo(form).max)


def _spelled_ints(values: Any) -> list[Any]:
    import numpy

    ints = numpy.asarray(values, numpy.int64)
    form = _narrowest(int(ints.min()), int(ints.max()))
    if _NUMBERS[form] <= 2:
        return [form, ints.astype(f"<{form}").tobytes()]
    if _cost_apart(ints) >= len(ints) * _NUMBERS[form]:
        return [form, ints.astype(f"<{form}").tobytes()]
    sizes = _sizes_of(ints)
    parts = [ints[sizes == at].astype(f"<{part}").tobytes() for at, part in enumerate(_SIZES)]
    return ["int", sizes.tobytes(), *parts]


def _sizes_of(array: Any) -> Any:
    """The place among `_SIZES` of the first that holds each number."""
    import numpy

    # Numbers below 0 are the largest of those without a sign.
    ints = array.astype(numpy.int64, copy=False).view(numpy.uint64)
    sizes = (ints >= numpy.uint64(2**8)).view(numpy.uint8) + (ints >= numpy.uint64(2**16))
    sizes += ints + numpy.uint64(2**31) >= numpy.uint64(2**32)
    return sizes


# --- checked ---


class RunCheck:
    """Checks the runs of one table, whose texts are numbered together, in the order of the records."""

    def __init__(self) -> None:
        self._texts = 0

    def size(self, record: Record, size_of: Callable[[Any, str], int]) -> int:
        """Return how many values a run has.

        `size_of` gives how many a run that was checked before has, and takes it: each belongs to one.

        Raises ValueError for one that is never written.
        """
        form, parts = typed(record[1], str), record[2:]
        if form in _NUMBERS:
            (data,) = parts
            return _check_numbers(form, data)
        if form == "int":
            return _check_ints(*parts)
        if form == "text":
            return self._check_texts(*parts)
        if form == "mixed":
            return _check_mixed(size_of, *parts)
        raise ValueError(f"there is no form {form!r:.40} of runs")

    def _check_texts(self, form: Any, lengths: Any, joined: Any, number_form: Any, numbers: Any) -> int:
        array = _array_of(form, lengths, _COUNTS)
        text = typed(joined, bytes).decode()
        if int(array.sum(dtype="int64")) != len(text) or (array < 0).any():
            raise ValueError(f"texts whose lengths do not make up {len(text)} characters")
        _require_narrowest(form, array)
        self._texts += len(array)
        if number_form is None and numbers is None:
            if not len(array):
                raise ValueError("a run of nothing")
            return len(array)
        places = _array_of(number_form, numbers, _COUNTS)
        if not len(places) or int(places.min()) < 0 or int(places.max()) >= self._texts:
            raise ValueError(f"numbers of texts that do not lie below {self._texts}")
        _require_narrowest(number_form, places)
        return len(places)


def _check_mixed(size_of: Callable[[Any, str], int], tags: Any, *parts: Any) -> int:
    if len(parts) != len(_PARTS):
        raise ValueError("a mixed run has ints, floats and texts")
    import numpy

    which = numpy.frombuffer(typed(tags, bytes), numpy.uint8)
    counts = [
        int(numpy.count_nonzero(which == tag)) for tag in range(6)
    ]  # bincount copies to eight times the size
    if sum(counts) < len(which) or not tags:
        raise ValueError("a mixed run says of each value what it is")
    if sum(counts[tag] for tag in (0, 1, 2)) == 0 and sum(counts[tag] > 0 for tag in _PARTS) < 2:
        raise ValueError("a mixed run of one kind of values")
    for tag, part, kind in zip(_PARTS, parts, ("int", "float", "text"), strict=True):
        found = 0 if part is None else size_of(part, kind)
        if found != counts[tag] or (part is not None and not found):
            raise ValueError(f"a mixed run with {counts[tag]} values in a run of {found}")
    return len(tags)


def kind_of_run(record: Record) -> str:
    """Return what the values of a run are: "int", "float", "text" or "mixed".

    >>> kind_of_run([Kind.RUN, "i4", b""])
    'int'
    """
    form: str = record[1]
    return {"f8": "float", "text": "text", "mixed": "mixed"}.get(form, "int")


def ints_in(record: Record) -> Any:
    """Return the ints of a run that was checked, as an array of int64 of its own."""
    import numpy

    _, form, *parts = record
    if form == "int":
        return _ints_apart(numpy.frombuffer(parts[0], numpy.uint8), parts[1:])
    return numpy.frombuffer(parts[0], f"<{form}").astype(numpy.int64)


def checked_counts(record: Record) -> tuple[int, int, int]:
    """Return the sum, the least and the greatest of the numbers in a run that was checked.

    Raises ValueError unless they are ints from 0 on.
    """
    if kind_of_run(record) != "int":
        raise ValueError("counts that are no ints")
    values = ints_in(record)
    if int(values.min()) < 0:
        raise ValueError("counts below 0")
    return int(values.sum()), int(values.min()), int(values.max())


def check_picks(record: Record, size: int, *, is_first: bool) -> None:
    """Check the numbers in a run that was checked: places among `size` rows.

    `is_first` says that no row was held before: then all are there, each for the first time in order, and
    there is one more than once. Raises ValueError.
    """
    import numpy

    if kind_of_run(record) != "int":
        raise ValueError("numbers of rows that are no ints")
    numbers = ints_in(record)
    if int(numbers.min()) < 0 or int(numbers.max()) >= size:
        raise ValueError(f"numbers of rows that do not lie below {size}")
    if not is_first:
        return
    if len(numbers) <= size or int(numbers.max()) != size - 1:
        raise ValueError(f"{len(numbers)} of {size} rows, of which none comes twice, or one is left out")
    so_far = numpy.maximum.accumulate(numbers)
    if int(numbers[0]) != 0 or (so_far[1:] > so_far[:-1] + 1).any():
        raise ValueError("rows that are picked for the first time in another order than they have")


def _array_of(form: Any, data: Any, forms: Collection[str]) -> Any:
    import numpy

    if type(form) is not str or form not in forms or len(typed(data, bytes)) % _NUMBERS[form]:
        raise ValueError(f"{form!r:.40} is no form of whole numbers")
    return numpy.frombuffer(data, f"<{form}")


def _check_numbers(form: str, data: Any) -> int:
    array = _array_of(form, data, _NUMBERS)
    if not len(array):
        raise ValueError("a run of nothing")
    if form != "f8":
        _require_narrowest(form, array)
        if _NUMBERS[form] > 2 and _cost_apart(array) < array.nbytes:
            raise ValueError("ints that take fewer bytes by their sizes")
    return len(array)


def _require_narrowest(form: str, array: Any) -> None:
    wanted = _narrowest(int(array.min()), int(array.max())) if len(array) else "u1"
    if wanted != form:
        raise ValueError(f"numbers as {form} that take {wanted}")


def _cost_apart(array: Any) -> int:
    """The bytes that ints of 32 or 64 bits take by their sizes, with a byte for each that says which."""
    import numpy

    small = array.view(f"u{array.itemsize}")  # where numbers below 0 are the largest
    first, second = (int(numpy.count_nonzero(small < 2**bits)) for bits in (8, 16))
    third = len(array)
    if array.itemsize > 4:
        third = int(numpy.count_nonzero(small + numpy.uint64(2**31) < numpy.uint64(2**32)))
    # A byte that says which and eight, but for those in four, in two, and in one.
    return 9 * len(array) - 4 * third - 2 * second - first


def _check_ints(sizes: Any, *parts: Any) -> int:
    if len(parts) != len(_SIZES):
        raise ValueError("ints of four sizes")
    array = _ints_apart(_array_of("u1", sizes, _COUNTS), parts)
    form = _narrowest(int(array.min()), int(array.max()))
    if (_sizes_of(array).tobytes() != sizes) or _cost_apart(array) >= len(array) * _NUMBERS[form]:
        raise ValueError("ints that are not spelled in their shortest form")
    return len(array)


def _ints_apart(sizes: Any, parts: Sequence[Any]) -> Any:
    """Put together the ints of a run by their sizes. Raises ValueError where there are not as many."""
    import numpy

    if not len(sizes) or int(sizes.max()) >= len(_SIZES):
        raise ValueError("a run of ints says of each which size it has")
    made = numpy.empty(len(sizes), numpy.int64)
    for at, (form, data) in enumerate(zip(_SIZES, parts, strict=True)):
        some, wanted = _array_of(form, data, _SIZES), sizes == at
        if int(wanted.sum()) != len(some):
            raise ValueError(f"{int(wanted.sum())} ints as {form}, and {len(some)} are there")
        made[wanted] = some
    return made


# --- back to values ---


class RunReader:
    """Gives the values of the runs of one table, in the order of the records, which were checked."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def values(self, record: Record, values_of: Callable[[Any], Any]) -> Any:
        """Return the values of a run: numbers as an array, others as a list.

        `values_of` gives those of one that was read before, and takes them.
        """
        import numpy

        _, form, *parts = record
        if form in _NUMBERS:
            return numpy.frombuffer(parts[0], f"<{form}")
        if form == "int":
            return _ints_apart(numpy.frombuffer(parts[0], numpy.uint8), parts[1:])
        return self._text_values(*parts) if form == "text" else _mixed_values(values_of, *parts)

    def _text_values(
        self, form: str, lengths: bytes, joined: bytes, numbered: Any, numbers: Any
    ) -> list[Any]:
        import numpy

        text = joined.decode()
        ends = numpy.frombuffer(lengths, f"<{form}").cumsum(dtype=numpy.int64).tolist()
        starts = [0, *ends][: len(ends)]
        new = [text[start:end] for start, end in zip(starts, ends, strict=True)]
        self._texts += new
        if numbers is None:
            return new
        return list(map(self._texts.__getitem__, numpy.frombuffer(numbers, f"<{numbered}").tolist()))


def _mixed_values(values_of: Callable[[Any], Any], tags: bytes, *parts: Any) -> list[Any]:
    import numpy

    which = numpy.frombuffer(tags, numpy.uint8)
    known = numpy.array([None, False, True, None, None, None], object)
    found = [(tag, values_of(part)) for tag, part in zip(_PARTS, parts, strict=True) if is_reference(part)]
    taken = [0] * len(found)
    made: list[Any] = []
    for start in range(0, len(which), AT_ONCE):
        tagged = which[start : start + AT_ONCE]
        some = known.take(tagged, mode="clip")  # which were checked
        for at, (tag, values) in enumerate(found):
            (places,) = (tagged == tag).nonzero()
            some[places] = _objects(values[taken[at] : taken[at] + len(places)])
            taken[at] += len(places)
        made += some.tolist()
    return made


def _objects(values: Any) -> Any:
    import numpy

    return numpy.fromiter(values, object, len(values)) if type(values) is list else values.astype(object)
