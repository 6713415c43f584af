"""What is stored comes back: its records are read, audited, their names resolved, and only then built.

Nothing of the archive is imported before the audit has passed, and nothing while an object is built.
Tensors stay on a private map of the file, copy on write, until they are changed.

"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from packager.archive import ArchiveReader, ObjectRecord, TensorReader, storages_of
from packager.audit import AuditedObject, Trust, TrustContext, audit, resolve_name, resolve_names
from packager.errors import ArchiveError, ArgumentError, UntrustedTypeError
from packager.objects import build
from packager.process import gc_paused
from packager.tensors import library_of
from packager.texts import listed

from .load_context import LoadContext, StoredObjectError, find_record
from .packaged_code import DisallowedModuleError
from .stored_states import load_state_dict

_OTHER_METHODS: Final = "Texts, binaries and pickles have their own load_ methods"


# --- objects ---


def find_object(archive: ArchiveReader, package: str | None, resource: str | None) -> ObjectRecord:
    """Return the record of a stored object; without a name that of the only one.

    Raises StoredObjectError, naming those that there are, ArgumentError for one half of a name.
    """
    objects = archive.manifest.objects
    if package is None and resource is None and len(objects) == 1:
        return objects[0]
    if (package is None) != (resource is None):
        given, left_out = ("resource", "package") if package is None else ("package", "resource")
        raise ArgumentError(f"load_object() got {given} and no {left_out}; give both, or neither")
    record, there = find_record(objects, package, resource)
    if record is not None:
        return record
    if package is None:
        told = f"load_object() got no name; the archive holds {len(objects):,} objects: {listed(there)}"
        if not objects:
            there = find_record(archive.manifest.state_dicts, None, None)[1]
            told = f"the archive holds no object; state dicts: {listed(there) or 'none'}. {_OTHER_METHODS}"
        else:
            told = f"{told}. Name one"
        raise StoredObjectError(told).holding(there)
    raise StoredObjectError(
        f"no object {resource!r} in package {package!r}; the archive holds {listed(there) or 'none'}. "
        f"{_OTHER_METHODS}"
    ).holding(there)


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
            imports=archive.manifest.imports_of(record.package, record.resource),
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
    imports: Collection[str],
) -> Any:
    """Audit the records of an object and build it; `factory` is the stored module that goes on with it.

    The stored modules in `imports` are imported first: by their effect, only for an object that is code.
    """
    trust_context = context.trust_context
    given = trust_context.for_object([factory]) if factory else trust_context
    audited = audit(records, given, context.trust, storages=storages_of(tensors), what=what)
    modules = _modules_of_code(audited, factory, trust_context)
    if imports and not any(map(trust_context.interned, modules)):
        raise ArchiveError(f"{what} is data alone, and imports {listed([*imports])}; the archive is damaged")
    brought = {*imports, *(name for one in imports for name in trust_context.stored_on_the_way(one))}
    _require_admitted(dict.fromkeys([*modules, *sorted(brought)]), context.admitted, what)
    for name in imports:
        context.import_module(name)
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
    named = stored | others | {factory}
    stored.update(name for module in named for name in trust_context.stored_on_the_way(module))
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
            f"{listed([*map(repr, refused)])}, but module_allowed refuses that (disallowed); allow them, "
            "or load a state dict, which is data alone"
        ).holding(refused)
