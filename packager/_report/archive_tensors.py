"""The tensors of an archive: how large each is, whose memory it shares, and what values it has.

Values are read piece by piece, once for the numbers, once for the histogram.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from packager._differences import Member
from packager._quick_dataclasses import dataclass
from packager._tensors import boxes, span
from packager._texts import counted, size_text
from packager._weights import as_lazy

from .archive_facts import ArchiveFacts, sharing
from .page_parts import Cell, Code, Histogram, Mark, Section, Table, section, table

_READ_PER_BYTE = 2  # of the archive: what lies in it once may be looked at in two ways
_MOST_READ = 20_000
_MOST_SHOWN = 1_000
_MOST_BYTES = 280_000


def tensors_section(facts: ArchiveFacts, *, values: bool) -> Section | None:
    """Return the section of all tensors but those of golden calls; without `values` none is read."""
    calls = {name for check in facts.manifest.checks for name in (check.inputs, check.outputs)}
    names = [name for name in facts.members if name not in calls]
    if not names:
        return None
    extras = {state.entry: state.extras for state in facts.manifest.state_dicts}
    total = sum(facts.members[name].own_bytes for name in names)
    reader = ValueReader(_READ_PER_BYTE * facts.reader.size if values else 0)
    count = sum(len(facts.members[name]) for name in names)
    found: list[_Found] = []
    for name in names:
        member = Member(facts.reader, name, extras.get(name), facts.members[name])
        for row in facts.tensors(name):
            if len(found) < _MOST_READ:
                found.append(_Found(member, row, reader.of(member, row["key"]) if values else None))
    rows = [one.cells(total, several=len(names) > 1) for one in found[:_MOST_SHOWN]]
    odd = [one for one in found if one.values is not None and (one.values.nans or one.values.infinities)]
    unread = Mark(f"The values of the first {_MOST_READ:,} tensors were read.", "warning")
    columns = ("tensor", "dtype", "shape", "size", "share", *(_COLUMNS if values else ()), "shares")
    return section(
        "tensors",
        "Tensors",
        *((_verdict(odd, len(found)),) if values else ()),
        *((unread,) if values and count > _MOST_READ else ()),
        table("not finite", _ODD, [one.odd_cells() for one in odd], most=200),
        _members(facts, names, total),
        table("tensors", columns, rows, most=_MOST_SHOWN, most_bytes=_MOST_BYTES, total=count),
        count=f"{count:,}, {size_text(total)}",
        note="Bars show how many values lie in each sixteenth of the range between least and greatest; "
        "their height is the root of the count." if values else "",
    )  # fmt: skip


_COLUMNS = ("least", "greatest", "mean", "values")
_ODD = ("tensor", "member", "NaN", "infinite", "of")


def _verdict(odd: list[_Found], count: int) -> Mark:
    if not odd:
        return Mark("Every value that was read is a finite number.", "good")
    return Mark(f"{len(odd):,} of {counted(count, 'tensor')} hold NaN or infinities.", "bad")


def _members(facts: ArchiveFacts, names: list[str], total: int) -> Table:
    """Return what each member takes of the file, so that the sizes add up."""
    rows: list[tuple[Cell, ...]] = []
    for name in names if len(names) > 1 else ():
        stored = facts.stored_bytes(name)
        shared = ", ".join(f"{size_text(size)} in {other}" for other, size in stored["elsewhere"].items())
        share = _share(stored["bytes"], total)
        rows.append((Code(name), len(facts.members[name]), size_text(stored["bytes"]), share, shared))
    return table("members", ("member", "tensors", "size", "share", "shared"), rows)


@dataclass(frozen=True)
class _Found:
    """A tensor: the row that `inspect` prints of it, and its values, where they were read."""

    member: Member
    row: Mapping[str, Any]
    values: TensorValues | None

    def cells(self, total: int, *, several: bool) -> tuple[Cell, ...]:
        """Return the row of the table; with `several` members the key stands below the member's name."""
        row, key = self.row, self.row["key"]
        raw = self.member.raw_dtypes.get(key)
        shape = row["shape"][:-1] if raw else row["shape"]
        shared = sharing(row)
        taken = 0 if shared else row["bytes"]
        return (
            Code(f"{self.member.entry}: {key}" if several else key),
            raw or row["dtype"],
            str(shape),
            size_text(row["bytes"]),
            _share(taken, total) if taken else None,
            *(_value_cells(self.values) if self.values is not None else ()),
            shared,
        )

    def odd_cells(self) -> tuple[Cell, ...]:
        """Return what is not finite."""
        values = self.values or TensorValues()
        size = math.prod(self.row["shape"])
        nans = Mark(f"{values.nans:,}", "bad") if values.nans else 0
        infinities = Mark(f"{values.infinities:,}", "bad") if values.infinities else 0
        return (Code(self.row["key"]), Code(self.member.entry), nans, infinities, size)


