"""What is saved lies in the archive where it was asked to, and nothing is left when that fails."""

from __future__ import annotations

import errno
import io
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter, PackageImporter, PackagingError
from packager._archive import ArchiveReader, verify
from tests import processes

Project = Callable[[Mapping[str, str]], Path]


def entries(file: io.BytesIO | Path) -> dict[str, str]:
    """Names of the entries that are not the format's own, with their kinds."""
    with ArchiveReader(file) as reader:
        assert verify(reader).ok
        return {
            entry.name: entry.kind for entry in reader.manifest.entries if not entry.name.startswith(".data/")
        }


def test_modules_lie_at_their_own_path(project: Project, tmp_path: Path) -> None:
    project({"a/__init__.py": "import json", "a/b.py": "x = 1\n"})
    target = tmp_path / "out.kellet"
    with PackageExporter(target, policy="auto", prove=False) as exporter:
        exporter.save_module("a.b")
    assert entries(target) == {"a/__init__.py": "source", "a/b.py": "source"}
    with zipfile.ZipFile(target) as file:
        assert file.read("a/b.py") == b"x = 1\n"


def test_a_source_string_is_a_module_or_a_package() -> None:
    buffer = io.BytesIO()
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_source_string("net", "import math\n", is_package=True)
        exporter.save_source_string("net.layers", "x = 'ü'\n")
    assert entries(buffer) == {"net/__init__.py": "source", "net/layers.py": "source"}
    with PackageImporter(buffer) as importer:
        assert importer.import_module("net.layers").x == "ü"


def test_a_source_below_a_folder_without_module_makes_a_namespace() -> None:
    buffer = io.BytesIO()
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_source_string("foo.bar", "x = 1")
    assert entries(buffer) == {"foo/bar.py": "source"}
    with PackageImporter(buffer) as importer:
        assert importer.import_module("foo.bar").x == 1


def test_a_file_or_a_folder_may_be_stored_under_another_name(project: Project) -> None:
    folder = project({"one.py": "x = 1", "pkg/__init__.py": "from .sub import y", "pkg/sub.py": "y = 2"})
    buffer = io.BytesIO()
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_source_file("uno", folder / "one.py")
        exporter.save_source_file("other.name", str(folder / "pkg"))
    assert entries(buffer) == {
        "other/name/__init__.py": "source",
        "other/name/sub.py": "source",
        "uno.py": "source",
    }
    with PackageImporter(buffer) as importer:
        assert importer.import_module("other.name").y == 2
    with pytest.raises(FileNotFoundError):
        PackageExporter(io.BytesIO(), prove=False).save_source_file("x", folder / "absent.py")


def test_without_dependencies_nothing_that_a_module_imports_is_looked_at(project: Project) -> None:
    project({"app.py": "import one\n", "one.py": ""})
    buffer = io.BytesIO()
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_module("app", dependencies=False)
        exporter.save_source_string("text", "import nowhere", dependencies=False)
    assert entries(buffer) == {"app.py": "source", "text.py": "source"}
    with ArchiveReader(buffer) as reader:
        assert (reader.read("app.py"), reader.read("text.py")) == (b"import one\n", b"import nowhere")


def test_text_and_bytes_lie_under_their_package() -> None:
    buffer = io.BytesIO()
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_text("net.data", "words.txt", "größe")
        exporter.save_binary("net", "deep/raw.bin", bytearray(b"\x00\xff"))
    assert entries(buffer) == {"net/data/words.txt": "resource", "net/deep/raw.bin": "resource"}
    with PackageImporter(buffer) as importer:
        assert importer.load_text("net.data", "words.txt") == "größe"
        assert importer.load_binary("net", "deep/raw.bin") == b"\x00\xff"


def test_a_package_of_resources_can_be_imported_without_a_rule() -> None:
    buffer = io.BytesIO()
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_source_string("foo.bar", "import importlib.resources as r, words\nt = r.files(words)\n")
        exporter.save_text("words", "a.txt", "hello")
    with PackageImporter(buffer) as importer:
        assert (importer.import_module("foo.bar").t / "a.txt").read_text() == "hello"


@pytest.mark.parametrize(
    "save",
    [
        lambda exporter: exporter.save_text("p", "r", ""),
        lambda exporter: exporter.save_pickle("p", "r", 1),
        lambda exporter: exporter.save_object("p", "r", 1),
        lambda exporter: exporter.save_state_dict("p", "r", {}),
        lambda exporter: exporter.save_source_string("m", ""),
        lambda exporter: exporter.save_entry_point("model", "p", "r"),
        lambda exporter: exporter.save_example("model", {}),
    ],
)
def test_one_place_is_saved_to_once(save: Callable[[PackageExporter], Any]) -> None:
    exporter = PackageExporter(io.BytesIO(), prove=False)
    save(exporter)
    with pytest.raises(
        PackagingError, match=r"was already saved in this archive\. Save it once, or under another name"
    ):
        save(exporter)


