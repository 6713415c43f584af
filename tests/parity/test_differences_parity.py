"""What `kellet diff` tells of archives that torch.package has written, with modules and traced ones."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from pathlib import Path
from typing import Any

import torch
import torch.fx
import torch.package

from packager._differences import compare_files

# torch.package reads its typed storages, and says that it is an old interface.
pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


def archive(path: Path, model: Any) -> Path:
    with torch.package.PackageExporter(path) as exporter:
        exporter.extern("**")
        exporter.save_source_string("net", "scale = 2\n")
        exporter.save_pickle("model", "model.pkl", model)
    return path


def model(bias: float) -> torch.nn.Module:
    made = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    with torch.no_grad():
        made[0].weight.fill_(1.0)
        made[0].bias.fill_(bias)
    return made


def test_tensors_of_a_pickled_module_are_compared_by_their_names(tmp_path: Path) -> None:
    old, new = archive(tmp_path / "old.pt", model(0.0)), archive(tmp_path / "new.pt", model(0.5))
    found = compare_files(old, new)
    assert [(one.state, one.key, one.largest) for one in found.tensors] == [
        ("model/model.pkl", "0.bias", 0.5)
    ]
    assert (found.code, found.changes, found.files, found.keys) == ((), (), (), ())
    assert not compare_files(old, archive(tmp_path / "again.pt", model(0.0)))


def test_a_traced_module_is_compared_by_its_bytes(tmp_path: Path) -> None:
    """Its code makes it. Its pickle has a number that is drawn whenever it is saved."""
    old, new = (
        archive(tmp_path / f"{name}.pt", torch.fx.symbolic_trace(model(bias)))
        for name, bias in (("old", 0.0), ("new", 0.5))
    )
    found = compare_files(old, new)
    names = {one.name for one in found.files if one.kind == "changed"}
    assert names - {"model/model.pkl"} == {".data/1.storage"}
    assert (found.code, found.changes, found.keys, found.tensors) == ((), (), (), ())
