"""A plan: what each step does to which keys, what there is afterwards, and both as text for people."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from packager.errors import MigrationError
from packager.quick_dataclasses import dataclass
from packager.texts import WIDTH, counted, in_lines, wrapped

from .load_reports import LoadReport, load_report
from .migrated_values import Value
from .transforms import Header

NO_MATCH: Final = "no key matches"
"""How the reason of a step that found nothing begins."""

_Cells = tuple[str, str]  # a key, or one and what becomes of it; its shape


class Row(NamedTuple):
    """One line of a plan: what a step does to some keys, or why it leaves them alone.

    `literal` marks a step that matched nothing though it names its key letter by letter, `optional` one that
    need not match anything.
    """

    step: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    before: tuple[Header | None, ...] = ()
    after: tuple[Header | None, ...] = ()
    skipped: str = ""
    literal: bool = False
    optional: bool = False


@dataclass(frozen=True)
class MigrationPlan:
    """What a load would do: a row per change or skip, and every key that there will be.

    `ran` names the migrations that were due for the state dict's version.

    >>> import numpy
    >>> from packager.migrations import Migration, plan_migration, rename
    >>> migration = Migration("fc", [rename("proj.{rest}", "fc.{rest}")])
    >>> plan = plan_migration(migration, {"proj.bias": numpy.ones(2)})
    >>> list(plan.values), plan.against({"fc.bias": numpy.ones(2)}).ok
    (['fc.bias'], True)
    """

    rows: tuple[Row, ...]
    values: Mapping[str, Value]
    ran: tuple[str, ...]

    @property
    def untouched(self) -> tuple[Row, ...]:
        """The steps that matched no key at all."""
        return tuple(row for row in self.rows if row.skipped.startswith(NO_MATCH))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The steps that matched no key though they are for this very file; each may be a mistake."""
        return tuple(f"{row.step}: {row.skipped}" for row in self.untouched if not row.optional)

    def against(self, target: Any) -> LoadReport:
        """Compare with `target`, a module or a state dict: what would be missing there, or unexpected."""
        return load_report(self.values, target)

    def require_matched(self, *, strict: bool = False) -> None:
        """Raise MigrationError for steps that matched nothing though they name their key, or for all."""
        idle = [
            row.step + row.skipped.removeprefix(NO_MATCH)
            for row in self.untouched
            if row.literal or (strict and not row.optional)
        ]
        if idle:
            raise MigrationError.listing(
                "steps that match no key:",
                idle,
                "Correct the name, or give the step a gate (if_all) that says when it applies",
            )

    def __str__(self) -> str:
        """Return the plan step by step in lines of 80 characters, and a last line that counts."""
        lines: list[str] = []
        for step, group in itertools.groupby(self.rows, lambda row: row.step):
            lines += wrapped(step)
            lines += _columns([cells for row in group for cells in _cells(row)])
        changed = sum(not row.skipped for row in self.rows)
        keys = counted(len(self.values), "key")
        count = f"{counted(changed, 'change')}, {len(self.rows) - changed} skipped, {keys} afterwards"
        return in_lines(*lines, count)


def _cells(row: Row) -> Iterator[_Cells]:
    """Yield the lines of a row: one for a key that goes on under one name, else one for each name."""
    if row.skipped:
        keys = f"{', '.join(row.old)}: " if row.old else ""
        for line in wrapped(f"{keys}skipped: {row.skipped}", "    "):
            yield line, ""
        return
    before, after = [list(map(_shape, headers)) for headers in (row.before, row.after)]
    if len(row.old) == len(row.new) == 1:
        old, new = row.old[0], row.new[0]
        shape = before[0] if before == after else f"{before[0]} -> {after[0]}"
        text = f"    {old}" if old == new else f"    {old} -> {new}"
        if _fits(text, shape):
            yield text, shape
            return
    for old, shape in zip(row.old, before, strict=True):
        yield f"    {old}", shape
    for new, shape in zip(row.new, after, strict=True):
        yield f"      -> {new}", shape


def _columns(cells: Sequence[_Cells]) -> Iterator[str]:
    """Yield lines in which shapes stand below each other, as far as they fit."""
    widest = max((len(shape) for text, shape in cells if _fits(text, shape)), default=0)
    column = max((len(text) for text, shape in cells if shape and len(text) + 2 + widest <= WIDTH), default=0)
    for text, shape in cells:
        if not shape:
            yield text
        elif _fits(text, shape):
            yield f"{text.ljust(min(column, WIDTH - 2 - len(shape)))}  {shape}"
        else:
            yield text
            yield f"          {shape}"


def _fits(text: str, shape: str) -> bool:
    return len(text) + 2 + len(shape) <= WIDTH


def _shape(header: Header | None) -> str:
    return "-" if header is None else str(header)


def reasons_text(title: str, reasons: Iterable[str]) -> list[str]:
    """Return reasons below a title, each in lines of their own; nothing where there are none.

    >>> reasons_text("does not go back:", ["drop a: it has no inverse"])
    ['does not go back:', '    drop a: it has no inverse']
    """
    lines = [line for reason in reasons for line in wrapped(reason, "    ")]
    return [title, *lines] if lines else []
