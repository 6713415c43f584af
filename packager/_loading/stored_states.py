"""What every load of a stored object or state dict needs, and the loads of state dicts.

A state dict is a mapping that reads a value when it is asked for: most loads of one import nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from types import ModuleType

from packager._archive import ArchiveReader, ObjectRecord, StateDictRecord, TensorReader
from packager._quick_dataclasses import dataclass
from packager._texts import listed
from packager.errors import KeyNotStoredError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from packager._audit import AuditedObject, Names, TrustContext

    from .packaged_code import PackagedCode

    _Record = TypeVar("_Record", ObjectRecord, StateDictRecord)
    from packager._state_dicts import StateDictView


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
        from packager._audit import resolve_name

        return resolve_name(self._import_admitted(module), qualname)

    def resolve_admitted(self, audited: AuditedObject) -> Names:
        """Return the objects behind the names of an audited table; see `find_admitted`."""
        from packager._audit import resolve_names

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
    """Return what the archive holds that bears on trust: see `packager._audit.TrustContext`.

    A mocked module, and a parent that is there for its children's sake, have no source: they are no
    code, and what stands in their place grants nothing.
    """
    from packager._audit import TrustContext

    distributions = {
        record.name: f"{record.distribution} {record.version}"
        for record in archive.manifest.externs
        if record.distribution
    }
    return TrustContext.of_archive(code.stored, code.declared, distributions)


def names_listed(record: ObjectRecord) -> list[tuple[str, str]]:
    """Return the names that the manifest says an object needs, each with its role."""
    return [(use.name, use.role) for use in record.types]


def called_factory(record: ObjectRecord) -> set[tuple[str, str]]:
    """Return the name that an object needs beside those of its records: of what makes it, if anything."""
    return {(record.factory, "call")} if record.factory else set()


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


def load_state_dict(
    context: LoadContext, package: str, resource: str, *, as_: str | None = None, device: object = None
) -> StateDictView:
    """Return a stored state dict; nothing but its index is read until a value is asked for.

    It is data alone, whatever source lies beside it.

    Raises KeyNotStoredError, naming those that there are.
    """
    from packager._state_dicts import open_state_dict  # most objects are loaded without

    record, there = find_record(context.archive.manifest.state_dicts, package, resource)
    if record is None:
        raise KeyNotStoredError(
            f"no state dict {resource!r} in package {package!r}; the archive holds {listed(there) or 'none'}"
        ).holding(there)
    return open_state_dict(
        TensorReader(context.archive, record.entry),
        None if record.extras is None else context.archive.read(record.extras),
        as_=as_,
        trust_context=None if record.extras is None else context.trust_context.data_alone(),
        trust=context.trust,
        resolve=context.resolve_admitted,
        device=device,
        what=f"state dict {package}/{resource}",
    )