def _value_cells(values: TensorValues) -> Iterator[Cell]:
    if not values.counts:
        yield Mark(values.note) if values.note else Mark("no finite number", "bad")
        yield from (None, None, None)
        return
    odd = values.nans or values.infinities
    least, greatest = number(values.least), number(values.greatest)
    yield Mark(f"{least}, and NaN or infinities", "bad") if odd else least
    yield from (greatest, number(values.mean), Histogram(values.counts))


def number(value: float) -> str:
    """Return a number in about four digits.

    >>> number(0.123456), number(12), number(3), number(-1e-9)
    ('0.1235', '12', '3', '-1e-09')
    """
    return str(value) if isinstance(value, int) and abs(value) < 10**6 else f"{value:.4g}"


def _share(size: int, total: int) -> str:
    return f"{100 * size / total:.2f} %" if total else ""


BINS: Final = 16
_AT_ONCE: Final = 1 << 18  # elements


@dataclass(frozen=True)
class TensorValues:
    """The least, greatest and mean of the values that are numbers, and how many lie in each sixteenth.

    Of complex values these are their absolute ones. `nans` and `infinities` count the others. Without any
    number `counts` is empty; `note` says why nothing was calculated.
    """

    least: float | int = 0
    greatest: float | int = 0
    mean: float = 0.0
    counts: tuple[int, ...] = ()
    nans: int = 0
    infinities: int = 0
    note: str = ""


class ValueReader:
    """Reads the values of tensors, as many bytes in all as it may; what is the same memory is read once.

    `budget` is in bytes. That of an archive's tensors is in proportion to the archive, however many tensors
    look at the same bytes.
    """

    def __init__(self, budget: int) -> None:
        self._left = budget
        self._known: dict[object, TensorValues] = {}

    def of(self, member: Member, key: str) -> TensorValues:
        """Return the values of a tensor. Raises IntegrityError for bytes that have not their digest."""
        spec = member.tensors[key]
        raw = member.raw_dtypes.get(key)
        known = (member.entry, spec.dtype, spec.storage, spec.shape, spec.strides, spec.offset, raw)
        if known not in self._known:
            self._known[known] = self._read(member, key)
        return self._known[known]

    def _read(self, member: Member, key: str) -> TensorValues:
        spec = member.tensors[key]
        count = math.prod(spec.shape)
        if not count:
            return TensorValues(note="no elements")
        low, high = span(spec.shape, spec.strides, spec.offset)
        if count > high - low:
            return TensorValues(note="repeats its elements")
        tensor = member[key]
        if not hasattr(tensor, "nbytes"):
            return TensorValues(note="packed elements")
        if tensor.nbytes > self._left:
            return TensorValues(note="not read")
        self._left -= tensor.nbytes
        return _values(as_lazy(tensor))


def _values(array: Any) -> TensorValues:
    """Return the values of a lazy array that has elements."""
    import numpy as np

    least: Any = math.inf
    greatest: Any = -math.inf
    total, nans, infinities, numbers = 0.0, 0, 0, 0
    for box in boxes(array.shape, _AT_ONCE):
        part = _numbers(array, box)
        if part.dtype.kind == "f":
            nans += int(np.count_nonzero(np.isnan(part)))
            infinities += int(np.count_nonzero(np.isinf(part)))
            part = part[np.isfinite(part)]
        if part.size:
            least, greatest = min(least, part.min().item()), max(greatest, part.max().item())
            numbers += part.size
            with np.errstate(all="ignore"):
                total += float(part.sum(dtype=np.float64))
    if not numbers:
        return TensorValues(nans=nans, infinities=infinities)
    counts = _counts(array, least, greatest)
    return TensorValues(least, greatest, total / numbers, counts, nans, infinities)


def _counts(array: Any, least: Any, greatest: Any) -> tuple[int, ...]:
    """Return how many numbers lie in each sixteenth of their range; all in the middle where it has no width.

    A range that is wider than the largest float is halved before it is divided.
    """
    import numpy as np

    counts = np.zeros(BINS, np.int64)
    low, high = float(least) / 2, float(greatest) / 2
    width = high - low
    for box in boxes(array.shape, _AT_ONCE):
        part = _numbers(array, box)
        if part.dtype.kind == "f":
            part = part[np.isfinite(part)]
        if not width > 0:
            counts[BINS // 2] += part.size
            continue
        places = ((part.astype(np.float64) / 2 - low) / width * BINS).astype(np.int64)
        counts += np.bincount(np.clip(places, 0, BINS - 1).ravel(), minlength=BINS)
    return tuple(counts.tolist())


def _numbers(array: Any, box: Any) -> Any:
    """Return a box as a flat array of bools, integers or floats; bfloat16 is the upper half of a float32."""
    import numpy as np

    if array.dtype == "bfloat16":
        return (array.read(box).view(np.uint16).astype(np.uint32) << 16).view(np.float32).ravel()
    found = array.typed(box)
    if found.dtype.kind == "c":
        with np.errstate(all="ignore"):
            found = np.abs(found)
    if found.dtype.kind not in "biuf":
        found = found.astype(np.float32)  # float8 of ml_dtypes: every value is one of float32
    if found.dtype.kind == "b":
        found = found.view(np.uint8)
    return found.ravel()
