"""Each check of the entries of other programs' zip files: where they lie, their headers, their bytes."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from packager._archive import Memory
from packager._weights import zip_files
from packager.errors import LegacyFormatError
from tests.attacks.zip_forger import LONG, A, Entry, Opened, contents, deflated, words, zipped

# --- the places of entries, and their own headers ---


def test_entries_lie_behind_one_another_before_the_directory(opened_zip: Opened) -> None:
    first = len(A.written())
    for start in (0, first - 1):
        with pytest.raises(LegacyFormatError, match=f"'b' lies at byte {start}, inside the one before it"):
            opened_zip(zipped(A, Entry(b"b", b"second one", central={"start": start})))
    long = {"size": 11, "packed": 11}
    with pytest.raises(
        LegacyFormatError, match=r"entry 'b' reaches byte 78, behind the directory's start at 77"
    ):
        opened_zip(zipped(A, Entry(b"b", b"second one", local=long, central=long)))
    data = zipped(A)
    for place in (len(data) - 29, len(data), len(data) + 1):
        with pytest.raises(
            LegacyFormatError, match=f"'a' starts at byte {place}, behind the end of the file"
        ):
            opened_zip(zipped(Entry(b"a", b"first", central={"start": place})))
    with pytest.raises(LegacyFormatError, match="found no header of entry 'a'"):
        opened_zip(zipped(Entry(b"a", b"first", central={"start": len(data) - 30})))


def test_an_entry_starts_inside_of_the_file(opened_zip: Opened) -> None:
    data = bytearray(zipped(A))
    for more, message in ((0, rf"'a' reaches byte {len(data) + 5}, behind"), (1, "found no header of entry")):
        data[28:30] = (len(data) - 31 + more).to_bytes(2, "little")  # of the extra fields of the header
        with pytest.raises(LegacyFormatError, match=message):
            opened_zip(bytes(data))


@pytest.mark.parametrize(
    "local",
    [
        {"name": b"x"},
        {"name": b"A"},
        {"flags": 2},
        {"flags": 8, "crc": 0, "packed": 0, "size": 0},
        {"method": 8},
        {"method": 14},
        {"crc": 1},
        {"packed": 9},
        {"size": 9},
        {"crc": 0, "packed": 0, "size": 0},
        {"packed": LONG, "size": LONG},
        {"packed": LONG, "size": LONG, "extra": words(10)},
        {"packed": LONG, "size": LONG, "extra": words(10, 9)},
        {"packed": LONG, "size": LONG, "extra": words(9, 10)},
        {"packed": 9, "extra": words(10, 10)},
    ],
)
def test_a_header_says_what_the_directory_says(opened_zip: Opened, local: dict[str, Any]) -> None:
    with pytest.raises(
        LegacyFormatError, match=f"byte {len(A.written())}: the header of entry 'b' contradicts the directory"
    ):
        opened_zip(zipped(A, Entry(b"b", b"second one", local=local)))
    with pytest.raises(LegacyFormatError, match=r"byte 0: found no header of entry 'b'"):
        opened_zip(zipped(Entry(b"b", b"second one", local={"magic": b"PK\x03\x05", **local})))


def test_the_bytes_of_an_entry_are_no_part_of_its_header(opened_zip: Opened) -> None:
    local = {"packed": LONG, "size": LONG}
    with pytest.raises(LegacyFormatError, match="the header of entry 'b' contradicts the directory"):
        opened_zip(zipped(A, Entry(b"b", words(20, 20), local=local)))


@pytest.mark.parametrize("method", [0, 14])
def test_a_deflated_entry_has_that_method_in_both_places(opened_zip: Opened, method: int) -> None:
    with pytest.raises(LegacyFormatError, match="the header of entry 'a' contradicts the directory"):
        opened_zip(zipped(Entry(b"a", b"first", deflated(b"first"), local={"method": method})))


@pytest.mark.parametrize(
    "local",
    [
        {"packed": LONG, "size": LONG, "extra": words(10, 10)},
        {"packed": LONG, "size": LONG, "extra": words(10, 10, 3)},
        {"size": LONG, "extra": words(10, 10)},
        {"packed": LONG, "extra": b"\x07\0\0\0" + words(10, 10)},
        {"extra": words(7, 7)},
    ],
)
def test_a_header_leaves_both_sizes_to_its_zip64_field(opened_zip: Opened, local: dict[str, Any]) -> None:
    assert contents(opened_zip(zipped(A, Entry(b"b", b"second one", local=local))))["b"] == b"second one"


@pytest.mark.parametrize("left_out", [{"crc": 0, "packed": 0, "size": 0}, {}])
def test_with_a_descriptor_a_header_may_leave_out_all_of_them(
    opened_zip: Opened, left_out: dict[str, Any]
) -> None:
    local, central = {"flags": 8, **left_out}, {"flags": 8}
    assert contents(opened_zip(zipped(A, Entry(b"b", b"second one", local=local, central=central)))) == {
        "a": b"first",
        "b": b"second one",
    }
    for name in ("crc", "packed", "size"):
        wrong = {**local, name: 1}
        with pytest.raises(LegacyFormatError, match="'b' contradicts the directory"):
            opened_zip(zipped(A, Entry(b"b", b"second one", local=wrong, central=central)))


@pytest.mark.parametrize("length", [1, 225, 226, 227, 300, 5000])
def test_long_names_and_paddings_are_read(opened_zip: Opened, length: int) -> None:
    for entry in (Entry(b"n" * length, b"data"), Entry(b"n", b"data", local={"extra": bytes(length)})):
        assert list(contents(opened_zip(zipped(entry))).values()) == [b"data"]
    cut = Entry(b"n", b"data", local={"name": b"n" * length + b"m"}, central={"name": b"n" * length + b"l"})
    with pytest.raises(LegacyFormatError, match="contradicts the directory"):
        opened_zip(zipped(cut))


# --- bytes ---


@pytest.mark.parametrize("packed", [False, True])
def test_parts_of_an_entry_are_those_of_the_whole(opened_zip: Opened, packed: bool) -> None:
    members = opened_zip(zipped(A, Entry(b"b", b"second one", deflated(b"second one") if packed else None)))
    assert bytes(members.read("b", 3)) == b"ond one"
    assert bytes(members.read("b", 3, 6)) == b"ond"
    assert bytes(members.read("b", 10, 10)) == b""
    assert [bytes(members.head("b", size)) for size in (0, 3, 10, 11)] == [
        b"",
        b"sec",
        b"second one",
        b"second one",
    ]
    for start, stop in ((-1, 3), (4, 3), (0, 11), (11, 11)):
        with pytest.raises(LegacyFormatError, match=f"bytes {start} to {stop} were asked for; it has 10"):
            members.read("b", start, stop)


MIB = 1 << 20
MUCH = bytes(range(256)) * (2 * MIB // 256) + b"tail"


@pytest.mark.parametrize("level", [0, 9])
def test_long_deflated_entries_are_unpacked_piece_by_piece(opened_zip: Opened, level: int) -> None:
    members = opened_zip(zipped(Entry(b"a", MUCH, deflated(MUCH, level)), Entry(b"b", b"x", deflated(b"x"))))
    for _ in range(2):  # by turns: one is kept
        assert bytes(members.read("a")) == MUCH
        assert bytes(members.read("b")) == b"x"
    assert bytes(members.head("a", MIB + 5)) == MUCH[: MIB + 5]
    assert members.check("a")


def test_no_more_than_4_mib_are_unpacked_in_memory(opened_zip: Opened) -> None:
    for size, in_memory in ((4 * MIB, True), (4 * MIB + 1, False)):
        data = MUCH[: 2 * MIB] * 2 + b"x" * (size - 4 * MIB)
        members = opened_zip(zipped(Entry(b"a", data, deflated(data, 0))))
        assert bytes(members.read("a")) == data
        assert members._last is not None
        assert isinstance(members._last[1], Memory) is in_memory


def test_a_mebibyte_is_read_at_once(opened_zip: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    members = opened_zip(zipped(Entry(b"a", MUCH), Entry(b"b", MUCH, deflated(MUCH, 0))))
    read, places = members._file.read, list[tuple[int, int]]()
    monkeypatch.setattr(members._file, "read", lambda *place: places.append(place) or read(*place))
    start = members._starts["b"]
    packed = start + members["b"].compress_size
    pieces = [(start, start + MIB), (start + MIB, start + 2 * MIB), (start + 2 * MIB, packed)]
    for ask, expected in (
        (
            lambda: members.check("a"),
            [(31, 31 + MIB), (31 + MIB, 31 + 2 * MIB), (31 + 2 * MIB, 35 + 2 * MIB)],
        ),
        (lambda: members.read("b"), pieces),
        (lambda: members.read("b", 0, 5), []),  # the last one is kept
        (lambda: members.head("b", 10), [(start, start + 10 + MIB)]),
    ):
        places.clear()
        ask()
        assert places == expected


def test_a_match_may_go_on_beyond_a_piece(opened_zip: Opened) -> None:
    """All that is packed has been taken then, and some of it is still to come out."""
    zeros = bytes(MIB + 100)
    assert bytes(opened_zip(zipped(Entry(b"a", zeros, deflated(zeros)))).read("a")) == zeros


def test_the_crc_of_long_stored_entries_is_checked(opened_zip: Opened) -> None:
    for size in (MIB - 1, MIB, MIB + 1, 2 * MIB + 4):
        assert opened_zip(zipped(Entry(b"a", MUCH[:size]))).check("a")
    wrong = {"crc": 1}
    assert not opened_zip(zipped(Entry(b"a", MUCH, local=wrong, central=wrong))).check("a")


def unended(data: bytes) -> bytes:
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    return machine.compress(data) + machine.flush(zlib.Z_SYNC_FLUSH)


@pytest.mark.parametrize(
    ("packed", "size", "crc", "message"),
    [
        (deflated(b"first"), 4, None, "unpacks to more than its 4 bytes"),
        (deflated(b"first"), 6, None, "it does not unpack to what the directory says"),
        (deflated(b"first") + b"x", 5, None, "it does not unpack to what the directory says"),
        (deflated(b"first"), 5, 1, "it does not unpack to what the directory says"),
        (unended(b"first"), 5, None, "it does not unpack to what the directory says"),
        (b"\xff" * 8, 5, None, "entry 'a' is damaged: Error -3"),
        (deflated(MUCH), len(MUCH) - 1, None, "unpacks to more than its"),
        (deflated(MUCH), MIB, None, f"unpacks to more than its {MIB} bytes"),
    ],
)
def test_deflated_bytes_are_what_the_directory_says(
    opened_zip: Opened, packed: bytes, size: int, crc: int | None, message: str
) -> None:
    said = {"size": size, "crc": zlib.crc32(b"first") if crc is None else crc}
    members = opened_zip(zipped(Entry(b"a", b"first", packed, local=said, central=said)))
    for call in (members.read, members.check):
        with pytest.raises(LegacyFormatError, match=message):
            call("a")


def test_the_head_of_damaged_bytes_is_refused(opened_zip: Opened) -> None:
    with pytest.raises(LegacyFormatError, match="entry 'a' is damaged: Error -3"):
        opened_zip(zipped(Entry(b"a", b"first", b"\xff" * 8))).head("a", 3)


def test_the_head_of_an_entry_that_says_it_is_empty_is_empty(opened_zip: Opened) -> None:
    """A kilobyte unpacks to a megabyte, of which nothing may be made."""
    said = {"size": 0, "crc": 0}
    members = opened_zip(zipped(Entry(b"a", b"", deflated(bytes(MIB)), local=said, central=said)))
    assert bytes(members.head("a", 100)) == b""
    with pytest.raises(LegacyFormatError, match="unpacks to more than its 0 bytes"):
        members.read("a")


def test_what_deflated_entries_unpack_to_is_paid_by_the_file(
    opened_zip: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all pickles together, of each resource: so much is free, and so much for each byte of the file."""
    entries = [Entry(name, bytes(2000), deflated(bytes(2000))) for name in (b"a", b"b")]
    stored = Entry(b"c", bytes(2000))
    data = zipped(*entries, stored)
    monkeypatch.setattr(zip_files, "INFLATED_PER_BYTE", 1)
    for most, message in ((4000, ""), (3999, "'b': 17 bytes unpack to a pickle of 2000; .* is 3999")):
        monkeypatch.setattr(zip_files, "FREE_INFLATED", most - len(data))
        members = opened_zip(data)
        members.spend("a")
        members.spend("c")
        if message:
            with pytest.raises(LegacyFormatError, match=message):
                members.spend("b")
        else:
            members.spend("b")
    for most in (2000, 1999):
        monkeypatch.setattr(zip_files, "FREE_INFLATED", most - len(data))
        members = opened_zip(data)
        members.require_inflated("c")
        if most == 2000:
            members.require_inflated("a")
        else:
            with pytest.raises(LegacyFormatError, match=r"17 bytes unpack to a resource of 2000; .* is 1999"):
                members.require_inflated("a")
