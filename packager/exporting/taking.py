"""What is saved is taken at the call: values are encoded there and then, and their tensors written.

So nothing of it is copied in memory, and it does not matter what becomes of an object afterwards.

Encoding asks for no decision. Rules may come after a save: what is refused unless a module is stored is
settled when all of them are known, from what was taken.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from packager.process import AnswerRequired
from packager.quick_dataclasses import replace
from packager.tensors import same_bytes

from .plan import PlannedTensors
from .plan_writing import BegunArchive
from .request import ObjectRequest, Request, StateDictRequest
from .stored import (
    StoredMigrations,
    StoredObject,
    StoredState,
    Storing,
    classes_in,
    store_migrations,
    store_object,
    store_state,
)

_CONTAINERS = (dict, OrderedDict, list, tuple, set, frozenset)


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
