"""Checking chunks against their digests, on several threads where there is enough to do.

Both digests let go of the interpreter lock while they work, so plain threads are enough. They live
for one call only: a pool that outlives it would not survive a fork.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from typing import Final

from packager.errors import IntegrityError

from .bounds import CHUNK
from .digests import chunk_crc, crc32
from .listing import EntryRecord

_WORTH_A_THREAD: Final = 8  # chunks


def thread_count() -> int:
    """How many threads digest at once: one for each processor this process may use, at most four."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 4)


def check_chunks(entry: EntryRecord, data: memoryview, chunks: Sequence[int], digests: str) -> None:
    """Demand that chunks of an entry have their digests.

    `data` holds whole chunks of the entry, from the first of `chunks` on. `digests` is `"crc"` or
    `"sha256"`. Raises IntegrityError naming every chunk that is wrong.
    """
    if digests == "sha256" and entry.size and not entry.sha256s:
        choice = 'view it with digests="crc", or ' if entry.kind == "tensors" else ""
        raise IntegrityError(
            f'entry {entry.name!r}: it has no sha256, as the archive was written with digests="crc"; '
            f'{choice}export it again with digests="sha256"'
        )
    wrong = wrong_chunks(entry, data, chunks, digests)
    if wrong:
        shown = ", ".join(f"{chunk * CHUNK} to {min(entry.size, (chunk + 1) * CHUNK)}" for chunk in wrong[:5])
        more = f" and {len(wrong) - 5} more ranges" if len(wrong) > 5 else ""
        raise IntegrityError(
            f"entry {entry.name!r}: bytes {shown}{more} do not have the {digests} that the manifest gives; "
            "the file was damaged or tampered with: get it again"
        )


def wrong_chunks(entry: EntryRecord, data: memoryview, chunks: Sequence[int], digests: str) -> list[int]:
    """The chunks among `chunks` whose digest is not the manifest's."""
    if not chunks:
        return []
    first = chunks[0]

    def is_wrong(chunk: int) -> bool:
        piece = data[(chunk - first) * CHUNK : (chunk - first + 1) * CHUNK]
        if digests == "crc":
            return crc32(piece) != chunk_crc(entry.crcs, chunk)
        return hashlib.sha256(piece).digest() != entry.sha256s[32 * chunk : 32 * chunk + 32]

    return [chunk for chunk, wrong in zip(chunks, _in_threads(is_wrong, chunks), strict=True) if wrong]


def _in_threads(work: Callable[[int], bool], items: Sequence[int]) -> list[bool]:
    """`work` of every item, in order; the calling thread does its share."""
    shares = len(items) // _WORTH_A_THREAD
    count = min(thread_count(), shares) if shares > 1 else 1
    if count < 2:
        return [work(item) for item in items]
    results: list[list[bool]] = [[] for _ in range(count)]
    failures: list[BaseException] = []

    def run(share: int) -> None:
        try:
            results[share] = [work(item) for item in items[share::count]]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(share,), daemon=True) for share in range(1, count)]
    for thread in threads:
        thread.start()
    run(0)
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [results[i % count][i // count] for i in range(len(items))]
