"""Every bit of a small archive, flipped; and the same in its unpacked form."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Accepts = Callable[..., bool]


@pytest.mark.long
def test_every_flipped_bit_is_detected(honest: bytes, accepts: Accepts) -> None:
    assert accepts(honest)
    damaged = bytearray(honest)
    for place in range(len(honest)):
        for bit in range(8):
            damaged[place] ^= 1 << bit
            assert not accepts(bytes(damaged)), (place, bit)
            damaged[place] ^= 1 << bit


def test_every_changed_byte_of_an_unpacked_archive_is_detected(
    honest: bytes, accepts: Accepts, unpack_to: Callable[[Sequence[tuple[str, bytes]]], Path]
) -> None:
    with zipfile.ZipFile(io.BytesIO(honest)) as archive:
        files = [(name, archive.read(name)) for name in archive.namelist()]
    folder = unpack_to(files)
    assert accepts(folder)
    for name, data in files:
        for place in range(0, len(data), 3):
            (folder / name).write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
            assert not accepts(folder), (name, place)
        (folder / name).write_bytes(data)
    assert accepts(folder)
