"""What every load of a stored object or state dict needs: the archive, and what bears on trust."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from types import ModuleType

from packager.archive import ArchiveReader, ObjectRecord, StateDictRecord
from packager.errors import ArchiveError
from packager.quick_dataclasses import dataclass

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from packager.audit import AuditedObject, Names, TrustContext

    from .packaged_code import PackagedCode

    _Record = TypeVar("_Record", ObjectRecord, StateDictRecord)


class StoredObjectError(ArchiveError, KeyError):
    """The archive holds no object, or no state dict, of that name."""


@dataclass(frozen=True)
class LoadContext:
    """What every load from an open archive needs.

    `archive` gives bytes and records, `trust` says whom the caller trusts, `admitted` whether a stored or
    extern module may be used, and `import_module` imports one by its stored name. What bears on trust is
    gathered when it is first asked for: a state dict of tensors alone names nothing.
    """

    archive: ArchiveReader
    trust: Collection[str]
    admitted: Callable[[str], bool]
    import_module: Callable[[str], ModuleType]

    @cached_property
    def _code(self) -> PackagedCode:
        from .packaged_code import PackagedCode

        return PackagedCode(self.archive)

    @cached_property
    def trust_context(self) -> TrustContext:
        """What the archive holds that bears on trust."""
        return trust_context_of(self.archive, self._code)

    @cached_property
    def owned(self) -> frozenset[str]:
        """The first parts of the archive's own names."""
        return frozenset(self._code.owned)

    def find_admitted(self, module: str, qualname: str) -> Any:
        """Return the object of a stored name; a module of the archive is imported if it is admitted.

        Raises DisallowedModuleError where it is not.
        """
        from packager.audit import resolve_name

        return resolve_name(self._import_admitted(module), qualname)

    def resolve_admitted(self, audited: AuditedObject) -> Names:
        """Return the objects behind the names of an audited table; see `find_admitted`."""
        from packager.audit import resolve_names

        return resolve_names(audited, self._import_admitted)

    def _import_admitted(self, module: str) -> ModuleType:
        if module.partition(".")[0] in self.owned and not self.admitted(module):
            from .packaged_code import DisallowedModuleError

            raise DisallowedModuleError(
                f"module_allowed refuses {module!r}, a module of the archive (disallowed) that a stored name "
                "leads to; allow it, or bring the state dict up to date by a migration of your own"
            )
        return self.import_module(module)


def trust_context_of(archive: ArchiveReader, code: PackagedCode) -> TrustContext:
    """Return what the archive holds that bears on trust: see `packager.audit.TrustContext`.

    A mocked module, and a parent that is there for its children's sake, have no source: they are no
    code, and what stands in their place grants nothing.
    """
    from packager.audit import TrustContext

    distributions = {
        record.name: f"{record.distribution} {record.version}"
        for record in archive.manifest.externs
        if record.distribution
    }
    return TrustContext.of_archive(code.stored, code.declared, distributions)


def find_record(
    records: Iterable[_Record], package: str | None, resource: str | None
) -> tuple[_Record | None, list[str]]:
    """Return the record of that name, or None and the names that there are."""
    all_names = []
    for record in records:
        if (record.package, record.resource) == (package, resource):
            return record, []
        all_names.append(f"{record.package}/{record.resource}")
    return None, all_names
