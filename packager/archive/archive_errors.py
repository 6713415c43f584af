"""The archive's own errors, under the tree of `packager.errors`."""

from __future__ import annotations

from packager.errors import ArchiveError


class ArchiveIOError(ArchiveError, OSError):
    """The operating system would not do its part: disk full, no permission, an input or output error.

    `errno` and `filename` are as in OSError.
    """

    def __init__(self, message: str, cause: OSError | None = None, filename: str | None = None) -> None:
        super().__init__(message)
        if cause is not None:
            self.errno, self.strerror = cause.errno, cause.strerror
        self.filename = filename

    def __str__(self) -> str:
        return str(self.args[0])


class MissingEntryError(ArchiveError, KeyError):
    """The archive has no entry, or the member no tensor, of the name that was asked for."""

    __str__ = Exception.__str__


def damaged(where: str, found: str, expected: str) -> ArchiveError:
    """Return the error for bytes that are not as the format demands."""
    return ArchiveError(
        f"{where}: found {found}; expected {expected}. The file is damaged, cut short, or was not "
        "written by packager"
    )
