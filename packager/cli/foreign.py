"""What `packager inspect` says of files that are no archives: weights of other libraries, read as data."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from packager.errors import ArchiveError, LegacyFormatError

from .screen import print_json, print_table, print_text

if TYPE_CHECKING:
    from packager.weights import Checkpoint


def inspect_foreign(options: argparse.Namespace, refused: ArchiveError) -> int:
    """Show a file of weights of another kind; nothing of it is run, and no tensor is read.

    Raises ArchiveError for a damaged archive, which is never read as something else: what the reader said.
    """
    if options.file == "-" or options.file.endswith(".kellet"):
        raise refused
    if os.path.isdir(options.file):
        raise ArchiveError(
            f"{refused}\nTo look into a package before it is exported: packager plan PACKAGE"
        ) from refused
    checkpoint = _opened(options.file, refused)
    if options.json:
        _print_json(checkpoint)
    else:
        _print(options.file, checkpoint)
    return 0


def _opened(file: str, refused: ArchiveError) -> Checkpoint:
    """The file as a checkpoint; where several state dicts lie in it, as one with all its tensors."""
    from packager.weights import open_checkpoint

    try:
        try:
            return open_checkpoint(file, skip_unknown=True)
        except LegacyFormatError:
            return open_checkpoint(file, skip_unknown=True, everything=True)
    except LegacyFormatError as error:
        raise ArchiveError(
            f"{file}: neither an archive nor a file of weights.\n  As an archive: {refused}\n"
            f"  As weights: {error}"
        ) from error


def _rows(checkpoint: Checkpoint) -> Iterator[dict[str, Any]]:
    for key, tensor in checkpoint.tensors.items():
        yield {"key": key, "dtype": str(tensor.dtype), "shape": list(tensor.shape)}


def _print_json(checkpoint: Checkpoint) -> None:
    plain = [key for key in checkpoint if key not in checkpoint.tensors]
    print_json(
        {
            "format": checkpoint.format,
            "container": checkpoint.container,
            "tensors": _rows(checkpoint),
            "values": plain,
            "left_out": checkpoint.left_out,
            "strings": checkpoint.metadata.strings,
        }
    )


def _print(file: str, checkpoint: Checkpoint) -> None:
    where = f", under {checkpoint.container}" if checkpoint.container else ""
    print_text(
        f"{file}: no archive of packager, but weights ({checkpoint.format}{where}); "
        f"packager convert makes an archive of them\n"
    )
    rows = [(row["key"], row["dtype"], row["shape"]) for row in _rows(checkpoint)]
    print_table("tensors", ("key", "dtype", "shape"), rows)
    print_table("other values", ("key",), [(key,) for key in checkpoint if key not in checkpoint.tensors])
    print_table(
        "not part of the weights",
        ("path", "what", "why"),
        [(o.path, o.what, o.why) for o in checkpoint.left_out],
    )
    print_table("strings", ("name", "text"), sorted(checkpoint.metadata.strings.items()))
