"""Names that are not seen, or look like others, are refused in archives and plans; any script is not."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveReader, Manifest, ModuleRecord, name_problems
from packager._archive.entry_names import check_names
from packager._archive.manifest import dump_manifest
from packager._names import InvalidNameError, check_module_name, check_resource_name
from packager.errors import ArchiveError, PackagingError
from tests.tables import one_test

HIDDEN_ONES = [
    "\u200b",
    "\u200d",
    "\u2060",
    "\u00ad",
    "\u061c",
    "\u202e",
    "\u2066",
    "\ufe0f",
    "\u3164",
    "\U000e0041",
]


@one_test
@pytest.mark.parametrize("hidden", HIDDEN_ONES, ids=ascii)
def test_what_is_not_seen_is_in_no_name(hidden: str, forger: Any) -> None:
    with pytest.raises(InvalidNameError, match="no file can be called so everywhere"):
        check_module_name(f"torc{hidden}h.nn")
    with pytest.raises(InvalidNameError, match="no file can be called so everywhere"):
        check_resource_name(f"wei{hidden}ghts.csv")
    data = forger(entries=[(f"net/x{hidden}.py", "source", 1, b"")]).build()
    with pytest.raises(ArchiveError, match="this name is not allowed in an archive") as caught:
        ArchiveReader(data)
    assert hidden not in str(caught.value)
    with pytest.raises(ArchiveError, match="the dotted name of a module"):
        dump_manifest(Manifest(modules=(ModuleRecord(f"n{hidden}et", "mock", "r", "b"),)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("net/\ufb01lter.py", "net/filter.py"),
        ("net/x\u00b2.csv", "net/x2.csv"),
        ("net/\uff4eet.py", "net/net.py"),
        ("net/\u2126.txt", "net/\u03c9.txt"),
        ("ne\u017f/a.txt", "nes/b.txt"),
    ],
    ids=ascii,
)
def test_two_entries_that_are_normalised_alike_are_refused(one: str, other: str, forger: Any) -> None:
    data = forger(entries=[(name, "resource", 1, b"") for name in sorted((one, other))]).build()
    with pytest.raises(ArchiveError, match=r"look alike|this name is not allowed"):
        ArchiveReader(data)
    assert [problem[0] for problem in name_problems([one, other])] != []
    check_names([other])


def test_a_module_is_called_as_python_imports_it() -> None:
    with pytest.raises(InvalidNameError, match="Python imports it as 'filter'; rename the module so"):
        check_module_name("\ufb01lter")
    with pytest.raises(ArchiveError, match="the dotted name of a module"):
        dump_manifest(Manifest(modules=(ModuleRecord("\ufb01lter", "mock", "r", "b"),)))
    assert check_module_name("größe.模型.ёлка") == "größe.模型.ёлка"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    def make(name: str, *files: str) -> str:
        (tmp_path / name).mkdir()
        for file in ("__init__.py", *files):
            (tmp_path / name / file).write_text("")
        monkeypatch.syspath_prepend(str(tmp_path))
        return name

    return make


def test_the_plan_says_which_files_cannot_be_stored(package: Callable[..., str]) -> None:
    name = package("oddfiles", "a\u200bb.txt", "x\u00b2.txt", "x2.txt", "good.txt")
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.intern("oddfiles.**")
    exporter.save_module(name)
    problems = exporter.plan().problems
    assert {one.reason for one in problems} == {
        "Name of a file cannot stand in an archive, alone or beside another name."
    }
    assert [ascii(one.subject) for one in problems] == [r"'oddfiles/a\u200bb.txt'", r"'oddfiles/x\xb2.txt'"]
    assert "\u200b" not in str(exporter.plan())
    with pytest.raises(PackagingError, match="Name of a file cannot stand in an archive"):
        exporter.close()


def test_letters_of_any_script_are_stored_and_loaded(package: Callable[..., str]) -> None:
    file, name = io.BytesIO(), package("honestfiles", "größe.txt", "模型.csv", "слой.py")
    keys = ["größe", "模型.weight", "слой.0", "é", "naïve", "ﬁrst", "zero\u200bwidth"]
    with PackageExporter(file, prove=False) as exporter:
        exporter.intern("honestfiles.**")
        exporter.save_module(name)
        exporter.save_state_dict("honestfiles", "w", {key: np.full(2, n) for n, key in enumerate(keys)})
    with PackageImporter(file.getvalue()) as importer:
        assert importer.load_text("honestfiles", "größe.txt") == ""
        state = importer.load_state_dict("honestfiles", "w")
        assert {key: int(state[key][0]) for key in state} == {key: n for n, key in enumerate(keys)}
        with pytest.raises(KeyError) as caught:
            state["no\u200bkey"]
        assert "\u200b" not in str(caught.value)
        assert importer.import_module("honestfiles").__name__.startswith("honestfiles")
