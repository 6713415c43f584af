"""`find_spec` of what is installed and not imported: the archive answers as at its export."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from packager._loading.opening import EnvironmentWarning
from packager.errors import EnvironmentMismatchError
from packager.package_exporter import PackageExporter
from packager.package_importer import PackageImporter

PROBES = {
    "find_spec": "from importlib.util import find_spec\nHAS = find_spec('nolib') is not None\n",
    "importlib.util.find_spec": "import importlib.util\nHAS = bool(importlib.util.find_spec('nolib'))\n",
    "util.find_spec, in a function": """
from importlib import util
def look():
    return bool(util.find_spec("nolib"))
HAS = look()
""",
}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with an installed distribution that nothing imports."""
    folder = tmp_path / "site-packages"
    info = folder / "no_lib-1.2.0.dist-info"
    info.mkdir(parents=True)
    (folder / "nolib.py").write_text("raise RuntimeError('it was imported')\n", encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: no-lib\nVersion: 1.2.0\n", encoding="utf-8")
    (info / "RECORD").write_text("nolib.py,,\nno_lib-1.2.0.dist-info/METADATA,,\n", encoding="utf-8")
    return folder


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Export a module of one text, with a policy."""
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    (project := tmp_path / "project").mkdir()
    monkeypatch.syspath_prepend(str(project))

    def pack(text: str, policy: str = "auto") -> Path:
        path = tmp_path / "probing.kellet"
        (project / "probing.py").write_text(text, encoding="utf-8")
        with PackageExporter(path, policy=policy) as exporter:
            exporter.save_module("probing")
        return path

    return pack


@pytest.mark.parametrize("text", PROBES.values(), ids=PROBES)
def test_what_was_found_at_the_export_is_found_again(library, pack, monkeypatch, text):
    monkeypatch.syspath_prepend(str(library))
    with PackageImporter(pack(text), environment="error") as importer:
        assert importer.import_module("probing").HAS is True
    assert "nolib" not in sys.modules


@pytest.mark.parametrize("text", PROBES.values(), ids=PROBES)
def test_what_is_gone_is_told_before_code_runs(library, pack, monkeypatch, text):
    with monkeypatch.context() as here:
        here.syspath_prepend(str(library))
        path = pack(text)
    told = r"no-lib: recorded 1\.2\.0 \(no-lib>=1\.2\.0,<2\), optional, found nothing"
    with pytest.raises(EnvironmentMismatchError, match=told):
        PackageImporter(path, environment="error").import_module("probing")
    with PackageImporter(path) as importer:
        with pytest.warns(EnvironmentWarning, match=told):
            module = importer.import_module("probing")
        assert module.HAS is False


def test_what_was_absent_is_neither_asked_for_nor_found(library, pack, monkeypatch):
    path = pack(PROBES["find_spec"])
    monkeypatch.syspath_prepend(str(library))
    with warnings.catch_warnings(), PackageImporter(path, environment="error") as importer:
        warnings.simplefilter("error")
        assert importer.import_module("probing").HAS is False


def test_a_probe_is_no_import_that_a_strict_policy_asks_a_rule_for(library, pack, monkeypatch):
    monkeypatch.syspath_prepend(str(library))
    with PackageImporter(pack(PROBES["find_spec"], "strict")) as importer:
        assert "nolib" not in [record.name for record in importer.manifest.externs]
        assert importer.import_module("probing").HAS is False


def test_our_own_packages_are_found_too(pack):
    text = "from importlib.util import find_spec\nFOUND = [find_spec('packager'), find_spec('kellet')]\n"
    with PackageImporter(pack(text)) as importer:
        assert None not in importer.import_module("probing").FOUND


def test_an_import_in_a_function_beside_it_is_as_optional(library, pack, monkeypatch):
    monkeypatch.syspath_prepend(str(library))
    text = PROBES["find_spec"] + "def use():\n    import nolib\n    return nolib\n"
    with PackageImporter(pack(text)) as importer:
        (record,) = [one for one in importer.manifest.externs if one.name == "nolib"]
    assert record.optional is True
