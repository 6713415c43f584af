"""A library that tells packager of itself: a distribution, installed, whose objects load without trust."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import processes

GAUGES = Path(__file__).resolve().parents[2] / "fixtures" / "packages" / "gauges"
SAVE = """
import sys
from types import SimpleNamespace
import numpy
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from gauges import Amount, Dial, Meter, Scale
from packager import PackageExporter

X = numpy.array([[1.0], [2.0], [4.0]])
meter = Meter("flow").read(1, 2, 3)
with PackageExporter(sys.argv[1], policy="auto", prove=False) as exporter:
    exporter.extern("gauges.**")
    exporter.save_object("m", "list", [Amount(2, "m"), Amount(2, "m")])
    namespace = SimpleNamespace(length=Amount(3, "m"), meter=meter, dial=Dial("m", X))
    exporter.save_object("m", "namespace", namespace)
    exporter.save_object("m", "pipeline", make_pipeline(StandardScaler(), Scale(meter)).fit(X))
    exporter.save_state_dict("m", "state", {"w": numpy.ones(2), "unit": Amount(1, "kg")})
"""
LOAD = """
import sys
import numpy
from packager import PackageImporter

with PackageImporter(sys.argv[1]) as importer:
    assert "gauges" not in sys.modules
    first, second = importer.load_object("m", "list")
    namespace = importer.load_object("m", "namespace")
    pipeline = importer.load_object("m", "pipeline")
    state = importer.load_state_dict("m", "state")
    print(first.number, first.unit, first == second, namespace.length.number, state["unit"].unit)
    print(pipeline.transform(numpy.array([[4.0]])).round(3).tolist(), pipeline[-1].meter.readings.tolist())
    print(namespace.meter.readings.tolist(), namespace.dial.unit, namespace.dial.marks.tolist())
    print("gauges" in sys.modules, "packager._libraries.pandas" in sys.modules)
"""
CHANGED = """
import sys
from gauges import Meter
from packager import PackageExporter, PackageImporter

meter = Meter("flow")
meter.readings = "none"
with PackageExporter(sys.argv[1], policy="auto", prove=False) as exporter:
    exporter.extern("gauges.**")
    exporter.save_object("m", "meter", meter)
with PackageImporter(sys.argv[1]) as importer:
    try:
        importer.load_object("m", "meter")
    except Exception as error:
        print(error)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the distribution is installed."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index"]
    processes.run([*command, "--quiet", "--target", str(folder), str(GAUGES)], check=True)
    return folder


@pytest.fixture(scope="module")
def saved(site: Path) -> str:
    """An archive with objects of the library."""
    path = str(site.parent / "m.kellet")
    _run(site, SAVE, path)
    return path


def _run(site: Path, script: str, *arguments: str) -> str:
    prelude = f"import sys; sys.path.insert(0, {str(site)!r})\n"
    command = [sys.executable, "-c", prelude + script, *arguments]
    return processes.run(command, cold=True, capture_output=True, text=True, check=True).stdout


def test_its_objects_load_without_trust_wherever_data_may_be(site: Path, saved: str) -> None:
    assert _run(site, LOAD, saved).splitlines() == [
        "2.0 m True 3.0 kg",
        "[[1.0]] [1.0, 2.0, 3.0]",
        "[1.0, 2.0, 3.0] m [[1.0], [2.0], [4.0]]",
        "True False",
    ]


def test_inspect_and_refusals_say_whose_row_it_is(site: Path, saved: str, tmp_path: Path) -> None:
    shown = _run(site, "from packager._cli import main; main()", "inspect", saved)
    assert "gauges:Scale" in shown
    told = [line.split() for line in shown.splitlines() if "gauges:Meter" in line]
    assert ["m/pipeline", "gauges:Meter", "gauges"] in told
    refused = _run(site, CHANGED, str(tmp_path / "changed.kellet"))
    assert "readings of a Meter are no array (row of gauges)" in refused


def test_without_it_one_line_trusts_all_names(saved: str) -> None:
    without = """
import sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    for name in ("list", "pipeline"):
        try:
            importer.load_object("m", name)
        except Exception as error:
            print(error)
"""
    command = [sys.executable, "-c", without, saved]
    told = processes.run(command, cold=True, capture_output=True, text=True, check=True).stdout
    assert "codec 'gauges.amount' is not installed; install the package that provides it" in told
    assert told.count("trust=('gauges:Meter', 'gauges:Scale',)") == 1
