"""Files of weights from elsewhere, changed at random: what bytes change, and everything that is then asked.

An input is a few bytes: the first chooses an honest file, the second a layer of it, the rest are edits, six
bytes each, as in `fuzz_archives`. Layers of a zip: the bytes of the file, and of each of its entries, under
headers made right again, so that the reader of pickles is reached. Layers of a pickle: its bytes, and its
operations, which are dropped, doubled, moved and given other arguments. The same bytes make the same file.
"""

from __future__ import annotations

import io
import pickletools
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_archives import edited

from packager._weights import Checkpoint, open_checkpoint
from packager.errors import PackageError

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "legacy"
FOLDER = tempfile.TemporaryDirectory(prefix="kellet-fuzz-")
FILE = Path(FOLDER.name) / "file.pt"
SOUND = "sound"


@dataclass(frozen=True)
class Honest:
    """An honest file: its bytes, its entries where it is a zip, and where a pickle in it begins."""

    file: bytes
    entries: Mapping[str, bytes]

    @classmethod
    def of(cls, file: bytes) -> Honest:
        if not zipfile.is_zipfile(io.BytesIO(file)):
            return cls(file, {})
        with zipfile.ZipFile(io.BytesIO(file)) as opened:
            return cls(file, {name: opened.read(name) for name in opened.namelist()})

    @property
    def layers(self) -> int:
        """The file as bytes and as operations; each entry of a zip as both."""
        return 2 + 2 * len(self.entries)


def forged(honest: Honest, layer: int, edits: bytes) -> bytes:
    """The file with one layer changed."""
    change = (edited, with_other_operations)[layer % 2]
    if layer < 2:
        return change(honest.file, edits)
    name = list(honest.entries)[layer // 2 - 1]
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as opened:
        for entry, data in honest.entries.items():
            opened.writestr(zipfile.ZipInfo(entry), change(data, edits) if entry == name else data)
    return written.getvalue()


def with_other_operations(data: bytes, edits: bytes) -> bytes:
    """The bytes with operations of their first pickles dropped, doubled, moved, or given other arguments."""
    operations = _operations(data)
    if len(operations) < 3:
        return edited(data, edits)
    end = operations[-1][1]
    parts = [data[start:stop] for start, stop in operations]
    for at in range(0, len(edits) - 5, 6):
        what, place, other = (
            edits[at] % 6,
            edits[at + 1] * 256 + edits[at + 2],
            edits[at + 3] * 256 + edits[at + 4],
        )
        place, other = place % len(parts), other % len(parts)
        match what:
            case 0:
                del parts[place]
            case 1:
                parts.insert(other, parts[place])
            case 2:
                parts[place], parts[other] = parts[other], parts[place]
            case 3:
                parts[place] = parts[place][:1] + edited(parts[place][1:], edits[at : at + 6])
            case 4:
                parts[place] = parts[other]
            case _:
                parts[place:place] = parts[other : other + edits[at + 5] % 40] * 3
        if not parts:
            break
    return b"".join(parts) + data[end:]


def _operations(data: bytes) -> list[tuple[int, int]]:
    """Where each operation of the pickles at the start of these bytes begins and ends."""
    starts, base = [], 0
    while base < len(data) and len(starts) < 5000:
        stream = io.BytesIO(data[base:])
        try:
            starts += [base + at for _, _, at in pickletools.genops(stream) if at is not None]
        except (ValueError, UnicodeDecodeError, OverflowError):
            break
        base += stream.tell()
    return list(zip(starts, [*starts[1:], base], strict=True)) if base else []


def _arrays() -> bytes:
    written = io.BytesIO()
    np.savez(written, weight=np.arange(6, dtype="f4").reshape(2, 3), step=np.int64(3))
    return written.getvalue()


def _array() -> bytes:
    written = io.BytesIO()
    np.save(written, np.arange(6, dtype="f4").reshape(2, 3).T)
    return written.getvalue()


def _safetensors() -> bytes:
    header = (
        b'{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},'
        b'"b.c":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},"e":{"dtype":"I64","shape":[0,2],"data_offsets":[22,22]}}'
    )
    return len(header).to_bytes(8, "little") + header + bytes(range(22))


NAMES = ("zip.pt", "stream.pt", "package.pt", "conjugated_zip.pt", "conjugated_stream.pt")
HONEST = [
    *(Honest.of((FIXTURES / name).read_bytes()) for name in NAMES),
    *(Honest.of(file) for file in (_arrays(), _array(), _safetensors())),
]


def check(data: bytes) -> str:
    """Open a file and read every tensor; "sound", or what refused it. Raises everything but PackageErrors."""
    FILE.write_bytes(data)
    try:
        return _used(open_checkpoint(FILE, everything=True))
    except PackageError:
        pass
    try:
        return f"without what is unknown: {_used(open_checkpoint(FILE, everything=True, skip_unknown=True))}"
    except PackageError as error:
        return f"refused when opened: {type(error).__name__}"


def _used(checkpoint: Checkpoint) -> str:
    str(checkpoint.left_out), str(checkpoint.metadata)
    refused = sum(not _succeeds(lambda key=key: checkpoint[key].raw()) for key in checkpoint)
    return "a tensor refused" if refused else SOUND


def _succeeds(step: Callable[[], Any]) -> bool:
    try:
        step()
    except PackageError:
        return False
    return True


def file_of(data: bytes) -> bytes:
    """The file that the bytes of an input describe."""
    if len(data) < 2:
        return data
    honest = HONEST[data[0] % len(HONEST)]
    return forged(honest, data[1] % honest.layers, data[2:])


def one_input(data: bytes) -> str:
    """Make the file that the input describes, read it, and return the outcome: what every engine calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile and NumPy warn of odd names and numbers
        return check(file_of(data))
