"""Each check of the reader of other programs' zip files: a forged field, next to the file that is read."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from packager._weights import zip_files
from packager.errors import LegacyFormatError
from tests.attacks.zip_forger import LONG, A, B, Entry, Opened, contents, deflated, words, zipped


def test_honest_files_are_read(opened_zip: Opened) -> None:
    both = {"a": b"first", "b": b"second one"}
    for data in (
        zipped(A, B),
        zipped(A, B, long={}),
        zipped(Entry(b"a", b"first", note=b"a note"), B),
        zipped(Entry(b"a", b"first", extra=struct.pack("<HH3s", 7, 3, b"abc") + b"\0" * 3), B),
        zipped(Entry(b"a", b"first", deflated(b"first")), B),
        zipped(Entry(b"a", b"first"), Entry(b"b", b"second one", deflated(b"second one"))),
    ):
        members = opened_zip(data)
        assert contents(members) == both
        assert (len(members), [members.check(name) for name in members]) == (2, [True, True])


def test_empty_zip_files_are_read(opened_zip: Opened) -> None:
    assert contents(opened_zip(zipped())) == contents(opened_zip(zipped(long={}))) == {}


@pytest.mark.parametrize("size", [0, 1, 21])
def test_less_than_an_end_record_is_no_zip_file(opened_zip: Opened, size: int) -> None:
    with pytest.raises(LegacyFormatError, match=rf"x\.zip: {size} bytes are no zip file"):
        opened_zip(bytes(size))


# --- the end records ---


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ({"magic": b"PK\x05\x07"}, r"byte \d+: found no end record"),
        ({"comment": 1}, "found no end record; the file is incomplete, or has bytes behind its ZIP"),
        ({"disk": 1}, "is one of several; join them"),
        ({"first": 1}, "is one of several; join them"),
        ({"here": 1}, "is one of several; join them"),
        ({"count": 3}, "is one of several; join them"),
        (
            {"here": 3, "count": 3},
            r"the directory of 3 entries and 94 bytes does not end where it has to",
        ),
        ({"start": 0}, "does not end where it has to"),
        ({"length": 93}, "does not end where it has to"),
        ({"here": 1, "count": 1}, r"the directory has 2 records, and says that it has 1"),
    ],
)
def test_the_end_record_says_what_is_there(opened_zip: Opened, end: dict[str, Any], message: str) -> None:
    with pytest.raises(LegacyFormatError, match=message):
        opened_zip(zipped(A, B, **end))


@pytest.mark.parametrize(
    ("long", "message"),
    [
        ({"magic": b"PK\x06\x08"}, r"byte \d+: found no ZIP64 end record"),
        ({"size": 45}, "found no ZIP64 end record"),
        ({"disk": 1}, "found no ZIP64 end record"),
        ({"first": 1}, "found no ZIP64 end record"),
        ({"on": 1}, "found no ZIP64 end record"),
        ({"disks": 0}, "found no ZIP64 end record"),
        ({"disks": 2}, "found no ZIP64 end record"),
        ({"place": 1}, "found no ZIP64 end record"),
        ({"here": 1}, "contradict each other"),
        ({"count": 1}, "contradict each other"),
        ({"length": 1}, "contradict each other"),
        ({"start": 1}, "contradict each other"),
        ({"locator": b"PK\x06\x08"}, "does not end where it has to"),
    ],
)
def test_the_long_end_record_says_what_is_there(
    opened_zip: Opened, long: dict[str, Any], message: str
) -> None:
    with pytest.raises(LegacyFormatError, match=message):
        opened_zip(zipped(A, B, long=long))


SATURATED = {"here": 0xFFFF, "count": 0xFFFF, "length": LONG, "start": LONG}


@pytest.mark.parametrize("name", SATURATED)
def test_the_short_end_record_leaves_a_field_to_the_long_one_by_its_largest_value(
    opened_zip: Opened, name: str
) -> None:
    saturated = {name: SATURATED[name]}
    assert contents(opened_zip(zipped(A, B, long={}, **saturated))) == {"a": b"first", "b": b"second one"}
    with pytest.raises(LegacyFormatError, match="contradict each other"):
        opened_zip(zipped(A, B, long={}, **{name: SATURATED[name] - 1}))
    with pytest.raises(
        LegacyFormatError,
        match=r"one of several|does not end where it has to|directory of 4294967295 bytes; at most",
    ):
        opened_zip(zipped(A, B, **saturated))


@pytest.mark.parametrize("name", ["here", "count"])
def test_the_long_end_record_is_that_of_one_file(opened_zip: Opened, name: str) -> None:
    with pytest.raises(LegacyFormatError, match="is one of several; join them"):
        opened_zip(zipped(A, B, long={name: 3}, here=0xFFFF, count=0xFFFF))


def test_a_directory_has_so_many_bytes_at_most(opened_zip: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipped(A, B)
    monkeypatch.setattr(zip_files, "MAX_ZIP_DIRECTORY", 94)
    assert len(opened_zip(data)) == 2
    monkeypatch.setattr(zip_files, "MAX_ZIP_DIRECTORY", 93)
    with pytest.raises(LegacyFormatError, match="a directory of 94 bytes; at most 93 are read"):
        opened_zip(data)


# --- the records of the directory ---


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Entry(b"b", b"x", central={"magic": b"PK\x01\x03"}), "the directory is damaged: Bad magic number"),
        (Entry(b"b", b"x", central={"disk": 1}), "is one of several; join them"),
        (Entry(b"", b"x"), "an entry has the name ''"),
        (Entry(b"a\0b", b"x"), r"an entry has the name 'a\\x00b'"),
        (Entry(b"caf\xe9", b"x"), "can't decode byte"),
        (Entry(b"caf\xe9", b"x", local={"flags": 0x800}, central={"flags": 0x800}), "can't decode byte"),
        (Entry(b"a", b"x"), "entry 'a' is there twice"),
        (Entry(b"b", b"x", local={"flags": 1}, central={"flags": 1}), "'b' is encrypted"),
        (Entry(b"b", b"x", local={"flags": 0x40}, central={"flags": 0x40}), "'b' is encrypted"),
        (Entry(b"b", b"x", local={"flags": 0x2000}, central={"flags": 0x2000}), "'b' is encrypted"),
        (Entry(b"b", b"x", local={"method": 1}, central={"method": 1}), "packed by method 1; expected"),
        (Entry(b"b", b"x", local={"method": 9}, central={"method": 9}), "packed by method 9; expected"),
        (Entry(b"b", b"x", central={"size": 2}), "entry 'b': 1 bytes cannot hold 2"),
        (Entry(b"b", b"x", central={"packed": 2}), "entry 'b': 2 bytes cannot hold 1"),
        (Entry(b"b", b"x", b"", central={"size": 1}), "entry 'b': 0 bytes cannot hold 1"),
        (Entry(b"b", b"x", b"12", central={"size": 2065}), "entry 'b': 2 bytes cannot hold 2065"),
        (Entry(b"b", b"x", central={"size": LONG, "packed": LONG}), "entry 'b' contradicts the directory"),
        (Entry(b"b", b"x", central={"start": LONG}), "'b' starts at byte 4294967295, behind the end"),
    ],
)
def test_each_record_says_what_can_be(opened_zip: Opened, entry: Entry, message: str) -> None:
    with pytest.raises(LegacyFormatError, match=message):
        opened_zip(zipped(A, entry))


@pytest.mark.parametrize(
    ("behind", "message"),
    [
        (b"P", "the directory is damaged: Truncated central directory"),
        (A.record(0)[:45], "the directory is damaged: Truncated central directory"),
        (A.record(0)[:46], "the directory has 2 records, and says that it has 1"),
        (Entry(b"abc", b"").record(0)[:48], "the directory has 2 records, and says that it has 1"),
    ],
)
def test_a_directory_ends_with_a_record(opened_zip: Opened, behind: bytes, message: str) -> None:
    with pytest.raises(LegacyFormatError, match=message):
        opened_zip(zipped(A, directory=behind))


def test_names_are_text_with_its_flag_or_without(opened_zip: Opened) -> None:
    for flags in (0, 0x800):
        name = Entry("größe".encode(), b"x", local={"flags": flags}, central={"flags": flags})
        assert list(opened_zip(zipped(name))) == ["größe"]


def test_flags_that_say_nothing_about_the_bytes_are_read(opened_zip: Opened) -> None:
    for flags in (2, 4, 0x10):
        assert (
            len(opened_zip(zipped(Entry(b"a", b"x", local={"flags": flags}, central={"flags": flags})))) == 1
        )


def test_deflate_makes_no_more_of_a_byte_than_it_can(opened_zip: Opened) -> None:
    members = opened_zip(zipped(Entry(b"b", b"x", b"12", local={"size": 2064}, central={"size": 2064})))
    assert members["b"].file_size == 2064


@pytest.mark.parametrize("fields", [("size",), ("packed",), ("start",), ("size", "packed", "start")])
@pytest.mark.parametrize("before", [b"", struct.pack("<HH2s", 0x5455, 2, b"xy")])
@pytest.mark.parametrize("more", [(), (7,)])
def test_records_leave_fields_to_their_zip64_field(
    opened_zip: Opened, fields: tuple[str, ...], before: bytes, more: tuple[int, ...]
) -> None:
    """In the order of the format: size, packed size, start; what is behind them is not for us."""
    values = {"size": 10, "packed": 10, "start": len(A.written())}
    extra = before + words(*(values[name] for name in fields), *more)
    entry = Entry(b"b", b"second one", central={**dict.fromkeys(fields, LONG), "extra": extra})
    assert contents(opened_zip(zipped(A, entry))) == {"a": b"first", "b": b"second one"}
    short = {**dict.fromkeys(fields, LONG), "extra": before + words(*(values[name] for name in fields[1:]))}
    with pytest.raises(LegacyFormatError, match="the directory is damaged: Corrupt zip64 extra field"):
        opened_zip(zipped(A, Entry(b"b", b"second one", central=short)))


@pytest.mark.parametrize(
    "extra",
    [
        words(10)[:-1],
        words(10)[:3],
        struct.pack("<HHQ", 2, 8, 10),
        struct.pack("<HHQ", 1, 9, 10),
        struct.pack("<HH8s", 1, 7, b"\x0a"),
        b"",
    ],
)
def test_a_field_is_whole_and_of_its_kind(opened_zip: Opened, extra: bytes) -> None:
    entry = Entry(b"b", b"second one", central={"size": LONG, "extra": extra})
    with pytest.raises(LegacyFormatError, match=r"bytes cannot hold|is damaged: Corrupt"):
        opened_zip(zipped(A, entry))
