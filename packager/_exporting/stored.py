"""What is stored besides code: objects, state dicts and migrations as data, and the names that they need.

What is saved is taken at the call: values are encoded there and then, and their tensors written. So nothing
of it is copied in memory, and it does not matter what becomes of an object afterwards.

Encoding asks for no decision. Rules may come after a save: what is refused unless a module is stored is
settled when all of them are known, from what was taken.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from packager._archive import ObjectRecord, StateDictRecord, TensorIndex, TypeUse
from packager._codecs import CannotStore
from packager._graph import Importer
from packager._migrations import attached, framework_of, migrations_ran
from packager._names import demangle
from packager._objects import EncodedObject, Finding, NameFinder, NameUse, encode
from packager._process import AnswerRequired
from packager._quick_dataclasses import dataclass, field, replace
from packager._ranks import Ranks, encode_shared_state
from packager._state_dicts import EncodedStateDict, encode_state_dict
from packager._tensors import same_bytes
from packager._texts import listed
from packager._weights import LazyStateDict
from packager.errors import MigrationError, PackagingError

from .plan import PlannedTensors
from .plan_writing import BegunArchive
from .request import ObjectRequest, Request, StateDictRequest, resource_entry

if TYPE_CHECKING:
    from packager._migrations import Migration

_MOST_PLACES = 3
_CONTAINERS = (dict, OrderedDict, list, tuple, set, frozenset)


@dataclass(frozen=True)
class Storing:
    """What encoding needs to know: where names come from, and for whom; `ranks` have state dicts together."""

    importer: Importer
    exporter: Any
    ranks: Ranks | None = None


class _Encoded:
    """What objects and state dicts have alike."""

    encoded: Any

    @property
    def codecs(self) -> tuple[tuple[str, int], ...]:
        """The codecs in use, with their versions; of state dicts those of values that are no tensors."""
        found: tuple[tuple[str, int], ...] = self.encoded.codecs
        return found

    @property
    def findings(self) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        """Refusals and warnings."""
        return self.encoded.refusals, self.encoded.warnings

    @property
    def _is_sound(self) -> bool:
        return not self.encoded.with_sources(lambda name: True).refusals


@dataclass(frozen=True)
class StoredState(_Encoded):
    """A state dict as the archive will hold it, or the refusals that keep it out.

    `ran` names the migrations that it went through.
    """

    package: str
    resource: str
    entry: str
    encoded: EncodedStateDict = field(repr=False)
    ran: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"state dict {self.package}/{self.resource}"

    @property
    def extras_entry(self) -> str:
        """The entry with what safetensors cannot hold."""
        return f".data/extras/{self.entry}"

    @property
    def record(self) -> StateDictRecord:
        """What the manifest says of it."""
        return StateDictRecord(
            package=self.package,
            resource=self.resource,
            entry=self.entry,
            extras=self.extras_entry if self.encoded.extras else None,
            versions=self.encoded.versions,
            migrations=self.ran,
        )

    @property
    def uses(self) -> tuple[NameUse, ...]:
        """The names that it needs."""
        return self.encoded.names

    @property
    def storages(self) -> dict[str, tuple[str, int]]:
        """The dtype and the bytes of each storage of the values that are no tensors."""
        return self.encoded.storages_of_extras

    @property
    def members(self) -> tuple[PlannedTensors, ...]:
        """The safetensors member; of an empty state dict, too."""
        return (member_of_state(self.entry, self.encoded),)

    @property
    def may_be_stored(self) -> bool:
        """Whether it is stored at all, whatever sources are."""
        return self._is_sound

    def with_members(self, members: Sequence[PlannedTensors]) -> StoredState:
        """Return the state dict with the same bytes in other memory."""
        (member,) = members
        return replace(self, encoded=replace(self.encoded, storages=member.storages))

    def with_sources(self, is_stored: Callable[[str], bool]) -> StoredState:
        """Return the state dict with the refusals that remain where these sources are stored."""
        return replace(self, encoded=self.encoded.with_sources(is_stored))


@dataclass(frozen=True)
class StoredObject(_Encoded):
    """An object as the archive will hold it, or the refusals that keep it out.

    With a `factory`, the name of the callable that makes it, `encoded` is the configuration alone,
    and `state` the state dict that the new object takes up, where the old one has any.
    """

    package: str
    resource: str
    encoded: EncodedObject = field(repr=False)
    factory: str | None = None
    state: StoredState | None = None

    @property
    def entry(self) -> str:
        """The entry with the records."""
        return resource_entry(self.package, self.resource)

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"object {self.package}/{self.resource}"

    @property
    def uses(self) -> tuple[NameUse, ...]:
        """The names that it needs."""
        if self.factory is None:
            return self.encoded.names
        module, _, name = self.factory.partition(":")
        return (*self.encoded.names, NameUse(module, name, "call", "its factory"))

    @property
    def storages(self) -> dict[str, tuple[str, int]]:
        """The dtype and the bytes of each storage."""
        return {storage.name: (storage.dtype, storage.buffer.nbytes) for storage in self.encoded.storages}

    @property
    def record(self) -> ObjectRecord:
        """What the manifest says of it."""
        member = self.member
        return ObjectRecord(
            package=self.package,
            resource=self.resource,
            entry=self.entry,
            tensors=member.name if member is not None else None,
            factory=self.factory,
            types=tuple(TypeUse(str(use), use.role) for use in self.uses if use.in_records),
            codecs=self.codecs,
        )

    @property
    def members(self) -> tuple[PlannedTensors, ...]:
        """The safetensors members: its own, where it has tensors, and that of its state dict."""
        own = () if self.member is None else (self.member,)
        return own if self.state is None else (*own, *self.state.members)

    @property
    def may_be_stored(self) -> bool:
        """Whether it is stored at all, whatever sources are."""
        return self._is_sound and (self.state is None or self.state.may_be_stored)

    def with_members(self, members: Sequence[PlannedTensors]) -> StoredObject:
        """Return the object with the same bytes in other memory."""
        state, encoded = self.state, self.encoded
        if state is not None:
            *members, last = members
            state = state.with_members([last])
        for member in members:
            encoded = encoded.with_buffers(member.storages)
        return replace(self, encoded=encoded, state=state)

    @property
    def member(self) -> PlannedTensors | None:
        """The safetensors member of its own: one tensor for each storage; None without any."""
        storages = self.encoded.storages
        if not storages:
            return None
        name = f"{self.entry}.safetensors" if self.factory is None else f"{self.entry}.config.safetensors"
        index = TensorIndex.of_columns(
            [storage.name for storage in storages],
            [storage.dtype for storage in storages],
            [storage.shape for storage in storages],
            [storage.buffer.nbytes for storage in storages],
        )
        buffers = tuple(storage.buffer for storage in storages)
        return PlannedTensors(name, index, buffers, index.data_size)

    def with_sources(self, is_stored: Callable[[str], bool]) -> StoredObject:
        """Return the object with the refusals that remain where these sources are stored."""
        state = None if self.state is None else self.state.with_sources(is_stored)
        return replace(self, encoded=self.encoded.with_sources(is_stored), state=state)


@dataclass(frozen=True)
class StoredMigrations:
    """Migrations as the archive will hold them, empty where there are none.

    `uses` are the functions that they name; `refusals` say, by class, why they cannot be stored.
    """

    data: bytes = field(repr=False)
    uses: tuple[NameUse, ...] = ()
    refusals: tuple[tuple[str, str], ...] = ()
    label = "migrations"


class Takings:
    """What was saved as data, as it was at the calls; `archive` has its tensors."""

    def __init__(self, asked: Request, storing: Storing, archive: BegunArchive) -> None:
        self._asked, self._storing, self._archive = asked, storing, archive
        self._taken: dict[tuple[str, str], tuple[StoredObject | StoredState, int]] = {}

    def take(self, request: ObjectRequest | StateDictRequest) -> ObjectRequest | StateDictRequest:
        """Encode what is saved, write its tensors, and return what of the request is needed to the end.

        What cannot be stored is in the result; nothing of it is written.

        Raises TypeError for what has no state dict, PackagingError for a factory that is no name and for a
        place that is taken, and what `BegunArchive.take` raises.
        """
        self._asked.require_free(request)
        first_id = self._asked.ids_given
        with AnswerRequired(f"saving {request.package}/{request.resource}", hold=True):
            stored = self._encode(request)
        self._asked.require_free(request)  # what was saved while it was encoded may have its name
        if stored.may_be_stored:
            stored = stored.with_members(self._archive.take(stored.members))
        self._taken[request.package, request.resource] = stored, first_id
        return _kept(request)

    def stored(self, is_stored: Callable[[str], bool]) -> tuple[StoredObject | StoredState, ...]:
        """Return all of it in the order of the calls, as it is where these sources are stored."""
        return tuple(stored.with_sources(is_stored) for stored, _ in self._taken.values())

    def migrations(self) -> StoredMigrations:
        """Return the migrations of the classes of all that was taken."""
        return store_migrations(self._asked.classes(), self._storing.importer)

    def is_as_saved(self, request: ObjectRequest) -> bool:
        """Say whether an object is as it was when it was saved, tensors included.

        True where it is encoded otherwise each time, as it counts how often it was asked, and where another
        rank has its bytes.
        """
        if not self._archive.has_bytes:
            return True
        before, first_id = self._taken[request.package, request.resource]
        with self._asked.repeated(first_id):
            now = self._encode(request)
        if _described(now) != _described(before):
            with self._asked.repeated(first_id):
                return bool(_described(self._encode(request)) != _described(now))
        written = self._archive.with_bytes(before.members)
        return all(map(same_bytes, _storages(now.members), _storages(written)))

    def _encode(self, request: ObjectRequest | StateDictRequest) -> StoredObject | StoredState:
        store: Any = store_object if isinstance(request, ObjectRequest) else store_state
        stored: StoredObject | StoredState = store(request, self._storing)
        return stored


def _kept(request: ObjectRequest | StateDictRequest) -> ObjectRequest | StateDictRequest:
    """Return what of a request is needed to the end.

    An object may yet be called, for a golden call that is asked for later, and so is kept as it is. State
    dicts and plain containers are never called: of 100 checkpoints in one exporter none stays in memory.
    """
    if isinstance(request, StateDictRequest):
        return replace(request, source=None, classes=classes_in(request.source))
    obj = request.obj
    if request.factory is None and type(obj) in _CONTAINERS:
        obj = type(obj)()  # what cannot be done with it is said by its class
    return replace(request, obj=obj, classes=classes_in(request.obj))


def _storages(members: Sequence[PlannedTensors]) -> Sequence[memoryview]:
    return [storage for member in members for storage in member.storages]


def _described(stored: StoredObject | StoredState) -> Any:
    """Return all that an encoding says beside the bytes of tensors."""
    if isinstance(stored, StoredState):
        one = stored.encoded
        return one.tensors, one.extras, one.names, one.versions, one.refusals, stored.ran
    encoded = stored.encoded
    storages = [(storage.name, storage.dtype, storage.shape) for storage in encoded.storages]
    state = None if stored.state is None else _described(stored.state)
    return encoded.records, storages, encoded.names, encoded.refusals, stored.factory, state


def objects_in(saved: Iterable[StoredObject | StoredState]) -> tuple[StoredObject, ...]:
    """Return the objects among what was saved."""
    return tuple(one for one in saved if isinstance(one, StoredObject))


def states_in(saved: Sequence[StoredObject | StoredState]) -> tuple[StoredState, ...]:
    """Return the state dicts that were saved, then those of objects that a factory makes."""
    return (
        *(one for one in saved if isinstance(one, StoredState)),
        *(one.state for one in objects_in(saved) if one.state is not None),
    )


def store_object(request: ObjectRequest, storing: Storing) -> StoredObject:
    """Encode what was asked for. Nothing of the object is changed; refusals are in the result.

    Raises PackagingError for a factory that is neither a callable nor a name.
    """
    package, resource = request.package, request.resource
    if request.factory is None:
        return StoredObject(package, resource, _encode(request.obj, resource, storing))
    factory = _factory_name(request.factory, storing.importer)
    config = _encode(dict(request.config or {}), "config", storing)
    state = None
    if callable(getattr(type(request.obj), "state_dict", None)):
        entry = f"{resource_entry(package, resource)}.safetensors"
        state = _state(package, resource, entry, request.obj, storing)
    return StoredObject(package, resource, config, factory, state)


def store_state(request: StateDictRequest, storing: Storing) -> StoredState:
    """Encode a state dict; a module's own `state_dict()` is called, with its hooks. Ranks give parts."""
    package, resource, source = request.package, request.resource, request.source
    entry = resource_entry(package, resource)
    if storing.ranks is None:
        return _state(package, resource, entry, source, storing)
    encoded, ran = encode_shared_state(
        source,
        storing.ranks,
        listed=request.keys,
        ran=_names_that_ran(source),
        importer=storing.importer,
        exporter=storing.exporter,
        root=resource,
        what=f"state dict {package}/{resource}",
    )
    return StoredState(package, resource, entry, encoded, ran)


