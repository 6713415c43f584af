"""Small archives to predict with: a layer of kellet, and functions of one module in several versions."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import kellet
from kellet.nn import Linear
from packager import PackageExporter

X = numpy.arange(6, dtype="float32").reshape(3, 2)
Y = [[2.0], [6.0], [10.0]]
"""What the layer gives for X: the sum and one."""


def write_layer(path: Path, *, bias: float = 1.0, sign: Path | None = None) -> Path:
    """Write a layer that adds its two inputs and a bias."""
    layer = Linear(2, 1)
    layer.load_state_dict({"weight": kellet.ones(1, 2), "bias": kellet.tensor([bias])})
    with PackageExporter(path, prove=False, sign=sign) as exporter:
        exporter.save_object("net", "sum", layer)
        exporter.save_entry_point("model", "net", "sum", takes={"input": "float32[*, 2]"})
        exporter.save_example("model", {"input": X})
    return path


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return write_layer(tmp_path / "net.kellet")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """What packs the function `shop.total` of a source, with an example of its calls, as an archive."""

    def packed(name: str, source: str, example: Any) -> Path:
        project = tmp_path / f"project-{name}"
        project.mkdir()
        (project / "shop.py").write_text(source, encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(project)
            try:
                with PackageExporter(tmp_path / name, policy="auto", prove=False) as exporter:
                    total = importlib.import_module("shop").total
                    exporter.save_object("model", "model", total, example=example)
            finally:
                sys.modules.pop("shop", None)
        return tmp_path / name

    return packed


@pytest.fixture
def joblib() -> Iterator[Any]:
    """The library joblib; its workers, which it keeps for later calls, end with the test."""
    joblib = pytest.importorskip("joblib")
    yield joblib
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
