"""What an archive holds of code, by name: its modules and folders, what may be imported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from packager._archive import ModuleRecord
from packager._loading.packaged_code import ImportRules, PackagedCode
from packager.errors import UndeclaredImportError
from tests.loading.conftest import TextArchive

TREE = {
    "top.py": "x = 1\n",
    "pkg/__init__.py": "",
    "pkg/data/a.txt": "a",
    "space/below/leaf.py": "",
    "net-1.0.dist-info/METADATA": "Name: net\n",
    ".data/hidden": "h",
}


def code_of(tree: Any = TREE, externs: Any = ("numpy.linalg",), mocks: Any = ("gone.below",)) -> PackagedCode:
    archive: Any = TextArchive(tree, externs, mocks)
    return PackagedCode(archive)


def test_what_it_owns_stores_and_declares() -> None:
    code = code_of(externs=("numpy.linalg", "pkg.fast"))
    assert code.owned == {"top", "pkg", "space", "gone"}
    assert code.declared == {"numpy"}
    assert code.stored == {"top", "pkg", "space.below.leaf"}


def test_a_module_that_was_left_to_the_target_is_declared_like_what_is_needed() -> None:
    archive: Any = TextArchive(TREE, ["numpy.linalg"], ["gone"])
    more = (ModuleRecord("yaml.loader", "extern", "r", "b"), ModuleRecord("pkg.fast", "extern", "r", "b"))
    archive.manifest.modules += more
    assert PackagedCode(archive).declared == {"numpy", "yaml"}


def test_tensors_are_read_for_their_reader_as_the_archive_checks_them() -> None:
    archive: Any = TextArchive(TREE, (), ())
    archive.entry = lambda name: SimpleNamespace(kind="tensors" if name == "w" else "resource")
    archive.view, archive.read = (lambda name: memoryview(b"viewed")), (lambda name: b"read")
    assert [PackagedCode(archive).read_file(name) for name in ("w", "top.py")] == [b"viewed", b"read"]


def test_what_lies_in_no_package_with_an_init_is_listed() -> None:
    tree = {**TREE, "words.txt": "w", "data/a/b.txt": "b", "pkg/more.txt": "m", ".data/extra": "e"}
    tree |= {"space/words.txt": "s", "gone/words.txt": "g"}
    leaf, data = "space/below/leaf.py", ["words.txt", "data/a/b.txt", "space/words.txt", "gone/words.txt"]
    assert code_of(tree).files_of_no_package() == [leaf, *data]


def test_a_parent_without_a_record_is_a_namespace_package() -> None:
    code = code_of()
    found = {name: (one.action, one.rule, one.entry, one.is_package) for name, one in code.modules.items()}
    namespace = ("intern", "namespace package", None, True)
    assert (found["space"], found["space.below"], found["gone"]) == (namespace,) * 3
    assert code.modules["space.below"].because == "it is the folder of space.below.leaf"
    assert set(found) == {"top", "pkg", "space", "space.below", "space.below.leaf", "gone", "gone.below"}
    assert [one.name for one in code.children("space")] == ["space.below"]
    assert [one.name for one in code.children("")] == ["gone", "pkg", "space", "top"]
    assert code.children("none") == []


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("pkg.data", True),
        ("pkg", True),
        ("pkg.none", False),
        ("none", False),
        ("gone.below", False),
        ("", False),
    ],
)
def test_a_folder_of_resources_inside_a_stored_package(name: str, is_one: bool) -> None:
    found = code_of().resource_folder(name)
    assert (found is not None) is is_one
    if found is not None:
        assert (found.name, found.action, found.entry, found.is_package) == (name, "intern", None, True)


def test_folders_and_entries_by_path() -> None:
    code = code_of()
    assert code.folder("pkg") == {"__init__.py": "pkg/__init__.py", "data": {"a.txt": "pkg/data/a.txt"}}
    assert set(code.folder("") or ()) == {"top.py", "pkg", "space", "net-1.0.dist-info"}
    assert [code.folder(path) for path in ("top.py", "none", "pkg/data/a.txt", "top.py/x")] == [None] * 4
    assert [code.entry_at(path) for path in ("top.py", "pkg/data/a.txt", "pkg/data", "none/x", "none")] == [
        "top.py",
        "pkg/data/a.txt",
        None,
        None,
        None,
    ]
    assert code.metadata_folders() == ["net-1.0.dist-info"]


def test_a_closed_one_knows_nothing_and_a_released_one_reads_what_was_opened_again() -> None:
    code = code_of()
    assert (code.read("top.py"), code.source_digest("space")) == (b"x = 1\n", None)
    code.release(again=lambda: code_of({**TREE, "top.py": "x = 2\n"}))
    assert "top" in code.modules
    assert code.read("top.py") == code.read_file("top.py") == b"x = 2\n"
    code.close()
    assert (code.modules, code.children(""), code.folder("pkg"), code.metadata_folders()) == (
        {},
        [],
        None,
        [],
    )
    later = code_of()
    later.close()
    assert later.folder("pkg") is None


# --- what may be imported ---

RULES: dict[str, tuple[str, str | None]] = {
    "an own name": ("pkg", "pkg__w1"),
    "below an own name": ("pkg.sub.leaf", "pkg__w1.sub.leaf"),
    "a mocked one": ("gone.below", "gone__w1.below"),
    "a declared one": ("numpy.fft", "numpy.fft"),
    "the library": ("json.decoder", "json.decoder"),
    "its own in this process": ("pkg__w1.sub", "pkg__w1.sub"),
    "the script": ("__main__", "__main__"),
    "no name": ("", ""),
    "another": ("scipy.linalg", None),
    "an own name's ending": ("xpkg", None),
    "one of another archive": ("pkg__w2", None),
}


@pytest.mark.parametrize(("name", "found"), RULES.values(), ids=RULES.keys())
def test_a_name_is_called_in_this_process_as_its_owner_says(name: str, found: str | None) -> None:
    rules = ImportRules(code_of(), "__w1", "error")
    if found is not None:
        assert rules.in_process(name) == found
        return
    with pytest.raises(UndeclaredImportError) as refused:
        rules.in_process(name)
    top = name.partition(".")[0]
    assert (refused.value.name, refused.value.module) == (top, name)
    assert str(refused.value).startswith(f"packaged code imports {name!r}, but {top!r} is not in the archive")
    assert ImportRules(code_of(), "__w1", "allow").in_process(name) == name


def test_an_installed_archive_takes_no_name_for_its_own_by_how_it_ends() -> None:
    rules = ImportRules(code_of(), "", "error")
    assert rules.in_process("pkg.sub") == "pkg.sub"
    with pytest.raises(UndeclaredImportError):
        rules.in_process("scipy")


@pytest.mark.parametrize(
    ("package", "found"), [("pkg.sub", "pkg__w1.sub"), ("scipy.sub", "scipy.sub"), ("pkgs", "pkgs")]
)
def test_relative_names_start_from_what_a_package_is_called(package: str, found: str) -> None:
    assert ImportRules(code_of(), "__w1", "error").package_in_process(package) == found
