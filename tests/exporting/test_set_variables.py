"""Variables of the environment that are set here and that stored code reads are told, not their values."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter

Project = Callable[[Mapping[str, str]], Path]

NET = """
import os
STAGE = os.environ.get("REEF_STAGE", "prod")
class Net:
    def factor(self): return float(os.environ["REEF_FACTOR"])
    def of(self, name): return os.getenv(f"REEF_OF_{name.upper()}")
    def home(self): return os.environ["HOME"], os.environ.get("LC_ALL"), os.getenv("OMP_NUM_THREADS")
def unused(): return os.environ["REEF_UNUSED"]
"""


@pytest.fixture
def told(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    def tell(**variables: str) -> list[str]:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        project({"reef/__init__.py": "", "reef/net.py": NET})
        exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
        exporter.save_object("model", "model", importlib.import_module("reef.net").Net())
        return list(exporter.plan().warnings)

    return tell


@pytest.mark.parametrize(("name", "line"), [("REEF_STAGE", 3), ("REEF_FACTOR", 5), ("REEF_OF_WIDTH", 6)])
def test_a_variable_that_is_set_here_is_told_with_the_line_that_reads_it(
    told: Callable[..., list[str]], name: str, line: int
) -> None:
    [warning] = told(**{name: "hidden-value"})
    assert warning.startswith(
        f"{name} is a variable of the environment that is set here, and reef/net.py:{line} reads it: "
    )
    assert "let the object hold what comes of it, or set it there" in warning
    assert "hidden-value" not in warning


def test_each_is_told_once_and_in_the_order_of_the_code(told: Callable[..., list[str]]) -> None:
    found = told(REEF_OF_A="1", REEF_OF_B="2", REEF_STAGE="dev")
    assert [one.partition(" ")[0] for one in found] == ["REEF_STAGE", "REEF_OF_A", "REEF_OF_B"]


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"REEF_UNUSED": "1"},  # nothing that is stored calls what reads it
        {"REEF_OTHER": "1", "STAGE": "1"},
        {"HOME": "/home/x", "LC_ALL": "C", "OMP_NUM_THREADS": "1"},  # every machine has them
    ],
)
def test_what_is_not_read_not_set_or_set_everywhere_is_not(
    told: Callable[..., list[str]], variables: dict[str, str]
) -> None:
    assert told(**variables) == []
