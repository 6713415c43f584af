"""Files that commands write: whole when they are done, or not there."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["whole_file", "whole_folder"]


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` when the block ends without an error.

    A device or a pipe is written to as it is.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            yield file
        return
    part = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            yield file
        os.replace(part, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(part)
        if isinstance(error, OSError) and error.filename in (None, part):  # users know the file by its name
            error.filename = os.fspath(path)
        raise


@contextlib.contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to write files to; they come into `folder` together when the block ends without an error.

    What is in `folder` already stays, but for files of the same names.
    """
    there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=folder))
    try:
        yield part
        for file in list(part.iterdir()):
            os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if not there:
            with contextlib.suppress(OSError):  # something is in it, as it should be
                folder.rmdir()
