"""A project as people lay it out, exported with its proof, and loaded in a fresh process without it."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter, PackagingWarning
from tests import processes

Project = Callable[[Mapping[str, str]], Path]

# Its own `colorsys`, settings in layers one package up, one of them naming a folder; files that inspect and
# the spec lead to, and a table in a sub-package that nothing imports.
STATION = {
    "colorsys.py": "SCALE = 3\n",
    "config/defaults.toml": 'unit = "C"\ntables = "tables"\n',
    "config/production.toml": 'unit = "K"\n',
    "config/.env": "KEY=1\n",
    "tables/north.txt": "north\n",
    "weather/__init__.py": "",
    "weather/names.txt": "masts\n",
    "weather/grid/__init__.py": "raise ImportError('nothing imports this')\n",
    "weather/grid/points.json": "[1, 2]",
    "weather/settings.py": (
        "import tomllib\nfrom pathlib import Path\nROOT = Path(__file__).resolve().parent.parent\n"
        "def load():\n    merged = {}\n    for name in ('defaults', 'production'):\n"
        "        merged |= tomllib.loads((ROOT / 'config' / f'{name}.toml').read_text())\n    return merged\n"
    ),
    "weather/station.py": (
        "import inspect, json, os\nfrom colorsys import SCALE\nfrom ledger import rate\n"
        "from .settings import ROOT, load\n"
        "class Station:\n"
        "    def __init__(self):\n        self.name = 'north'\n"
        "    def report(self):\n"
        "        conf = load()\n"
        "        here = os.path.dirname(inspect.getfile(Station))\n"
        "        with open(os.path.join(here, 'names.txt')) as names:\n"
        "            told = [names.read()]\n"
        "        with open(here + '/grid/points.json') as grid:\n"
        "            told.append(json.load(grid))\n"
        "        table = (ROOT / conf['tables'] / f'{self.name}.txt').read_text()\n"
        "        return [conf['unit'], table, *told, SCALE, rate()]\n"
    ),
}
LOAD = """
import json, sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    print(json.dumps(importer.load_object("model", "station").report()))
"""


@pytest.fixture
def ledger(installed: Callable[..., Path]) -> Path:
    """A second distribution of the same people, installed by `pip install ./ledger`."""
    text = "from importlib.metadata import version\ndef rate(): return version('ledger-kit')\n"
    return installed("ledger-kit", {"ledger/__init__.py": text}, version="0.3")


def test_a_layered_project_of_two_distributions_comes_back(
    project: Project, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    folder = project(STATION)
    station = importlib.import_module("weather.station").Station()
    expected = station.report()
    assert expected == ["K", "north\n", "masts\n", [1, 2], 3, "0.3"]
    with PackageExporter(tmp_path / "station.kellet", policy="auto") as exporter:
        exporter.save_object("model", "station", station)
        exporter.save_entry_point("report", "model", "station", "report")
        exporter.save_example("report", {})
    data = [file.name for file in exporter.plan().data_files]
    assert data == [
        "config/defaults.toml",
        "config/production.toml",
        "tables/north.txt",
        "weather/grid/points.json",
        "weather/names.txt",
    ]
    del sys.modules["colorsys"], sys.modules["ledger"]
    shutil.rmtree(folder)
    shutil.rmtree(ledger)
    command = [sys.executable, "-I", "-c", LOAD, str(tmp_path / "station.kellet")]
    done = processes.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stderr, json.loads(done.stdout or "null")) == ("", expected)


WALKS = {
    "walk": "sorted((os.path.relpath(a, R), sorted(b), sorted(c)) for a, b, c in os.walk(R))",
    "rglob": "sorted(one.relative_to(R).as_posix() for one in pathlib.Path(R).rglob('*.csv'))",
    "glob": "sorted(os.path.relpath(one, R) for one in glob.glob(R + '/**/*.csv', recursive=True))",
    "isdir": "[os.path.isdir(R + below) for below in ('', '/x', '/x/y', '/no', '/x/w.csv')]",
}


@pytest.mark.parametrize("others", [{}, {"tables/x/make.py": "", "tables/kind/__init__.py": ""}], ids=len)
@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
def test_folders_in_folders_beside_the_packages_lie_there_as_they_lie_here(
    project: Project, tmp_path: Path, walk: str, others: Mapping[str, str]
) -> None:
    text = (
        "import glob, os, pathlib\nR = os.path.join(os.path.dirname(__file__), '..', 'tables')\n"
        f"class Tree:\n    def report(self):\n        return {walk}\n"
    )
    files = {"tables/x/y/z.csv": "1", "tables/x/w.csv": "2", "tables/e-1/q.txt": "3", **others}
    folder = project({"forest/__init__.py": "", "forest/tree.py": text, **files})
    tree = importlib.import_module("forest.tree").Tree()
    expected = json.loads(json.dumps(tree.report()))
    with PackageExporter(tmp_path / "tree.kellet", policy="auto") as exporter:
        exporter.save_object("model", "station", tree)
        exporter.save_entry_point("report", "model", "station", "report")
        exporter.save_example("report", {})
    shutil.rmtree(folder)
    command = [sys.executable, "-I", "-c", LOAD, str(tmp_path / "tree.kellet")]
    done = processes.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stderr, json.loads(done.stdout or "null")) == ("", expected)


def test_a_listing_leaves_out_what_is_secret_hidden_large_or_behind_a_link_below(
    project: Project, tmp_path: Path
) -> None:
    text = "import os\ndef count(): return len(os.listdir(os.path.dirname(__file__) + '/../tables')) and 1\n"
    files = {"tables/a.txt": "a", "tables/x/token.json": "t", "tables/x/.git/b": "b", "tables/x/large": ""}
    folder = project({"wood/__init__.py": text, **files})
    (folder / "tables" / "x" / "large").write_bytes(bytes(2**24 + 1))
    (folder / "tables" / "x" / "again").symlink_to(folder / "tables", target_is_directory=True)
    (folder / "tables" / "x" / "out").symlink_to(tmp_path, target_is_directory=True)
    exporter = PackageExporter(tmp_path / "wood.kellet", policy="auto")
    exporter.save_object("model", "count", importlib.import_module("wood").count)
    exporter.save_entry_point("count", "model", "count")
    exporter.save_example("count", {})
    with pytest.warns(PackagingWarning, match="tables/x/token.json  1 B  it looks like a secret"):
        exporter.close()
    plan = exporter.plan()
    assert [file.name for file in plan.data_files] == ["tables/a.txt"]
    assert [one.name for one in plan.left_out] == ["tables/x/large", "tables/x/token.json"]


def test_an_export_needs_no_working_directory(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project({"away/__init__.py": "class Away:\n    def __call__(self):\n        return 3\n"})
    away = importlib.import_module("away").Away()
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with PackageExporter(tmp_path / "away.kellet", policy="auto") as exporter:
        exporter.save_object("model", "away", away)
        exporter.save_entry_point("away", "model", "away")
        exporter.save_example("away", {})
    assert exporter.plan().is_proved


FILLED = {
    "by a call": ("    def report(self):\n        fill()\n        return sum(TABLE.values())\n", False),
    "by the program": ("    def report(self):\n        return sum(TABLE.values())\n", True),
}


@pytest.mark.parametrize(("report", "is_imported"), FILLED.values(), ids=FILLED)
def test_a_registry_is_as_golden_calls_leave_it(
    project: Project, tmp_path: Path, report: str, is_imported: bool
) -> None:
    kinds = {f"net_of/kinds/{kind}.py": f"from ..table import TABLE\nTABLE['{kind}'] = 3\n" for kind in "ab"}
    table = (
        "from importlib import import_module\nTABLE = {}\n"
        "def fill():\n    for kind in ('a', 'b'):\n        import_module(f'net_of.kinds.{kind}')\n"
    )
    net = "from .table import TABLE, fill\nclass Net:\n" + report
    files = {"net_of/__init__.py": "", "net_of/table.py": table, "net_of/net.py": net}
    project({**files, "net_of/kinds/__init__.py": "", **kinds})
    module = importlib.import_module("net_of.net")
    if is_imported:
        module.fill()
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", module.Net())
    exporter.save_entry_point("model", "model", "model", "report")
    exporter.save_example("model", {})
    if is_imported:
        told = r"is loaded, net_of\.kinds\.a, net_of\.kinds\.b are imported: without this import"
        with pytest.warns(PackagingWarning, match=told):
            exporter.close()
    else:
        exporter.close()
    assert "net_of.kinds.b" in exporter.interned_modules()
