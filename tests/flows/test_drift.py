"""A traced golden call through a whole export with its proof, and the models of the guide to drift."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from kellet import nn
from packager import PackageExporter, PackageImporter, PackagingError, verify
from packager._calls import unpack_trace

FIXTURES = Path(__file__).parents[2] / "fixtures" / "drifts"


@pytest.fixture(autouse=True)
def fixtures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.syspath_prepend(FIXTURES)
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name in {"promotion", "surface", "components"}:
            del sys.modules[name]


def test_a_traced_call_is_proved_and_repeated_and_its_archive_verified(tmp_path: Path) -> None:
    promotion = importlib.import_module("promotion")
    file = tmp_path / "promotion.kellet"
    with PackageExporter(file, policy="auto") as exporter:
        exporter.save_object("model", "model", promotion.build())
        exporter.save_example("model", promotion.inputs(), trace=True)
    assert verify(file, deep=True).problems == ()
    with PackageImporter(file) as importer:
        [outcome] = importer.check(tolerance=0)
    assert (outcome.traced, outcome.drift, outcome.within(0)) == (True, None, True)


def test_a_refused_proof_says_which_submodule_differs_first(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "factors.py").write_text(
        "from kellet import nn\n"
        "FACTOR = 1.0\n"
        "class Scales(nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x * FACTOR\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(project)
    factors = importlib.import_module("factors")
    factors.FACTOR = 3.0  # as a script would that configures its model
    exporter = PackageExporter(project / "net.kellet", policy="auto")
    exporter.save_object("model", "model", nn.Sequential(nn.Linear(2, 2), factors.Scales()))
    exporter.save_example("model", {"arg0": np.ones((1, 2), "float32")}, trace=True)
    with pytest.raises(PackagingError, match=r"first differs: 1 \(factors:Scales, factors.py:4\)"):
        exporter.close()
    del sys.modules["factors"]


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")  # of code that the target must bring
@pytest.mark.parametrize(("name", "method", "parts"), [("surface", None, 4), ("components", "predict", 3)])
def test_the_models_of_the_guide_are_traced_part_by_part(
    tmp_path: Path, name: str, method: str | None, parts: int
) -> None:
    fixture = importlib.import_module(name)
    file = tmp_path / "model.kellet"
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", fixture.build())
        exporter.save_entry_point("model", "model", "model", method)
        exporter.save_example("model", fixture.inputs(), trace=True)
    with PackageImporter(file) as importer:
        data = importer.archive.read(importer.manifest.traces[0].entry)
        [outcome] = importer.check(tolerance=0)
    assert len({call.module for call in unpack_trace(data, what="trace").calls}) == parts
    assert (outcome.traced, outcome.drift) == (True, None)
