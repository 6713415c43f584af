"""Hostile ZIPs: every field lies, bytes belong to nothing, names climb, entries overlap."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from packager import ArchiveError
from packager._archive.zip_container import ZipEntry, central_record, end_records, local_header
from tests.tables import one_test

Accepts = Callable[..., bool]
Problems = Callable[[bytes], str]

# Where each field stands, and how wide it is.
LOCAL_FIELDS = {
    "signature": (0, "I"),
    "version": (4, "H"),
    "flags": (6, "H"),
    "method": (8, "H"),
    "time": (10, "H"),
    "date": (12, "H"),
    "crc": (14, "I"),
    "compressed": (18, "I"),
    "size": (22, "I"),
    "name length": (26, "H"),
    "extra length": (28, "H"),
}
CENTRAL_FIELDS = {
    "signature": (0, "I"),
    "made by": (4, "H"),
    "version": (6, "H"),
    "flags": (8, "H"),
    "method": (10, "H"),
    "time": (12, "H"),
    "date": (14, "H"),
    "crc": (16, "I"),
    "compressed": (20, "I"),
    "size": (24, "I"),
    "name length": (28, "H"),
    "extra length": (30, "H"),
    "comment length": (32, "H"),
    "disk": (34, "H"),
    "internal": (36, "H"),
    "external": (38, "I"),
    "offset": (42, "I"),
}
END_FIELDS = {
    "signature": (0, "I"),
    "disk": (4, "H"),
    "start disk": (6, "H"),
    "count here": (8, "H"),
    "count": (10, "H"),
    "size": (12, "I"),
    "offset": (16, "I"),
    "comment length": (20, "H"),
}
LIES = (0, 1, 0x7F, 0xFFFF, 0x10000, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF)


def lied(record: bytes, field: tuple[int, str], value: int) -> bytes:
    place, code = field
    changed = bytearray(record)
    struct.pack_into("<" + code, changed, place, value & (0xFFFF if code == "H" else 0xFFFFFFFF))
    return bytes(changed)


def lies_about(record: bytes, fields: dict[str, tuple[int, str]]) -> list[bytes]:
    """The record with every field set to every lie, and moved by one in both directions."""
    found = []
    for place, code in fields.values():
        honest = struct.unpack_from("<" + code, record, place)[0]
        found += [lied(record, (place, code), value) for value in (*LIES, honest + 1, honest - 1)]
    return [record_ for record_ in found if record_ != record]


@pytest.mark.parametrize("target", [b"net/x.py", b".data/manifest.msgpack", b".data/manifest.sha256"])
def test_no_lie_in_a_local_header_is_accepted(forger: Any, accepts: Accepts, target: bytes) -> None:
    headers: dict[bytes, bytes] = {}
    assert accepts(forger(local=lambda entry, header: headers.setdefault(entry.name, header)).build())
    variants = lies_about(headers[target], LOCAL_FIELDS)
    assert len(variants) > 70
    for variant in variants:
        changed = {**headers, target: variant}
        assert not accepts(forger(local=lambda entry, header, c=changed: c[entry.name]).build())


@pytest.mark.parametrize("target", [b"net/x.py", b".data/manifest.msgpack", b".data/manifest.sha256"])
def test_no_lie_in_the_central_directory_is_accepted(forger: Any, accepts: Accepts, target: bytes) -> None:
    records: dict[bytes, bytes] = {}
    assert accepts(forger(central=lambda entry, record: records.setdefault(entry.name, record)).build())
    variants = lies_about(records[target], CENTRAL_FIELDS)
    assert len(variants) > 120
    for variant in variants:
        changed = {**records, target: variant}
        assert not accepts(forger(central=lambda entry, record, c=changed: c[entry.name]).build())


def test_no_lie_in_the_end_record_is_accepted(forger: Any, accepts: Accepts) -> None:
    for variant in lies_about(end_records(3, 500, 200), END_FIELDS):
        changed = {
            place: variant[place] for place in range(22) if variant[place] != end_records(3, 500, 200)[place]
        }
        data = bytearray(forger().build())
        for place, byte in changed.items():
            if data[len(data) - 22 + place] != byte:
                data[len(data) - 22 + place] = byte
                assert not accepts(bytes(data))


def test_the_same_lie_in_both_records_is_refused(forger: Any, accepts: Accepts) -> None:
    pairs = [
        ("version", 10),
        ("flags", 0),
        ("flags", 8),
        ("flags", 1),
        ("flags", 0x808),
        ("method", 8),
        ("time", 5),
        ("date", 0),
    ]
    for field, value in [*pairs, ("crc", 0), ("size", 0), ("compressed", 0)]:
        data = forger(
            local=lambda entry, header, f=field, v=value: lied(header, LOCAL_FIELDS[f], v),
            central=lambda entry, record, f=field, v=value: lied(record, CENTRAL_FIELDS[f], v),
        ).build()
        assert not accepts(data), (field, value)


def test_junk_anywhere_is_refused(forger: Any, accepts: Accepts, honest: bytes) -> None:
    for junk in (b"\0", b"junk", honest, bytes(64)):
        assert not accepts(junk + honest)
        assert not accepts(honest + junk)
        assert not accepts(forger(prefix=junk).build())
        assert not accepts(forger(local=lambda entry, header, j=junk: j + header).build())
        assert not accepts(forger(local=lambda entry, header, j=junk: header + j).build())
        assert not accepts(forger(central=lambda entry, record, j=junk: record + j).build())
        assert not accepts(forger(end=lambda end, j=junk: j + end).build())
        assert not accepts(forger(end=lambda end, j=junk: end[:-2] + struct.pack("<H", len(j)) + j).build())


def test_two_archives_in_one_file_are_refused(forger: Any, accepts: Accepts, honest: bytes) -> None:
    other = forger().build()
    assert not accepts(honest + other)
    assert not accepts(other + honest)


def test_every_truncation_is_refused(accepts: Accepts, honest: bytes) -> None:
    for length in range(len(honest)):
        assert not accepts(honest[:length])


def test_every_missing_start_is_refused(accepts: Accepts, honest: bytes) -> None:
    for start in range(1, len(honest), 7):
        assert not accepts(honest[start:])


NAMES = "../evil|/etc/passwd|a/../../evil|C:\\evil|c:evil|..\\evil|net//x.py|./net/x.py|net/".split("|")
NAMES += ["", ".", "..", "net/x.", "net/x "]
NAMES += ["net/x.py\0.txt", "net/x.py\n", "net/\u202eyp.x", "\ufeffnet", "\ud800", "e\u0301", "\x1b[2J"]
NAMES += ["a/" * 40 + "b", "x" * 2000, "\\\\server\\share", "net\\x.py"]


@one_test
@pytest.mark.parametrize("name", NAMES)
def test_climbing_and_unclear_names_are_refused(forger: Any, accepts: Accepts, name: str) -> None:
    for entries in (
        [(name, "source", 1, b"")],
        sorted([(name, "source", 1, b""), ("net/y.py", "source", 1, b"")]),
    ):
        if name == "\ud800":  # no manifest can say this name, so only the zip does
            with pytest.raises(ArchiveError, match="it has an unpaired surrogate, which UTF-8 cannot encode"):
                forger(entries=entries).build()
            data = forger(zip_names={"net/x.py": name}).build()
        else:
            data = forger(entries=entries).build()
        assert not accepts(data)


@one_test
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["net/x.py", "net/x.py"], "out of order|names clash|none twice"),
        (["net/X.py", "net/x.py"], "would be one file"),
        (["Net/a.py", "net/b.py"], "would be one file"),
        (["net", "net/x.py"], "would be one file"),
        (["NET", "net/x.py"], "would be one file"),
        (["net/é", "net/É"], "out of order|would be one file"),
        (["b", "a"], "out of order"),
        ([".data/manifest.msgpack"], "names clash|out of order|do not follow"),
        ([".data/manifest.sha256"], "names clash|out of order"),
        ([".data/signatures/x"], "out of order"),
        ([".DATA/x"], "would be one file"),
    ],
)
def test_colliding_and_misplaced_names_are_refused(
    forger: Any, problems_of: Problems, names: list[str], message: str
) -> None:
    data = forger(entries=[(name, "source", 1, b"") for name in names]).build()
    assert re.search(message, problems_of(data))


def test_name_that_differs_between_header_and_directory_is_refused(forger: Any, accepts: Accepts) -> None:
    assert not accepts(forger(local=lambda entry, header: header.replace(b"net/x.py", b"net/y.py")).build())
    assert not accepts(forger(central=lambda entry, record: record.replace(b"net/x.py", b"net/y.py")).build())


def test_zip_that_hides_an_entry_from_the_directory_is_refused(forger: Any, accepts: Accepts) -> None:
    two = [("net/x.py", "source", 1, b"x = 1\n"), ("net/z.py", "source", 1, b"evil = 1\n")]
    assert accepts(forger(entries=two).build())
    assert not accepts(forger(entries=two, directory=lambda records: [records[0], *records[2:]]).build())
    assert not accepts(forger(entries=two, directory=lambda records: [*records, records[0]]).build())
    assert not accepts(forger(entries=two, directory=lambda records: records[::-1]).build())


def test_entry_that_the_manifest_does_not_list_is_refused(forger: Any, problems_of: Problems) -> None:
    honest = forger()
    hidden = forger(
        entries=[*honest.entries, ("net/z.py", "source", 1, b"evil")], manifest=honest.honest_manifest()
    )
    assert "not in the manifest: 'net/z.py'" in problems_of(hidden.build())
    missing = forger(entries=[], manifest=honest.honest_manifest())
    assert "missing: 'net/x.py'" in problems_of(missing.build())
    assert not problems_of(forger(after=[(".data/signatures/a", b"s")]).build())
    assert "out of order" in problems_of(forger(after=[("net/z.py", b"evil")]).build())


def test_overlapping_entries_are_refused(forger: Any, accepts: Accepts) -> None:
    """The second entry's record points into the bytes of the first, as quines and zip bombs do."""
    inner_name, inner = b"net/z.py", b"x" * 10
    entry = ZipEntry(inner_name, len(inner), 0, 1, 0)
    content = local_header(entry) + inner
    two = [("net/x.py", "source", 1, content), ("net/z.py", "source", 1, inner)]

    def overlap(entry: ZipEntry, record: bytes) -> bytes:
        return (
            lied(record, CENTRAL_FIELDS["offset"], 30 + len("net/x.py"))
            if entry.name == inner_name
            else record
        )

    assert not accepts(forger(entries=two, central=overlap).build())


