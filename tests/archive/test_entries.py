"""Sections 5.2 and 5.3: what a manifest lists, its digests, and each column that does not fit the others."""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
import threading
from array import array
from typing import Any

import pytest

from packager._archive import EntryRecord, entries
from packager._archive.entries import (
    KINDS,
    Listing,
    combined_crc,
    crc32,
    crcs_of,
    little_endian,
    sha256s_of,
    thread_count,
)
from packager.errors import ArchiveError, IntegrityError
from tests.tables import one_test

CHUNK = 1 << 20


def record(data: bytes, kind: str = "resource", align: int = 1, name: str = "x") -> EntryRecord:
    view = memoryview(data)
    return EntryRecord(name, kind, len(data), align, crcs_of(view), sha256s_of(view))


# --- digests ---


@one_test
@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK, 3 * CHUNK + 7])
def test_digests_of_the_whole_follow_from_those_of_its_chunks(size: int) -> None:
    data = (bytes(range(1, 252)) * (size // 251 + 1))[:size]
    found = record(data)
    assert found.chunks == -(-size // CHUNK)
    assert found.crc == combined_crc(found.crcs, size) == crc32(data)
    whole = data if size <= CHUNK else found.sha256s
    assert found.sha256 == hashlib.sha256(whole).hexdigest()
    without = EntryRecord("x", "tensors", size, 64, found.crcs, b"")
    assert without.sha256 == (None if size else hashlib.sha256(b"").hexdigest())


@one_test
@pytest.mark.parametrize("digests", ["crc", "sha256"])
@pytest.mark.parametrize(("wrong", "more"), [(1, ""), (5, ""), (6, " and 1 more"), (8, " and 3 more")])
def test_wrong_chunks_are_named_and_from_the_sixth_on_counted(digests: str, wrong: int, more: str) -> None:
    honest, data = record(bytes(8 * CHUNK + 3)), bytearray(8 * CHUNK + 3)
    honest.check(memoryview(data), range(9), digests)
    honest.check(memoryview(data)[3 * CHUNK :], range(3, 9), digests)
    for chunk in range(1, 1 + wrong):
        data[chunk * CHUNK] = 1
    ranges = [f"{n * CHUNK} to {min((n + 1) * CHUNK, 8 * CHUNK + 3)}" for n in range(1, 1 + wrong)]
    with pytest.raises(
        IntegrityError, match=f"entry 'x': bytes {', '.join(ranges[:5])}{more} do not have the {digests} that"
    ) as told:
        honest.check(memoryview(data), range(9), digests)
    assert told.value.problems == tuple(ranges)


@pytest.mark.parametrize(
    ("kind", "advice"),
    [("tensors", '; view it with digests="crc", or export'), ("resource", "; export it again")],
)
def test_an_entry_without_sha256_is_not_checked_by_it(kind: str, advice: str) -> None:
    without = EntryRecord("x", kind, 3, 64, crcs_of(memoryview(b"abc")), b"")
    without.check(memoryview(b"abc"), range(1), "crc")
    with pytest.raises(IntegrityError, match=f"entry 'x': it has no sha256, .*{advice}"):
        without.check(memoryview(b"abc"), range(1), "sha256")
    EntryRecord("x", kind, 0, 64, b"", b"").check(memoryview(b""), range(0), "sha256")


@pytest.mark.unix
@pytest.mark.parametrize(
    ("processors", "threads"), [({0}, 1), ({3, 5, 7}, 3), ({1, 2, 3, 4}, 4), (set(range(9)), 4)]
)
def test_there_is_a_thread_for_each_processor_of_this_process_up_to_four(
    monkeypatch: pytest.MonkeyPatch, processors: set[int], threads: int
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: asked.append(pid) or processors, raising=False)
    assert (thread_count(), asked) == (threads, [0])
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: len(processors))
    assert thread_count() == threads
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert thread_count() == 1


@pytest.mark.parametrize(
    ("chunks", "threads", "started"),
    [
        (15, 4, 0),
        (16, 4, 1),
        (23, 4, 1),
        (24, 4, 2),
        (32, 4, 3),
        (80, 4, 3),
        (80, 2, 1),
        (80, 1, 0),
        (7, 1, 0),
    ],
)
def test_a_thread_is_started_for_every_eight_chunks(
    monkeypatch: pytest.MonkeyPatch, chunks: int, threads: int, started: int
) -> None:
    made: list[threading.Thread] = []

    class Watched(threading.Thread):
        def start(self) -> None:
            made.append(self)
            super().start()

    monkeypatch.setattr(threading, "Thread", Watched)
    monkeypatch.setattr(entries, "thread_count", lambda: threads)
    assert entries.in_threads(lambda item: item % 3 == 0, range(chunks), entries._threads_for(chunks, 8)) == [
        n % 3 == 0 for n in range(chunks)
    ]
    assert len(made) == started
    assert all(thread.daemon and not thread.is_alive() for thread in made)


@pytest.mark.parametrize("wrong", [0, 1, 15])  # of this thread, and of the other
def test_what_a_thread_raises_is_raised_to_who_asked(monkeypatch: pytest.MonkeyPatch, wrong: int) -> None:
    def work(item: int) -> bool:
        if item == wrong:
            raise ArithmeticError(f"item {item}")
        return True

    monkeypatch.setattr(entries, "thread_count", lambda: 2)
    with pytest.raises(ArithmeticError, match=f"^item {wrong}$"):
        entries.in_threads(work, range(16), 2)


def test_numbers_are_turned_on_machines_of_the_other_byte_order(monkeypatch: pytest.MonkeyPatch) -> None:
    column = array("I", [1, 2])
    monkeypatch.setattr(sys, "byteorder", "little")
    assert little_endian(column) is column
    monkeypatch.setattr(sys, "byteorder", "big")
    assert little_endian(column).tolist() == [1 << 24, 2 << 24]
    assert column.tolist() == [1, 2]


# --- the list of entries ---

ROWS = [
    record(bytes(CHUNK + 1), "tensors", 64, "b"),
    record(b"a", "source", name="a"),
    record(b"", "resource", name="c"),
]
COLUMNS = Listing.of(ROWS).dump()


def changed(place: int, value: Any) -> list[Any]:
    return [*COLUMNS[:place], value, *COLUMNS[place + 1 :]]


def sizes(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


def test_columns_come_back() -> None:
    loaded = Listing.load(COLUMNS, "sha256")
    assert list(loaded) == ROWS
    assert (len(loaded), loaded.kind(0), loaded.all_have_sha256) == (3, "tensors", True)
    assert list(Listing.load(Listing.of([]).dump(), "sha256")) == []
    rows = [EntryRecord("b", "tensors", CHUNK + 1, 64, ROWS[0].crcs, b""), *ROWS[1:]]
    crc = Listing.load(Listing.of(rows).dump(), "crc")
    assert (list(crc), crc.all_have_sha256) == (rows, False)


CODES = "a kind or an alignment has an unknown code"
COLUMNS_SAID = "expected the six columns of the format"


@one_test
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (tuple(COLUMNS), COLUMNS_SAID),
        (COLUMNS[:5], COLUMNS_SAID),
        ([*COLUMNS, b""], COLUMNS_SAID),
        (changed(0, b"a\nb\nc"), COLUMNS_SAID),
        (changed(3, "abc"), COLUMNS_SAID),
        (changed(0, "a\nb"), "found 2 names, 3 kinds, 3 alignments and 24 bytes of sizes"),
        (changed(0, ""), "found 0 names, 3 kinds"),
        (changed(1, b"\0\0"), "found 3 names, 2 kinds, 3 alignments and 24 bytes"),
        (changed(2, sizes(1, 2)), "found 3 names, 3 kinds, 3 alignments and 16 bytes"),
        (changed(2, COLUMNS[2][:-1]), "found 3 names, 3 kinds, 3 alignments and 23 bytes"),
        (changed(3, b"\1\1"), "found 3 names, 3 kinds, 2 alignments and 24 bytes"),
        (changed(1, bytes([8, 0, len(KINDS)])), CODES),
        (changed(3, b"\x40\1\x02"), CODES),
        (changed(3, b"\x40\1\0"), CODES),
        (changed(3, b"\1\1\1"), "an entry of kind tensors is not aligned; expected 64 bytes"),
        (changed(1, bytes([7, 8, 6])), "not aligned"),
        (
            [*changed(1, bytes([7, 8, 6]))[:3], b"\1\x40\1", *COLUMNS[4:]],
            "an entry of another kind precedes tensors; expected tensors first",
        ),
        (changed(4, COLUMNS[4] + bytes(4)), "16 bytes of CRC; expected 12"),
        (changed(4, COLUMNS[4][:-4]), "8 bytes of CRC; expected 12"),
        (changed(5, COLUMNS[5] + bytes(32)), '128 bytes of sha256 do not fit .* and digests="sha256"'),
        (
            changed(5, COLUMNS[5][:32]),
            '32 bytes of sha256 do not fit the sizes of the entries and digests="sha256"',
        ),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns: Any, message: str) -> None:
    with pytest.raises(ArchiveError, match=f"manifest, entries: .*{message}"):
        Listing.load(columns, "sha256")


def test_the_sha256_of_tensors_are_all_there_or_none() -> None:
    with pytest.raises(ArchiveError, match=r'64 bytes of sha256 do not fit .* and digests="crc"'):
        Listing.load(changed(5, COLUMNS[5][:64]), "crc")
    assert len(Listing.load(changed(5, COLUMNS[5][64:]), "crc")) == 3
    with pytest.raises(ArchiveError, match=r'96 bytes of sha256 do not fit .* and digests="crc"'):
        Listing.load(COLUMNS, "crc")


def test_what_is_aligned_without_sha256_is_tensors() -> None:
    with pytest.raises(ArchiveError, match="an aligned entry is not of kind tensors"):
        Listing.load(Listing.of([record(b"a", "source", 64)]).dump(), "crc")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_as_a_whole_is_not_longer_than_that_allows(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(entries, "MAX_PACKED", 5)
    align = 64 if kind == "tensors" else 1
    right = [record(bytes(5), kind, align), record(bytes(9), "resource", name="y")]
    assert len(Listing.load(Listing.of(right).dump(), "sha256")) == 2
    wrong = Listing.of([record(bytes(6), kind, align), right[1]]).dump()
    if kind in ("extras", "index", "migration", "object"):
        with pytest.raises(ArchiveError, match=f"entry 'x': 6 bytes of kind {kind}; at most 5 are read"):
            Listing.load(wrong, "sha256")
    else:
        assert len(Listing.load(wrong, "sha256")) == 2


@one_test
@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"a": 1, "b": CHUNK + 1, "c": 0}, "; order or alignment differ"),
        ({"a": 1, "b": CHUNK + 1, "c": 0, "d": 1}, "; not in the manifest: 'd'"),
        ({"a": 1, "b": CHUNK + 1}, "; missing: 'c'"),
        ({"a": 2, "b": CHUNK + 1, "c": 0}, "; of another size: 'a'"),
        ({"b": 0, "d": 1}, "; not in the manifest: 'd'; missing: 'a', 'c'; of another size: 'b'"),
        ({**dict.fromkeys("defgh", 1), "a": 1, "b": CHUNK + 1, "c": 0}, ": 'd', 'e', 'f', 'g', 'h'"),
        ({**dict.fromkeys("defghi", 1), "a": 1, "b": CHUNK + 1, "c": 0}, "'f', 'g', 'h' and 1 more"),
    ],
)
def test_what_differs_from_the_list_is_said(found: dict[str, int], said: str) -> None:
    error = Listing.of(ROWS).difference(found)
    assert f"{said}. The archive was changed" in str(error)


def test_each_entry_has_its_own_digests_among_those_of_all() -> None:
    contents = [bytes([n]) * size for n, size in enumerate((0, 1, CHUNK, CHUNK + 1, 2 * CHUNK, 0, 5))]
    for digests, tensors in itertools.product(("sha256", "crc"), range(len(contents) + 1)):
        if digests == "crc" and not tensors:
            continue  # refused, as there is nothing to leave out
        rows = []
        for n, data in enumerate(contents):
            row = record(data, *(("tensors", 64) if n < tensors else ("resource", 1)), f"{n}")
            bare = digests == "crc" and row.align == 64
            rows.append(
                EntryRecord(row.name, row.kind, row.size, row.align, row.crcs, b"" if bare else row.sha256s)
            )
        assert list(Listing.load(Listing.of(rows).dump(), digests)) == rows
