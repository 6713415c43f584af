"""Where an archive is written: a path that is replaced in one step or not at all, or a file object."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO

from ..atomic import ReplacedFile, os_error_mend
from .errors import ArchiveIOError


class PathTarget:
    """A path to be replaced, as `ReplacedFile` says.

    Raises ArchiveIOError when the target cannot be written to; nothing has been created then.
    """

    def __init__(self, path: str | os.PathLike[str], *, fsync: bool) -> None:
        self._asked_for = os.fspath(path)
        self._fsync = fsync
        with _reported(self._asked_for):
            self._file = ReplacedFile(path)

    @contextlib.contextmanager
    def open(self) -> Iterator[int]:
        """Give a descriptor to write to; the target is replaced when the block ends without an error.

        Raises ArchiveIOError for every OSError, with nothing left behind.
        """
        with _reported(self._asked_for), self._file.open(fsync=self._fsync) as descriptor:
            yield descriptor
        if self._fsync:
            try:
                self._file.sync_folder()
            except OSError as error:
                raise ArchiveIOError(
                    f"{self._asked_for}: the archive is written, but its folder cannot be synchronised: "
                    f"{error.strerror}; it is in place, but may not survive a power cut; look after the disk",
                    error,
                    self._asked_for,
                ) from error


class FileTarget:
    """A binary file object; it receives the finished archive in one go, from where it stands."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    @contextlib.contextmanager
    def open(self) -> Iterator[int]:
        """Give a descriptor of a temporary file, whose content is written to the file object afterwards."""
        with _reported("the temporary file"):
            temporary = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # closed by the next line
        with temporary:
            with _reported("the temporary file"):
                yield temporary.fileno()
                temporary.seek(0)
            while piece := temporary.read(1 << 20):
                _write_all(self._file, piece)


Target = PathTarget | FileTarget


@contextlib.contextmanager
def _reported(target: str) -> Iterator[None]:
    """Turn OSErrors into errors of ours that name the target."""
    try:
        yield
    except ArchiveIOError:
        raise
    except OSError as error:
        raise ArchiveIOError(
            f"{target}: the archive could not be written: {error.strerror or error}; nothing was left behind "
            f"and an old file is as it was; {os_error_mend(error)}, then save again",
            error,
            target,
        ) from error


def _write_all(file: Any, data: bytes) -> None:
    """Write to a file object that may take less than it is given."""
    rest = memoryview(data)
    while rest:
        done = file.write(rest)
        rest = rest[len(rest) if done is None else done :]
