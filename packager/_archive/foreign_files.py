"""Files that are no archives: of which kind they are, and the command that reads them.

Asked only where a file could not be opened as an archive. What is said is a hint, and decides nothing.
"""

from __future__ import annotations

import itertools
import os
import shlex
from pathlib import Path
from typing import Final

from packager.errors import ArchiveError

from .byte_sources import Source
from .entry_names import MANIFEST

_HEAD: Final = 512  # a tar file says what it is at byte 257
_TAIL: Final = 1 << 16  # the end of a ZIP's list of entries, as far as it is looked through
_FILES: Final = 1000  # of a folder, as far as it is looked through
_OWN: Final = ".data"
_END: Final = slice(-22, -18)  # where a ZIP without a comment has the mark of its end record
_OLD_TORCH: Final = (0x1950A86A20F9469CFC6C).to_bytes(10, "little")  # in the first pickle of torch.save

_CONVERT = (
    "`kellet convert {} new.kellet` reads it, and packager.migrations.load_checkpoint(model, path) loads it"
)

# What a ZIP holds, by a part of its names: the first that is there tells.
_ZIPS: Final = (
    (
        b"/.data/extern_modules",
        "an archive of torch.package",
        _CONVERT.replace("reads it", "takes its weights"),
    ),
    (b"/constants.pkl", "a TorchScript file", "load it with torch.jit.load(), and save its state_dict()"),
    (b"/data.pkl", "a checkpoint of PyTorch", _CONVERT),
    (b".dist-info/", "a wheel", "pip installs it"),
    (b".npy", "an .npz file of NumPy", _CONVERT),
)
_STARTS: Final = (
    (b"\x93NUMPY", "an .npy file of NumPy", _CONVERT),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "read it with h5py, and save its arrays with numpy.savez()"),
    (b"GGUF", "a GGUF file", "write its tensors as .safetensors, which kellet convert reads"),
    (b"\x1f\x8b", "a gzip file", "unpack it first"),
)


def check_file(source: Source, name: str) -> None:
    """Raise ArchiveError for a file of another known kind: which one, and what reads it.

    >>> from packager._archive import Memory
    >>> check_file(Memory(b"no kind that is known"), "notes")
    """
    known = "" if name.startswith("<") else name  # "<stdin>"
    kind, instead = _kind_of_file(source, known)
    if kind:
        raise _error(kind, instead, known)


def check_folder(folder: Path) -> None:
    """Raise ArchiveError for a folder of another known kind: which one, and what reads it.

    A folder with `.data` is an archive, whatever lacks in it.
    """
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in itertools.islice(entries, _FILES)]
    except OSError:
        return
    if _OWN in names:
        return
    for ending, kind in (
        (".metadata", "a folder of torch.distributed.checkpoint"),
        (".npy", "a folder of .npy files"),
        (".index.json", "a sharded checkpoint"),
    ):
        if any(name.endswith(ending) for name in names):
            raise _error(kind, _CONVERT, str(folder))


def _error(kind: str, instead: str, name: str) -> ArchiveError:
    shown = repr(name) if name else "the file"
    command = instead.replace("{}", shlex.quote(name) if name else "FILE")
    return ArchiveError(f"{shown} is {kind}, not an archive of packager; {command}")


def _kind_of_file(source: Source, name: str) -> tuple[str, str]:
    """Return what a file is, and what to do with it; two empty texts where nothing tells."""
    size = source.size
    head = bytes(source.view(0, min(_HEAD, size)))
    if head.startswith(b"PK"):
        return _kind_of_zip(head, bytes(source.view(max(size - _TAIL, 0), size)))
    for start, kind, instead in _STARTS:
        if head.startswith(start):
            return kind, instead
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size - 8:
        return "a safetensors file", _CONVERT
    if head[257:262] == b"ustar":
        return "a tar file", "unpack it first; if an early torch.save wrote it, load and save it with torch"
    if len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5:
        if _OLD_TORCH in head[:32]:
            return "a checkpoint of PyTorch", _CONVERT
        return "a pickle", "load it where it was made, and save what it holds with PackageExporter"
    if name.endswith(".index.json") and head.lstrip()[:1] == b"{":
        return "the index of a sharded checkpoint", _CONVERT
    return "", ""


def _kind_of_zip(head: bytes, tail: bytes) -> tuple[str, str]:
    names = head + b"\n" + tail
    if tail[_END] != b"PK\x05\x06" or MANIFEST.encode() in names:
        return "", ""  # cut short, or an archive that is damaged
    return next(((kind, instead) for mark, kind, instead in _ZIPS if mark in names), ("", ""))
