"""What is saved is taken at the call: values are encoded there and then, the memory of tensors is watched.

Tensors are written at `close()` from where they lie, without a copy, so an archive must not say that
it holds the values of the call when the memory holds others by then. A version counter is no proof:
views and other libraries write without counting. So the bytes are compared, by their digests.

Encoding asks for no decision. Rules may come after a save: what is refused unless a module is stored is
settled when all of them are known, from what was taken.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from packager.archive import crcs_of, sha256s_of, thread_count
from packager.objects import EXTRA

from .plan import PlanProblem
from .request import ObjectRequest, Request, StateDictRequest
from .stored import StoredObject, StoredState, Storing, store_object, store_state

_PIECE: Final = 8 << 20
_MOST_NAMES = 12


@dataclass(frozen=True, slots=True)
class WatchedMemory:
    """The memory of one storage as it was: `names` are the keys or attribute paths of what lies in it.

    `places` are address and size of what owns the memory: memory that was moved must not even be read.
    """

    names: tuple[str, ...]
    buffer: memoryview = field(repr=False)
    digest: bytes
    places: tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True)
class Taken:
    """A save as it was at the call; `first_id` is the first unique id that it may have drawn."""

    request: ObjectRequest | StateDictRequest
    stored: StoredObject | StoredState
    first_id: int
    memory: tuple[WatchedMemory, ...] = field(repr=False)


def take(
    request: ObjectRequest | StateDictRequest, storing: Storing, *, first_id: int, sha256: bool
) -> Taken:
    """Encode what is saved, and digest its tensors.

    Raises TypeError for what has no state dict, PackagingError for a factory that is no name; what
    cannot be stored is in the result.
    """
    stored = _store(request, storing)
    return Taken(request, stored, first_id, _watch(_memory(stored), sha256=sha256))


def is_as_taken(taken: Taken, storing: Storing, asked: Request, *, sha256: bool) -> bool:
    """Say whether what was saved would be encoded now as it was at the call, tensors included."""
    now = _again(taken, storing, asked)
    if _described(now) != _described(taken.stored):
        return False
    digests = [one.digest for one in _watch(_memory(now), sha256=sha256)]
    return digests == [one.digest for one in taken.memory]


def is_steady(taken: Taken, storing: Storing, asked: Request) -> bool:
    """Say whether the object is encoded twice in the same way; not one that counts how often it was asked."""
    first, second = (_described(_again(taken, storing, asked)) for _ in range(2))
    return bool(first == second)


def changes_of(takes: Sequence[Taken], *, sha256: bool) -> Iterator[PlanProblem]:
    """Yield a problem for each save that changed since the call, with what changed by its key."""
    answers = iter(_changed([one for taken in takes for one in taken.memory], sha256=sha256))
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
        "What was saved changed between the call and close().",
        f"{package}/{resource}",
        f"{what}. Save a copy, or write each checkpoint with an exporter of its own.",
        fix=f'exporter.{save}("{package}", "{resource}", copy.deepcopy(...))',
    )


def _store(request: ObjectRequest | StateDictRequest, storing: Storing) -> StoredObject | StoredState:
    if isinstance(request, ObjectRequest):
        return store_object(request, storing)
    return store_state(request, storing)


def _again(taken: Taken, storing: Storing, asked: Request) -> StoredObject | StoredState:
    with asked.repeated(taken.first_id):
        return _store(taken.request, storing)


def _memory(stored: StoredObject | StoredState) -> Iterator[tuple[tuple[str, ...], memoryview]]:
    """Yield every storage with the keys, or the attribute path, of what lies in it."""
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
    """Return all that an encoding says beside the bytes of tensors."""
    if isinstance(stored, StoredState):
        one = stored.encoded
        return one.tensors, one.extras, one.names, one.versions, one.refusals, stored.ran
    encoded = stored.encoded
    storages = [(storage.name, storage.dtype, storage.shape) for storage in encoded.storages]
    state = None if stored.state is None else _described(stored.state)
    return encoded.records, storages, encoded.names, encoded.refusals, stored.factory, state


def _watch(
    memory: Iterable[tuple[tuple[str, ...], memoryview]], *, sha256: bool
) -> tuple[WatchedMemory, ...]:
    """Digest memory that others may write to, each storage given with its names.

    What the encoder has copied is left out, as only the archive sees it. Without `sha256` the CRC-32
    of each MiB is taken.
    """
    shared = [(names, buffer) for names, buffer in memory if _address(buffer) is not None]
    digests = _digests([buffer for _, buffer in shared], sha256)
    return tuple(
        WatchedMemory(names, buffer, digest, _places(buffer))
        for (names, buffer), digest in zip(shared, digests, strict=True)
    )


def _changed(watched: Sequence[WatchedMemory], *, sha256: bool) -> list[bool]:
    """Say of each whether it changed since; memory that was watched several times is read once."""
    still = [one for one in watched if _places(one.buffer) == one.places]
    distinct = {(_address(one.buffer), one.buffer.nbytes): one.buffer for one in still}
    now = dict(zip(distinct, _digests(list(distinct.values()), sha256), strict=True))
    same = {id(one) for one in still if now[_address(one.buffer), one.buffer.nbytes] == one.digest}
    return [id(one) not in same for one in watched]


def _address(buffer: memoryview) -> int | None:
    """Return the address of a view's memory; None for a copy that the encoder made, and for no memory."""
    return ctypes.addressof(buffer.obj) if isinstance(buffer.obj, ctypes.Array) else None


def _places(buffer: memoryview) -> tuple[tuple[int, int] | None, ...]:
    return tuple(_place(owner) for owner in getattr(buffer.obj, "owners", ()))


def _place(owner: Any) -> tuple[int, int] | None:
    """Return address and size of the memory of a tensor or an array; None where it does not tell them."""
    if isinstance(owner, tuple):
        return _place(owner[0])
    if callable(getattr(owner, "untyped_storage", None)):  # a tensor of torch, whose storage may be resized
        storage = owner.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    while hasattr(getattr(owner, "base", None), "__array_interface__"):
        owner = owner.base  # a view does not know when the array that owns the memory is resized
    interface = getattr(owner, "__array_interface__", None)
    return (interface["data"][0], owner.nbytes) if isinstance(interface, dict) else None


def _digests(views: Sequence[memoryview], sha256: bool) -> list[bytes]:
    """Return the digests of the chunks of each view, joined; several threads share what is large."""
    digest = sha256s_of if sha256 else crcs_of
    if sum(view.nbytes for view in views) <= _PIECE:
        return [digest(view) for view in views]
    pieces = [
        (number, view[start : start + _PIECE])
        for number, view in enumerate(views)
        for start in range(0, view.nbytes, _PIECE)
    ]
    found: list[list[bytes]] = [[] for _ in views]
    with ThreadPoolExecutor(thread_count()) as threads:
        for (number, _), part in zip(pieces, threads.map(partial(_of_piece, digest), pieces), strict=True):
            found[number].append(part)
    return [b"".join(parts) for parts in found]


def _of_piece(digest: Any, piece: tuple[int, memoryview]) -> bytes:
    found: bytes = digest(piece[1])
    return found
