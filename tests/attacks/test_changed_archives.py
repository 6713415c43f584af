"""An archive that is changed while it is open: found out at the next use, with a typed error that says so.

The time of the last write is set back each time, as `os.utime` allows. Each change has a twin that
changes no byte of what is used, and is read on.
"""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveChangedError, ArchiveReader
from packager._archive.entry_names import MANIFEST
from packager.errors import IntegrityError
from tests import processes


def save(path: Path, value: float = 1.0, word: str = "honest") -> Path:
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_source_string("shop", f"answer = {word!r}\n")
        exporter.save_state_dict("shop", "state", {"w": np.full(512, value), "v": np.arange(512.0)})
        exporter.save_text("shop", "words.txt", word)
    return path


def in_place(path: Path, data: bytes) -> None:
    """Write other bytes over a file, and set the time of its last write back."""
    before = path.stat()
    with open(path, "r+b") as file:
        file.write(data)
        file.truncate()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "net.kellet")


def with_other_tensors(path: Path) -> bytes:
    """The archive with other bytes of a tensor, and all digests as they were."""
    honest, other = np.full(512, 1.0).tobytes(), np.full(512, 2.0).tobytes()
    data = path.read_bytes()
    assert data.count(honest) == 1
    return data.replace(honest, other)


def unpacked(path: Path) -> Path:
    folder = path.with_suffix("")
    zipfile.ZipFile(path).extractall(folder)
    return folder


