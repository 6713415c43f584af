"""Where a command writes what it makes: a file, which is replaced whole, or standard output for `-`."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from packager._arguments import check_no_address, check_text
from packager._texts import printable
from packager.errors import AddressError

OR_STANDARD_OUTPUT = "; - for standard output"
"""What the help of an option says beside where a file goes."""


def add_output(parser: argparse.ArgumentParser) -> None:
    """Declare where a text goes: to standard output, unless a file is named."""
    text = "write here; - (default) is standard output"
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help=text)


@contextmanager
def output_of(file: str | None, *, is_text: bool = True) -> Iterator[Any]:
    """Give what a command writes to for an argument FILE: the path, or the stream of standard output for `-`.

    With `-` nothing else reaches standard output: what is printed in the block, by code of a model too, goes
    to standard error.

    Raises AddressError for an address, OSError for a path that leads to a device, FIFO or socket, and for the
    file that standard output goes to already; ArgumentError for standard output that is a terminal, unless it
    `is_text`.
    """
    if file != "-":
        if file is not None:
            check_no_address(file)
            _require_file(file)
        yield file
        return
    stream = sys.stdout
    if not is_text and stream.isatty():
        from packager.errors import ArgumentError

        raise ArgumentError(
            "-: this binary file cannot go to a terminal. Send standard output to a file or a pipe"
        )
    stream.flush()
    with redirect_stdout(sys.stderr):
        yield stream.buffer
    stream.flush()


def write_output(output: Any, pieces: Iterable[str]) -> int:
    """Write a text to what `output_of` gave; return its size in bytes.

    On standard output, which a terminal may show, hidden characters are spelled out.

    Raises OSError, and ArgumentError for text that no file can hold: a pattern may have half of a character.
    """
    if not isinstance(output, str):
        return sum(output.write(printable(piece).encode()) for piece in pieces)
    from packager._atomic import replaced_file

    with replaced_file(output) as file:
        return sum(file.write(check_text(output, piece, "text")) for piece in pieces)


@contextmanager
def path_of(output: Any, ending: str) -> Iterator[str]:
    """Give a path to write to for what `output_of` gave; a stream gets the file there when the block ends.

    `ending` is that of the path for a stream. Raises OSError.
    """
    if isinstance(output, str):
        yield output
        return
    import shutil

    from packager._atomic import temporary_folder

    with temporary_folder("archive") as folder:
        path = os.path.join(folder, f"output{ending}")
        yield path
        with open(path, "rb") as file:
            shutil.copyfileobj(file, output)


def output_folder(text: str) -> str:
    """Check an argument that names a folder to write, for argparse.

    Raises ValueError for `-` and for an address.
    """
    if text == "-":
        raise ValueError("-: expected a folder; only a file can go to standard output")
    try:
        check_no_address(text)
    except AddressError as error:
        raise ValueError(str(error)) from None
    return text


def _require_file(path: str) -> None:
    """Raise OSError where the path leads to a device, FIFO or socket, or where standard output goes."""
    import errno

    try:
        found = os.stat(path)
        is_file = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
        is_taken = is_file and os.path.samestat(found, os.fstat(1))
    except (OSError, ValueError):  # what cannot be opened is told where it is opened
        return
    if not is_file or is_taken:
        what = "standard output goes there" if is_taken else "it is a device, FIFO or socket"
        raise OSError(
            errno.EINVAL, f"{what}, and a file is replaced whole; - writes to standard output", path
        )
