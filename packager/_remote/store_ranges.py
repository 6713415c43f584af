"""Files in object stores, read by obstore: its credentials, its retries, its time-outs of 30 s."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.client import responses
from typing import Any, Final

from packager.errors import AddressError

from .addresses import Address
from .ranges import OPENING, TIMEOUT, Landed, RemoteError, changed_error, checked_size

_LONGEST: Final = 2 << 20  # bytes of one request: obstore gives it up after 30 s, however steadily it comes
_AT_ONCE: Final = 1 << 18
_KNOWN: Final = re.compile(r"status code: (\d{3})|kind: ([A-Z][A-Za-z]+)")

_used_in: dict[str, int] = {}  # the first process: threads of obstore are not in those forked from it


class StoreRanges:
    """A file in a bucket of S3; of Google Cloud Storage and Azure in the same way, untried.

    Raises AddressError where obstore is not installed, RemoteError where the file cannot be read, or the
    process was forked from one that had read such files.
    """

    parallel = 4

    def __init__(self, address: Address, *, from_end: bool) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError:
            raise AddressError(
                f"{address}: obstore, which reads {address.scheme}://, is not installed; pip install "
                "'kellet[remote]', or give an https:// address or a path"
            ) from None
        self.name = str(address)
        if _used_in.setdefault("process", os.getpid()) != os.getpid():
            raise RemoteError(
                f"{self.name}: a process that had read {address.scheme}:// was forked, and obstore does not "
                "work in this child; start workers by spawn, or open the first such address in the child",
                self.name,
            )
        self._get: Any = obstore.get
        asked = f"the last {OPENING} bytes" if from_end else f"the first {OPENING} bytes"
        with self._told(asked):
            folder, _, self._path = address.url.rpartition("/")
            retries = {"retry_timeout": timedelta(seconds=TIMEOUT)}
            self._store: Any = from_url(f"{folder}/", retry_config=retries)
            wanted: Any = {"suffix": OPENING} if from_end else (0, OPENING)
            found = self._get(self._store, self._path, options={"range": wanted})
            meta, place = found.meta, tuple(found.range)
        self.size, self._tag = checked_size(meta["size"], self.name), meta["e_tag"]
        expected = (max(self.size - OPENING, 0), self.size) if from_end else (0, min(OPENING, self.size))
        if place != expected:
            raise changed_error(self.name, "another range", "what was asked for", asked)
        data = bytearray(place[1] - place[0])
        self._fill(memoryview(data), found, asked)
        self.opening = place[0], bytes(data)

    def read(self, start: int, target: memoryview, landed: Landed) -> None:
        for done in range(0, len(target), _LONGEST):
            part = target[done : done + _LONGEST]
            self._read(start + done, part)
            landed(done + len(part))

    def _read(self, start: int, target: memoryview) -> None:
        stop = start + len(target)
        asked = f"bytes {start} to {stop}"
        condition = {"if_match": self._tag} if self._tag and not self._tag.startswith("W/") else {}
        with self._told(asked):
            found = self._get(self._store, self._path, options={"range": (start, stop), **condition})
            facts = found.meta["size"], found.meta["e_tag"], tuple(found.range)
        if facts != (self.size, self._tag, (start, stop)):
            raise self._changed(asked)
        self._fill(target, found, asked)

    def close(self) -> None:
        """Do nothing: connections are obstore's."""

    def _fill(self, target: memoryview, found: Any, asked: str) -> None:
        """Read a body into memory, and no more than has room there."""
        done = 0
        with self._told(asked):
            for piece in found.stream(min_chunk_size=_AT_ONCE):
                done += len(piece)
                if done > len(target):
                    break
                target[done - len(piece) : done] = piece
        if done != len(target):
            raise changed_error(self.name, f"{done} bytes of a body", f"{len(target)}", asked)

    def _changed(self, asked: str) -> RemoteError:
        return changed_error(self.name, "another version", "that of the first answer", asked)

    @contextmanager
    def _told(self, asked: str) -> Iterator[None]:
        """Raise RemoteError for what obstore raises, without its text: that has endpoints and paths in it."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # they have no common class, and some are not of Exception
            failure = error
        else:
            return
        if type(failure).__name__ == "PreconditionError":
            raise self._changed(asked) from None
        status, kind = next(iter(_KNOWN.findall(str(failure))), ("", ""))
        said = f"{status} {responses.get(int(status), '')}" if status else kind or type(failure).__name__
        raise RemoteError(
            f"{self.name}, {asked}: it cannot be read: {said}; see that bucket and path are right, and "
            "credentials, endpoint and region as obstore takes them from the environment",
            self.name,
            int(status) if status else None,
            asked,
        ) from None