USES: dict[str, Callable[[PackageImporter], Any]] = {
    "import_module": lambda importer: importer.import_module("shop").answer,
    "get_source": lambda importer: importer.get_source("shop"),
    "load_text": lambda importer: importer.load_text("shop", "words.txt"),
    "load_state_dict": lambda importer: importer.load_state_dict("shop", "state")["w"].sum(),
    "view": lambda importer: bytes(importer.archive.view("shop/state")),
    "check": lambda importer: importer.archive.check("shop/words.txt"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("options", [{}, {"mmap": False}, {"digests": "none"}], ids=str)
def test_another_archive_written_into_an_open_one_is_refused(
    archive: Path, tmp_path: Path, use: str, options: dict[str, Any]
) -> None:
    other = save(tmp_path / "other.kellet", 3.0, "forged").read_bytes()
    assert len(other) == archive.stat().st_size
    with PackageImporter(archive, environment="ignore", **options) as importer:
        USES["load_state_dict"](importer)  # found right, and remembered
        in_place(archive, other)
        with pytest.raises(ArchiveChangedError, match=r"manifest was replaced.*close it, and open it again"):
            USES[use](importer)
    with PackageImporter(archive, environment="ignore") as importer:
        assert importer.load_text("shop", "words.txt") == "forged"


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("digests", ["crc", "sha256"])
def test_tensors_that_were_found_right_are_checked_again(archive: Path, mmap: bool, digests: str) -> None:
    other = with_other_tensors(archive)
    with PackageImporter(archive, mmap=mmap, digests=digests) as importer:
        assert importer.load_state_dict("shop", "state")["w"].sum() == 512
        in_place(archive, other)
        with pytest.raises(ArchiveChangedError, match=rf"shop/state.*{digests} that the manifest .*open it"):
            importer.load_state_dict("shop", "state")["w"]
        assert importer.load_text("shop", "words.txt") == "honest"


@pytest.mark.parametrize("keep_time", [True, False])
@pytest.mark.parametrize("mmap", [True, False])
def test_a_file_that_is_cut_short_or_grows_is_refused(archive: Path, mmap: bool, keep_time: bool) -> None:
    data = archive.read_bytes()
    for changed in (data[:-1], data[:300], b"", data + b"\0"):
        in_place(archive, data)
        with PackageImporter(archive, mmap=mmap) as importer:
            if keep_time:
                in_place(archive, changed)
            else:
                archive.write_bytes(changed)
            for use in ("load_text", "load_state_dict", "get_source"):
                expected = rf"found {len(changed)} bytes; expected {len(data)}.*open it again"
                with pytest.raises(ArchiveChangedError, match=expected):
                    USES[use](importer)


def test_what_changes_no_byte_is_read_on(archive: Path, tmp_path: Path) -> None:
    data = archive.read_bytes()
    changes: list[Callable[[], object]] = [
        lambda: os.utime(archive),
        lambda: archive.chmod(0o600),
        lambda: os.link(archive, tmp_path / "second"),
        lambda: in_place(archive, data),
        lambda: archive.rename(tmp_path / "elsewhere.kellet"),
        lambda: (tmp_path / "elsewhere.kellet").unlink(),
    ]
    with PackageImporter(archive) as importer:
        for change in changes:
            assert importer.load_state_dict("shop", "state")["w"].sum() == 512
            change()
            assert importer.load_state_dict("shop", "state")["w"].sum() == 512
            assert importer.load_text("shop", "words.txt") == "honest"


@pytest.mark.parametrize("mmap", [True, False])
def test_a_file_that_another_takes_the_place_of_is_read_to_its_end(
    archive: Path, tmp_path: Path, mmap: bool
) -> None:
    other = save(tmp_path / "other.kellet", 3.0, "forged")
    with PackageImporter(archive, mmap=mmap, environment="ignore") as importer:
        state = importer.load_state_dict("shop", "state")
        os.replace(other, archive)
        assert state["w"].sum() == 512
        assert importer.load_text("shop", "words.txt") == "honest"
        assert importer.import_module("shop").answer == "honest"


def test_a_folder_is_read_by_its_names_and_its_bytes_are_those_of_its_manifest(archive: Path) -> None:
    folder = unpacked(archive)
    with PackageImporter(folder, environment="ignore") as importer:
        assert USES["load_state_dict"](importer) == 512
        in_place(folder / "shop/words.txt", b"forged")
        with pytest.raises(IntegrityError, match=r"words\.txt.*do not have the sha256"):
            importer.load_text("shop", "words.txt")
        in_place(folder / "shop.py", b"answer = 'forged'\n")
        with pytest.raises(IntegrityError, match=r"shop\.py.*do not have the sha256"):
            importer.import_module("shop")
        honest = (folder / "shop/state").read_bytes()
        in_place(folder / "shop/state", bytes(len(honest)))
        with pytest.raises(IntegrityError, match=r"shop/state.*do not have the crc"):
            USES["load_state_dict"](importer)
        in_place(folder / "shop/state", honest)
        assert USES["load_state_dict"](importer) == 512


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("how", ["renamed", "in place", "manifest gone", "all gone"])
def test_a_folder_that_becomes_another_archive_is_refused(
    archive: Path, tmp_path: Path, how: str, use: str
) -> None:
    folder, other = unpacked(archive), unpacked(save(tmp_path / "other.kellet", 3.0, "forged"))
    with PackageImporter(folder, environment="ignore", digests="none") as importer:
        USES["load_state_dict"](importer)
        if how == "renamed":
            folder.rename(tmp_path / "aside")
            other.rename(folder)
        elif how == "in place":
            in_place(folder / MANIFEST, (other / MANIFEST).read_bytes())
        elif how == "manifest gone":
            (folder / MANIFEST).unlink()
        else:
            shutil.rmtree(folder)
        expected = "cannot be found any more" if "gone" in how else "manifest was replaced"
        with pytest.raises(ArchiveChangedError, match=rf"{expected}.*close it, and open it again"):
            USES[use](importer)


CUT = """
import os, sys
from packager._archive import ArchiveReader, byte_sources

def cutting(read):
    def cut(*arguments):
        os.truncate(sys.argv[1], 100)
        return read(*arguments)
    return cut

with ArchiveReader(sys.argv[1]) as reader:
    for name in ("pread", "preadv"):
        setattr(byte_sources.os, name, cutting(getattr(os, name)))
    try:
        reader.read("shop.py")
    except Exception as error:
        print(type(error).__name__)
"""


@pytest.mark.unix  # it stands in for pread and preadv
def test_what_is_run_is_not_read_from_a_map(archive: Path) -> None:
    """A file that is cut short just as source is read gives an error, and no signal 7."""
    done = processes.run([sys.executable, "-c", CUT, archive], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ArchiveChangedError\n"), done.stderr


def test_the_manifest_that_is_copied_out_is_the_one_that_was_opened(archive: Path, tmp_path: Path) -> None:
    other = save(tmp_path / "other.kellet", 3.0, "forged").read_bytes()
    with ArchiveReader(archive, mmap=False) as reader:
        assert len(reader.reserved()) == 2
        in_place(archive, other)
        with pytest.raises(IntegrityError, match=r"manifest"):
            reader.reserved()
