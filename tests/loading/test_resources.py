"""Files and folders of an archive, asked one question at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib.resources import as_file
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from packager._loading.files import Directory, directory_of
from packager._loading.resources import ArchivedFile, ArchivedFolder, PackageResources

TREE = {
    "pkg/__init__.py": "",
    "pkg/data/b.txt": "b\n",
    "pkg/data/a.txt": "é\n",
    "pkg/data/deep/c.bin": b"\xff\x00",
    "other/__init__.py": "",
}


@pytest.fixture
def archive(pack: Callable[..., Any]) -> Any:
    return pack(TREE).archive


@pytest.fixture
def folder(archive: Any) -> Any:
    return PackageResources(archive.code, archive.unpacker, "pkg.data").files()


def test_a_folder_lists_what_lies_in_it_in_order(folder: Any) -> None:
    found = list(folder.iterdir())
    assert [(one.name, type(one), one.is_dir(), one.is_file()) for one in found] == [
        ("a.txt", ArchivedFile, False, True),
        ("b.txt", ArchivedFile, False, True),
        ("deep", ArchivedFolder, True, False),
    ]
    assert (folder.name, folder.is_dir(), folder.is_file()) == ("data", True, False)
    assert repr(found[2]) == "ArchivedFolder('pkg/data/deep')"


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ((), "ArchivedFolder('pkg/data')"),
        (("",), "ArchivedFolder('pkg/data')"),
        ((".", "a.txt"), "ArchivedFile('pkg/data/a.txt')"),
        (("./deep//c.bin",), "ArchivedFile('pkg/data/deep/c.bin')"),
        (("deep", "c.bin"), "ArchivedFile('pkg/data/deep/c.bin')"),
        (("a.txt", "below", "more"), "ArchivedFile('pkg/data/a.txt/below/more')"),
        (("none", "below/more"), "ArchivedFile('pkg/data/none/below/more')"),
    ],
)
def test_a_path_is_walked_part_by_part(folder: Any, parts: tuple[str, ...], found: str) -> None:
    assert repr(folder.joinpath(*parts)) == found


def test_what_is_not_there_is_neither_file_nor_folder(archive: Any, folder: Any) -> None:
    for gone in (folder / "none", folder / "a.txt" / "below", folder / "none" / "below"):
        assert (gone.is_dir(), gone.is_file()) == (False, False)
        with pytest.raises(FileNotFoundError, match=r"^no file 'pkg/data/.*' in the archive$"):
            gone.read_bytes()
    nowhere = PackageResources(archive.code, archive.unpacker, "pkg.none").files()
    assert (nowhere.is_dir(), list(nowhere.iterdir())) == (False, [])


def test_a_file_is_read_in_each_way(folder: Any) -> None:
    file = folder / "a.txt"
    assert (file.read_bytes(), file.read_text()) == ("é\n".encode(), "é\n")
    assert file.read_text("latin-1") == "Ã©\n"
    assert file.read_text("ascii", "ignore") == file.read_text(errors="strict")[1:] == "\n"
    with pytest.raises(UnicodeDecodeError):
        (folder / "deep/c.bin").read_text()
    assert [file.open(mode, *more).read() for mode, *more in (["rb"], ["r", "utf-8"], ["rt", "utf-8"])] == [
        "é\n".encode(),
        "é\n",
        "é\n",
    ]
    assert file.joinpath() is file
    for mode in ("w", "a", "r+", "wb"):
        with pytest.raises(ValueError, match=rf"mode must be 'r' or 'rb', got '{mode[0]}"):
            file.open(mode)
    with pytest.raises(NotADirectoryError, match=r"^'pkg/data/a\.txt' is no folder of the archive$"):
        file.iterdir()


def test_a_folder_is_not_read(folder: Any) -> None:
    for read in (folder.open, folder.read_bytes, folder.read_text):
        with pytest.raises(IsADirectoryError, match=r"^'pkg/data' is a folder of the archive$"):
            read()


def test_equal_are_files_of_one_archive_and_path(archive: Any, folder: Any, pack: Callable[..., Any]) -> None:
    other = pack(TREE).archive
    same = ArchivedFile(archive.code, archive.unpacker, "pkg/data/a.txt", None)
    elsewhere = ArchivedFile(other.code, other.unpacker, "pkg/data/a.txt", None)
    file = folder / "a.txt"
    assert (file == same, hash(file) == hash(same), file == folder / "b.txt") == (True, True, False)
    assert (file == elsewhere, file == "pkg/data/a.txt") == (False, False)
    assert file != ArchivedFolder(archive.code, archive.unpacker, "pkg/data/a.txt")
    assert (file < folder / "b.txt", folder / "b.txt" < file, folder < file, file < same) == (
        True,
        False,
        True,
        False,
    )
    with pytest.raises(TypeError):
        file < "b"  # noqa: B015 - the comparison is what is tried


def test_what_only_a_path_has_is_asked_of_the_one_on_disk(archive: Any, folder: Any) -> None:
    assert not (archive.unpacker.root / "pkg").exists()
    file = folder / "a.txt"
    for private in ("_parts", "__path__"):
        with pytest.raises(AttributeError, match=f"^{private}$"):
            getattr(file, private)
    assert copy.copy(file) == file
    assert not (archive.unpacker.root / "pkg").exists()
    assert (file.stem, file.exists()) == ("a", True)
    assert Path(file) == Path(str(file)) == archive.unpacker.root / "pkg/data/a.txt"
    assert Path(file).read_bytes() == "é\n".encode()
    assert not (archive.unpacker.root / "other").exists()


# --- the tree that is printed ---


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("a.py", True),
        ("pkg/b.py", True),
        ("pkg/deep/c.py", True),
        ("pkg", False),
        ("pkg/deep", False),
        ("pkg/none", False),
        ("none/b.py", False),
        ("a.py/b.py", False),
        ("b.py", False),
        ("", False),
    ],
)
def test_a_tree_says_which_files_lie_in_it(path: str, there: bool) -> None:
    tree = directory_of("net", ["a.py", "pkg/b.py", "pkg/deep/c.py"])
    assert tree.has_file(path) is there


def test_a_tree_is_printed_files_before_folders() -> None:
    tree = directory_of("net", ["z/y.py", "z/x/w.py", "b.py", "a/c.py", "a.py"])
    assert str(tree) == (
        "─── net\n"
        "    ├── a.py\n"
        "    ├── b.py\n"
        "    ├── a\n"
        "    │   └── c.py\n"
        "    └── z\n"
        "        ├── y.py\n"
        "        └── x\n"
        "            └── w.py"
    )
    assert str(Directory("empty", True)) == "─── empty"
    assert [child.is_dir for child in tree.children.values()] == [True, False, True, False]


def test_a_folder_is_given_as_a_file_in_every_python(archive: Any, folder: Any) -> None:
    with as_file(folder.joinpath("deep")) as path:
        assert (type(path), path.joinpath("c.bin").read_bytes()) == (type(Path()), b"\xff\x00")


def test_a_package_that_is_not_there_is_named_as_code_knows_it(pack: Callable[..., Any]) -> None:
    text = "from importlib import resources\ndef files(): return resources.files('away.gone')\n"
    module = pack({"away/__init__.py": text}).module("away")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'away\.gone'$"):
        module.files()


def test_a_folder_that_is_listed_is_asked_for_as_one() -> None:
    told: list[Any] = []
    code: Any = SimpleNamespace(
        ask_for_file=lambda path, lists=False: told.append((path, lists)), folder=lambda path: None
    )
    assert [*ArchivedFolder(code, unpacker=cast(Any, None), path="net/data").iterdir()] == []
    assert told == [("net/data", True)]
