"""Files that turned out to be no archive of ours, opened as weights of another kind."""

from __future__ import annotations

import os

from packager.errors import ArchiveError, LegacyFormatError
from packager.texts import in_lines

from .checkpoint import Checkpoint, open_checkpoint


def open_other_weights(file: str | os.PathLike[str], refused: ArchiveError) -> Checkpoint:
    """Open a file that no archive could be read from, as the checkpoint that it may be.

    Where several state dicts lie in it, all its tensors are one. What is no part of weights is left out, and
    listed. `refused` is what the reader of archives said; it is raised for what is called an archive, or is
    laid out as one: a damaged archive is never read as something else.

    Raises `refused`, or ArchiveError with both reasons for what is neither.

    >>> import numpy, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.savez(f"{folder}/old.npz", weight=numpy.ones(3))
    ...     list(open_other_weights(f"{folder}/old.npz", ArchiveError("no archive")))
    ['weight']
    """
    name = os.fspath(file)
    if name == "-" or name.endswith(".kellet") or os.path.isdir(os.path.join(name, ".data")):
        raise refused
    try:
        try:
            return open_checkpoint(file, skip_unknown=True)
        except LegacyFormatError:
            return open_checkpoint(file, skip_unknown=True, everything=True)
    except LegacyFormatError as error:
        raise ArchiveError(
            in_lines(
                f"{name}: neither an archive nor a file of weights.",
                "  As an archive: " + str(refused),
                "  As weights: " + str(error),
            )
        ) from error
