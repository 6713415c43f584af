"""The migrations of an archive: read, judged, and attached to the archive's own classes.

A class of the archive gets them when its module is imported, so that a state dict of an older version
loads into it as it did where the archive was made. Classes of the target keep to what is attached to
them here: next year's class knows best how to read last year's state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from types import ModuleType
from typing import Any

from packager.archive import MIGRATIONS, ArchiveReader
from packager.migrations import (
    Migration,
    allowed_migrations,
    attach_stored,
    framework_of,
    functions_of,
    unpack_migrations,
)
from packager.objects import TrustContext, walk_classes

from .code import PackagedCode
from .importing import ImportRules
from .objects import admitting, resolver, trust_context_of


def migrations_of(
    archive: ArchiveReader,
    trust: Collection[str],
    rules: Callable[[], ImportRules],
    admitted: Callable[[str], bool] = lambda name: True,
) -> ArchiveMigrations:
    """The migrations of an open archive; `rules` gives its names in this process, when needed.

    `admitted` is asked about each stored module that a migration names a function of, before that runs.
    """
    resolve = admitting(resolver(rules), rules, admitted)
    return ArchiveMigrations(archive, trust_context_of(archive, PackagedCode(archive)), trust, resolve)


def admitted_names(archive: ArchiveReader, admitted: Callable[[str], bool]) -> list[str]:
    """The modules with functions of stored migrations that `admitted` takes, for a process that cannot ask.

    Raises ArchiveError for damaged bytes.
    """
    if MIGRATIONS not in archive:
        return []
    stored = unpack_migrations(archive.read(MIGRATIONS))
    uses = [use for known in stored.values() for one in known for use in functions_of(one)]
    owned = PackagedCode(archive).owned
    names = sorted({use.module for use in uses if use.module.partition(".")[0] in owned})
    return [name for name in names if admitted(name)]


class ArchiveMigrations:
    """The stored migrations by class. Reading them runs nothing."""

    def __init__(
        self,
        archive: ArchiveReader,
        trust_context: TrustContext,
        trust: Collection[str],
        resolve: Callable[[str, str], Any],
    ) -> None:
        self._archive = archive
        self._trust_context = trust_context
        self._judge = (trust, resolve)

    @cached_property
    def by_class(self) -> dict[str, tuple[Migration, ...]]:
        """What is stored, judged by nobody. Raises ArchiveError for damaged bytes."""
        if MIGRATIONS not in self._archive:
            return {}
        return unpack_migrations(self._archive.read(MIGRATIONS))

    def allowed(self) -> dict[str, tuple[Migration, ...]]:
        """What is stored, ready to run. Raises UntrustedTypeError where somebody has to vouch first."""
        known = [migration for migrations in self.by_class.values() for migration in migrations]
        found: dict[str, tuple[Migration, ...]] = {}
        for migration in allowed_migrations(known, self._trust_context.data_alone(), *self._judge):
            found[migration.target] = (*found.get(migration.target, ()), migration)
        return found

    def attach(self, name: str, module: ModuleType) -> None:
        """Attach those of the classes in a module of the archive that has just been imported."""
        for target, migrations in self.by_class.items():
            home, _, qualname = target.partition(":")
            cls = walk_classes(module, qualname) if home == name else None
            if isinstance(cls, type) and framework_of(cls) is not None:
                attach_stored(cls, migrations, self._allow)

    def _allow(self, migration: Migration) -> Migration:
        """Judge a migration of a class whose code has been imported: functions beside it may run, too."""
        beside_code = self._trust_context.for_object([migration.target.partition(":")[0]])
        return allowed_migrations([migration], beside_code, *self._judge)[0]
