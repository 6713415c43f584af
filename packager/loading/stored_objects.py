"""What is stored comes back: its records are read, audited, their names resolved, and only then built.

Nothing of the archive is imported before the audit has passed, and nothing while an object is built.
Tensors stay on a private map of the file, copy on write, until they are changed.

The manifest lists the names of each object, for those who read no records. `stored_names` and deep checks
compare the two: an archive whose manifest says less than its records, or more, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from packager.archive import ArchiveReader, ObjectRecord, StateDictRecord, TensorReader, storages_of
from packager.errors import ArchiveError, UntrustedTypeError
from packager.libraries import library_of
from packager.objects import (
    AuditedObject,
    Trust,
    TrustContext,
    Verdict,
    audit,
    build,
    judge,
    names_in,
    require_said,
    resolve_name,
    resolve_names,
)
from packager.process import gc_paused

from .load_context import LoadContext, StoredObjectError, find_record, trust_context_of
from .packaged_code import DisallowedModuleError, PackagedCode
from .stored_states import load_state_dict

# --- objects ---


def find_object(archive: ArchiveReader, package: str, resource: str) -> ObjectRecord:
    """Return the record of a stored object. Raises StoredObjectError, naming those that there are."""
    record, there = find_record(archive.manifest.objects, package, resource)
    if record is None:
        raise StoredObjectError(
            f"no object {resource!r} in package {package!r}; the archive holds {there}. Texts, binaries and "
            "pickles have their own load_ methods"
        )
    return record


def load_object(
    context: LoadContext, package: str, resource: str, *, importer: Any = None, map_location: Any = None
) -> Any:
    """Build a stored object.

    An object that names a stored module is built beside its code, when every stored and extern module
    that this grants a name from is admitted; any other is data alone. With a factory, the stored
    configuration is built, the factory called with it, and the state dict of the same name loaded into
    what it made, with all hooks.

    Raises StoredObjectError where there is none of that name, ArchiveError for damaged records,
    UntrustedTypeError for names that are neither stored nor trusted, DisallowedModuleError for modules
    that are not admitted, MissingNameError and ObjectBuildError where the classes of today do not fit.
    """
    archive, trust_context = context.archive, context.trust_context
    record = find_object(archive, package, resource)
    tensors = None if record.tensors is None else TensorReader(archive, record.tensors)
    what = f"object {package}/{resource}"
    module, _, name = (record.factory or "").partition(":")
    if record.factory is not None:
        require_factory_allowed(record.factory, trust_context, context.trust)
    stored_factory = trust_context.interned(module)
    with gc_paused():  # the records are gone when it goes on
        made = _made(
            context,
            archive.read(record.entry),
            module if stored_factory else "",
            tensors,
            what,
            importer=importer,
            map_location=map_location,
        )
    if record.factory is None:
        return made
    if type(made) is not dict or not all(type(key) is str for key in made):
        raise ArchiveError(
            f"{what}: its configuration is no dict of arguments by name; the archive is damaged"
        )
    thing = resolve_name(context.import_module(module), name)(**made)
    if find_record(archive.manifest.state_dicts, package, resource)[0] is not None:
        thing.load_state_dict(load_state_dict(context, package, resource, as_=library_of(thing)))
    return thing


def _made(
    context: LoadContext,
    records: bytes | memoryview,
    factory: str,
    tensors: TensorReader | None,
    what: str,
    *,
    importer: Any,
    map_location: Any,
) -> Any:
    """Audit the records of an object and build it; `factory` is the stored module that goes on with it."""
    trust_context = context.trust_context
    given = trust_context.for_object([factory]) if factory else trust_context
    audited = audit(records, given, context.trust, storages=storages_of(tensors), what=what)
    modules = _modules_of_code(audited, factory, trust_context)
    _require_admitted(modules, context.admitted, what)
    names = resolve_names(audited, context.import_module)
    storage = None if tensors is None else tensors.private_storage
    return build(audited, names, storage, importer=importer, map_location=map_location)


def require_factory_allowed(factory: str, trust_context: TrustContext, trust: Collection[str]) -> None:
    """Raise UntrustedTypeError unless a factory is stored or trusted by its exact name: it is a call."""
    module, _, name = factory.partition(":")
    if trust_context.interned(module) or Trust(trust).grants(module, name, "call"):
        return
    raise UntrustedTypeError(
        f"the object is made by the factory {factory!r}, which is neither in the archive nor trusted; "
        f'if you know it to be safe, open the archive with PackageImporter(..., trust=["{factory}"])'
    )


def _modules_of_code(audited: AuditedObject, factory: str, trust_context: TrustContext) -> list[str]:
    """List the modules that an object's code comes from: stored ones in full, externs by their first part.

    A name that is listed or trusted brings code, too, where its module or a package of it is stored.
    """
    stored = {module for (module, _, _), grant in audited.grants.items() if grant.by == "interned"}
    others = {module for module, _, _ in audited.grants} - stored
    stored.update(name for module in others for name in trust_context.stored_on_the_way(module))
    externs = {
        module.partition(".")[0] for (module, _, _), grant in audited.grants.items() if grant.by == "extern"
    }
    return sorted(stored | externs | ({factory} - {""}))


def _require_admitted(modules: Iterable[str], allowed: Callable[[str], bool], what: str) -> None:
    """Raise DisallowedModuleError, for all of them together, for code that `allowed` does not admit."""
    refused = [name for name in modules if not allowed(name)]
    if refused:
        raise DisallowedModuleError(
            f"{what} brings code of the module{'s' if len(refused) > 1 else ''} "
            f"{', '.join(map(repr, refused))}, but module_allowed refuses that (disallowed); allow them, "
            "or load a state dict, which is data alone"
        )


# --- names ---


@dataclass(frozen=True, slots=True)
class StoredNames:
    """The names in one stored object, or in what lies beside a state dict.

    `needs_trust` are names that `load_object` and `load_state_dict` refuse without `trust=`; `refused`
    says what else they refuse, each with its path, and `vouched` are the names by which `trust=` admits
    some of it. `allowed` gives the other names, each with its role and why it is allowed: "interned",
    "extern" or "default".
    """

    label: str
    names: tuple[str, ...]
    needs_trust: tuple[str, ...]
    refused: tuple[str, ...]
    vouched: tuple[str, ...] = ()
    allowed: tuple[tuple[str, str, str], ...] = ()


def stored_names(reader: ArchiveReader) -> Iterator[StoredNames]:
    """Yield the names of every object and state dict, in the order of the manifest; nothing is imported.

    Raises ArchiveError for damaged records, and for an object whose manifest lists other names than its
    records hold.
    """
    trust_context = trust_context_of(reader, PackagedCode(reader))
    for record in reader.manifest.objects:
        yield _names_of_object(reader, record, trust_context)
    for state in reader.manifest.state_dicts:
        yield _names_of_state(reader, state, trust_context.data_alone())


def _names_of_object(reader: ArchiveReader, record: ObjectRecord, trust_context: TrustContext) -> StoredNames:
    label = f"{record.package}/{record.resource}"
    tensors = None if record.tensors is None else TensorReader(reader, record.tensors)
    records, storages, what = reader.read(record.entry), storages_of(tensors), f"object {label}"
    names = {(str(use), use.role) for use in names_in(records, storages=storages, what=what)}
    require_said(names | called_factory(record), names_listed(record), what)
    factory = (record.factory or "").partition(":")[0]
    stored_factory = trust_context.interned(factory)
    given = trust_context.for_object([factory]) if stored_factory else trust_context
    verdict = judge(records, given, storages=storages, what=what)
    made_by = {name for name, _ in called_factory(record)}
    return StoredNames(
        label,
        tuple(sorted({name for name, _ in names} | made_by)),
        tuple(sorted({str(use) for use in verdict.names} | (set() if stored_factory else made_by))),
        tuple(map(str, verdict.forms)),
        tuple(sorted({form.trust for form in verdict.forms if form.trust})),
        (*_allowed(verdict), *((name, "call", "interned") for name in made_by if stored_factory)),
    )


def _allowed(verdict: Verdict) -> tuple[tuple[str, str, str], ...]:
    """Return the names that are allowed, each with its role, and by what."""
    uses = ((f"{module}:{name}", role, grant.by) for (module, name, role), grant in verdict.grants.items())
    return tuple(sorted(uses))


def names_listed(record: ObjectRecord) -> list[tuple[str, str]]:
    """Return the names that the manifest says an object needs, each with its role."""
    return [(use.name, use.role) for use in record.types]


def called_factory(record: ObjectRecord) -> set[tuple[str, str]]:
    """Return the name that an object needs beside those of its records: of what makes it, if anything."""
    return {(record.factory, "call")} if record.factory else set()


def _names_of_state(reader: ArchiveReader, record: StateDictRecord, data_alone: TrustContext) -> StoredNames:
    label = f"{record.package}/{record.resource}"
    if record.extras is None:
        return StoredNames(label, (), (), ())
    from packager.objects import EXTRA

    records, storages = reader.read(record.extras), storages_of(TensorReader(reader, record.entry), EXTRA)
    what = f"state dict {label}"
    names = {str(use) for use in names_in(records, storages=storages, what=what)}
    verdict = judge(records, data_alone, storages=storages, what=what, root="extras")
    return StoredNames(
        label,
        tuple(sorted(names)),
        tuple(sorted({str(use) for use in verdict.names})),
        tuple(map(str, verdict.forms)),
        tuple(sorted({form.trust for form in verdict.forms if form.trust})),
        _allowed(verdict),
    )
