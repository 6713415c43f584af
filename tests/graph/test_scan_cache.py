"""Scans are kept by the digest of the source; whatever happens to the files, the answer stays right."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgpack
import pytest

from packager.graph import Closure, Sources, WalkDecision, scan_cache, source_table
from packager.graph.import_statements import Statements, read_statements
from packager.graph.scan_cache import ScanCache

Tree = Callable[[str], Path]

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
        cache.put("00ff", scan)
        assert cache.get("00ff") == scan
        cache.flush()
        assert ScanCache(tmp_path).get("00ff") == scan


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


def test_a_scan_under_another_digest_is_not_taken(tmp_path: Path) -> None:
    cache = ScanCache(tmp_path)
    cache.put("aa01", read_statements(b"import a"))
    cache.flush()
    (path,) = files(tmp_path)
    path.rename(path.with_name("aa02"))
    assert ScanCache(tmp_path).get("aa02") is None


def test_a_scan_of_the_wrong_shape_is_not_taken(tmp_path: Path) -> None:
    cache = ScanCache(tmp_path)
    cache.put("aa01", read_statements(b"import a"))
    cache.flush()
    (path,) = files(tmp_path)
    path.write_bytes(msgpack.packb(["aa01", [None, [[1]], [], [], [], {}, None, None, [], False, False]]))
    assert ScanCache(tmp_path).get("aa01") is None


def test_a_folder_that_cannot_be_written_is_left_alone(tree: Tree, tmp_path: Path) -> None:
    root = tree(TEXT)
    (tmp_path / "file").write_text("in the way")
    assert walked(root, ScanCache(tmp_path / "file" / "cache")) == walked(root, None)


def test_nothing_half_written_stays_behind(tree: Tree, tmp_path: Path) -> None:
    walked(tree(TEXT), ScanCache(tmp_path / "cache"))
    assert len(files(tmp_path / "cache")) == 3
    assert {len(path.name) for path in files(tmp_path / "cache")} == {64}


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
    assert cache.get("5e1f") is None


MANY = "== pkg/__init__.py\n" + "".join(f"from . import m{number}\n" for number in range(20))
MANY += "".join(f"== pkg/m{number}.py\nx = {number}\n" for number in range(20))


def test_many_scans_are_kept_in_one_bundle(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree(MANY)
    first = walked(root, ScanCache(tmp_path / "cache"))
    bundle, places = files(tmp_path / "cache")
    assert (bundle.parent.name, places.name) == ("bundles", f"{bundle.name}.places")
    parsed: list[bytes] = []

    def read(source: bytes) -> Statements:
        parsed.append(source)
        return read_statements(source)

    monkeypatch.setattr(source_table, "read_statements", read)
    assert walked(root, ScanCache(tmp_path / "cache")) == first
    assert parsed == []
    (root / "pkg/m3.py").write_text("x = 'three'\n")
    assert walked(root, ScanCache(tmp_path / "cache")) == first
    assert parsed == [b"x = 'three'\n"]
    assert len(files(tmp_path / "cache")) == 3  # a single one is a file by itself


@pytest.mark.parametrize("damaged", [0, 1])
@pytest.mark.parametrize("damage", [b"", b"\xc1", b"\x80", b"\x81\xa1x\x92\x00\x01", None])
def test_a_damaged_bundle_is_made_anew(
    tree: Tree, tmp_path: Path, damage: bytes | None, damaged: int
) -> None:
    root = tree(MANY)
    first = walked(root, ScanCache(tmp_path / "cache"))
    before = {path: path.read_bytes() for path in files(tmp_path / "cache")}
    if damage is None:
        files(tmp_path / "cache")[damaged].unlink()
    else:
        files(tmp_path / "cache")[damaged].write_bytes(damage)
    assert walked(root, ScanCache(tmp_path / "cache")) == first
    assert {path: path.read_bytes() for path in files(tmp_path / "cache")} == before


def test_a_scan_that_a_bundle_has_under_another_digest_is_not_taken(tmp_path: Path) -> None:
    cache = ScanCache(tmp_path)
    for number in range(20):
        cache.put(f"aa{number}", read_statements(f"import a{number}".encode()))
    cache.flush()
    kept = ScanCache(tmp_path).get("aa7")
    assert kept is not None
    assert [one.module for one in kept.imports] == ["a7"]
    _, places = files(tmp_path)
    found = msgpack.unpackb(places.read_bytes())
    found["aa7"], found["aa8"] = found["aa8"], found["aa7"]
    places.write_bytes(msgpack.packb(found))
    assert ScanCache(tmp_path).get("aa7") is None
    assert ScanCache(tmp_path).get("aa9") is not None


def test_the_oldest_bundles_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_cache, "_MOST_BUNDLES", 2)
    for bundle in range(4):
        cache = ScanCache(tmp_path)
        for number in range(20):
            cache.put(f"a{bundle}-{number}", read_statements(f"import a{bundle}{number}".encode()))
        cache.flush()
        for path in files(tmp_path):
            if path.stat().st_mtime > 1e9:  # the new ones
                os.utime(path, (bundle, bundle))
    kept = ScanCache(tmp_path)
    assert [bundle for bundle in range(4) if kept.get(f"a{bundle}-1") is not None] == [2, 3]
    assert len(files(tmp_path)) == 4
