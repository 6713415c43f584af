"""The tensors of an archive: how large each is, whose memory it shares, and what values it has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from packager.differences import Member
from packager.quick_dataclasses import dataclass
from packager.sizes import size_text
from packager.texts import counted

from .archive_facts import ArchiveFacts, sharing
from .building import section, table
from .records import Cell, Code, Histogram, Mark, Section, Table
from .tensor_values import TensorValues, ValueReader

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
        Table("tensors", columns, rows, count, _MOST_SHOWN, _MOST_BYTES, is_open=len(rows) <= 30),
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
