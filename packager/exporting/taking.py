"""What is saved is taken at the call: values are encoded there and then, the memory of tensors is watched.

Encoding asks for no decision. Rules may come after a save: what is refused unless a module is stored is
settled when all of them are known, from what was taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from packager.objects import EXTRA

from .contents import StoredObject, StoredState, Storing, store_object, store_state
from .plan import PlanProblem
from .problems import REASONS
from .request import ObjectRequest, StateDictRequest
from .unchanged import WatchedMemory, changed, watch

_MOST_NAMES = 12


@dataclass(frozen=True)
class Taken:
    """A save as it was at the call; `first_id` is the first unique id that it may have drawn."""

    request: ObjectRequest | StateDictRequest
    stored: StoredObject | StoredState
    first_id: int
    memory: tuple[WatchedMemory, ...] = field(repr=False)


def take(request: ObjectRequest | StateDictRequest, storing: Storing, *, sha256: bool) -> Taken:
    """Encode what is saved, and digest its tensors.

    Raises TypeError for what has no state dict, PackagingError for a factory that is no name; what
    cannot be stored is in the result.
    """
    first_id = storing.ids_given()
    stored = _store(request, storing)
    return Taken(request, stored, first_id, watch(_memory(stored), sha256=sha256))


def is_as_taken(taken: Taken, storing: Storing, *, sha256: bool) -> bool:
    """Whether what was saved would be encoded now as it was at the call, tensors included."""
    now = _again(taken, storing)
    if _described(now) != _described(taken.stored):
        return False
    digests = [one.digest for one in watch(_memory(now), sha256=sha256)]
    return digests == [one.digest for one in taken.memory]


def is_steady(taken: Taken, storing: Storing) -> bool:
    """Whether the object is encoded twice in the same way; not one that counts how often it was asked."""
    first, second = (_described(_again(taken, storing)) for _ in range(2))
    return bool(first == second)


def changes_of(takes: Sequence[Taken], *, sha256: bool) -> Iterator[PlanProblem]:
    """A problem for each save of which something changed since the call, with what changed by its key."""
    answers = iter(changed([one for taken in takes for one in taken.memory], sha256=sha256))
    for taken in takes:
        names = [name for one in taken.memory if next(answers) for name in one.names]
        if names:
            yield _problem(taken, names)


def _problem(taken: Taken, names: Sequence[str]) -> PlanProblem:
    save = "save_object" if isinstance(taken.request, ObjectRequest) else "save_state_dict"
    package, resource = taken.request.package, taken.request.resource
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    what = f"changed since {save}(): {', '.join(names[:_MOST_NAMES])}{more}"
    return PlanProblem(
        REASONS["changed"],
        f"{package}/{resource}",
        f"{what}. Save a copy, or write each checkpoint with an exporter of its own.",
        fix=f'exporter.{save}("{package}", "{resource}", copy.deepcopy(...))',
    )


def _store(request: ObjectRequest | StateDictRequest, storing: Storing) -> StoredObject | StoredState:
    if isinstance(request, ObjectRequest):
        return store_object(request, storing)
    return store_state(request, storing)


def _again(taken: Taken, storing: Storing) -> StoredObject | StoredState:
    exporter = _Repeated(storing.exporter, taken.first_id)
    return _store(taken.request, replace(storing, exporter=exporter))


def _memory(stored: StoredObject | StoredState) -> Iterator[tuple[tuple[str, ...], memoryview]]:
    """Every storage with the keys, or the attribute path, of what lies in it."""
    if isinstance(stored, StoredObject):
        yield from (((storage.name,), storage.buffer) for storage in stored.encoded.storages)
        if stored.state is not None:
            yield from _memory(stored.state)
        return
    keys: dict[int, list[str]] = {}
    for spec in stored.encoded.tensors:
        keys.setdefault(spec.storage, []).append(spec.key.removeprefix(EXTRA))
    for number, buffer in enumerate(stored.encoded.storages):
        yield tuple(keys.get(number, ())), buffer


def _described(stored: StoredObject | StoredState) -> Any:
    """All that an encoding says beside the bytes of tensors."""
    if isinstance(stored, StoredState):
        one = stored.encoded
        return one.tensors, one.extras, one.names, one.versions, one.refusals, stored.ran
    encoded = stored.encoded
    storages = [(storage.name, storage.dtype, storage.shape) for storage in encoded.storages]
    state = None if stored.state is None else _described(stored.state)
    return encoded.records, storages, encoded.names, encoded.refusals, stored.factory, state


class _Repeated:
    """The exporter for `__reduce_package__` of an object that is encoded again.

    It gives the same unique ids, and what was saved along with the object is not saved twice.
    """

    def __init__(self, exporter: Any, first_id: int) -> None:
        self._exporter = exporter
        self._next = first_id

    def get_unique_id(self) -> str:
        """The ids of the first time."""
        self._next += 1
        return str(self._next - 1)

    def __getattr__(self, name: str) -> Any:
        return (lambda *args, **kwargs: None) if name.startswith("save_") else getattr(self._exporter, name)
