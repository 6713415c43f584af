"""What an archive holds to be loaded: objects and their names, entry points, golden calls, migrations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from packager._archive import (
    NOT_REPEATABLE,
    CheckRecord,
    EntryPoint,
    ObjectRecord,
    SchemaRecord,
    StateDictRecord,
)
from packager._calls import InputTable, golden_answers, golden_inputs
from packager._objects import IN_TRAINING
from packager._texts import counted, listed, size_text

from .archive_facts import SCHEMA_COLUMNS, ArchiveFacts, schema_rows
from .page_parts import Cell, Code, Mark, Section, Table, section, table

_ALLOWED: Final = {
    "interned": "its code is stored in the archive",
    "extern": "a class of a recorded package of the target",
    "default": "data: on the list that every loader has",
    "trust": "named by trust=",
}
_MOST_CALLS: Final = 50
_LARGEST_CALL: Final = 16 << 20
_MOST_VALUES: Final = 6


def objects(facts: ArchiveFacts) -> Section | None:
    """Return stored objects and state dicts, the names in them, and why each is allowed."""
    manifest = facts.manifest
    first: list[tuple[Cell, ...]] = [
        (Code(f"{one.package}/{one.resource}"), ", ".join(one.modules)) for one in manifest.imports
    ]
    names: list[tuple[Cell, ...]] = []
    for one in facts.names:
        names += [(Code(name), "", Mark("needs trust=", "bad"), one.label) for name in one.needs_trust]
        names += [
            (Code(name), role, _ALLOWED.get(by, f"data: by a {by}"), one.label)
            for name, role, by in one.allowed
        ]
    told: list[tuple[Cell, ...]] = [
        (Code(place), Mark(f"it {IN_TRAINING}", "warning")) for place in facts.in_training
    ]
    refused: list[tuple[Cell, ...]] = [
        (one.label, Mark(why, "bad")) for one in facts.names for why in one.refused
    ]
    return section(
        "objects",
        "Objects",
        objects_table(manifest.objects),
        table("stored in training mode", ("object", "what to do"), told),
        table("imported before an object is loaded", ("object", "modules"), first),
        state_dicts_table(manifest.state_dicts),
        table("refused by loading", ("stored as", "because"), refused),
        table("names that objects need", ("name", "role", "allowed because", "stored as"), names),
        count=f"{len(manifest.objects) + len(manifest.state_dicts):,}",
    )


def objects_table(objects: Sequence[ObjectRecord]) -> Table:
    """Return how each object is made, how many names it needs, and the codecs that it is stored by."""
    rows: list[tuple[Cell, ...]] = [
        (
            Code(f"{record.package}/{record.resource}"),
            Code(record.factory) if record.factory else "stored layout",
            len(record.types),
            ", ".join(f"{name} {version}" for name, version in record.codecs),
        )
        for record in objects
    ]
    return table("objects", ("object", "made by", "names", "codecs"), rows)


def state_dicts_table(states: Sequence[StateDictRecord]) -> Table:
    """Return the versions of modules in each state dict, and the migrations that it went through."""
    rows: list[tuple[Cell, ...]] = [
        (
            Code(f"{record.package}/{record.resource}"),
            ", ".join(f"{path or 'the whole'}: {version}" for path, version in record.versions),
            ", ".join(record.migrations),
        )
        for record in states
    ]
    return table("state dicts", ("state dict", "versions", "migrations that ran"), rows)


def entry_points_section(points: Sequence[EntryPoint], schemas: Sequence[SchemaRecord]) -> Section | None:
    """Return how it is run, and what goes in and comes out."""
    rows: list[tuple[Cell, ...]] = [
        (
            Code(point.name),
            f"{point.package}/{point.resource}",
            Code(point.callable) if point.callable else "",
        )
        for point in points
    ]
    return section(
        "entry-points",
        "Entry points",
        table("entry points", ("name", "object", "callable"), rows),
        table("what entry points take and give", SCHEMA_COLUMNS, schema_rows(schemas)),
        count=f"{len(rows):,}",
    )


# --- golden calls ---


def golden_calls(facts: ArchiveFacts) -> Section | None:
    """Return the stored calls with their results; none is made here."""
    checks = facts.manifest.checks
    rows = [row for check in checks[:_MOST_CALLS] for row in _parts_of_call(facts, check)]
    return section(
        "golden-calls",
        "Golden calls",
        table("inputs and answers", ("call", "entry point", "direction", "part", "type", "values"), rows),
        count=f"{len(checks):,}",
        note="`kellet check` repeats them, and compares the outputs.",
    )


def _parts_of_call(facts: ArchiveFacts, check: CheckRecord) -> Iterator[tuple[Cell, ...]]:
    head = (Code(check.name), check.entry_point)
    # By place, as a golden call is stored; of `*args` no schema has the names.
    schemas = [one for one in facts.manifest.schemas if one.entry_point == check.entry_point]
    named = {
        f"arg{at}": taken.name
        for schema in schemas
        if not schema.is_open
        for at, taken in enumerate(schema.takes)
    }
    for label, member in (("takes", check.inputs), ("gives", check.outputs)):
        if member is None:
            yield (*head, label, "", "", NOT_REPEATABLE)
            continue
        size = facts.members[member].own_bytes if member in facts.members else 0
        if size > _LARGEST_CALL:
            yield (*head, label, member, size_text(size), "too large to be shown")
            continue
        if label == "takes":
            given, training = golden_inputs(facts.reader, check)
            parts = {named.get(name, name): value for name, value in given.items()}
            label = "takes, in training mode" if training else label
        else:
            parts = golden_answers(facts.reader, check)
        for name, value in parts.items():
            yield (*head, label, Code(name), *described(value))
    for trace in facts.manifest.traces:
        if trace.check == check.name and trace.entry in facts.reader:
            kept = size_text(facts.reader.entry(trace.entry).size)
            yield (*head, "trace", trace.entry, kept, "what its submodules took and gave")


def described(value: Any) -> tuple[Cell, Cell]:
    """Return the type of a value of a call, and the first of its values.

    >>> described(3)
    ('int', Code(text='3'))
    """
    if isinstance(value, InputTable):
        return f"table, {counted(value.rows, 'row')}", Code(listed([*value.columns], 8))
    if not hasattr(value, "dtype"):
        return type(value).__name__, Code(repr(value))
    shape = ", ".join(map(str, value.shape))
    first = value.reshape(-1)[:_MOST_VALUES].tolist()
    more = ", ..." if value.size > len(first) else ""
    shown = ", ".join(f"{one:.5g}" if isinstance(one, float) else str(one) for one in first)
    return f"{value.dtype} [{shape}]", Code(f"{shown}{more}")


# --- migrations ---


def migrations(facts: ArchiveFacts) -> Section | None:
    """Return the stored migrations, and what of the archive each would run."""
    rows: list[tuple[Cell, ...]] = [
        (
            Code(row["class"]),
            row["name"],
            row["to"],
            row["steps"],
            Mark(", ".join(row["calls"] + row["patterns"]), "warning")
            if row["calls"] or row["patterns"]
            else "nothing",
        )
        for row in facts.migrations
    ]
    return section(
        "migrations",
        "Migrations",
        table("migrations", ("class", "migration", "to version", "steps", "runs"), rows),
        count=f"{len(rows):,}",
    ) if rows else None  # fmt: skip