def classes_in(source: Any) -> tuple[type, ...]:
    """Return the classes of the modules in what was saved, base classes included."""
    modules = source.modules() if framework_of(type(source)) is not None else ()
    return tuple(dict.fromkeys(cls for module in modules for cls in type(module).__mro__))


def store_migrations(classes: Iterable[type], importer: Importer) -> StoredMigrations:
    """Pack the migrations of every class.

    A class that cannot be found by its name carries none: it could not be loaded into.
    """
    names, found = NameFinder(importer), {}
    for cls in dict.fromkeys(classes):
        if attached(cls):
            try:
                module, qualname = names.find(cls)
            except CannotStore:
                continue
            target = f"{module}:{qualname}"
            found[target] = tuple(replace(one, target=target) for one in attached(cls))
    return _packed(found) if found else StoredMigrations(b"")


def member_of_state(entry: str, encoded: EncodedStateDict) -> PlannedTensors:
    """Return the safetensors member of a state dict, also of an empty one."""
    return PlannedTensors(
        entry, encoded.tensors, encoded.storages, encoded.tensors.data_size, encoded.metadata
    )


def frameworks_of(codecs: Iterable[tuple[str, int]]) -> frozenset[str]:
    """Return the top-level packages that the given codecs need where the archive is read.

    A class of an extension module, `_regex`, is one of the package that it is part of.

    >>> sorted(frameworks_of([("records", 1), ("numpy.ndarray", 1), ("complex", 1)]))
    ['numpy']
    """
    from packager._codecs import default_registry

    registry = default_registry()
    found = set()
    for name, _ in codecs:
        codec = registry.find(name)
        for type_name in codec.types if codec is not None else ():
            found.add(type_name.partition(":")[0].partition(".")[0])
    found = {name if name in sys.stdlib_module_names else name.lstrip("_") for name in found}
    return frozenset(found - {"builtins", "annotationlib"})  # the latter comes with Python 3.14


