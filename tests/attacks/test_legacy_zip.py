"""Hostile zip files under the readers of `.pt` and `.npz`: overlaps, lying sizes, two meanings, bombs."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from packager._weights import open_checkpoint
from packager.errors import LegacyFormatError

LOCAL = b"PK\x03\x04"
CENTRAL = b"PK\x01\x02"
END = b"PK\x05\x06"


def npz(compressed: bool = False, **arrays: np.ndarray) -> bytearray:
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)
    return bytearray(file.getvalue())


def read_all(path: Path) -> dict[str, list[float]]:
    return {key: value.numpy().tolist() for key, value in open_checkpoint(path).items()}


@pytest.fixture
def refused(tmp_path: Path) -> Callable[[bytes, str], None]:
    """Demand that a file is refused with a message, when it is opened or when it is read."""

    def check(data: bytes, message: str) -> None:
        (tmp_path / "hostile.npz").write_bytes(data)
        with pytest.raises(LegacyFormatError, match=message):
            read_all(tmp_path / "hostile.npz")

    return check


def honest() -> bytearray:
    return npz(a=np.arange(3), b=np.arange(4.0))


def changed(data: bytearray, place: int, form: str, *values: int) -> bytes:
    struct.pack_into(form, data, place, *values)
    return bytes(data)


def test_the_honest_file_is_read(tmp_path: Path) -> None:
    for compressed in (False, True):
        (tmp_path / "a.npz").write_bytes(npz(compressed, a=np.arange(3), b=np.arange(4.0)))
        found = open_checkpoint(tmp_path / "a.npz")
        assert {key: value.numpy().tolist() for key, value in found.items()} == {
            "a": [0, 1, 2],
            "b": [0.0, 1.0, 2.0, 3.0],
        }


def test_two_entries_over_the_same_bytes(refused: Callable[[bytes, str], None]) -> None:
    """The one that makes a zip bomb of a few bytes."""
    data = honest()
    second = data.index(CENTRAL, data.index(CENTRAL) + 4)
    refused(changed(data, second + 42, "<I", 0), r"'b\.npy' lies at byte 0, inside the one before it")


def test_an_entry_that_reaches_into_the_next(refused: Callable[[bytes, str], None]) -> None:
    data = honest()
    size = 152 + 60
    first = data.index(CENTRAL)
    struct.pack_into("<QQ", data, 30 + 5 + 4, size, size)  # the ZIP64 field of its own header
    refused(changed(data, first + 20, "<II", size, size), r"'b\.npy' lies at byte \d+, inside the one before")


def test_sizes_that_differ_between_header_and_directory(refused: Callable[[bytes, str], None]) -> None:
    data = honest()
    first = data.index(CENTRAL)
    refused(changed(data, first + 20, "<II", 100, 100), r"byte 0: the header of entry 'a\.npy' contradicts")


def test_a_name_that_differs_between_header_and_directory(refused: Callable[[bytes, str], None]) -> None:
    data = honest()
    data[30] = ord("x")
    refused(bytes(data), r"byte 0: the header of entry 'a\.npy' contradicts the directory")


def test_one_name_twice(refused: Callable[[bytes, str], None]) -> None:
    data = bytes(honest()).replace(b"b.npy", b"a.npy")
    refused(data, r"entry 'a\.npy' is there twice")


def test_encrypted_and_unknown_methods(refused: Callable[[bytes, str], None]) -> None:
    data = honest()
    refused(changed(data, data.index(CENTRAL) + 8, "<H", 1), "is encrypted, or packed by method 0")
    data = honest()
    refused(changed(data, data.index(CENTRAL) + 10, "<H", 14), "is encrypted, or packed by method 14")


@pytest.mark.parametrize("size", [1 << 40, 0xFFFFFFFE])
def test_sizes_that_cannot_be(size: int, refused: Callable[[bytes, str], None]) -> None:
    data = honest()
    first = data.index(CENTRAL)
    refused(changed(data, first + 20, "<II", size & 0xFFFFFFFF, 152), "bytes cannot hold")


def test_a_directory_that_is_elsewhere(refused: Callable[[bytes, str], None]) -> None:
    for place, form, value in ((12, "<I", 4), (16, "<I", 0), (8, "<HH", 0x00FF00FF), (16, "<I", 0xFFFFFFF0)):
        data = honest()
        values = (value & 0xFFFF, value >> 16) if form == "<HH" else (value,)
        refused(changed(data, data.index(END) + place, form, *values), "does not end where it has to")


def test_a_comment_could_hide_another_end(refused: Callable[[bytes, str], None]) -> None:
    data = honest()
    hidden = bytes(data[data.index(END) :])
    refused(
        changed(data, data.index(END) + 20, "<H", len(hidden)) + hidden, "does not end where|no end record"
    )
    refused(bytes(honest()) + b"x", "found no end record")
    refused(b"x" + bytes(honest()), "found b'xPK|does not end where it has to")


def test_a_record_with_another_disk_or_a_cut_directory(refused: Callable[[bytes, str], None]) -> None:
    data = honest()
    refused(changed(data, data.index(CENTRAL) + 34, "<H", 3), "one of several")
    data = honest()
    refused(
        changed(data, data.index(CENTRAL) + 28, "<H", 60000),
        "the directory is damaged|the directory has 1 records",
    )
    data = honest()
    refused(changed(data, data.index(END) + 4, "<H", 1), "one of several")


def test_a_header_that_points_behind_the_file(refused: Callable[[bytes, str], None]) -> None:
    data = honest()
    refused(
        changed(data, data.index(CENTRAL) + 42, "<I", len(data) - 5),
        "behind the end of the file|inside the one",
    )
    data = honest()
    refused(changed(data, 26, "<HH", 60000, 60000), r"found no header of entry 'a\.npy'")


def deflated(data: bytes, size: int | None = None, crc: int | None = None) -> bytes:
    """A `.npz` of one deflated entry, with size and CRC-32 of our choice."""
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = machine.compress(data) + machine.flush()
    fields = (crc if crc is not None else zlib.crc32(data), len(packed), len(data) if size is None else size)
    local = struct.pack("<4s5H3I2H", LOCAL, 20, 0, 8, 0, 0, *fields, 5, 0) + b"a.npy"
    central = struct.pack("<4s6H3I5H2I", CENTRAL, 20, 20, 0, 8, 0, 0, *fields, 5, 0, 0, 0, 0, 0, 0) + b"a.npy"
    start = len(local) + len(packed)
    return local + packed + central + struct.pack("<4s4H2IH", END, 0, 0, 1, 1, len(central), start, 0)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_a_deflated_entry_is_unpacked_to_its_size_and_no_further(
    refused: Callable[[bytes, str], None],
) -> None:
    whole = npy(np.zeros(1_000_000))
    small = npy(np.zeros(1000))
    assert len(deflated(whole)) < 10_000
    refused(deflated(whole, len(small)), "bytes of data; expected 8000000")
    refused(deflated(small + bytes(1 << 20), len(small)), "unpacks to more than its 8128 bytes")
    refused(deflated(small, crc=1), "does not unpack to what the directory says")
    refused(deflated(whole, 1 << 31), "bytes cannot hold 2147483648")


def test_deflated_bytes_that_are_none(refused: Callable[[bytes, str], None]) -> None:
    data = bytearray(deflated(npy(np.arange(1000))))
    data[40:60] = b"\xff" * 20
    refused(bytes(data), r"entry 'a\.npy' is damaged|found b''|and a version from 1 to 3")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
            "Python objects, which only a pickle holds",
        ),
        (
            b"{'descr': '<U4', 'fortran_order': False, 'shape': (3,), }",
            "of dtype '<U4'; only numbers are read",
        ),
        (b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", "only numbers are read"),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", r"the shape \(-3,\)"),
        (
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 9), }",
            "bytes of data; expected",
        ),
        (
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,), }",
            "bytes of data; expected",
        ),
        (
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }",
            r"a header with the shape \(9223372036854775808,\)",
        ),
        (b"{'descr': '<f4', 'fortran_order': 1, 'shape': (3,), }", "a shape or an order that cannot be"),
        (b"{'descr': '<f4', 'shape': (3,), }", "expected descr, fortran_order and shape"),
        (b"__import__('os').system('true')", "no dict of NumPy"),
        (b"(" * 4000, "no dict of NumPy"),
        (b"[" * 190, "no dict of NumPy"),
        (b"-" * 10000, "no dict of NumPy"),
        (b"9" * 10000, "no dict of NumPy"),
        (b"\xff\xfe", "no dict of NumPy"),
        (b"\x00", "no dict of NumPy"),
    ],
)
def test_headers_of_arrays_are_literals_of_one_form(header: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(12)
    )
    with pytest.raises(LegacyFormatError, match=message):
        open_checkpoint(tmp_path / "a.npy")


def test_zip64_records_are_read(tmp_path: Path) -> None:
    """Files with ZIP64 records, as torch.save and large numpy.savez write them, are read."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file, file.open("a.npy", "w", force_zip64=True) as entry:
        entry.write(npy(np.arange(5)))
    assert open_checkpoint(tmp_path / "a.npz")["a"].numpy().tolist() == [0, 1, 2, 3, 4]
