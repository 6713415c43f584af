"""The migrations of an archive: read, judged, and attached to the archive's own classes.

A class of the archive gets them when its module is imported, so that a state dict of an older version
loads into it as it did where the archive was made. Classes of the target keep to what is attached to
them here: next year's class knows best how to read last year's state.
"""

from __future__ import annotations

from functools import cached_property
from types import ModuleType

from packager._archive import MIGRATIONS
from packager._audit import TrustContext
from packager._migrations import (
    Migration,
    allowed_migrations,
    attach_stored,
    framework_of,
    functions_of,
    unpack_migrations,
)
from packager._names import walk_classes

from .stored_states import LoadContext


class ArchiveMigrations:
    """The stored migrations by class. Reading them runs nothing."""

    def __init__(self, context: LoadContext) -> None:
        self._context = context

    @cached_property
    def by_class(self) -> dict[str, tuple[Migration, ...]]:
        """What is stored, not judged yet. Raises ArchiveError for damaged bytes."""
        if MIGRATIONS not in self._context.archive:
            return {}
        return unpack_migrations(self._context.archive.read(MIGRATIONS))

    def allowed(self) -> dict[str, tuple[Migration, ...]]:
        """Return what is stored, ready to run.

        Raises UntrustedTypeError where a migration names functions or holds patterns that need trust.
        """
        known = [migration for migrations in self.by_class.values() for migration in migrations]
        found: dict[str, tuple[Migration, ...]] = {}
        for migration in self._allowed(known, self._context.trust_context.data_alone()):
            found[migration.target] = (*found.get(migration.target, ()), migration)
        return found

    def attach(self, name: str, module: ModuleType) -> None:
        """Attach those of the classes in a module of the archive that has just been imported."""
        for target, migrations in self.by_class.items():
            home, _, qualname = target.partition(":")
            cls = walk_classes(module, qualname) if home == name else None
            if isinstance(cls, type) and framework_of(cls) is not None:
                attach_stored(cls, migrations, self._allow)

    def admitted_modules(self) -> list[str]:
        """List the admitted modules with functions of migrations, for a process that cannot ask.

        Raises ArchiveError for damaged bytes.
        """
        uses = [use for known in self.by_class.values() for one in known for use in functions_of(one)]
        owned = {use.module for use in uses if use.module.partition(".")[0] in self._context.owned}
        return [name for name in sorted(owned) if self._context.admitted(name)]

    def _allow(self, migration: Migration) -> Migration:
        """Judge a migration of a class whose code has been imported: functions beside it may run, too."""
        beside_code = self._context.trust_context.for_object([migration.target.partition(":")[0]])
        return self._allowed([migration], beside_code)[0]

    def _allowed(self, migrations: list[Migration], trust_context: TrustContext) -> tuple[Migration, ...]:
        return allowed_migrations(migrations, trust_context, self._context.trust, self._context.find_admitted)
