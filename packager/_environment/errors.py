"""What can go wrong when an environment is made from an archive, under the tree of `packager.errors`.

PackageError
`-- EnvironmentBuildError     also RuntimeError: an environment cannot be made, or wheels not be found
    |-- NoSuchVersionError    also LookupError: no index offers the recorded version
    |   `-- SourceOnlyError   it is offered as sources alone, and these are never built
    |-- WrongPlatformError    there are wheels of it, for other Pythons or platforms
    |-- WrongPythonError      the Python is too old, or too new, for what is to run on it
    |-- ToolMissingError      pip, venv or packaging is not there
    |-- FolderError           also OSError: the environment cannot be written to its folder
    `-- DiskFullError         also OSError: no space left
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from packager.errors import PackageError


class EnvironmentBuildError(PackageError, RuntimeError):
    """An environment cannot be made, or wheels cannot be found. Nothing was left behind."""


class NoSuchVersionError(EnvironmentBuildError, LookupError):
    """Neither an index nor a folder offers the recorded version of a distribution."""


class SourceOnlyError(NoSuchVersionError):
    """The recorded version is offered only as an sdist; building it would run its code."""


class WrongPlatformError(EnvironmentBuildError):
    """There are wheels of a distribution, but none for this Python on this platform."""


class WrongPythonError(EnvironmentBuildError):
    """The chosen Python is too old, or too new, for the archive."""


class ToolMissingError(EnvironmentBuildError):
    """A tool that is needed (pip, venv, packaging) is missing."""


class FolderError(EnvironmentBuildError, OSError):
    """A folder cannot be written, or this system does not allow its name. `errno` says why."""

    def __init__(self, message: str, cause: OSError) -> None:
        super().__init__(message)
        self.errno = cause.errno


class DiskFullError(EnvironmentBuildError, OSError):
    """The disk has no space left for the environment or the wheels. `errno` is ENOSPC."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.errno = errno.ENOSPC


def disk_full(what: str) -> DiskFullError:
    """Return the error for a full disk or quota."""
    return DiskFullError(
        f"{what}: no space left on the disk; nothing was left behind; free some space, or put TMPDIR "
        "and the target on another disk"
    )


@contextmanager
def typed_errors(what: str) -> Iterator[None]:
    """Raise EnvironmentBuildError, or its FolderError or DiskFullError, for errors of the system."""
    try:
        yield
    except EnvironmentBuildError:
        raise
    except FileExistsError as error:
        raise EnvironmentBuildError(
            f"{what}: something exists there already. Remove it, or name another folder"
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(what) from error
        raise FolderError(
            f"{what}: {error.strerror or error}; nothing was left behind; name a folder that can be "
            "written to",
            error,
        ) from error
