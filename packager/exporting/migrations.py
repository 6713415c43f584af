"""The migrations that travel with an archive: those attached to classes of the modules in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from packager.codecs import CannotStore
from packager.errors import MigrationError
from packager.graph import Importer
from packager.migrations import attached, framework_of, migrations_ran
from packager.objects import NameFinder, NameUse
from packager.weights import LazyStateDict

if TYPE_CHECKING:
    from packager.migrations import Migration


@dataclass(frozen=True)
class StoredMigrations:
    """Migrations as they will lie in the archive, empty where there are none.

    `uses` are the functions that they name; `refusals` say, by class, why they cannot be stored.
    """

    data: bytes = field(repr=False)
    uses: tuple[NameUse, ...] = ()
    refusals: tuple[tuple[str, str], ...] = ()
    label = "migrations"


def store_migrations(sources: Iterable[Any], importer: Importer) -> StoredMigrations:
    """Those of every class of every module in `sources`, base classes included.

    A class that cannot be found by its name carries none: nobody could load into it.
    """
    names, found = NameFinder(importer), {}
    for cls in dict.fromkeys(cls for source in sources for cls in _classes(source)):
        if attached(cls):
            try:
                module, qualname = names.find(cls)
            except CannotStore:
                continue
            target = f"{module}:{qualname}"
            found[target] = tuple(replace(one, target=target) for one in attached(cls))
    return _packed(found) if found else StoredMigrations(b"")


def _packed(found: dict[str, tuple[Migration, ...]]) -> StoredMigrations:
    from packager.migrations import functions_of, pack_migrations

    uses: list[NameUse] = []
    refusals: list[tuple[str, str]] = []
    for target, migrations in list(found.items()):
        try:
            pack_migrations({target: migrations})
        except MigrationError as error:
            refusals.append((target, str(error)))
            del found[target]
        uses += [use for migration in migrations for use in functions_of(migration)]
    return StoredMigrations(pack_migrations(found) if found else b"", tuple(uses), tuple(refusals))


def names_that_ran(source: Any) -> tuple[str, ...]:
    """The migrations that a state dict went through, or a module's state when it was last loaded."""
    if isinstance(source, LazyStateDict):
        return source.ran
    if framework_of(type(source)) is None:
        return ()
    return tuple(
        dict.fromkeys(f"{ran.target}: {name}" for ran in migrations_ran(source) for name in ran.names)
    )


def _classes(source: Any) -> Iterator[type]:
    for module in source.modules() if framework_of(type(source)) is not None else ():
        yield from type(module).__mro__
