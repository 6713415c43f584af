"""The archive's own errors, under the tree of `packager.errors`."""

from __future__ import annotations

from packager.errors import ArchiveError, IntegrityError


class ArchiveIOError(ArchiveError, OSError):
    """The operating system would not do its part: disk full, no permission, an input or output error.

    `errno` and `filename` are as in OSError.
    """

    def __init__(self, message: str, cause: OSError | None = None, filename: str | None = None) -> None:
        super().__init__(message)
        if cause is not None:
            self.errno, self.strerror = cause.errno, cause.strerror
        self.filename = filename


class MissingEntryError(ArchiveError, KeyError):
    """The archive has no entry, or the member no tensor, of the name that was asked for."""


class MissingKeysError(MissingEntryError):
    """Several keys were asked for at once, and some are not there: all of those are in `missing_keys`."""

    def __init__(self, message: str, missing_keys: tuple[str, ...]) -> None:
        super().__init__(message)
        self.missing_keys = missing_keys


class ArchiveClosedError(ArchiveError):
    """A closed archive is asked for more, by its reader or by code or objects that came out of it.

    It is no ImportError: code that tries an import would go on as if the module were absent everywhere.
    """


class ArchiveChangedError(IntegrityError):
    """The archive was written to, cut short or replaced after it was opened."""


def closed(name: str) -> ArchiveClosedError:
    """Return the error for an archive that was closed, which is called by its name."""
    return ArchiveClosedError(f"{name} is closed; open it again to read more")


def changed(where: str, found: str) -> ArchiveChangedError:
    """Return the error for an open archive that is not any more what it was."""
    return ArchiveChangedError(
        f"{where}: {found}; it was changed after it was opened: close it, and open it again"
    )


def damaged(where: str, found: str, expected: str) -> ArchiveError:
    """Return the error for bytes that are not as the format demands."""
    return ArchiveError(
        f"{where}: found {found}; expected {expected}. The file is damaged, cut short, or was not "
        "written by packager"
    )
