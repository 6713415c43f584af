"""Migrations as bytes of an archive, and the judgement over what a stored one may run.

The format is docs/spec/migrations.md: a list of tables in canonical msgpack, each as a TOML file would
hold it (`migration_tables.py`), those of one class together and in the order in which they run. Reading
them runs nothing. A stored migration may name functions, and may hold regular expressions, which can be
made to run for years; both are carried out only where the archive's own code or the caller vouches for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from packager._archive import pack, unpack
from packager._audit import Trust, TrustContext, grant_for, refusal
from packager._names import demangle
from packager._objects import NameUse
from packager._quick_dataclasses import replace
from packager._texts import counted, listed
from packager.errors import ArchiveError, MigrationError, UntrustedTypeError

from .chains import chain
from .declaring import Migration, Step
from .migration_tables import migration_from_table, table_of
from .renaming import RenamePattern
from .transforms import NamedFunction

PATTERNS: Final = "packager.migrations:rename_pattern"
"""What `trust=` must name before regular expressions out of an archive are used."""


def pack_migrations(migrations: Mapping[str, Iterable[Migration]]) -> bytes:
    """Return the bytes for migrations by class.

    Raises MigrationError for one that has no place in a table.

    >>> from packager.migrations import drop
    >>> data = pack_migrations({"net:Net": [Migration("old", [drop("mask")], to=2)]})
    >>> type(data), list(unpack_migrations(data))
    (<class 'bytes'>, ['net:Net'])
    """
    return pack(
        [
            table_of(replace(migration, target=target, where=""))
            for target, known in sorted(migrations.items())
            for migration in chain(known)
        ]
    )


def unpack_migrations(data: bytes | memoryview) -> dict[str, tuple[Migration, ...]]:
    """Return the migrations by class; nothing is imported or judged.

    Raises ArchiveError for bytes that are not what `pack_migrations` writes.

    >>> from packager.migrations import drop
    >>> stored = pack_migrations({"net:Net": [Migration("old", [drop("mask")], to=2)]})
    >>> [migration.name for migration in unpack_migrations(stored)["net:Net"]]
    ['old']
    """
    what = "stored migrations"
    tables = unpack(bytes(data), what=what)
    found: dict[str, dict[str, Migration]] = {}
    try:
        if type(tables) is not list or not tables or not all(type(table) is dict for table in tables):
            raise ArchiveError(f"{what}: expected a list of tables")
        for number, table in enumerate(tables):
            steps = table.get("step")
            count = len(steps) if type(steps) is list else 0
            lines = [f"{what}, {number}, step {step}" for step in range(count)]
            migration = migration_from_table(table, f"{what}, {number}", lines=lines, stored=True)
            if not migration.name or not migration.target:
                raise ArchiveError(f"{what}, {number}: it has no name, or no class")
            if migration.name in found.get(migration.target, ()):
                raise ArchiveError(f"{what}, {number}: {migration.target} has two migrations of this name")
            found.setdefault(migration.target, {})[migration.name] = migration
        known = {target: tuple(migrations.values()) for target, migrations in found.items()}
        if pack_migrations(known) != bytes(data):
            raise ArchiveError(f"{what}: they are not spelled as the format demands")
    except (MigrationError, TypeError) as error:
        raise ArchiveError(str(error)) from error
    return known


def functions_of(migration: Migration) -> tuple[NameUse, ...]:
    """Return the functions that a migration names, which are called with values of the state dict.

    >>> from packager.migrations import NamedFunction, rename
    >>> migration = Migration("signs", [rename("scale", "scale", NamedFunction("numpy:negative"))], to=2)
    >>> [(use.module, use.qualname) for use in functions_of(migration)]
    [('numpy', 'negative')]
    """
    return tuple(
        NameUse(
            *_split(demangle(transform.name)),
            "call",
            f"migration {migration.name!r} of {migration.target}, {step.what}",
        )
        for step in migration.steps
        for transform in step.transforms
        if isinstance(transform, NamedFunction)
    )


def patterns_of(migration: Migration) -> tuple[str, ...]:
    """Return the regular expressions of a migration.

    >>> from packager.migrations import rename_pattern
    >>> patterns_of(Migration("layers", [rename_pattern("conv[0-9]", "conv")]))
    ('conv[0-9]',)
    """
    return tuple(step.pattern for step in migration.steps if isinstance(step, RenamePattern))


def allowed_migrations(
    migrations: Iterable[Migration],
    trust_context: TrustContext,
    trust: Collection[str],
    find: Callable[[str, str], Any],
) -> tuple[Migration, ...]:
    """Return the migrations, ready to run: functions are looked up by `find`, which imports for an archive.

    Raises UntrustedTypeError, for all together, for functions that neither the archive holds nor the
    caller trusts, and for regular expressions unless the caller trusts these.

    >>> from packager.migrations import drop
    >>> from packager._audit import TrustContext
    >>> old = Migration("old", [drop("mask")], to=2)
    >>> [allowed] = allowed_migrations([old], TrustContext.data_only(), (), find=getattr)
    >>> allowed.name
    'old'
    """
    known, trusted = tuple(migrations), Trust(trust)
    uses = [use for migration in known for use in functions_of(migration)]
    refused = [
        use for use in uses if grant_for(use.module, use.qualname, "call", trust_context, trusted) is None
    ]
    if refused:
        raise refusal(refused, trust_context, "stored migrations")
    patterns = [pattern for migration in known for pattern in patterns_of(migration)]
    if patterns and not trusted.names(*_split(PATTERNS)):
        raise UntrustedTypeError(
            f"stored migrations: {counted(len(patterns), 'regular expression')}, which may run without end: "
            f"{listed([f'/{pattern[:60]}/' for pattern in patterns], 5)}\nIf you trust them: "
            f'open the archive with trust=["{PATTERNS}"] (command: --trust {PATTERNS})'
        ).holding(patterns)
    return tuple(
        replace(migration, steps=[_finding(step, find) for step in migration.steps], stored=False)
        for migration in known
    )


def _finding(step: Step, find: Callable[[str, str], Any]) -> Step:
    """Return the step, with functions that are looked up by `find`, and a regular expression that is one."""
    if isinstance(step, RenamePattern):
        step.check_pattern()
    if not step.transforms:
        return step
    transforms = tuple(
        replace(transform, find=find) if isinstance(transform, NamedFunction) else transform
        for transform in step.transforms
    )
    return replace(step, transforms=transforms)  # type: ignore[call-arg]  # a field of steps that have any


def _split(name: str) -> tuple[str, str]:
    module, _, qualname = name.partition(":")
    return module, qualname
