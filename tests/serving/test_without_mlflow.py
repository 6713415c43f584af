"""`packager.mlflow` where MLflow is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import packager.mlflow
from packager import EnvironmentMismatchError


def test_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "mlflow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    for call in (
        lambda: packager.mlflow.save_model("net.kellet", tmp_path / "saved"),
        lambda: packager.mlflow.log_model("net.kellet"),
        lambda: packager.mlflow.load_model("models:/net/1"),
    ):
        with pytest.raises(EnvironmentMismatchError, match=r"python -m pip install 'kellet\[mlflow\]'"):
            call()
    assert not (tmp_path / "saved").exists()
