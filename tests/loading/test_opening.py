"""What is asked before an archive is opened, and of the environment; which archives are announced."""

from __future__ import annotations

import importlib.metadata
import io
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from packager import PackageExporter, PackageImporter
from packager import _names as names_of_modules
from packager._archive import ExternRecord, Manifest, ModuleRecord
from packager._loading import open_archives, opening
from packager._loading.open_archives import _announced, loaded_archive_of
from packager._loading.opening import EnvironmentWarning, check_environment, check_externs_allowed
from packager._loading.packaged_code import DisallowedModuleError
from packager.errors import EnvironmentMismatchError

EXTERNS = Manifest(
    modules=(
        ModuleRecord("shop", "intern", "r", "b", "shop.py"),
        ModuleRecord("numpy.linalg", "extern", "r", "b"),
        ModuleRecord("yaml.loader", "extern", "r", "b"),
        ModuleRecord("yaml.dumper", "extern", "r", "b"),
        ModuleRecord("attr", "extern", "r", "b"),
        ModuleRecord("gone", "mock", "r", "b"),
    ),
    externs=(ExternRecord("numpy", "installed"), ExternRecord("torch.nn", "installed")),
)


def test_what_code_may_import_is_asked_by_its_first_part_behind_what_it_needs() -> None:
    asked: list[str] = []
    check_externs_allowed(EXTERNS, lambda name: not asked.append(name), "net.kellet")  # type: ignore[func-returns-value]  # None
    assert asked == ["numpy", "torch.nn", "attr", "yaml"]


@pytest.mark.parametrize(
    ("refused", "said"),
    [({"yaml"}, "module 'yaml', but module_allowed"), ({"numpy", "attr"}, "modules 'numpy', 'attr', but")],
)
def test_refused_externs_are_told_together(refused: set[str], said: str) -> None:
    with pytest.raises(
        DisallowedModuleError,
        match=rf"^package 'net\.kellet' needs the external {said} .* \(disallowed\)",
    ):
        check_externs_allowed(EXTERNS, lambda name: name not in refused, "net.kellet")


class Report:
    """The differences of an environment: some, and perhaps something that is missing."""

    differences = ("numpy",)

    def __init__(self, differs: bool, missing: bool) -> None:
        self.differs, self.missing = differs, missing

    def __bool__(self) -> bool:
        return self.differs

    def __str__(self) -> str:
        return "it differs"


@pytest.mark.parametrize(
    ("choice", "differs", "missing", "outcome"),
    [
        ("warn", False, False, ""),
        ("warn", True, False, "warns"),
        ("warn", True, True, "raises"),
        ("error", False, False, ""),
        ("error", True, False, "raises"),
        ("error", True, True, "raises"),
        ("ignore", True, True, "not asked"),
    ],
)
def test_an_environment_that_differs_is_told_as_the_caller_chose(
    monkeypatch: pytest.MonkeyPatch, choice: str, differs: bool, missing: bool, outcome: str
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        opening,
        "environment_report",
        lambda manifest, **_: asked.append(manifest) or Report(differs, missing),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if outcome == "raises":
            with pytest.raises(EnvironmentMismatchError) as raised:
                check_environment(EXTERNS, choice, "net.kellet")
            assert str(raised.value) == (
                'net.kellet: it differs\nor load with environment="ignore" to try anyway'
            )
        else:
            check_environment(EXTERNS, choice, "net.kellet")
    assert [(one.category, str(one.message)) for one in caught] == (
        [(EnvironmentWarning, "net.kellet: it differs")] if outcome == "warns" else []
    )
    assert asked == ([] if outcome == "not asked" else [EXTERNS])


@pytest.mark.parametrize(("environment", "when"), [("error", "opened"), ("warn", "imported"), ("ignore", "")])
def test_the_environment_is_compared_when_it_matters_first(
    small: bytes, monkeypatch: pytest.MonkeyPatch, environment: Any, when: str
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        opening, "check_environment", lambda manifest, choice, what, **_: asked.append(choice)
    )
    with PackageImporter(small, environment=environment) as importer:
        assert asked == [environment] * (when == "opened")
        importer.import_module("openpkg")
        assert asked == [environment] * bool(when)


# --- who is announced ---


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bytes:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_source_string("openpkg", "x = 1\n")
    return file.getvalue()


def in_a_file(data: bytes, folder: Path) -> Any:
    (folder / "net.kellet").write_bytes(data)
    return folder / "net.kellet"


def in_a_folder(data: bytes, folder: Path) -> Any:
    import zipfile

    zipfile.ZipFile(io.BytesIO(data)).extractall(folder / "net")
    return folder / "net"


@pytest.mark.parametrize(
    ("place", "announced"),
    [(in_a_file, True), (in_a_folder, True), (lambda data, folder: io.BytesIO(data), False)],
    ids=["file", "folder", "stream"],
)
def test_what_can_be_opened_again_is_announced_until_it_is_closed(
    small: bytes, tmp_path: Path, place: Callable[[bytes, Path], Any], announced: bool
) -> None:
    with PackageImporter(place(small, tmp_path)) as importer:
        top = importer.import_module("openpkg").__name__
        assert (top in _announced()) is announced
        assert loaded_archive_of(top) is not None
    assert top not in _announced()
    assert loaded_archive_of(top) is None


def test_a_pipe_is_not_announced(small: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    with PackageImporter(io.BytesIO(small)) as importer:
        options = SimpleNamespace(**{**vars(importer._opened.options), "path": str(tmp_path / "pipe")})
        monkeypatch.setattr(importer._opened, "options", options)
        assert importer.import_module("openpkg").__name__ not in _announced()


def test_a_suffix_is_one_that_no_open_archive_has(monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(["__w1_0", "__w1_1", "__w1_2"])
    monkeypatch.setattr(
        names_of_modules, "PackageMangler", lambda identity: SimpleNamespace(parent_name=lambda: next(names))
    )
    taken = {"b__w1_0", "a__w1_1", "c__w1_2"}
    monkeypatch.setattr(open_archives, "loaded_archive_of", lambda top: top if top in taken else None)
    assert opening._free_suffix("1", frozenset("ab")) == "__w1_2"


# --- distributions ---

METADATA = {
    "pkg/__init__.py": "",
    "Some_Net-1.5.dist-info/METADATA": "Metadata-Version: 2.1\nName: Some-Net\nVersion: 1.5\n",
    "other-2.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: other\nVersion: 2.0\n",
}


def test_an_installed_archive_shows_its_distributions_to_the_library(pack: Callable[..., Any]) -> None:
    for installed, expected in ((True, ["1.5"]), (False, [])):
        loaded = pack(METADATA, installed=installed)
        found = importlib.metadata.distributions(name="Some_Net")
        assert [one.version for one in found] == expected
        loaded.close()
