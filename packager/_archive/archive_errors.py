"""The archive's own errors, under the tree of `packager.errors`."""

from __future__ import annotations

from packager.errors import ArchiveError, IntegrityError, KeyNotStoredError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Final

DAMAGED: Final = (
    "damaged, incomplete or was not written by packager: get another copy, or check that the whole file was "
    "copied (`kellet verify` tells what else is damaged)"
)
"""What messages say of a file whose bytes are not as the format demands, behind "is", and what to do then."""


class ArchiveIOError(ArchiveError, OSError):
    """The operating system refused a read or write: disk full, no permission, an input or output error.

    `errno` and `filename` are as in OSError.
    """

    def __init__(self, message: str, cause: OSError | None = None, filename: str | None = None) -> None:
        super().__init__(message)
        if cause is not None:
            self.errno, self.strerror = cause.errno, cause.strerror
        self.filename = filename


class MissingEntryError(KeyNotStoredError, ArchiveError):
    """The archive has no entry, or the member no tensor, of the name that a caller or a record gives."""


class ArchiveClosedError(ArchiveError):
    """A closed archive was used again: by its reader, or by code or objects that were loaded from it.

    It is not an ImportError: code that tries an import would go on as if the module existed nowhere.
    """


class ArchiveChangedError(IntegrityError):
    """The archive was modified, truncated or replaced after it was opened."""


def closed(name: str) -> ArchiveClosedError:
    """Return the error for the use of a closed archive; `name` is that of the archive."""
    return ArchiveClosedError(f"{name} is closed; open it again to read more")


def changed(where: str, found: str) -> ArchiveChangedError:
    """Return the error for an archive that was changed while it was open."""
    return ArchiveChangedError(
        f"{where}: {found}; it was changed after it was opened: close it, and open it again"
    )


def damaged(where: str, found: str, expected: str) -> ArchiveError:
    """Return the error for bytes that are not as the format demands."""
    return ArchiveError(f"{where}: found {found}; expected {expected}. The file is {DAMAGED}")
