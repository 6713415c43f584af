"""The records of entry points and golden calls in the manifest, and how they are stored."""

from __future__ import annotations

from packager.quick_dataclasses import dataclass

from .bounds import MAX_CHECKS
from .manifest_columns import FLAG, NAME, TEXT, Table, choice, many, named, plain, row

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """How to run the archive: a name for an object, and which of its attributes is called.

    `callable` is None where the object itself is called.
    """

    name: str
    package: str
    resource: str
    callable: str | None = None


@dataclass(frozen=True, slots=True)
class TakenValue:
    """A value that an entry point takes: its name, its type as text, and whether it has to be given."""

    name: str
    type: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A part of what an entry point gives: its name, as in golden calls, and its type as text.

    In a name `*` stands for the numbers from 0 on.
    """

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class SchemaRecord:
    """What an entry point takes and gives, in the order of its parameters, and of its answer.

    `is_open` says that it takes other names, too. `origin` is
    "declared" where any of it was declared, else "calls".
    """

    entry_point: str
    takes: tuple[TakenValue, ...] = ()
    gives: tuple[GivenValue, ...] = ()
    is_open: bool = False
    origin: str = "declared"

    def __str__(self) -> str:
        """Return it as one line; what may be left out and has no type is only counted."""
        shown = [one for one in self.takes if one.required or one.type != "any"]
        takes = [f"{one.name}: {one.type}{'' if one.required else ' (optional)'}" for one in shown]
        if others := len(self.takes) - len(shown):
            takes.append(f"{others} optional")
        if self.is_open:
            takes.append("...")
        gives = ", ".join(f"{one.name}: {one.type}" for one in self.gives)
        return f"{self.entry_point}({', '.join(takes)}) -> {gives or '?'}"


NOT_REPEATABLE: Final = "not repeatable: its outputs differed from call to call, and nothing is compared"
"""What is said of a golden call without outputs."""


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """A stored call and its result: the entry point, and the entries with inputs and outputs.

    `outputs` is None where the call is not repeatable, so that there is nothing to compare.
    """

    name: str
    entry_point: str
    inputs: str
    outputs: str | None


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """What the submodules answered in a golden call: its name, and the entry that says it."""

    check: str
    entry: str


def _is_value_type(text: str) -> bool:
    from .value_types import is_value_type  # most archives name no types of values

    return is_value_type(text)


_VALUE_TYPE: Final = plain("the type of a value, as section 5.6 spells it", str, legal=_is_value_type)
_TAKEN: Final = named(many(row(TakenValue, TEXT, _VALUE_TYPE, FLAG)))
_GIVEN: Final = named(many(row(GivenValue, TEXT, _VALUE_TYPE)))

TABLES: Final[Mapping[str, Table]] = {
    "entry_points": Table(EntryPoint, ("name",), (TEXT, TEXT, TEXT, NAME)),
    "checks": Table(CheckRecord, ("name",), (TEXT, TEXT, TEXT, NAME), MAX_CHECKS),
    "schemas": Table(
        SchemaRecord,
        ("entry_point",),
        (TEXT, _TAKEN, _GIVEN, FLAG, choice("calls", "declared")),
        MAX_CHECKS,
    ),
    "traces": Table(TraceRecord, ("check",), (TEXT, TEXT), MAX_CHECKS),
}
