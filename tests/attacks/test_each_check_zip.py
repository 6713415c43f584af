"""Each check of the reader of other programs' zip files: a forged field, next to the file that is read."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from packager.errors import LegacyFormatError
from packager.weights import zip_files
from packager.weights.legacy_tensors import LegacyFile
from packager.weights.zip_files import ZipFile

LONG = 0xFFFFFFFF


@dataclass
class Entry:
    """An entry as a zip writer spells it; `local` and `central` say what stands there instead."""

    name: bytes
    data: bytes
    packed: bytes | None = None  # deflated, where it is given
    extra: bytes = b""
    note: bytes = b""
    local: Mapping[str, Any] = field(default_factory=dict)
    central: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        packed = self.data if self.packed is None else self.packed
        return {
            "flags": 0,
            "method": 0 if self.packed is None else 8,
            "crc": zlib.crc32(self.data),
            "packed": len(packed),
            "size": len(self.data),
            "name": self.name,
            "extra": self.extra,
        }

    def written(self) -> bytes:
        it = {"magic": b"PK\x03\x04", **self.fields(), **self.local}
        head = struct.pack("<4sHHHHH", it["magic"], 20, it["flags"], it["method"], 0, 0)
        sizes = struct.pack("<IIIHH", it["crc"], it["packed"], it["size"], len(it["name"]), len(it["extra"]))
        return head + sizes + it["name"] + it["extra"] + (self.data if self.packed is None else self.packed)

    def record(self, start: int) -> bytes:
        it = {"magic": b"PK\x01\x02", "disk": 0, "start": start, **self.fields(), **self.central}
        head = struct.pack("<4sHHHHHH", it["magic"], 20, 20, it["flags"], it["method"], 0, 0)
        sizes = (it["crc"], it["packed"], it["size"], len(it["name"]), len(it["extra"]), len(self.note))
        tail = struct.pack("<HHII", it["disk"], 0, 0, it["start"])
        return head + struct.pack("<IIIHHH", *sizes) + tail + it["name"] + it["extra"] + self.note


def zipped(
    *entries: Entry, long: Mapping[str, Any] | None = None, directory: bytes = b"", **end: Any
) -> bytes:
    """A zip file of these; `end` and `long` say what stands in the end records instead, `long` makes both."""
    body, records = b"", b""
    for entry in entries:
        records += entry.record(len(body))
        body += entry.written()
    records += directory
    it = {"magic": b"PK\x05\x06", "disk": 0, "first": 0, "here": len(entries), "count": len(entries)}
    it |= {"length": len(records), "start": len(body)}
    tail = b""
    if long is not None:
        place = len(body) + len(records)
        its = {**it, "magic": b"PK\x06\x06", "size": 44, "locator": b"PK\x06\x07", "place": place}
        its |= {"on": 0, "disks": 1, **long}
        head = struct.pack("<4sQHHII", its["magic"], its["size"], 45, 45, its["disk"], its["first"])
        tail = head + struct.pack("<QQQQ", its["here"], its["count"], its["length"], its["start"])
        tail += struct.pack("<4sIQI", its["locator"], its["on"], its["place"], its["disks"])
    it |= end
    short = struct.pack(
        "<4sHHHHII", *(it[n] for n in ("magic", "disk", "first", "here", "count", "length", "start"))
    )
    return body + records + tail + short + struct.pack("<H", it.get("comment", 0))


def deflated(data: bytes, level: int = 9) -> bytes:
    machine = zlib.compressobj(level, zlib.DEFLATED, -15)
    return machine.compress(data) + machine.flush()


A, B = Entry(b"a", b"first"), Entry(b"b", b"second one")


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[bytes], ZipFile]:
    def open_(data: bytes) -> ZipFile:
        (tmp_path / "x.zip").write_bytes(data)
        return ZipFile(LegacyFile(tmp_path / "x.zip"))

    return open_


def contents(members: ZipFile) -> dict[str, bytes]:
    return {name: bytes(members.read(name)) for name in members}


Opened = Callable[[bytes], ZipFile]


def test_honest_files_are_read(opened: Opened) -> None:
    both = {"a": b"first", "b": b"second one"}
    for data in (
        zipped(A, B),
        zipped(A, B, long={}),
        zipped(Entry(b"a", b"first", note=b"a note"), B),
        zipped(Entry(b"a", b"first", extra=struct.pack("<HH3s", 7, 3, b"abc") + b"\0" * 3), B),
        zipped(Entry(b"a", b"first", deflated(b"first")), B),
        zipped(Entry(b"a", b"first"), Entry(b"b", b"second one", deflated(b"second one"))),
    ):
        members = opened(data)
        assert contents(members) == both
        assert (len(members), [members.check(name) for name in members]) == (2, [True, True])


def test_empty_zip_files_are_read(opened: Opened) -> None:
    assert contents(opened(zipped())) == contents(opened(zipped(long={}))) == {}


@pytest.mark.parametrize("size", [0, 1, 21])
def test_less_than_an_end_record_is_no_zip_file(opened: Opened, size: int) -> None:
    with pytest.raises(LegacyFormatError, match=rf"x\.zip: {size} bytes are no zip file"):
        opened(bytes(size))


# --- the end records ---


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ({"magic": b"PK\x05\x07"}, r"byte \d+: found no end record"),
        ({"comment": 1}, "found no end record; the file is cut short, or not only a zip"),
        ({"disk": 1}, "is one of several; join them"),
        ({"first": 1}, "is one of several; join them"),
        ({"here": 1}, "is one of several; join them"),
        ({"count": 3}, "is one of several; join them"),
        ({"here": 3, "count": 3}, r"the directory of 3 entries and 94 bytes does not end where it has to"),
        ({"start": 0}, "does not end where it has to"),
        ({"length": 93}, "does not end where it has to"),
        ({"here": 1, "count": 1}, r"the directory has 2 records, and says that it has 1"),
    ],
)
def test_the_end_record_says_what_is_there(opened: Opened, end: dict[str, Any], message: str) -> None:
    with pytest.raises(LegacyFormatError, match=message):
        opened(zipped(A, B, **end))


@pytest.mark.parametrize(
    ("long", "message"),
    [
        ({"magic": b"PK\x06\x08"}, r"byte \d+: found no ZIP64 end record"),
        ({"size": 45}, "found no ZIP64 end record"),
        ({"disk": 1}, "found no ZIP64 end record"),
        ({"first": 1}, "found no ZIP64 end record"),
        ({"on": 1}, "the ZIP64 end record is not where it has to be"),
        ({"disks": 0}, "the ZIP64 end record is not where it has to be"),
        ({"disks": 2}, "the ZIP64 end record is not where it has to be"),
        ({"place": 1}, "the ZIP64 end record is not where it has to be"),
        ({"here": 1}, "contradict each other"),
        ({"count": 1}, "contradict each other"),
        ({"length": 1}, "contradict each other"),
        ({"start": 1}, "contradict each other"),
        ({"locator": b"PK\x06\x08"}, "does not end where it has to"),
    ],
)
def test_the_long_end_record_says_what_is_there(opened: Opened, long: dict[str, Any], message: str) -> None:
    with pytest.raises(LegacyFormatError, match=message):
        opened(zipped(A, B, long=long))


SATURATED = {"here": 0xFFFF, "count": 0xFFFF, "length": LONG, "start": LONG}


@pytest.mark.parametrize("name", SATURATED)
def test_the_short_end_record_leaves_a_field_to_the_long_one_by_its_largest_value(
    opened: Opened, name: str
) -> None:
    saturated = {name: SATURATED[name]}
    assert contents(opened(zipped(A, B, long={}, **saturated))) == {"a": b"first", "b": b"second one"}
    with pytest.raises(LegacyFormatError, match="contradict each other"):
        opened(zipped(A, B, long={}, **{name: SATURATED[name] - 1}))
    with pytest.raises(LegacyFormatError, match=r"one of several|does not end where it has to"):
        opened(zipped(A, B, **saturated))


@pytest.mark.parametrize("name", ["here", "count"])
def test_the_long_end_record_is_that_of_one_file(opened: Opened, name: str) -> None:
    with pytest.raises(LegacyFormatError, match="is one of several; join them"):
        opened(zipped(A, B, long={name: 3}, here=0xFFFF, count=0xFFFF))


def test_a_directory_has_so_many_bytes_at_most(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipped(A, B)
    monkeypatch.setattr(zip_files, "MAX_ZIP_DIRECTORY", 94)
    assert len(opened(data)) == 2
    monkeypatch.setattr(zip_files, "MAX_ZIP_DIRECTORY", 93)
    with pytest.raises(LegacyFormatError, match="the directory of 2 entries and 94 bytes does not end"):
        opened(data)


# --- the records of the directory ---


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Entry(b"b", b"x", central={"magic": b"PK\x01\x03"}), "the directory is damaged 47 bytes behind"),
        (Entry(b"b", b"x", central={"disk": 1}), "the directory is damaged 47 bytes behind its start"),
        (Entry(b"", b"x"), "an entry has the name ''"),
        (Entry(b"a\0b", b"x"), r"an entry has the name 'a\\x00b'"),
        (Entry(b"caf\xe9", b"x"), r"an entry has the name b'caf\\xe9', which is no text"),
        (Entry(b"caf\xe9", b"x", local={"flags": 0x800}, central={"flags": 0x800}), "which is no text"),
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
        (Entry(b"b", b"x", central={"size": LONG, "packed": LONG}), "'b': its ZIP64 field is missing"),
        (Entry(b"b", b"x", central={"start": LONG}), "'b': its ZIP64 field is missing"),
    ],
)
def test_each_record_says_what_can_be(opened: Opened, entry: Entry, message: str) -> None:
    with pytest.raises(LegacyFormatError, match=message):
        opened(zipped(A, entry))


@pytest.mark.parametrize(
    ("behind", "message"),
    [
        (b"P", "the directory ends inside a record"),
        (A.record(0)[:45], "the directory ends inside a record"),
        (A.record(0)[:46], "the directory is damaged 47 bytes behind its start"),
        (Entry(b"abc", b"").record(0)[:48], "the directory is damaged 47 bytes behind its start"),
    ],
)
def test_a_directory_ends_with_a_record(opened: Opened, behind: bytes, message: str) -> None:
    with pytest.raises(LegacyFormatError, match=message):
        opened(zipped(A, directory=behind))


def test_names_are_text_with_its_flag_or_without(opened: Opened) -> None:
    for flags in (0, 0x800):
        name = Entry("größe".encode(), b"x", local={"flags": flags}, central={"flags": flags})
        assert list(opened(zipped(name))) == ["größe"]


def test_flags_that_say_nothing_about_the_bytes_are_read(opened: Opened) -> None:
    for flags in (2, 4, 0x10):
        assert len(opened(zipped(Entry(b"a", b"x", local={"flags": flags}, central={"flags": flags})))) == 1


def test_deflate_makes_no_more_of_a_byte_than_it_can(opened: Opened) -> None:
    members = opened(zipped(Entry(b"b", b"x", b"12", local={"size": 2064}, central={"size": 2064})))
    assert members["b"].size == 2064


def words(*values: int) -> bytes:
    """A ZIP64 field."""
    return struct.pack(f"<HH{len(values)}Q", 1, 8 * len(values), *values)


@pytest.mark.parametrize("fields", [("size",), ("packed",), ("start",), ("size", "packed", "start")])
@pytest.mark.parametrize("before", [b"", struct.pack("<HH2s", 0x5455, 2, b"xy")])
@pytest.mark.parametrize("more", [(), (7,)])
def test_records_leave_fields_to_their_zip64_field(
    opened: Opened, fields: tuple[str, ...], before: bytes, more: tuple[int, ...]
) -> None:
    """In the order of the format: size, packed size, start; what is behind them is not for us."""
    values = {"size": 10, "packed": 10, "start": len(A.written())}
    extra = before + words(*(values[name] for name in fields), *more)
    entry = Entry(b"b", b"second one", central={**dict.fromkeys(fields, LONG), "extra": extra})
    assert contents(opened(zipped(A, entry))) == {"a": b"first", "b": b"second one"}
    short = {**dict.fromkeys(fields, LONG), "extra": before + words(*(values[name] for name in fields[1:]))}
    with pytest.raises(LegacyFormatError, match="entry 'b': its ZIP64 field is missing"):
        opened(zipped(A, Entry(b"b", b"second one", central=short)))


@pytest.mark.parametrize("extra", [words(10)[:-1], words(10)[:3], struct.pack("<HHQ", 2, 8, 10), b""])
def test_a_field_is_whole_and_of_its_kind(opened: Opened, extra: bytes) -> None:
    entry = Entry(b"b", b"second one", central={"size": LONG, "extra": extra})
    with pytest.raises(LegacyFormatError, match="its ZIP64 field is missing"):
        opened(zipped(A, entry))


# --- the places of entries, and their own headers ---


def test_entries_lie_behind_one_another_before_the_directory(opened: Opened) -> None:
    first = len(A.written())
    for start in (0, first - 1):
        with pytest.raises(LegacyFormatError, match=f"'b' lies at byte {start}, inside the one before it"):
            opened(zipped(A, Entry(b"b", b"second one", central={"start": start})))
    long = {"size": 11, "packed": 11}
    with pytest.raises(
        LegacyFormatError, match=r"entry 'b' reaches byte 78, behind the directory's start at 77"
    ):
        opened(zipped(A, Entry(b"b", b"second one", local=long, central=long)))
    data = zipped(A)
    for place in (len(data) - 29, len(data), len(data) + 1):
        with pytest.raises(
            LegacyFormatError, match=f"'a' starts at byte {place}, behind the end of the file"
        ):
            opened(zipped(Entry(b"a", b"first", central={"start": place})))
    with pytest.raises(LegacyFormatError, match="found no header of entry 'a'"):
        opened(zipped(Entry(b"a", b"first", central={"start": len(data) - 30})))


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
def test_a_header_says_what_the_directory_says(opened: Opened, local: dict[str, Any]) -> None:
    with pytest.raises(
        LegacyFormatError, match=f"byte {len(A.written())}: the header of entry 'b' contradicts the directory"
    ):
        opened(zipped(A, Entry(b"b", b"second one", local=local)))
    with pytest.raises(LegacyFormatError, match=r"byte 0: found no header of entry 'b'"):
        opened(zipped(Entry(b"b", b"second one", local={"magic": b"PK\x03\x05", **local})))


@pytest.mark.parametrize("method", [0, 14])
def test_a_deflated_entry_has_that_method_in_both_places(opened: Opened, method: int) -> None:
    with pytest.raises(LegacyFormatError, match="the header of entry 'a' contradicts the directory"):
        opened(zipped(Entry(b"a", b"first", deflated(b"first"), local={"method": method})))


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
def test_a_header_leaves_both_sizes_to_its_zip64_field(opened: Opened, local: dict[str, Any]) -> None:
    assert contents(opened(zipped(A, Entry(b"b", b"second one", local=local))))["b"] == b"second one"


@pytest.mark.parametrize("left_out", [{"crc": 0, "packed": 0, "size": 0}, {}])
def test_with_a_descriptor_a_header_may_leave_out_all_of_them(
    opened: Opened, left_out: dict[str, Any]
) -> None:
    local, central = {"flags": 8, **left_out}, {"flags": 8}
    assert contents(opened(zipped(A, Entry(b"b", b"second one", local=local, central=central)))) == {
        "a": b"first",
        "b": b"second one",
    }
    for name in ("crc", "packed", "size"):
        wrong = {**local, name: 1}
        with pytest.raises(LegacyFormatError, match="'b' contradicts the directory"):
            opened(zipped(A, Entry(b"b", b"second one", local=wrong, central=central)))


@pytest.mark.parametrize("length", [1, 225, 226, 227, 300, 5000])
def test_long_names_and_paddings_are_read(opened: Opened, length: int) -> None:
    for entry in (Entry(b"n" * length, b"data"), Entry(b"n", b"data", local={"extra": bytes(length)})):
        assert list(contents(opened(zipped(entry))).values()) == [b"data"]
    cut = Entry(b"n", b"data", local={"name": b"n" * length + b"m"}, central={"name": b"n" * length + b"l"})
    with pytest.raises(LegacyFormatError, match="contradicts the directory"):
        opened(zipped(cut))


# --- bytes ---


@pytest.mark.parametrize("packed", [False, True])
def test_parts_of_an_entry_are_those_of_the_whole(opened: Opened, packed: bool) -> None:
    members = opened(zipped(A, Entry(b"b", b"second one", deflated(b"second one") if packed else None)))
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
def test_long_deflated_entries_are_unpacked_piece_by_piece(opened: Opened, level: int) -> None:
    members = opened(zipped(Entry(b"a", MUCH, deflated(MUCH, level)), Entry(b"b", b"x", deflated(b"x"))))
    for _ in range(2):  # by turns: one is kept
        assert bytes(members.read("a")) == MUCH
        assert bytes(members.read("b")) == b"x"
    assert bytes(members.head("a", MIB + 5)) == MUCH[: MIB + 5]
    assert members.check("a")


def test_the_crc_of_long_stored_entries_is_checked(opened: Opened) -> None:
    for size in (MIB - 1, MIB, MIB + 1, 2 * MIB + 4):
        assert opened(zipped(Entry(b"a", MUCH[:size]))).check("a")
    wrong = {"crc": 1}
    assert not opened(zipped(Entry(b"a", MUCH, local=wrong, central=wrong))).check("a")


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
    opened: Opened, packed: bytes, size: int, crc: int | None, message: str
) -> None:
    said = {"size": size, "crc": zlib.crc32(b"first") if crc is None else crc}
    members = opened(zipped(Entry(b"a", b"first", packed, local=said, central=said)))
    for call in (members.read, members.check):
        with pytest.raises(LegacyFormatError, match=message):
            call("a")


def test_the_head_of_damaged_bytes_is_refused(opened: Opened) -> None:
    with pytest.raises(LegacyFormatError, match="entry 'a' is damaged: Error -3"):
        opened(zipped(Entry(b"a", b"first", b"\xff" * 8))).head("a", 3)


def test_the_head_of_an_entry_that_says_it_is_empty_is_empty(opened: Opened) -> None:
    """A kilobyte unpacks to a megabyte, of which nothing may be made."""
    said = {"size": 0, "crc": 0}
    members = opened(zipped(Entry(b"a", b"", deflated(bytes(MIB)), local=said, central=said)))
    assert bytes(members.head("a", 100)) == b""
    with pytest.raises(LegacyFormatError, match="unpacks to more than its 0 bytes"):
        members.read("a")


def test_what_deflated_entries_unpack_to_is_paid_by_the_file(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all pickles together, of each resource: so much is free, and so much for each byte of the file."""
    entries = [Entry(name, bytes(2000), deflated(bytes(2000))) for name in (b"a", b"b")]
    stored = Entry(b"c", bytes(2000))
    data = zipped(*entries, stored)
    monkeypatch.setattr(zip_files, "INFLATED_PER_BYTE", 1)
    for most, message in ((4000, ""), (3999, "'b': 17 bytes unpack to a pickle of 2000; .* is 3999")):
        monkeypatch.setattr(zip_files, "FREE_INFLATED", most - len(data))
        members = opened(data)
        members.spend("a")
        members.spend("c")
        if message:
            with pytest.raises(LegacyFormatError, match=message):
                members.spend("b")
        else:
            members.spend("b")
    for most in (2000, 1999):
        monkeypatch.setattr(zip_files, "FREE_INFLATED", most - len(data))
        members = opened(data)
        members.require_inflated("c")
        if most == 2000:
            members.require_inflated("a")
        else:
            with pytest.raises(LegacyFormatError, match=r"17 bytes unpack to a resource of 2000; .* is 1999"):
                members.require_inflated("a")
