"""Section 9: an archive that was unpacked, checked as strictly as the file."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from packager._archive import (
    ArchiveClosedError,
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    Source,
    TensorReader,
    folder_container,
    verify,
)
from packager.errors import ArchiveError


@pytest.fixture
def folder(small_path: Path, tmp_path: Path) -> Path:
    unpacked = tmp_path / "unpacked"
    subprocess.run(["unzip", "-q", str(small_path), "-d", str(unpacked)], check=True)
    return unpacked


@pytest.mark.parametrize("mapped", [True, False])
def test_unpacked_archive_reads_like_the_file(folder: Path, small_path: Path, mapped: bool) -> None:
    with ArchiveReader(small_path) as packed, ArchiveReader(folder, mmap=mapped) as unpacked:
        assert unpacked.identity == packed.identity
        assert unpacked.names() == packed.names()
        assert unpacked.manifest == packed.manifest
        assert [unpacked.read(name) for name in packed.names()] == [
            packed.read(name) for name in packed.names()
        ]
        assert bytes(TensorReader(unpacked, "net/weights").data("tied", private=True)) == bytes(range(24))
        assert verify(unpacked).ok


def test_views_of_a_folder_outlive_the_reader(folder: Path) -> None:
    with ArchiveReader(folder) as reader:
        view = reader.view("net/weights")
        kept = bytes(view)
    assert bytes(view) == kept
    with pytest.raises(ArchiveClosedError, match=f"^{re.escape(str(folder))} is closed; open it again"):
        reader.view("net/weights")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "extra.py").write_text(""), "not in the manifest: 'extra.py'"),
        (
            lambda folder: (folder / "net/__pycache__").mkdir() or (folder / "net/__pycache__/x").touch(),
            "__pycache__/x",
        ),
        (lambda folder: (folder / "net/notes.txt").unlink(), "missing: 'net/notes.txt'"),
        (
            lambda folder: (folder / "net/__init__.py").write_text("answer = 4"),
            "of another size: 'net/__init__.py'",
        ),
        (lambda folder: (folder / ".data/manifest.msgpack").unlink(), r"no \.data/manifest.msgpack"),
        (lambda folder: (folder / ".data/manifest.sha256").unlink(), r"no \.data/manifest.sha256"),
        (lambda folder: (folder / ".data/manifest.sha256").write_text("0" * 64), "the sha256 of"),
        (lambda folder: (folder / ".data/manifest.msgpack").write_bytes(b"\x80"), "the sha256 of"),
        (
            lambda folder: (folder / "link").symlink_to("net/notes.txt"),
            "entry 'link': found a link or special file",
        ),
        (lambda folder: (folder / "loop").symlink_to("."), "entry 'loop': found a link or special file"),
        (lambda folder: os.mkfifo(folder / "pipe"), "entry 'pipe': found a link or special file"),
        pytest.param(
            lambda folder: (folder / "net/X.py").touch() or (folder / "net/x.py").touch(),
            "would be one file",
            marks=pytest.mark.unix,
        ),
    ],
)
def test_changed_folder_is_refused(folder: Path, change: Callable[[Path], object], message: str) -> None:
    change(folder)
    with pytest.raises(ArchiveError, match=message):
        ArchiveReader(folder)


def test_names_that_are_not_text_are_refused(folder: Path) -> None:
    (Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9"))).touch()
    with pytest.raises(ArchiveError, match="not allowed in an archive"):
        ArchiveReader(folder)


def test_changed_bytes_are_found_when_they_are_used(folder: Path) -> None:
    (folder / "net/__init__.py").write_bytes(b"answer = 43\n")
    with ArchiveReader(folder) as reader:
        with pytest.raises(
            ArchiveError, match=r"entry 'net/__init__.py': bytes 0 to 12 do not have the sha256"
        ):
            reader.read("net/__init__.py")
        assert reader.read("net/weights")
        assert [problem.entry for problem in verify(reader).problems] == ["net/__init__.py"]


def test_file_that_changes_its_size_or_kind_after_opening_is_refused(folder: Path) -> None:
    with ArchiveReader(folder) as reader:
        (folder / "net/__init__.py").write_bytes(b"answer = 42\n ")
        with pytest.raises(ArchiveError, match=r"found 13 bytes; expected 12, as when it was opened"):
            reader.read("net/__init__.py")
        (folder / "net/__init__.py").unlink()
        (folder / "net/__init__.py").symlink_to("/etc/passwd")
        with pytest.raises(ArchiveError):
            reader.read("net/__init__.py")


def test_signatures_are_listed_and_bounded(folder: Path) -> None:
    (folder / ".data/signatures").mkdir()
    (folder / ".data/signatures/me").write_bytes(b"signed")
    with ArchiveReader(folder) as reader:
        assert reader.signatures() == {".data/signatures/me": b"signed"}
        assert ".data/signatures/me" not in reader.names()
        assert verify(reader).ok
    (folder / ".data/signatures/me").write_bytes(bytes((1 << 20) + 1))
    with ArchiveReader(folder) as reader:
        assert "expected at most 1048576" in verify(reader).problems[0].message


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_no_descriptor_is_kept_for_the_folders_on_the_way_to_a_file(tmp_path: Path) -> None:
    deep = "/".join("abcdefghij")
    with ArchiveWriter(tmp_path / "x.kellet") as writer:
        writer.add(f"{deep}/read.txt", b"text", kind="resource")
        writer.add(f"{deep}/replaced.txt", b"text", kind="resource")
        writer.seal(Manifest())
    subprocess.run(["unzip", "-qq", str(tmp_path / "x.kellet"), "-d", str(tmp_path / "x")], check=True)
    with ArchiveReader(tmp_path / "x") as reader:
        gc.collect()  # what earlier tests have left in cycles
        before = open_descriptors()
        for _ in range(5):
            assert reader.read(f"{deep}/read.txt") == b"text"
        assert open_descriptors() == before
        # Nor where the last part cannot be opened.
        (tmp_path / "x" / deep / "replaced.txt").unlink()
        for _ in range(5):
            with pytest.raises(ArchiveError, match="it cannot be opened"):
                reader.read(f"{deep}/replaced.txt")
        assert open_descriptors() == before
        (tmp_path / "x" / deep).rename(tmp_path / "moved")
        with pytest.raises(ArchiveError, match="it cannot be opened"):
            reader.read(f"{deep}/read.txt")
        assert open_descriptors() == before


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("/".join("f" * 31), False),
        ("/".join("f" * 32), True),
        ("/".join(["f" * 204] * 4 + ["f" * 203]), False),  # 1,024 bytes, with a slash behind each
        ("/".join(["f" * 204] * 5), True),
    ],
)
def test_folders_are_looked_through_so_deep_and_no_deeper(folder: Path, path: str, refused: bool) -> None:
    (folder / path).mkdir(parents=True)
    said = "found a path that is too long; expected at most 32 parts and 1024 bytes"
    with pytest.raises(ArchiveError, match=said) if refused else contextlib.nullcontext():
        ArchiveReader(folder).close()


@pytest.mark.parametrize("mapped", [True, False])
def test_aligned_entries_stay_open_until_the_reader_is_closed(folder: Path, mapped: bool) -> None:
    gc.collect()  # what earlier tests have left in cycles
    before = open_descriptors()
    reader = ArchiveReader(folder, mmap=mapped)
    for _ in range(2):
        assert reader.read("net/__init__.py") == b"answer = 42\n"
    assert open_descriptors() == before
    opened = set()
    for _ in range(2):
        assert len(reader.view("net/weights")) > 24
        opened.add(open_descriptors() - before)
    assert len(opened) == 1
    assert (opened != {0}) == mapped
    reader.close()
    assert open_descriptors() == before


def test_a_file_of_another_size_is_closed_again(folder: Path) -> None:
    with ArchiveReader(folder) as reader:
        (folder / "net/__init__.py").write_bytes(b"answer = 4")
        gc.collect()  # what earlier tests have left in cycles
        before = open_descriptors()
        for _ in range(3):
            with pytest.raises(ArchiveError, match="found 10 bytes; expected 12, as when it was opened"):
                reader.read("net/__init__.py")
        assert open_descriptors() == before
        assert reader.size == sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) + 2


def test_a_manifest_that_became_a_link_is_another(folder: Path) -> None:
    with ArchiveReader(folder) as reader:
        (folder / ".data/manifest.msgpack").unlink()
        (folder / ".data/manifest.msgpack").symlink_to("gone")
        with pytest.raises(ArchiveError, match=r"its manifest was replaced: .*cannot be opened"):
            reader.read("net/__init__.py")
        (folder / ".data/manifest.msgpack").unlink()
        with pytest.raises(ArchiveError, match=r"manifest\.msgpack cannot be found any more"):
            reader.read("net/__init__.py")


@pytest.mark.parametrize("mapped", [True, False])
def test_tensors_alone_are_mapped(folder: Path, monkeypatch: pytest.MonkeyPatch, mapped: bool) -> None:
    opened: list[tuple[str, bool]] = []
    open_file = folder_container.open_file

    def watched(descriptor: int, name: str, *, mapped: bool) -> Source:
        opened.append((str(Path(name).relative_to(folder)), mapped))
        return open_file(descriptor, name, mapped=mapped)

    monkeypatch.setattr(folder_container, "open_file", watched)
    with ArchiveReader(folder, mmap=mapped) as reader:
        for name in reader.names():
            reader.view(name)
    assert {name for name, _ in opened} == {
        *reader.names(),
        ".data/manifest.msgpack",
        ".data/manifest.sha256",
    }
    assert {name for name, is_mapped in opened if is_mapped} == ({"net/weights"} if mapped else set())
