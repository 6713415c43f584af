"""What is stored comes back: its records are read, audited, their names resolved, and only then built.

Nothing of the archive is imported before the audit has passed, and nothing while an object is built.
Tensors stay on a private map of the file, copy on write, until they are changed.

Real pickles are for people who come from torch.package, and refused unless the caller says otherwise: one
runs code when it is read, whatever its names are. Its classes come from the archive's own modules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

from packager._archive import ArchiveReader, ObjectRecord, StateDictRecord, TensorReader, storages_of
from packager._arguments import check_kind
from packager._audit import AuditedObject, Trust, TrustContext, audit, resolve_name, resolve_names
from packager._names import demangle
from packager._objects import build
from packager._process import gc_paused
from packager._tensors import library_of
from packager._texts import listed
from packager.errors import (
    ArchiveError,
    ArgumentError,
    KeyNotStoredError,
    PickleRefusedError,
    UntrustedTypeError,
    WrongKindError,
)

from .packaged_code import DisallowedModuleError
from .stored_states import LoadContext, find_record, load_state_dict

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .opening import OpenArchive

_OTHER_METHODS: Final = "Texts, binaries and pickles have their own load_ methods"


def find_object(archive: ArchiveReader, package: str | None, resource: str | None) -> ObjectRecord:
    """Return the record of a stored object; without a name that of the only one.

    Raises KeyNotStoredError, naming those that there are, ArgumentError for one half of a name.
    """
    for name, value in (("package", package), ("resource", resource)):
        check_kind(name, value, (str, type(None)), "text, or None")
    objects = archive.manifest.objects
    if package is None and resource is None and len(objects) == 1:
        return objects[0]
    if (package is None) != (resource is None):
        given, left_out = ("resource", "package") if package is None else ("package", "resource")
        raise ArgumentError(f"load_object() got {given} without {left_out}. Give both, or neither")
    record, there = find_record(objects, package, resource)
    if record is not None:
        return record
    if package is None:
        told = f"no name was given, and the archive holds {len(objects):,} objects: {listed(there)}"
        if not objects:
            states = archive.manifest.state_dicts
            there = find_record(states, None, None)[1]
            told = f"the archive holds no object; state dicts: {listed(there) or 'none'}. {_way_to(states)}"
        else:
            told = f"{told}. Name one: PackageImporter(path).load_object(package, resource)"
        raise KeyNotStoredError(told).holding(there)
    raise KeyNotStoredError(
        f"no object {resource!r} in package {package!r}; the archive holds {listed(there) or 'none'}. "
        f"{_OTHER_METHODS}"
    ).holding(there)


def _way_to(states: Sequence[StateDictRecord]) -> str:
    """Return how the first state dict is loaded, or where to look where there is none."""
    if not states:
        return _OTHER_METHODS
    names = f"{json.dumps(states[0].package)}, {json.dumps(states[0].resource)}"
    one = "Load one" if len(states) > 1 else "Load it"
    return f"{one}: PackageImporter(path).load_state_dict({names})"


def require_kind(made: object, kind: type, where: str) -> None:
    """Raise WrongKindError unless an object is of a class, or of one that is stored under the same name.

    >>> require_kind({"layers": 2}, list, "model/config")
    Traceback (most recent call last):
    packager.errors.WrongKindError: object model/config: expected a builtins.list, found a builtins.dict; ...
    """
    wanted = _name_of(kind)
    if not isinstance(made, kind) and wanted not in map(_name_of, type(made).__mro__):
        raise WrongKindError(
            f"object {where}: expected a {wanted}, found a {_name_of(type(made))}; give its class as kind="
        )


def _name_of(cls: type) -> str:
    return f"{demangle(cls.__module__)}.{cls.__qualname__}"


def load_object(
    context: LoadContext, package: str, resource: str, *, importer: object = None, map_location: object = None
) -> Any:
    """Build a stored object.

    An object that names a stored module is built beside its code, when every stored and extern module
    that this grants a name from is admitted; any other is data alone. With a factory, the stored
    configuration is built, the factory called with it, and the state dict of the same name loaded into
    what it made, with all hooks.

    Raises KeyNotStoredError where there is none of that name, ArchiveError for damaged records,
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


def require_pickle(opened: OpenArchive, package: str, resource: str) -> None:
    """Raise PickleRefusedError for an object or a state dict: each is data, with a method of its own."""
    manifest = opened.reader.manifest
    found = {
        "object": find_record(manifest.objects, package, resource)[0],
        "state_dict": find_record(manifest.state_dicts, package, resource)[0],
    }
    for what, record in found.items():
        if record is not None:
            raise PickleRefusedError(
                f"{package}/{resource} is no pickle: it is stored as data; "
                f"load_{what}({package!r}, {resource!r}) loads it"
            )


def load_pickle(
    opened: OpenArchive, entry: str, *, allowed: bool, importer: object, made: dict[int, Any]
) -> Any:
    """Read the pickle at `entry`.

    `importer` is handed to functions of `__reduce_package__`; `made` keeps what they made, by number,
    over all pickles of an importer.

    Raises PickleRefusedError unless `allowed`, ModuleNotFoundError and what else unpickling raises.
    """
    if not allowed:
        raise PickleRefusedError(
            f"{entry!r} is a pickle, and reading it runs code of its author; if you trust the archive, "
            "open it with allow_pickle=True, or export the object again with save_object"
        )
    import io
    import pickle

    class Unpickler(pickle.Unpickler):
        def find_class(self, module_name: str, global_name: str) -> Any:
            return super().find_class(opened.loaded().rules.in_process(module_name), global_name)

        def persistent_load(self, pid: Any) -> Any:
            if not isinstance(pid, tuple) or not pid or pid[0] != "reduce_package":
                raise pickle.UnpicklingError(f"persistent id {pid!r}: expected one of __reduce_package__")
            _, number, function, *arguments = pid
            if number not in made:
                made[number] = function(importer, *arguments)
            return made[number]

    return Unpickler(io.BytesIO(opened.reader.read(entry))).load()
