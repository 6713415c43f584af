"""A project as people lay it out, exported with its proof, and loaded in a fresh process without it."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter
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
    with (
        pytest.warns(match=r"config/\.env  6 B  it looks like a secret"),
        PackageExporter(tmp_path / "station.kellet", policy="auto") as exporter,
    ):
        exporter.save_object("model", "station", station)
    del sys.modules["colorsys"], sys.modules["ledger"]
    shutil.rmtree(folder)
    shutil.rmtree(ledger)
    command = [sys.executable, "-I", "-c", LOAD, str(tmp_path / "station.kellet")]
    done = processes.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stderr, json.loads(done.stdout or "null")) == ("", expected)
