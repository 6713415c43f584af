"""Where code of an archive lies on disk: unpacked when it asks, once for all archives that hold the same."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packager._archive import ArchiveIOError
from packager._loading import unpacking
from packager._loading.packaged_code import PackagedCode
from packager._loading.unpacking import Unpacker
from tests.loading.conftest import TextArchive

TREE = {
    "top.py": "x = 1\n",
    "pkg/__init__.py": "",
    "pkg/data/a.txt": "a",
    "space/below/leaf.py": "",
    "net-1.0.dist-info/METADATA": "Name: net\n",
    ".data/hidden": "h",
}


def code_of(tree: Any = TREE) -> PackagedCode:
    archive: Any = TextArchive(tree, ("numpy.linalg",), ("gone.below",))
    return PackagedCode(archive)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_one_package_is_unpacked_at_a_time_and_stays(cache: Path) -> None:
    unpacker = Unpacker(code_of(), "abc")
    assert unpacker.path_of("pkg/data/a.txt") == os.path.join(unpacker.root, "pkg", "data", "a.txt")
    assert not unpacker.root.exists()
    assert unpacker.unpack("pkg") == unpacker.root / "pkg"
    assert (unpacker.root / "pkg/data/a.txt").read_bytes() == b"a"
    assert sorted(os.listdir(unpacker.root)) == ["pkg", "space"]  # which has no `__init__` to ask for it
    assert unpacker.unpack("top") == unpacker.root / "top"
    assert (unpacker.root / "top.py").read_bytes() == b"x = 1\n"
    (unpacker.root / "top.py").write_bytes(b"mine")
    (unpacker.root / "pkg/data/a.txt").write_bytes(b"mine")
    again = Unpacker(code_of(), "abc")
    again.unpack("top"), again.unpack("pkg")
    assert (
        (unpacker.root / "top.py").read_bytes() == (unpacker.root / "pkg/data/a.txt").read_bytes() == b"mine"
    )
    unpacker.close()
    assert (unpacker.root / "pkg").is_dir()


def test_data_beside_the_packages_is_unpacked_with_any_of_them(cache: Path) -> None:
    unpacker = Unpacker(code_of({**TREE, "words.txt": "w", "data/a.txt": "a"}), "abc")
    unpacker.unpack("top")
    assert sorted(os.listdir(unpacker.root)) == ["data", "space", "top.py", "words.txt"]
    (unpacker.root / "words.txt").write_bytes(b"mine")
    (unpacker.root / "data/a.txt").unlink()
    unpacker.unpack("pkg")
    assert (unpacker.root / "words.txt").read_bytes() == b"mine"
    assert (unpacker.root / "data/a.txt").read_bytes() == b"a"


@pytest.mark.parametrize("of_the_archive", [True, False])
def test_files_that_cannot_be_read_or_written_are_told(
    cache: Path, monkeypatch: pytest.MonkeyPatch, of_the_archive: bool
) -> None:
    unpacker = Unpacker(code_of(), "abc")
    failed = ArchiveIOError("net.kellet: cannot be read") if of_the_archive else OSError(28, "No space left")

    def fail(path: Path, data: bytes) -> None:
        raise failed

    monkeypatch.setattr(unpacking, "keep_file", fail)
    with pytest.raises(ArchiveIOError) as raised:
        unpacker.unpack("top")
    if of_the_archive:
        assert raised.value is failed
    else:
        assert str(raised.value) == (
            "top: packaged code asks for its own files, and they cannot be written to "
            f"{unpacker.root}: [Errno 28] No space left; set KELLET_CACHE to a folder that can be written"
        )
        assert raised.value.errno == 28
    monkeypatch.undo()
    assert not unpacker.root.exists()


def test_what_was_unpacked_is_not_looked_at_again(cache: Path) -> None:
    code = code_of()
    unpacker = Unpacker(code, "abc")
    unpacker.unpack("pkg")
    (unpacker.root / "pkg/data/a.txt").unlink()
    code.close()
    assert unpacker.unpack("pkg") == unpacker.root / "pkg"


def test_without_a_cache_a_temporary_folder_is_made_once_and_goes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(unpacking, "usable_cache", lambda *where: None)
    monkeypatch.setattr(unpacking, "_temporary_folder", lambda: str(tmp_path))
    unpacker = Unpacker(code_of(), "abc")
    assert unpacker.root.parent == tmp_path
    assert unpacker.root.name.startswith("kellet-code-")
    assert len(unpacker.root.name) == len("kellet-code-") + 16
    assert not unpacker.root.exists()
    unpacker.close()
    unpacker.unpack("pkg")
    unpacker.unpack("top")
    assert sorted(os.listdir(unpacker.root)) == ["pkg", "space", "top.py"]
    unpacker.close()
    assert not unpacker.root.exists()


def test_closing_an_archive_takes_its_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pack: Callable[..., Any]
) -> None:
    monkeypatch.setattr(unpacking, "usable_cache", lambda *where: None)
    monkeypatch.setattr(unpacking, "_temporary_folder", lambda: str(tmp_path))
    loaded = pack(TREE)
    root = loaded.archive.unpacker.root
    loaded.archive.unpacker.unpack("pkg")
    assert root.is_dir()
    loaded.close()
    assert not root.exists()


def test_a_cache_is_one_whose_nearest_folder_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert unpacking._can_be_made(tmp_path / "a" / "b")
    assert unpacking._can_be_made(tmp_path)
    assert not unpacking._can_be_made(tmp_path / "file")
    assert not unpacking._can_be_made(tmp_path / "file" / "below")


def test_a_cache_that_may_not_be_written_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("os.access", lambda *given: asked.append(given) or False)
    assert not unpacking._can_be_made(tmp_path / "a")
    assert asked == [(tmp_path, os.W_OK | os.X_OK)]


def test_where_there_is_no_temporary_folder_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def gettempdir() -> str:
        raise FileNotFoundError("none")

    monkeypatch.setattr("tempfile.gettempdir", gettempdir)
    assert unpacking._temporary_folder() == os.path.join(os.sep, "tmp")


def test_archives_with_the_same_code_have_folders_of_their_own(cache: Path) -> None:
    one, other = Unpacker(code_of(), "abc"), Unpacker(code_of(), "def")
    (one.unpack("pkg") / "data/a.txt").write_text("by its code")
    assert (other.unpack("pkg") / "data/a.txt").read_text() == "a"
    assert (Unpacker(code_of(), "abc").unpack("pkg") / "data/a.txt").read_text() == "by its code"
    assert sorted(os.listdir(cache / "code")) == ["abc", "def"]


def test_what_was_cleared_meanwhile_is_unpacked_again(cache: Path) -> None:
    shutil.rmtree(Unpacker(code_of(), "abc").unpack("pkg").parent)
    assert (Unpacker(code_of(), "abc").unpack("pkg") / "data/a.txt").read_text() == "a"
    shutil.rmtree(cache)
    assert (Unpacker(code_of(), "abc").unpack("pkg") / "data/a.txt").read_text() == "a"