@pytest.mark.parametrize(
    ("package", "resource"), [("p", "../x"), ("p", "/x"), ("p", ""), ("p..q", "x"), ("p", "a\\b")]
)
def test_names_that_no_archive_can_hold_are_refused_at_once(package: str, resource: str) -> None:
    with pytest.raises(ValueError, match=r"(resource|module) name"):
        PackageExporter(io.BytesIO(), prove=False).save_text(package, resource, "")


def test_wrong_arguments_are_told_at_once() -> None:
    exporter = PackageExporter(io.BytesIO(), prove=False)
    with pytest.raises(TypeError, match="did you perhaps mean to pass `__name__`"):
        exporter.save_module(pytest)  # type: ignore[arg-type]  # the wrong argument under test
    with pytest.raises(TypeError, match="config= without factory="):
        exporter.save_object("p", "r", 1, config={})
    with pytest.raises(
        TypeError, match="importer arg should be an Importer or a sequence of Importers, got int"
    ):
        PackageExporter(io.BytesIO(), importer=3, prove=False)  # type: ignore[arg-type]  # the wrong argument under test
    with pytest.raises(ValueError, match="unknown policy 'lenient'"):
        PackageExporter(io.BytesIO(), policy="lenient", prove=False)


def test_an_error_in_the_body_leaves_nothing_and_the_old_file_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "out.kellet"
    target.write_bytes(b"old")
    exporter = PackageExporter(target, prove=False)

    def body() -> None:
        with exporter:
            exporter.save_text("p", "r", "")
            raise ZeroDivisionError("in the body")

    with pytest.raises(ZeroDivisionError, match="in the body"):
        body()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(PackagingError, match="this exporter was ended by an error"):
        exporter.save_text("p", "s", "")


FULL = """
import resource, sys
import concurrent.futures.thread, numpy
from packager import ArchiveError, PackageExporter
exporter = PackageExporter(sys.argv[1], policy="auto")
exporter.save_text("data", "words.txt", "one two")
exporter.save_state_dict("model", "weights", {"w": numpy.zeros(20_000_000, "u1")})
exporter.plan()
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
try:
    exporter.close()
except ArchiveError as error:
    print(error.errno)
"""


def test_an_export_that_does_not_fit_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "out.kellet"
    target.write_bytes(b"old")
    done = processes.run(
        [sys.executable, "-c", FULL, str(target)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (f"{errno.EFBIG}\n", "")
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.kellet"]


def test_a_refused_export_leaves_nothing(project: Project, tmp_path: Path) -> None:
    project({"app.py": "import one", "one.py": ""})
    target = tmp_path / "new" / "out.kellet"
    target.parent.mkdir()
    exporter = PackageExporter(target, prove=False)
    exporter.save_module("app")
    with pytest.raises(PackagingError):
        exporter.close()
    assert list(target.parent.iterdir()) == []


def test_closing_writes_once_and_ends_the_exporter(tmp_path: Path) -> None:
    target = tmp_path / "out.kellet"
    exporter = PackageExporter(target, prove=False)
    exporter.save_text("p", "r", "x")
    exporter.close()
    written = target.stat().st_mtime_ns
    exporter.close()
    assert target.stat().st_mtime_ns == written
    with ArchiveReader(target) as reader:
        assert reader.identity == exporter.identity
    with pytest.raises(PackagingError, match=r"this exporter is closed\. Make a new PackageExporter"):
        exporter.intern("x")


def test_a_target_in_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="absent"):
        PackageExporter(tmp_path / "absent" / "out.kellet", prove=False)


def test_digests_are_those_that_were_asked_for(tmp_path: Path) -> None:
    import numpy

    target = tmp_path / "out.kellet"
    with PackageExporter(target, digests="crc", fsync=False, prove=False) as exporter:
        exporter.save_state_dict("p", "weights", {"w": numpy.ones(3)})
    with ArchiveReader(target) as reader:
        assert reader.manifest.digests == "crc"


def test_unique_ids_are_given_once() -> None:
    exporter = PackageExporter(io.BytesIO(), prove=False)
    assert [exporter.get_unique_id() for _ in range(3)] == ["0", "1", "2"]


def test_progress_is_told_in_modules_and_in_bytes(project: Project, tmp_path: Path) -> None:
    project({"net.py": "import json, csv\n"})
    steps: list[tuple[str, int, int]] = []
    exporter = PackageExporter(tmp_path / "out.kellet", policy="auto", prove=False)
    exporter.progress = lambda *step: steps.append(step)
    exporter.save_module("net")
    exporter.save_binary("p", "r", bytes(100_000))
    exporter.plan()
    assert steps == [("reading modules", count, 0) for count in (1, 2, 3)]
    exporter.close()
    step, done, total = steps[-1]
    assert step == "writing"
    assert done == total >= 100_000
