"""The bytes of a legacy file: read at places, with bounds, never mapped and never executed."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from packager.archive import BoundedFile
from packager.errors import ArchiveError, LegacyFormatError


class LegacyFile:
    """An open file, read anew for every request.

    Raises LegacyFormatError for what is no regular file, and later when the file has changed its size.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = Path(path).name
        if not os.path.isfile(path):
            if os.path.exists(path):
                raise LegacyFormatError(f"{os.fspath(path)}: found a folder or device; expected a file")
            raise FileNotFoundError(2, "there is no such file", os.fspath(path))
        self._source = BoundedFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC), self.name)
        self.size = self._source.size

    def read(self, start: int, stop: int) -> memoryview:
        """The bytes between two positions."""
        if not 0 <= start <= stop <= self.size:
            raise LegacyFormatError(
                f"{self.name}: bytes {start} to {stop} were asked for; the file ends at {self.size}"
            )
        try:
            return self._source.view(start, stop)
        except ArchiveError as error:
            raise LegacyFormatError(str(error)) from error

    def close(self) -> None:
        """Let go of the file; nothing more can be read."""
        self._source.close()

    def __enter__(self) -> LegacyFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
