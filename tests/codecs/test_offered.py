"""That nothing installed offers codecs is only said where the library that finds distributions finds none."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from packager._codecs.library import GROUP, are_libraries_offered

POINTS = f"[other]\na = b\n\n[{GROUP}]\nmoney = outside:Money\n"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, alone on the path."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return tmp_path


@pytest.mark.parametrize("folder", ["a-1.dist-info", "A-1.DIST-INFO", "a.egg-info", "a-1.egg/EGG-INFO"])
def test_a_distribution_that_offers_codecs_is_seen_where_python_sees_it(path: Path, folder: str) -> None:
    info = path / folder
    info.mkdir(parents=True)
    if "EGG" in folder:
        sys.path.append(str(info.parent))
    (info / "METADATA").write_text("Name: a\n")
    assert not are_libraries_offered(sys.path)
    (info / "entry_points.txt").write_text("[console_scripts]\nrun = a:main\n")
    assert not are_libraries_offered(sys.path)
    assert not entry_points(group=GROUP)
    (info / "entry_points.txt").write_text(POINTS)
    assert are_libraries_offered(sys.path)
    assert [point.name for point in entry_points(group=GROUP)] == ["money"]


def test_in_a_zip_file_it_is_looked_for_by_python(path: Path) -> None:
    with zipfile.ZipFile(path / "all.zip", "w") as file:
        file.writestr("a-1.dist-info/entry_points.txt", POINTS)
    assert not are_libraries_offered(["", str(path), str(path / "absent")])
    assert are_libraries_offered([str(path / "all.zip")])


def test_a_finder_that_knows_distributions_is_asked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
            return None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert not are_libraries_offered([])
    monkeypatch.setattr(Finder, "find_distributions", lambda self, context: [], raising=False)
    assert are_libraries_offered([])
