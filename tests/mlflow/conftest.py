"""A store of files for MLflow, and models to log."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

from packager import PackageExporter

X = numpy.arange(8.0).reshape(2, 4)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let MLflow keep runs and models in files, and read no pickles."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "false")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.delenv("KELLET_SIGNERS", raising=False)
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    return (tmp_path / "store").as_uri()


@pytest.fixture
def scaled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """What packs an object of a class `churn.Scaled`, whose code multiplies by a factor, as an archive."""

    def packed(name: str, factor: int, **options: Any) -> Path:
        project = tmp_path / f"project-{name}"
        project.mkdir()
        source = f"class Scaled:\n    def predict(self, X):\n        return X.sum(1) * {factor}\n"
        (project / "churn.py").write_text(source, encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(project)
            try:
                with PackageExporter(tmp_path / name, policy="auto", prove=False, **options) as exporter:
                    thing = importlib.import_module("churn").Scaled()
                    exporter.save_object("model", "model", thing, example=X)
            finally:
                sys.modules.pop("churn", None)
        return tmp_path / name

    return packed
