"""Scans are kept by the digest of the source; whatever happens to the files, the answer stays right."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgpack
import pytest

from packager._graph import Closure, Sources, WalkDecision, source_table
from packager._graph.import_statements import Statements, read_statements
from packager._graph.source_table import ScanCache
from packager._kept_file import Kept

Tree = Callable[[str], Path]

DIGEST = "00ff" * 16
TEXT = """
== pkg/__init__.py
import sys
from .a import *
if sys.version_info >= (3, 8):
    from .b import Net
class Sub(Net):
    def go(self):
        import json
        return open("x.csv")
== pkg/a.py
__all__ = ["x"]
x = __import__("colorsys")
== pkg/b.py
class Net: pass
"""


def walked(root: Path, cache: ScanCache | None) -> list[str]:
    walk = Closure(
        lambda name, edges: WalkDecision(name.startswith("pkg")), sources=Sources([str(root)]), cache=cache
    )
    walk.add_root("pkg")
    walk.run()
    return [*walk.modules, *map(str, walk.edges)]


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_scan_comes_back_as_it_was(tmp_path: Path) -> None:
    cache = ScanCache(tmp_path)
    for source in (
        TEXT.partition("== pkg/a.py")[0].partition("__init__.py\n")[2],
        "__all__ = ['a'] + b.__all__\ntable = {'x': '.y'}\ndef __getattr__(n): pass\n",
    ):
        scan = read_statements(source.encode())
        assert scan.error is None
        digest = hashlib.sha256(source.encode()).hexdigest()
        cache.put(digest, scan)
        cache.flush()
        assert cache.get(digest) == scan
        assert ScanCache(tmp_path).get(digest) == scan


def test_a_second_walk_parses_nothing(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(TEXT)
    first = walked(root, ScanCache(tmp_path / "cache"))

    def refuse(source: bytes) -> Statements:
        raise AssertionError("parsed again")

    monkeypatch.setattr(source_table, "read_statements", refuse)
    assert walked(root, ScanCache(tmp_path / "cache")) == first
    (root / "pkg" / "b.py").write_text("class Net: 1\n")
    with pytest.raises(AssertionError, match="parsed again"):
        walked(root, ScanCache(tmp_path / "cache"))


@pytest.mark.parametrize("damage", [b"", b"\x00", b"\xc1", b"not msgpack at all", b"\x92\xa1x\x90"])
def test_damaged_files_are_read_anew(tree: Tree, tmp_path: Path, damage: bytes) -> None:
    root = tree(TEXT)
    cache = ScanCache(tmp_path / "cache")
    first = walked(root, cache)
    for path in files(tmp_path / "cache"):
        path.write_bytes(damage)
    assert walked(root, ScanCache(tmp_path / "cache")) == first
    assert all(path.read_bytes() != damage for path in files(tmp_path / "cache"))


def test_a_scan_of_the_wrong_shape_is_not_taken(tmp_path: Path) -> None:
    cache = ScanCache(tmp_path)
    cache.put(DIGEST, read_statements(b"import a"))
    cache.flush()
    (path,) = files(tmp_path)
    odd = msgpack.packb([None, [[1]], [], [], [], {}, None, None, [], False, False])
    path.write_bytes(Kept(bytes.fromhex(DIGEST), odd).packed())
    assert ScanCache(tmp_path).get(DIGEST) is None


def test_a_folder_that_cannot_be_written_is_left_alone(tree: Tree, tmp_path: Path) -> None:
    root = tree(TEXT)
    (tmp_path / "file").write_text("in the way")
    assert walked(root, ScanCache(tmp_path / "file" / "cache")) == walked(root, None)


def test_nothing_half_written_stays_behind(tree: Tree, tmp_path: Path) -> None:
    walked(tree(TEXT), ScanCache(tmp_path / "cache"))
    assert len(files(tmp_path / "cache")) == 1


def test_a_syntax_error_is_not_kept(tree: Tree, tmp_path: Path) -> None:
    walked(tree("== pkg/__init__.py\ndef (:\n"), ScanCache(tmp_path / "cache"))
    assert files(tmp_path / "cache") == []


def test_the_users_scans_lie_where_the_cache_variable_says(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    walked(tree("== pkg/__init__.py\nimport json\n"), ScanCache())
    assert len(files(tmp_path / "own" / "scans")) == 1
    assert not (tmp_path / "xdg").exists()


def test_a_user_without_a_home_keeps_no_scans(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KELLET_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as where no home is known
    cache = ScanCache()
    walked(tree("== pkg/__init__.py\nimport json\n"), cache)
    assert cache.get(DIGEST) is None
