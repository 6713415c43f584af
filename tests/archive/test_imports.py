"""Section 5.4: stored modules that an object imports first, believed only where they are stored."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import EntryRecord, ImportsRecord, Manifest, ModuleRecord, ObjectRecord, TypeUse
from packager._archive.manifest import dump_manifest, load_manifest
from packager._cli import main
from packager._exporting import Export
from packager._loading.packaged_code import DisallowedModuleError
from packager.errors import ArchiveError
from tests.tables import one_test

HELD = Manifest(
    modules=(
        ModuleRecord("net", "intern", "r", "b", "net.py"),
        ModuleRecord("numpy", "extern", "r", "b"),
        ModuleRecord("plugin", "intern", "r", "b", "plugin.py"),
    ),
    objects=(ObjectRecord("model", "model", ".data/o", types=(TypeUse("net:Net", "create"),)),),
    imports=(ImportsRecord("model", "model", ("plugin",)),),
    entries=tuple(EntryRecord(name, "source", 3, 1, b"1234", b"s" * 32) for name in ("net.py", "plugin.py")),
)


def test_imports_survive_the_way_through_bytes() -> None:
    loaded = load_manifest(dump_manifest(HELD)).open()
    assert loaded.imports == HELD.imports
    assert (loaded.imports_of("model", "model"), loaded.imports_of("model", "other")) == (("plugin",), ())


def test_without_any_the_bytes_are_as_they_were() -> None:
    assert b"imports" not in dump_manifest(replace(HELD, imports=()))


@one_test
@pytest.mark.parametrize(
    ("record", "message"),
    [
        (ImportsRecord("model", "other", ("plugin",)), "object model/other is not in the archive"),
        (ImportsRecord("model", "model", ("numpy",)), "model/model imports numpy; expected stored modules"),
        (
            ImportsRecord("model", "model", ("plugin", "os")),
            "model/model imports os; expected stored modules",
        ),
        (ImportsRecord("model", "model", ()), "model/model imports nothing; expected modules, each once"),
        (ImportsRecord("model", "model", ("net", "net")), "imports net, net; expected modules, each once"),
    ],
)
def test_what_is_not_stored_is_not_imported(record: ImportsRecord, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        load_manifest(dump_manifest(replace(HELD, imports=(record,)))).open()


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(
        ArchiveError, match=r"imports, modules of row 0: found 'a b'; expected a string, the dotted"
    ):
        dump_manifest(replace(HELD, imports=(ImportsRecord("model", "model", ("a b",)),)))


# --- loading ---

NET = "import registry\nclass Net:\n    def __call__(self): return registry.KINDS\n"


def written(monkeypatch: pytest.MonkeyPatch, saved: object, names: tuple[str, ...] = ("plugin",)) -> bytes:
    """Write an archive whose object imports modules first, as a proof would."""
    plain = Export.plan

    def plan(export: Export) -> object:
        record = ImportsRecord("model", "model", names)
        return replace(plain(export), imports=(record,))

    file = io.BytesIO()
    exporter = PackageExporter(file, policy="auto", prove=False)
    exporter.save_source_string("registry", "KINDS = []\n")
    exporter.save_source_string("plugin", "import registry\nregistry.KINDS.append('plugin')\n")
    exporter.save_object("model", "model", saved)
    monkeypatch.setattr(Export, "plan", plan)
    exporter.close()
    monkeypatch.undo()
    return file.getvalue()


@pytest.fixture
def net(project: Callable[..., Path]) -> object:
    project({"net.py": NET, "registry.py": "KINDS = []\n"})
    import net

    return net.Net()


def test_they_are_imported_before_the_object_is_built(monkeypatch: pytest.MonkeyPatch, net: object) -> None:
    with PackageImporter(written(monkeypatch, net)) as importer:
        assert importer.load_object("model", "model")() == ["plugin"]


def test_they_are_admitted_or_the_object_is_refused(monkeypatch: pytest.MonkeyPatch, net: object) -> None:
    data = written(monkeypatch, net)
    with (
        PackageImporter(data, module_allowed=lambda name: name != "plugin") as importer,
        pytest.raises(DisallowedModuleError, match="object model/model brings code of the module 'plugin'"),
    ):
        importer.load_object("model", "model")
    assert importer.modules == {}


def test_an_object_that_is_data_alone_imports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArchiveError, match=r"model/model is data alone, but imports plugin\."):
        written(monkeypatch, {"layers": [8, 8]})


def test_they_are_shown_by_the_commands(
    monkeypatch: pytest.MonkeyPatch, net: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, page = (str(tmp_path / name) for name in ("a.kellet", "b.kellet", "a.html"))
    Path(first).write_bytes(written(monkeypatch, net))
    Path(second).write_bytes(written(monkeypatch, net, ("registry", "plugin")))
    assert main(["verify", first]) == 0
    assert main(["inspect", first]) == 0
    told = r"imported before an object is loaded.*\n(.*\n)*.*model/model +plugin\n"
    assert re.search(told, capsys.readouterr().out)
    assert main(["diff", first, second]) == 1
    assert re.search(r"imports:\n  ~ model/model: plugin -> registry, plugin\n", capsys.readouterr().out)
    assert main(["report", first, "-o", page]) == 0
    assert "imported before an object is loaded" in Path(page).read_text()
