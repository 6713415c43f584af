"""Files in object stores, read by obstore: its credentials, its retries, its time-outs."""

from __future__ import annotations

from typing import Any

from packager._texts import one_line
from packager.errors import AddressError

from .addresses import Address
from .ranges import OPENING, Landed, RemoteError, changed_error, checked_size


class StoreRanges:
    """A file in a bucket of S3; of Google Cloud Storage and Azure in the same way, untried.

    Raises AddressError where obstore is not installed, RemoteError where the file cannot be read.
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
        self._get: Any = obstore.get
        self._tag: str | None = None
        self.size = -1
        asked = f"the last {OPENING} bytes" if from_end else f"the first {OPENING} bytes"
        try:
            folder, _, self._path = address.url.rpartition("/")
            self._store = from_url(f"{folder}/")
            wanted: Any = {"suffix": OPENING} if from_end else (0, OPENING)
            found = self._get(self._store, self._path, options={"range": wanted})
            meta, (start, stop), data = found.meta, found.range, found.bytes()
        except Exception as error:  # obstore's have no common class with those of its settings
            raise self._error(error, asked) from None
        self.size = checked_size(meta["size"], self.name)
        self._tag = meta["e_tag"]
        if len(data) != stop - start:
            raise changed_error(self.name, f"{len(data)} bytes", f"{stop - start}", asked)
        self.opening = start, bytes(data)

    def read(self, start: int, target: memoryview, landed: Landed) -> None:
        asked = f"bytes {start} to {start + len(target)}"
        condition = {"if_match": self._tag} if self._tag and not self._tag.startswith("W/") else {}
        try:
            options = {"range": (start, start + len(target)), **condition}
            found = self._get(self._store, self._path, options=options)
            meta, place, data = found.meta, tuple(found.range), memoryview(found.bytes())
        except Exception as error:
            if type(error).__name__ == "PreconditionError":
                raise changed_error(self.name, "another version", f"ETag {self._tag}", asked) from None
            raise self._error(error, asked) from None
        facts = meta["size"], meta["e_tag"], place, len(data)
        expected = self.size, self._tag, (start, start + len(target)), len(target)
        if facts != expected:
            raise changed_error(self.name, str(facts), str(expected), asked)
        target[:] = data
        landed(len(data))

    def close(self) -> None:
        """Do nothing: connections are obstore's."""

    def _error(self, error: Exception, asked: str) -> RemoteError:
        """Return the error without what obstore tells of its settings and requests."""
        said = one_line(str(error).partition("Debug source:")[0].partition("?")[0].strip())[:200]
        return RemoteError(
            f"{self.name}, {asked}: it cannot be read: {said}; see that bucket and path are right, and "
            "credentials and region as obstore takes them from the environment",
            self.name,
            asked=asked,
        )
