"""Finding modules as Python does, importing nothing."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from packager._graph import Closure, Sources, WalkDecision
from tests.tables import one_test

Tree = Callable[[str], Path]


@pytest.mark.parametrize(
    ("files", "kind", "is_package", "file"),
    [
        (["m.py"], "source", False, "m.py"),
        (["m/__init__.py"], "source", True, "m/__init__.py"),
        (["m.py", "m/__init__.py"], "source", True, "m/__init__.py"),
        (["m.py", "m/x.py"], "source", False, "m.py"),
        (["m.abi3.so", "m.py"], "extension", False, "m.abi3.so"),
        (["m/__init__.abi3.so"], "extension", True, "m/__init__.abi3.so"),
        (["m.pyc"], "bytecode", False, "m.pyc"),
        (["m/x.py"], "namespace", True, "m"),
        (["m/x.csv"], "resources", True, "m"),
        (["n.py"], "missing", False, ""),
    ],
)
def test_a_name_is_found_where_python_finds_it(
    tmp_path: Path, files: list[str], kind: str, is_package: bool, file: str
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = Sources([str(tmp_path)]).find("m")
    assert (found.kind, found.is_package, found.file) == (kind, is_package, file)


def test_the_first_folder_of_the_path_wins_over_namespaces_before_it(tmp_path: Path) -> None:
    (tmp_path / "one" / "m").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "m.py").write_text("")
    assert Sources([str(tmp_path / "one"), str(tmp_path / "two")]).find("m").kind == "source"


def test_a_namespace_package_has_all_its_portions(tmp_path: Path) -> None:
    for portion, name in (("one", "a"), ("two", "b")):
        (tmp_path / portion / "m").mkdir(parents=True)
        (tmp_path / portion / "m" / f"{name}.py").write_text("")
    sources = Sources([str(tmp_path / "one"), str(tmp_path / "two")])
    assert sources.submodules("m") == ["m.a", "m.b"]
    assert sources.find("m.b").file == "m/b.py"


def test_code_in_zip_files_is_found_and_read(tmp_path: Path) -> None:
    archive = tmp_path / "lib.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("inside/pkg/__init__.py", "from . import sub\n")
        opened.writestr("inside/pkg/sub.py", "x = 1\n")
    sources = Sources([str(archive / "inside")])
    found = sources.find("pkg.sub")
    assert (found.kind, found.file) == ("zip", "pkg/sub.py")
    assert found.read is not None
    assert found.read() == b"x = 1\n"
    assert sources.submodules("pkg") == ["pkg.sub"]


def test_zipped_packages_are_followed_with_their_data(tmp_path: Path) -> None:
    archive = tmp_path / "lib.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("pkg/__init__.py", "from . import sub\n")
        opened.writestr("pkg/sub.py", "import pkgutil\ndata = pkgutil.get_data('pkg', 'table.csv')\n")
        opened.writestr("pkg/table.csv", "1,2\n")
    sources = Sources([str(archive)])
    closure = Closure(lambda name, _: WalkDecision(name.startswith("pkg")), sources=sources, cache=None)
    closure.add_root("pkg")
    closure.run()
    assert (closure.modules["pkg.sub"].kind, closure.modules["pkg.sub"].followed) == ("zip", True)
    (data,) = closure.data_files("pkg")
    assert (data.resource, data.kind, data.bytes, data.read()) == ("table.csv", "beside", 4, b"1,2\n")


class MemoryLoader(Loader):
    def get_source(self, name: str) -> str:
        return {"memory_pkg": "from . import part\n", "memory_pkg.part": "import json\n"}[name]

    def is_package(self, name: str) -> bool:
        return name == "memory_pkg"


class MemoryFinder(MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name in ("memory_pkg", "memory_pkg.part"):
            return ModuleSpec(name, MemoryLoader(), is_package=name == "memory_pkg")
        if name == "memory_odd":
            raise RuntimeError("a finder that fails")
        return None


def test_a_foreign_finder_is_asked_and_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, MemoryFinder()])
    sources = Sources()
    found = sources.find("memory_pkg.part")
    assert (found.kind, found.file) == ("loader", "memory_pkg/part.py")
    assert found.read is not None
    assert found.read() == b"import json\n"
    assert sources.find("memory_odd").kind == "missing"


def test_parts_of_the_interpreter_are_told_from_files() -> None:
    sources = Sources()
    assert sources.find("sys").kind == "builtin"
    assert sources.find("json.decoder").kind == "source"
    assert sources.find("os.path").kind == "unknown"
    assert sources.find("no.such.thing").kind == "missing"


@one_test
@pytest.mark.parametrize(
    "name", ["json", "json.tool", "xml.etree.ElementTree", "numpy", "numpy.linalg", "pytest"]
)
def test_what_is_found_is_what_python_would_import(name: str) -> None:
    spec = find_spec(name)
    assert spec is not None
    assert Sources().find(name).path == spec.origin


def test_nothing_is_imported_by_looking(tree: Tree) -> None:
    root = tree(
        "== pkg_never_run/__init__.py\nraise RuntimeError\n== pkg_never_run/sub.py\nraise RuntimeError\n"
    )
    assert Sources([str(root)]).find("pkg_never_run.sub").kind == "source"
    assert "pkg_never_run" not in sys.modules


def test_a_refresh_sees_new_files(tree: Tree) -> None:
    root = tree("== a.py\n")
    sources = Sources([str(root)])
    assert sources.find("b").kind == "missing"
    (root / "b.py").write_text("")
    assert sources.find("b").kind == "missing"
    sources.refresh()
    assert sources.find("b").kind == "source"
