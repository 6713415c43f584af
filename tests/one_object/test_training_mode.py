"""A model that is stored in training mode, and called in evaluation mode: warning and archive say so."""

from __future__ import annotations

import re
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
from packager.errors import PackagingWarning

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


def batched() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))


@pytest.mark.parametrize("make", [plain, in_a_cycle])
def test_a_model_that_answers_otherwise_in_training_mode_is_told(
    make: Callable[[], nn.Module], tmp_path: Path
) -> None:
    file, model = tmp_path / "net.kellet", make()
    with pytest.warns(PackagingWarning, match=re.escape(f"{TOLD}. In this mode the example gives another")):
        packager.save(model, file, example=INPUT)
    told = subprocess.check_output([sys.executable, "-m", "packager", "inspect", file], text=True)
    assert " ".join(told.split()).count(TOLD) == 1
    assert in_training(file) == ("model/model",)
    assert packager.load(file).training
    packager.save(model.eval(), file, example=INPUT)
    assert in_training(file) == ()
    assert not packager.load(file).training


def test_a_model_whose_call_fails_in_training_mode_is_told_and_left_as_it_was(tmp_path: Path) -> None:
    model = batched()
    before = {name: value.numpy().copy() for name, value in model.state_dict().items()}
    said = f"{TOLD}. In this mode the example fails: ValueError: Expected more than 1 value per channel"
    with pytest.warns(PackagingWarning, match=re.escape(said)):
        packager.save(model, tmp_path / "net.kellet", example=INPUT[:1])
    with pytest.warns(PackagingWarning, match=re.escape(f"{TOLD}. In this mode the example gives")):
        packager.save(model, tmp_path / "net.kellet", example=INPUT)
    assert model.training
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name])


@pytest.mark.parametrize(
    "make", [lambda: nn.Sequential(nn.Linear(2, 2)), lambda: nn.Sequential(plain().eval())]
)
def test_a_model_that_answers_the_same_in_both_modes_is_saved_without_a_word(
    make: Callable[[], nn.Module], tmp_path: Path
) -> None:
    model = make()
    assert model.training
    packager.save(model, tmp_path / "net.kellet", example=INPUT)


def test_a_training_checkpoint_is_not_told(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("run", "net", batched())
        exporter.save_entry_point("train", "run", "net")
        exporter.save_example("train", {"input": INPUT}, training=True)
    assert in_training(tmp_path / "net.kellet") == ()