def test_data_descriptors_encryption_and_compression_are_refused(forger: Any, accepts: Accepts) -> None:
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(forger().build())) as honest,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for info in honest.infolist():
            archive.writestr(info.filename, honest.read(info))
    assert not accepts(file.getvalue())
    assert not accepts(
        forger(
            local=lambda entry, header: lied(header, LOCAL_FIELDS["flags"], 0x808) + b"PK\x07\x08" + bytes(12)
        ).build()
    )


def test_padding_that_is_not_needed_or_not_minimal_is_refused(forger: Any, accepts: Accepts) -> None:
    aligned = [("net/w", "resource", 64, b"w")]
    assert accepts(forger(entries=aligned).build())

    def padded(more: int) -> Callable[[ZipEntry, bytes], bytes]:
        def change(entry: ZipEntry, header: bytes) -> bytes:
            if entry.name != b"net/w":
                return header
            length = struct.unpack_from("<H", header, 28)[0]
            changed = lied(header, LOCAL_FIELDS["extra length"], length + more)
            return lied(changed, (30 + len("net/w") + 2, "H"), length - 4 + more) + bytes(more)

        return change

    for more in (1, 64, 128):
        assert not accepts(forger(entries=aligned, local=padded(more)).build())
    for place in range(30 + len("net/w"), 64):
        data = bytearray(forger(entries=aligned).build())
        data[place] ^= 1
        assert not accepts(bytes(data))
    unpadded = forger(
        entries=aligned,
        local=lambda entry, header: local_header(
            ZipEntry(entry.name, entry.size, entry.crc, 1, entry.offset)
        ),
    )
    assert not accepts(unpadded.build())


