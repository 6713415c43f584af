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

from packager.archive.entry_names import MIGRATIONS
from packager.archive.reader import ArchiveReader
from packager.migrations import Migration, allowed_migrations, attach_stored, framework_of, unpack_migrations
from packager.objects.naming import walk_classes
from packager.objects.trust import Regime

from .code import PackagedCode
from .importing import ImportRules
from .objects import regime_of, resolver

__all__ = ["ArchiveMigrations", "migrations_of"]


def migrations_of(
    archive: ArchiveReader, trust: Collection[str], rules: Callable[[], ImportRules]
) -> ArchiveMigrations:
    """The migrations of an open archive; `rules` gives its names in this process, when needed."""
    return ArchiveMigrations(archive, regime_of(archive, PackagedCode(archive)), trust, resolver(rules))


class ArchiveMigrations:
    """The stored migrations by class. Reading them runs nothing."""

    def __init__(
        self,
        archive: ArchiveReader,
        regime: Regime,
        trust: Collection[str],
        resolve: Callable[[str, str], Any],
    ) -> None:
        self._archive = archive
        self._judge = (regime, trust, resolve)

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
        for migration in allowed_migrations(known, *self._judge):
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
        return allowed_migrations([migration], *self._judge)[0]
