"""What a reader checks at each use, by which digest, and how much of it is told."""

from __future__ import annotations

import hashlib
import io
import os
import struct
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from packager._archive import ArchiveReader, ArchiveWriter, Manifest, verify
from packager._archive import reader as reader_module
from packager._archive.archive_errors import ArchiveChangedError
from packager.errors import ArchiveError, IdentityMismatchError, IntegrityError

CHUNK = 1 << 20
BIG = hashlib.shake_128(b"big").digest(3 * CHUNK + 100)


@cache
def archive(digests: str = "sha256", kind: str = "tensors") -> bytes:
    """An archive, made when it is asked for: the code keeps tables from then on, which hide its faults."""
    file = io.BytesIO()
    with ArchiveWriter(file, digests=digests) as writer:
        writer.add("big", BIG, kind=kind, align=64 if kind == "tensors" else 1)
        writer.add("small", b"a few words", kind="resource")
        writer.seal(Manifest())
    return file.getvalue()


@pytest.fixture(params=["mapped", "bounded", "memory"])
def sources(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    def opened(data: bytes, **options: Any) -> ArchiveReader:
        (tmp_path / "x").write_bytes(data)
        source = data if request.param == "memory" else tmp_path / "x"
        return ArchiveReader(source, mmap=request.param == "mapped", **options)

    return opened


RANGES = [(0, 0), (0, 1), (CHUNK - 1, CHUNK + 1), (CHUNK, 2 * CHUNK), (CHUNK + 5, 3 * CHUNK + 50), (7, None)]


@pytest.mark.parametrize("digests", ["crc", "sha256", "none"])
def test_copies_views_and_private_memory_are_the_same_bytes(sources: Any, digests: str) -> None:
    with sources(archive(), digests=digests) as reader:
        private = reader.private("big")
        for start, stop in RANGES:
            assert reader.read("big", start, stop) == BIG[start:stop]
            assert reader.view("big", start, stop) == BIG[start:stop]
            assert private.view(start, stop) == BIG[start:stop]
        private.view(CHUNK, CHUNK + 3)[:] = b"new"
        assert (
            private.view(CHUNK - 1, CHUNK + 4) == BIG[CHUNK - 1 : CHUNK] + b"new" + BIG[CHUNK + 3 : CHUNK + 4]
        )
        for start, stop in ((-1, 5), (5, 4), (0, len(BIG) + 1)):
            for call in (reader.read, reader.view):
                with pytest.raises(IndexError, match=f"bytes {start} to {stop} were asked for; it has"):
                    call("big", start, stop)


@pytest.mark.parametrize("chunk", range(4))
def test_a_changed_chunk_is_found_by_those_who_use_it_alone(sources: Any, chunk: int) -> None:
    data = bytearray(archive())
    at = chunk * CHUNK + 50
    data[archive().index(BIG[:100]) + at] ^= 1
    for digests, by in (("crc", "crc"), ("sha256", "sha256")):
        with sources(bytes(data), digests=digests) as reader:
            for other in range(4):
                ends = other * CHUNK + 1, min(other * CHUNK + 99, len(BIG))
                calls = [(reader.read, "sha256"), (reader.view, by), (reader.private("big").view, by)]
                for call, name in calls:
                    arguments = ends if call.__qualname__.startswith("PrivateEntry") else ("big", *ends)
                    if other != chunk:
                        assert call(*arguments) == BIG[slice(*ends)]
                        continue
                    with pytest.raises(
                        IntegrityError, match=rf"entry 'big': bytes {chunk * CHUNK} to .* {name} "
                    ):
                        call(*arguments)
            with pytest.raises(IntegrityError, match="do not have the crc"):
                reader.check("big")


@pytest.mark.parametrize("at_once", [1, 2, 3, 4, 64])
def test_an_entry_is_checked_so_many_chunks_at_a_time(
    sources: Any, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(reader_module, "_AT_ONCE", at_once)
    with sources(archive(kind="resource"), digests="none") as reader:
        told: list[int] = []
        reader.check("big", told.append)
        assert told == [n * CHUNK for n in range(at_once, 4, at_once)]
        reader.check("big")
        seen: list[tuple[int, int]] = []
        total = len(BIG) + 11
        assert verify(reader, progress=lambda done, all_: seen.append((done, all_))).ok
        assert seen == [*((n, total) for n in told), (len(BIG), total), (total, total)]


def test_bytes_are_told_as_they_are_checked(sources: Any) -> None:
    with sources(archive()) as reader:
        told: list[tuple[int, int]] = []
        reader.progress = lambda done, total: told.append((done, total))
        reader.view("big", 5, 10)
        reader.view("big", 0, CHUNK)
        reader.read("small")
        steady = reader._container.locate(0)[0].steady
        first = [CHUNK] if steady else []
        assert [done for done, _ in told] == [*first, sum(first) + 11]
        for _ in range(4):
            reader.read("big")
        assert told[-1] == (reader.size, reader.size) == (len(archive()), len(archive()))


def test_a_chunk_that_was_found_right_is_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[tuple[int, ...]] = []
    honest = reader_module.EntryRecord.found_right

    def watched(entry: Any, data: Any, chunks: Any, digests: str) -> list[bool]:
        checked.append(tuple(chunks))
        return honest(entry, data, chunks, digests)

    monkeypatch.setattr(reader_module.EntryRecord, "found_right", watched)
    with ArchiveReader(archive()) as reader:
        for start, stop in (
            (CHUNK, CHUNK + 1),
            (CHUNK + 7, 2 * CHUNK),
            (0, 5),
            (0, 3 * CHUNK + 1),
            (0, len(BIG)),
        ):
            assert reader.view("big", start, stop) == BIG[start:stop]
    assert checked == [(1,), (0,), (2, 3)]


def test_the_crc_of_the_zip_and_that_of_the_manifest_are_one(forged_crc: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(forged_crc)
    said = "entry 'big': the ZIP gives CRC-32 00000001, the manifest"
    for source, mapped in ((forged_crc, True), (tmp_path / "x", True), (tmp_path / "x", False)):
        with ArchiveReader(source, mmap=mapped) as reader:
            steady = reader._container.locate(0)[0].steady
            calls = [reader.check, reader.read, reader.view] if steady else [reader.check]
            for call in calls:
                with pytest.raises(IntegrityError, match=said):
                    call("big")
            assert reader.read("small") == b"a few words"
            assert [problem.entry for problem in verify(reader).problems] == ["big"]


@pytest.fixture
def forged_crc() -> bytes:
    """An archive whose ZIP records give an entry another CRC-32, in both places."""
    data = bytearray(archive())
    struct.pack_into("<I", data, 14, 1)
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 16, 1)
    return bytes(data)


# --- identity ---


def test_an_identity_binds_all_bytes_or_says_that_it_does_not() -> None:
    sound, weak = ArchiveReader(archive()), archive("crc")
    identity = ArchiveReader(weak).identity
    assert (sound.tensor_digests, ArchiveReader(archive(), identity=sound.identity).tensor_digests) == (
        "crc",
        "sha256",
    )
    assert ArchiveReader(archive(), identity=sound.identity, digests="crc").tensor_digests == "crc"
    with pytest.raises(IntegrityError, match="its identity does not cover the tensors"):
        ArchiveReader(weak, identity=identity)
    with ArchiveReader(weak, identity=identity, digests="crc") as reader:
        assert (reader.digests, reader.view("big") == BIG) == ("crc", True)
    with pytest.raises(IdentityMismatchError, match=f"found identity {identity}, expected {sound.identity}"):
        ArchiveReader(weak, identity=sound.identity)


def test_a_file_whose_manifest_is_no_longer_there_is_another(tmp_path: Path) -> None:
    """Written over in place: with another archive, with zeros, and with a manifest of another digest."""
    path = tmp_path / "x"
    for change in (b"\0" * len(archive()), archive().replace(b"digests", b"digestS"), archive()[:-1] + b"\1"):
        path.write_bytes(archive())
        with ArchiveReader(path, mmap=False) as reader:
            assert reader.read("small") == b"a few words"
            with open(path, "r+b") as file:
                file.write(change)
            if change[:-1] == archive()[:-1]:
                assert reader.read("small") == b"a few words"
                continue
            for call in (reader.read, reader.view, reader.check, reader.private):
                with pytest.raises(ArchiveChangedError, match="its manifest was replaced"):
                    call("small")
            with pytest.raises(
                ArchiveError, match=r"manifest was replaced|do not have the CRC-32 of the ZIP|local header"
            ):
                reader.reserved()


def test_what_is_found_wrong_after_a_change_is_said_to_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(archive())
    at = archive().index(b"a few words")
    with ArchiveReader(path, mmap=False) as reader:
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(b"A")
        with pytest.raises(ArchiveChangedError, match=r"'small': bytes 0 to 11 .* it was changed after"):
            reader.read("small")
    with ArchiveReader(path, mmap=False) as reader, pytest.raises(IntegrityError) as found:
        reader.read("small")
    assert type(found.value) is IntegrityError


@pytest.mark.unix
def test_both_digests_are_computed_in_one_pass_over_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_bytes(archive())
    read: list[int] = []
    preadv = os.preadv

    def counted(number: int, targets: list[memoryview], at: int) -> int:
        read.append(preadv(number, targets, at))
        return read[-1]

    with ArchiveReader(tmp_path / "x", mmap=False) as reader:
        reader._container.locate(0)
        monkeypatch.setattr(os, "preadv", counted)
        reader.check("big")
        assert read == [CHUNK, CHUNK, CHUNK, 100]