def test_extra_fields_and_comments_are_refused(forger: Any, accepts: Accepts) -> None:
    extra = struct.pack("<HH4s", 0x7875, 4, b"evil")
    assert not accepts(
        forger(local=lambda entry, header: lied(header, LOCAL_FIELDS["extra length"], 8) + extra).build()
    )
    assert not accepts(
        forger(central=lambda entry, record: lied(record, CENTRAL_FIELDS["extra length"], 8) + extra).build()
    )
    assert not accepts(
        forger(
            central=lambda entry, record: lied(record, CENTRAL_FIELDS["comment length"], 4) + b"evil"
        ).build()
    )
    zip64 = struct.pack("<HHQQ", 1, 16, 6, 6)
    assert not accepts(
        forger(central=lambda entry, record: lied(record, CENTRAL_FIELDS["extra length"], 20) + zip64).build()
    )


def test_zip64_records_that_lie_are_refused(forger: Any, accepts: Accepts) -> None:
    honest = forger().build()
    count, size, start = struct.unpack_from("<HII", honest, len(honest) - 12)
    for values in (
        (count, size, start),
        (2**63, size, start),
        (count, 2**64 - 1, start),
        (count, size, 2**63),
    ):
        long = struct.pack(
            "<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, values[0], values[0], values[1], values[2]
        )
        locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, start + size, 1)
        for short in (
            honest[-22:],
            struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0),
        ):
            assert not accepts(honest[:-22] + long + locator + short)


def test_counts_that_promise_more_than_there_is_are_refused_at_once(accepts: Accepts) -> None:
    for count in (1, 0xFFFE, 0xFFFF):
        assert not accepts(struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, 0, 0, 0))
    assert not accepts(end_records(2**40, 0, 0))
    assert not accepts(central_record(ZipEntry(b"a", 0, 0, 1, 0)) + end_records(1, 0, 47))
    assert not accepts(end_records(0, 0, 0))
