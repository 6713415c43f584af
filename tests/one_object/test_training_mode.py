"""A model that is stored in training mode, and called in evaluation mode: proof, plan and archive say so."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import packager
from kellet import nn
from packager import PackageExporter
from packager._archive import ArchiveReader
from packager._report import ArchiveFacts

TOLD = "model/model is stored in training mode; call .eval() before save, or after load"
INPUT = np.ones((3, 2), "float32")


def plain() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 2), nn.Dropout())


def in_a_cycle() -> nn.Module:
    """Return a model whose attributes are stored in a record of their own, a fill."""
    model = plain()
    model.noted = [model]  # type: ignore[assignment]  # no module
    return model


def in_training(file: Path) -> tuple[str, ...]:
    with ArchiveReader(file) as reader:
        return ArchiveFacts(reader).in_training


@pytest.mark.parametrize("make", [plain, in_a_cycle])
def test_a_model_in_training_mode_is_told_without_a_warning(
    make: Callable[[], nn.Module], tmp_path: Path
) -> None:
    file, model = tmp_path / "net.kellet", make()
    proof = packager.save(model, file, example=INPUT)
    assert str(proof).splitlines()[1:] == [TOLD]
    told = subprocess.check_output([sys.executable, "-m", "packager", "inspect", file], text=True)
    assert " ".join(told.split()).count(TOLD) == 1
    assert in_training(file) == ("model/model",)
    assert packager.load(file).training
    proof = packager.save(model.eval(), file, example=INPUT)
    assert len(str(proof).splitlines()) == 1
    assert in_training(file) == ()
    assert not packager.load(file).training


def test_a_training_checkpoint_is_not_told(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("run", "net", model)
        exporter.save_entry_point("train", "run", "net")
        exporter.save_example("train", {"input": INPUT}, training=True)
        assert exporter.plan().in_training == ()
        assert TOLD not in str(exporter.plan())
    assert in_training(tmp_path / "net.kellet") == ()


def test_the_plan_says_it() -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", nn.Sequential(nn.Linear(2, 2)), example=INPUT)
    plan = exporter.plan()
    assert TOLD in str(plan)
    assert TOLD in plan._repr_html_()
    assert not any("training mode" in one for one in plan.warnings)
