"""What is saved is taken at the call: values are encoded there and then, and their tensors written.

So nothing of it is copied in memory, and it does not matter what becomes of an object afterwards.

Encoding asks for no decision. Rules may come after a save: what is refused unless a module is stored is
settled when all of them are known, from what was taken.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from packager.quick_dataclasses import dataclass, replace
from packager.tensors import same_bytes

from .plan import PlannedTensors
from .plan_writing import BegunArchive
from .request import ObjectRequest, Request, StateDictRequest
from .stored import StoredObject, StoredState, Storing, classes_in, store_object, store_state

_CONTAINERS = (dict, OrderedDict, list, tuple, set, frozenset)


@dataclass(frozen=True)
class Taken:
    """A save as it was at the call; `first_id` is the first unique id that it may have drawn."""

    request: ObjectRequest | StateDictRequest
    stored: StoredObject | StoredState
    first_id: int


def take(request: ObjectRequest | StateDictRequest, storing: Storing, *, first_id: int) -> Taken:
    """Encode what is saved. What cannot be stored is in the result.

    Raises TypeError for what has no state dict, PackagingError for a factory that is no name.
    """
    return Taken(request, _store(request, storing), first_id)


def written(taken: Taken, archive: BegunArchive) -> Taken:
    """Write the tensors of what was taken; nothing of what cannot be stored, whatever is decided.

    Raises what `BegunArchive.take` raises.
    """
    stored = taken.stored
    if not stored.may_be_stored:
        return taken
    return replace(taken, stored=stored.with_members(archive.take(stored.members)))


def kept(taken: Taken) -> Taken:
    """Return what was taken with that of the request which is needed to the end.

    An object may yet be called, for a golden call that is asked for later, and so is kept as it is. State
    dicts and plain containers are never called: of 100 checkpoints in one exporter none stays in memory.
    """
    request = taken.request
    if isinstance(request, StateDictRequest):
        return replace(taken, request=replace(request, source=None, classes=classes_in(request.source)))
    obj = request.obj
    if request.factory is None and type(obj) in _CONTAINERS:
        obj = type(obj)()  # what cannot be done with it is said by its class
    return replace(taken, request=replace(request, obj=obj, classes=classes_in(request.obj)))


def is_as_taken(taken: Taken, storing: Storing, asked: Request, archive: BegunArchive) -> bool:
    """Say whether what was saved would be encoded now as it was at the call, tensors included."""
    now = _again(taken, storing, asked)
    if _described(now) != _described(taken.stored):
        return False
    before = archive.with_bytes(taken.stored.members)
    return all(map(same_bytes, _storages(now.members), _storages(before)))


def is_steady(taken: Taken, storing: Storing, asked: Request) -> bool:
    """Say whether the object is encoded twice in the same way; not one that counts how often it was asked."""
    first, second = (_described(_again(taken, storing, asked)) for _ in range(2))
    return bool(first == second)


def _store(request: ObjectRequest | StateDictRequest, storing: Storing) -> StoredObject | StoredState:
    if isinstance(request, ObjectRequest):
        return store_object(request, storing)
    return store_state(request, storing)


def _again(taken: Taken, storing: Storing, asked: Request) -> StoredObject | StoredState:
    with asked.repeated(taken.first_id):
        return _store(taken.request, storing)


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
