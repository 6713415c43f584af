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

import marshal
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import compress, count
from typing import Any, Final

from packager.quick_dataclasses import dataclass

from .records import Kind, Record, is_reference, typed

RUN_FROM: Final = 1024
"""How many scalars a container must hold, in all, for its items to be runs."""

_NUMBERS: Final = {"u1": 1, "i1": 1, "u2": 2, "i2": 2, "i4": 4, "i8": 8, "f8": 8}
_INTS: Final = ("u1", "i1", "u2", "i2", "i4", "i8")
_SIZES: Final = ("u1", "u2", "i4", "i8")
_COUNTS: Final = ("u1", "u2", "i4")
_TAGS: Final[Mapping[type, int]] = {type(None): 0, bool: 1, int: 3, float: 4, str: 5}
_TRUE: Final = 2
_PARTS: Final = (3, 4, 5)
_SCALARS: Final = frozenset(_TAGS)
_WITHOUT_PARTS: Final = frozenset({type(None), bool})
_FEW: Final = 16
_KIND_OF: Final = {tag: frozenset({kind}) for kind, tag in _TAGS.items()}
_ONLY: Final = {tag: bytes(one == tag for one in range(256)) for tag in (1, *_PARTS)}
"""By a tag, what makes of tags a byte for each that says whether it is this one."""


@dataclass(frozen=True, slots=True)
class Run:
    """Scalars that are a run: of which kind they are, "int", "float", "text" or "mixed".

    Numbers are one array; mixed ones have a byte for each in `tags`, and a run of each kind that there is.
    """

    values: Any
    kind: str
    tags: bytes = b""
    parts: tuple[Run | None, ...] = ()


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
    try:
        return _mixed_run(values)
    except KeyError:  # a type that is none of scalars
        return None


def numbers_of(values: Sequence[Any]) -> Run | None:
    """Return a run of floats, or of ints of 32 bits, made in two passes; None where there may be others.

    `marshal` writes a number of these as a letter and its bytes, and nothing but exact types. So where every
    one of `width` bytes begins with the letter, there is no other value, whatever else its format has.
    """
    found = _MARSHALLED.get(type(values[0])) if len(values) >= RUN_FROM else None
    if found is None or type(values[-1]) is not type(values[0]):
        return None
    letter, form, width = found
    try:
        data = marshal.dumps(values, _MARSHAL_VERSION)  # type: ignore[arg-type]  # or it raises
    except ValueError:  # what it does not know, in the middle
        return None
    if len(data) != _MARSHAL_HEADER + width * len(values):
        return None
    import numpy

    rows = numpy.frombuffer(data, [("letter", "u1"), ("number", form)], offset=_MARSHAL_HEADER)
    if not (rows["letter"] == letter).all():
        return None
    return Run(rows["number"].copy(), "float" if form == "<f8" else "int")


_MARSHAL_VERSION: Final = 2
_MARSHAL_HEADER: Final = 5
_MARSHALLED: Final[Mapping[type, tuple[int, str, int]]] = {
    int: (ord("i"), "<i4", 5),
    float: (ord("g"), "<f8", 9),
}


def _run_of_ints(values: Sequence[int]) -> Run | None:
    try:
        return Run(array("q", values), "int")
    except OverflowError:
        return None


def _mixed_run(values: Sequence[Any]) -> Run | None:
    tags = bytearray(map(_TAGS.__getitem__, map(type, values)))
    parts: list[Run | None] = []
    for tag in _PARTS:
        some = list(compress(values, tags.translate(_ONLY[tag]))) if tag in tags else []
        part = run_of(some, _KIND_OF[tag]) if some else None
        if some and part is None:
            return None
        parts.append(part)
    if 1 in tags:
        import numpy

        bools = numpy.frombuffer(tags, numpy.uint8) == 1
        truths = bytes(compress(values, bools.tobytes()))  # one more is _TRUE
        numpy.frombuffer(tags, numpy.uint8)[bools] += numpy.frombuffer(truths, numpy.uint8)
    return Run(values, "mixed", bytes(tags), tuple(parts))


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
        self._unnumbered: Sequence[str] = ()  # those of the first run, if no other one asks for their numbers

    def run(self, run: Run) -> int:
        """Write a run; return the reference to it."""
        import numpy

        if run.kind == "float":
            return self._write([Kind.RUN, "f8", numpy.asarray(run.values, "<f8").tobytes()])
        if run.kind == "int":
            return self._write([Kind.RUN, *_spelled_ints(run.values)])
        if run.kind == "text":
            return self._write([Kind.RUN, "text", *self._spelled_texts(run.values)])
        parts = [None if part is None else self.run(part) for part in run.parts]
        return self._write([Kind.RUN, "mixed", run.tags, *parts])

    def _spelled_texts(self, values: Sequence[str]) -> list[Any]:
        if not self._texts and not self._unnumbered and len(set(values)) == len(values):
            self._unnumbered = new = values
        else:
            new = self._numbered(values)
        spelled = [*_spelled_counts(list(map(len, new))), "".join(new).encode()]
        if len(new) == len(values):
            return [*spelled, None, None]
        return [*spelled, *_spelled_counts(list(map(self._texts.__getitem__, values)))]

    def _numbered(self, values: Sequence[str]) -> Sequence[str]:
        """Return the texts that were in no run before, each once, which have numbers now."""
        known = self._texts
        known.update(zip(self._unnumbered, count()))
        self._unnumbered = ()
        new = [text for text in dict.fromkeys(values) if text not in known]
        known.update(zip(new, count(len(known))))
        return new


def _spelled_counts(values: Sequence[int]) -> list[Any]:
    import numpy

    form = _narrowest(0, max(values, default=0))
    if form == "u1":
        return [form, bytes(values)]
    return [form, numpy.array(values, f"<{form}").tobytes()]


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
    sizes = _sizes_of(ints)
    counts = numpy.bincount(sizes, minlength=4)
    if len(ints) + int(counts @ [1, 2, 4, 8]) >= len(ints) * _NUMBERS[form]:
        return [form, ints.astype(f"<{form}").tobytes()]
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

    counts = numpy.bincount(numpy.frombuffer(typed(tags, bytes), numpy.uint8), minlength=6).tolist()
    if len(counts) > 6 or not tags:
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
    import numpy

    counts = numpy.bincount(_sizes_of(array), minlength=4)
    return len(array) + int(counts @ [1, 2, 4, 8])


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

    def values(self, record: Record, values_of: Callable[[Any], list[Any]]) -> list[Any]:
        """Return the values of a run; `values_of` gives those of one that was read before, and takes them."""
        import numpy

        _, form, *parts = record
        if form in _NUMBERS:
            return numpy.frombuffer(parts[0], f"<{form}").tolist()  # type: ignore[no-any-return]  # a list
        if form == "int":
            sizes = numpy.frombuffer(parts[0], numpy.uint8)
            return _ints_apart(sizes, parts[1:]).tolist()  # type: ignore[no-any-return]  # a list
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


def _mixed_values(values_of: Callable[[Any], list[Any]], tags: bytes, *parts: Any) -> list[Any]:
    import numpy

    which = numpy.frombuffer(tags, numpy.uint8)
    made = numpy.empty(len(which), object)
    made[which == 1], made[which == _TRUE] = False, True
    for tag, part in zip(_PARTS, parts, strict=True):
        if is_reference(part):
            values = values_of(part)
            some = numpy.empty(len(values), object)
            some[:] = values
            made[which == tag] = some
    return made.tolist()
