"""The records of modules in the manifest, and how they are stored: what the walk decided, and by what."""

from __future__ import annotations

from packager.names import is_dotted_name
from packager.quick_dataclasses import dataclass

from .manifest_columns import FLAG, NAME, NUMBER, TEXT, Table, choice, many, plain, row

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final


@dataclass(frozen=True, slots=True)
class ImportSite:
    """Who imports a module, and where: `file` is relative to the package's root."""

    module: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ModuleRecord:
    """A module that the walk met: what was decided, by which rule, why, and who imports it.

    `entry` names the archive's entry with the source; None for a module that is not inside.
    """

    name: str
    action: str
    rule: str
    because: str
    entry: str | None = None
    is_package: bool = False
    importers: tuple[ImportSite, ...] = ()


@dataclass(frozen=True, slots=True)
class ExternRecord:
    """A top-level import name left to the target: its distribution, version and requirement.

    `origin` says where it came from when the archive was made (`"stdlib"`, `"installed"`, ...).
    `optional` says that the code goes on without it: no imports that always run lead to it,
    and no run of the export missed it.
    """

    name: str
    origin: str
    distribution: str | None = None
    version: str | None = None
    requirement: str | None = None
    optional: bool = False


_DOTTED: Final = plain("a string, the dotted name of a module", str, legal=is_dotted_name)
_ACTION: Final = choice("deny", "extern", "intern", "mock")
_IMPORT_SITES: Final = many(row(ImportSite, TEXT, TEXT, NUMBER))

TABLES: Final[Mapping[str, Table]] = {
    "modules": Table(ModuleRecord, ("name",), (_DOTTED, _ACTION, TEXT, TEXT, NAME, FLAG, _IMPORT_SITES)),
    "externs": Table(ExternRecord, ("name",), (_DOTTED, TEXT, NAME, NAME, NAME, FLAG)),
}
