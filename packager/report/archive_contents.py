"""What an archive holds to be loaded: objects and their names, entry points, golden calls, migrations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from packager.archive import (
    NOT_REPEATABLE,
    CheckRecord,
    EntryPoint,
    ObjectRecord,
    SchemaRecord,
    StateDictRecord,
)
from packager.differences import Member
from packager.errors import PackageError
from packager.loading import golden_answers, golden_inputs
from packager.sizes import size_text

from .archive_facts import ArchiveFacts, schema_rows
from .records import Block, Cell, Code, Lines, Mark, Section, Table, section, table

_ALLOWED: Final = {
    "interned": "its code is stored in the archive",
    "extern": "a class of a recorded package of the target",
    "default": "data: on the list that every loader has",
    "trust": "named by trust=",
}
_MOST_CALLS: Final = 50
_LARGEST_CALL: Final = 16 << 20
_MOST_VALUES: Final = 6
_MOST_KEYS: Final = 2_000
_MOST_DRY_RUNS: Final = 20
_MOST_WORK: Final = 500_000  # steps times keys, of all dry runs together


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
    refused: list[tuple[Cell, ...]] = [
        (one.label, Mark(why, "bad")) for one in facts.names for why in one.refused
    ]
    return section(
        "objects",
        "Objects",
        objects_table(manifest.objects),
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
    columns = ("entry point", "", "name", "type", "known")
    return section(
        "entry-points",
        "Entry points",
        table("entry points", ("name", "object", "callable"), rows),
        table("what entry points take and give", columns, schema_rows(schemas)),
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
        table("inputs and answers", ("call", "entry point", "", "part", "type", "values"), rows),
        count=f"{len(checks):,}",
        note="Stored with the archive; `packager check` repeats them on a target and compares.",
    )


def _parts_of_call(facts: ArchiveFacts, check: CheckRecord) -> Iterator[tuple[Cell, ...]]:
    head = (Code(check.name), check.entry_point)
    for label, member in (("takes", check.inputs), ("gives", check.outputs)):
        if member is None:
            yield (*head, label, "", "", NOT_REPEATABLE)
            continue
        size = facts.members[member].own_bytes if member in facts.members else 0
        if size > _LARGEST_CALL:
            yield (*head, label, member, size_text(size), "too large to be shown")
            continue
        if label == "takes":
            parts, training = golden_inputs(facts.reader, check)
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
    if not hasattr(value, "dtype"):
        return type(value).__name__, Code(repr(value))
    shape = ", ".join(map(str, value.shape))
    first = value.reshape(-1)[:_MOST_VALUES].tolist()
    more = ", ..." if value.size > len(first) else ""
    shown = ", ".join(f"{one:.5g}" if isinstance(one, float) else str(one) for one in first)
    return f"{value.dtype} [{shape}]", Code(f"{shown}{more}")


# --- migrations ---


def migrations(facts: ArchiveFacts) -> Section | None:
    """Return the stored migrations, and what each would do to an older state dict of what is stored."""
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
    dry: list[Block] = list(_dry_runs(facts))
    return section(
        "migrations",
        "Migrations",
        table("migrations", ("class", "migration", "to version", "steps", "runs"), rows),
        *dry,
        count=f"{len(rows):,}",
        note="A dry run shows what a migration does to an older state dict, which follows from stored keys. "
        "No array is read.",
    ) if rows else None  # fmt: skip


def _dry_runs(facts: ArchiveFacts) -> Iterator[Block]:
    """Yield a dry run for each migration that goes back and runs nothing of the archive."""
    states, left = list(_states(facts)), _MOST_WORK
    known = [(target, one) for target, several in facts.stored_migrations.items() for one in several]
    for (target, migration), row in list(zip(known, facts.migrations, strict=True))[:_MOST_DRY_RUNS]:
        if row["calls"] or row["patterns"]:
            yield Mark(
                f"{migration.name}: no dry run, as it runs {', '.join(row['calls'] + row['patterns'])}"
            )
            continue
        block, work = _dry_run(target, migration, states, left)
        left -= work
        yield block


class _Headers(dict[str, Any]):
    """A state dict of which the shapes and dtypes are known, and no values."""

    def header(self, key: str) -> Any:
        """Return shape and dtype."""
        return self[key]


def _states(facts: ArchiveFacts) -> Iterator[tuple[str, _Headers]]:
    """Yield what is known of the stored state dicts, of none with too many keys."""
    from packager.migrations import Header

    for name, tensors in facts.members.items():
        if len(tensors) <= _MOST_KEYS:
            member = Member(facts.reader, name, tensors=tensors)
            arrays = {key: member[key] for key in member}
            yield (
                name,
                _Headers({key: Header(tuple(one.shape), str(one.dtype)) for key, one in arrays.items()}),
            )


def _dry_run(target: str, migration: Any, states: list[tuple[str, _Headers]], left: int) -> tuple[Block, int]:
    """Return what a migration would do, and how much work it was to find out: steps times keys."""
    from packager.migrations import plan_migration

    why, work = "no stored state dict has keys for it", 0
    for member, state in states:
        for prefix in _prefixes(state):
            inner = _Headers(
                {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
            )
            work += len(inner) * len(migration.steps)
            if work > left:
                return Mark(f"{migration.name} of {target}: no dry run: too many steps and keys"), left
            try:
                older = plan_migration(migration.inverse(), inner)
                if not any(row.new and row.old != row.new for row in older.rows):
                    continue
                before = _Headers({key: value.header for key, value in older.values.items()})
                plan = plan_migration(migration, before)
            except PackageError as error:
                why = str(error)
                continue
            where = f"{member}, below {prefix}" if prefix else member
            return Lines(f"{migration.name}: dry run for {where}", tuple(str(plan).split("\n"))), work
    return Mark(f"{migration.name} of {target}: no dry run: {why}"), work


def _prefixes(state: _Headers) -> list[str]:
    """Return the whole, and where modules may stand in it: few of them."""
    found = dict.fromkeys([""])
    for key in state:
        parts = key.split(".")[:-1]
        found.update(dict.fromkeys(".".join(parts[: at + 1]) + "." for at in range(min(len(parts), 2))))
    return list(found)[:_MOST_DRY_RUNS]
