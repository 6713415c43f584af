"""Memory that must not change: digested when something is saved, and again before it is written.

Tensors are written at `close()` from where they lie, without a copy, so an archive must not say that
it holds the values of the call when the memory holds others by then. A version counter is no proof:
views and other libraries write without counting. So the bytes are compared, by their digests.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from packager.archive import crcs_of, sha256s_of, thread_count

_PIECE: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class WatchedMemory:
    """The memory of one storage as it was: `names` are the keys or attribute paths of what lies in it.

    `places` are address and size of what owns the memory: memory that was moved must not even be read.
    """

    names: tuple[str, ...]
    buffer: memoryview = field(repr=False)
    digest: bytes
    places: tuple[tuple[int, int] | None, ...]


def watch(
    memory: Iterable[tuple[tuple[str, ...], memoryview]], *, sha256: bool = True
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


def changed(watched: Sequence[WatchedMemory], *, sha256: bool = True) -> list[bool]:
    """Say of each whether it changed since; memory that was watched several times is read once."""
    still = [one for one in watched if _places(one.buffer) == one.places]
    distinct = {(_address(one.buffer), one.buffer.nbytes): one.buffer for one in still}
    now = dict(zip(distinct, _digests(list(distinct.values()), sha256), strict=True))
    same = {id(one) for one in still if now[_address(one.buffer), one.buffer.nbytes] == one.digest}
    return [id(one) not in same for one in watched]


def _address(buffer: memoryview) -> int | None:
    """Where the memory of a view lies; None for a copy that the encoder made, and for no memory."""
    return ctypes.addressof(buffer.obj) if isinstance(buffer.obj, ctypes.Array) else None


def _places(buffer: memoryview) -> tuple[tuple[int, int] | None, ...]:
    return tuple(_place(owner) for owner in getattr(buffer.obj, "owners", ()))


def _place(owner: Any) -> tuple[int, int] | None:
    """Address and size of the memory of a tensor or an array; None for an owner that cannot be asked."""
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
    """The digests of the chunks of each view, joined; several threads share what is large."""
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
