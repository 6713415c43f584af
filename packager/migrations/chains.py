"""From any old version to today's: the migrations of one class or checkpoint, in order of versions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from packager.errors import MigrationError

from .applying import Row, Values, apply_steps
from .declaring import Migration
from .values import MigratedDict, Value, stored_values

__all__ = ["MigrationPlan", "chain", "migrate", "plan_migration"]


@dataclass(frozen=True)
class MigrationPlan:
    """What a load would do: a row per change or skip, and every key that there will be."""

    rows: tuple[Row, ...]
    values: Mapping[str, Value]
    ran: tuple[str, ...]

    @property
    def untouched(self) -> tuple[Row, ...]:
        """The steps that matched no key at all."""
        return tuple(row for row in self.rows if row.skipped == "no key matches")

    def __str__(self) -> str:
        from .printing import plan_table

        return plan_table(self)


def chain(migrations: Iterable[Migration]) -> tuple[Migration, ...]:
    """The migrations in the order in which they run: by the version they reach, unversioned ones first.

    Raises MigrationError for two that reach the same version of the same class: which comes first?
    """
    ordered = sorted(migrations, key=lambda one: (one.target, one.to is not None, one.to or 0))
    for one, other in itertools.pairwise(ordered):
        if one.to is not None and (one.target, one.to) == (other.target, other.to):
            raise MigrationError(
                f"migrations {one.name!r} and {other.name!r} both reach version {one.to} of "
                f"{one.target or 'the checkpoint'}; give one of them another version, or join their steps"
            )
    return tuple(ordered)


def plan_migration(
    migrations: Migration | Iterable[Migration], state: Mapping[str, Any], version: int | None = None
) -> MigrationPlan:
    """What the migrations would make of `state`, which has this version; no value is read.

    A migration that reaches version `to` runs for state dicts that are older, or have none.

    Raises MigrationError for whatever could not be carried out.
    """
    known = (migrations,) if isinstance(migrations, Migration) else tuple(migrations)
    values: Values = stored_values(state)
    rows: list[Row] = []
    ran: list[str] = []
    for migration in chain(known):
        if migration.to is not None and version is not None and version >= migration.to:
            reason = f"the state dict has version {version}, this reaches {migration.to}"
            rows.append(Row(migration.name, (), (), skipped=reason))
            continue
        values, more = apply_steps(migration.steps, values, version)
        rows.extend(more)
        ran.append(migration.name)
    return MigrationPlan(tuple(rows), values, tuple(ran))


def migrate(
    migrations: Migration | Iterable[Migration], state: Mapping[str, Any], version: int | None = None
) -> MigratedDict:
    """The migrated state dict. Nothing of `state` is changed or copied; values are made when asked for.

    >>> import numpy as np
    >>> from packager.migrations import Migration, migrate, rename
    >>> old = {"encoder.gamma": np.ones(2)}
    >>> list(migrate(Migration("names", [rename("{p:any}.gamma", "{p}.weight")]), old))
    ['encoder.weight']
    """
    return MigratedDict(plan_migration(migrations, state, version).values, state)