def finding_texts(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield findings as lines; what has one reason in several places is told once, of the innermost."""
    alike: dict[tuple[str, tuple[str, ...]], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.reason, finding.options), []).append(finding)
    for same in alike.values():
        inner = [one for one in same if not any(_is_inside(other.path, one.path) for other in same)]
        paths = list(dict.fromkeys(one.path for one in inner))
        yield finding_text(replace(inner[0], path=listed(paths, _MOST_PLACES)))


def _is_inside(path: str, other: str) -> bool:
    return path.startswith((f"{other}.", f"{other}["))


def finding_text(finding: Finding) -> str:
    """Return a refusal or a warning as one line: where, why, and what can be done."""
    options = f" ({'; or '.join(finding.options)})" if finding.options else ""
    return f"{finding}{options}"


def _encode(obj: Any, root: str, storing: Storing) -> EncodedObject:
    return encode(obj, importer=storing.importer, exporter=storing.exporter, root=root)


def _state(package: str, resource: str, entry: str, source: Any, storing: Storing) -> StoredState:
    encoded = encode_state_dict(source, importer=storing.importer, exporter=storing.exporter, root=resource)
    return StoredState(package, resource, entry, encoded, _names_that_ran(source))


def _factory_name(factory: Callable[..., Any] | str, importer: Importer) -> str:
    if isinstance(factory, str):
        module, colon, name = factory.partition(":")
        if not (colon and module and name):
            raise PackagingError(
                f"factory {factory!r}: expected a callable, or its name as 'package.module:name'"
            )
        return factory
    module, name = importer.get_name(factory)
    return f"{module}:{name}"


def _packed(found: dict[str, tuple[Migration, ...]]) -> StoredMigrations:
    from packager._migrations import functions_of, pack_migrations  # read where there are any

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


def _names_that_ran(source: Any) -> tuple[str, ...]:
    """Name the migrations that a state dict went through, or a module's state when it was last loaded."""
    if isinstance(source, LazyStateDict):
        return source.ran
    if framework_of(type(source)) is None:
        return ()
    return tuple(
        dict.fromkeys(
            f"{demangle(ran.target)}: {name}" for ran in migrations_ran(source) for name in ran.names
        )
    )
