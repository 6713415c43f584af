"""A stored object comes back: its records are read, audited, and only then built.

Nothing of the archive is imported before the audit has passed. Tensors stay on a private map of the
file, copy on write, until somebody changes them.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from packager.archive import ArchiveReader, ObjectRecord, TensorReader
from packager.errors import ArchiveError, UntrustedTypeError
from packager.libraries import library_of
from packager.objects import AuditedObject, Trust, TrustContext, audit, build, resolve_name, resolve_names
from packager.tensors import DTYPE_BITS

from .code import PackagedCode
from .importing import ImportRules
from .opening import DisallowedModuleError, require_admitted


class StoredObjectError(ArchiveError, KeyError):
    """The archive holds no object, or no state dict, of that name."""

    __str__ = ArchiveError.__str__


def find_object(archive: ArchiveReader, package: str, resource: str) -> ObjectRecord:
    """The record of a stored object. Raises StoredObjectError, naming those that there are."""
    for record in archive.manifest.objects:
        if (record.package, record.resource) == (package, resource):
            return record
    there = ", ".join(f"{record.package}/{record.resource}" for record in archive.manifest.objects) or "none"
    raise StoredObjectError(
        f"no object {resource!r} in package {package!r}; the archive holds {there}. Texts, binaries and "
        "pickles have their own load_ methods"
    )


def trust_context_of(archive: ArchiveReader, code: PackagedCode) -> TrustContext:
    """What the archive holds that bears on trust: see `packager.objects.TrustContext`.

    A mocked module, and a parent that is there for its children's sake, have no source: they are no
    code, and what stands in their place grants nothing.
    """
    distributions = {
        record.name: f"{record.distribution} {record.version}"
        for record in archive.manifest.externs
        if record.distribution
    }
    return TrustContext.of_archive(code.stored, code.declared, distributions)


def load_object(
    archive: ArchiveReader,
    record: ObjectRecord,
    trust_context: TrustContext,
    trust: Collection[str],
    resolve: Callable[[str, str], Any],
    *,
    admitted: Callable[[str], bool] = lambda name: True,
    importer: Any,
    map_location: Any,
) -> Any:
    """Build the object of `record`; `resolve` imports a name of the archive.

    An object that names a stored module is built beside its code, when `admitted` takes every stored
    and extern module that this grants a name from; any other is data alone. With a factory, the stored
    configuration is built, the factory called with it, and the state dict of the same name loaded into
    what it made, with all hooks.

    Raises ArchiveError for damaged records, UntrustedTypeError for names that nobody vouches for,
    DisallowedModuleError for modules that are not admitted, MissingNameError and ObjectBuildError where
    the classes of today do not fit.
    """
    tensors = None if record.tensors is None else TensorReader(archive, record.tensors)
    what = f"object {record.package}/{record.resource}"
    module, _, name = (record.factory or "").partition(":")
    if record.factory is not None:
        require_factory_allowed(record.factory, trust_context, trust)
    given = trust_context.for_object([module]) if trust_context.interned(module) else trust_context
    audited = audit(archive.read(record.entry), given, trust, storages=storages_of(tensors), what=what)
    modules = _modules_of_code(audited, module if trust_context.interned(module) else "", trust_context)
    require_admitted(modules, admitted, what)

    names = resolve_names(audited, lambda module: resolve(module, ""))
    storage = None if tensors is None else tensors.private_storage
    made = build(audited, names, storage, importer=importer, map_location=map_location)
    if record.factory is None:
        return made
    if type(made) is not dict or not all(type(key) is str for key in made):
        raise ArchiveError(
            f"{what}: its configuration is no dict of arguments by name; the archive is damaged"
        )
    return _with_state(resolve(module, name)(**made), archive, record, trust_context, trust, resolve)


def _modules_of_code(audited: AuditedObject, factory: str, trust_context: TrustContext) -> list[str]:
    """The modules that an object's code comes from: stored ones in full, externs by their first part.

    A name that is listed or trusted brings code, too, where its module or a package of it is stored.
    """
    stored = {module for (module, _, _), grant in audited.grants.items() if grant.by == "interned"}
    others = {module for module, _, _ in audited.grants} - stored
    stored.update(name for module in others for name in trust_context.stored_on_the_way(module))
    externs = {
        module.partition(".")[0] for (module, _, _), grant in audited.grants.items() if grant.by == "extern"
    }
    return sorted(stored | externs | ({factory} - {""}))


def resolver(rules: Callable[[], ImportRules]) -> Callable[[str, str], Any]:
    """What imports a stored name; `rules` gives the archive's names in this process, when needed."""

    def resolve(module: str, qualname: str) -> Any:
        return resolve_name(importlib.import_module(rules().in_process(module)), qualname)

    return resolve


def admitting(
    resolve: Callable[[str, str], Any], rules: Callable[[], ImportRules], admitted: Callable[[str], bool]
) -> Callable[[str, str], Any]:
    """`resolve`, for names of the archive's own modules after their modules have been admitted.

    Its functions raise DisallowedModuleError for those that are not.
    """

    def find(module: str, name: str) -> Any:
        if module.partition(".")[0] in rules().owned and not admitted(module):
            raise DisallowedModuleError(
                f"module_allowed refuses {module!r}, a module of the archive (disallowed) that a stored name "
                "leads to; allow it, or bring the state dict up to date by a migration of your own"
            )
        return resolve(module, name)

    return find


def _with_state(
    thing: Any,
    archive: ArchiveReader,
    record: ObjectRecord,
    trust_context: TrustContext,
    trust: Collection[str],
    resolve: Callable[[str, str], Any],
) -> Any:
    """What a factory made, with the state dict of the same name loaded, where there is one."""
    from .stored_states import load_state_dict

    for state in archive.manifest.state_dicts:
        if (state.package, state.resource) == (record.package, record.resource):
            library = library_of(thing)
            thing.load_state_dict(load_state_dict(archive, state, trust_context, trust, resolve, as_=library))
    return thing


def storages_of(tensors: TensorReader | None) -> Mapping[str, tuple[str, int]]:
    """Each storage of an object's member by its name: its dtype, and its size in bytes."""
    if tensors is None:
        return {}
    return {
        key: (spec.dtype, math.prod(spec.shape) * DTYPE_BITS[spec.dtype] // 8)
        for key, spec in tensors.items()
    }


def require_factory_allowed(factory: str, trust_context: TrustContext, trust: Collection[str]) -> None:
    """A factory is a call: interned or exactly trusted names only, whatever else is allowed."""
    module, _, name = factory.partition(":")
    if trust_context.interned(module) or Trust(trust).grants(module, name, "call"):
        return
    raise UntrustedTypeError(
        f"the object is made by the factory {factory!r}, which is neither in the archive nor trusted; "
        f'if you know it to be safe, load with trust=["{factory}"]'
    )
